"""Interface of all output formats: tables, the summary for a cover, the writer."""

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
    """Summary for the cover. ``filters`` are option names and values."""

    title: Text
    filters: Sequence[tuple[str, str]]
    exported_at: datetime
    records: int
    sheets: Mapping[str, int]
    complete: bool
    remarks: Sequence[Text] = ()
    amount: str = ""
    totals: Sequence[TotalTable] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a sheet: their number, the length of each column's longest text, the lines.

    ``blocks`` are many lines at a time, in the writer's ``line_format`` and UTF-8. ``files`` hold
    exactly these lines; none if records were replaced.
    """

    sheet: Sheet
    rows: int
    widths: Sequence[int]
    blocks: Iterable[bytes]
    files: Sequence[Path] = ()


class OutputWriter(Protocol):
    """Sheets being written."""

    def line_format(self, sheet: Sheet) -> LineFormat:
        """Return the format of a sheet's lines."""

    def add_lines(self, sheet: int, lines: Path) -> None:
        """Receive a file of a sheet's lines, by its index, while others are being fetched.

        ``write`` receives the same lines, without those of replaced records.
        """
        return

    def write(self, tables: Sequence[Table], summary: CoverSummary) -> None:
        """Write the tables, and the summary if the format has a place for it."""


OpenOutput = Callable[[Path, Sequence[Sheet]], AbstractContextManager[OutputWriter]]
"""Opens an output for sheets. Its files are written when the context ends; none on an exception."""


def sheet_paths(path: Path, sheets: Sequence[Sheet]) -> list[Path]:
    """Return the files of a format with one sheet per file.

    ``pedidos.csv`` holds the records, ``pedidos.parcelas.csv`` the sheet ``parcelas``.
    """
    return [
        path if sheet == sheets[0] else path.with_name(f"{path.stem}.{sheet.name}{path.suffix}")
        for sheet in sheets
    ]
