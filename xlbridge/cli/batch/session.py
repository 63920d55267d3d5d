"""What the commands of a batch have in common: its plan, its ledger, its report and exit codes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import click

from xlbridge.batch.batch import Batch
from xlbridge.batch.ledger import Ledger
from xlbridge.batch.overview import StepState
from xlbridge.batch.plan_file import read_plan
from xlbridge.batch.report import batch_json, batch_text
from xlbridge.batch.standing import Standing
from xlbridge.batch.written_proof import WrittenProof, proof_json, proof_text
from xlbridge.cli.batch.sites import open_sites
from xlbridge.cli.environment import asked_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import use_schemas
from xlbridge.cli.output import result, result_json
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.settings import Settings
from xlbridge.upload.report import near

_EXIT_CODES: Mapping[Standing, ExitCode] = {
    Standing.IN_DOUBT: ExitCode.IN_DOUBT,
    Standing.FAILED: ExitCode.FAILED,
    Standing.REFUSED: ExitCode.REFUSED,
}
"""The standings that end a command with a code of their own, the gravest first."""


def ledger_path(settings: Settings) -> Path:
    """Return the file of the ledger of batches."""
    return settings.home / "batches.db"


@contextmanager
def open_ledger(settings: Settings) -> Iterator[Ledger]:
    """Open the ledger of batches for one command."""
    ledger = Ledger(ledger_path(settings))
    try:
        yield ledger
    finally:
        ledger.close()


@contextmanager
def open_batch(
    plan: Path, given: Mapping[str, str], settings: Settings | None = None
) -> Iterator[Batch]:
    """Read a plan and open what its batch works with, by the command's own settings or others.

    Raises ``UsageError`` and ``PlanFileError`` as ``read_plan`` does.
    """
    settings = settings or asked_settings()
    read = read_plan(plan, load_catalogue(settings.schemas), given, datetime.now().date())
    with open_ledger(settings) as ledger, open_sites(settings) as sites:
        own = settings.own_schemas
        yield Batch(read, ledger, sites, None if own is None else own.resolve())


@contextmanager
def open_known_batch(batch_id: str | None) -> Iterator[Batch]:
    """Open a batch that was begun, the newest one where none is named.

    Its own resources are those that it was run with, where no others are asked for. Raises
    ``UsageError`` when there is none, or the folder of its own resources is gone.
    """
    settings = asked_settings()
    with open_ledger(settings) as ledger:
        if batch_id is None:
            batches = ledger.batches()
            if not batches:
                raise UsageError(Text(pt="Nenhum lote ainda.", en="There is no batch yet."))
            known = batches[0]
        else:
            known = ledger.batch(batch_id)
    if known.own_schemas is not None and settings.own_schemas is None:
        if not known.own_schemas.is_dir():
            raise UsageError(
                _SCHEMAS_GONE.format(id=known.id, folder=known.own_schemas), _SAY_WHERE
            )
        use_schemas(click.get_current_context(), known.own_schemas)
    with open_batch(known.plan, known.parameters) as batch:
        yield batch


_SCHEMAS_GONE = Text(
    pt="A pasta com os recursos próprios do lote {id} não está mais lá: {folder}.",
    en="The folder with the own resources of the batch {id} is no longer there: {folder}.",
)
_SAY_WHERE = Text(
    pt="Ponha-a de volta, ou diga onde ela está: --schemas PASTA.",
    en="Put it back, or say where it is: --schemas DIR.",
)


def print_batch(
    batch: Batch,
    steps: Sequence[StepState],
    form: str,
    proofs: Sequence[WrittenProof] = (),
    findings: Path | None = None,
) -> None:
    """Print how a batch stands, and which pages and workbooks tell more."""
    if form == "json":
        told = {
            "findings_page": None if findings is None else str(findings),
            "proofs": [proof_json(proof) for proof in proofs],
        }
        result_json(batch_json(batch, steps) | told)
        return
    for line in batch_text(batch, steps):
        result(line)
    if findings is not None:
        told_page = Text(
            pt="Tudo o que está errado nos arquivos: {page}",
            en="All that is wrong in the workbooks: {page}",
        )
        result(told_page.format(page=near(findings)))
    for proof in proofs:
        for line in proof_text(proof):
            result(line)


def exit_code(steps: Sequence[StepState]) -> ExitCode:
    """Return the exit code of a batch: the gravest of its steps'."""
    standings = {unit.standing for state in steps for unit in state.units}
    standings |= {state.standing for state in steps}
    for standing, code in _EXIT_CODES.items():
        if standing in standings:
            return code
    return ExitCode.GOOD if all(state.done for state in steps) else ExitCode.DATA_ERRORS
