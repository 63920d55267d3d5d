"""The whole of a batch: each step, in its order, with its workbooks and what it waits for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xlbridge.batch.batch import Batch
from xlbridge.batch.exporting import export_state
from xlbridge.batch.order import in_order
from xlbridge.batch.plan import AnyStep, ExportStep, WorkbookStep
from xlbridge.batch.standing import Rows, Standing, UnitState, state_of
from xlbridge.batch.workbooks import Workbook, workbooks_of
from xlbridge.i18n import Text
from xlbridge.upload.journal.states import UNSENT


@dataclass(frozen=True, slots=True)
class StepState:
    """How a step stands. ``waits_for`` are the steps before it that are not done."""

    step: AnyStep
    units: tuple[UnitState, ...]
    waits_for: tuple[str, ...] = ()
    problem: Text | None = None

    @property
    def standing(self) -> Standing:
        """The gravest standing of its units."""
        if self.problem is not None:
            return Standing.HELD
        return max((unit.standing for unit in self.units), key=_GRAVITY.index, default=_EMPTY)

    @property
    def rows(self) -> Rows:
        """What became of its rows."""
        return sum((unit.rows for unit in self.units), Rows())

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        return self.standing is Standing.DONE


_GRAVITY = (
    Standing.DONE,
    Standing.NEW,
    Standing.CHANGED,
    Standing.UNDER_WAY,
    Standing.INCOMPLETE,
    Standing.EDITED,
    Standing.PARTIAL,
    Standing.INVALID,
    Standing.HELD,
    Standing.REFUSED,
    Standing.FAILED,
    Standing.IN_DOUBT,
)
_EMPTY = Standing.DONE
_NO_WORKBOOK = Text(
    pt="nenhum arquivo corresponde a {patterns}", en="no workbook matches {patterns}"
)


def overview(batch: Batch) -> list[StepState]:
    """Return how each step stands, in the order in which they are done."""
    states: dict[str, StepState] = {}
    for step in in_order(batch.plan.steps):
        states[step.name] = state_of_step(batch, step, states)
    return list(states.values())


def state_of_step(batch: Batch, step: AnyStep, before: Mapping[str, StepState]) -> StepState:
    """Return how a step stands; ``before`` are those that come before it, by their names."""
    waits_for = tuple(name for name in step.after if not before[name].done)
    if isinstance(step, ExportStep):
        # What is exported depends on all that was sent before it.
        sent = [unit for state in before.values() for unit in state.units]
        units, problem = [export_state(batch, step, sent)], None
    else:
        units, problem = _workbook_states(batch, step)
    told = tuple(_with_failure(batch, step, unit) for unit in units)
    return StepState(step, told, waits_for, problem)


def _workbook_states(batch: Batch, step: WorkbookStep) -> tuple[list[UnitState], Text | None]:
    units = [unit for _, unit in workbook_states(batch, step)]
    if not units and not step.may_be_empty:
        return [], _NO_WORKBOOK.format(patterns=", ".join(step.patterns))
    return units, None


def workbook_states(batch: Batch, step: WorkbookStep) -> Iterator[tuple[Workbook, UnitState]]:
    """Yield how each workbook of a step stands, with those that were sent and are gone since."""
    there = workbooks_of(batch.plan, step)
    if step.sending is not None:
        _follow_renames(batch, step, there)
    for book in there:
        yield book, state_of(batch.ledger, batch.sites, batch.id, step, book)
    if step.sending is None:
        return
    names = {book.name for book in there}
    for name in batch.ledger.files_sent(batch.id, step.name, batch.sites.name(step.profile)):
        gone = Workbook(batch.plan.folder / name, name, "")
        state = state_of(batch.ledger, batch.sites, batch.id, step, gone)
        if name not in names and state.jobs:
            yield gone, state


def _follow_renames(batch: Batch, step: WorkbookStep, there: Sequence[Workbook]) -> None:
    """Let the ledger know the new names of workbooks that were renamed after they were sent.

    Such a one has, byte for byte, what was sent under a name that is no longer there.
    """
    ledger, profile = batch.ledger, batch.sites.name(step.profile)
    sent = ledger.files_sent(batch.id, step.name, profile)
    names = {book.name for book in there}
    gone: dict[str, str] = {}
    for name in sent:
        last = ledger.last_sent(batch.id, step.name, name, profile)
        if name not in names and last is not None:
            gone[last.sha256] = name
    for book in there:
        if book.name not in sent and book.sha256 in gone:
            ledger.renamed(batch.id, step.name, profile, gone.pop(book.sha256), book.name)


def _with_failure(batch: Batch, step: AnyStep, unit: UnitState) -> UnitState:
    """Add why the last run could not deal with a unit that is still as it was then."""
    profile = batch.sites.name(step.profile)
    failure = batch.ledger.failure_of(batch.id, step.name, unit.name, profile)
    if failure is None or failure.sha256 != unit.sha256:
        return unit
    if unit.standing in {Standing.DONE, Standing.IN_DOUBT}:
        return unit
    standing = unit.standing
    if not unit.jobs or all(job.state in UNSENT for job in unit.jobs):
        standing = Standing.FAILED if failure.of_system else Standing.HELD
    return replace(unit, standing=standing, problem=failure.message)
