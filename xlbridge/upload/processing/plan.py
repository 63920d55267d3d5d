"""Plan of processing: what is done with each record, and why some are left."""

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
from xlbridge.upload.processing.process_kinds import ProcessKind, RecordNumbers, Standing


class LeftBecause(StrEnum):
    """Reason why a record is not processed; the code is stable."""

    NOT_FOUND = "not-found"
    CLOSED = "closed"
    UNTOLD = "untold"
    CLAIMED = "claimed"
    PROCESSED_BEFORE = "processed-before"


class RecordAction(StrEnum):
    """Action on a record of a plan; records that are left have a reason."""

    PROCESS = "process"
    ALREADY = "already"
    LEFT = "left"


@dataclass(frozen=True, slots=True)
class PlannedRecord:
    """Record of a plan: its number, its row in the sheet or its place, and what is done with it.

    ``remark`` is what a person is told, ``given`` what the system had given it by then.
    """

    number: int
    row: int
    action: RecordAction
    standing: Standing
    reason: LeftBecause | None = None
    remark: Text | None = None
    given: Mapping[str, Any] = field(default_factory=dict)

    def to_journal(self) -> StoredAction:
        """Return the record as the journal keeps it."""
        detail: dict[str, Any] = {"number": self.number, "standing": self.standing}
        if self.remark is not None:
            detail["remark"] = asdict(self.remark)
        if self.given:
            detail["given"] = dict(self.given)
        return StoredAction(self.row, self.action, self.reason, detail)

    @classmethod
    def of_journal(cls, stored: StoredAction) -> "PlannedRecord":
        """Return the record that the journal has."""
        remark = stored.detail.get("remark")
        return cls(
            stored.detail["number"],
            stored.row,
            RecordAction(stored.action),
            Standing(stored.detail["standing"]),
            None if stored.reason is None else LeftBecause(stored.reason),
            None if remark is None else Text(**remark),
            stored.detail.get("given", {}),
        )


@dataclass(frozen=True, slots=True)
class ProcessPlan:
    """Plan of processing: every record in the sheet's order.

    ``known`` are the claims of the same journal on them, ``elsewhere`` those of other profiles'.
    """

    kind: ProcessKind
    numbers: RecordNumbers
    records: Sequence[PlannedRecord]
    known: ClaimedRows = field(repr=False)
    elsewhere: Mapping[Path, ClaimedRows] = field(repr=False)

    @property
    def to_process(self) -> list[PlannedRecord]:
        """Records that are processed, or waited for while the system does, in order."""
        return [one for one in self.records if one.action is RecordAction.PROCESS]

    @property
    def left(self) -> list[PlannedRecord]:
        """Records that cannot be processed, in order."""
        return [one for one in self.records if one.action is RecordAction.LEFT]

    @property
    def digest(self) -> str:
        """Digest of what is to be done with which records."""
        decided = [[one.number, one.standing] for one in self.to_process]
        return hashlib.sha256(json.dumps([self.kind.listing, decided]).encode()).hexdigest()

    @property
    def token(self) -> str:
        """Confirmation of just these records: ``RECORDS:DIGEST8``."""
        return plan_token(len(self.to_process), self.digest)


def planned_records(journal: Journal, job: Job) -> list[PlannedRecord]:
    """Return the records of the plan of a processing, in the sheet's order."""
    return [PlannedRecord.of_journal(stored) for stored in journal.actions_of(job)]
