"""Cell addresses, the limits of a sheet, and the escapes of texts in workbooks.

``_xHHHH_`` is a character that XML cannot hold. Excel reads ``_x0041_`` as ``A``, so that the
underscore of a literal text like this is escaped too, as ``_x005F_``. Source: ECMA-376, Part 1,
22.9.2.19 (``ST_Xstring``); [MS-OI29500], 2.1.1747.
"""

import re
from functools import cache


def cell_position(address: str) -> tuple[int, int]:
    """Return Excel's row number and the zero-based column of an address such as B7."""
    letters = address.rstrip("0123456789")
    return int(address[len(letters) :]), column_index(letters)


CellRange = tuple[int, int, int, int]
"""First row, first column, last row, last column: Excel's row numbers, zero-based columns."""

CellPosition = tuple[int, int]
"""A cell: Excel's row number and the zero-based column."""

_LETTERS = 26


@cache
def column_letters(index: int) -> str:
    """Return the letters of a zero-based column index: 0 is A, 26 is AA."""
    letters = ""
    number = index + 1
    while number:
        number, rest = divmod(number - 1, _LETTERS)
        letters = chr(ord("A") + rest) + letters
    return letters


@cache
def column_index(letters: str) -> int:
    """Return the zero-based index of a column's letters: A is 0, AA is 26."""
    number = 0
    for letter in letters:
        number = number * _LETTERS + ord(letter) - ord("A") + 1
    return number - 1


def cell_address(row: int, column: int) -> str:
    """Return the address of a cell, from Excel's row number and a zero-based column index."""
    return f"{column_letters(column)}{row}"


_RANGE = re.compile(r"([A-Z]{1,3})(\d{1,7})(?::([A-Z]{1,3})(\d{1,7}))?", re.ASCII)


def cell_range(reference: str) -> CellRange | None:
    """Return the corners of a range such as ``A1:B2`` or ``A1``, None if it is not one."""
    match = _RANGE.fullmatch(reference)
    if match is None:
        return None
    left, top, right, bottom = match.groups()
    return int(top), column_index(left), int(bottom or top), column_index(right or left)


def range_text(area: CellRange) -> str:
    """Return the address of a range, that of its cell if it has one only."""
    first, last = cell_address(*area[:2]), cell_address(*area[2:])
    return first if first == last else f"{first}:{last}"


def cell_place(sheet: str, address: str) -> str:
    """Return an address with the name of its sheet, as in formulas and links."""
    quoted = sheet.replace("'", "''")
    return f"'{quoted}'!{address}"


MAX_ROWS = 1_048_576
"""Maximum number of rows of a sheet."""

MAX_TEXT_LENGTH = 32_767
"""Maximum number of characters of a cell's text."""


_ESCAPED_CHARACTERS = "\x00-\x08\x0b-\x1f\ufffe\uffff"
_NEEDS_ESCAPE = re.compile(f"[{_ESCAPED_CHARACTERS}]")
# The character after the digits may be escaped itself, and then begins with an underscore.
_LOOKS_ESCAPED = re.compile(f"_(?=x[0-9A-Fa-f]{{4}}[_{_ESCAPED_CHARACTERS}])")


def escape_text(text: str) -> str:
    """Return a text with Excel's escapes, before XML markup is escaped.

    Line feeds and tabs stay: Excel does not escape them in cells.
    """
    literal = _LOOKS_ESCAPED.sub("_x005F_", text)
    return _NEEDS_ESCAPE.sub(lambda found: f"_x{ord(found[0]):04X}_", literal)
