"""Asking for consent to what a batch will send."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import click

from xlbridge.batch.batch import Batch
from xlbridge.batch.running import Agreement
from xlbridge.cli.output import remark
from xlbridge.errors import UsageError
from xlbridge.i18n import Text

_YES = frozenset({"s", "sim", "y", "yes"})


@dataclass(frozen=True, slots=True)
class Consent:
    """Shows what will be sent and asks for consent, on the terminal or by what was given."""

    batch: Batch
    yes: bool
    confirm: str | None

    def __call__(self, agreement: Agreement) -> bool:
        for line in _agreement_text(self.batch, agreement):
            remark(line)
        if self.confirm is not None:
            _require_token(agreement, self.confirm)
            return True
        production = self._production(agreement)
        if self.yes and production:
            raise UsageError(
                Text(
                    pt="--yes não vale para um ambiente de produção.",
                    en="--yes is not for a production environment.",
                ),
                _with_token(agreement),
            )
        return self.yes or _ask(agreement, production)

    def _production(self, agreement: Agreement) -> bool:
        profiles = {step.profile for step, _, _ in agreement.rows}
        return any(self.batch.sites.client(profile).target.production for profile in profiles)


def _agreement_text(batch: Batch, agreement: Agreement) -> Iterator[Text]:
    for step, files, rows in agreement.rows:
        yield Text(
            pt="  {step} · {resource} para {profile} · arquivos: {files} · linhas: {rows}",
            en="  {step} · {resource} to {profile} · workbooks: {files} · rows: {rows}",
        ).format(
            step=step.name,
            resource=step.resource,
            profile=batch.sites.name(step.profile),
            files=files,
            rows=rows,
        )
    if agreement.bad:
        yield Text(
            pt="  {n:fica|ficam} de fora, com erros: {n} {n:arquivo|arquivos}",
            en="  left out, with errors: {n} {n:workbook|workbooks}",
        ).format(n=agreement.bad)
    yield Text(pt="  confirmação: {token}", en="  confirmation: {token}").format(
        token=agreement.token
    )


def _require_token(agreement: Agreement, given: str) -> None:
    if given.strip().casefold() != agreement.token:
        raise UsageError(
            Text(
                pt="A confirmação {given!r} não é a deste lote.",
                en="The confirmation {given!r} is not that of this batch.",
            ).format(given=given),
            _with_token(agreement),
        )


def _with_token(agreement: Agreement) -> Text:
    return Text(
        pt="Nada foi enviado. Confira o plano acima; a confirmação dele é --confirm {token}",
        en="Nothing was sent. Check the plan above; its confirmation is --confirm {token}",
    ).format(token=agreement.token)


def _ask(agreement: Agreement, production: bool) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            Text(
                pt="Falta a confirmação: não há terminal para perguntar.",
                en="Confirmation is missing: there is no terminal to ask on.",
            ),
            _with_token(agreement),
        )
    question = (
        Text(
            pt="PRODUÇÃO. Para enviar, digite a confirmação acima",
            en="PRODUCTION. To send, type the confirmation above",
        )
        if production
        else Text(pt="Enviar? [s/N]", en="Send? [y/N]")
    )
    answer: str = click.prompt(str(question), default="", show_default=False, err=True)
    if production and answer.strip():
        _require_token(agreement, answer)
        return True
    return not production and answer.strip().casefold() in _YES
