"""Options of a run of a batch, what it asks for before it sends, its progress and its outcome."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from xlbridge.batch.plan.steps import WorkbookStep
from xlbridge.batch.status import StepOverview
from xlbridge.errors import LocalFailure, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.parallel import Executor
from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import Consent

if TYPE_CHECKING:
    from xlbridge.batch.proof.verdict import WrittenProof

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
    def proofs_settled(self) -> bool:
        """True if the proofs leave nothing open."""
        return all(proof.settled for proof in self.proofs)
