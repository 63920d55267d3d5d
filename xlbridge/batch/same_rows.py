"""Rows that are the same in every column, in two sheets of a batch."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.findings import CATALOGUE, Finding
from xlbridge.validation.column_values import IntArray, rows_in_error
from xlbridge.validation.judge import first_of_equals
from xlbridge.validation.together import keys_of, place_of
from xlbridge.validation.validate import ValidatedSheet
from xlbridge.workbook.address import cell_address

_HASH_KEYS = ("xlbridge-batch-a", "xlbridge-batch-b")


@dataclass(frozen=True, slots=True)
class Digests:
    """Two numbers for each of some rows of a sheet, at ``positions`` in its frame.

    Rows with the same numbers are the same in every column.
    """

    positions: IntArray
    numbers: npt.NDArray[np.uint64]


def digests_of(sheet: ValidatedSheet) -> Digests:
    """Return the digests of a sheet's rows without an error and without a key: those of which
    nothing else tells whether they are there twice."""
    if not len(sheet.rows):
        return Digests(np.zeros(0, dtype=np.intp), np.zeros((0, len(_HASH_KEYS)), dtype=np.uint64))
    unkeyed = ~rows_in_error(sheet)
    for _, columns in keys_of(sheet.resource) if sheet.resource else ():
        unkeyed &= ~sheet.frame[list(columns)].notna().all(axis="columns").to_numpy()
    positions = np.flatnonzero(unkeyed)
    rows = sheet.frame.iloc[positions]
    hashes = [pd.util.hash_pandas_object(rows, index=False, hash_key=key) for key in _HASH_KEYS]
    return Digests(positions, np.column_stack([each.to_numpy() for each in hashes]))


def same_rows(
    sheets: Sequence[ValidatedSheet], digests: Sequence[Digests]
) -> Iterator[tuple[int, Finding]]:
    """Yield the rows that an earlier sheet of the same resource has too, with the number of the
    sheet; ``digests`` are those of the sheets."""
    of_resource: defaultdict[str, list[int]] = defaultdict(list)
    for number, sheet in enumerate(sheets):
        if sheet.resource is not None and len(digests[number].positions):
            of_resource[sheet.resource.name].append(number)
    for numbers in of_resource.values():
        alike = [digests[number] for number in numbers]
        owners = np.repeat(numbers, [len(each.positions) for each in alike])
        positions = np.concatenate([each.positions for each in alike])
        firsts = first_of_equals(pd.DataFrame(np.concatenate([each.numbers for each in alike])))
        for row in np.flatnonzero(owners[firsts] < owners):
            owner, first = int(owners[row]), firsts[row]
            earlier = sheets[owners[first]], int(positions[first])
            yield owner, _finding(sheets[owner], int(positions[row]), *earlier)


def _finding(sheet: ValidatedSheet, position: int, earlier: ValidatedSheet, first: int) -> Finding:
    row, column = sheet.rows[position], _first_column(sheet)
    return Finding(
        CATALOGUE["row-repeated"],
        row=row,
        column=column,
        cell=cell_address(row, sheet.columns[column]),
        details={"first": place_of(earlier, _first_column(earlier), first, sheet)},
    )


def _first_column(sheet: ValidatedSheet) -> str:
    return min(sheet.columns, key=sheet.columns.__getitem__)
