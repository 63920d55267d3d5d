"""Report of a processing: its plan, the outcome of each record, the JSON of the contract."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text, joined, untranslated
from xlbridge.upload.job import Job, State
from xlbridge.upload.journal import Journal
from xlbridge.upload.processing.plan import (
    PlannedRecord,
    ProcessPlan,
    RecordAction,
    planned_records,
)
from xlbridge.upload.processing.process_kinds import Standing, find_kind
from xlbridge.upload.records.write_journal import RecordWrite, WriteState
from xlbridge.upload.results.report import decision_lines

if TYPE_CHECKING:
    from xlbridge.client import Target

_SHOWN_RECORDS = 10
_SEEN = Text(pt="conferido por {who}: {reason}", en="looked up by {who}: {reason}")


class ProcessOutcome(StrEnum):
    """Outcome of a record. Source: the product brief, process."""

    PROCESSED = "processed"
    ALREADY = "already"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ProcessedRecord:
    """Record of a processing: its number and row, its outcome, and what the system gave it.

    ``reason`` is a stable code of a record that the plan left, ``message`` what a person is told.
    """

    number: int
    row: int | None
    outcome: ProcessOutcome
    reason: str | None
    message: str | None
    given: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the record as reports have it."""
        return {
            "id": self.number,
            "row": self.row,
            "outcome": self.outcome,
            "reason": self.reason,
            "message": self.message,
            "given": dict(self.given),
        }


def processed_records(journal: Journal, job: Job) -> list[ProcessedRecord]:
    """Return the records of a processing, those that were left too, in the sheet's order."""
    writes = {int(write.task.record): write for write in journal.writes.load(job.id)}
    resolved = job.last("resolved")
    records = []
    for planned in planned_records(journal, job):
        record = _before_sending(planned, in_sheet=bool(job.spec.file))
        write = writes.get(planned.number)
        if write is not None:
            outcome = _outcome(job, write, resolved)
            told = joined(message for _, message in write.problems)
            if write.state is WriteState.UNPROVEN and resolved is not None:
                told = _SEEN.format(who=resolved["by"], reason=resolved["reason"])
            record = replace(
                record, outcome=outcome, message=str(told) or None, given=write.assigned
            )
        records.append(record)
    return records


def _before_sending(planned: PlannedRecord, *, in_sheet: bool) -> ProcessedRecord:
    """Return a record of a plan; ``in_sheet`` says that its row is a sheet's."""
    return ProcessedRecord(
        planned.number,
        planned.row if in_sheet else None,
        _OUTCOMES[planned.action],
        planned.reason,
        None if planned.remark is None else str(planned.remark),
        planned.given,
    )


_OUTCOMES = {
    RecordAction.PROCESS: ProcessOutcome.UNKNOWN,
    RecordAction.ALREADY: ProcessOutcome.ALREADY,
    RecordAction.LEFT: ProcessOutcome.REJECTED,
}


def _outcome(job: Job, write: RecordWrite, resolved: Mapping[str, str] | None) -> ProcessOutcome:
    if write.state is WriteState.APPLIED:
        already = write.detail.get("already")
        return ProcessOutcome.ALREADY if already else ProcessOutcome.PROCESSED
    if write.state.is_refused:
        return ProcessOutcome.REJECTED
    if write.state is WriteState.UNPROVEN and resolved is not None:
        done = resolved["as"] == "applied"
        return ProcessOutcome.PROCESSED if done else ProcessOutcome.REJECTED
    abandoned = job.state is State.ABANDONED
    return ProcessOutcome.REJECTED if abandoned else ProcessOutcome.UNKNOWN


def process_counts(records: Sequence[ProcessedRecord]) -> dict[str, int]:
    """Return the counts of a processing's records; ``read`` is the sum of the others."""
    outcomes = [record.outcome for record in records]
    counts = {one.value: outcomes.count(one) for one in ProcessOutcome}
    return {"read": len(outcomes), **counts}


def _rejected_lines(record: ProcessedRecord) -> int:
    """Return how many lines of a file the system has rejected; 0 for other records."""
    return int(record.given.get("registrosRejeitados") or 0)


def has_rejected(journal: Journal, job: Job) -> bool:
    """Tell whether a record was rejected, or a line of a file."""
    return _any_rejected(processed_records(journal, job))


def _any_rejected(records: Iterable[ProcessedRecord]) -> bool:
    return any(one.outcome is ProcessOutcome.REJECTED or _rejected_lines(one) for one in records)


def process_json(journal: Journal, job: Job) -> dict[str, Any]:
    """Return a processing as JSON. Source: the product brief, ``process LISTING``."""
    records = processed_records(journal, job)
    return {
        "version": 1,
        "job": job.id,
        "listing": job.spec.resource,
        "state": job.public_state,
        "rows": process_counts(records),
        "records": [one.to_json() for one in records],
        "confirm": job.token,
        "evidence_file": job.last("evidence_file"),
        "resolved": job.last("resolved"),
    }


def process_plan_json(plan: ProcessPlan) -> dict[str, Any]:
    """Return the plan of a processing as JSON, with the fields of ``process_json``."""
    in_sheet = bool(plan.numbers.file)
    records = [_before_sending(one, in_sheet=in_sheet) for one in plan.records]
    return {
        "version": 1,
        "job": None,
        "listing": plan.kind.listing,
        "state": State.PREVIEWED.public,
        "rows": process_counts(records),
        "records": [one.to_json() for one in records],
        "confirm": plan.token,
        "evidence_file": None,
        "resolved": None,
    }


def process_plan_lines(
    listing: str,
    target: "Target",
    records: Sequence[PlannedRecord],
    token: str,
    hidden: int,
) -> Iterator[Text]:
    """Yield the plan of a processing for a person, line by line; the token comes last.

    ``hidden`` counts the records that stand in hidden rows.
    """
    counts = Counter(one.action for one in records)
    yield Text(
        pt="Plano: processar {listing} em {place} · a processar: {n}; já "
        "processados: {already}; não podem: {left}",
        en="Plan: process {listing} in {place} · to process: {n}; already done: "
        "{already}; cannot: {left}",
    ).format(
        listing=listing,
        place=target.label,
        n=counts[RecordAction.PROCESS],
        already=counts[RecordAction.ALREADY],
        left=counts[RecordAction.LEFT],
    )
    yield from _remark_lines((one.number, one.remark) for one in records)
    chosen = [one for one in records if one.action is RecordAction.PROCESS]
    if untold := sum(one.standing is Standing.UNTOLD for one in chosen):
        yield Text(
            pt="  de {n} o sistema não diz se já {n:foi processado|foram processados}",
            en="  for {n} the system does not say whether {n:it was|they were} processed before",
        ).format(n=untold)
    if hidden:
        yield Text(
            pt="  {n} {n:está em linha oculta|estão em linhas ocultas} da planilha (um filtro?), e "
            "{n:conta|contam} também",
            en="  {n} {n:stands in a hidden row|stand in hidden rows} of the sheet (a filter?), "
            "and {n:counts|count} too",
        ).format(n=hidden)
    if chosen:
        yield Text(pt="  {final}", en="  {final}").format(final=find_kind(listing).final)
        yield Text(pt="  confirmação: {token}", en="  confirmation: {token}").format(token=token)


def _remark_lines(records: Iterable[tuple[int, object]]) -> Iterator[Text]:
    """Yield what is remarked on records, each remark with the numbers that it is about."""
    by_remark: dict[str, list[int]] = {}
    for number, remark in records:
        if remark is not None:
            by_remark.setdefault(str(remark), []).append(number)
    for remark, numbers in by_remark.items():
        more = ", …" if len(numbers) > _SHOWN_RECORDS else ""
        shown = ", ".join(map(str, numbers[:_SHOWN_RECORDS]))
        yield Text(pt="  • {shown}{more}: {told}", en="  • {shown}{more}: {told}").format(
            shown=shown, more=more, told=remark
        )


def process_lines(journal: Journal, job: Job) -> Iterator[Text]:
    """Yield the report of a processing for a person."""
    records = processed_records(journal, job)
    counts = process_counts(records)
    waiting = sum(write.state.is_waiting for write in journal.writes.iterate(job.id))
    yield _headline(job, records).format(
        **counts,
        waiting=waiting,
        doubtful=counts[ProcessOutcome.UNKNOWN] - waiting,
        why=untranslated(" ({reason})").format(reason=job.reason) if job.last("reason") else "",
        job=job.id,
        reason=job.reason,
        listing=job.spec.resource,
    )
    for record in records:
        if lines := _rejected_lines(record):
            yield Text(
                pt="  • arquivo {number}: {n} {n:linha rejeitada|linhas rejeitadas} pelo sistema",
                en="  • file {number}: {n} {n:line|lines} rejected by the system",
            ).format(number=record.number, n=lines)
    yield from _remark_lines((one.number, one.message) for one in records)
    if job.state is State.NEEDS_PERSON:
        yield from decision_lines(job)


def _headline(job: Job, records: Sequence[ProcessedRecord]) -> Text:
    """Return what comes first of a report: a job whose plan leaves all records is done, too."""
    if job.state not in {State.DONE, State.PARTIAL, State.REJECTED}:
        return _HEADLINES.get(job.state, _UNFINISHED)
    if all(one.outcome is ProcessOutcome.REJECTED for one in records):
        return _ALL_REJECTED
    return _PARTIAL if _any_rejected(records) else _DONE


_ALL_REJECTED = Text(
    pt="Rejeitado ({listing}): {read:o registro não|nenhum dos {read} registros} foi processado.",
    en="Rejected ({listing}): {read:the record was not|none of the {read} records was} processed.",
)
_PARTIAL = Text(
    pt="Processados ({listing}): {processed} de {read}; já estavam: {already}; rejeitados: "
    "{rejected}.",
    en="Processed ({listing}): {processed} of {read}; were already: {already}; rejected: "
    "{rejected}.",
)
_DONE = Text(
    pt="Pronto ({listing}). Processados: {processed} de {read}; já estavam: {already}.",
    en="Done ({listing}). Processed: {processed} of {read}; were already: {already}.",
)
_HEADLINES = {
    State.ABANDONED: Text(
        pt="Nada foi processado ({reason}).", en="Nothing was processed ({reason})."
    ),
    State.NEEDS_PERSON: Text(
        pt="Em dúvida; só uma pessoa pode decidir. Processados: {processed} de {read}; já "
        "estavam: {already}; rejeitados: {rejected}; sem prova: {unknown} ({reason}).",
        en="In doubt; only a person can decide. Processed: {processed} of {read}; were already: "
        "{already}; rejected: {rejected}; without proof: {unknown} ({reason}).",
    ),
}
_UNFINISHED = Text(
    pt="Processados: {processed} de {read}; já estavam: {already}; rejeitados: {rejected}; não "
    "enviados: {waiting}; em dúvida: {doubtful}{why}. Para continuar: xlbridge resume {job}",
    en="Processed: {processed} of {read}; were already: {already}; rejected: {rejected}; not sent: "
    "{waiting}; in doubt: {doubtful}{why}. To go on: xlbridge resume {job}",
)
