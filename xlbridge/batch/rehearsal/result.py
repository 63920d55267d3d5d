"""Model of the result of a rehearsal."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

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


@dataclass(frozen=True, slots=True, order=True)
class RowId:
    """Identity of a row: its step, its workbook's name in the plan, and Excel's row number."""

    step: str
    workbook: str
    row: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation; ``row_id`` is None if it does not concern a single row."""

    kind: ViolationKind
    message: Text
    row_id: RowId | None = None


@dataclass(frozen=True, slots=True)
class DoubtfulRow:
    """A row in doubt at the end, and whether it is in the database.

    None: some rows of the table are, and nothing shows which ones.
    """

    row_id: RowId
    in_database: bool | None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was rejected or held, and the reason."""

    row_id: RowId
    reason: Text


@dataclass(frozen=True, slots=True)
class WorkbookResult:
    """A workbook at the end: its number of rows, and the outcomes of sent rows by row number.

    ``problem`` is why not all rows were sent, ``errors`` are the first errors in the workbook.
    """

    step: str
    name: str
    rows: int
    outcomes: Mapping[int, RowOutcome] = field(repr=False)
    problem: Text | None = None
    errors: tuple[Text, ...] = ()

    def count(self, *outcomes: RowOutcome) -> int:
        """Return the number of rows with one of these outcomes."""
        return sum(outcome in outcomes for outcome in self.outcomes.values())

    @property
    def settled(self) -> bool:
        """True if every row is in the system."""
        return self.count(RowOutcome.ACCEPTED, RowOutcome.UNCHANGED) == self.rows

    @property
    def unsent(self) -> int:
        """Number of rows that were never sent and not left out by a plan."""
        return self.rows - len(self.outcomes) + self.count(RowOutcome.UNSENT)


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

    def to_json(self) -> dict[str, str | int]:
        """Return the counts as JSON."""
        counts = (self.before, self.after, self.expected, self.derived)
        names = ("before", "after", "expected", "derived")
        return {"table": self.table, **dict(zip(names, counts, strict=True))}


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row whose outcome differs from the rehearsal without faults; None means never sent."""

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

    ``refusals`` are the rejected rows, ``held`` those that the plan left out. ``open_steps`` are
    those that are not done, with their status.
    """

    workbooks: tuple[WorkbookResult, ...]
    refusals: tuple[Refusal, ...]
    held: tuple[Refusal, ...]
    comparison: TableComparison
    open_steps: Mapping[str, Text]

    @property
    def rows(self) -> int:
        """Number of rows of the workbooks."""
        return sum(workbook.rows for workbook in self.workbooks)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial of the month, from the first run to the last.

    ``copied`` is the number of workbooks, ``stand_ins`` the number of records created for it by
    table. ``faulty_runs`` were under faults, ``calm_runs`` without.
    """

    counts: TrialCounts
    copied: int
    stand_ins: Mapping[str, int]
    faulty_runs: int
    calm_runs: int
    killed_runs: int


class RehearsalState(StrEnum):
    """Verdict on a rehearsal; ``NOT_READY``: a person must fix something."""

    PASSED = "passed"
    NOT_READY = "not_ready"
    IN_DOUBT = "in_doubt"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class RehearsalResult:
    """A rehearsal: its trial under faults, and the differences from one without faults.

    ``parameters`` are those of the plan; ``differences`` is None if they were not requested.
    """

    batch: str
    plan: Path
    parameters: Mapping[str, str]
    faults: str
    trial: TrialResult
    differences: tuple[RowDifference, ...] | None = None

    @property
    def counts(self) -> TrialCounts:
        """Counts of the trial under faults."""
        return self.trial.counts

    @property
    def state(self) -> RehearsalState:
        """The worst state found."""
        counts = self.counts
        if counts.comparison.violations:
            return RehearsalState.BROKEN
        if counts.comparison.doubts:
            return RehearsalState.IN_DOUBT
        if (
            counts.refusals
            or counts.comparison.preexisting
            or counts.open_steps
            or self.differences
        ):
            return RehearsalState.NOT_READY
        return RehearsalState.PASSED

    @property
    def had_faults(self) -> bool:
        """True if the batch was run with faults or kills."""
        return bool(self.trial.faulty_runs)

    def violations(self, *kinds: ViolationKind) -> list[Violation]:
        """Return the violations of these kinds."""
        violations = self.counts.comparison.violations
        return [violation for violation in violations if violation.kind in kinds]
