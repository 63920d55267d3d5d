"""Checks of all workbooks of a batch, before any of them is sent."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import pandas as pd

from xlbridge.batch.batch import Batch
from xlbridge.batch.cross_workbook_checks import CrossWorkbookChecks
from xlbridge.batch.ledger import CheckRecord
from xlbridge.batch.links import Links, linked_catalogue
from xlbridge.batch.plan import WorkbookFile, WorkbookStep, ordered_steps
from xlbridge.client.listings import ListingCache
from xlbridge.errors import WorkbookRefused
from xlbridge.parallel import Executor, validate_files
from xlbridge.resources import Catalogue
from xlbridge.upload import Registries
from xlbridge.validation import (
    RefusedFile,
    ValidatedSheet,
    ValidationRequest,
    ValidationResult,
    validate_file,
)

JudgedFile = ValidatedSheet | RefusedFile

_MOST_TOLD = 3


@dataclass(frozen=True, slots=True)
class StepWorkbook:
    """A workbook that is to be judged, and its step."""

    step: WorkbookStep
    workbook: WorkbookFile


@dataclass(slots=True)
class CheckResult:
    """What judging came to: ``good`` may be sent; ``bad`` are the others, with their findings."""

    good: list[StepWorkbook] = field(default_factory=list)
    bad: list[JudgedFile] = field(default_factory=list, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedWorkbook(ValidationRequest):
    """A workbook whose cells may name records otherwise than by their codes."""

    links: Links = field(default_factory=dict)

    def catalogue_for(self, catalogue: Catalogue) -> Catalogue:
        """Return the catalogue with the linked forms of its resources."""
        return linked_catalogue(self.links, catalogue)


def check_all(
    batch: Batch,
    targets: Sequence[StepWorkbook],
    executor: Executor | None,
    advance: Callable[[], None],
    under_way: Sequence[StepWorkbook] = (),
) -> CheckResult:
    """Judge workbooks, by themselves and against one another, and write down what came of it.

    ``executor`` judges them in place of this process. What those ``under_way`` may still bring is
    not said to be missing. Raises what ``Client.records`` raises: then nothing is written down.
    """
    gathered = _GatheredSheets(batch)
    for target in under_way:
        gathered.add_unsettled(target)
    for target, judged in _judge_all(batch, targets, executor):
        gathered.add(target, judged)
        advance()
    checked = CheckResult()
    for target, judged in gathered.with_findings():
        check = _check_record(target, judged)
        batch.ledger.checked(batch.id, target.step.name, target.workbook.name, check)
        if check.ok:
            checked.good.append(target)
        else:
            checked.bad.append(judged)
    return checked


class _GatheredSheets:
    """What was judged, without the cells: those are dropped as soon as they were compared."""

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self._judged: list[tuple[StepWorkbook, JudgedFile]] = []
        self._across: dict[tuple[str | None, bool], CrossWorkbookChecks] = {}

    def add(self, target: StepWorkbook, judged: JudgedFile) -> None:
        """Take a judged workbook."""
        across = self._of_environment(target.step)
        if isinstance(judged, ValidatedSheet):
            across.add(target.step.name, judged)
            judged = replace(judged, frame=pd.DataFrame())
        else:
            self.add_unsettled(target)
        self._judged.append((target, judged))

    def add_unsettled(self, target: StepWorkbook) -> None:
        """Take note of a workbook that was not judged, or whose rows are not all there yet."""
        catalogue = self._batch.sites.desk(target.step.profile).catalogue
        resource = catalogue.get(target.step.resource or "")
        self._of_environment(target.step).add_unsettled(target.workbook.path, resource)

    def with_findings(self) -> Iterator[tuple[StepWorkbook, JudgedFile]]:
        """Yield what was judged with what the workbooks show together.

        Raises what ``Client.records`` raises.
        """
        found = [across.findings() for across in self._across.values()]
        for target, judged in self._judged:
            if isinstance(judged, ValidatedSheet):
                place = judged.file, judged.sheet
                judged.add(finding for of_sheet in found for finding in of_sheet.get(place, ()))
            yield target, judged

    def _of_environment(self, step: WorkbookStep) -> CrossWorkbookChecks:
        """Return the comparison for a step's environment; where it only judges, none is asked."""
        key = step.profile, step.sending is not None
        if key not in self._across:
            registries = None
            if step.sending is not None:
                client = self._batch.sites.client(step.profile)
                registries = Registries(client, ListingCache(client))
            steps = [each.name for each in ordered_steps(self._batch.plan.steps)]
            self._across[key] = CrossWorkbookChecks(steps, self._batch.plan.folder, registries)
        return self._across[key]


def judge_workbook(batch: Batch, target: StepWorkbook) -> JudgedFile:
    """Judge one workbook by its step."""
    desk = batch.sites.desk(target.step.profile)
    request = _linked_workbook(target)
    return _single_result(validate_file(request, desk.catalogue, desk.settings.limits))


def _judge_all(
    batch: Batch, targets: Sequence[StepWorkbook], executor: Executor | None
) -> Iterator[tuple[StepWorkbook, JudgedFile]]:
    of_profile: defaultdict[str | None, list[StepWorkbook]] = defaultdict(list)
    for target in targets:
        of_profile[target.step.profile].append(target)
    for profile, alike in of_profile.items():
        settings = batch.sites.desk(profile).settings
        requests = [_linked_workbook(target) for target in alike]
        found = validate_files(requests, settings.schemas, settings.limits, executor)
        yield from zip(alike, map(_single_result, found), strict=True)


def _linked_workbook(target: StepWorkbook) -> LinkedWorkbook:
    step = target.step
    return LinkedWorkbook(
        file=target.workbook.path,
        resource=step.resource,
        sheet=step.sheet,
        reading=step.reading,
        links=step.links,
    )


def _single_result(found: Sequence[ValidationResult]) -> JudgedFile:
    """Return what was found of the one sheet of a workbook that is judged."""
    (judged,) = (item for item in found if isinstance(item, JudgedFile))
    return judged


def _check_record(target: StepWorkbook, judged: JudgedFile) -> CheckRecord:
    digest = target.workbook.sha256
    if isinstance(judged, ValidatedSheet):
        told = tuple(
            f"{finding.cell or ''} {finding.column or ''}: {finding.message}".strip()
            for finding in islice(judged.error_findings(), _MOST_TOLD)
        )
        return CheckRecord(digest, len(judged.rows), judged.errors, judged.warnings, told=told)
    refused = isinstance(judged.refusal, WorkbookRefused)
    return CheckRecord(digest, problem=judged.refusal.message, refused=refused)
