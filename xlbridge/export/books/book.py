"""The interface of every format."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from xlbridge.export.lines import LineForm
from xlbridge.export.sheet import Sheet
from xlbridge.export.summary import Summary


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a sheet: how many, how long each column's longest text is, and the lines.

    ``blocks`` are many lines at a time, as the book's form of the sheet makes them, in UTF-8.
    """

    sheet: Sheet
    rows: int
    widths: Sequence[int]
    blocks: Iterable[bytes]


class Book(Protocol):
    """Sheets being written."""

    def form(self, sheet: Sheet) -> LineForm:
        """Return how a row of a sheet becomes a line, before any is written."""

    def write(self, tables: Sequence[Table], summary: Summary) -> None:
        """Write everything; what the export came to where the format has a place for it."""


OpenBook = Callable[[Path, Sequence[Sheet]], AbstractContextManager[Book]]
"""Opens a book for sheets.

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
