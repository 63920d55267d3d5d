"""The interface of every format."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from xlbridge.export.columns import Cell
from xlbridge.export.listings import Sheet


class Book(Protocol):
    """Sheets being written, row by row; rows of different sheets may come in any order."""

    def write(self, sheet: Sheet, row: Sequence[Cell]) -> None:
        """Write one row with a cell for each of the sheet's columns."""


OpenBook = Callable[[Path, Sequence[Sheet]], AbstractContextManager[Book]]
"""Opens a book for sheets, whose headers it writes.

The files appear under their names, whole, when the context ends; an exception leaves none.
"""


def paths_of_sheets(path: Path, sheets: Sequence[Sheet]) -> list[Path]:
    """Return the files of a format that holds one sheet per file.

    ``pedidos.csv`` holds the records, ``pedidos.parcelas.csv`` beside it the sheet ``parcelas``.
    """
    return [
        path if sheet.within is None else path.with_name(f"{path.stem}.{sheet.name}{path.suffix}")
        for sheet in sheets
    ]
