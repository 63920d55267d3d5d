"""Facts of a sheet in Excel's binary formats, .xls and .xlsb, that its values do not show.

Both have styles, errors and formulas in records of different widths.
"""

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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


@dataclass(slots=True)
class BookStyles:
    """Styles of a workbook's cells: significant number formats, struck styles, scaling factors."""

    formats: dict[int, str] = field(default_factory=dict)
    struck: frozenset[int] = frozenset()
    scaling: dict[int, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        numbers: Iterable[int],
        codes: Mapping[int, str],
        fonts: Sequence[int],
        struck: Collection[int],
    ) -> "BookStyles":
        """Return the styles of a file.

        ``numbers`` and ``fonts`` are the format and font of each style, ``codes`` the file's
        formats by number, ``struck`` the fonts that strike cells through.
        """
        formats = significant_formats(format_code(str(n), codes.get(n, "")) for n in numbers)
        struck_styles = frozenset(style for style, font in enumerate(fonts) if font in struck)
        return cls(formats, struck_styles, scaling_styles(formats))


class SheetFacts:
    """Facts of a sheet, added record by record, with zero-based rows and columns."""

    def __init__(self, styles: BookStyles, *, uses_1904_dates: bool = False) -> None:
        self.raw = RawSheet(
            formats=styles.formats, struck=styles.struck, uses_1904_dates=uses_1904_dates
        )
        self._styles = styles

    def add_style(self, row: int, column: int, style: int) -> None:
        """Add the style of a cell if it is significant."""
        if style in self._styles.scaling:
            self.raw.scaled[row + 1, column] = self._styles.scaling[style]
        if style in self._styles.formats or style in self._styles.struck:
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
