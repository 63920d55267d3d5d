"""The use case of a batch run: lock, run, findings page, closing proofs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from xlbridge.batch.batch import Batch, UnitOverview, UnitStatus
from xlbridge.batch.checks import CheckResult, StepWorkbook
from xlbridge.batch.plan import WorkbookFile, WorkbookStep
from xlbridge.batch.proof.builder import require_proof_folder, write_proofs
from xlbridge.batch.proof.verdict import WrittenProof
from xlbridge.batch.run import BatchRun, BatchRunOptions, OpenProgress
from xlbridge.batch.sender import WorkbookSender
from xlbridge.batch.status import StepOverview, overview
from xlbridge.errors import ApiError, LocalFailure, UsageError, WorkbookRefused, XlbridgeError
from xlbridge.files import lock_or_fail, report_write_errors
from xlbridge.i18n import Text
from xlbridge.upload import UploadOptions
from xlbridge.validation.reports import FORMS, Report


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
    proofs: list[WrittenProof] = field(default_factory=list)
    proof_error: XlbridgeError | None = None
    failure: LocalFailure | None = None


def run_batch(batch: Batch, options: BatchRunOptions) -> BatchOutcome:
    """Check, send and export what is not done yet; write the findings page and the proofs.

    Proofs are only written where something was sent or exported. Raises ``UsageError`` where the
    proofs cannot be written or another process runs the batch, and what ``BatchRun.run`` raises.
    """
    require_proof_folder(batch)
    held = _ALREADY_RUNNING.format(id=batch.id)
    with lock_or_fail(batch.environments.settings.home, f"batch-{batch.id}", held):
        result = BatchRun(batch, options).run()
    outcome = BatchOutcome(result.steps, failure=result.failure)
    try:
        outcome.findings_page = _write_findings_page(batch, result.checked)
    except (UsageError, LocalFailure) as error:
        outcome.findings_error = error
    if result.worked:
        _write_proofs(batch, outcome, options.progress)
    return outcome


def is_settled(batch: Batch) -> bool:
    """Tell whether nothing that the batch has sent is in doubt; not so where nobody can tell."""
    try:
        jobs = [
            (batch.environments.context(state.step.profile).journal, job)
            for state in overview(batch)
            for unit in state.units
            for job in unit.jobs
        ]
        return all(journal.is_settled(job) for journal, job in jobs)
    except LocalFailure:
        return False


def plan_batch(batch: Batch, options: UploadOptions) -> list[StepOverview]:
    """Return the status of each step, with the planned actions of what was never sent.

    Workbooks are validated and their records looked up; nothing is written, not even here. A
    workbook with errors, or whose records cannot be asked for, says so in its ``problem``. Raises
    ``ConfigError`` where an environment cannot be used at all.
    """
    sender = WorkbookSender(batch, options)
    return [
        replace(
            state,
            units=tuple(
                _with_actions(sender, state.step, unit)
                if isinstance(state.step, WorkbookStep)
                else unit
                for unit in state.units
            ),
        )
        for state in overview(batch)
    ]


def _with_actions(sender: WorkbookSender, step: WorkbookStep, unit: UnitOverview) -> UnitOverview:
    if step.sending is None or unit.jobs or unit.status not in _TO_PLAN:
        return unit
    path = sender.batch.plan.folder / unit.name
    target = StepWorkbook(step, WorkbookFile(path, unit.name, unit.sha256))
    try:
        return replace(unit, actions=sender.plan(target).counts)
    except (UsageError, ApiError, WorkbookRefused) as error:
        return replace(unit, problem=error.message)


_TO_PLAN = frozenset(
    {UnitStatus.NEW, UnitStatus.CHANGED, UnitStatus.INVALID, UnitStatus.REFUSED, UnitStatus.FAILED}
)


def prove_batch(batch: Batch, progress: OpenProgress) -> BatchOutcome:
    """Write the closing proofs of a batch as it is now, one for each environment.

    Where a system cannot be asked, the proofs before it stay, and ``proof_error`` says why.
    """
    outcome = BatchOutcome(overview(batch))
    _write_proofs(batch, outcome, progress)
    return outcome


def _write_proofs(batch: Batch, outcome: BatchOutcome, progress: OpenProgress) -> None:
    try:
        with progress(Text(pt="Lendo de volta", en="Reading back"), 1) as reading:
            outcome.proofs.extend(write_proofs(batch, outcome.steps, datetime.now(), reading.tell))
    except XlbridgeError as error:
        outcome.proof_error = error


def _write_findings_page(batch: Batch, checked: CheckResult) -> Path | None:
    """Write a page with all errors of the workbooks and return its path, None without errors."""
    page = batch.plan.folder / f"{batch.plan.proof}-findings.html"
    if not checked.failed:
        with report_write_errors(page):
            page.unlink(missing_ok=True)
        return None
    with report_write_errors(page):
        page.parent.mkdir(parents=True, exist_ok=True)
    FORMS["html"].write(Report.of(checked.failed), page)
    return page


_ALREADY_RUNNING = Text(
    pt="O lote {id} já está correndo em outro processo.",
    en="The batch {id} is being run by another process already.",
)
