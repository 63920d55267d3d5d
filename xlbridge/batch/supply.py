"""What the workbooks of a batch bring into a registry, by what its records are named by."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from xlbridge.batch.codes import Fault, ambiguous, comparable
from xlbridge.batch.links import names_in
from xlbridge.resources.checks import holds
from xlbridge.resources.column import Kind, Link
from xlbridge.resources.references import REFERENCES
from xlbridge.validation.cells.cell_problems import BoolArray
from xlbridge.validation.column_values import rows_in_error
from xlbridge.validation.together import place_of
from xlbridge.validation.validate import ValidatedSheet

_MOST_TOLD = 3


class Supply:
    """The rows of a batch that register records of a registry, by the values that name them.

    With a ``link`` they are named by its field, without one by their codes. A row with an error, or
    in a sheet whose layout has one, is not sent as it is.
    """

    def __init__(
        self, registry: str, link: Link | None, kind: Kind, sheets: Sequence[ValidatedSheet]
    ) -> None:
        self._link, self._kind = link, kind
        self._sheets = [s for s in sheets if _columns(s, registry, link)]
        self._columns = [_columns(sheet, registry, link) for sheet in self._sheets]
        sizes = [len(sheet.rows) for sheet in self._sheets]
        self._owners = np.repeat(np.arange(len(sizes)), sizes)
        self._positions = np.concatenate([np.arange(0), *map(np.arange, sizes)])
        self._good = _joined([~rows_in_error(sheet) & sheet.readable for sheet in self._sheets])
        self._inactive = _joined([_inactive(sheet, registry) for sheet in self._sheets])
        named = [
            value
            for sheet, columns in zip(self._sheets, self._columns, strict=True)
            for value in _values(sheet, columns, link)
        ]
        which, values = pd.factorize(np.array([self._text(value) for value in named], dtype=object))
        self._numbers = {value: number for number, value in enumerate(values)}
        self._order = np.argsort(which, kind="stable")
        self._starts = np.searchsorted(which[self._order], np.arange(len(values) + 1))
        fine = np.bincount(which[self._good & (which >= 0)], minlength=len(values)) == 1
        fine[which[self._inactive & (which >= 0)]] = False
        self._fine = fine

    def __bool__(self) -> bool:
        """Whether any workbook of the batch is for the registry."""
        return bool(self._sheets)

    def __contains__(self, value: str) -> bool:
        return value in self._numbers

    def fault(self, value: str, seen_from: ValidatedSheet) -> Fault | None:
        """Return why the rows that a value names give no record that may be used, None where they
        give one."""
        number = self._numbers[value]
        if self._fine[number]:
            return None
        rows = self._order[self._starts[number] : self._starts[number + 1]]
        good = rows[self._good[rows]]
        if not len(good):
            return Fault("reference-waits", {"place": self._place(rows[0], value, seen_from)})
        if self._link is not None and len(good) > 1:
            told = good[:_MOST_TOLD]
            return ambiguous(self._link, [self._place(row, value, seen_from) for row in told])
        inactive = good[self._inactive[good]]
        if not len(inactive):
            return None
        place = self._place(inactive[0], value, seen_from)
        return Fault("reference-inactive-in-batch", {"place": place})

    def _text(self, value: Any) -> str | None:
        return None if pd.isna(value) else comparable(self._kind, value)

    def _place(self, row: int, value: str, seen_from: ValidatedSheet) -> str:
        owner, position = self._owners[row], int(self._positions[row])
        sheet = self._sheets[owner]
        column = next(
            name
            for name in self._columns[owner]
            if self._text(sheet.frame[name].iat[position]) == value
        )
        return place_of(sheet, column, position, seen_from)


def _columns(sheet: ValidatedSheet, registry: str, link: Link | None) -> tuple[str, ...]:
    """Return the columns of a sheet that name the records which it registers."""
    resource = sheet.resource
    if resource is None:
        return ()
    if link is None:
        named = [column.name for column in resource.columns if column.registers == registry]
    elif resource.name == registry:
        named = [name for name, field in names_in(resource).items() if field == link.field]
    else:
        named = []
    return tuple(name for name in named if name in sheet.columns)


def _values(sheet: ValidatedSheet, columns: Sequence[str], link: Link | None) -> Iterator[object]:
    """Yield what names the record of each row: where several columns share a field, the one whose
    condition holds, else the first that is filled."""
    frame = sheet.frame
    values = pd.Series(None, index=frame.index, dtype=object)
    read_back = None if sheet.resource is None or link is None else sheet.resource.read_back
    for lookup in () if read_back is None else read_back.lookups:
        for column in columns:
            if tuple(lookup.key) == (column,):
                fits = values.isna()
                for other, wanted in lookup.when.items():
                    fits &= holds(frame, other, wanted)
                values = values.mask(fits, frame[column].astype(object))
    for column in columns:
        values = values.mask(values.isna(), frame[column].astype(object))
    yield from values


def _inactive(sheet: ValidatedSheet, registry: str) -> BoolArray:
    active = REFERENCES[registry].active
    if active is None or active not in sheet.frame:
        return np.zeros(len(sheet.rows), dtype=bool)
    return sheet.frame[active].eq(False).fillna(value=False).to_numpy(dtype=bool)


def _joined(parts: list[BoolArray]) -> BoolArray:
    return np.concatenate([np.zeros(0, dtype=bool), *parts])
