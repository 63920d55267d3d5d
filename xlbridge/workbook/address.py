"""Cell addresses as Excel writes them."""

from functools import cache

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
