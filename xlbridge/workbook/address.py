"""Cell addresses, as Excel's row numbers with zero-based columns and as text such as B7; the limits
of a sheet."""

from functools import cache


def cell_position(address: str) -> tuple[int, int]:
    """Return Excel's row number and the zero-based column of a cell's address."""
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


MAX_ROWS = 1_048_576
"""Rows of a sheet."""

MAX_TEXT_LENGTH = 32_767
"""Characters of a cell's text."""
