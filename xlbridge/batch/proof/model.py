"""The closing proof as data; its workbook and its page show the same."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources import Kind
from xlbridge.upload import Job
from xlbridge.upload.results import Verdict


@dataclass(frozen=True, slots=True)
class RowLocation:
    """Location of a row.

    ``file``, ``sheet`` and ``row`` (Excel's number) are where it was sent from, the rejects
    workbook for a row that was fixed there; ``workbook`` and ``origin`` its place in the step.
    """

    step: str
    workbook: Path
    origin: int
    file: Path
    sheet: str
    row: int


@dataclass(frozen=True, slots=True)
class ProofTitle:
    """Identity of the proven batch: its name, its plan, and the parameters of the run."""

    batch: str
    plan: Path
    plan_sha256: str
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProofFile:
    """A workbook of a step.

    ``sha256`` is that of its content when it was read, ``rows_in_sheet`` how many rows it had
    then, but for those that are no records. ``job_ids`` are the uploads that sent it, of which
    parts and retries are found by themselves; ``not_sent_because`` is the reason where there are
    none, or not for all rows.
    """

    path: Path
    sha256: str
    rows_in_sheet: int
    not_sent_because: Text | None = None
    job_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofStep:
    """A step that uploads workbooks."""

    name: str
    files: tuple[ProofFile, ...]


@dataclass(frozen=True, slots=True)
class ProofExport:
    """A step that exports a listing.

    ``manifest`` is that of the export, as ``export.result.manifest_of`` makes it; None where it
    was not done. ``problem`` says why it was not, or what became of its files since.
    """

    name: str
    listing: str
    output: Path
    sha256: str | None = None
    manifest: Mapping[str, Any] | None = None
    problem: Text | None = None

    @property
    def not_done_because(self) -> Text:
        """The reason why the export was not done."""
        return self.problem or _NO_REASON


_NO_REASON = Text(pt="sem motivo anotado", en="no reason noted")


class ReadBackStatus(StrEnum):
    """Status of an accepted row by what the system has for it.

    ``DOUBLED`` means that it has more than one record for it, ``UNREAD`` that it cannot be asked.
    """

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"
    DOUBLED = "doubled"
    UNREAD = "unread"


class OpenReason(StrEnum):
    """Reason why a row is open; a ``WRITTEN`` one was refused and is in the system all the same."""

    MISSING = "missing"
    DOUBLED = "doubled"
    UNKNOWN = "unknown"
    WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class ProofCounts:
    """Row counts: read, by outcome, and the accepted ones by read-back status.

    ``unchanged`` rows were in the system already, ``held`` ones were not sent by the plan.
    ``rejected`` counts the rows that were sent and not written; of these nobody complained about
    ``not_written``, which fell with others. ``unsent`` are those that were never sent. The
    read-back statuses are those of accepted and unchanged rows.
    """

    read: int = 0
    accepted: int = 0
    unchanged: int = 0
    held: int = 0
    rejected: int = 0
    not_written: int = 0
    unsent: int = 0
    unknown: int = 0
    same: int = 0
    differs: int = 0
    missing: int = 0
    doubled: int = 0
    unread: int = 0

    def __add__(self, other: "ProofCounts") -> "ProofCounts":
        names = (field.name for field in fields(self))
        return ProofCounts(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def found(self) -> int:
        """Number of accepted rows that the system has, as they were sent or otherwise."""
        return self.same + self.differs + self.doubled

    @property
    def adds_up(self) -> bool:
        """True if every read row has an outcome, and every accepted row a read-back status."""
        sum_read_back = self.same + self.differs + self.missing + self.doubled + self.unread
        in_system = self.accepted + self.unchanged
        sum_of_outcomes = in_system + self.held + self.rejected + self.unsent + self.unknown
        return self.read == sum_of_outcomes and in_system == sum_read_back


@dataclass(frozen=True, slots=True)
class CellDifference:
    """A value that differs in the system, both as ``comparable_value`` makes them.

    ``cell`` is the address in the place's sheet, None where the sheet has no such column; ``code``
    that of the record in the system.
    """

    location: RowLocation
    cell: str | None
    column: str
    kind: Kind
    sent: str | None
    found: str | None
    code: str


@dataclass(frozen=True, slots=True)
class OpenRow:
    """A row that is open.

    ``key`` is what its records were looked for by, ``codes`` those of the records that were found;
    for a row that was not accepted, of those that say the same.
    """

    location: RowLocation
    state: OpenReason
    key: Mapping[str, str]
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that the system refused, that fell with others, or that was held.

    ``row`` is None for what was said of a sheet.
    """

    step: str
    workbook: Path
    file: Path
    sheet: str
    row: int | None
    cell: str | None
    column: str | None
    message: str


@dataclass(frozen=True, slots=True)
class UnreadRows:
    """Count of a resource's accepted rows that cannot be read back, and the reason."""

    resource: str
    reason: Text
    rows: int


@dataclass(frozen=True, slots=True)
class Total:
    """The accepted rows under a label, as they were sent and as they were read back.

    ``unread`` is the part of what was sent that cannot be read back. ``found_rows`` and ``found``
    are None where the system does not return them.
    """

    label: str | None
    rows: int
    amount: Decimal
    unread_rows: int
    unread: Decimal
    found_rows: int | None
    found: Decimal | None

    @property
    def difference(self) -> Decimal | None:
        """Amount read back minus the readable amount sent."""
        return None if self.found is None else self.found - (self.amount - self.unread)

    @property
    def rows_difference(self) -> int | None:
        """Number of rows read back minus the readable rows sent."""
        return None if self.found_rows is None else self.found_rows - (self.rows - self.unread_rows)

    @property
    def agrees(self) -> bool:
        """True if both sides have the same rows and amounts."""
        return not self.difference and not self.rows_difference


@dataclass(frozen=True, slots=True)
class TotalTable:
    """Control totals of a resource's rows by one thing; ``amount`` is None where rows are counted.

    ``kind`` is that of the labels; ``by_month`` says that they are months of dates.
    """

    resource: str
    by: Text
    kind: Kind
    by_month: bool
    amount: Text | None
    totals: tuple[Total, ...]
    sum: Total


@dataclass(frozen=True, slots=True)
class ResourceSummary:
    """The accepted rows of a resource, and how many of them the system has.

    ``amount`` is None where rows have none, ``found_amount`` also where the system returns none.
    """

    resource: str
    title: Text
    accepted: int
    found: int
    amount: Decimal | None
    found_amount: Decimal | None


@dataclass(frozen=True, slots=True)
class ComparedFields:
    """Columns of a resource that are compared with the system, and those it does not return."""

    resource: str
    compared: tuple[str, ...]
    not_returned: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileProof:
    """A workbook, its uploads with the verdict of each, and what became of its rows."""

    file: ProofFile
    resource: str | None
    jobs: tuple[tuple[Job, Verdict], ...]
    counts: ProofCounts


@dataclass(frozen=True, slots=True)
class StepProof:
    """A step and its workbooks."""

    name: str
    files: tuple[FileProof, ...]

    @property
    def counts(self) -> ProofCounts:
        """Sum of the counts of the step's workbooks."""
        return sum((file.counts for file in self.files), ProofCounts())


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The closing proof of a batch, made ``at`` a time from what the system had then.

    ``breaches`` are counts that contradict one another.
    """

    title: ProofTitle
    profile: str
    base_url: str
    at: datetime
    steps: tuple[StepProof, ...]
    exports: tuple[ProofExport, ...]
    resources: tuple[ResourceSummary, ...]
    totals: tuple[TotalTable, ...]
    cells: tuple[CellDifference, ...]
    rows: tuple[OpenRow, ...]
    refused: tuple[RefusedRow, ...]
    unread: tuple[UnreadRows, ...]
    fields: tuple[ComparedFields, ...]
    breaches: tuple[Text, ...]

    @property
    def counts(self) -> ProofCounts:
        """Sum of the counts of all steps."""
        return sum((step.counts for step in self.steps), ProofCounts())
