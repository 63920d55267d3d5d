"""Options, opening of a batch, and exit codes for the commands of ``xlbridge batch``."""

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
    combine_options,
    option,
    result_options,
    schemas_option,
    worker_options,
    yes_option,
)
from xlbridge.cli.output import print_message
from xlbridge.errors import UsageError
from xlbridge.i18n import Text

parameter_options = combine_options(
    [
        option(
            "--month",
            metavar="YYYY-MM",
            pt="O parâmetro month: 2026-10, current ou previous.",
            en="The parameter month: 2026-10, current or previous.",
        ),
        option(
            "--set",
            "assignments",
            multiple=True,
            metavar="NAME=VALUE",
            pt="O valor de um parâmetro.",
            en="The value of a parameter.",
        ),
    ]
)


def parameters_from_options(month: str | None, assignments: tuple[str, ...]) -> dict[str, str]:
    """Return the parameters of the options. Raises ``UsageError`` for one without a value."""
    parameters = {}
    for text in assignments:
        name, separator, value = text.partition("=")
        if not separator:
            raise UsageError(
                Text(
                    pt="--set {text}: escreva NOME=VALOR.", en="--set {text}: write NAME=VALUE."
                ).format(text=text)
            )
        parameters[name] = value
    return parameters if month is None else with_month(parameters, month)


run_options = combine_options(
    [
        result_options,
        worker_options,
        schemas_option,
        option(
            "--all-or-nothing",
            is_flag=True,
            pt="Não envia nada se algum arquivo tiver erros.",
            en="Sends nothing if any workbook has errors.",
        ),
        option(
            "--confirm",
            metavar="ROWS:DIGEST",
            pt="Confirma o lote como o plano o mostra; vale também em produção.",
            en="Confirms the batch as the plan shows it; also valid in production.",
        ),
        yes_option,
    ]
)


_EXIT_CODE_BY_STATUS: Mapping[UnitStatus, ExitCode] = {
    UnitStatus.IN_DOUBT: ExitCode.IN_DOUBT,
    UnitStatus.FAILED: ExitCode.FAILED,
    UnitStatus.REFUSED: ExitCode.REFUSED,
}
"""Statuses with an exit code of their own, worst first."""


NO_BATCH_YET = Text(pt="Nenhum lote ainda.", en="No batch yet.")
HOW_TO_START = Text(
    pt="Para começar um: xlbridge batch plan PLANO", en="To start one: xlbridge batch plan PLAN"
)


def open_batch_named(batch_id: str | None) -> AbstractContextManager[Batch]:
    """Open a batch by name, by default the newest.

    Raises ``UsageError`` if there is none, or the folder of its own resources is gone.
    """
    settings = settings_without_profile()
    if batch_id is None:
        with open_ledger(settings) as ledger:
            batches = ledger.batches()
        if not batches:
            raise UsageError(NO_BATCH_YET, HOW_TO_START)
        batch_id = batches[0].id
    return open_known_batch(batch_id, settings, print_message)


def batch_exit_code(outcome: BatchOutcome, *, planned: bool = False) -> ExitCode:
    """Return the exit code of a batch, from its worst step.

    If it was only ``planned``, an open step is not an error unless a person has to correct it or
    it has no workbook.
    """
    steps = outcome.steps
    statuses = {unit.status for state in steps for unit in state.units}
    statuses |= {state.status for state in steps}
    for status, code in _EXIT_CODE_BY_STATUS.items():
        if status in statuses:
            return code
    if planned:
        good = not outcome.needs_person and not any(state.lacks_workbook for state in steps)
    else:
        good = all(state.done for state in steps)
    return ExitCode.GOOD if good else ExitCode.DATA_ERRORS
