"""Arguments of the commands that send rows, and the consent that they give, or that is asked for on
the terminal.

The options that set fields of ``UploadOptions`` are declared there; any other is one of the
command's report, and a field of ``UploadArguments``.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Self, get_args

import click

from xlbridge.cli.help_texts import WHAT_IS_SENT
from xlbridge.cli.options import (
    Decorator,
    combined,
    option,
    schemas_option,
    status_copy_option,
    yes_option,
)
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import Confirmed, ConsentRequest

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

_list_rows_option = option(
    "--list-rows",
    is_flag=True,
    pt="Lista no plano todas as linhas que não serão incluídas, com o motivo.",
    en="Lists in the plan all rows that are not created, with the reason.",
)


class _UploadOption(click.Option):
    """Option that sets a field of ``UploadOptions``."""

    group = WHAT_IS_SENT


def field_options(command: str) -> Decorator:
    """Declare the options of a command that set fields of ``UploadOptions``."""
    declared = []
    for one, offered in UploadOptions.command_fields(command):
        flag, choices = f"--{offered.name or one.name.replace('_', '-')}", get_args(one.type)
        if one.type is bool:
            kind: click.ParamType[Any] | type[bool] = bool
            flag = f"{flag}/--no-{flag[2:]}" if one.default else flag
        elif "auto" in choices:
            kind = click.Choice(choices)
        elif int in (one.type, *choices):
            kind = click.IntRange(*offered.limits)
        else:
            kind = click.STRING
        declared.append(
            click.option(
                flag,
                one.name,
                cls=_UploadOption,
                type=kind,
                is_flag=kind is bool,
                default=one.default,
                show_default=bool(one.default) and one.default not in choices,
                metavar=offered.metavar,
                help=str(offered.help),
            )
        )
    return combined(declared)


def upload_options(command: str) -> Decorator:
    """Declare the options of a command that runs uploads."""
    of_plan = [] if command == "resume" else [_list_rows_option]
    return combined(
        [field_options(command), *of_plan, consent_options, status_copy_option, schemas_option]
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
