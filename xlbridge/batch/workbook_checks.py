"""Checks of all workbooks of a batch before any is sent: validation of each workbook, and checks
across workbooks for repeated keys, repeated rows and references.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from xlbridge.batch.batch import Batch
from xlbridge.batch.ledger import BatchError, CheckRecord
from xlbridge.batch.plan_steps import WorkbookFile, WorkbookStep, relative_name
from xlbridge.batch.reference_checks import ReferenceChecks, UnsettledWorkbook
from xlbridge.client.registries import Registries
from xlbridge.errors import ApiError, WorkbookRefused
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import KEY, Resource
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding, Severity
from xlbridge.resources.links import key_fields
from xlbridge.resources.references import REFERENCES, registry_named
from xlbridge.upload.lookup import LinkResolver
from xlbridge.upload.planning import may_be_sent
from xlbridge.upload.results import ControlTotals
from xlbridge.validation import (
    AcceptedFindings,
    RefusedFile,
    ValidatedSheet,
    ValidationRequest,
    ValidationResult,
    validate_file,
)
from xlbridge.validation.cells import Positions
from xlbridge.validation.cross_sheet import (
    cell_reference,
    compare_sheets,
    first_occurrences,
    unique_keys,
)
from xlbridge.validation.report import without_cells
from xlbridge.workbook import cell_address
from xlbridge.workbook.read import CellKind

_HASH_KEYS = ("xlbridge-batch-a", "xlbridge-batch-b")


@dataclass(frozen=True, slots=True)
class RowDigests:
    """Digests of some rows of a sheet: two hashes for each of the ``positions`` in its frame.

    Rows with equal hashes are equal in every column.
    """

    positions: Positions
    hashes: npt.NDArray[np.uint64]


def _unkeyed_row_digests(sheet: ValidatedSheet) -> RowDigests:
    """Return the digests of a sheet's rows without errors and keys.

    No other check detects repeats of these.
    """
    unkeyed = ~sheet.rows_in_error()
    for _, columns in unique_keys(sheet.resource) if sheet.resource and sheet.rows else ():
        unkeyed &= ~sheet.frame[list(columns)].notna().all(axis="columns").to_numpy()
    positions = np.flatnonzero(unkeyed)
    if not len(positions):
        return RowDigests(positions, np.zeros((0, len(_HASH_KEYS)), dtype=np.uint64))
    # The key that joins sheets differs between workbooks; the joined lists belong to the record.
    rows = sheet.frame.drop(columns=KEY, errors="ignore").iloc[positions]
    hashes = [
        pd.util.hash_pandas_object(
            rows.assign(**{KEY: _list_hashes(sheet, key)[positions]} if sheet.children else {}),
            index=False,
            hash_key=key,
        )
        for key in _HASH_KEYS
    ]
    return RowDigests(positions, np.column_stack([series.to_numpy() for series in hashes]))


def _list_hashes(sheet: ValidatedSheet, key: str) -> npt.NDArray[np.uint64]:
    """Return a hash of the lists' rows of each record; ``key`` salts it."""
    hashes = np.zeros(len(sheet.rows), dtype=np.uint64)
    for child in sheet.children.values():
        parents = sheet.parent_positions(child)
        rows = child.frame.drop(columns=KEY, errors="ignore")
        row_hashes = pd.util.hash_pandas_object(rows, index=False, hash_key=key).to_numpy()
        np.add.at(hashes, parents[parents >= 0], row_hashes[parents >= 0])
    return hashes


def _repeated_rows(
    sheets: Sequence[ValidatedSheet], digests: Sequence[RowDigests]
) -> Iterator[tuple[int, Finding]]:
    """Yield a sheet's number and a finding for each row that repeats a row of an earlier sheet of
    the same resource."""
    by_resource: defaultdict[str, list[int]] = defaultdict(list)
    for number, sheet in enumerate(sheets):
        if sheet.resource is not None and len(digests[number].positions):
            by_resource[sheet.resource.name].append(number)
    for numbers in by_resource.values():
        group = [digests[number] for number in numbers]
        owners = np.repeat(numbers, [len(item.positions) for item in group])
        positions = np.concatenate([item.positions for item in group])
        firsts = first_occurrences(pd.DataFrame(np.concatenate([item.hashes for item in group])))
        for row in np.flatnonzero(owners[firsts] < owners):
            owner, first = int(owners[row]), firsts[row]
            sheet, earlier = sheets[owner], sheets[owners[first]]
            number, column = sheet.rows[int(positions[row])], _first_column(sheet)
            same = cell_reference(earlier, _first_column(earlier), int(positions[first]), sheet)
            yield (
                owner,
                Finding(
                    CATALOGUE["row-repeated"],
                    row=number,
                    column=column,
                    cell=cell_address(number, sheet.columns[column]),
                    details={"first": same},
                    header=sheet.headers.get(column),
                ),
            )


def _first_column(sheet: ValidatedSheet) -> str:
    return min(sheet.columns, key=sheet.columns.__getitem__)


@dataclass(frozen=True, slots=True)
class SheetSummary:
    """Part of a sheet that is compared with others: its keys and its errors.

    ``sheet`` has only the compared columns, and its file name as shown in messages; ``file`` is its
    path.
    """

    step: str
    file: Path
    sheet: ValidatedSheet
    digests: RowDigests

    @classmethod
    def of(cls, step: str, sheet: ValidatedSheet, folder: Path) -> "SheetSummary":
        """Return the summary of a sheet; messages show its file relative to ``folder``."""
        return cls(step, sheet.file, compared_part(sheet, folder), _unkeyed_row_digests(sheet))


def compared_part(sheet: ValidatedSheet, folder: Path) -> ValidatedSheet:
    """Return a sheet and its child sheets with only the compared columns."""
    compared = set() if sheet.resource is None else set(_compared_columns(sheet.resource))
    return replace(
        sheet,
        file=Path(relative_name(folder, sheet.file)),
        frame=sheet.frame[[name for name in sheet.frame if name in compared]],
        source_cells={
            name: cells
            for name, cells in sheet.source_cells.items()
            if name in compared and not _TEXT_KINDS.issuperset(cells.kinds)
        },
        rows=array("i", sheet.rows),
        findings=list(sheet.error_findings()),
        fixes=None,
        children={name: compared_part(child, folder) for name, child in sheet.children.items()},
    )


def _compared_columns(resource: Resource) -> Iterator[str]:
    for name, key in unique_keys(resource):
        yield from (name, *key)
    for column in resource.columns:
        if column.references or column.registers or column.link or column.sheet_link:
            yield column.name
    if (registry := registry_named(resource.name)) is not None:
        yield from key_fields(resource)
        yield REFERENCES[registry].active or ""
        yield REFERENCES[registry].label
        for lookup in resource.read_back.lookups if resource.read_back else ():
            yield from lookup.when


_TEXT_KINDS = frozenset({CellKind.EMPTY, CellKind.TEXT})
"""Cell kinds whose original text is in the frame."""

SheetFindings = Mapping[tuple[Path, str, str | None], list[Finding]]
"""Findings by the file, the name of the sheet and its resource."""


class CrossWorkbookChecks:
    """Checks that need several workbooks: repeated keys and rows, references.

    ``steps`` are the names of the batch's steps in order of execution; messages show files relative
    to ``folder``. Without a ``resolver`` the remote system is not queried. Only the keys of a sheet
    stay in memory, about 300 bytes per row.
    """

    def __init__(
        self, steps: Sequence[str], folder: Path, resolver: LinkResolver | None = None
    ) -> None:
        self._step_order = {name: rank for rank, name in enumerate(steps)}
        self._folder = folder
        self._resolver = resolver
        self._summaries: list[SheetSummary] = []
        self._unsettled: list[UnsettledWorkbook] = []

    def add(self, step: str, sheet: ValidatedSheet) -> None:
        """Add a validated sheet of a step; the caller may drop it afterwards."""
        self._summaries.append(SheetSummary.of(step, sheet, self._folder))

    def add_unsettled(self, file: Path, resource: Resource | None) -> None:
        """Add a workbook that could not be read, or whose rows are not all in the system yet.

        Records that it may create are not reported as missing; ``resource`` is None if unknown.
        """
        self._unsettled.append(UnsettledWorkbook(Path(relative_name(self._folder, file)), resource))

    def findings(self) -> SheetFindings:
        """Return the findings of each sheet.

        Of two rows that repeat each other the later one gets the finding, in the order of steps,
        files, and sheets as they were added. Raises what ``Client.records`` raises.
        """
        ranked = sorted(self._summaries, key=lambda item: (self._step_order[item.step], item.file))
        # A workbook in two steps does not repeat itself: only its first sheet counts.
        first = {(item.file, item.sheet.sheet): item for item in reversed(ranked)}
        summaries = [item for item in ranked if first[item.file, item.sheet.sheet] is item]
        repeated_keys = compare_sheets([item.sheet for item in summaries])
        found = [list(findings) for findings in repeated_keys]
        sheets = [
            replace(item.sheet, findings=[*item.sheet.findings, *findings])
            for item, findings in zip(summaries, repeated_keys, strict=True)
        ]
        unreadable = [
            UnsettledWorkbook(item.sheet.file, item.sheet.resource)
            for item in summaries
            if not item.sheet.readable
        ]
        unsettled = [*self._unsettled, *unreadable]
        references = ReferenceChecks(sheets, unsettled, self._resolver, self._folder)
        by_sheet: defaultdict[tuple[Path, str, str | None], list[Finding]] = defaultdict(list)
        for item, findings, sheet in zip(summaries, found, sheets, strict=True):
            findings += references.findings(sheet)
            for child in sheet.children.values():
                key = item.file, child.sheet, child.resource_name
                by_sheet[key] += references.findings(child, is_child=True)
        for number, finding in _repeated_rows(sheets, [item.digests for item in summaries]):
            found[number].append(finding)
        for item, findings in zip(summaries, found, strict=True):
            by_sheet[item.file, item.sheet.sheet, item.sheet.resource_name] += findings
        return by_sheet


FileResult = ValidatedSheet | RefusedFile

_MAX_FINDINGS = 3


def check_all(
    batch: Batch,
    results: Iterable[tuple[WorkbookFile, FileResult]],
    advance: Callable[[], None],
    unsettled: Sequence[WorkbookFile] = (),
) -> tuple[list[FileResult], list[tuple[WorkbookFile, ApiError]]]:
    """Check validated workbooks against one another and record the results.

    Return those that may not be sent, with their findings, and those that could not be checked,
    with the reason. Records that the ``unsettled`` workbooks may still create are not reported as
    missing.
    """
    by_environment: dict[tuple[str | None, bool], CrossWorkbookChecks] = {}
    checked: list[tuple[WorkbookFile, FileResult, Decimal | None]] = []

    def checks_for(step: WorkbookStep) -> CrossWorkbookChecks:
        key = _environment_of(step)
        if key not in by_environment:
            resolver = None
            if step.sending is not None:
                # Slow to import, and needed only to send.
                from xlbridge.upload.results import SheetCodes

                client = batch.environments.client(step.profile)
                codes = SheetCodes(batch.environments.context(step.profile), client)
                resolver = LinkResolver(Registries(client), codes.of, codes.patience)
            steps = [other.name for other in batch.plan.ordered]
            by_environment[key] = CrossWorkbookChecks(steps, batch.plan.folder, resolver)
        return by_environment[key]

    def add_unsettled(book: WorkbookFile) -> None:
        catalogue = batch.environments.context(book.step.profile).catalogue
        resource = catalogue.get(book.step.resource or "")
        checks_for(book.step).add_unsettled(book.path, resource)

    for book in unsettled:
        add_unsettled(book)
    for book, result in results:
        amount = None
        if isinstance(result, ValidatedSheet):
            checks_for(book.step).add(book.step.name, result)
            amount = ControlTotals.of_sheet(result).of_rows(result.rows)
            # Of its cells only those that name records are kept: reports need them.
            result = without_cells(result)
            result.children = {
                name: without_cells(child) for name, child in result.children.items()
            }
        else:
            add_unsettled(book)
        checked.append((book, result, amount))
        advance()
    found: dict[tuple[str | None, bool], SheetFindings | ApiError] = {}
    for key, checks in by_environment.items():
        try:
            found[key] = checks.findings()
        except ApiError as error:
            found[key] = error
    failed, unchecked = [], []
    for book, result, amount in checked:
        findings = found[_environment_of(book.step)]
        if isinstance(findings, ApiError):
            unchecked.append((book, findings))
            continue
        check = replace(_add_findings(book, result, findings), amount=amount)
        batch.ledger.store(batch.key(book.step), book.name, check)
        if not check.ok:
            failed.append(result)
    return failed, unchecked


def _environment_of(step: WorkbookStep) -> tuple[str | None, bool]:
    """Return the environment of a step, and whether its system is queried: only to send."""
    return step.profile, step.sending is not None


def validate_workbook(batch: Batch, book: WorkbookFile) -> FileResult:
    """Validate one workbook with the options of its step."""
    context = batch.environments.context(book.step.profile)
    limits = context.settings.limits.with_csv(book.step.csv)
    request = validation_request(batch, book)
    return main_result(validate_file(request, context.catalogue, limits))


def validation_request(batch: Batch, book: WorkbookFile) -> ValidationRequest:
    """Return the request that validates a workbook with the options of its step."""
    step = book.step
    folder = batch.environments.context(step.profile).settings.accepted
    return ValidationRequest(
        file=book.path,
        resource=step.resource,
        sheet=step.sheet,
        reading=step.reading,
        mapping=step.mapping,
        links=step.links,
        accepted=AcceptedFindings.of(step.reading.accepted, folder),
    )


def main_result(results: Sequence[ValidationResult]) -> FileResult:
    """Return the result of a workbook's main sheet, which includes its child sheets."""
    return next(result for result in results if isinstance(result, FileResult))


def error_texts(main: ValidatedSheet, *, titled: bool = False) -> Iterator[Text]:
    """Yield the errors of a sheet and of its child sheets, each after its cell, if it has one;
    ``titled``, with columns called as in the sheet."""
    for sheet in main.with_children:
        name = "" if sheet is main else f"{sheet.sheet}!"
        errors = sheet.error_findings()
        for finding in sheet.titled(errors) if titled else errors:
            cell = f"{name}{finding.cell or ''} {finding.column or ''}".strip()
            yield untranslated("{cell}{message}").format(
                cell=f"{cell}: " if cell else "", message=finding.message
            )


_MAX_BATCH_ERRORS = 1_000


def _add_findings(book: WorkbookFile, result: FileResult, findings: SheetFindings) -> CheckRecord:
    """Add the findings that the batch's other workbooks show; return the result of all checks."""
    if not isinstance(result, ValidatedSheet):
        refused = isinstance(result.refusal, WorkbookRefused)
        return CheckRecord(book.sha256, problem=result.refusal.message, refused=refused)
    batch_errors: list[BatchError] = []
    for sheet in result.with_children:
        added = findings.get((sheet.file, sheet.sheet, sheet.resource_name), ())
        sheet.add(added)
        batch_errors += (
            BatchError(
                *(sheet.sheet, finding.row, sheet.columns[finding.column]),
                *(finding.message, finding.kind.code, finding.hint),
            )
            for finding in added
            if finding.kind.severity is Severity.ERROR
            and finding.row is not None
            and finding.column in sheet.columns
        )
    # Rows that are not records are held and do not prevent sending.
    found = sum(sheet.errors for sheet in result.with_children)
    errors = 0 if may_be_sent(result, good_rows=False) else found
    return CheckRecord(
        book.sha256,
        sum(row not in result.non_records for row in result.rows),
        errors,
        warnings=sum(len(sheet.findings) for sheet in result.with_children) - errors,
        first_findings=tuple(islice(error_texts(result), _MAX_FINDINGS)),
        titled_findings=tuple(islice(error_texts(result, titled=True), _MAX_FINDINGS)),
        batch_errors=tuple(batch_errors[:_MAX_BATCH_ERRORS]),
    )
