"""The interface of every format."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from xlbridge.export.columns import Row
from xlbridge.export.listing import Sheet
from xlbridge.export.summary import Summary


class Book(Protocol):
    """Sheets being written, one after the other."""

    def write(self, sheet: Sheet, rows: Iterable[Row]) -> int:
        """Write all rows of a sheet, a cell for each of its columns; return how many."""

    def finish(self, summary: Summary) -> None:
        """Say what the export came to, where the format has a place for it."""


OpenBook = Callable[[Path, Sequence[Sheet]], AbstractContextManager[Book]]
"""Opens a book for sheets, all of which must be written before it is finished.

The files appear under their names, whole, when the context ends; an exception leaves none.
"""


def paths_of_sheets(path: Path, sheets: Sequence[Sheet]) -> list[Path]:
    """Return the files of a format that holds one sheet per file.

    ``pedidos.csv`` holds the records, ``pedidos.parcelas.csv`` beside it the sheet ``parcelas``.
    """
    return [
        path if sheet == sheets[0] else path.with_name(f"{path.stem}.{sheet.name}{path.suffix}")
        for sheet in sheets
    ]
