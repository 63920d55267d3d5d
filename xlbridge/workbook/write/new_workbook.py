"""New workbooks: open one for writing, write text as nothing but text, set up printing."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten

import xlsxwriter
from xlsxwriter.exceptions import XlsxFileError
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.files import replace_atomically
from xlbridge.workbook.text_escapes import escape_text

PAGE_WIDTH = 215  # letters beside each other that can still be read on A4 in landscape
_MARGIN = 0.4  # inches
_MAX_FOOTER_LENGTH = 100


def print_across_pages(
    sheet: Worksheet, title: str, pages: int = 1, page_of: str = "&P de &N"
) -> None:
    """Print the sheet in landscape, as wide as so many pages, with page numbers."""
    a4 = 9
    sheet.set_landscape()
    sheet.set_paper(a4)
    sheet.fit_to_pages(pages, 0)
    sheet.set_margins(left=_MARGIN, right=_MARGIN)
    sheet.set_footer(
        f"&L{shorten(title, _MAX_FOOTER_LENGTH, placeholder='…').replace('&', '&&')}&R{page_of}"
    )


class _EscapedWorksheet(Worksheet):
    """Worksheet whose texts come back as they were written.

    xlsxwriter leaves the second of two overlapping escapes, as in ``_x0041_x0042_``, and what
    becomes one before a control character; Excel would read letters there.
    """

    @staticmethod
    def _escape_control_characters(data: object) -> object:
        if not isinstance(data, str):
            return data
        # The parts of a text in several formats are escaped before they are put together.
        is_rich = data.startswith("<r>") and data.endswith("</r>")
        return data if is_rich else escape_text(data)


_CREATED = datetime(2026, 1, 1)  # fixed, so that the same content gives the same bytes


@contextmanager
def new_workbook(path: Path, *, title: str = "") -> Iterator[xlsxwriter.Workbook]:
    """Give a workbook that becomes ``path`` at the end.

    Text stays text: what begins with ``=`` or ``http`` is no formula and no link, what looks
    like an escape is none. Cells must be written row by row, so memory does not grow with them.
    Raises ``UsageError`` when the file cannot be written there.
    """
    with (
        replace_atomically(path) as temporary,
        TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as scratch,
    ):
        options = {
            "constant_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "tmpdir": scratch,
        }
        try:
            with xlsxwriter.Workbook(str(temporary), options) as book:
                book.worksheet_class = _EscapedWorksheet
                told = {"created": _CREATED, "author": "xlbridge"}
                book.set_properties(told | ({"title": title} if title else {}))
                yield book
        except XlsxFileError as error:
            raise _os_error(error) from error


def _os_error(error: XlsxFileError) -> OSError:
    cause = error.args[0] if error.args else None
    return cause if isinstance(cause, OSError) else OSError(str(error))


def write_plain_text(sheet: Worksheet, row: int, column: int, text: str, form: Format) -> int:
    """Write ``text`` as it is, whatever it looks like; row and column count from 0.

    Returns 0, or a negative number when Excel cannot hold it.
    """
    if text.startswith("<r>") and text.endswith("</r>"):
        # xlsxwriter takes such a text for markup of its own, and would copy it unescaped.
        return int(sheet.write_rich_string(row, column, text[:1], form, text[1:], form))
    return int(sheet.write_string(row, column, text, form))
