"""Consent to an upload: the plan as text, and the token that confirms just these rows."""

from collections.abc import Iterator

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import ExistingPolicy, Resource
from xlbridge.upload.job import Job
from xlbridge.upload.snapshot import RowAction

_DIGEST_LENGTH = 8

_EXISTING_TEXTS: dict[ExistingPolicy, Text] = {
    ExistingPolicy.REFUSED: Text(
        pt="O sistema recusa as que já existem.", en="The system refuses those that are there."
    ),
    ExistingPolicy.REPLACED: Text(
        pt="As que já existem são substituídas.", en="Those that are there are replaced."
    ),
    ExistingPolicy.ADDED: Text(
        pt="As que já existem são incluídas mais uma vez.",
        en="Those that are there are added once more.",
    ),
}


def confirmation_token(job: Job) -> str:
    """Return what a person types to agree to just these rows: ``ROWS:DIGEST8``."""
    return f"{len(job.what.rows)}:{job.what.digest[:_DIGEST_LENGTH]}"


def require_confirmation(job: Job, given: str) -> None:
    """Raise ``UsageError`` unless ``given`` is the job's: an old consent covers no new rows."""
    if given.strip().casefold() == confirmation_token(job):
        return
    raise UsageError(
        Text(
            pt="A confirmação {given!r} não é a deste envio, que é de {rows} {rows:linha|linhas}.",
            en="The confirmation {given!r} is not that of this upload, which is of {rows} "
            "{rows:row|rows}.",
        ).format(given=given, rows=len(job.what.rows)),
        Text(
            pt="Nada foi enviado. Confira o plano; a confirmação deste envio é {token}.",
            en="Nothing was sent. Check the plan; the confirmation of this upload is {token}.",
        ).format(token=confirmation_token(job)),
    )


def plan_lines(job: Job, resource: Resource, address: str, seen: int | None) -> Iterator[Text]:
    """Yield what is about to happen, a line each."""
    what = job.what
    yield Text(
        pt="Plano: {resource} para {profile} ({address}) · linhas: {rows} · modo {mode}{parts}",
        en="Plan: {resource} to {profile} ({address}) · rows: {rows} · mode {mode}{parts}",
    ).format(
        rows=len(what.rows),
        resource=what.resource,
        profile=what.profile,
        address=address,
        mode=what.mode,
        parts=_parts_text(job),
    )
    if seen is not None:
        yield Text(
            pt="  prévia do sistema · linhas lidas: {seen}, como na planilha",
            en="  preview by the system · rows read: {seen}, as in the sheet",
        ).format(seen=seen)
    yield from _action_lines(job, resource)
    yield Text(pt="  confirmação: {token}", en="  confirmation: {token}").format(
        token=confirmation_token(job)
    )


def _parts_text(job: Job) -> Text | str:
    return (
        Text(pt=", em {n} {n:parte|partes}", en=", in {n} {n:part|parts}").format(n=job.parts)
        if job.parts
        else ""
    )


def _action_lines(job: Job, resource: Resource) -> Iterator[Text]:
    plan = job.last("plan")
    if plan is None:
        return
    counted = Text(
        pt="  no sistema: {create} {create:nova|novas}, {update} já lá com outros valores, "
        "{unchanged} já lá e {unchanged:igual|iguais}, {unread} {unread:não conferida|não "
        "conferidas}",
        en="  in the system: {create} new, {update} there with other values, "
        "{unchanged} there and the same, {unread} not looked up",
    )
    yield counted.format(**plan)
    if plan[RowAction.UNREAD] and (unread := job.last("unread")):
        yield Text(pt="  não conferidas: {why}", en="  not looked up: {why}").format(
            why=Text(**unread)
        )
    if resource.read_back and (plan[RowAction.UPDATE] or plan[RowAction.UNCHANGED]):
        yield Text(pt="  {told}", en="  {told}").format(
            told=_EXISTING_TEXTS[resource.read_back.existing]
        )
