"""Facts of a sheet in Excel's binary formats, .xls and .xlsb, that its values do not show.

Both have styles, rich texts, errors and formulas in records of different widths.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from xlbridge.workbook.address import CellRange
from xlbridge.workbook.formats import format_code, significant_styles
from xlbridge.workbook.read.cells import RawSheet

_ERRORS: Mapping[int, str] = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?",
    0x24: "#NUM!", 0x2A: "#N/A", 0x2B: "#GETTING_DATA",
}  # fmt: skip
_AREA = frozenset({0x25, 0x45, 0x65})
_CALL = frozenset({0x22, 0x42, 0x62})
_SUM_MARK = b"\x19\x10"
_CALL_SIZE = 4
_COLUMN_MASK = 0x3FFF
_SUMMING = frozenset({0, 4, 5, 6, 7, 169})
"""Numbers of COUNT, SUM, AVERAGE, MIN, MAX and COUNTA."""

_SUBTOTAL = 344


StruckText = tuple[list[tuple[int, int]], int]
"""Begins and ends of the struck pieces of a text, and its length."""


@dataclass
class BookStyles:
    """Styles and dates of a workbook, filled record by record.

    ``codes``: the file's number formats by number; ``fonts``: whether each font strikes cells
    through; ``cells``: the number format and the font of each cell style. ``struck_texts``: the
    indexes of shared texts that are struck through, with the struck pieces and the text's length.
    """

    codes: dict[int, str] = field(default_factory=dict)
    fonts: list[bool] = field(default_factory=list)
    cells: list[tuple[int, int]] = field(default_factory=list)
    struck_texts: dict[int, StruckText] = field(default_factory=dict)
    uses_1904_dates: bool = False

    @cached_property
    def _significant(self) -> tuple[dict[int, str], frozenset[int]]:
        return significant_styles(
            (self.format_code(number), self._is_struck(font)) for number, font in self.cells
        )

    def format_code(self, number: int) -> str:
        """Return the code of a number format by its number."""
        return format_code(str(number), self.codes.get(number, ""))

    def _is_struck(self, font: int) -> bool:
        return font < len(self.fonts) and self.fonts[font]

    def struck_text(self, index: int) -> StruckText:
        """Return the struck pieces of a shared text, and its length if there are any."""
        return self.struck_texts.get(index, ([], 0))

    def struck_pieces(self, runs: bytes, length: int) -> list[tuple[int, int]]:
        """Return the begins and the ends of the struck pieces of a rich text of some length;
        ``runs`` are the first characters and the fonts of its runs."""
        found = [(min(start, length), font) for start, font in struct.iter_unpack("<HH", runs)]
        ends = [*(start for start, _ in found[1:]), length]
        return [
            (start, end)
            for (start, font), end in zip(found, ends, strict=False)
            if self._is_struck(font)
        ]

    def new_sheet(self) -> RawSheet:
        """Return the facts of a sheet without cells."""
        formats, struck = self._significant
        return RawSheet(formats=formats, struck=struck, uses_1904_dates=self.uses_1904_dates)


def conditional_formats(
    ranges: Iterable[tuple[int, int, int, int]], codes: Iterable[str]
) -> list[tuple[str, CellRange]]:
    """Return number formats of a conditional format with its ranges: the first and the last row,
    then the columns, all zero-based."""
    corners = [(top + 1, left, bottom + 1, right) for top, bottom, left, right in ranges]
    return [(code, corner) for code in codes for corner in corners]


def error_name(number: int) -> str:
    """Return an error by its number ([MS-XLSB], 2.5.97.2)."""
    return _ERRORS.get(number, "#N/A")


def add_formula(raw: RawSheet, row: int, column: int, tokens: bytes, row_format: str) -> None:
    """Add a formula; mark its row if it sums a part of its own column, or is a subtotal.

    ``row_format`` is the struct format of row numbers in its ``tokens``.
    """
    raw.layout.add_formula(row, column)
    called = None
    if len(tokens) >= _CALL_SIZE and tokens[-_CALL_SIZE] in _CALL:
        called = struct.unpack_from("<H", tokens, len(tokens) - 2)[0] & 0x7FFF
    area = struct.Struct(f"<B{row_format}{row_format}HH")
    is_sum = called == _SUBTOTAL
    if len(tokens) == area.size + _CALL_SIZE and tokens[0] in _AREA:
        *_, first, last = area.unpack_from(tokens)
        if called in _SUMMING or tokens[area.size :].startswith(_SUM_MARK):
            is_sum |= first & _COLUMN_MASK == last & _COLUMN_MASK == column
    if is_sum:
        raw.layout.summed_rows.add(row)
