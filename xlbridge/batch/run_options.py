"""Runs of a batch as callers see them: opening, options, consent, progress and outcome."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from xlbridge.batch.batch import Batch, Environments
from xlbridge.batch.ledger import open_ledger
from xlbridge.batch.plan.reader import read_plan
from xlbridge.batch.plan.steps import WorkbookStep
from xlbridge.batch.status import StepOverview
from xlbridge.errors import LocalFailure, UsageError, XlbridgeError
from xlbridge.files import as_argument
from xlbridge.i18n import Text
from xlbridge.parallel import Executor
from xlbridge.resources import load_catalogue
from xlbridge.settings import Settings
from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import Consent

if TYPE_CHECKING:
    from xlbridge.batch.proof.verdict import WrittenProof


@contextmanager
def open_batch(
    plan: Path, given: Mapping[str, str], settings: Settings, announce: Callable[[Text], None]
) -> Iterator[Batch]:
    """Read a plan, and open the ledger and the environments that its batch works with.

    Raises ``UsageError`` and ``PlanFileError`` as ``read_plan`` does.
    """
    read = read_plan(plan, load_catalogue(settings.schemas), given, datetime.now().date())
    own = settings.custom_schemas
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
    if known.custom_schemas is not None and settings.custom_schemas is None:
        if not known.custom_schemas.is_dir():
            raise UsageError(
                _SCHEMAS_GONE.format(id=known.id, folder=known.custom_schemas), _HOW_TO_NAME_SCHEMAS
            )
        settings = replace(settings, custom_schemas=known.custom_schemas)
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
    en="The folder with the batch {id}'s own resources is no longer there: {folder}.",
)
_HOW_TO_NAME_SCHEMAS = Text(
    pt="Ponha-a de volta, ou diga onde ela está: --schemas PASTA.",
    en="Put it back, or say where it is: --schemas DIR.",
)


_DIGEST_LENGTH = 8

ExecutorFor = Callable[[Sequence[Path]], AbstractContextManager[Executor | None]]


class RunProgress(Protocol):
    """Progress of a phase of a run."""

    @property
    def tell(self) -> Callable[[Text], None]:
        """Show a message."""

    @property
    def advance(self) -> Callable[[], None]:
        """Count one more step as done."""


OpenProgress = Callable[[Text, int], AbstractContextManager[RunProgress]]
"""Opens the display of a phase by its title and its number of steps."""


@dataclass(frozen=True, slots=True)
class _NoProgress:
    tell: Callable[[Text], None] = lambda _text: None
    advance: Callable[[], None] = lambda: None


def _no_progress(_text: Text, _total: int) -> AbstractContextManager[RunProgress]:
    return nullcontext(_NoProgress())


@dataclass(frozen=True, slots=True)
class BatchConsentRequest:
    """Request for consent before anything is sent: the rows of each step, and a token.

    ``failed`` counts the workbooks that stay out because they have errors.
    """

    rows: tuple[tuple[WorkbookStep, int, int], ...]
    failed: int
    digest: str

    @property
    def total(self) -> int:
        """Number of rows that may be sent."""
        return sum(rows for _, _, rows in self.rows)

    @property
    def token(self) -> str:
        """Token that consents to just these workbooks: ``ROWS:DIGEST8``."""
        return f"{self.total}:{self.digest[:_DIGEST_LENGTH]}"


@dataclass(frozen=True, slots=True)
class BatchRunOptions:
    """Options of a run.

    ``consent`` is asked once, before anything is sent, ``consent_to_processing`` before the records
    of a step are processed, which only then are known. ``upload`` are the options of each upload.
    ``all_or_nothing`` sends nothing where any workbook has errors. ``executor_for`` opens the
    executor that validates the files, None for this process; ``cluster_executor`` the one that
    runs the exports. ``progress`` opens the display of a phase with a number of steps.
    """

    consent: Callable[[BatchConsentRequest], bool]
    upload: UploadOptions
    consent_to_processing: Consent = lambda _request: False
    all_or_nothing: bool = False
    executor_for: ExecutorFor = lambda _files: nullcontext()
    cluster_executor: Callable[[], AbstractContextManager[Executor]] | None = None
    progress: OpenProgress = _no_progress


@dataclass(slots=True)
class BatchOutcome:
    """Outcome of a batch run: the status of each step, and the files written about it.

    ``findings_page`` is None where no workbook has errors or the page cannot be written, for which
    ``findings_error`` is the reason. ``proof_error`` is why a proof is missing, ``failure`` how
    this computer failed at a unit.
    """

    steps: Sequence[StepOverview]
    findings_page: Path | None = None
    findings_error: XlbridgeError | None = None
    proofs: "list[WrittenProof]" = field(default_factory=list)
    proof_error: XlbridgeError | None = None
    failure: LocalFailure | None = None

    @property
    def needs_person(self) -> bool:
        """True if a person has to correct something before all can be done."""
        return any(unit.needs_person for state in self.steps for unit in state.units)

    @property
    def proofs_settled(self) -> bool:
        """True if the proofs leave nothing open."""
        return all(proof.settled for proof in self.proofs)
