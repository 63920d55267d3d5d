"""Arguments of the commands that send rows, and consent by options or on the terminal.

Options that set fields of ``UploadOptions`` are declared there; the others concern consent and
report, and are fields of ``UploadArguments``.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args

import click

from xlbridge.cli.help_texts import WHAT_IS_SENT
from xlbridge.cli.options import (
    Decorator,
    combine_options,
    option,
    schemas_option,
    status_copy_option,
    yes_option,
)
from xlbridge.cli.output import ask
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import Confirmed, ConsentRequest

if TYPE_CHECKING:
    from xlbridge.client import Target

consent_options = combine_options(
    [
        yes_option,
        option(
            "--confirm",
            metavar="ROWS:DIGEST",
            pt="Confirma linhas e início do digest, como no plano; vale também em produção.",
            en="Confirms rows and start of the digest, as in the plan; also valid in production.",
        ),
    ]
)

_list_rows_option = option(
    "--list-rows",
    is_flag=True,
    pt="Lista no plano todas as linhas que não serão incluídas, com o motivo.",
    en="In the plan, lists all rows that will not be created, with the reason.",
)


class _UploadOption(click.Option):
    """Option that sets a field of ``UploadOptions``."""

    group = WHAT_IS_SENT


def field_options(command: str) -> Decorator:
    """Declare the options of a command that set fields of ``UploadOptions``."""
    options = []
    for upload_field, offered in UploadOptions.command_fields(command):
        name, default = upload_field.name, upload_field.default
        flag, choices = f"--{offered.name or name.replace('_', '-')}", get_args(upload_field.type)
        if upload_field.type is bool:
            kind: click.ParamType[Any] | type[bool] = bool
            flag = f"{flag}/--no-{flag[2:]}" if default else flag
        elif "auto" in choices:
            kind = click.Choice(choices)
        elif int in (upload_field.type, *choices):
            kind = click.IntRange(*offered.limits)
        else:
            kind = click.STRING
        options.append(
            click.option(
                flag,
                name,
                cls=_UploadOption,
                type=kind,
                is_flag=kind is bool,
                default=default,
                show_default=bool(default) and default not in choices,
                metavar=offered.metavar,
                help=str(offered.help),
            )
        )
    return combine_options(options)


def upload_options(command: str) -> Decorator:
    """Declare the options of a command that runs uploads."""
    plan_options = [] if command == "resume" else [_list_rows_option]
    return combine_options(
        [field_options(command), *plan_options, consent_options, status_copy_option, schemas_option]
    )


_YES = frozenset({"s", "sim", "y", "yes"})
_SEND = Text(pt="Enviar? [s/N]", en="Send? [y/N]")
_SEND_TO_PRODUCTION = Text(
    pt="PRODUÇÃO. Para enviar, digite a confirmação acima",
    en="PRODUCTION. To send, type the confirmation above",
)


@dataclass(frozen=True, slots=True)
class ConsentOptions:
    """Options of a command for consent; without them it is asked for on the terminal."""

    yes: bool
    confirm: str | None

    def ask_for_job(self, request: ConsentRequest, hint: Text) -> bool:
        """Return whether there is consent to a job, whose rows or records a confirmation names."""
        return self.ask(
            hint,
            targets=lambda: [request.target],
            accepts=lambda token: Confirmed(token)(request),
        )

    def ask(
        self,
        hint: Text,
        *,
        targets: Callable[[], Sequence["Target"]],
        accepts: Callable[[str], bool],
    ) -> bool:
        """Return whether there is consent; ``accepts`` checks a confirmation.

        Raises ``UsageError`` with ``hint`` if ``--yes`` would write to production, or to a system
        that nobody chose, or there is no terminal to ask on.
        """
        if self.confirm is not None:
            return accepts(self.confirm)
        chosen = targets()
        if not any(target.production for target in chosen):
            if not self.yes:
                return _ask(_SEND, hint).casefold() in _YES
            for target in chosen:
                target.require_choice()
            return True
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
    return ask(question, default="", show_default=False).strip()


def yes_in_production(hint: Text) -> UsageError:
    """Return the error for ``--yes`` in production, as it does not confirm particular rows."""
    return UsageError(
        Text(
            pt="--yes não vale para um ambiente de produção.",
            en="--yes is not valid for a production environment.",
        ),
        hint,
    )


@dataclass(frozen=True, slots=True)
class UploadArguments:
    """Arguments for sending a job: the options of the upload, of consent and of its report."""

    options: UploadOptions
    yes: bool
    annotate: Path | None
    form: str
    list_rows: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Return the arguments from the options of a command by name."""
        upload_fields = {field.name for field in fields(UploadOptions)}
        upload = {name: value for name, value in options.items() if name in upload_fields}
        others = {name: value for name, value in options.items() if name not in upload_fields}
        consent = ConsentOptions(others["yes"], others.pop("confirm"))
        return cls(UploadOptions(consent=partial(_ask_consent, consent), **upload), **others)


def _ask_consent(consent: ConsentOptions, request: ConsentRequest) -> bool:
    option = f"--confirm {request.token}" if request.target.production else "--yes"
    hint = _HOW_TO_CONSENT.format(option=option, job=request.job.arguments())
    return consent.ask_for_job(request, hint)


_HOW_TO_CONSENT = Text(
    pt="Nada foi enviado. Em scripts, use {option}. Para continuar: xlbridge resume {job} {option}",
    en="Nothing was sent. In scripts, use {option}. To continue: xlbridge resume {job} {option}",
)
