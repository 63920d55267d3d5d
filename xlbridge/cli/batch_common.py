"""Shared by the commands of ``xlbridge batch``: options, opening of a batch, report, exit codes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xlbridge.batch import (
    Batch,
    StepOverview,
    UnitStatus,
    batch_json,
    batch_text,
    open_known_batch,
    open_ledger,
    with_month,
)
from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import (
    combined,
    option,
    report_format_option,
    schemas_option,
    worker_options,
    yes_option,
)
from xlbridge.cli.output import print_report, remark
from xlbridge.errors import UsageError
from xlbridge.files import as_argument, short_path
from xlbridge.i18n import Text
from xlbridge.pages import ReportForms

if TYPE_CHECKING:
    from xlbridge.batch.proof import WrittenProof

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


def print_batch(
    batch: Batch,
    steps: Sequence[StepOverview],
    form: str,
    proofs: "Sequence[WrittenProof]" = (),
    findings: Path | None = None,
) -> None:
    """Print the status of a batch, and the pages and workbooks with the details."""
    report = ReportForms(
        lambda: _batch_document(batch, steps, proofs, findings),
        lambda: _batch_lines(batch, steps, proofs, findings),
    )
    print_report(report, form)


def _batch_document(
    batch: Batch,
    steps: Sequence[StepOverview],
    proofs: "Sequence[WrittenProof]",
    findings: Path | None,
) -> dict[str, Any]:
    from xlbridge.batch.proof import proof_json  # Here, not above: few reports have a proof.

    files = {"findings_page": None if findings is None else str(findings)}
    return batch_json(batch, steps) | files | {"proofs": [proof_json(one) for one in proofs]}


def _batch_lines(
    batch: Batch,
    steps: Sequence[StepOverview],
    proofs: "Sequence[WrittenProof]",
    findings: Path | None,
) -> Iterator[Text]:
    yield from batch_text(batch, steps)
    if findings is not None:
        page_text = Text(
            pt="Tudo o que está errado nos arquivos: {page}",
            en="All that is wrong in the workbooks: {page}",
        )
        yield page_text.format(page=short_path(findings))
    for proof in proofs:
        from xlbridge.batch.proof import proof_text

        yield from proof_text(proof)
    yield from _closing_lines(batch, steps, proofs)


def _closing_lines(
    batch: Batch, steps: Sequence[StepOverview], proofs: "Sequence[WrittenProof]"
) -> Iterator[Text]:
    """Yield the verdict on a batch, and what to do next."""
    open_steps = [state for state in steps if not state.done]
    if not open_steps:
        yield Text(pt="✓ O lote {id} está concluído.", en="✓ The batch {id} is complete.").format(
            id=batch.id
        )
        unsettled = [proof for proof in proofs if not proof.settled]
        kept = [as_argument(proof.page) for proof in unsettled or proofs]
        step = _LOOK_AT if unsettled else _KEEP_PROOF if proofs else _NOTHING_LEFT
        yield step.format(files=", ".join(kept))
        return
    as_it_goes = all(state.status in _TO_DO for state in open_steps)
    yield Text(
        pt="{mark} Lote {id}: {done} de {n} {n:passo feito|passos feitos}; por fazer: {names}.",
        en="{mark} The batch {id}: {done} of {n} {n:step|steps} done; left: {names}.",
    ).format(
        mark="·" if as_it_goes else "✗",
        id=batch.id,
        done=len(steps) - len(open_steps),
        n=len(steps),
        names=", ".join(state.step.name for state in open_steps),
    )
    yield _next_step(batch, open_steps)


def _next_step(batch: Batch, open_steps: Sequence[StepOverview]) -> Text:
    """Return what to do next with a batch: what only a person can do comes first."""
    units = [unit for state in open_steps for unit in state.units]
    doubts = [job for unit in units if unit.status is UnitStatus.IN_DOUBT for job in unit.jobs]
    if doubts:
        return Text(
            pt="A seguir: decida o envio em dúvida: xlbridge jobs {job}",
            en="Next: decide the upload in doubt: xlbridge jobs {job}",
        ).format(job=doubts[-1].id)
    statuses = {unit.status for unit in units} | {
        state.status for state in open_steps if state.problem is not None
    }
    text = _CORRECT_FIRST if statuses & _FOR_A_PERSON else _GO_ON
    known = any(one.id == batch.id for one in batch.ledger.batches())
    return text.format(command=f"resume {batch.id}" if known else f"run {_plan_options(batch)}")


def _plan_options(batch: Batch) -> str:
    """Return a batch's plan and parameters as they are typed."""
    given = [f"--set {as_argument(f'{name}={v}')}" for name, v in batch.plan.parameters.items()]
    own = [] if batch.own_schemas is None else [f"--schemas {as_argument(batch.own_schemas)}"]
    return " ".join([as_argument(batch.plan.path), *given, *own])


_TO_DO = frozenset({UnitStatus.NEW, UnitStatus.CHANGED, UnitStatus.UNDER_WAY})
_FOR_A_PERSON = frozenset(
    {
        UnitStatus.INVALID,
        UnitStatus.REFUSED,
        UnitStatus.HELD,
        UnitStatus.PARTIAL,
        UnitStatus.EDITED,
    }
)
"""Statuses that stay as they are until a person has corrected something."""

_CORRECT_FIRST = Text(
    pt="A seguir: corrija o que está acima, depois: xlbridge batch {command}",
    en="Next: correct what is named above, then: xlbridge batch {command}",
)
_GO_ON = Text(pt="A seguir: xlbridge batch {command}", en="Next: xlbridge batch {command}")
_LOOK_AT = Text(
    pt="A seguir: veja o que a prova deixa em aberto: {files}",
    en="Next: look at what the proof leaves open: {files}",
)
_KEEP_PROOF = Text(
    pt="A seguir: guarde a prova de fechamento: {files}",
    en="Next: keep the closing proof: {files}",
)
_NOTHING_LEFT = Text(pt="A seguir: nada mais a fazer.", en="Next: nothing is left to do.")


def batch_exit_code(steps: Sequence[StepOverview]) -> ExitCode:
    """Return the exit code of a batch: the gravest of its steps'."""
    statuses = {unit.status for state in steps for unit in state.units}
    statuses |= {state.status for state in steps}
    for status, code in _EXIT_CODE_BY_STATUS.items():
        if status in statuses:
            return code
    return ExitCode.GOOD if all(state.done for state in steps) else ExitCode.DATA_ERRORS
