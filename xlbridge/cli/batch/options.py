"""Options that commands of batches have in common."""

from collections.abc import Callable
from typing import Any

import click

from xlbridge.batch.parameters import MONTH, MONTHS, is_month
from xlbridge.cli.options import how_to_spread, own_schemas, report_format
from xlbridge.errors import UsageError
from xlbridge.i18n import Text

Decorated = Callable[..., Any]


def plan_parameters(function: Decorated) -> Decorated:
    """Give a command the options that set a plan's parameters."""
    function = click.option(
        "--set",
        "given",
        multiple=True,
        metavar="NAME=VALUE",
        help=str(Text(pt="O valor de um parâmetro.", en="The value of a parameter.")),
    )(function)
    return click.option(
        "--month",
        metavar="YYYY-MM",
        help=str(
            Text(
                pt="O parâmetro month: 2026-10, current ou previous.",
                en="The parameter month: 2026-10, current or previous.",
            )
        ),
    )(function)


def given_parameters(month: str | None, texts: tuple[str, ...]) -> dict[str, str]:
    """Return the parameters that the options give. Raises ``UsageError`` for one without value."""
    given = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise UsageError(
                Text(
                    pt="--set {text}: escreva NOME=VALOR.", en="--set {text}: write NAME=VALUE."
                ).format(text=text)
            )
        given[name] = value
    if month is None:
        return given
    if month not in MONTHS and not is_month(month):
        raise UsageError(
            Text(
                pt="--month {month}: escreva AAAA-MM, current ou previous.",
                en="--month {month}: write YYYY-MM, current or previous.",
            ).format(month=month)
        )
    return {**given, MONTH: month}


def how_to_run(function: Decorated) -> Decorated:
    """Give a command the options of a run."""
    for option in (
        click.option(
            "--yes",
            is_flag=True,
            help=str(Text(pt="Não pergunta antes de enviar.", en="Does not ask before sending.")),
        ),
        click.option(
            "--confirm",
            metavar="ROWS:DIGEST",
            help=str(
                Text(
                    pt="Confirma o lote como o plano o mostra; vale em produção.",
                    en="Confirms the batch as its plan shows it; for production too.",
                )
            ),
        ),
        click.option(
            "--all-or-nothing",
            is_flag=True,
            help=str(
                Text(
                    pt="Não envia nada se algum arquivo tiver erros.",
                    en="Sends nothing where any workbook has errors.",
                )
            ),
        ),
    ):
        function = option(function)
    return report_format(how_to_spread(own_schemas(function)))
