"""The usable values of a column of a judged sheet, each once."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.findings import Finding, Severity
from xlbridge.validation.cells.cell_problems import BoolArray
from xlbridge.validation.sheet_findings import alike, rows_of
from xlbridge.validation.validate import ValidatedSheet

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The distinct ``values`` of a column as texts, in the order of their first cells.

    ``positions`` are the cells that have one, as positions in the sheet's frame; ``which`` says of
    each of them which of the values it has.
    """

    values: tuple[str, ...]
    positions: IntArray
    which: IntArray

    def cells(self, numbers: Collection[int]) -> Iterator[tuple[int, int]]:
        """Yield the position of each cell with one of the values of those numbers, and the
        number."""
        wanted = np.isin(self.which, list(numbers))
        yield from zip(self.positions[wanted].tolist(), self.which[wanted].tolist(), strict=True)


def values_of(sheet: ValidatedSheet, column: str) -> ColumnValues:
    """Return the values of a column, but for cells that are empty or have an error."""
    usable = ~rows_in_error(sheet, (column,)) & sheet.frame[column].notna().to_numpy()
    positions = np.flatnonzero(usable)
    which, distinct = pd.factorize(sheet.frame[column].array[positions])
    return ColumnValues(tuple(map(str, distinct)), positions, which)


def rows_in_error(sheet: ValidatedSheet, columns: Collection[str] | None = None) -> BoolArray:
    """Mark the rows that have an error, in one of the ``columns`` or in any."""
    rows = {
        row
        for group in alike(sheet.findings)
        if _counts(group[0], columns)
        for row in rows_of(group)
    }
    return np.isin(sheet.rows, list(rows))


def _counts(finding: Finding, columns: Collection[str] | None) -> bool:
    is_error = finding.kind.severity is Severity.ERROR
    return is_error and (columns is None or finding.column in columns)
