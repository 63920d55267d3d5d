"""Undo of an upload: a job of its own, planned, confirmed, journalled, and its report."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from xlbridge.client import Client
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, JobSpec, State
from xlbridge.upload.payload import frame_of_rows, store_payload
from xlbridge.upload.report import state_name
from xlbridge.upload.undo_plan import (
    LeftReason,
    LeftRow,
    UndoneRow,
    plan_undo,
    undos_with_retries,
)

_SHOWN_ROWS = 10


def create_undo(context: UploadContext, client: Client, job: Job) -> Job:
    """Plan the undo of a job and record it, before anything is sent.

    Raises ``UsageError`` when the job is not over, is a part or itself an undo, belongs to another
    system, or has an undo that is not over; what ``plan_undo`` raises.
    """
    job.require_system(client.identity, client.target.profile)
    _require_reversible(context, job)
    undone, left = plan_undo(context, client, job)
    spec = JobSpec(
        profile=client.target.profile,
        resource=job.what.resource,
        mode=Mode.UNDO,
        file=job.what.file,
        sheet=job.what.sheet,
        digest=job.what.digest,
        payload=_store_rows(context, job, undone),
        rows=tuple(one.row for one in undone),
        columns=job.what.columns,
        system=client.identity,
    )
    note = {
        "undo_of": job.id,
        "plan_digest": _digest(undone, left),
        "writes": len(undone),
        "left": [[one.row, one.reason] for one in left],
    }
    return context.journal.create_of_tasks(spec, [one.task for one in undone], note)


def _require_reversible(context: UploadContext, job: Job) -> None:
    if job.what.mode is Mode.PROCESS:
        raise UsageError(
            Text(
                pt="{job} é um processamento: é definitivo, e a interface não o desfaz.",
                en="{job} is a processing: it is final, and the interface cannot reverse it.",
            ).format(job=job.id)
        )
    if job.undo_of is not None or job.parent is not None:
        whole = job.undo_of or job.parent
        raise UsageError(
            Text(
                pt="{job} não é um envio inteiro; desfaça o envio {whole}.",
                en="{job} is not an upload of its own; undo the upload {whole}.",
            ).format(job=job.id, whole=whole)
        )
    retries = context.journal.retries_of(job.id)
    undos = undos_with_retries(context.journal, job)
    for one in [job, *retries, *undos]:
        if one.state.is_unsent and one is not job:
            if one in undos:
                context.journal.record(one, State.ABANDONED)
            continue
        if not one.state.is_final or one.state is State.NEEDS_PERSON:
            raise UsageError(
                Text(
                    pt="O envio {job} não terminou (estado {state}).",
                    en="The upload {job} is not over (state {state}).",
                ).format(job=one.id, state=state_name(one.state)),
                Text(
                    pt="Termine-o primeiro: xlbridge resume {job}",
                    en="End it first: xlbridge resume {job}",
                ).format(job=one.id),
            )


def _store_rows(context: UploadContext, job: Job, undone: Sequence[UndoneRow]) -> str:
    """Store the rows that are reversed, as they were sent; their keys find the records again."""
    resource = context.catalogue.named(job.what.resource)
    frame = frame_of_rows(resource, [one.values for one in undone])
    return store_payload(context.settings.payloads, resource, frame)


def _digest(undone: Sequence[UndoneRow], left: Sequence[LeftRow]) -> str:
    decided = [[one.row, asdict(one.task)] for one in undone], [asdict(one) for one in left]
    return hashlib.sha256(json.dumps(decided).encode()).hexdigest()


def left_rows(job: Job) -> list[tuple[int, LeftReason, str]]:
    """Return the rows that an undo has left: number, reason and message."""
    planned = [(row, LeftReason(code)) for row, code in job.last("left") or ()]
    left = [(row, reason, str(reason.text)) for row, reason in planned]
    refused = [(one.row or 0, LeftReason.CHANGED, one.message) for one in job.verdict.rejected_rows]
    return sorted([*left, *refused], key=lambda one: one[0])


def undo_counts(job: Job) -> dict[str, int]:
    """Return the counts of an undo's rows; ``read`` is the sum of the others."""
    verdict = job.verdict
    left = len(job.last("left") or ()) + verdict.rejected
    counts = {"undone": verdict.accepted, "left": left, "unknown": verdict.unknown}
    return {"read": sum(counts.values()), **counts}


def undo_json(job: Job) -> dict[str, Any]:
    """Return an undo as JSON. Source: the product brief, ``undo JOB``."""
    return {
        "version": 1,
        "job": job.id,
        "undo_of": job.undo_of,
        "state": job.public_state,
        "resource": job.what.resource,
        "rows": undo_counts(job),
        "left": [
            {"row": row, "reason": reason, "message": message}
            for row, reason, message in left_rows(job)
        ],
        "confirm": job.token,
        "evidence_file": job.last("evidence_file"),
    }


def undo_lines(job: Job) -> Iterator[Text]:
    """Yield the report of an undo for a person."""
    yield _HEADLINES.get(job.state, _UNFINISHED).format(
        **undo_counts(job), undo_of=job.undo_of, job=job.id, reason=job.reason
    )
    yield from left_lines(job)


def left_lines(job: Job) -> Iterator[Text]:
    """Yield the rows that an undo leaves, by what is to be done by hand."""
    by_message: dict[str, list[int]] = {}
    for row, _reason, message in left_rows(job):
        by_message.setdefault(message, []).append(row)
    for message, rows in by_message.items():
        more = ", …" if len(rows) > _SHOWN_ROWS else ""
        yield Text(
            pt="  não {n:desfeita|desfeitas}, {n:linha|linhas} {rows}{more}: {message}",
            en="  left, {n:row|rows} {rows}{more}: {message}",
        ).format(
            n=len(rows), rows=", ".join(map(str, rows[:_SHOWN_ROWS])), more=more, message=message
        )


_DONE = Text(
    pt="Desfeito o envio {undo_of}. Linhas desfeitas: {undone} de {read}; não desfeitas: {left}.",
    en="Undone: the upload {undo_of}. Rows reversed: {undone} of {read}; left: {left}.",
)
_HEADLINES = {
    State.DONE: _DONE,
    State.PARTIAL: _DONE,
    State.REJECTED: _DONE,
    State.ABANDONED: Text(pt="Nada foi desfeito ({reason}).", en="Nothing was undone ({reason})."),
}
_UNFINISHED = Text(
    pt="Linhas desfeitas: {undone} de {read}; não desfeitas: {left}; em dúvida: {unknown} "
    "({reason}). Para continuar: xlbridge resume {job}",
    en="Rows reversed: {undone} of {read}; left: {left}; in doubt: {unknown} ({reason}). To go on: "
    "xlbridge resume {job}",
)
