"""What became of each row, in the analyst's own addresses."""

from collections.abc import Sequence
from dataclasses import dataclass

from xlbridge.i18n import Text
from xlbridge.upload.journal.job import NewJob


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A refused row: Excel's number and the cell in the analyst's sheet, where they are known.

    ``itself`` is false for a row that was not complained about and only fell with others.
    """

    row: int | None
    cell: str | None
    column: str | None
    message: str
    itself: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many rows were read, and what became of them: ``read`` is always the sum of the rest."""

    read: int
    accepted: int
    unknown: int
    rejected_rows: tuple[RejectedRow, ...] = ()

    @property
    def rejected(self) -> int:
        """How many rows were refused."""
        return self.read - self.accepted - self.unknown

    @property
    def counted(self) -> dict[str, int]:
        """The counts by the names that they have in reports."""
        return {
            "read": self.read,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "unknown": self.unknown,
        }


def all_accepted(job: NewJob) -> Verdict:
    """Every row was applied."""
    return Verdict(read=len(job.rows), accepted=len(job.rows), unknown=0)


def all_unknown(job: NewJob) -> Verdict:
    """Nothing can be said of any row."""
    return Verdict(read=len(job.rows), accepted=0, unknown=len(job.rows))


def none_applied(job: NewJob) -> Verdict:
    """No row was applied, and none was complained about."""
    return Verdict(read=len(job.rows), accepted=0, unknown=0)


def read_back(job: NewJob, proven: Sequence[bool | None]) -> Verdict:
    """Return what the records that were read back prove of each row; None proves nothing.

    A row that is not there, while others are, was not applied.
    """
    missing = [row for row, there in zip(job.rows, proven, strict=True) if there is False]
    return Verdict(
        read=len(job.rows),
        accepted=sum(there is True for there in proven),
        unknown=sum(there is None for there in proven),
        rejected_rows=tuple(
            RejectedRow(row, None, None, str(NOT_THERE), itself=False) for row in missing
        ),
    )


WHOLE_REFUSED = Text(
    pt="Não aplicada: o envio inteiro foi recusado.",
    en="Not applied: the whole upload was refused.",
)
"""The remark on a row that was itself not complained about."""

NOT_THERE = Text(
    pt="Não está no sistema: lida de novo duas vezes depois do envio, e não encontrada.",
    en="Not in the system: read back twice after the upload, and not found.",
)
"""The remark on a row that was read back and is not there, while others of its upload are."""
