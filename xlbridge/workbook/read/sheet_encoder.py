"""Encoder of a sheet's rows, and the budget of cells and text that a workbook's sheets share."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read.cells import CellEncoder
from xlbridge.workbook.read.messages import RowsRead
from xlbridge.workbook.read.refusals import cells_too_far_apart, text_too_long, too_large

if TYPE_CHECKING:
    from xlbridge.workbook.read.shared_texts import SharedTexts

_CELL_TEXT = Text(pt="o texto das células", en="the cells' text")
_ROWS_AT_ONCE = 4096


class Budget:
    """Budget of cells and text that all sheets of a workbook share, whatever its format."""

    def __init__(self, limits: WorkbookLimits) -> None:
        self._limits = limits
        self._cells = 0
        self._letters = 0

    def check_cells(self, cells: int) -> None:
        """Raise ``WorkbookRefused`` when a sheet has more cells than are left."""
        if self._cells + cells > self._limits.cells:
            raise cells_too_far_apart()

    def check_texts(self, sheet: str, encoders: Collection[CellEncoder]) -> None:
        """Raise ``WorkbookRefused`` when a sheet's texts are too long, one of them or all."""
        if max(encoder.longest for encoder in encoders) > self._limits.text_length:
            raise text_too_long(sheet, self._limits.text_length)
        rows = max(encoder.filled for encoder in encoders)
        most = self._limits.text_size + rows * self._limits.text_per_row
        if self._letters + _text_length(encoders) > most:
            raise too_large(_CELL_TEXT, most)

    def check_shared(self, sheet: str, shared: "SharedTexts") -> None:
        """Raise ``WorkbookRefused`` when a sheet refers to longer shared texts than it may."""
        left = self._limits.text_size - self._letters
        most = shared.letters_beyond(sheet, left, self._limits.text_per_row)
        if most is not None:
            raise too_large(_CELL_TEXT, most + self._letters)

    def end_sheet(self, cells: int, encoders: Iterable[CellEncoder]) -> None:
        """Take the cells and the texts of a whole sheet off the budget."""
        self._cells += cells
        self._letters += _text_length(encoders)


def _text_length(encoders: Iterable[CellEncoder]) -> int:
    return sum(encoder.letters for encoder in encoders)


class SheetEncoder:
    """Encoder of one sheet: turns the rows that a parser gives into messages, under the budget.

    ``shared`` are the shared texts by their index, where the rows hold references to them.
    """

    def __init__(self, name: str, budget: Budget, shared: Sequence[str] = ()) -> None:
        self._name = name
        self._budget = budget
        self._shared = shared
        self._encoders: dict[int, CellEncoder] = {}
        self._height = 0
        self._columns = range(0)

    def reserve(self, bottom: int, left: int, right: int) -> None:
        """Make room for cells down to the zero-based row ``bottom``; raise ``WorkbookRefused``."""
        known = self._columns or range(left, right + 1)
        self._columns = range(min(known.start, left), max(known.stop, right + 1))
        self._height = max(self._height, bottom + 1)
        self._budget.check_cells(self._height * len(self._columns))

    def encode(self, top: int, left: int, rows: Iterable[list[Any]]) -> Iterator[RowsRead]:
        """Yield rows that begin in the zero-based row ``top`` and column ``left``."""
        remaining = iter(rows)
        while batch := list(islice(remaining, _ROWS_AT_ONCE)):
            encoders = [self._encoder(left + place) for place in range(len(batch[0]))]
            columns = [
                encoder.encode(values)
                for encoder, values in zip(encoders, zip(*batch, strict=True), strict=True)
            ]
            if encoders:
                self._budget.check_texts(self._name, self._encoders.values())
            yield RowsRead(top, left, columns)
            top += len(batch)

    def end(self) -> None:
        """Take the sheet off the budget."""
        self._budget.end_sheet(self._height * len(self._columns), self._encoders.values())

    def _encoder(self, column: int) -> CellEncoder:
        if column not in self._encoders:
            self._encoders[column] = CellEncoder(self._shared)
        return self._encoders[column]
