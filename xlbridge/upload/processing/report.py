"""Report of a processing: the outcome of each record, and the JSON of the contract."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from xlbridge import titles
from xlbridge.i18n import Text, count_text, joined, untranslated
from xlbridge.report_forms import (
    Grade,
    Line,
    Report,
    Table,
)
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.planning.planned_row import PlannedRow, RowAction
from xlbridge.upload.processing.plan import ALREADY, ProcessPlan, record_table
from xlbridge.upload.requests import State
from xlbridge.upload.results.report import decision_step, evidence_remarks
from xlbridge.upload.results.verdict import RowOutcome
from xlbridge.upload.row_changes import WriteState

_CHECKED = Text(pt="conferido por {who}: {reason}", en="checked by {who}: {reason}")


class ProcessOutcome(StrEnum):
    """Outcome of a record. See the product brief, process."""

    PROCESSED = "processed"
    ALREADY = "already"
    REJECTED = "rejected"
    UNKNOWN = "unknown"

    @property
    def text(self) -> Text:
        """The outcome in words."""
        return _OUTCOME_NAMES[self]


_OUTCOME_NAMES: Mapping[ProcessOutcome, Text] = {
    ProcessOutcome.PROCESSED: Text(pt="processado", en="processed"),
    ProcessOutcome.ALREADY: ALREADY,
    ProcessOutcome.REJECTED: Text(pt="rejeitado", en="rejected"),
    ProcessOutcome.UNKNOWN: titles.IN_DOUBT,
}


@dataclass(frozen=True, slots=True)
class ProcessedRecord:
    """Record of a processing: its number, row, outcome, and the values the system has assigned.

    ``reason`` is a stable code for records that the plan skipped, ``message`` is for the user.
    """

    number: int
    row: int | None
    outcome: ProcessOutcome
    reason: str | None
    message: str | None
    assigned: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON for reports."""
        return {
            "id": self.number,
            "row": self.row,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "message": self.message,
            "assigned": dict(self.assigned),
        }


def processed_records(journal: Journal, job: Job) -> list[ProcessedRecord]:
    """Return all records of a processing, including skipped ones, in the sheet's order."""
    writes = {int(write.task.record): write for write in journal.writes.load(job.id)}
    resolved = job.notes.resolved
    outcomes = journal.changes.outcomes(job.id)
    records = []
    for planned in journal.plan_of(job):
        record = _before_sending(planned, in_sheet=bool(job.spec.file))
        write = writes.get(record.number)
        if write is not None:
            outcome = _WRITTEN.get(outcomes[write.position], ProcessOutcome.REJECTED)
            if outcome is ProcessOutcome.PROCESSED and write.detail.get("already"):
                outcome = ProcessOutcome.ALREADY
            if job.state.is_unsent:
                outcome = ProcessOutcome.UNKNOWN
            message = joined(text for _, text in write.problems)
            if write.state is WriteState.UNPROVEN and resolved is not None:
                message = _CHECKED.format(who=resolved["by"], reason=resolved["reason"])
            record = replace(
                record, outcome=outcome, message=str(message) or None, assigned=write.assigned
            )
        records.append(record)
    return records


def _before_sending(planned: PlannedRow, *, in_sheet: bool) -> ProcessedRecord:
    """Return a planned record; ``in_sheet`` if its row is in a sheet."""
    return ProcessedRecord(
        int(planned.record or 0),
        planned.row if in_sheet else None,
        _OUTCOMES[planned.action],
        None if planned.reason is None else planned.reason.value,
        None if planned.why is None else str(planned.why),
        planned.assigned,
    )


_OUTCOMES = {
    RowAction.PROCESS: ProcessOutcome.UNKNOWN,
    RowAction.UNCHANGED: ProcessOutcome.ALREADY,
    RowAction.HELD: ProcessOutcome.REJECTED,
}
_WRITTEN = {
    RowOutcome.ACCEPTED: ProcessOutcome.PROCESSED,
    RowOutcome.UNKNOWN: ProcessOutcome.UNKNOWN,
}


def process_counts(records: Sequence[ProcessedRecord]) -> dict[str, int]:
    """Return the counts of a processing's records; ``read`` is the sum of the others."""
    outcomes = [record.outcome for record in records]
    counts = {outcome.value: outcomes.count(outcome) for outcome in ProcessOutcome}
    return {"read": len(outcomes), **counts}


def _rejected_lines(record: ProcessedRecord) -> int:
    """Return the number of lines of a file that the system has rejected; 0 for other records."""
    return int(record.assigned.get("registrosRejeitados") or 0)


def _any_rejected(records: Iterable[ProcessedRecord]) -> bool:
    """Return whether a record, or a line of a file, was rejected."""
    return any(
        record.outcome is ProcessOutcome.REJECTED or _rejected_lines(record) for record in records
    )


def process_plan_json(plan: ProcessPlan) -> dict[str, Any]:
    """Return the plan of a processing as JSON, with the fields of its report."""
    in_sheet = bool(plan.numbers.file)
    records = [_before_sending(record, in_sheet=in_sheet) for record in plan.rows]
    return _json(plan.kind.name, records, plan.token, None)


def _json(
    listing: str, records: Sequence[ProcessedRecord], token: str, job: Job | None
) -> dict[str, Any]:
    return {
        "version": 1,
        "job": None if job is None else job.id,
        "listing": listing,
        "state": State.PREVIEWED.public if job is None else job.public_state,
        "target": None if job is None else job.notes.target,
        "rows": process_counts(records),
        "records": [record.to_json() for record in records],
        "confirm": token,
        "evidence_file": None if job is None else job.notes.evidence_file,
        "resolved": None if job is None else job.notes.resolved,
    }


def process_json(journal: Journal, job: Job) -> dict[str, Any]:
    """Return a processing as JSON. See the product brief, ``process LISTING``."""
    return _json(job.spec.resource, processed_records(journal, job), job.token, job)


def process_report(journal: Journal, job: Job) -> Report:
    """Return the report of a processing."""
    records = processed_records(journal, job)
    counts = process_counts(records)
    waiting = sum(write.state.is_waiting for write in journal.writes.iterate(job.id))
    headline = _HEADLINES.get(job.state, _UNFINISHED)
    # A job whose plan skips all records is done, too.
    if job.state in {State.DONE, State.PARTIAL, State.REJECTED}:
        headline = _PARTIAL if _any_rejected(records) else _DONE
        if all(record.outcome is ProcessOutcome.REJECTED for record in records):
            headline = _ALL_REJECTED
    verdict = headline.format(
        **{name: count_text(count) for name, count in counts.items()},
        waiting=count_text(waiting),
        doubtful=count_text(counts[ProcessOutcome.UNKNOWN] - waiting),
        why=untranslated(" ({reason})").format(reason=job.reason) if job.known_reason else "",
        job=job.arguments(),
        reason=job.reason,
        listing=job.spec.resource,
    )
    files = [
        Line(text=_REJECTED_LINES.format(number=record.number, n=lines))
        for record in records
        if (lines := _rejected_lines(record))
    ]
    needs_person = job.state is State.NEEDS_PERSON
    grade = Grade.WARNING if counts[ProcessOutcome.UNKNOWN] else Grade.GOOD
    return Report(
        verdict=verdict,
        grade=Grade.ERROR if _any_rejected(records) else grade,
        facts=titles.quirks_facts(job.notes.target),
        remarks=list(evidence_remarks(job)) if needs_person else [],
        tables=[
            Table(sheet=Text(pt="Arquivos", en="Files"), lines=files),
            record_table(
                (record.outcome.text, record.message, record.number)
                for record in records
                if record.message is not None
            ),
        ],
        next_steps=[decision_step(job)] if needs_person else [],
    )


_REJECTED_LINES = Text(
    pt="  • arquivo {number}: {n} {n:linha rejeitada|linhas rejeitadas} pelo sistema",
    en="  • file {number}: {n} {n:line|lines} rejected by the system",
)


_ALL_REJECTED = Text(
    pt="Rejeitado ({listing}): {read:o registro não|nenhum dos {read} registros} foi processado.",
    en="Rejected ({listing}): {read:the record was not|none of the {read} records was} processed.",
)
_PARTIAL = Text(
    pt="Processados ({listing}): {processed} de {read}; já estavam: {already}; rejeitados: "
    "{rejected}.",
    en="Processed ({listing}): {processed} of {read}; already done: {already}; rejected: "
    "{rejected}.",
)
_DONE = Text(
    pt="Pronto ({listing}). Processados: {processed} de {read}; já estavam: {already}.",
    en="Done ({listing}). Processed: {processed} of {read}; already done: {already}.",
)
_HEADLINES = {
    State.ABANDONED: Text(
        pt="Nada foi processado ({reason}).", en="Nothing was processed ({reason})."
    ),
    State.NEEDS_PERSON: Text(
        pt="Em dúvida; só uma pessoa pode decidir. Processados: {processed} de {read}; já "
        "estavam: {already}; rejeitados: {rejected}; em dúvida: {unknown} ({reason}).",
        en="In doubt; only a person can decide. Processed: {processed} of {read}; already "
        "done: {already}; rejected: {rejected}; in doubt: {unknown} ({reason}).",
    ),
}
_UNFINISHED = Text(
    pt="Processados: {processed} de {read}; já estavam: {already}; rejeitados: {rejected}; não "
    "enviados: {waiting}; em dúvida: {doubtful}{why}. Para continuar: xlbridge resume {job}",
    en="Processed: {processed} of {read}; already done: {already}; rejected: {rejected}; not "
    "sent: {waiting}; in doubt: {doubtful}{why}. To continue: xlbridge resume {job}",
    page=Text(
        pt="Processados: {processed} de {read}; já estavam: {already}; rejeitados: {rejected}; "
        "não enviados: {waiting}; em dúvida: {doubtful}{why}. Para continuar, use “Continuar” em "
        "Envios.",
        en="Processed: {processed} of {read}; already done: {already}; rejected: {rejected}; "
        "not sent: {waiting}; in doubt: {doubtful}{why}. To continue, use “Continue” under "
        "Uploads.",
    ),
)
