"""A run of a batch: check everything, ask for consent once, then send and export step by step."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from xlbridge.batch.batch import Batch
from xlbridge.batch.checks import CheckResult, StepWorkbook, check_all
from xlbridge.batch.exports import PendingExport, run_export, run_exports_on_cluster
from xlbridge.batch.ledger import FailureRecord
from xlbridge.batch.plan import (
    AnyStep,
    ExportStep,
    WorkbookFile,
    WorkbookStep,
    file_digest,
    ordered_steps,
)
from xlbridge.batch.sender import WorkbookSender
from xlbridge.batch.status import StepOverview, overview, step_overview, workbook_overviews
from xlbridge.batch.unit_status import UnitOverview, UnitStatus
from xlbridge.errors import ApiError, AuthenticationFailed, TransportError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.parallel import Executor
from xlbridge.upload import UploadOptions

_TO_CHECK = frozenset({UnitStatus.NEW, UnitStatus.CHANGED, UnitStatus.INVALID, UnitStatus.REFUSED})
_CANNOT_BE_SENT = frozenset({UnitStatus.INVALID, UnitStatus.REFUSED})
_NOT_TOUCHED = frozenset({UnitStatus.DONE, UnitStatus.EDITED})
_DIGEST_LENGTH = 8


ExecutorFor = Callable[[Sequence[Path]], AbstractContextManager[Executor | None]]


class RunProgress(Protocol):
    """A part of a run that takes long: ``tell`` says what goes on, ``advance`` ends a step."""

    @property
    def tell(self) -> Callable[[Text], None]:
        """What is told of each moment."""

    @property
    def advance(self) -> Callable[[], None]:
        """What is called at the end of each step."""


@dataclass(frozen=True, slots=True)
class _NoProgress:
    tell: Callable[[Text], None] = lambda _text: None
    advance: Callable[[], None] = lambda: None


def _no_progress(_text: Text, _total: int) -> AbstractContextManager[RunProgress]:
    return nullcontext(_NoProgress())


def _this_process(_files: Sequence[Path]) -> AbstractContextManager[Executor | None]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """What a person agrees to before anything is sent: the rows of each step, and a token.

    ``bad`` is how many workbooks stay out, since they have errors.
    """

    rows: tuple[tuple[WorkbookStep, int, int], ...]
    bad: int
    digest: str

    @property
    def total(self) -> int:
        """How many rows may be sent."""
        return sum(rows for _, _, rows in self.rows)

    @property
    def token(self) -> str:
        """What a person types to agree to just these workbooks: ``ROWS:DIGEST8``."""
        return f"{self.total}:{self.digest[:_DIGEST_LENGTH]}"


@dataclass(frozen=True, slots=True)
class BatchRunOptions:
    """How a run goes about it.

    ``agree`` is asked once, before anything is sent. ``all_or_nothing`` sends nothing where any
    workbook has errors. ``options`` are those of each upload. ``executor_for`` gives what judges
    so many files in place of this process, if anything does. ``cluster`` gives what does the
    exports in place of this process. ``phase`` shows a part of the run that has so many steps.
    """

    agree: Callable[[ConsentRequest], bool]
    options: UploadOptions
    all_or_nothing: bool = False
    carrier_for: ExecutorFor = _this_process
    cluster: Callable[[], AbstractContextManager[Executor]] | None = None
    phase: Callable[[Text, int], AbstractContextManager[RunProgress]] = _no_progress


@dataclass(slots=True)
class BatchRunResult:
    """What a run came to; ``worked`` says that something was sent or exported in it."""

    steps: list[StepOverview] = field(default_factory=list)
    checked: CheckResult = field(default_factory=CheckResult)
    agreed: bool = True
    worked: bool = False


class BatchRun:
    """One run of a batch, from where ledger and journal have it."""

    def __init__(self, batch: Batch, way: BatchRunOptions) -> None:
        self._batch = batch
        self._way = way
        self._worked = False
        self._failed: set[tuple[str, str]] = set()
        self._silent: dict[str | None, XlbridgeError] = {}
        self._out_of_reach: frozenset[str] = frozenset()

    def go(self) -> BatchRunResult:
        """Take the batch as far as it goes.

        A workbook that cannot be dealt with stops what depends on its step, and nothing else.
        Raises ``ConfigError`` where an environment cannot be used at all.
        """
        self._batch.ledger.begin(self._batch.plan, self._batch.own_schemas)
        ran = BatchRunResult(checked=self._check())
        self._batch.ledger.forget_failures(self._batch.id)
        self._out_of_reach = frozenset(_blocked_steps(self._overview()))
        agreement = self._agreement(ran.checked)
        held = self._way.all_or_nothing and bool(ran.checked.bad)
        if not held:
            ran.agreed = not agreement.total or self._way.agree(agreement)
        if ran.agreed and not held:
            self._do_steps()
        ran.steps = self._overview()
        ran.worked = self._worked
        return ran

    def _overview(self) -> list[StepOverview]:
        return overview(self._batch)

    def _check(self) -> CheckResult:
        all_targets = self._targets()
        targets = [
            target
            for target, state in all_targets
            if state.standing in _TO_CHECK and not state.jobs
        ]
        under_way = [
            target
            for target, state in all_targets
            if state.jobs and state.standing is not UnitStatus.DONE
        ]
        if not targets:
            return CheckResult()
        for target in targets:
            if target.step.sending is not None:
                # Whatever is told about the environment is told before the phase begins.
                self._batch.sites.client(target.step.profile)
        files = [target.workbook.path for target in targets]
        with (
            self._way.phase(Text(pt="Conferindo", en="Checking"), len(targets)) as phase,
            self._way.carrier_for(files) as carrier,
        ):
            return check_all(self._batch, targets, carrier, phase.advance, under_way)

    def _targets(self) -> list[tuple[StepWorkbook, UnitOverview]]:
        return [
            (StepWorkbook(step, workbook), state)
            for step in self._batch.plan.steps
            if isinstance(step, WorkbookStep)
            for workbook, state in workbook_overviews(self._batch, step)
        ]

    def _agreement(self, checked: CheckResult) -> ConsentRequest:
        digest = hashlib.sha256()
        rows: dict[str, tuple[WorkbookStep, int, int]] = {}
        for target, state in self._targets():
            if target.step.sending is None or not _may_send(state):
                continue
            if target.step.name in self._out_of_reach:
                continue
            of_unit = state.rows.unsent or state.rows.rejected or state.rows.read
            digest.update(f"{target.step.name}\0{target.workbook.sha256}\0{of_unit}\n".encode())
            _, files, before = rows.get(target.step.name, (target.step, 0, 0))
            rows[target.step.name] = target.step, files + 1, before + of_unit
        return ConsentRequest(tuple(rows.values()), len(checked.bad), digest.hexdigest())

    def _do_steps(self) -> None:
        steps = ordered_steps(self._batch.plan.steps)
        before: dict[str, StepOverview] = {}
        doing = Text(pt="Enviando e exportando", en="Sending and exporting")
        units = sum(len(state.units) for state in self._overview())
        with self._way.phase(doing, units) as phase:
            sender = WorkbookSender(self._batch, replace(self._way.options, progress=phase.tell))
            for step in steps:
                if isinstance(step, ExportStep) and self._way.cluster is not None:
                    self._export_elsewhere(self._way.cluster, steps, before)
                state = step_overview(self._batch, step, before)
                for unit in state.units:
                    if not state.waits_for and step.name not in self._out_of_reach:
                        phase.tell(_UNIT.format(step=step.name, unit=unit.name))
                        self._try_unit(sender, step, unit)
                    phase.advance()
                before[step.name] = step_overview(self._batch, step, before)

    def _export_elsewhere(
        self,
        cluster: Callable[[], AbstractContextManager[Executor]],
        steps: Sequence[AnyStep],
        before: Mapping[str, StepOverview],
    ) -> None:
        """Let a cluster do all exports that wait for nothing any more, side by side."""
        known = dict(before)
        ready: list[PendingExport] = []
        for step in steps[len(before) :]:
            state = known[step.name] = step_overview(self._batch, step, known)
            if not isinstance(step, ExportStep) or state.waits_for:
                continue
            ready += [
                PendingExport(step, unit.sha256)
                for unit in state.units
                if unit.standing not in _NOT_TOUCHED and (step.name, unit.name) not in self._failed
            ]
        if not ready:
            return
        self._worked = True
        with cluster() as carrier:
            for export, error in run_exports_on_cluster(self._batch, ready, carrier):
                if error is not None:
                    self._note_failure(export.step, export.step.output, export.fingerprint, error)

    def _try_unit(self, sender: WorkbookSender, step: AnyStep, unit: UnitOverview) -> None:
        """Do a unit; where that fails, note why, and go on with the others."""
        if unit.standing in _NOT_TOUCHED or (step.name, unit.name) in self._failed:
            return
        if step.profile in self._silent:
            self._note_failure(step, unit.name, unit.sha256, self._silent[step.profile])
            return
        try:
            self._do_unit(sender, step, unit)
        except XlbridgeError as error:
            sha256 = unit.sha256
            if isinstance(step, WorkbookStep):
                # It may have been changed meanwhile, and that be why.
                sha256 = file_digest(self._batch.plan.folder / unit.name)
            self._note_failure(step, unit.name, sha256, error)
            if isinstance(error, TransportError | AuthenticationFailed):
                self._silent[step.profile] = TransportError(_NOT_TRIED.format(why=error.message))

    def _note_failure(self, step: AnyStep, unit: str, sha256: str, error: XlbridgeError) -> None:
        self._failed.add((step.name, unit))
        profile = self._batch.sites.name(step.profile)
        failure = FailureRecord(error.message, sha256, isinstance(error, ApiError))
        self._batch.ledger.failed(self._batch.id, step.name, unit, profile, failure)

    def _do_unit(self, sender: WorkbookSender, step: AnyStep, unit: UnitOverview) -> None:
        if not isinstance(step, WorkbookStep):
            self._worked = True
            run_export(self._batch, PendingExport(step, unit.sha256), lambda _advance: None)
        elif step.sending is not None and (unit.jobs or unit.standing is UnitStatus.NEW):
            self._worked = True
            path = self._batch.plan.folder / unit.name
            sender.send(StepWorkbook(step, WorkbookFile(path, unit.name, unit.sha256)))


_UNIT = Text(pt="{step} · {unit}", en="{step} · {unit}")
_NOT_TRIED = Text(
    pt="não tentado, o sistema não respondeu antes: {why}",
    en="not tried, the system did not answer before: {why}",
)


def _blocked_steps(steps: Sequence[StepOverview]) -> Iterator[str]:
    """Yield the steps that wait for one that this run cannot do: a workbook there has errors.

    They were not agreed to; nor are they done should that workbook be taken away meanwhile.
    """
    stuck: set[str] = set()
    for state in steps:
        waits = not stuck.isdisjoint(state.waits_for)
        if waits:
            yield state.step.name
        bad = (u for u in state.units if not u.jobs and u.standing in _CANNOT_BE_SENT)
        if waits or any(bad):
            stuck.add(state.step.name)


def _may_send(state: UnitOverview) -> bool:
    if state.jobs:
        return state.standing in {UnitStatus.PARTIAL, UnitStatus.UNDER_WAY, UnitStatus.INVALID}
    return state.standing is UnitStatus.NEW
