"""Parts of a large sheet: each runs as a job of its own; their verdicts are merged."""

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload.context import job_lock
from xlbridge.upload.job import Job, State
from xlbridge.upload.journal import Journal
from xlbridge.upload.results.verdict import REJECTED_AS_A_WHOLE, RejectedRow, Verdict

if TYPE_CHECKING:
    from xlbridge.upload.runner import JobRunner, RunContext

_OTHER_PART_REJECTED = Text(
    pt="outra parte da planilha foi rejeitada antes do envio",
    en="another part of the sheet was rejected before sending",
)

_RESOLVED_AS_MISSING = Text(
    pt="Não está no sistema, conforme conferido por uma pessoa.",
    en="Not in the system, as a person has seen.",
)


def run_parts(runner: "JobRunner", parent: Job) -> Job:
    """Run all parts of a sheet as far as possible, and merge their verdicts.

    All parts are previewed before anything is written; if one is rejected then, none is sent.
    Raises what ``JobRunner.run`` raises; a later run sends the remaining parts.
    """
    context = runner.context
    if parent.state.is_unsent:
        parent = _preflight(runner, parent)
    if parent.state is State.PREPARED:
        parent = _ask_consent(context, parent)
    try:
        if parent.state is State.SENDING_PARTS:
            for part in context.journal.parts_of(parent):
                if part.state.is_unsent:
                    _pause_between_parts(context, parent)
                with job_lock(context.home, part.id):
                    _part_runner(runner, part).run_steps(context.journal.job(part.id))
    finally:
        parent = update_parent(context.journal, parent)
    return parent


def run_part(runner: "JobRunner", job: Job) -> Job:
    """Run one part of a sheet by itself, and update its parent."""
    journal = runner.context.journal
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
        return runner.run_steps(job)
    finally:
        update_parent(journal, parent)


def _pause_between_parts(context: "RunContext", parent: Job) -> None:
    """Wait out the pause after the last part, even if an earlier run sent it."""
    parts = context.journal.parts_of(parent)
    sent = [part.events[-1].at for part in parts if not part.state.is_unsent]
    seconds = context.options.pause_seconds
    if not sent or not seconds:
        return
    left = seconds - (context.journal.now() - max(sent)).total_seconds()
    if left > 0:
        context.options.progress(_PAUSE.format(n=math.ceil(left)))
        context.options.sleep(left)


_PAUSE = Text(
    pt="pausa de {n} {n:segundo|segundos} entre as partes",
    en="pause of {n} {n:second|seconds} between parts",
)


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
    note["updated"] = sum(part.updated for part in parts)
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


def _preflight(runner: "JobRunner", parent: Job) -> Job:
    context = runner.context
    for part in context.journal.parts_of(parent):
        with job_lock(context.home, part.id):
            _part_runner(runner, part).preflight(context.journal.job(part.id))
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


def _part_runner(runner: "JobRunner", part: Job) -> "JobRunner":
    """Return a runner of one part, with consent already granted and progress naming the part."""

    def progress(text: Text) -> None:
        options.progress(
            Text(pt="Parte {n} · {text}", en="Part {n} · {text}").format(n=part.part, text=text)
        )

    options = runner.context.options
    part_options = replace(options, consent=lambda _request: True, progress=progress)
    return replace(runner, context=replace(runner.context, options=part_options))


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
