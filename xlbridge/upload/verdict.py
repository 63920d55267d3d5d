"""Verdict on a job's rows: accepted, rejected or unknown, by the analyst's own addresses."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from xlbridge.i18n import Text
from xlbridge.upload.job import UNSENT, Job, JobSpec, State


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


def verdict_of(job: Job) -> Verdict:
    """Return what the journal knows of the job's rows."""
    if job.state in {State.PREPARED, State.PREVIEWING}:
        return none_applied(job.what)
    stored = job.last("verdict")
    if stored is None or job.state in {State.POLLING, State.STAGED, State.STARTING}:
        return all_unknown(job.what)
    rows = tuple(RejectedRow(**row) for row in stored["rejected_rows"])
    return Verdict(stored["read"], stored["accepted"], stored["unknown"], rows)


def all_accepted(job: JobSpec) -> Verdict:
    """Every row was applied."""
    return Verdict(read=len(job.rows), accepted=len(job.rows), unknown=0)


def all_unknown(job: JobSpec) -> Verdict:
    """Nothing can be said of any row."""
    return Verdict(read=len(job.rows), accepted=0, unknown=len(job.rows))


def none_applied(job: JobSpec) -> Verdict:
    """No row was applied, and none was complained about."""
    return Verdict(read=len(job.rows), accepted=0, unknown=0)


def verdict_of_proof(job: JobSpec, proven: Sequence[bool | None]) -> Verdict:
    """Return what the records that were read back prove of each row; None proves nothing.

    A row that is not there, while others are, was not applied.
    """
    missing = [row for row, there in zip(job.rows, proven, strict=True) if there is False]
    return Verdict(
        read=len(job.rows),
        accepted=sum(there is True for there in proven),
        unknown=sum(there is None for there in proven),
        rejected_rows=tuple(
            RejectedRow(row, None, None, str(NOT_IN_SYSTEM), itself=False) for row in missing
        ),
    )


REJECTED_AS_A_WHOLE = Text(
    pt="Não aplicada: o envio inteiro foi recusado.",
    en="Not applied: the whole upload was refused.",
)
"""The remark on a row that was itself not complained about."""

NOT_IN_SYSTEM = Text(
    pt="Não está no sistema: lida de novo duas vezes depois do envio, e não encontrada.",
    en="Not in the system: read back twice after the upload, and not found.",
)
"""The remark on a row that was read back and is not there, while others of its upload are."""


class RowOutcome(StrEnum):
    """What became of a row.

    ``NOT_WRITTEN`` are rows that nobody complained about and that were not applied all the same:
    they fell with their sheet, or a person saw that they are not there. ``UNSENT`` are those that
    nothing was sent of that could write.
    """

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NOT_WRITTEN = "not_written"
    UNSENT = "unsent"
    UNKNOWN = "unknown"


def row_outcomes(job: Job) -> tuple[RowOutcome, ...]:
    """Return what became of each row of a job that is no parent of parts, in order."""
    rows = job.what.rows
    if job.state is State.NEEDS_PERSON and (proven := job.last("proven")) is not None:
        return tuple(RowOutcome.ACCEPTED if there else RowOutcome.UNKNOWN for there in proven)
    refused = {row.row for row in verdict_of(job).rejected_rows}
    rest = _outcome_of_other_rows(job)
    return tuple(RowOutcome.REJECTED if row in refused else rest for row in rows)


def _outcome_of_other_rows(job: Job) -> RowOutcome:
    if job.state in {State.DONE, State.PARTIAL}:
        return RowOutcome.ACCEPTED
    if job.state is State.REJECTED or (job.state.frees_rows and job.last("resolved")):
        return RowOutcome.NOT_WRITTEN
    if job.state.frees_rows or job.state in UNSENT:
        return RowOutcome.UNSENT
    return RowOutcome.UNKNOWN


_VALUE = re.compile(r"[“\"'‘].*?[”\"'’]|\b[\w./-]*\d[\w./-]*")
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class DriftedRule:
    """A rule that the schema lacks: the column, the message without its values, and how often."""

    column: str | None
    rule: str
    rows: int


def drifted_rules(verdict: Verdict) -> list[DriftedRule]:
    """Count the refusals by rule, the most frequent first.

    Messages that differ only in the values that they name are one rule.
    """
    counted = Counter(
        (row.column, _VALUE.sub(_ELLIPSIS, row.message))
        for row in verdict.rejected_rows
        if row.itself
    )
    return [DriftedRule(column, rule, rows) for (column, rule), rows in counted.most_common()]
