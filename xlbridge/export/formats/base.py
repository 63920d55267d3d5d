"""Interface of every output format: tables, the summary for a cover, the writer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from xlbridge.export.lines import LineFormat
from xlbridge.export.sheets import Sheet
from xlbridge.export.totals import TotalTable
from xlbridge.i18n import Text


@dataclass(frozen=True, slots=True)
class CoverSummary:
    """Summary for the cover. ``filters`` are names and values as the user gave them."""

    title: Text
    filters: Sequence[tuple[str, str]]
    at: datetime
    records: int
    sheets: Mapping[str, int]
    complete: bool
    remarks: Sequence[Text] = ()
    amount: str = ""
    totals: Sequence[TotalTable] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a sheet: how many, how long each column's longest text is, and the lines.

    ``blocks`` are many lines at a time, as the book's form of the sheet makes them, in UTF-8.
    ``files`` hold just these lines, none where some of a file are left out.
    """

    sheet: Sheet
    rows: int
    widths: Sequence[int]
    blocks: Iterable[bytes]
    files: Sequence[Path] = ()


class OutputWriter(Protocol):
    """Sheets being written."""

    def form(self, sheet: Sheet) -> LineFormat:
        """Return how a row of a sheet becomes a line, before any is written."""

    def take(self, sheet: int, lines: Path) -> None:
        """Take a file of lines of a sheet, by its position, before all have come.

        They are those of the sheet's table, unless that leaves out some in the end.
        """
        return

    def write(self, tables: Sequence[Table], summary: CoverSummary) -> None:
        """Write everything; what the export came to where the format has a place for it."""


OpenOutput = Callable[[Path, Sequence[Sheet]], AbstractContextManager[OutputWriter]]
"""Opens a book for sheets.

The files appear under their names, whole, when the context ends; an exception leaves none.
"""


def sheet_paths(path: Path, sheets: Sequence[Sheet]) -> list[Path]:
    """Return the files of a format that holds one sheet per file.

    ``pedidos.csv`` holds the records, ``pedidos.parcelas.csv`` beside it the sheet ``parcelas``.
    """
    return [
        path if sheet == sheets[0] else path.with_name(f"{path.stem}.{sheet.name}{path.suffix}")
        for sheet in sheets
    ]
