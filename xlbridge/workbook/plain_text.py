"""Writing text into a cell as nothing but text."""

from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet


def write_plain_text(sheet: Worksheet, row: int, column: int, text: str, form: Format) -> int:
    """Write ``text`` as it is, whatever it looks like; row and column count from 0.

    Returns 0, or a negative number when Excel cannot hold it.
    """
    if text.startswith("<r>") and text.endswith("</r>"):
        # xlsxwriter takes such a text for markup of its own, and would copy it unescaped.
        return int(sheet.write_rich_string(row, column, text[:1], form, text[1:], form))
    return int(sheet.write_string(row, column, text, form))
