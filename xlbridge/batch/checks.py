"""Checks of all workbooks of a batch, before any of them is sent."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from xlbridge.batch.batch import Batch
from xlbridge.batch.cross_workbook_checks import CrossWorkbookChecks
from xlbridge.batch.ledger import CheckRecord
from xlbridge.batch.plan import WorkbookFile, WorkbookStep, ordered_steps
from xlbridge.client.listings import ListingCache
from xlbridge.errors import WorkbookRefused
from xlbridge.parallel import Executor, validate_files
from xlbridge.resources.findings import Finding
from xlbridge.settings import CsvForm, WorkbookLimits
from xlbridge.upload import may_be_sent
from xlbridge.upload.lookup import Registries
from xlbridge.validation import (
    RefusedFile,
    ValidatedSheet,
    ValidationRequest,
    ValidationResult,
    validate_file,
)
from xlbridge.validation.reports import without_cells

JudgedFile = ValidatedSheet | RefusedFile

_MAX_FINDINGS = 3


@dataclass(frozen=True, slots=True)
class StepWorkbook:
    """A workbook to judge, and its step."""

    step: WorkbookStep
    workbook: WorkbookFile


@dataclass(slots=True)
class CheckResult:
    """Result of the checks: ``passed`` may be sent; ``failed`` are the others, with findings."""

    passed: list[StepWorkbook] = field(default_factory=list)
    failed: list[JudgedFile] = field(default_factory=list, repr=False)


def check_all(
    batch: Batch,
    targets: Sequence[StepWorkbook],
    executor: Executor | None,
    advance: Callable[[], None],
    unsettled: Sequence[StepWorkbook] = (),
) -> CheckResult:
    """Judge workbooks, by themselves and against one another, and record the results.

    ``executor`` judges them instead of this process. Records that the ``unsettled`` workbooks may
    still bring are not reported as missing. Raises what ``Client.records`` raises, and records
    nothing then.
    """
    gathered = _GatheredSheets(batch)
    for target in unsettled:
        gathered.add_unsettled(target)
    for target, judged in _judge_all(batch, targets, executor):
        gathered.add(target, judged)
        advance()
    checked = CheckResult()
    for target, judged in gathered.with_findings():
        check = _check_record(target, judged)
        batch.ledger.checked(batch.id, target.step.name, target.workbook.name, check)
        if check.ok:
            checked.passed.append(target)
        else:
            checked.failed.append(judged)
    return checked


class _GatheredSheets:
    """Judged sheets without their cells, which are dropped once their keys are compared."""

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

    def with_findings(self) -> Iterator[tuple[StepWorkbook, JudgedFile]]:
        """Yield each judged workbook, with the findings that only the whole batch shows.

        Raises what ``Client.records`` raises.
        """
        found = [each.findings() for each in self._checks.values()]
        for target, judged in self._judged:
            if isinstance(judged, ValidatedSheet):
                key = judged.file, judged.sheet
                judged.add(finding for of_sheet in found for finding in of_sheet.get(key, ()))
            yield target, judged

    def _of_environment(self, step: WorkbookStep) -> CrossWorkbookChecks:
        """Return the checks of a step's environment; one that only validates asks no system."""
        key = step.profile, step.sending is not None
        if key not in self._checks:
            registries = None
            if step.sending is not None:
                client = self._batch.environments.client(step.profile)
                registries = Registries(client, ListingCache(client))
            steps = [each.name for each in ordered_steps(self._batch.plan.steps)]
            self._checks[key] = CrossWorkbookChecks(steps, self._batch.plan.folder, registries)
        return self._checks[key]


def judge_workbook(batch: Batch, target: StepWorkbook) -> JudgedFile:
    """Judge one workbook by its step."""
    context = batch.environments.context(target.step.profile)
    request = _request_of(target)
    limits = _limits_of(context.settings.limits, target.step.csv)
    return _single_result(validate_file(request, context.catalogue, limits))


def _judge_all(
    batch: Batch, targets: Sequence[StepWorkbook], executor: Executor | None
) -> Iterator[tuple[StepWorkbook, JudgedFile]]:
    alike: defaultdict[tuple[str | None, CsvForm], list[StepWorkbook]] = defaultdict(list)
    for target in targets:
        alike[target.step.profile, target.step.csv].append(target)
    for (profile, csv), together in alike.items():
        settings = batch.environments.context(profile).settings
        requests = [_request_of(target) for target in together]
        limits = _limits_of(settings.limits, csv)
        found = validate_files(requests, settings.schemas, limits, executor)
        yield from zip(together, map(_single_result, found), strict=True)


def _limits_of(limits: WorkbookLimits, csv: CsvForm) -> WorkbookLimits:
    """Return the limits with the form of .csv files that a step declares."""
    usual = limits.csv
    declared = CsvForm(csv.delimiter or usual.delimiter, csv.encoding or usual.encoding)
    return replace(limits, csv=declared)


def _request_of(target: StepWorkbook) -> ValidationRequest:
    step = target.step
    return ValidationRequest(
        file=target.workbook.path,
        resource=step.resource,
        sheet=step.sheet,
        reading=step.reading,
        mapping=step.mapping,
        links=step.links,
    )


def _single_result(found: Sequence[ValidationResult]) -> JudgedFile:
    """Return the result of the one sheet of a workbook that is judged: child sheets come after
    their main sheet, which has them."""
    return next(item for item in found if isinstance(item, JudgedFile))


def _errors_of_sheets(judged: ValidatedSheet) -> Iterator[tuple[str, Finding]]:
    """Yield the errors of a sheet and of its child sheets, those with what names their sheet."""
    for sheet in judged.with_children:
        place = "" if sheet is judged else f"{sheet.sheet}!"
        yield from ((place, finding) for finding in sheet.error_findings())


def _check_record(target: StepWorkbook, judged: JudgedFile) -> CheckRecord:
    digest = target.workbook.sha256
    if isinstance(judged, ValidatedSheet):
        first_findings = tuple(
            f"{place}{finding.cell or ''} {finding.column or ''}: {finding.message}".strip()
            for place, finding in islice(_errors_of_sheets(judged), _MAX_FINDINGS)
        )
        # Rows that are no records are held, and stop nothing.
        found = sum(sheet.errors for sheet in judged.with_children)
        errors = 0 if may_be_sent(judged, good_rows=False) else found
        warnings = sum(len(sheet.findings) for sheet in judged.with_children) - errors
        return CheckRecord(
            digest, len(judged.rows), errors, warnings, first_findings=first_findings
        )
    refused = isinstance(judged.refusal, WorkbookRefused)
    return CheckRecord(digest, problem=judged.refusal.message, refused=refused)
