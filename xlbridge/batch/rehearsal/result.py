"""Result of a rehearsal as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from xlbridge.i18n import Text
from xlbridge.upload import RowOutcome


class ViolationKind(StrEnum):
    """What must not happen, whatever the faults.

    ``TWICE`` is a row that stands more often than it was accepted, ``LOST`` one that was accepted
    and is not there, ``TOLD_WRONG`` one that was told to be refused and is there, ``NO_VERDICT``
    rows whose fates do not account for all of them.
    """

    TWICE = "twice"
    LOST = "lost"
    TOLD_WRONG = "told_wrong"
    NO_VERDICT = "no_verdict"


@dataclass(frozen=True, slots=True, order=True)
class RowId:
    """Where a row stands: its step, its workbook as the plan names it, Excel's row number."""

    step: str
    workbook: str
    row: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A breach; ``place`` is None where it is of no single row that was sent."""

    kind: ViolationKind
    told: Text
    place: RowId | None = None


@dataclass(frozen=True, slots=True)
class DoubtfulRow:
    """A row in doubt at the end; ``there`` says whether it is in the database after all."""

    place: RowId
    there: bool


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that was not accepted, and why, where anything said so."""

    place: RowId
    why: Text


@dataclass(frozen=True, slots=True)
class WorkbookResult:
    """A workbook at the end: how many rows it has, and what became of each that was sent.

    ``problem`` is why not all of them were sent.
    """

    step: str
    name: str
    rows: int
    fates: Mapping[int, RowOutcome] = field(repr=False)
    problem: Text | None = None

    def count(self, *fates: RowOutcome) -> int:
        """Return how many rows have one of these fates."""
        return sum(fate in fates for fate in self.fates.values())

    @property
    def unsent(self) -> int:
        """How many rows were never sent."""
        return self.rows - len(self.fates)


@dataclass(frozen=True, slots=True)
class TableCount:
    """How many rows a table had before and after the run, and how many of them it should gain."""

    table: str
    before: int
    after: int
    expected: int


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A row that ended otherwise than in the rehearsal without faults; None is never sent."""

    place: RowId
    undisturbed: RowOutcome | None
    disturbed: RowOutcome | None


@dataclass(frozen=True, slots=True)
class TableComparison:
    """What the database says of the rows that were sent."""

    tables: tuple[TableCount, ...] = ()
    broken: tuple[Violation, ...] = ()
    doubts: tuple[DoubtfulRow, ...] = ()
    there_before: tuple[RowId, ...] = ()


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """Every row of every workbook that is sent.

    ``open_steps`` are those that are not done, each with how it stands.
    """

    workbooks: tuple[WorkbookResult, ...]
    refusals: tuple[Refusal, ...]
    tally: TableComparison
    open_steps: Mapping[str, Text]

    def count(self, *fates: RowOutcome) -> int:
        """Return how many rows have one of these fates."""
        return sum(workbook.count(*fates) for workbook in self.workbooks)

    @property
    def rows(self) -> int:
        """How many rows the workbooks have."""
        return sum(workbook.rows for workbook in self.workbooks)

    @property
    def unsent(self) -> int:
        """How many rows were never sent."""
        return sum(workbook.unsent for workbook in self.workbooks)


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One course of the month, from the first run to the last.

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


@dataclass(frozen=True, slots=True)
class RehearsalResult:
    """A rehearsal: its course under faults, and how it differs from one without.

    ``differences`` is None where there was none without.
    """

    batch: str
    plan: str
    faults: str
    course: TrialResult
    differences: tuple[RowDifference, ...] | None = None

    @property
    def counted(self) -> TrialCounts:
        """What was counted under faults."""
        return self.course.counted

    def broken(self, *kinds: ViolationKind) -> list[Violation]:
        """Return the breaches of these kinds."""
        return [broken for broken in self.counted.tally.broken if broken.kind in kinds]
