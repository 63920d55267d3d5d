"""CSV: UTF-8 with a byte-order mark (Excel needs it), one file per sheet.

The plain dialect has commas, decimal points and ISO dates; ``pt-br`` is what Excel in Brazil opens
by a double click: semicolons, decimal commas, dd/mm/yyyy.
"""

import csv
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from xlbridge.export.books.book import Book, OpenBook, paths_of_sheets
from xlbridge.export.columns import Cell
from xlbridge.export.listings import Sheet
from xlbridge.workbook.atomic import replacing

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How values are written."""

    delimiter: str
    decimal_point: str
    day: str
    time: str
    true: str
    false: str


CSV_DIALECTS: dict[str, CsvDialect] = {
    "plain": CsvDialect(",", ".", "%Y-%m-%d", "T%H:%M:%S", "true", "false"),
    "pt-br": CsvDialect(";", ",", "%d/%m/%Y", " %H:%M:%S", "VERDADEIRO", "FALSO"),
}


def csv_opener(dialect: CsvDialect) -> OpenBook:
    """Return what opens a CSV book in a dialect."""

    @contextmanager
    def open_csv(path: Path, sheets: Sequence[Sheet]) -> Iterator[Book]:
        with ExitStack() as files:
            book = _CsvBook(dialect)
            for target, sheet in zip(paths_of_sheets(path, sheets), sheets, strict=True):
                temporary = files.enter_context(replacing(target))
                stream = files.enter_context(temporary.open("w", encoding="utf-8-sig", newline=""))
                writer = csv.writer(stream, delimiter=dialect.delimiter)
                writer.writerow([column.name for column in sheet.columns])
                book.writers[sheet.name] = writer.writerow
            yield book

    return open_csv


def neutral(text: str) -> str:
    """Return a text so that no spreadsheet program takes it for a formula.

    A text that begins like one, perhaps after spaces or in a compatibility form, gets an
    apostrophe in front.
    """
    plain = unicodedata.normalize("NFKC", text)
    if plain.startswith(_FORMULA_STARTS) or plain.strip().startswith(_FORMULA_STARTS):
        return "'" + text
    return text


class _CsvBook:
    def __init__(self, dialect: CsvDialect) -> None:
        self.writers: dict[str, Callable[[list[str]], object]] = {}
        self._dialect = dialect

    def write(self, sheet: Sheet, row: Sequence[Cell]) -> None:
        self.writers[sheet.name]([self._written(cell) for cell in row])

    def _written(self, cell: Cell) -> str:
        match cell:
            case None:
                return ""
            case str():
                return neutral(cell)
            case tuple():
                return neutral("\n".join(cell))
            case bool():
                return self._dialect.true if cell else self._dialect.false
            case int():
                return str(cell)
            case Decimal():
                return f"{cell:f}".replace(".", self._dialect.decimal_point)
            case datetime():
                return self._moment(cell)

    def _moment(self, moment: datetime) -> str:
        # Not strftime for the year: before 1000 it drops the leading zeros on some platforms.
        day = self._dialect.day.replace("%Y", f"{moment.year:04d}")
        at_midnight = moment.time() == datetime.min.time()
        return moment.strftime(day if at_midnight else day + self._dialect.time)
