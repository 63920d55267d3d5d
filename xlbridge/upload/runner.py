"""Run of a job: one step per state, each recorded before it is executed.

Each part of a large sheet runs as a job of its own; their verdicts are merged. See the upload
protocol (``docs/upload-protocol.md``).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload import reconcile, remote_import
from xlbridge.upload.context import job_lock
from xlbridge.upload.job import Job, State
from xlbridge.upload.journal import Journal
from xlbridge.upload.results.verdict import REJECTED_AS_A_WHOLE, LostField, RejectedRow, Verdict
from xlbridge.upload.written_records import check_written_records
from xlbridge.wire.imports import ImportState

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext, Step

_OTHER_PART_REJECTED = Text(
    pt="outra parte da planilha foi rejeitada antes do envio",
    en="another part of the sheet was rejected before sending",
)
_RESOLVED_AS_MISSING = Text(
    pt="Não está no sistema, conforme conferido por uma pessoa.",
    en="Not in the system, as a person has seen.",
)
_PAUSE = Text(
    pt="pausa de {n} {n:segundo|segundos} entre as partes",
    en="pause of {n} {n:second|seconds} between parts",
)


def run_job(context: "RunContext", job: Job) -> Job:
    """Run a job, or all its parts, as far as possible and return it.

    Raises ``AuthenticationFailed`` or ``TransportError`` if nothing was applied and the job can be
    resumed, ``InDoubt`` if the connection is lost while the outcome is awaited.
    """
    if job.parts:
        return _run_parts(context, job)
    return _run_steps(context, job) if job.parent is None else _run_part(context, job)


def _run_steps(context: "RunContext", job: Job) -> Job:
    """Run the steps of a job without parts as far as possible, and return it."""
    proceed = True
    steps = _steps_of(job.spec.mode)
    while proceed and not job.state.is_final:
        job, proceed = steps[job.state](context, job)
        if job.state.is_final and not job.is_task:
            job = check_written_records(context, job)
    return job


def _run_preflight(context: "RunContext", job: Job) -> Job:
    """Run the steps of a job that write nothing, and return it."""
    while job.state.is_unsent and not remote_import.preflight_is_done(context, job):
        job, _ = remote_import.preview(context, job)
    if job.state.is_unsent and _is_previewed_only(context, job):
        return context.end(job, State.PREVIEWED, Verdict.all_unknown(job.spec.rows))
    return job


def _steps_of(mode: Mode) -> "Mapping[State, Callable[[RunContext, Job], Step]]":
    """Return the step for each state of jobs in the given mode."""
    if mode.is_by_record:
        # Imported here, as imports of whole files do not need these modules.
        from xlbridge.upload.single_records.executor import settle_records, write_records

        return {
            State.PREPARED: _begin,
            State.SENDING: write_records,
            State.IN_DOUBT: settle_records,
        }
    return {
        State.PREPARED: _begin,
        State.PREVIEWING: _begin,
        State.SENDING: _doubt_interrupted_request,
        State.STAGING: _resume_staging,
        State.STAGED: remote_import.start_or_poll,
        State.STARTING: _doubt_interrupted_request,
        State.POLLING: remote_import.poll,
        State.IN_DOUBT: _settle_doubt,
    }


def _begin(context: "RunContext", job: Job) -> "Step":
    if not job.spec.rows:
        state = State.PREVIEWED if job.spec.mode is Mode.PREVIEW else State.DONE
        return context.journal.record(job, state, verdict=Verdict.all_accepted(()).to_json()), False
    if not remote_import.preflight_is_done(context, job):
        return remote_import.preview(context, job)
    refusal = context.refusal(job)
    if refusal is not None:
        return context.end(job, State.ABANDONED, reason=asdict(refusal)), False
    is_by_record = job.spec.mode.is_by_record
    send = _steps_of(job.spec.mode)[State.SENDING] if is_by_record else remote_import.send_rows
    return send(context, context.journal.job(job.id))


def _is_previewed_only(context: "RunContext", job: Job) -> bool:
    """Return whether a job that changes records is part of a preview, which changes do not have."""
    if job.spec.mode is not Mode.RECORDS or job.parent is None:
        return False
    return context.journal.job(job.parent).spec.mode is Mode.PREVIEW


def _resume_staging(context: "RunContext", job: Job) -> "Step":
    if context.needs_start(job):
        return remote_import.stage_again(context, job)
    return _doubt_interrupted_request(context, job)


def _doubt_interrupted_request(context: "RunContext", job: Job) -> "Step":
    return context.doubt(job, reconcile.INTERRUPTED)


def _settle_doubt(context: "RunContext", job: Job) -> "Step":
    """Settle the doubt about a job by the log of a queued file, else by reading back.

    Raises ``InDoubt`` if the system cannot be reached.
    """
    if not context.options.wait:
        return job, False
    if job.last("log_id") is None or job.events[-1].detail.get("ended"):
        return reconcile.reconcile_by_snapshots(context, job)
    log = remote_import.read_log(context, job)
    if isinstance(log, Text):
        return reconcile.reconcile_by_snapshots(context, job)
    state = context.quirks.state_of(log)
    if state is ImportState.FINISHED:
        return remote_import.finish(context, job, log)
    if state is ImportState.FAILED:
        return remote_import.fail(context, job, log)
    if state is not ImportState.PENDING:
        return context.journal.record(job, State.POLLING, reconciled="running"), True
    if job.events[-1].detail.get("start_refused"):
        # The start was refused; only the log shows whether the file runs anyway.
        return job, False
    # A lost start request may still arrive.
    job, is_settled = reconcile.await_settled(context, job)
    return remote_import.start(context, job) if is_settled else (job, False)


def _run_parts(context: "RunContext", parent: Job) -> Job:
    """Run all parts of a sheet as far as possible, and merge their verdicts.

    All parts are previewed before anything is written; if one is rejected then, none is sent.
    """
    if parent.state.is_unsent:
        parent = _preflight(context, parent)
    if parent.state is State.PREPARED:
        parent = _ask_consent(context, parent)
    try:
        if parent.state is State.SENDING_PARTS:
            for part in context.journal.parts_of(parent):
                if part.state.is_unsent:
                    _pause_between_parts(context, parent)
                with job_lock(context.home, part.id):
                    _run_steps(_context_of_part(context, part), context.journal.job(part.id))
    finally:
        parent = update_parent(context.journal, parent)
    return parent


def _run_part(context: "RunContext", job: Job) -> Job:
    """Run one part of a sheet by itself, and update its parent."""
    journal = context.journal
    parent = journal.job(job.parent or "")
    if parent.state.is_unsent:
        raise UsageError(
            Text(
                pt="O envio {job} é parte de {parent}, ainda não confirmado.",
                en="The upload {job} is a part of {parent}, which is not confirmed yet.",
            ).format(job=job.id, parent=parent.id),
            Text(
                pt="Continue o envio completo: xlbridge resume {p}",
                en="Continue the whole upload: xlbridge resume {p}",
            ).format(p=parent.arguments()),
        )
    try:
        return _run_steps(context, job)
    finally:
        update_parent(journal, parent)


def _pause_between_parts(context: "RunContext", parent: Job) -> None:
    """Wait out the pause after the last part, even if an earlier run sent it."""
    parts = context.journal.parts_of(parent)
    sent = [part.events[-1].instant for part in parts if not part.state.is_unsent]
    seconds = context.options.pause_seconds
    if not sent or not seconds:
        return
    now = context.journal.now()
    left = seconds - min(now.since(instant) for instant in sent).total_seconds()
    if left > 0:
        context.options.progress(_PAUSE.format(n=math.ceil(left)))
        context.options.sleep(left)


def update_parent(journal: Journal, parent: Job) -> Job:
    """Record the merged state and verdict of a parent's parts, and return the parent."""
    parent = journal.job(parent.id)
    parts = journal.parts_of(parent)
    state = _merge_states(parts)
    settled = parent.state.is_final and parent.state is not State.NEEDS_PERSON
    if settled or (parent.state.is_unsent and not state.is_final):
        return parent
    note = _preflight_note(parts)
    reason = next((part.last("reason") for part in parts if part.last("reason")), None)
    if reason is not None:
        note["reason"] = reason
    note["verdict"] = _merge_verdicts(parent, parts).to_json()
    if lost := LostField.merge(field for part in parts for field in part.lost_fields):
        note["lost_fields"] = [field.to_json() for field in lost]
    if unseen := {name for part in parts for name in part.unseen_fields}:
        note["unseen_fields"] = sorted(unseen)
    return journal.record(parent, state, **note)


def _merge_verdicts(parent: Job, parts: Sequence[Job]) -> Verdict:
    """Return the verdict on the rows of a whole sheet."""
    verdicts = [part.verdict for part in parts]
    nothing_sent = _merge_states(parts) is State.ABANDONED
    rejected = [row for verdict in verdicts for row in verdict.rejected_rows]
    if not nothing_sent:
        rejected += [row for part in parts for row in _rows_rejected_with_part(part)]
    return Verdict(
        read=len(parent.spec.rows),
        accepted=sum(verdict.accepted for verdict in verdicts),
        unknown=sum(verdict.unknown for verdict in verdicts),
        rejected_rows=tuple(sorted(rejected, key=lambda row: row.row or 0)),
    )


def _merge_states(parts: Sequence[Job]) -> State:
    """Return the state of a sheet with the given parts."""
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


def _preflight(context: "RunContext", parent: Job) -> Job:
    for part in context.journal.parts_of(parent):
        with job_lock(context.home, part.id):
            _run_preflight(_context_of_part(context, part), context.journal.job(part.id))
    parts = context.journal.parts_of(parent)
    if any(part.state.is_final for part in parts):
        for part in parts:
            if not part.state.is_final:
                context.end(part, State.ABANDONED, reason=asdict(_OTHER_PART_REJECTED))
        return update_parent(context.journal, parent)
    return context.journal.record(parent, State.PREPARED, **_preflight_note(parts))


def _preflight_note(parts: Sequence[Job]) -> dict[str, Any]:
    """Return the number of rows previewed so far in all parts."""
    known = [count for part in parts if (count := part.last("previewed")) is not None]
    return {"previewed": sum(known) if known else None}


def _ask_consent(context: "RunContext", parent: Job) -> Job:
    refusal = context.refusal(parent)
    if refusal is None:
        return context.journal.record(context.journal.job(parent.id), State.SENDING_PARTS)
    for part in context.journal.parts_of(parent):
        context.end(part, State.ABANDONED, reason=asdict(refusal))
    return update_parent(context.journal, parent)


def _context_of_part(context: "RunContext", part: Job) -> "RunContext":
    """Return the context of one part, with consent already granted and progress naming the part."""

    def progress(text: Text) -> None:
        options.progress(
            Text(pt="Parte {n} · {text}", en="Part {n} · {text}").format(n=part.part, text=text)
        )

    options = context.options
    part_options = replace(options, consent=lambda _request: True, progress=progress)
    return replace(context, options=part_options)


def _rows_rejected_with_part(part: Job) -> list[RejectedRow]:
    """Return the rows of a part that was not applied, except those with an error of their own."""
    if part.state not in {State.REJECTED, State.ABANDONED}:
        return []
    reason = REJECTED_AS_A_WHOLE if part.state is State.REJECTED else part.reason
    if part.last("resolved") is not None:
        reason = _RESOLVED_AS_MISSING
    named = {row.row for row in part.verdict.rejected_rows}
    return [
        RejectedRow(row, None, None, reason, itself=False)
        for row in part.spec.rows
        if row not in named
    ]
