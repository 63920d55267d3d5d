"""Checks across the workbooks of a batch: repeated keys, repeated rows, references."""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.batch.plan import relative_name
from xlbridge.batch.reference_checks import ReferenceChecks, UnsettledWorkbook
from xlbridge.resources import KEY, REFERENCES, Resource, key_fields, registry_called
from xlbridge.resources.findings import CATALOGUE, Finding
from xlbridge.upload.lookup import Registries
from xlbridge.validation import ValidatedSheet, first_occurrences, list_hashes
from xlbridge.validation.cross_sheet import (
    IntArray,
    cell_reference,
    compare_sheets,
    rows_in_error,
    unique_keys,
)
from xlbridge.workbook import cell_address

_HASH_KEYS = ("xlbridge-batch-a", "xlbridge-batch-b")


@dataclass(frozen=True, slots=True)
class RowDigests:
    """Digests of some rows of a sheet: two numbers each, for the ``positions`` in its frame.

    Rows with the same hashes are the same in every column.
    """

    positions: IntArray
    hashes: npt.NDArray[np.uint64]


def unkeyed_row_digests(sheet: ValidatedSheet) -> RowDigests:
    """Return the digests of a sheet's rows that have neither an error nor a key.

    No other check finds them repeated.
    """
    if not len(sheet.rows):
        return RowDigests(
            np.zeros(0, dtype=np.intp), np.zeros((0, len(_HASH_KEYS)), dtype=np.uint64)
        )
    unkeyed = ~rows_in_error(sheet)
    for _, columns in unique_keys(sheet.resource) if sheet.resource else ():
        unkeyed &= ~sheet.frame[list(columns)].notna().all(axis="columns").to_numpy()
    positions = np.flatnonzero(unkeyed)
    # The key that joins sheets is one workbook's own; the lists that it joins are the record's.
    rows = sheet.frame.drop(columns=KEY, errors="ignore").iloc[positions]
    hashes = [
        pd.util.hash_pandas_object(
            rows.assign(**{KEY: list_hashes(sheet, key).iloc[positions]} if sheet.children else {}),
            index=False,
            hash_key=key,
        )
        for key in _HASH_KEYS
    ]
    return RowDigests(positions, np.column_stack([each.to_numpy() for each in hashes]))


def repeated_rows(
    sheets: Sequence[ValidatedSheet], digests: Sequence[RowDigests]
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
        firsts = first_occurrences(pd.DataFrame(np.concatenate([each.hashes for each in alike])))
        for row in np.flatnonzero(owners[firsts] < owners):
            owner, first = int(owners[row]), firsts[row]
            earlier = sheets[owners[first]], int(positions[first])
            yield owner, _repeat_finding(sheets[owner], int(positions[row]), *earlier)


def _repeat_finding(
    sheet: ValidatedSheet, position: int, earlier: ValidatedSheet, first: int
) -> Finding:
    row, column = sheet.rows[position], _first_column(sheet)
    return Finding(
        CATALOGUE["row-repeated"],
        row=row,
        column=column,
        cell=cell_address(row, sheet.columns[column]),
        details={"first": cell_reference(earlier, _first_column(earlier), first, sheet)},
    )


def _first_column(sheet: ValidatedSheet) -> str:
    return min(sheet.columns, key=sheet.columns.__getitem__)


@dataclass(frozen=True, slots=True)
class SheetSummary:
    """The part of a sheet that is compared with others: its keys and its errors.

    ``sheet`` has only the compared columns, and its file as messages name it; ``file`` is its path.
    """

    step: str
    file: Path
    sheet: ValidatedSheet
    digests: RowDigests

    @classmethod
    def of(cls, step: str, sheet: ValidatedSheet, folder: Path) -> "SheetSummary":
        """Return the summary of a sheet; messages name its file relative to ``folder``."""
        compared = set() if sheet.resource is None else set(_compared_columns(sheet.resource))
        summary = replace(
            sheet,
            file=Path(relative_name(folder, sheet.file)),
            frame=sheet.frame[[name for name in sheet.frame if name in compared]],
            rows=array("i", sheet.rows),
            findings=list(sheet.error_findings()),
            fixes=None,
        )
        return cls(step, sheet.file, summary, unkeyed_row_digests(sheet))


def _compared_columns(resource: Resource) -> Iterator[str]:
    for column, columns in unique_keys(resource):
        yield from (column, *columns)
    for each in resource.columns:
        if each.references or each.registers or each.link:
            yield each.name
    if (registry := registry_called(resource.name)) is not None:
        yield from key_fields(resource)
        yield REFERENCES[registry].active or ""
        yield REFERENCES[registry].label
        for lookup in resource.read_back.lookups if resource.read_back else ():
            yield from lookup.when


SheetFindings = Mapping[tuple[Path, str], list[Finding]]
"""The findings of each sheet, by its file and its name."""


class CrossWorkbookChecks:
    """Checks that need several workbooks: repeated keys and rows, references.

    ``steps`` are the names of the batch's steps in the order in which they are done; texts name
    files relative to ``folder``. Without ``registries`` the remote system is not asked. Only the
    keys of a sheet stay in memory, about a hundred bytes for each row.
    """

    def __init__(
        self, steps: Sequence[str], folder: Path, registries: Registries | None = None
    ) -> None:
        self._step_order = {name: rank for rank, name in enumerate(steps)}
        self._folder = folder
        self._registries = registries
        self._summaries: list[SheetSummary] = []
        self._unsettled: list[UnsettledWorkbook] = []

    def add(self, step: str, sheet: ValidatedSheet) -> None:
        """Add a judged sheet of a step; the caller may drop it then."""
        self._summaries.append(SheetSummary.of(step, sheet, self._folder))

    def add_unsettled(self, file: Path, resource: Resource | None) -> None:
        """Add a workbook that could not be read, or whose rows are not all in the system yet.

        Records that it may bring are not reported as missing; ``resource`` is None if unknown.
        """
        self._unsettled.append(UnsettledWorkbook(Path(relative_name(self._folder, file)), resource))

    def findings(self) -> SheetFindings:
        """Return the findings of each sheet.

        Of two that repeat each other the later one has the finding: in the order of the steps,
        then of the files, then of the sheets as they were added. Raises what ``Client.records``
        raises.
        """
        summaries = sorted(
            self._summaries, key=lambda each: (self._step_order[each.step], each.file)
        )
        repeated = compare_sheets([each.sheet for each in summaries])
        found = [list(findings) for findings in repeated]
        sheets = [
            replace(each.sheet, findings=[*each.sheet.findings, *findings])
            for each, findings in zip(summaries, repeated, strict=True)
        ]
        broken = [each.sheet for each in summaries if not each.sheet.readable]
        unread = (UnsettledWorkbook(sheet.file, sheet.resource) for sheet in broken)
        reference_checks = ReferenceChecks(sheets, [*self._unsettled, *unread], self._registries)
        for findings, sheet in zip(found, sheets, strict=True):
            findings += reference_checks.findings(sheet)
        for number, finding in repeated_rows(sheets, [each.digests for each in summaries]):
            found[number].append(finding)
        by_sheet: defaultdict[tuple[Path, str], list[Finding]] = defaultdict(list)
        for each, findings in zip(summaries, found, strict=True):
            by_sheet[each.file, each.sheet.sheet] += findings
        return by_sheet
