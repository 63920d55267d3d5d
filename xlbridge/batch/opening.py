"""Opening of batches: of a plan with its environments, of a batch that was begun."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from xlbridge.batch.batch import Batch, Environments
from xlbridge.batch.ledger import open_ledger
from xlbridge.batch.plan.reader import read_plan
from xlbridge.errors import UsageError
from xlbridge.files import as_argument
from xlbridge.i18n import Text
from xlbridge.resources import load_catalogue
from xlbridge.settings import Settings


@contextmanager
def open_batch(
    plan: Path, given: Mapping[str, str], settings: Settings, announce: Callable[[Text], None]
) -> Iterator[Batch]:
    """Read a plan, and open the ledger and the environments that its batch works with.

    Raises ``UsageError`` and ``PlanFileError`` as ``read_plan`` does.
    """
    read = read_plan(plan, load_catalogue(settings.schemas), given, datetime.now().date())
    own = settings.own_schemas
    with open_ledger(settings) as ledger, ExitStack() as stack:
        environments = Environments(settings, stack, announce)
        yield Batch(read, ledger, environments, None if own is None else own.resolve())


@contextmanager
def open_known_batch(
    batch_id: str, settings: Settings, announce: Callable[[Text], None]
) -> Iterator[Batch]:
    """Open a batch that was begun.

    Its own resources are those that it was run with, where the settings name no others. Raises
    ``UsageError`` when there is none, its plan is another batch's by now, or the folder of its own
    resources is gone.
    """
    with open_ledger(settings) as ledger:
        known = ledger.batch(batch_id)
    if known.own_schemas is not None and settings.own_schemas is None:
        if not known.own_schemas.is_dir():
            raise UsageError(
                _SCHEMAS_GONE.format(id=known.id, folder=known.own_schemas), _HOW_TO_NAME_SCHEMAS
            )
        settings = replace(settings, own_schemas=known.own_schemas)
    with open_batch(known.plan, known.parameters, settings, announce) as batch:
        if batch.id != known.id:
            raise UsageError(
                _RENAMED.format(id=known.id, plan=known.plan, now=batch.id),
                _HOW_TO_GO_ON.format(now=batch.id, plan=as_argument(known.plan)),
            )
        yield batch


_RENAMED = Text(
    pt="O plano do lote {id}, {plan}, agora é do lote {now}: o nome ou os parâmetros mudaram.",
    en="The plan of the batch {id}, {plan}, is now that of the batch {now}: its name or its "
    "parameters were changed.",
)
_HOW_TO_GO_ON = Text(
    pt="Desfaça a mudança para continuar o lote, ou comece o outro: xlbridge batch run {plan}",
    en="Undo the change to go on with the batch, or begin the other: xlbridge batch run {plan}",
)
_SCHEMAS_GONE = Text(
    pt="A pasta com os recursos próprios do lote {id} não está mais lá: {folder}.",
    en="The folder with the own resources of the batch {id} is no longer there: {folder}.",
)
_HOW_TO_NAME_SCHEMAS = Text(
    pt="Ponha-a de volta, ou diga onde ela está: --schemas PASTA.",
    en="Put it back, or say where it is: --schemas DIR.",
)
