"""JSON Lines: one object per row, one file per sheet, every number exact."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from xlbridge.export.books.book import Book, paths_of_sheets
from xlbridge.export.columns import Cell
from xlbridge.export.listings import Sheet
from xlbridge.workbook.atomic import replacing


@contextmanager
def open_jsonl(path: Path, sheets: Sequence[Sheet]) -> Iterator[Book]:
    """Open a JSON Lines book."""
    with ExitStack() as files:
        book = _JsonlBook()
        for target, sheet in zip(paths_of_sheets(path, sheets), sheets, strict=True):
            temporary = files.enter_context(replacing(target))
            stream = files.enter_context(temporary.open("w", encoding="utf-8", newline="\n"))
            book.writers[sheet.name] = stream.write
        yield book


class _JsonlBook:
    def __init__(self) -> None:
        self.writers: dict[str, Callable[[str], object]] = {}

    def write(self, sheet: Sheet, row: Sequence[Cell]) -> None:
        members = (
            f"{json.dumps(column.name)}: {_literal(cell)}"
            for column, cell in zip(sheet.columns, row, strict=True)
        )
        self.writers[sheet.name]("{" + ", ".join(members) + "}\n")


def _literal(cell: Cell) -> str:
    # The json module cannot write a Decimal as the number that it is.
    if isinstance(cell, Decimal):
        return f"{cell:f}"
    value = cell.isoformat() if isinstance(cell, datetime) else cell
    return json.dumps(value, ensure_ascii=False)
