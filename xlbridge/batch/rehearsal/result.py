"""Model of the result of a rehearsal."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from xlbridge.batch.plan.steps import BatchPlan
from xlbridge.batch.run_options import BatchOutcome
from xlbridge.i18n import Text
from xlbridge.upload.results import RowOutcome


class ViolationKind(StrEnum):
    """Kind of violation, which must not happen under any fault.

    ``TWICE``: a row is stored more often than it was accepted. ``LOST``: an accepted row is not
    stored. ``WRONGLY_REFUSED``: a row reported as rejected is stored. ``NO_VERDICT``: the outcomes
    do not account for all rows of a workbook.
    """

    TWICE = "twice"
    LOST = "lost"
    WRONGLY_REFUSED = "told_wrong"
    NO_VERDICT = "no_verdict"


_MESSAGES = {
    ViolationKind.TWICE: Text(
        pt="está no sistema mais vezes do que foi aceita",
        en="is in the system more often than it was accepted",
    ),
    ViolationKind.LOST: Text(
        pt="aceita, mas não está no sistema", en="accepted, but not in the system"
    ),
    ViolationKind.WRONGLY_REFUSED: Text(
        pt="dada por rejeitada, mas está no sistema", en="reported as rejected, but in the system"
    ),
}


class RowId(NamedTuple):
    """Identity of a row: its step, its workbook's name in the plan, and Excel's row number."""

    step: str
    workbook: str
    row: int


class Violation(NamedTuple):
    """A violation; ``row_id`` is None if it does not concern a single row."""

    kind: ViolationKind
    message: Text
    row_id: RowId | None = None


@dataclass(frozen=True, slots=True)
class TableCount:
    """Row counts of a table before and after the run, and the expected increase.

    ``derived`` of the expected rows were created by processing other records.
    """

    table: str
    title: Text
    before: int
    after: int
    expected: int
    derived: int = 0


@dataclass(slots=True)
class TrialChecks:
    """What became of the rows of a trial.

    ``outcomes`` are those of all rows that were sent or left out by a plan, ``refused`` and
    ``held`` the reasons of those that are not in the system. ``doubts`` tells of each row in doubt
    whether it is; None: some of these rows are, and nothing shows which ones. ``preexisting`` rows
    had an equal before.
    """

    outcomes: dict[RowId, RowOutcome] = field(default_factory=dict)
    refused: dict[RowId, Text] = field(default_factory=dict)
    held: dict[RowId, Text] = field(default_factory=dict)
    tables: list[TableCount] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    doubts: dict[RowId, bool | None] = field(default_factory=dict)
    preexisting: list[RowId] = field(default_factory=list)

    def add_violation(self, kind: ViolationKind, row_id: RowId) -> None:
        """Add a violation that concerns a row."""
        self.violations.append(Violation(kind, _MESSAGES[kind], row_id))


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial of the month: the status of its steps and their proofs, and the checks of both.

    ``copied`` is the number of workbooks, ``stand_ins`` the number of records created for it by
    table. ``faulty_runs`` were under faults, ``calm_runs`` without.
    """

    outcome: BatchOutcome
    checks: TrialChecks
    copied: int
    stand_ins: Mapping[str, int]
    faulty_runs: int
    calm_runs: int


class RehearsalState(StrEnum):
    """Verdict on a rehearsal; ``NOT_READY``: a person must fix something."""

    PASSED = "passed"
    NOT_READY = "not_ready"
    IN_DOUBT = "in_doubt"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class RehearsalResult:
    """A rehearsal of a plan: its trial under faults.

    ``differences`` are the rows that ended differently in the trial without faults, each with that
    outcome and the other one, None if it was never sent; None without such a trial.
    """

    plan: BatchPlan
    faults: str
    trial: TrialResult
    kept: bool
    differences: Mapping[RowId, tuple[RowOutcome | None, RowOutcome | None]] | None = None

    @property
    def state(self) -> RehearsalState:
        """The worst state found."""
        outcome, checks = self.trial.outcome, self.trial.checks
        if checks.violations:
            return RehearsalState.BROKEN
        if checks.doubts:
            return RehearsalState.IN_DOUBT
        done = all(state.done for state in outcome.steps) and outcome.proofs_settled
        if not done or checks.preexisting or self.differences:
            return RehearsalState.NOT_READY
        return RehearsalState.PASSED
