"""Judging the workbooks of a batch before any of them is sent."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from xlbridge.batch.batch import Batch
from xlbridge.batch.ledger import Check
from xlbridge.batch.plan import WorkbookStep
from xlbridge.batch.workbooks import Workbook
from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.findings import Severity
from xlbridge.validation.reports.judged import Judged, RefusedFile
from xlbridge.validation.validate import ValidatedSheet, validate_workbook

_MOST_TOLD = 3


@dataclass(frozen=True, slots=True)
class Target:
    """A workbook that is to be judged, and its step."""

    step: WorkbookStep
    workbook: Workbook


@dataclass(slots=True)
class Checked:
    """What judging came to: ``good`` may be sent; ``bad`` are the others, with their findings."""

    good: list[Target] = field(default_factory=list)
    bad: list[Judged] = field(default_factory=list, repr=False)


def check_all(batch: Batch, targets: Sequence[Target], advance: Callable[[str], None]) -> Checked:
    """Judge workbooks, by themselves and against one another, and write down what came of it."""
    checked = Checked()
    for target, judged in _judge(batch, targets):
        advance(target.workbook.name)
        check = _check(target, judged)
        batch.ledger.checked(batch.id, target.step.name, target.workbook.name, check)
        if check.ok:
            checked.good.append(target)
        else:
            checked.bad.append(judged)
    return checked


def judge(batch: Batch, target: Target) -> Judged:
    """Judge one workbook by its step."""
    desk, step = batch.sites.desk(target.step.profile), target.step
    try:
        return validate_workbook(
            target.workbook.path,
            desk.catalogue,
            resource=step.resource,
            sheet=step.sheet,
            reading=step.reading,
            limits=desk.settings.limits,
        )
    except (WorkbookRefused, UsageError) as refusal:
        return RefusedFile(target.workbook.path, refusal)


def _judge(batch: Batch, targets: Sequence[Target]) -> Iterator[tuple[Target, Judged]]:
    for target in targets:
        yield target, judge(batch, target)


def _check(target: Target, judged: Judged) -> Check:
    digest = target.workbook.sha256
    if isinstance(judged, ValidatedSheet):
        errors = (f for f in judged.findings if f.kind.severity is Severity.ERROR)
        told = tuple(
            f"{finding.cell or ''} {finding.column or ''}: {finding.message}".strip()
            for finding in islice(errors, _MOST_TOLD)
        )
        return Check(digest, len(judged.rows), judged.errors, judged.warnings, told=told)
    refused = isinstance(judged.refusal, WorkbookRefused)
    return Check(digest, problem=judged.refusal.message, refused=refused)
