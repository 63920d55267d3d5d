"""State machine of an upload: one step per state, each recorded before it is taken.

A large sheet is sent in parts, each a job of its own, which are joined to one verdict.
Source: the upload protocol (``docs/upload-protocol.md``).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload import reconcile, remote_import
from xlbridge.upload.job import Job, State
from xlbridge.upload.journal import Journal
from xlbridge.upload.processing.sending import process_records, settle_processing
from xlbridge.upload.records.writer import settle_records, write_records
from xlbridge.upload.results.remote_row_results import verdict_of_log
from xlbridge.upload.results.verdict import REJECTED_AS_A_WHOLE, RejectedRow, Verdict
from xlbridge.wire.imports import ImportState

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext, Step

_INTERRUPTED = Text(
    pt="o envio foi interrompido antes da resposta",
    en="the upload was interrupted before the answer",
)

_LOG_UNPROVEN = Text(
    pt="o log terminou, mas os totais não fecham com as linhas enviadas",
    en="the log is finished, and its counts do not account for every row",
)


class JobRunner:
    """Runner of one job, from the state that the journal has to the last that can be reached."""

    def __init__(self, context: "RunContext") -> None:
        self._context = context
        self._steps: Mapping[State, Callable[[RunContext, Job], Step]] = {
            State.PREPARED: _begin,
            State.PREVIEWING: _begin,
            State.SENDING: _doubt_interrupted_request,
            State.STAGING: _restage,
            State.STAGED: remote_import.start_or_poll,
            State.STARTING: _doubt_interrupted_request,
            State.POLLING: remote_import.poll,
            State.IN_DOUBT: _settle_doubt,
        }
        self._steps_of_records: Mapping[State, Callable[[RunContext, Job], Step]] = {
            State.PREPARED: _begin,
            State.SENDING: write_records,
            State.IN_DOUBT: settle_records,
        }
        self._steps_of_processing: Mapping[State, Callable[[RunContext, Job], Step]] = {
            State.PREPARED: _begin,
            State.SENDING: process_records,
            State.IN_DOUBT: settle_processing,
        }

    def preflight(self, job: Job) -> Job:
        """Take the steps of a job that write nothing, and return it.

        Raises ``AuthenticationFailed`` or ``TransportError``.
        """
        while job.state.is_unsent and not remote_import.preflight_is_done(self._context, job):
            job, _ = remote_import.preview(self._context, job)
        if job.state.is_unsent and _is_previewed_only(self._context, job):
            verdict = Verdict.all_unknown(job.spec.rows)
            return self._context.end(job, State.PREVIEWED, verdict)
        return job

    def run(self, job: Job) -> Job:
        """Run the job as far as it goes and return it.

        Raises ``AuthenticationFailed`` or ``TransportError`` when nothing was applied and the job
        can be resumed, ``InDoubt`` when the connection is lost while the outcome is awaited.
        """
        if not job.state.is_final:
            self._context.client.login()
        go_on = True
        steps = self._steps_of(job.spec.mode)
        while go_on and not job.state.is_final:
            job, go_on = steps[job.state](self._context, job)
            if job.state.is_final and (not job.spec.mode.is_by_record or job.last("creates")):
                reconcile.keep_written_records(self._context, job)
        return job

    def _steps_of(self, mode: Mode) -> "Mapping[State, Callable[[RunContext, Job], Step]]":
        if mode is Mode.PROCESS:
            return self._steps_of_processing
        return self._steps_of_records if mode.is_by_record else self._steps


def _begin(context: "RunContext", job: Job) -> "Step":
    if not job.spec.rows:
        return _end_without_rows(context, job), False
    if not remote_import.preflight_is_done(context, job):
        return remote_import.preview(context, job)
    refusal = context.refusal(job)
    if refusal is not None:
        return context.end(job, State.ABANDONED, reason=asdict(refusal)), False
    if job.spec.mode is Mode.PROCESS:
        return process_records(context, context.journal.job(job.id))
    if job.spec.mode.is_by_record:
        return write_records(context, context.journal.job(job.id))
    return remote_import.send_rows(context, context.journal.job(job.id))


def _is_previewed_only(context: "RunContext", job: Job) -> bool:
    """Tell whether a job that changes records is part of a preview: there is none of changes."""
    if job.spec.mode is not Mode.RECORDS or job.parent is None:
        return False
    return context.journal.job(job.parent).spec.mode is Mode.PREVIEW


def _end_without_rows(context: "RunContext", job: Job) -> Job:
    """End a job of whose sheet no row is to be sent."""
    state = State.PREVIEWED if job.spec.mode is Mode.PREVIEW else State.DONE
    return context.journal.record(job, state, verdict=asdict(Verdict.all_accepted(())))


def _restage(context: "RunContext", job: Job) -> "Step":
    if not context.resource(job).paths.needs_processar:
        return _doubt_interrupted_request(context, job)
    return remote_import.stage_again(context, job)


def _doubt_interrupted_request(context: "RunContext", job: Job) -> "Step":
    return context.doubt(job, _INTERRUPTED)


def _settle_doubt(context: "RunContext", job: Job) -> "Step":
    """Settle the doubt about a job: by the log of a queued file, else by reading back.

    Raises ``InDoubt`` when the system cannot be asked.
    """
    if not context.options.wait:
        return job, False
    if job.last("log_id") is None:
        return reconcile.reconcile_by_snapshots(context, job)
    log = remote_import.read_log(context, job)
    if isinstance(log, Text):
        return reconcile.reconcile_by_snapshots(context, job)
    state = context.environment.state_of(log)
    if state is ImportState.FINISHED:
        if verdict_of_log(job.spec, log) is None:
            return reconcile.needs_person(context, job, _LOG_UNPROVEN)
        return remote_import.finish(context, job, log)
    if state is not ImportState.PENDING:
        return context.journal.record(job, State.POLLING, reconciled="running"), True
    if job.events[-1].detail.get("start_refused"):
        # It was started, or will not be: only the log can tell.
        return job, False
    # A start that was lost may still be on its way.
    if not reconcile.has_settled(context, job):
        return job, False
    return remote_import.start(context, job)


HoldJob = Callable[[str], AbstractContextManager[None]]
"""Keeps other processes from a job, given by its id, for the length of a block."""

_OTHER_PART_REJECTED = Text(
    pt="outra parte da planilha foi recusada antes do envio",
    en="another part of the sheet was rejected before sending",
)

_RESOLVED_AS_MISSING = Text(
    pt="Não está no sistema, conforme conferido por uma pessoa.",
    en="Not in the system, as a person has seen.",
)


def run_split(context: "RunContext", parent: Job, hold: HoldJob) -> Job:
    """Run all parts of a sheet as far as they go, and join their verdicts.

    All parts are previewed before anything is written; where one is rejected then, none is sent.
    Raises what ``JobRunner.run`` raises; the parts that were not reached are sent by a later run.
    """
    if not parent.state.is_final:
        context.client.login()
    if parent.state.is_unsent:
        parent = _preflight_parts(context, parent, hold)
    if parent.state is State.PREPARED:
        parent = _ask_consent(context, parent)
    try:
        if parent.state is State.SENDING_PARTS:
            for part in context.journal.parts_of(parent):
                if part.state.is_unsent:
                    _rest(context, parent)
                with hold(part.id):
                    JobRunner(_context_of_part(context, part)).run(context.journal.job(part.id))
    finally:
        parent = update_parent(context.journal, parent)
    return parent


def _rest(context: "RunContext", parent: Job) -> None:
    """Let the time pass that is to lie between two parts, whatever run sent the last one."""
    parts = context.journal.parts_of(parent)
    sent = [part.events[-1].at for part in parts if not part.state.is_unsent]
    seconds = context.options.rest_seconds
    if not sent or not seconds:
        return
    left = seconds - (context.journal.now() - max(sent)).total_seconds()
    if left > 0:
        context.options.progress(_RESTING.format(n=math.ceil(left)))
        context.options.sleep(left)


_RESTING = Text(
    pt="pausa de {n} {n:segundo|segundos} entre as partes",
    en="a rest of {n} {n:second|seconds} between the parts",
)


def update_parent(journal: Journal, parent: Job) -> Job:
    """Record the joined state and verdict of a parent's parts, and return the parent."""
    parent = journal.job(parent.id)
    parts = journal.parts_of(parent)
    state = joined_state(parts)
    settled = parent.state.is_final and parent.state is not State.NEEDS_PERSON
    if settled or (parent.state.is_unsent and not state.is_final):
        return parent
    reason = next((part.last("reason") for part in parts if part.last("reason")), None)
    note: dict[str, Any] = {} if reason is None else {"reason": reason}
    verdict = asdict(joined_verdict(parent, parts))
    note["updated"] = sum(part.updated for part in parts)
    if state is parent.state and parent.last("verdict") == verdict:
        return parent
    return journal.record(parent, state, verdict=verdict, **_preflight_notes(parts), **note)


def joined_verdict(parent: Job, parts: Sequence[Job]) -> Verdict:
    """Return the verdict on the rows of a whole sheet."""
    verdicts = [part.verdict for part in parts]
    nothing_sent = joined_state(parts) is State.ABANDONED
    with_part = (
        [] if nothing_sent else [row for part in parts for row in _rows_rejected_with_part(part)]
    )
    rejected = [row for verdict in verdicts for row in verdict.rejected_rows]
    return Verdict(
        read=len(parent.spec.rows),
        accepted=sum(verdict.accepted for verdict in verdicts),
        unknown=sum(verdict.unknown for verdict in verdicts),
        rejected_rows=tuple(sorted([*rejected, *with_part], key=lambda row: row.row or 0)),
    )


def joined_state(parts: Sequence[Job]) -> State:
    """Return the state of a sheet whose parts are in those states."""
    states = {part.state for part in parts}
    if any(not state.is_final for state in states):
        return State.SENDING_PARTS
    if State.NEEDS_PERSON in states:
        return State.NEEDS_PERSON
    if len(states) == 1:
        return states.pop()
    if states <= {State.REJECTED, State.ABANDONED, State.PREVIEWED}:
        return State.REJECTED if State.REJECTED in states else State.ABANDONED
    return State.PARTIAL


def _preflight_parts(context: "RunContext", parent: Job, hold: HoldJob) -> Job:
    for part in context.journal.parts_of(parent):
        with hold(part.id):
            JobRunner(_context_of_part(context, part)).preflight(context.journal.job(part.id))
    parts = context.journal.parts_of(parent)
    if any(part.state.is_final for part in parts):
        for part in parts:
            if not part.state.is_final:
                context.end(part, State.ABANDONED, reason=asdict(_OTHER_PART_REJECTED))
        return update_parent(context.journal, parent)
    return context.journal.record(parent, State.PREPARED, **_preflight_notes(parts))


def _preflight_notes(parts: Sequence[Job]) -> dict[str, Any]:
    """Return the sum of what the previews of all parts have recorded so far."""
    return {"previewed": _sum_known(part.last("previewed") for part in parts)}


def _ask_consent(context: "RunContext", parent: Job) -> Job:
    refusal = context.refusal(parent)
    if refusal is None:
        return context.journal.record(context.journal.job(parent.id), State.SENDING_PARTS)
    for part in context.journal.parts_of(parent):
        context.end(part, State.ABANDONED, reason=asdict(refusal))
    return update_parent(context.journal, parent)


def _context_of_part(context: "RunContext", part: Job) -> "RunContext":
    """Return the context of one part: consent was given for all, progress names the part."""

    def progress(text: Text) -> None:
        context.options.progress(
            Text(pt="Parte {n} · {text}", en="Part {n} · {text}").format(n=part.part, text=text)
        )

    options = replace(context.options, consent=lambda _request: True, progress=progress)
    return replace(context, options=options)


def _rows_rejected_with_part(part: Job) -> list[RejectedRow]:
    """Return the rows of a part that was not applied, but for those with an error of their own."""
    if part.state not in {State.REJECTED, State.ABANDONED}:
        return []
    reason = REJECTED_AS_A_WHOLE if part.state is State.REJECTED else part.reason
    if part.last("resolved") is not None:
        reason = _RESOLVED_AS_MISSING
    named = {row.row for row in part.verdict.rejected_rows}
    return [
        RejectedRow(row, None, None, str(reason), itself=False)
        for row in part.spec.rows
        if row not in named
    ]


def _sum_known(counts: Any) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
