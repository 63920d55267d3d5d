"""Interface of batch runs for callers: opening, options, consent, progress and outcome."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge.batch.batch import Batch, Environments
from xlbridge.batch.ledger import open_ledger
from xlbridge.batch.plan_reader import local_date, read_plan
from xlbridge.batch.plan_steps import WorkbookStep
from xlbridge.batch.status import StepOverview, overview, proof_paths, proven_profiles
from xlbridge.errors import LocalFailure, UsageError, XlbridgeError
from xlbridge.files import as_arguments
from xlbridge.i18n import Text
from xlbridge.parallel import Executor
from xlbridge.resources import load_catalogue
from xlbridge.settings import Settings
from xlbridge.titles import OpenProgress, WorkProgress
from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import Consent, RowAction, action_counts

if TYPE_CHECKING:
    from xlbridge.batch.proof_model import WrittenProof
    from xlbridge.upload.results import ControlTotals


@contextmanager
def open_batch(
    path: Path, parameters: Mapping[str, str], settings: Settings, announce: Callable[[Text], None]
) -> Iterator[Batch]:
    """Read a plan, and open its ledger and environments.

    Raises ``UsageError`` and ``PlanFileError`` as ``read_plan`` does.
    """
    today = partial(local_date, settings)
    plan = read_plan(path, load_catalogue(settings.schemas), parameters, today)
    schemas = settings.custom_schemas
    with open_ledger(settings) as ledger, ExitStack() as stack:
        environments = Environments(settings, stack, announce)
        yield Batch(plan, ledger, environments, None if schemas is None else schemas.resolve())


@contextmanager
def open_known_batch(
    batch_id: str, settings: Settings, announce: Callable[[Text], None]
) -> Iterator[Batch]:
    """Open a batch that was started.

    Its own resources are those of its last run, unless the settings name others. Raises
    ``UsageError`` if there is no such batch, its plan now belongs to another batch, or the folder
    of its own resources is gone.
    """
    with open_ledger(settings, creates=False) as ledger:
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
                _HOW_TO_GO_ON.format(now=batch.id, plan=as_arguments(known.plan)),
            )
        yield batch


_RENAMED = Text(
    pt="O plano do lote {id}, {plan}, agora é do lote {now}: o nome ou os parâmetros mudaram.",
    en="The plan of the batch {id}, {plan}, now belongs to the batch {now}: its name or its "
    "parameters were changed.",
)
_HOW_TO_GO_ON = Text(
    pt="Desfaça a mudança para continuar o lote, ou comece o outro: xlbridge batch run {plan}",
    en="Undo the change to continue the batch, or start the other: xlbridge batch run {plan}",
    page=Text(
        pt="Desfaça a mudança para continuar o lote, ou comece outro em Lotes.",
        en="Undo the change to continue the batch, or begin another under Batches.",
    ),
)
_SCHEMAS_GONE = Text(
    pt="A pasta com os recursos próprios do lote {id} não está mais lá: {folder}.",
    en="The folder with the batch {id}'s own resources is gone: {folder}.",
)
_HOW_TO_NAME_SCHEMAS = Text(
    pt="Ponha-a de volta, ou diga onde ela está: --schemas PASTA.",
    en="Put it back, or say where it is: --schemas FOLDER.",
    page=Text(
        pt="Ponha-a de volta.",
        en="Put it back.",
    ),
)


_DIGEST_LENGTH = 8

ExecutorFor = Callable[[Sequence[Path]], AbstractContextManager[Executor | None]]


@dataclass(frozen=True, slots=True)
class StepWrites:
    """Rows of a step that a run would write: its workbooks, and the rows by planned action.

    ``later`` counts the rows of a step that waits for others: they are planned after these, and not
    more are written. ``undone`` counts rows that were reversed, and would be sent again. ``unread``
    explains why rows are created without looking them up. ``totals`` are those of the planned rows,
    None without any.
    """

    step: WorkbookStep
    files: int
    actions: Mapping[str, int]
    later: int = 0
    undone: int = 0
    unread: Sequence[Text] = ()
    totals: "ControlTotals | None" = None

    def texts(self) -> Iterator[Text]:
        """Yield what is written, in words."""
        yield from action_counts(self.actions)
        if self.later:
            yield _LATER.format(n=self.later, steps=", ".join(self.step.after))
        if self.undone:
            yield _UNDONE.format(n=self.undone)

    @property
    def amount(self) -> Decimal | None:
        """Amount of the planned rows, None if there is none."""
        return None if self.totals is None else self.totals.of_rows(self.totals.rows)

    @property
    def total(self) -> int:
        """Number of rows that are written at most."""
        return self.later + sum(n for name, n in self.actions.items() if RowAction(name).writes)


_LATER = Text(
    pt="até {n} {n:linha, planejada|linhas, planejadas} depois de: {steps}",
    en="up to {n} {n:row|rows}, planned after: {steps}",
)
_UNDONE = Text(
    pt="entre elas, {n} {n:linha desfeita|linhas desfeitas} antes, a incluir de novo",
    en="among them {n} {n:row|rows} undone before, to be created again",
)


@dataclass(frozen=True, slots=True)
class BatchConsentRequest:
    """Request for consent before anything is sent: what is written of each step, by action.

    ``failed`` counts the workbooks that are not sent because they have errors. ``digest`` covers
    the plan of each workbook.
    """

    steps: tuple[StepWrites, ...]
    failed: int
    digest: str

    @property
    def total(self) -> int:
        """Number of rows that are written at most."""
        return sum(step.total for step in self.steps)

    @property
    def undone(self) -> int:
        """Number of rows that were reversed, and would be sent again."""
        return sum(step.undone for step in self.steps)

    @property
    def token(self) -> str:
        """Token that consents to exactly these writes: ``ROWS:DIGEST8``."""
        return f"{self.total}:{self.digest[:_DIGEST_LENGTH]}"

    def require(self, token: str, hint: Text) -> bool:
        """Return True. Raises ``UsageError`` with a hint if the token confirms other writes."""
        if token.strip().casefold() == self.token:
            return True
        raise UsageError(_OTHER_TOKEN.format(token=token), hint)


_OTHER_TOKEN = Text(
    pt="A confirmação {token!r} não é a deste lote.", en="{token!r} does not confirm this batch."
)


@dataclass(frozen=True, slots=True)
class BatchRunOptions:
    """Options of a run.

    ``consent`` is called once, before anything is sent; ``consent_to_processing`` before each step
    that processes records, as they are not known earlier. ``all_or_nothing`` sends nothing if any
    workbook has errors. ``executor_for`` opens the executor that validates the files, None for this
    process.
    """

    consent: Callable[[BatchConsentRequest], bool]
    upload: UploadOptions
    consent_to_processing: Consent = lambda _request: False
    all_or_nothing: bool = False
    executor_for: ExecutorFor = lambda _files: nullcontext()
    progress: OpenProgress = lambda _title, _total: nullcontext(WorkProgress())


@dataclass(slots=True)
class BatchOutcome:
    """Outcome of a batch run: the status of each step, and the files written about it.

    ``idle`` is true if the run found nothing to check, send or export. ``confirm`` is the token
    that consents to what a plan would write.
    ``findings_page`` is None if no workbook has errors, or the page cannot be written because of
    ``findings_error``. ``proof_error`` is why a proof is missing, ``failure`` a failure of this
    computer at a unit.
    """

    steps: Sequence[StepOverview]
    findings_page: Path | None = None
    findings_error: XlbridgeError | None = None
    proofs: "list[WrittenProof]" = field(default_factory=list)
    proof_error: XlbridgeError | None = None
    failure: LocalFailure | None = None
    idle: bool = False
    confirm: str | None = None

    @classmethod
    def of(cls, batch: Batch) -> "BatchOutcome":
        """Return the status of a batch as it is now, without a run."""
        return cls(overview(batch))

    @property
    def errors(self) -> tuple[XlbridgeError, ...]:
        """The errors after which the run went on."""
        errors = (self.findings_error, self.proof_error, self.failure)
        return tuple(error for error in errors if error is not None)

    @property
    def is_unchanged(self) -> bool:
        """True if the batch was complete and proven before the run."""
        is_complete = self.idle and all(state.done for state in self.steps)
        return is_complete and not self.proofs and not self.errors

    @property
    def needs_person(self) -> bool:
        """True if a person has to correct something before the batch can be completed."""
        return any(unit.needs_person for state in self.steps for unit in state.units)

    def proof_files(self, batch: Batch) -> list[Path]:
        """Return the existing files of the batch's closing proofs, the page of each first."""
        paths = proof_paths(batch, proven_profiles(self.steps)).values()
        return [path for pair in paths for path in reversed(pair) if path.is_file()]

    @property
    def proofs_settled(self) -> bool:
        """True if the proofs leave nothing open."""
        return all(proof.settled for proof in self.proofs)
