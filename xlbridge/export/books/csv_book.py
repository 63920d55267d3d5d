"""CSV: UTF-8 with a byte-order mark (Excel needs it), one file per sheet.

The plain dialect has commas, decimal points and ISO dates; ``pt-br`` is what Excel in Brazil opens
by a double click: semicolons, decimal commas, dd/mm/yyyy.
"""

import csv
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from xlbridge.export.books.book import Book, OpenBook, paths_of_sheets
from xlbridge.export.columns import ExportColumn, Row
from xlbridge.export.listing import Sheet
from xlbridge.export.summary import Summary
from xlbridge.resources.column import Kind
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
    if text.isalnum() and text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text)
    if plain.startswith(_FORMULA_STARTS) or plain.strip().startswith(_FORMULA_STARTS):
        return "'" + text
    return text


class _CsvBook:
    def __init__(self, dialect: CsvDialect) -> None:
        self.writers: dict[str, Callable[[list[str]], object]] = {}
        self._dialect = dialect

    def write(self, sheet: Sheet, rows: Iterable[Row]) -> int:
        write = self.writers[sheet.name]
        written = [self._writing(column) for column in sheet.columns]
        count = 0
        for row in rows:
            cells = zip(written, row, strict=True)
            write(["" if cell is None else put(cell) for put, cell in cells])
            count += 1
        return count

    def finish(self, summary: Summary) -> None:
        pass

    def _writing(self, column: ExportColumn) -> Callable[[Any], str]:
        dialect = self._dialect
        if column.is_list:
            return lambda texts: neutral("\n".join(texts))
        match column.kind:
            case Kind.BOOLEAN:
                return lambda flag: dialect.true if flag else dialect.false
            case Kind.INTEGER:
                return str
            case Kind.NUMBER | Kind.MONEY:
                return lambda digits: digits.replace(".", dialect.decimal_point)
            case Kind.DATE:
                return self._moment
            case _:
                return neutral

    def _moment(self, text: str) -> str:
        moment = datetime.fromisoformat(text)
        # Not strftime for the year: before 1000 it drops the leading zeros on some platforms.
        day = self._dialect.day.replace("%Y", f"{moment.year:04d}")
        at_midnight = moment.time() == datetime.min.time()
        return moment.strftime(day if at_midnight else day + self._dialect.time)
