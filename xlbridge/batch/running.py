"""Running a batch: judge everything, ask once, then send and export step by step."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from xlbridge.batch.batch import Batch
from xlbridge.batch.checking import Checked, Target, check_all
from xlbridge.batch.exporting import do_export
from xlbridge.batch.order import in_order
from xlbridge.batch.overview import StepState, overview, state_of_step
from xlbridge.batch.plan import AnyStep, WorkbookStep
from xlbridge.batch.sending import Sender
from xlbridge.batch.standing import Standing, UnitState, state_of
from xlbridge.batch.workbooks import Workbook, workbooks_of
from xlbridge.errors import AuthenticationFailed, TransportError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.spreading.carrier import Carrier
from xlbridge.upload.options import RunOptions

_JUDGED = frozenset({Standing.NEW, Standing.CHANGED, Standing.INVALID, Standing.REFUSED})
_DIGEST_LENGTH = 8


CarrierFor = Callable[[Sequence[Path]], AbstractContextManager[Carrier | None]]


def _this_process(_files: Sequence[Path]) -> AbstractContextManager[Carrier | None]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Agreement:
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
class Way:
    """How a run goes about it.

    ``agree`` is asked once, before anything is sent. ``all_or_nothing`` sends nothing where any
    workbook has errors. ``options`` are those of each upload. ``carrier_for`` gives what judges
    so many files in place of this process, if anything does.
    """

    agree: Callable[[Agreement], bool]
    options: RunOptions
    all_or_nothing: bool = False
    carrier_for: CarrierFor = _this_process
    tell: Callable[[Text], None] = lambda _text: None
    phase: Callable[[Text, int], None] = lambda _text, _total: None
    advance: Callable[[str], None] = lambda _name: None


@dataclass(slots=True)
class Ran:
    """What a run came to."""

    steps: list[StepState] = field(default_factory=list)
    checked: Checked = field(default_factory=Checked)
    agreed: bool = True


class BatchRun:
    """One run of a batch, from where ledger and journal have it."""

    def __init__(self, batch: Batch, way: Way) -> None:
        self._batch = batch
        self._way = way
        self._sender = Sender(batch, way.options)
        self._failures: dict[tuple[str, str], XlbridgeError] = {}
        self._silent: dict[str | None, XlbridgeError] = {}

    def go(self) -> Ran:
        """Take the batch as far as it goes.

        A workbook that cannot be dealt with stops what depends on its step, and nothing else.
        Raises ``ConfigError`` where an environment cannot be used at all.
        """
        self._batch.ledger.begin(self._batch.plan)
        ran = Ran(checked=self._check())
        agreement = self._agreement(ran.checked)
        held = self._way.all_or_nothing and bool(ran.checked.bad)
        if not held:
            ran.agreed = not agreement.total or self._way.agree(agreement)
        if ran.agreed and not held:
            self._do_steps()
        ran.steps = self._overview()
        return ran

    def _overview(self) -> list[StepState]:
        return overview(self._batch, self._failures)

    def _check(self) -> Checked:
        targets = [
            target
            for target, state in self._targets()
            if state.standing in _JUDGED and not state.jobs
        ]
        if not targets:
            return Checked()
        self._way.phase(Text(pt="Conferindo", en="Checking"), len(targets))
        with self._way.carrier_for([target.workbook.path for target in targets]) as carrier:
            return check_all(self._batch, targets, carrier, self._way.advance)

    def _targets(self) -> list[tuple[Target, UnitState]]:
        return [
            (Target(step, workbook), self._state(step, workbook))
            for step in self._batch.plan.steps
            if isinstance(step, WorkbookStep)
            for workbook in workbooks_of(self._batch.plan, step)
        ]

    def _state(self, step: WorkbookStep, workbook: Workbook) -> UnitState:
        return state_of(self._batch.ledger, self._batch.sites, self._batch.id, step, workbook)

    def _agreement(self, checked: Checked) -> Agreement:
        digest = hashlib.sha256()
        rows: dict[str, tuple[WorkbookStep, int, int]] = {}
        for target, state in self._targets():
            if target.step.sending is None or not _may_send(state):
                continue
            of_unit = state.rows.unsent or state.rows.rejected or state.rows.read
            digest.update(f"{target.step.name}\0{target.workbook.sha256}\0{of_unit}\n".encode())
            _, files, before = rows.get(target.step.name, (target.step, 0, 0))
            rows[target.step.name] = target.step, files + 1, before + of_unit
        return Agreement(tuple(rows.values()), len(checked.bad), digest.hexdigest())

    def _do_steps(self) -> None:
        steps = in_order(self._batch.plan.steps)
        self._way.phase(Text(pt="Enviando e exportando", en="Sending and exporting"), len(steps))
        before: dict[str, StepState] = {}
        for step in steps:
            state = state_of_step(self._batch, step, before, self._failures)
            if not state.waits_for:
                for unit in state.units:
                    self._try_unit(step, unit)
                state = state_of_step(self._batch, step, before, self._failures)
            before[step.name] = state
            self._way.advance(step.name)

    def _try_unit(self, step: AnyStep, unit: UnitState) -> None:
        """Do a unit; where that fails, note why, and go on with the others."""
        self._way.tell(
            Text(pt="{step} · {unit}", en="{step} · {unit}").format(step=step.name, unit=unit.name)
        )
        if unit.standing is Standing.DONE:
            return
        if step.profile in self._silent:
            self._failures[step.name, unit.name] = self._silent[step.profile]
            return
        try:
            self._do_unit(step, unit)
        except XlbridgeError as error:
            self._failures[step.name, unit.name] = error
            if isinstance(error, TransportError | AuthenticationFailed):
                self._silent[step.profile] = TransportError(_NOT_TRIED.format(why=error.message))

    def _do_unit(self, step: AnyStep, unit: UnitState) -> None:
        if not isinstance(step, WorkbookStep):
            do_export(self._batch, step, unit.sha256, lambda _advance: None)
            return
        if step.sending is None or (not unit.jobs and unit.standing is not Standing.NEW):
            return
        workbooks: Sequence[Workbook] = workbooks_of(self._batch.plan, step)
        workbook = next(book for book in workbooks if book.name == unit.name)
        self._sender.send(Target(step, workbook))


_NOT_TRIED = Text(
    pt="não tentado, o sistema não respondeu antes: {why}",
    en="not tried, the system did not answer before: {why}",
)


def _may_send(state: UnitState) -> bool:
    if state.jobs:
        return state.standing in {Standing.PARTIAL, Standing.UNDER_WAY, Standing.INVALID}
    return state.standing is Standing.NEW
