"""Consent to an upload: the request with the plan, its token, and answers that need no terminal."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources import ExistingPolicy, Resource
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.snapshot import RowAction

if TYPE_CHECKING:
    from xlbridge.client import Target

_DIGEST_LENGTH = 8

_EXISTING_TEXTS: dict[ExistingPolicy, Text] = {
    ExistingPolicy.REFUSED: Text(
        pt="O sistema recusa as que já existem.", en="The system refuses those that are there."
    ),
    ExistingPolicy.REPLACED: Text(
        pt="As que já existem são substituídas.", en="Those that are there are replaced."
    ),
    ExistingPolicy.ADDED: Text(
        pt="As que já existem são incluídas de novo, em duplicidade.",
        en="Those that are there are added once more.",
    ),
}


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """Request for consent to the first write of an upload.

    ``job`` holds the rows; of a sheet that is sent in parts it is the parent. ``target`` is the
    system that they go to. ``previewed_rows`` is how many rows the system read in its preview,
    None without one.
    """

    job: Job
    resource: Resource
    target: "Target"
    previewed_rows: int | None

    @property
    def token(self) -> str:
        """Confirmation of just these rows: ``ROWS:DIGEST8``."""
        return f"{len(self.job.what.rows)}:{self.job.what.digest[:_DIGEST_LENGTH]}"

    def lines(self) -> Iterator[Text]:
        """Yield the plan for a person, line by line; the token comes last."""
        what = self.job.what
        yield Text(
            pt="Plano: {resource} para {profile} ({address}) · linhas: {rows} · modo {mode}{parts}",
            en="Plan: {resource} to {profile} ({address}) · rows: {rows} · mode {mode}{parts}",
        ).format(
            rows=len(what.rows),
            resource=what.resource,
            profile=what.profile,
            address=self.target.base_url,
            mode=what.mode,
            parts=_parts_text(self.job),
        )
        if self.previewed_rows is not None:
            yield Text(
                pt="  prévia do sistema · linhas lidas: {rows}, como na planilha",
                en="  preview by the system · rows read: {rows}, as in the sheet",
            ).format(rows=self.previewed_rows)
        yield from _action_lines(self.job, self.resource)
        yield Text(pt="  confirmação: {token}", en="  confirmation: {token}").format(
            token=self.token
        )


Consent = Callable[[ConsentRequest], bool]
"""Answers a request for consent; False abandons the upload, and nothing is sent."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Consent to just the rows that a token names, in production too."""

    token: str

    def __call__(self, request: ConsentRequest) -> bool:
        """Agree. Raises ``UsageError`` when the token is that of other rows."""
        if self.token.strip().casefold() == request.token:
            return True
        raise UsageError(
            Text(
                pt="A confirmação {given!r} não é a deste envio, que tem {rows} "
                "{rows:linha|linhas}.",
                en="The confirmation {given!r} does not match this upload, which has {rows} "
                "{rows:row|rows}.",
            ).format(given=self.token, rows=len(request.job.what.rows)),
            Text(
                pt="Nada foi enviado. Confira o plano; a confirmação deste envio é {token}.",
                en="Nothing was sent. Check the plan; the confirmation of this upload is {token}.",
            ).format(token=request.token),
        )


@dataclass(frozen=True, slots=True)
class ApproveAll:
    """Consent to any rows, except in production."""

    def __call__(self, request: ConsentRequest) -> bool:
        """Agree. Raises ``UsageError`` when the rows would go to a production system."""
        if not request.target.production:
            return True
        raise UsageError(
            Text(
                pt="{profile} é um ambiente de produção: o envio precisa da confirmação das "
                "linhas e do digest.",
                en="{profile} is a production environment: the upload needs the confirmation of "
                "its rows and digest.",
            ).format(profile=request.target.profile),
            Text(
                pt="Nada foi enviado. Confira o plano; a confirmação deste envio é {token}.",
                en="Nothing was sent. Check the plan; the confirmation of this upload is {token}.",
            ).format(token=request.token),
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
        pt="  no sistema: {create} {create:nova|novas}, {update} já "
        "{update:existente|existentes} com outros valores, {unchanged} já "
        "{unchanged:existente e idêntica|existentes e idênticas}, {unread} "
        "{unread:não conferida|não conferidas}",
        en="  in the system: {create} new, {update} there with other values, "
        "{unchanged} there and the same, {unread} not looked up",
    )
    yield counted.format(**plan)
    if plan[RowAction.UNREAD] and (unread := job.last("unread")):
        yield Text(pt="  não conferidas: {why}", en="  not looked up: {why}").format(
            why=Text(**unread)
        )
    if resource.read_back and (plan[RowAction.UPDATE] or plan[RowAction.UNCHANGED]):
        yield Text(pt="  {effect}", en="  {effect}").format(
            effect=_EXISTING_TEXTS[resource.read_back.existing]
        )
