"""Numbers of the records of a sheet whose rows have several of them, such as the titles of the
instalments in a row.

The first record of a row has Excel's number of the row. The others have larger numbers, beyond any
row of a sheet, so that plans and the journal tell them apart; people see the row.
"""

import re

_TEXT = re.compile(r"(\d+) \((\d+)\)")
_ROWS = 10_000_000
"""Distance of the numbers of records in one row: more than the rows of any sheet."""


def record_row(row: int, number: int) -> int:
    """Return the number of a record by Excel's number of its row and its own number in the row,
    from zero on."""
    return number * _ROWS + row


def sheet_row(record: int) -> int:
    """Return Excel's number of the row of a record."""
    return record % _ROWS


def number_in_row(record: int) -> int:
    """Return the number of a record in its row, from zero on."""
    return record // _ROWS


def row_text(record: int) -> str:
    """Return the row of a record for people, with its number in the row from the second one on:
    17, 17 (2)."""
    number = number_in_row(record)
    return f"{sheet_row(record)} ({number + 1})" if number else f"{record}"


def read_row_text(text: str) -> int | None:
    """Return the number of a record from its row for people, None for another text."""
    found = _TEXT.fullmatch(text.strip())
    return None if found is None else record_row(int(found[1]), int(found[2]) - 1)
