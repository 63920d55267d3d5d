"""Planned records of a processing: the action on each, and the reasons to skip some."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from xlbridge.i18n import Text
from xlbridge.upload.claims import ClaimedRows
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.planning.planned_row import StoredAction, plan_token
from xlbridge.upload.processing.process_kinds import ProcessKind, RecordNumbers, RecordStatus


class SkipReason(StrEnum):
    """Reason why a record is not processed, with a stable code."""

    NOT_FOUND = "not-found"
    CLOSED = "closed"
    UNKNOWN = "unknown"
    CLAIMED = "claimed"
    PROCESSED_BEFORE = "processed-before"


class RecordAction(StrEnum):
    """Action on a record of a plan."""

    PROCESS = "process"
    ALREADY = "already"
    SKIP = "skipped"


@dataclass(frozen=True, slots=True)
class PlannedRecord:
    """Record of a plan: its number, its row in the sheet or its ordinal number, and the action.

    ``remark`` is a message to the user, ``assigned`` has the values that the system has assigned.
    """

    number: int
    row: int
    action: RecordAction
    status: RecordStatus
    reason: SkipReason | None = None
    remark: Text | None = None
    assigned: Mapping[str, Any] = field(default_factory=dict)

    def to_journal(self) -> StoredAction:
        """Return the record as stored in the journal."""
        detail: dict[str, Any] = {"number": self.number, "status": self.status}
        if self.remark is not None:
            detail["remark"] = asdict(self.remark)
        if self.assigned:
            detail["assigned"] = dict(self.assigned)
        return StoredAction(self.row, self.action, self.reason, detail)

    @classmethod
    def of_journal(cls, stored: StoredAction) -> "PlannedRecord":
        """Return the record stored in the journal."""
        remark = stored.detail.get("remark")
        return cls(
            stored.detail["number"],
            stored.row,
            RecordAction(stored.action),
            RecordStatus(stored.detail["status"]),
            None if stored.reason is None else SkipReason(stored.reason),
            None if remark is None else Text(**remark),
            stored.detail.get("assigned", {}),
        )


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """Plan of a processing, with every record in the sheet's order.

    ``known`` are the claims on them in this journal, ``elsewhere`` those in other profiles'
    journals.
    """

    kind: ProcessKind
    numbers: RecordNumbers
    records: Sequence[PlannedRecord]
    known: ClaimedRows = field(repr=False)
    elsewhere: Mapping[Path, ClaimedRows] = field(repr=False)

    @property
    def to_process(self) -> list[PlannedRecord]:
        """Records to process, or that the system is processing, in order."""
        return [record for record in self.records if record.action is RecordAction.PROCESS]

    @property
    def skipped(self) -> list[PlannedRecord]:
        """Records that cannot be processed, in order."""
        return [record for record in self.records if record.action is RecordAction.SKIP]

    @property
    def digest(self) -> str:
        """Digest of the records to process."""
        records = [[record.number, record.status] for record in self.to_process]
        return hashlib.sha256(json.dumps([self.kind.listing, records]).encode()).hexdigest()

    @property
    def token(self) -> str:
        """Token that confirms exactly these records: ``RECORDS:DIGEST8``."""
        return plan_token(len(self.to_process), self.digest)


def planned_records(journal: Journal, job: Job) -> list[PlannedRecord]:
    """Return the planned records of a processing, in the sheet's order."""
    return [PlannedRecord.of_journal(stored) for stored in journal.actions_of(job)]
