"""Options of the commands that send rows, each declared once and read into ``UploadOptions``, and
the consent that they give, or that is asked for on the terminal.

An option that has the name of a field of ``UploadOptions`` becomes that field; any other is one of
the command's report, and a field of ``UploadArguments``.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Self, get_args

import click

from xlbridge.cli.options import (
    combined,
    option,
    schemas_option,
    status_copy_option,
    yes_option,
)
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload import RequestedMode, UploadOptions
from xlbridge.upload.planning import Confirmed, ConsentRequest

mode_option = option(
    "--mode",
    type=click.Choice(get_args(RequestedMode)),
    default="auto",
    pt="direct: de uma vez; preview: só prévia; queue: pela fila; records: registro a registro; "
    "auto escolhe.",
    en="direct: at once; preview: only that; queue: through the queue; records: one by one; auto "
    "chooses.",
)

again_option = option(
    "--again",
    metavar="REASON",
    pt="Inclui de novo, de propósito, o que já existe; o motivo fica registrado.",
    en="Creates on purpose what exists already; the reason is recorded.",
)

plan_options = combined(
    [
        option(
            "--update",
            is_flag=True,
            pt="Altera os registros que já estão no sistema com outros valores.",
            en="Changes the records that are in the system with other values.",
        ),
        option(
            "--clear",
            is_flag=True,
            pt="Com --update: uma célula vazia apaga o valor que o sistema tem.",
            en="With --update: an empty cell clears the value that the system has.",
        ),
        option(
            "--create-unread",
            is_flag=True,
            pt="Inclui também as linhas que não foi possível procurar no sistema.",
            en="Creates also the rows that could not be looked up in the system.",
        ),
        option(
            "--good-rows",
            is_flag=True,
            pt="Envia as linhas boas; as que têm erros vão para o arquivo das linhas rejeitadas.",
            en="Sends the good rows; those with errors go into the rejects workbook.",
        ),
        option(
            "--list-rows",
            is_flag=True,
            pt="Lista no plano todas as linhas que não serão incluídas, com o motivo.",
            en="Lists in the plan all rows that are not created, with the reason.",
        ),
    ]
)

chunk_rows_option = option(
    "--chunk-rows",
    type=click.IntRange(min=1),
    pt="Envia em partes com esse número de linhas, cada uma como um envio.",
    en="Sends in parts of that many rows, each an upload of its own.",
)

at_once_option = option(
    "--at-once",
    type=click.IntRange(min=1, max=16),
    default=4,
    show_default=True,
    pt="Registros gravados ao mesmo tempo, onde são gravados um a um.",
    en="Records written at the same time, where they are written one by one.",
)

consent_options = combined(
    [
        yes_option,
        option(
            "--confirm",
            metavar="ROWS:DIGEST",
            pt="Confirma linhas e começo do digest, como o plano os mostra; vale em produção.",
            en="Confirms rows and start of the digest, as the plan shows them; for production too.",
        ),
    ]
)

upload_options = combined(
    [
        consent_options,
        option(
            "--wait/--no-wait",
            default=True,
            show_default=True,
            pt="Espera o resultado da fila.",
            en="Waits for the queue's outcome.",
        ),
        option(
            "--preview/--no-preview",
            default=True,
            show_default=True,
            pt="Faz a prévia antes de enviar.",
            en="Previews before sending.",
        ),
        at_once_option,
        status_copy_option,
        option(
            "--read-back/--no-read-back",
            "look_up",
            default=True,
            show_default=True,
            pt="Lê antes o que o sistema já tem destas linhas; sem isso uma dúvida fica sem prova.",
            en="Reads what the system has of these rows; without it a doubt stays without proof.",
        ),
        schemas_option,
    ]
)


_YES = frozenset({"s", "sim", "y", "yes"})
_SEND = Text(pt="Enviar? [s/N]", en="Send? [y/N]")
_SEND_TO_PRODUCTION = Text(
    pt="PRODUÇÃO. Para enviar, digite a confirmação acima",
    en="PRODUCTION. To send, type the confirmation above",
)


@dataclass(frozen=True, slots=True)
class GivenConsent:
    """Consent by the options of a command: ``--yes``, ``--confirm``; else asked on the terminal."""

    yes: bool
    confirm: str | None

    def agrees_to(self, request: ConsentRequest, hint: Text) -> bool:
        """Tell whether there is consent to a job, whose rows or records a confirmation names."""
        return self.agrees(
            hint,
            production=lambda: request.target.production,
            accepts=lambda token: Confirmed(token)(request),
        )

    def agrees(
        self, hint: Text, *, production: Callable[[], bool], accepts: Callable[[str], bool]
    ) -> bool:
        """Tell whether there is consent; ``accepts`` judges a confirmation that is given or typed.

        Raises ``UsageError`` with ``hint`` where production would be written to by ``--yes``, or
        there is no terminal to ask on.
        """
        if self.confirm is not None:
            return accepts(self.confirm)
        if not production():
            return self.yes or _ask(_SEND, hint).casefold() in _YES
        if self.yes:
            raise yes_in_production(hint)
        answer = _ask(_SEND_TO_PRODUCTION, hint)
        return bool(answer) and accepts(answer)


def _ask(question: Text, hint: Text) -> str:
    if not sys.stdin.isatty():
        raise UsageError(
            Text(
                pt="Falta a confirmação: não há terminal para perguntar.",
                en="Confirmation is missing: there is no terminal to ask on.",
            ),
            hint,
        )
    answer: str = click.prompt(str(question), default="", show_default=False, err=True)
    return answer.strip()


def yes_in_production(hint: Text) -> UsageError:
    """Return the error for ``--yes`` where production would be written to: it names no rows."""
    return UsageError(
        Text(
            pt="--yes não vale para um ambiente de produção.",
            en="--yes is not for a production environment.",
        ),
        hint,
    )


@dataclass(frozen=True, slots=True)
class UploadArguments:
    """Arguments for sending a job: the options of the upload, and those of its report."""

    options: UploadOptions
    yes: bool
    annotate: Path | None
    form: str
    list_rows: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Read the options of a command, by their names."""
        upload_fields = {field.name for field in fields(UploadOptions)}
        own = {name: value for name, value in given.items() if name not in upload_fields}
        chosen = {name: value for name, value in given.items() if name in upload_fields}
        given_consent = GivenConsent(own["yes"], own.pop("confirm"))
        return cls(UploadOptions(consent=partial(_consent, given_consent), **chosen), **own)


def _consent(given: GivenConsent, request: ConsentRequest) -> bool:
    option = f"--confirm {request.token}" if request.target.production else "--yes"
    return given.agrees_to(request, _IN_SCRIPTS.format(option=option))


_IN_SCRIPTS = Text(
    pt="Nada foi enviado. Em scripts, use {option}.",
    en="Nothing was sent. In scripts, use {option}.",
)
