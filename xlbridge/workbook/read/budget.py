"""Budget of cells and text that a workbook's sheets share, whatever its format."""

from collections.abc import Sequence

from xlbridge.i18n import Text
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read.cells import CellEncoder
from xlbridge.workbook.read.refusals import cells_too_far_apart, text_too_long, too_large
from xlbridge.workbook.read.shared_texts import SharedTexts

_CELL_TEXT = Text(pt="o texto das células", en="the cells' text")


class Budget:
    """Budget of cells and text that all sheets of a workbook share."""

    def __init__(self, limits: WorkbookLimits) -> None:
        self._limits = limits
        self._cells = 0
        self._letters = 0

    def take_cells(self, cells: int) -> None:
        self._cells += cells
        if self._cells > self._limits.cells:
            raise cells_too_far_apart()

    def check_texts(self, sheet: str, encoders: Sequence[CellEncoder]) -> None:
        if max(encoder.longest for encoder in encoders) > self._limits.text_length:
            raise text_too_long(sheet, self._limits.text_length)
        rows = max(encoder.filled for encoder in encoders)
        most = self._limits.text_size + rows * self._limits.text_per_row
        if self._letters + _text_length(encoders) > most:
            raise too_large(_CELL_TEXT, most)

    def check_shared(self, sheet: str, shared: SharedTexts) -> None:
        left = self._limits.text_size - self._letters
        most = shared.letters_beyond(sheet, left, self._limits.text_per_row)
        if most is not None:
            raise too_large(_CELL_TEXT, most + self._letters)

    def end_sheet(self, encoders: Sequence[CellEncoder]) -> None:
        self._letters += _text_length(encoders)


def _text_length(encoders: Sequence[CellEncoder]) -> int:
    return sum(encoder.letters for encoder in encoders)
