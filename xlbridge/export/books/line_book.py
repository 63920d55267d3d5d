"""Text formats: one file per sheet, whose lines are just what the format's form makes of rows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from xlbridge.export.books.book import Book, Table, paths_of_sheets
from xlbridge.export.lines import LineForm
from xlbridge.export.sheet import Sheet
from xlbridge.export.summary import Summary
from xlbridge.workbook.atomic import replacing


@contextmanager
def open_lines(
    path: Path, sheets: Sequence[Sheet], form: LineForm, opening: Callable[[Sheet], str]
) -> Iterator[Book]:
    """Open a book of text files; ``opening`` is what a sheet's file begins with."""
    with ExitStack() as files:
        streams: dict[str, BinaryIO] = {}
        for target, sheet in zip(paths_of_sheets(path, sheets), sheets, strict=True):
            temporary = files.enter_context(replacing(target))
            streams[sheet.name] = files.enter_context(temporary.open("wb"))
            streams[sheet.name].write(opening(sheet).encode())
        yield _LineBook(streams, form)


@dataclass(frozen=True, slots=True)
class _LineBook:
    streams: dict[str, BinaryIO]
    line_form: LineForm

    def form(self, sheet: Sheet) -> LineForm:
        return self.line_form

    def write(self, tables: Sequence[Table], summary: Summary) -> None:
        for table in tables:
            self.streams[table.sheet.name].writelines(table.blocks)
