"""Reports of processings and undos: the outcome of each record, the rows that are left with their
reasons, and the JSON of the contract."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from xlbridge import titles
from xlbridge.i18n import Text, count_text, joined, untranslated
from xlbridge.report_forms import (
    Grade,
    Line,
    Report,
    ReportForms,
    Table,
)
from xlbridge.titles import sheet_row
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.planning.consent import (
    ALREADY,
    left_report,
    left_rows,
    left_text,
    record_table,
)
from xlbridge.upload.planning.planned_row import PlannedRow, RowAction
from xlbridge.upload.requests import RowOutcome, State
from xlbridge.upload.results.report import decision_step, evidence_remarks
from xlbridge.upload.results.row_ledger import RowLedger, row_counts
from xlbridge.upload.row_changes import WriteState

if TYPE_CHECKING:
    from xlbridge.upload.process_plan import ProcessPlan

__all__ = [
    "process_counts",
    "process_plan_json",
    "processed_records",
]

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


def process_plan_json(plan: "ProcessPlan") -> dict[str, Any]:
    """Return the plan of a processing as JSON, with the fields of its report."""
    in_sheet = bool(plan.numbers.file)
    records = [_before_sending(record, in_sheet=in_sheet) for record in plan.rows]
    return _process_json(plan.kind.name, records, plan.token, None)


def _process_json(
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
    return _process_json(job.spec.resource, processed_records(journal, job), job.token, job)


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


def undo_counts(journal: Journal, job: Job) -> dict[str, int]:
    """Return the counts of an undo's rows; ``read`` is the sum of the others."""
    counts = row_counts(journal, job)
    return {
        "read": counts["read"],
        "undone": counts["accepted"],
        "left": counts["held"] + counts["rejected"],
        "unknown": counts["unknown"],
    }


def undo_json(journal: Journal, job: Job) -> dict[str, Any]:
    """Return an undo as JSON. See the product brief, ``undo JOB``."""
    return _undo_json(
        job.spec.undo_of,
        job.spec.resource,
        undo_counts(journal, job),
        left_rows(journal, job),
        job.token,
        job,
        job.notes.target,
    )


def _undo_json(
    undo_of: str | None,
    resource: str,
    counts: Mapping[str, int],
    left: Iterable[PlannedRow],
    token: str,
    job: Job | None,
    target: Mapping[str, Any] | None,
) -> dict[str, Any]:
    return {
        "version": 1,
        "job": None if job is None else job.id,
        "undo_of": undo_of,
        "state": State.DONE.public if job is None else job.public_state,
        "target": target,
        "resource": resource,
        "rows": dict(counts),
        "left": [
            {"row": sheet_row(row.row), "reason": row.reason, "message": str(left_text(row))}
            for row in left
        ],
        "confirm": token,
        "evidence_file": None if job is None else job.notes.evidence_file,
    }


def undo_report(journal: Journal, job: Job) -> Report:
    """Return the report of an undo."""
    counts = undo_counts(journal, job)
    undone_before = RowLedger.of(journal, job).undone_before(job)
    headline = _UNDO_HEADLINES.get(job.state, _UNDO_UNFINISHED)
    if headline is _UNDONE and not counts["undone"]:
        headline = _headline_without_rows(counts["read"], undone_before)
    texts = {name: count_text(count) for name, count in counts.items()}
    verdict = headline.format(
        **texts, undo_of=job.spec.undo_of, job=job.arguments(), reason=job.reason
    )
    grade = Grade.WARNING if counts["unknown"] else Grade.GOOD
    if counts["left"] or job.state is State.ABANDONED:
        grade = Grade.ERROR
    return replace(
        left_report(left_rows(journal, job), undone_before),
        verdict=verdict,
        grade=grade,
        facts=titles.quirks_facts(job.notes.target),
    )


def _headline_without_rows(left: int, undone_before: Mapping[str, int]) -> Text:
    """Return the headline of an undo that has reversed no row, and leaves some or none."""
    if left:
        return _NONE_REVERSED
    return _ALL_REVERSED if undone_before else _NOTHING_WRITTEN


def empty_undo_report(
    undo_of: Job, left_rows: Collection[PlannedRow], undone_before: Mapping[str, int], token: str
) -> ReportForms:
    """Return the report of an undo with no rows to reverse, of which no job is recorded."""
    left = len(left_rows)
    counts = {"read": left, "undone": 0, "left": left, "unknown": 0}
    headline = _headline_without_rows(left, undone_before)
    verdict = headline.format(**counts, undo_of=undo_of.id)
    grade = Grade.ERROR if left_rows else Grade.GOOD
    report = replace(left_report(left_rows, undone_before), verdict=verdict, grade=grade)
    return ReportForms.of_report(
        lambda: report,
        lambda: _undo_json(
            undo_of.id, undo_of.spec.resource, counts, left_rows, token, None, undo_of.notes.target
        ),
    )


_UNDONE = Text(
    pt="Desfeito o envio {undo_of}. Linhas desfeitas: {undone} de {read}; não desfeitas: {left}.",
    en="Undone: the upload {undo_of}. Rows undone: {undone} of {read}; left: {left}.",
)
_NONE_REVERSED = Text(
    pt="Nenhuma linha do envio {undo_of} foi desfeita; não desfeitas: {left} de {read}.",
    en="No row of the upload {undo_of} was undone; left: {left} of {read}.",
)
_ALL_REVERSED = Text(
    pt="Nada mais a desfazer: as linhas do envio {undo_of} já foram desfeitas.",
    en="Nothing left to undo: the rows of the upload {undo_of} were undone before.",
)
_NOTHING_WRITTEN = Text(
    pt="Nada a desfazer: o envio {undo_of} não gravou nenhuma linha.",
    en="Nothing to undo: the upload {undo_of} has written no rows.",
)
_UNDO_HEADLINES = {
    State.DONE: _UNDONE,
    State.PARTIAL: _UNDONE,
    State.REJECTED: _UNDONE,
    State.ABANDONED: Text(pt="Nada foi desfeito ({reason}).", en="Nothing was undone ({reason})."),
}
_UNDO_UNFINISHED = Text(
    pt="Linhas desfeitas: {undone} de {read}; não desfeitas: {left}; em dúvida: {unknown} "
    "({reason}). Para continuar: xlbridge resume {job}",
    en="Rows undone: {undone} of {read}; left: {left}; in doubt: {unknown} ({reason}). To "
    "continue: xlbridge resume {job}",
    page=Text(
        pt="Linhas desfeitas: {undone} de {read}; não desfeitas: {left}; em dúvida: {unknown} "
        "({reason}). Para continuar, use “Continuar” em Envios.",
        en="Rows undone: {undone} of {read}; left: {left}; in doubt: {unknown} ({reason}). To "
        "continue, use “Continue” under Uploads.",
    ),
)
