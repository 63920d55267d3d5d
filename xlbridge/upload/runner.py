"""Run of a job: previews, consent, then one step per state, each recorded before it is executed.

A large sheet is sent in parts, one after the other. See the upload protocol
(``docs/upload-protocol.md``).
"""

import logging
import math
from dataclasses import replace
from typing import TYPE_CHECKING

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload import remote_import
from xlbridge.upload.job import Job
from xlbridge.upload.planning.plan_builder import PLAN_CHANGED
from xlbridge.upload.requests import State
from xlbridge.upload.written_records import end_compared

if TYPE_CHECKING:
    from xlbridge.upload.run_context import RunContext

_LOGGER = logging.getLogger(__name__)

_OTHER_PART_REJECTED = Text(
    pt="outra parte da planilha foi rejeitada antes do envio",
    en="another part of the sheet was rejected before sending",
)
_PAUSE = Text(
    pt="pausa de {n} {n:segundo|segundos} entre as partes",
    en="pause of {n} {n:second|seconds} between parts",
)

_SEE_NEW_PLAN = Text(
    pt="Veja o novo plano e confirme de novo: xlbridge resume {job}",
    en="Check the new plan and confirm again: xlbridge resume {job}",
    page=Text(
        pt="Veja o novo plano e confirme de novo.",
        en="See the new plan and confirm again.",
    ),
)


def run_job(context: "RunContext", job: Job) -> Job:
    """Run a job, or all its parts, as far as possible and return it.

    Raises ``AuthenticationFailed`` or ``TransportError`` if nothing was applied and the job can be
    resumed, ``InDoubt`` if the connection is lost while the outcome is awaited.
    """
    journal = context.journal
    if job.parent is not None:
        _require_confirmed(journal.job(job.parent), job)
    elif job.state.is_unsent:
        _preview_and_ask(context, job)
    for request in journal.requests_of(job):
        if job.parts and request.state.is_unsent:
            _pause_between_parts(context, job)
        _run_steps(_context_of_part(context, request), request)
    return journal.job(job.id)


def _preview_and_ask(context: "RunContext", job: Job) -> None:
    """Preview all parts of a job before anything is written, then ask for consent to send it.

    If one is rejected, or consent is refused, none is sent. Raises ``UsageError`` if the plan has
    changed.
    """
    journal, is_preview = context.journal, not job.spec.mode.channel.writes
    for part in journal.requests_of(job):
        own = _context_of_part(context, part)
        if not part.spec.rows:
            own.end(part, State.PREVIEWED if is_preview else State.DONE)
        elif is_preview and part.requests[0].mode.channel.by_record and part.state.is_unsent:
            # Changes of single records have no preview.
            own.end(part, State.PREVIEWED)
        else:
            now = part
            while now.state.is_unsent and not remote_import.preview_is_done(own, now):
                now, _ = remote_import.preview(own, now)
    requests, job = journal.requests_of(job), journal.job(job.id)
    if any(request.state.is_final for request in requests):
        refusal: Text | None = _OTHER_PART_REJECTED
    else:
        refusal = context.dissent(job)
        # The plan may have become old meanwhile. Tasks read each record just before its request.
        if refusal is None and not job.is_task and context.plan_has_changed(job):
            raise UsageError(PLAN_CHANGED, _SEE_NEW_PLAN.format(job=job.arguments()))
    if refusal is not None:
        for request in requests:
            # After lost entries a part may be in doubt before anybody has confirmed it.
            if request.state.is_unsent:
                context.end(request, State.ABANDONED, reason=refusal.languages)
    elif job.parts:
        journal.record(journal.job(job.id), State.SENDING_PARTS)


def _run_steps(context: "RunContext", job: Job) -> None:
    """Run the steps of a job without parts, or of a part, as far as possible.

    Each state has one step, which the job's channel declares: a file, or single records.
    """
    steps = remote_import.STEPS
    if job.spec.mode.channel.by_record:
        # Imported here, as imports of whole files do not need these modules.
        from xlbridge.upload.single_records import executor

        steps = executor.STEPS
    # Changes of single records read each record just before its request.
    creates = not job.spec.mode.channel.by_record or context.journal.changes.creates(job.id)
    proceed = True
    while proceed and not job.state.is_final:
        if job.state is State.COMPARING:
            # An earlier run was stopped before the records were compared.
            end_compared(context, job, at_once=False)
            return
        is_prepared = job.state is State.PREPARED
        if is_prepared and not remote_import.preview_is_done(context, job):
            job, proceed = remote_import.preview(context, job)
        elif is_prepared and job.parent is not None and creates and context.plan_has_changed(job):
            job = context.end(job, State.ABANDONED, reason=PLAN_CHANGED.languages)
        else:
            job, proceed = steps[job.state](context, job)
        if job.state is State.COMPARING:
            job = end_compared(context, job, at_once=True)


def _require_confirmed(parent: Job, job: Job) -> None:
    """Raise ``UsageError`` if the sheet of a part is not confirmed yet."""
    if parent.state.is_unsent:
        raise UsageError(
            Text(
                pt="O envio {job} é parte de {parent}, ainda não confirmado.",
                en="The upload {job} is a part of {parent}, which is not confirmed yet.",
            ).format(job=job.id, parent=parent.id),
            Text(
                pt="Continue o envio completo: xlbridge resume {p}",
                en="Continue the whole upload: xlbridge resume {p}",
                page=Text(
                    pt="Continue o envio completo, {p}, em Envios.",
                    en="Continue the whole upload, {p}, under Uploads.",
                ),
            ).format(p=parent.arguments()),
        )


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
        _LOGGER.info("next part after %.1f s", left)
        context.options.sleep(left)


def _context_of_part(context: "RunContext", part: Job) -> "RunContext":
    """Return the context of a job, with progress that names it if it is a part."""
    if part.parent is None:
        return context
    number = part.requests[0].number

    def progress(text: Text) -> None:
        context.options.progress(
            Text(pt="Parte {n} · {text}", en="Part {n} · {text}").format(n=number, text=text)
        )

    return replace(context, options=replace(context.options, progress=progress))
