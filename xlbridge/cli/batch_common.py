"""Shared by the commands of ``xlbridge batch``: options, opening of a batch, report, exit codes."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

from xlbridge.batch import (
    Batch,
    BatchOutcome,
    UnitStatus,
    open_known_batch,
    open_ledger,
)
from xlbridge.batch.plan import with_month
from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.lifecycle import ExitCode
from xlbridge.cli.options import (
    combined,
    option,
    report_format_option,
    schemas_option,
    worker_options,
    yes_option,
)
from xlbridge.cli.output import remark
from xlbridge.errors import UsageError
from xlbridge.i18n import Text

parameter_options = combined(
    [
        option(
            "--month",
            metavar="YYYY-MM",
            pt="O parâmetro month: 2026-10, current ou previous.",
            en="The parameter month: 2026-10, current or previous.",
        ),
        option(
            "--set",
            "given",
            multiple=True,
            metavar="NAME=VALUE",
            pt="O valor de um parâmetro.",
            en="The value of a parameter.",
        ),
    ]
)


def parameters_from_options(month: str | None, texts: tuple[str, ...]) -> dict[str, str]:
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
    return given if month is None else with_month(given, month)


run_options = combined(
    [
        report_format_option,
        worker_options,
        schemas_option,
        option(
            "--all-or-nothing",
            is_flag=True,
            pt="Não envia nada se algum arquivo tiver erros.",
            en="Sends nothing where any workbook has errors.",
        ),
        option(
            "--confirm",
            metavar="ROWS:DIGEST",
            pt="Confirma o lote como o plano o mostra; vale em produção.",
            en="Confirms the batch as its plan shows it; for production too.",
        ),
        yes_option,
    ]
)


_EXIT_CODE_BY_STATUS: Mapping[UnitStatus, ExitCode] = {
    UnitStatus.IN_DOUBT: ExitCode.IN_DOUBT,
    UnitStatus.FAILED: ExitCode.FAILED,
    UnitStatus.REFUSED: ExitCode.REFUSED,
}
"""Statuses that end a command with an exit code of their own, the gravest first."""


NO_BATCH_YET = Text(pt="Nenhum lote ainda.", en="No batch yet.")
HOW_TO_BEGIN = Text(
    pt="Para começar um: xlbridge batch plan PLANO", en="To begin one: xlbridge batch plan PLAN"
)


def open_batch_named(batch_id: str | None) -> AbstractContextManager[Batch]:
    """Open a batch that was begun, the newest one where none is named.

    Raises ``UsageError`` when there is none, or the folder of its own resources is gone.
    """
    settings = settings_without_profile()
    if batch_id is None:
        with open_ledger(settings) as ledger:
            batches = ledger.batches()
        if not batches:
            raise UsageError(NO_BATCH_YET, HOW_TO_BEGIN)
        batch_id = batches[0].id
    return open_known_batch(batch_id, settings, remark)


def batch_exit_code(outcome: BatchOutcome, *, planned: bool = False) -> ExitCode:
    """Return the exit code of a batch: the gravest of its steps'. Of one that is only ``planned``
    what is left to do is no error, what a person has to correct first is one."""
    steps = outcome.steps
    statuses = {unit.status for state in steps for unit in state.units}
    statuses |= {state.status for state in steps}
    for status, code in _EXIT_CODE_BY_STATUS.items():
        if status in statuses:
            return code
    good = not outcome.needs_person if planned else all(state.done for state in steps)
    return ExitCode.GOOD if good else ExitCode.DATA_ERRORS
