"""Facts of a sheet in Excel's binary formats, .xls and .xlsb, that its values do not show.

Both have styles, errors and formulas in records of different widths.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from xlbridge.workbook.formats.number_formats import (
    format_code,
    scaling_styles,
    significant_formats,
)
from xlbridge.workbook.read.cells import RawSheet

ERRORS: Mapping[int, str] = {
    0x00: "#NULL!", 0x07: "#DIV/0!", 0x0F: "#VALUE!", 0x17: "#REF!", 0x1D: "#NAME?",
    0x24: "#NUM!", 0x2A: "#N/A", 0x2B: "#GETTING_DATA",
}  # fmt: skip
"""Errors by number ([MS-XLSB], 2.5.97.2)."""

_AREA = frozenset({0x25, 0x45, 0x65})
_CALL = frozenset({0x22, 0x42, 0x62})
_SUM_MARK = b"\x19\x10"
_CALL_SIZE = 4
_COLUMN_MASK = 0x3FFF
_SUMMING = frozenset({0, 4, 5, 6, 7, 169})
"""Numbers of COUNT, SUM, AVERAGE, MIN, MAX and COUNTA."""

_SUBTOTAL = 344


@dataclass
class BookStyles:
    """Styles of a workbook, filled record by record.

    ``codes``: the file's number formats by number; ``fonts``: whether each font strikes cells
    through; ``cells``: the number format and the font of each cell style.
    """

    codes: dict[int, str] = field(default_factory=dict)
    fonts: list[bool] = field(default_factory=list)
    cells: list[tuple[int, int]] = field(default_factory=list)

    @cached_property
    def formats(self) -> dict[int, str]:
        """Significant number formats by cell style."""
        return significant_formats(
            format_code(str(number), self.codes.get(number, "")) for number, _ in self.cells
        )

    @cached_property
    def struck(self) -> frozenset[int]:
        """Cell styles that are struck through."""
        struck = {font for font, is_struck in enumerate(self.fonts) if is_struck}
        return frozenset(style for style, (_, font) in enumerate(self.cells) if font in struck)


class SheetFacts:
    """Facts of a sheet, added record by record, with zero-based rows and columns."""

    def __init__(self, styles: BookStyles, *, uses_1904_dates: bool = False) -> None:
        self.raw = RawSheet(
            formats=styles.formats, struck=styles.struck, uses_1904_dates=uses_1904_dates
        )
        self._scaling = scaling_styles(styles.formats)

    def add_style(self, row: int, column: int, style: int) -> None:
        """Add the style of a cell if it is significant."""
        if style in self._scaling:
            self.raw.scaled[row + 1, column] = self._scaling[style]
        if style in self.raw.formats or style in self.raw.struck:
            self.raw.add_style(row + 1, column, style)

    def add_error(self, row: int, column: int, number: int) -> None:
        """Add a cell with an error."""
        self.raw.errors[row + 1, column] = ERRORS.get(number, "#N/A")

    def add_formula(self, row: int, column: int, tokens: bytes, row_format: str) -> None:
        """Add a formula; ``row_format`` is the struct format of row numbers in its tokens."""
        self.raw.layout.add_formula(row + 1, column)
        if _sums_up(tokens, column, row_format):
            self.raw.layout.summed_rows.add(row + 1)


def _sums_up(tokens: bytes, column: int, row_format: str) -> bool:
    """Return whether a formula sums a part of its own column, or is a subtotal."""
    called = _called_function(tokens)
    if called == _SUBTOTAL:
        return True
    area = struct.Struct(f"<B{row_format}{row_format}HH")
    if len(tokens) != area.size + _CALL_SIZE or tokens[0] not in _AREA:
        return False
    *_, first, last = area.unpack_from(tokens)
    is_sum = called in _SUMMING or tokens[area.size :].startswith(_SUM_MARK)
    return is_sum and first & _COLUMN_MASK == last & _COLUMN_MASK == column


def _called_function(tokens: bytes) -> int | None:
    """Return the number of a formula's outermost function, None if it does not end with a call."""
    if len(tokens) < _CALL_SIZE or tokens[-_CALL_SIZE] not in _CALL:
        return None
    (number,) = struct.unpack_from("<H", tokens, len(tokens) - 2)
    return int(number) & 0x7FFF
