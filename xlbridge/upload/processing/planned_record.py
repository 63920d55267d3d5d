"""Planned records of a processing: the action on each, reasons to skip some, the report."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge import titles
from xlbridge.i18n import Text, untranslated
from xlbridge.report_forms import Heading, Line, Report, Table, group_by_reason, list_first
from xlbridge.upload.claims import ClaimedRows
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.planning.planned_row import JobPlan, StoredAction, token_line
from xlbridge.upload.planning.row_reasons import RowAction
from xlbridge.upload.processing.process_kinds import (
    ProcessKind,
    RecordNumbers,
    RecordStatus,
    find_kind,
)

if TYPE_CHECKING:
    from xlbridge.client import Target


class SkipReason(StrEnum):
    """Reason why a record is not processed, with a stable code."""

    NOT_FOUND = "not-found"
    CLOSED = "closed"
    UNKNOWN = "unknown"
    CLAIMED = "claimed"
    PROCESSED_BEFORE = "processed-before"


class RecordAction(StrEnum):
    """Action on a record of a plan, named as those on rows if the record is left out."""

    PROCESS = "process"
    ALREADY = RowAction.UNCHANGED.value
    SKIP = RowAction.HELD.value


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
class ProcessPlan(JobPlan):
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
        return hashlib.sha256(json.dumps([self.kind.name, records]).encode()).hexdigest()

    @property
    def writes(self) -> int:
        """Number of records to process."""
        return len(self.to_process)

    def to_journal(self) -> list[StoredAction]:
        """Return all records as stored in the journal."""
        return [record.to_journal() for record in self.records]

    @property
    def note(self) -> dict[str, Any]:
        """Details of the event that records the plan, named as for uploads."""
        skipped = len(self.skipped)
        counts = {"unchanged": len(self.records) - self.writes - skipped, "held": skipped}
        return {**super(ProcessPlan, self).note, "plan": counts, "hidden": self.numbers.hidden}


def planned_records(journal: Journal, job: Job) -> list[PlannedRecord]:
    """Return the planned records of a processing, in the sheet's order."""
    return [PlannedRecord.of_journal(stored) for stored in journal.actions_of(job)]


_SHOWN_RECORDS = 10


def process_plan_report(
    listing: str, target: "Target", records: Sequence[PlannedRecord], token: str, hidden: int
) -> Report:
    """Return the plan of a processing, ending with the token.

    ``hidden`` counts the records in hidden rows.
    """
    counts = Counter(record.action for record in records)
    to_process = [record for record in records if record.action is RecordAction.PROCESS]
    unknown = sum(record.status is RecordStatus.UNKNOWN for record in to_process)
    warnings = {_NOT_SHOWN.format(n=unknown): unknown, _IN_HIDDEN_ROWS.format(n=hidden): hidden}
    if to_process:
        warnings[untranslated("  {text}").format(text=find_kind(listing).final)] = 1
    return Report(
        title=_PLAN.format(
            listing=listing,
            place=target.label,
            n=len(to_process),
            already=counts[RecordAction.ALREADY],
            left=counts[RecordAction.SKIP],
        ),
        remarks=[warning for warning, count in warnings.items() if count],
        tables=[
            record_table(
                (_ACTION_NAMES[record.action], record.remark, record.number) for record in records
            )
        ],
        next_steps=[token_line(token)] if to_process else [],
    )


_PLAN = Text(
    pt="Plano: processar {listing} em {place} · a processar: {n}; já processados: {already}; "
    "não podem: {left}",
    en="Plan: process {listing} in {place} · to process: {n}; already done: {already}; "
    "cannot: {left}",
)
_NOT_SHOWN = Text(
    pt="  {n:para 1 registro|para {n} registros} o sistema não informa se já "
    "{n:foi processado|foram processados}",
    en="  for {n} {n:record|records} the system does not show whether {n:it was|they were} "
    "already processed",
)
_IN_HIDDEN_ROWS = Text(
    pt="  {n} {n:está em linha oculta|estão em linhas ocultas} da planilha (um filtro?) e "
    "também {n:conta|contam}",
    en="  {n} {n:is in a hidden row|are in hidden rows} of the sheet (a filter?) and "
    "{n:is|are} included",
)


ALREADY = Text(pt="já processado", en="already processed")
_ACTION_NAMES: Mapping[RecordAction, Text] = {
    RecordAction.PROCESS: Text(pt="processar", en="process"),
    RecordAction.ALREADY: ALREADY,
    RecordAction.SKIP: Text(pt="fica de fora", en="left out"),
}


def record_table(records: Iterable[tuple[Text, Text | str | None, int]]) -> Table:
    """Return the action or outcome of records and the remark on it, with their numbers."""
    groups = group_by_reason(((name, remark), number) for name, remark, number in records)
    sentence, with_remark = untranslated("  • {numbers}: {name}"), untranslated("{text}; {remark}")
    lines = []
    for (name, remark), numbers in groups.items():
        shown = list_first(numbers, _SHOWN_RECORDS)
        text = sentence.format(numbers=shown, name=name)
        if remark is not None:
            text = with_remark.format(text=text, remark=remark)
        lines.append(Line((shown, name, remark), text=text))
    return Table(
        sheet=titles.RECORDS,
        headings=(
            Heading(titles.RECORD),
            Heading(titles.STATE),
            Heading(titles.REASON, words=True),
        ),
        lines=lines,
    )
