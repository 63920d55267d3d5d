"""JSON Lines: one object per row, one file per sheet, every number exact."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from xlbridge.export.books.book import Book, paths_of_sheets
from xlbridge.export.columns import Row
from xlbridge.export.listing import Sheet
from xlbridge.export.summary import Summary
from xlbridge.resources.column import Kind
from xlbridge.workbook.atomic import replacing

_NUMBERS = (Kind.NUMBER, Kind.MONEY)


@contextmanager
def open_jsonl(path: Path, sheets: Sequence[Sheet]) -> Iterator[Book]:
    """Open a JSON Lines book."""
    with ExitStack() as files:
        book = _JsonlBook()
        for target, sheet in zip(paths_of_sheets(path, sheets), sheets, strict=True):
            temporary = files.enter_context(replacing(target))
            stream = files.enter_context(temporary.open("w", encoding="utf-8", newline="\n"))
            book.streams[sheet.name] = stream
        yield book


class _JsonlBook:
    def __init__(self) -> None:
        self.streams: dict[str, TextIO] = {}

    def write(self, sheet: Sheet, rows: Iterable[Row]) -> int:
        write, encode = self.streams[sheet.name].write, json.JSONEncoder(ensure_ascii=False).encode
        # The exact digits of a number stand in the rows as text; JSON has them bare.
        columns = [(json.dumps(c.name), c.kind in _NUMBERS) for c in sheet.columns]
        count = 0
        for row in rows:
            members = [
                f"{name}: {cell if bare and cell is not None else encode(cell)}"
                for (name, bare), cell in zip(columns, row, strict=True)
            ]
            write("{" + ", ".join(members) + "}\n")
            count += 1
        return count

    def finish(self, summary: Summary) -> None:
        pass
