"""A workbook's cells, put together from what its parsing tells."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from xlbridge.workbook.reading.cells import CellColumn, SheetCells
from xlbridge.workbook.reading.parsed import Parsed, RowsRead, SheetBegun, WorkbookBegun


@dataclass(frozen=True, slots=True)
class WorkbookCells:
    """The sheets that were read, in the workbook's order.

    ``fingerprint`` is that of the template it was made from, None where there is none; ``hidden``
    are the names of hidden sheets.
    """

    fingerprint: str | None
    sheets: list[SheetCells] = field(repr=False)
    hidden: Sequence[str] = ()


WorkbookSource = Callable[[], WorkbookCells]
"""Waits for a workbook that is being read, and returns it or raises what stood in the way."""


@dataclass(frozen=True, slots=True)
class ComingWorkbook:
    """A ``WorkbookSource`` that tells whether there is still something to wait for."""

    source: WorkbookSource
    is_here: Callable[[], bool]

    def __call__(self) -> WorkbookCells:
        """Wait for the workbook."""
        return self.source()


def assemble(messages: Iterable[Parsed]) -> WorkbookCells:
    """Put a workbook together; raises whatever reading the messages raises."""
    begun = WorkbookBegun(None, ())
    sheets: list[SheetCells] = []
    columns: list[CellColumn] = []
    for message in messages:
        match message:
            case WorkbookBegun():
                begun = message
            case SheetBegun():
                columns = [CellColumn() for _ in range(message.width)]
                sheets.append(SheetCells(message.name, message.first_column, columns, message.raw))
            case RowsRead():
                for column, more in zip(columns, message.columns, strict=True):
                    column.extend(more)
    return WorkbookCells(begun.fingerprint, sheets, begun.hidden)
