"""Consent asked on the terminal, for uploads and batches alike."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import click

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload.planning import Confirmed, ConsentRequest

_YES = frozenset({"s", "sim", "y", "yes"})


def ask_yes_or_no(hint: Text) -> bool:
    """Ask whether to send. Raises ``UsageError`` with ``hint`` where there is no terminal."""
    _require_terminal(hint)
    return _prompt(Text(pt="Enviar? [s/N]", en="Send? [y/N]")).casefold() in _YES


def ask_for_token(hint: Text) -> str:
    """Ask for the confirmation that production needs; empty where none is typed.

    Raises ``UsageError`` with ``hint`` where there is no terminal.
    """
    _require_terminal(hint)
    return _prompt(
        Text(
            pt="PRODUÇÃO. Para enviar, digite a confirmação acima",
            en="PRODUCTION. To send, type the confirmation above",
        )
    )


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
            return self.yes or ask_yes_or_no(hint)
        if self.yes:
            raise yes_in_production(hint)
        answer = ask_for_token(hint)
        return bool(answer) and accepts(answer)


def _prompt(question: Text) -> str:
    answer: str = click.prompt(str(question), default="", show_default=False, err=True)
    return answer.strip()


def _require_terminal(hint: Text) -> None:
    if not sys.stdin.isatty():
        raise UsageError(
            Text(
                pt="Falta a confirmação: não há terminal para perguntar.",
                en="Confirmation is missing: there is no terminal to ask on.",
            ),
            hint,
        )
