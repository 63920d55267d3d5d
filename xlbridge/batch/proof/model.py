"""Model of the closing proof, which its workbook and its page show."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any

from xlbridge.i18n import Text
from xlbridge.resources import Kind
from xlbridge.upload import Job
from xlbridge.upload.results import RowChange, RowLedger


@dataclass(frozen=True, slots=True)
class RowLocation:
    """Location of a row.

    ``file``, ``sheet`` and ``row`` (Excel's number) are where it was sent from, which is the
    rejects workbook for a row corrected there; ``workbook`` and ``origin`` are the step's workbook
    and the row's number in it. Both numbers are 0 for an answer about a whole sheet.
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
class StepFile:
    """A workbook of a step, with what the batch knows about it.

    ``sha256`` and ``rows_in_sheet`` are those when it was read; rows that are not records are not
    counted. ``job_id`` is its first upload, whose retries send it again; ``not_sent_because`` is
    the reason if there is none, or not for all rows.
    """

    path: Path
    sha256: str
    rows_in_sheet: int
    not_sent_because: Text | None = None
    job_id: str | None = None


@dataclass(frozen=True, slots=True)
class ProofExport:
    """A step that exports a listing.

    ``manifest`` is None if the export was not done; ``problem`` is why, or how its files were
    changed afterwards.
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


_NO_REASON = Text(pt="motivo não registrado", en="no reason recorded")


class ReadBackStatus(StrEnum):
    """Read-back status of an accepted row.

    ``DOUBLED``: the system has more than one record for it. ``UNREAD``: it cannot be read back.
    """

    SAME = "same"
    DIFFERS = "differs"
    MISSING = "missing"
    DOUBLED = "doubled"
    UNREAD = "unread"


class OpenReason(StrEnum):
    """Reason why a row is open; a ``WRITTEN`` row was rejected but is in the system."""

    MISSING = "missing"
    DOUBLED = "doubled"
    UNKNOWN = "unknown"
    WRITTEN = "written"


@dataclass(frozen=True, slots=True)
class ProofCounts:
    """Row counts: read, by outcome, and the accepted ones by read-back status.

    ``unchanged`` rows were in the system already, ``held`` rows were not sent by the plan.
    ``rejected`` rows were sent and not written; of these ``not_written`` have no error of their
    own. ``undone`` rows were accepted and reversed since; ``unsent`` rows were never sent. Accepted
    and unchanged rows have a read-back status.
    """

    read: int = 0
    accepted: int = 0
    unchanged: int = 0
    held: int = 0
    rejected: int = 0
    not_written: int = 0
    undone: int = 0
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
        """Number of accepted rows that the system has, with or without differences."""
        return self.same + self.differs + self.doubled

    @property
    def adds_up(self) -> bool:
        """True if every read row has an outcome, and every accepted row a read-back status."""
        read_back = self.same + self.differs + self.missing + self.doubled + self.unread
        in_system = self.accepted + self.unchanged
        others = self.held + self.rejected + self.undone + self.unsent + self.unknown
        return self.read == in_system + others and in_system == read_back


@dataclass(frozen=True, slots=True)
class CellDifference:
    """A value that differs in the system; both are a ``comparable_value``.

    ``cell`` is the address in the location's sheet, None if the sheet has no such column; ``code``
    is the record's in the system.
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

    ``key`` is what its records were looked up by, ``codes`` are those of the records found; for a
    row that was not accepted, of the equal records found.
    """

    location: RowLocation
    state: OpenReason
    key: Mapping[str, str]
    codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A row that was rejected, not written because of others, or held, and the message."""

    location: RowLocation
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
    """Total of the accepted rows with a label, as they were sent and as they were read back.

    ``unread`` is the part of the sent amount that cannot be read back. ``found_rows`` and ``found``
    are None if the system does not return them.
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
    """Control totals of a resource's rows by one column; ``amount`` is None if rows are counted.

    ``kind`` is that of the labels; with ``by_month`` they are the months of dates.
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
    """Accepted rows of a resource, and how many of them the system has.

    ``amount`` is None if rows have none, ``found_amount`` also if the system returns none.
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
    """A workbook of a step, the jobs that sent rows of it, and what became of each row.

    ``jobs`` are oldest first, with retries, and with the parts of a split sheet instead of the
    whole; ``ledger`` is None if there are none. ``rows`` are in the order of the workbook.
    """

    step: str
    file: StepFile
    ledger: RowLedger | None = None
    jobs: tuple[Job, ...] = ()
    rows: tuple[RowChange, ...] = ()
    counts: ProofCounts = ProofCounts()

    @property
    def resources(self) -> Sequence[str]:
        """Names of the resources that were sent."""
        return list(dict.fromkeys(job.spec.resource for job in self.jobs))

    def location(self, job: Job, row: RowChange | None) -> RowLocation:
        """Return the location of a row that a job has sent, of its whole sheet if None."""
        return RowLocation(
            step=self.step,
            workbook=self.file.path,
            origin=0 if row is None else row.origin,
            file=Path(job.spec.file),
            sheet=job.spec.sheet,
            row=0 if row is None else row.row,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The closing proof of a batch, from the system's records at the time ``at``.

    ``steps`` are the workbooks of the steps that upload, by the steps' names.
    ``breaches`` are contradictions, for example of counts.
    """

    title: ProofTitle
    profile: str
    base_url: str
    at: datetime
    steps: Mapping[str, Sequence[FileProof]]
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
        """Sum of the counts of all workbooks."""
        return total_counts(chain.from_iterable(self.steps.values()))


def total_counts(files: Iterable[FileProof]) -> ProofCounts:
    """Return the sum of the counts of some workbooks."""
    return sum((file.counts for file in files), ProofCounts())
