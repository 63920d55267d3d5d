"""The work of ``xlbridge batch run``, ``resume`` and ``proof``."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from xlbridge.batch.batch import Batch
from xlbridge.batch.checking import Checked
from xlbridge.batch.overview import StepState, overview
from xlbridge.batch.proving import prove, require_place
from xlbridge.batch.running import BatchRun, Way
from xlbridge.batch.written_proof import WrittenProof
from xlbridge.cli.batch.consent import Consent
from xlbridge.cli.batch.session import exit_code, print_batch
from xlbridge.cli.environment import asked_settings
from xlbridge.cli.exit_codes import ExitCode, exit_code_of
from xlbridge.cli.output import complain, remark
from xlbridge.cli.progress import working
from xlbridge.cli.spread import carrier_for, cluster_of
from xlbridge.errors import ApiError, UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.upload.journal.lock import held
from xlbridge.upload.options import RunOptions
from xlbridge.validation.reports.html_report import report_html
from xlbridge.workbook.atomic import replacing, reporting_failures

_HELD = Text(
    pt="O lote {id} já está correndo em outro processo.",
    en="The batch {id} is being run by another process already.",
)
_GO_ON = Text(
    pt="Para continuar: xlbridge batch resume {id}",
    en="To go on: xlbridge batch resume {id}",
)


def go_on(
    batch: Batch,
    *,
    yes: bool,
    confirm: str | None,
    all_or_nothing: bool,
    workers: int | None,
    scheduler: str | None,
    form: str,
) -> ExitCode:
    """Check, send, export and prove what is not done yet, and print how the batch stands then."""
    require_place(batch)
    way = Way(
        agree=Consent(batch, yes, confirm),
        options=RunOptions(consent=lambda _job, _seen: True),
        all_or_nothing=all_or_nothing,
        carrier_for=partial(carrier_for, workers=workers, scheduler=scheduler),
        cluster=None if scheduler is None else partial(cluster_of, scheduler),
        phase=working,
    )
    try:
        with held(asked_settings().home, f"batch-{batch.id}", _HELD.format(id=batch.id)):
            ran = BatchRun(batch, way).go()
    except (KeyboardInterrupt, ApiError):
        remark(_GO_ON.format(id=batch.id))
        raise
    findings, unwritten = _leave_findings(batch, ran.checked)
    proofs, failure = _prove(batch, ran.steps) if ran.worked else ([], None)
    print_batch(batch, ran.steps, form, proofs, findings)
    if failure is not None:
        raise failure
    return max(exit_code(ran.steps) or _of_proofs(proofs), unwritten)


def prove_again(batch: Batch, form: str) -> ExitCode:
    """Write the closing proof of a batch as it stands, and print how it does."""
    steps = overview(batch)
    proofs, failure = _prove(batch, steps)
    if failure is not None:
        raise failure
    print_batch(batch, steps, form, proofs)
    return _of_proofs(proofs)


def _leave_findings(batch: Batch, checked: Checked) -> tuple[Path | None, ExitCode]:
    """Leave the page of findings; where it cannot be written, say so: the rest is told anyway."""
    try:
        return _write_findings(batch, checked), ExitCode.GOOD
    except UsageError as error:
        complain(error)
        return None, exit_code_of(error)


def _write_findings(batch: Batch, checked: Checked) -> Path | None:
    """Leave a page with all that is wrong in the workbooks, and return where it is; none where
    nothing is."""
    page = batch.plan.folder / f"{batch.plan.proof}-findings.html"
    if not checked.bad:
        with reporting_failures(page):
            page.unlink(missing_ok=True)
        return None
    with reporting_failures(page):
        page.parent.mkdir(parents=True, exist_ok=True)
    with replacing(page) as temporary:
        temporary.write_text(report_html(checked.bad), encoding="utf-8")
    return page


def _prove(
    batch: Batch, steps: Sequence[StepState]
) -> tuple[list[WrittenProof], XlbridgeError | None]:
    """Write the closing proof; where the system cannot be asked, return why with what there is."""
    written: list[WrittenProof] = []
    try:
        with working(Text(pt="Lendo de volta", en="Reading back")) as activity:
            written.extend(prove(batch, steps, datetime.now(), activity.tell))
    except XlbridgeError as error:
        return written, error
    return written, None


def _of_proofs(proofs: Sequence[WrittenProof]) -> ExitCode:
    settled = all(one.settled for one in proofs)
    return ExitCode.GOOD if settled else ExitCode.DATA_ERRORS
