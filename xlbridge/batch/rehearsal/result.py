"""Result of a rehearsal as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from xlbridge.i18n import Text
from xlbridge.upload.results import RowOutcome


class ViolationKind(StrEnum):
    """Kind of violation: what must not happen under any fault.

    ``TWICE`` is a row that is stored more often than it was accepted, ``LOST`` one that was
    accepted and is not there, ``WRONGLY_REFUSED`` one reported as refused that is there,
    ``NO_VERDICT`` rows whose outcomes do not account for all of them.
    """

    TWICE = "twice"
    LOST = "lost"
    WRONGLY_REFUSED = "told_wrong"
    NO_VERDICT = "no_verdict"


@dataclass(frozen=True, slots=True, order=True)
class RowId:
    """Identity of a row: its step, its workbook as the plan names it, Excel's row number."""

    step: str
    workbook: str
    row: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation; ``row_id`` is None where it concerns no single row."""

    kind: ViolationKind
    message: Text
    row_id: RowId | None = None


@dataclass(frozen=True, slots=True)
class DoubtfulRow:
    """A row in doubt at the end; ``there`` says whether it is in the database after all."""

    row_id: RowId
    there: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was not accepted, and why, where anything said so."""

    row_id: RowId
    reason: Text


@dataclass(frozen=True, slots=True)
class WorkbookResult:
    """A workbook at the end: how many rows it has, and what became of each that was sent.

    ``problem`` is why not all of them were sent.
    """

    step: str
    name: str
    rows: int
    outcomes: Mapping[int, RowOutcome] = field(repr=False)
    problem: Text | None = None

    def count(self, *outcomes: RowOutcome) -> int:
        """Return how many rows have one of these outcomes."""
        return sum(outcome in outcomes for outcome in self.outcomes.values())

    @property
    def settled(self) -> bool:
        """True if every row is in the system."""
        return self.count(RowOutcome.ACCEPTED, RowOutcome.UNCHANGED) == self.rows

    @property
    def unsent(self) -> int:
        """Number of rows that were never sent, though no plan left them out."""
        return self.rows - len(self.outcomes) + self.count(RowOutcome.UNSENT)


@dataclass(frozen=True, slots=True)
class TableCount:
    """Row counts of a table before and after the run, and the gain that is expected."""

    table: str
    before: int
    after: int
    expected: int


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row that ended otherwise than in the rehearsal without faults; None is never sent."""

    row_id: RowId
    undisturbed: RowOutcome | None
    disturbed: RowOutcome | None


@dataclass(frozen=True, slots=True)
class TableComparison:
    """Comparison of the rows that were sent with the database."""

    tables: tuple[TableCount, ...] = ()
    violations: tuple[Violation, ...] = ()
    doubts: tuple[DoubtfulRow, ...] = ()
    preexisting: tuple[RowId, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """Outcomes of all rows of a trial.

    ``open_steps`` are those that are not done, each with its status.
    """

    workbooks: tuple[WorkbookResult, ...]
    refusals: tuple[Refusal, ...]
    tally: TableComparison
    open_steps: Mapping[str, Text]

    @property
    def rows(self) -> int:
        """Number of rows of the workbooks."""
        return sum(workbook.rows for workbook in self.workbooks)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial of the month, from the first run to the last.

    ``copied`` is how many workbooks it was made of, ``stand_ins`` how many records were made for
    it, by their tables. ``faulty`` and ``calm`` are how many runs it took under faults and
    without, ``killed`` how many of them were ended by a kill.
    """

    counted: TrialCounts
    copied: int
    stand_ins: Mapping[str, int]
    faulty: int
    calm: int
    killed: int


class RehearsalState(StrEnum):
    """Verdict on a rehearsal: ``BROKEN`` is a violation, ``NOT_READY`` what somebody must fix."""

    PASSED = "passed"
    NOT_READY = "not_ready"
    IN_DOUBT = "in_doubt"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class RehearsalResult:
    """A rehearsal: its trial under faults, and how it differs from one without.

    ``parameters`` are those of the plan; ``differences`` is None where there was none without.
    """

    batch: str
    plan: Path
    parameters: Mapping[str, str]
    faults: str
    trial: TrialResult
    differences: tuple[RowDifference, ...] | None = None

    @property
    def counted(self) -> TrialCounts:
        """Counts of the trial under faults."""
        return self.trial.counted

    @property
    def state(self) -> RehearsalState:
        """The gravest that was found."""
        counted = self.counted
        if counted.tally.violations:
            return RehearsalState.BROKEN
        if counted.tally.doubts:
            return RehearsalState.IN_DOUBT
        if counted.refusals or counted.tally.preexisting or counted.open_steps or self.differences:
            return RehearsalState.NOT_READY
        return RehearsalState.PASSED

    @property
    def calm(self) -> bool:
        """True if neither faults nor kills were asked for."""
        return not self.trial.faulty

    def violations(self, *kinds: ViolationKind) -> list[Violation]:
        """Return the violations of these kinds."""
        return [one for one in self.counted.tally.violations if one.kind in kinds]
