"""Checks of all workbooks of a batch before any of them is sent, each by itself and across them:
repeated keys, repeated rows, references.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.batch.batch import Batch
from xlbridge.batch.ledger import CheckRecord
from xlbridge.batch.plan.steps import WorkbookFile, WorkbookStep, relative_name
from xlbridge.batch.reference_checks import ReferenceChecks, UnsettledWorkbook
from xlbridge.errors import WorkbookRefused
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import KEY, Resource
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.resources.references import (
    REFERENCES,
    key_fields,
    registry_called,
)
from xlbridge.upload.lookup import Registries
from xlbridge.upload.planning import may_be_sent
from xlbridge.validation import (
    RefusedFile,
    ValidatedSheet,
    ValidationRequest,
    ValidationResult,
    validate_file,
)
from xlbridge.validation.cross_sheet import (
    IntArray,
    cell_reference,
    compare_sheets,
    first_occurrences,
    unique_keys,
)
from xlbridge.validation.reports import without_cells
from xlbridge.workbook import cell_address
from xlbridge.workbook.read import CellKind

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
    unkeyed = ~sheet.rows_in_error()
    for _, columns in unique_keys(sheet.resource) if sheet.resource else ():
        unkeyed &= ~sheet.frame[list(columns)].notna().all(axis="columns").to_numpy()
    positions = np.flatnonzero(unkeyed)
    # The key that joins sheets is one workbook's own; the lists that it joins are the record's.
    rows = sheet.frame.drop(columns=KEY, errors="ignore").iloc[positions]
    hashes = [
        pd.util.hash_pandas_object(
            rows.assign(**{KEY: sheet.list_hashes(key).iloc[positions]} if sheet.children else {}),
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
        header=sheet.headers.get(column),
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
            source_cells={
                name: cells
                for name, cells in sheet.source_cells.items()
                if name in compared and not _OF_TEXTS.issuperset(cells.kinds)
            },
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


_OF_TEXTS = frozenset({CellKind.EMPTY, CellKind.TEXT})
"""Kinds of the cells of a column whose texts the frame has already."""

SheetFindings = Mapping[tuple[Path, str], list[Finding]]
"""The findings of each sheet, by its file and its name."""


class CrossWorkbookChecks:
    """Checks that need several workbooks: repeated keys and rows, references.

    ``steps`` are the names of the batch's steps in the order in which they are done; texts name
    files relative to ``folder``. Without ``registries`` the remote system is not asked. Only the
    keys of a sheet stay in memory, some 300 bytes for each row.
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
        ranked = sorted(self._summaries, key=lambda each: (self._step_order[each.step], each.file))
        # A workbook of two steps repeats nothing.
        once = {(each.file, each.sheet.sheet): each for each in reversed(ranked)}
        summaries = [each for each in ranked if once[each.file, each.sheet.sheet] is each]
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


JudgedFile = ValidatedSheet | RefusedFile

_MAX_FINDINGS = 3


@dataclass(frozen=True, slots=True)
class StepWorkbook:
    """A workbook to judge, and its step."""

    step: WorkbookStep
    workbook: WorkbookFile


def check_all(
    batch: Batch,
    judged: Iterable[tuple[StepWorkbook, JudgedFile]],
    advance: Callable[[], None],
    unsettled: Sequence[StepWorkbook] = (),
) -> list[JudgedFile]:
    """Check workbooks that were ``judged`` by themselves against one another; record the results.

    Return those that may not be sent, with their findings. Records that the ``unsettled`` workbooks
    may still bring are not reported as missing. Raises what ``Client.records`` raises, and records
    nothing then.
    """
    gathered = GatheredSheets(batch)
    for target in unsettled:
        gathered.add_unsettled(target)
    for target, found in judged:
        gathered.add(target, found)
        advance()
    failed = []
    for target, check, found in gathered.checks():
        batch.ledger.checked(batch.id, target.step.name, target.workbook.name, check)
        if not check.ok:
            failed.append(found)
    return failed


class GatheredSheets:
    """Judged sheets, of which only the cells that name records stay once their keys are compared.

    A good one needs them too: the batch may still find an error in it.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._judged: list[tuple[StepWorkbook, JudgedFile]] = []
        self._checks: dict[tuple[str | None, bool], CrossWorkbookChecks] = {}

    def add(self, target: StepWorkbook, judged: JudgedFile) -> None:
        """Add a judged workbook."""
        checks = self._of_environment(target.step)
        if isinstance(judged, ValidatedSheet):
            checks.add(target.step.name, judged)
            judged = without_cells(judged)
            judged.children = {
                name: without_cells(child) for name, child in judged.children.items()
            }
        else:
            self.add_unsettled(target)
        self._judged.append((target, judged))

    def add_unsettled(self, target: StepWorkbook) -> None:
        """Add a workbook that was not judged, or whose rows are not all in the system yet."""
        catalogue = self._batch.environments.context(target.step.profile).catalogue
        resource = catalogue.get(target.step.resource or "")
        self._of_environment(target.step).add_unsettled(target.workbook.path, resource)

    def checks(self) -> Iterator[tuple[StepWorkbook, CheckRecord, JudgedFile]]:
        """Yield each judged workbook, with the findings that only the whole batch shows.

        Raises what ``Client.records`` raises.
        """
        found = [each.findings() for each in self._checks.values()]
        for target, judged in self._judged:
            if isinstance(judged, ValidatedSheet):
                key = judged.file, judged.sheet
                judged.add(finding for of_sheet in found for finding in of_sheet.get(key, ()))
            yield target, _check_record(target, judged), judged

    def _of_environment(self, step: WorkbookStep) -> CrossWorkbookChecks:
        """Return the checks of a step's environment; one that only validates asks no system."""
        key = step.profile, step.sending is not None
        if key not in self._checks:
            registries = None
            if step.sending is not None:
                client = self._batch.environments.client(step.profile)
                registries = Registries(client)
            steps = [each.name for each in self._batch.plan.ordered]
            self._checks[key] = CrossWorkbookChecks(steps, self._batch.plan.folder, registries)
        return self._checks[key]


def judge_workbook(batch: Batch, target: StepWorkbook) -> JudgedFile:
    """Judge one workbook by its step."""
    context = batch.environments.context(target.step.profile)
    request = request_of(target)
    limits = replace(
        context.settings.limits, csv=target.step.csv.with_defaults(context.settings.limits.csv)
    )
    return single_result(validate_file(request, context.catalogue, limits))


def request_of(target: StepWorkbook) -> ValidationRequest:
    """Return the request that validates a workbook as its step does."""
    step = target.step
    return ValidationRequest(
        file=target.workbook.path,
        resource=step.resource,
        sheet=step.sheet,
        reading=step.reading,
        mapping=step.mapping,
        links=step.links,
    )


def single_result(found: Sequence[ValidationResult]) -> JudgedFile:
    """Return the result of the one sheet of a workbook that is judged: child sheets come after
    their main sheet, which has them."""
    return next(item for item in found if isinstance(item, JudgedFile))


def told_errors(judged: ValidatedSheet) -> Iterator[Text]:
    """Yield the errors of a sheet and of its child sheets, each after its place, if it has one."""
    for sheet in judged.with_children:
        name = "" if sheet is judged else f"{sheet.sheet}!"
        for finding in sheet.error_findings():
            place = f"{name}{finding.cell or ''} {finding.column or ''}".strip()
            yield untranslated("{place}{message}").format(
                place=f"{place}: " if place else "", message=finding.message
            )


def _check_record(target: StepWorkbook, judged: JudgedFile) -> CheckRecord:
    digest = target.workbook.sha256
    if isinstance(judged, ValidatedSheet):
        first_findings = tuple(islice(told_errors(judged), _MAX_FINDINGS))
        # Rows that are no records are held, and stop nothing.
        found = sum(sheet.errors for sheet in judged.with_children)
        errors = 0 if may_be_sent(judged, good_rows=False) else found
        warnings = sum(len(sheet.findings) for sheet in judged.with_children) - errors
        return CheckRecord(
            digest, len(judged.rows), errors, warnings, first_findings=first_findings
        )
    refused = isinstance(judged.refusal, WorkbookRefused)
    return CheckRecord(digest, problem=judged.refusal.message, refused=refused)
