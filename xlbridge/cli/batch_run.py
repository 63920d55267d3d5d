"""Work of ``xlbridge batch run``, ``resume`` and ``proof``: consent, run, findings page, proofs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from xlbridge.batch import (
    Batch,
    BatchRun,
    BatchRunOptions,
    CheckResult,
    ConsentRequest,
    StepOverview,
    overview,
)
from xlbridge.batch.proof import WrittenProof, require_proof_folder, write_proofs
from xlbridge.cli.batch_common import batch_exit_code, print_batch
from xlbridge.cli.consent import ask_for_token, ask_yes_or_no
from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.exit_codes import ExitCode, exit_code_of
from xlbridge.cli.output import print_error, remark, show_progress
from xlbridge.cli.workers import cluster_executor, executor_for
from xlbridge.errors import ApiError, UsageError, XlbridgeError
from xlbridge.files import lock_or_fail, report_write_errors
from xlbridge.i18n import Text
from xlbridge.upload import UploadOptions
from xlbridge.validation.reports import FORMS, Report


@dataclass(frozen=True, slots=True)
class BatchConsentPrompt:
    """Shows what will be sent and asks for consent, on the terminal or by what was given."""

    batch: Batch
    yes: bool
    confirm: str | None

    def __call__(self, request: ConsentRequest) -> bool:
        for line in _request_lines(self.batch, request):
            remark(line)
        if self.confirm is not None:
            _require_token(request, self.confirm)
            return True
        production = self._production(request)
        if self.yes and production:
            raise UsageError(
                Text(
                    pt="--yes não vale para um ambiente de produção.",
                    en="--yes is not for a production environment.",
                ),
                _token_hint(request),
            )
        return self.yes or _ask(request, production)

    def _production(self, request: ConsentRequest) -> bool:
        profiles = {step.profile for step, _, _ in request.rows}
        return any(
            self.batch.environments.client(profile).target.production for profile in profiles
        )


def _request_lines(batch: Batch, request: ConsentRequest) -> Iterator[Text]:
    for step, files, rows in request.rows:
        yield Text(
            pt="  {step} · {resource} para {profile} · arquivos: {files} · linhas: {rows}",
            en="  {step} · {resource} to {profile} · workbooks: {files} · rows: {rows}",
        ).format(
            step=step.name,
            resource=step.resource,
            profile=batch.environments.name(step.profile),
            files=files,
            rows=rows,
        )
    if request.failed:
        yield Text(
            pt="  {n:fica|ficam} de fora, com erros: {n} {n:arquivo|arquivos}",
            en="  left out, with errors: {n} {n:workbook|workbooks}",
        ).format(n=request.failed)
    yield Text(pt="  confirmação: {token}", en="  confirmation: {token}").format(
        token=request.token
    )


def _require_token(request: ConsentRequest, given: str) -> None:
    if given.strip().casefold() != request.token:
        raise UsageError(
            Text(
                pt="A confirmação {given!r} não é a deste lote.",
                en="The confirmation {given!r} is not that of this batch.",
            ).format(given=given),
            _token_hint(request),
        )


def _token_hint(request: ConsentRequest) -> Text:
    return Text(
        pt="Nada foi enviado. Confira o plano acima; a confirmação dele é --confirm {token}",
        en="Nothing was sent. Check the plan above; its confirmation is --confirm {token}",
    ).format(token=request.token)


def _ask(request: ConsentRequest, production: bool) -> bool:
    hint = _token_hint(request)
    if not production:
        return ask_yes_or_no(hint)
    answer = ask_for_token(hint)
    if answer:
        _require_token(request, answer)
    return bool(answer)


_ALREADY_RUNNING = Text(
    pt="O lote {id} já está correndo em outro processo.",
    en="The batch {id} is being run by another process already.",
)
_HOW_TO_RESUME = Text(
    pt="Para continuar: xlbridge batch resume {id}",
    en="To go on: xlbridge batch resume {id}",
)


def run_batch(
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
    require_proof_folder(batch)
    options = BatchRunOptions(
        consent=BatchConsentPrompt(batch, yes, confirm),
        upload=UploadOptions(consent=lambda _request: True),
        all_or_nothing=all_or_nothing,
        executor_for=partial(executor_for, workers=workers, scheduler=scheduler),
        cluster_executor=None if scheduler is None else partial(cluster_executor, scheduler),
        progress=show_progress,
    )
    try:
        with lock_or_fail(
            settings_without_profile().home,
            f"batch-{batch.id}",
            _ALREADY_RUNNING.format(id=batch.id),
        ):
            result = BatchRun(batch, options).run()
    except (KeyboardInterrupt, ApiError):
        remark(_HOW_TO_RESUME.format(id=batch.id))
        raise
    findings, unwritten = _save_findings(batch, result.checked)
    proofs, failure = _write_proofs(batch, result.steps) if result.worked else ([], None)
    print_batch(batch, result.steps, form, proofs, findings)
    if failure is not None:
        raise failure
    return max(batch_exit_code(result.steps) or _proof_exit_code(proofs), unwritten)


def write_proof_again(batch: Batch, form: str) -> ExitCode:
    """Write the closing proof of a batch as it stands, and print how it does."""
    steps = overview(batch)
    proofs, failure = _write_proofs(batch, steps)
    if failure is not None:
        raise failure
    print_batch(batch, steps, form, proofs)
    return _proof_exit_code(proofs)


def _save_findings(batch: Batch, checked: CheckResult) -> tuple[Path | None, ExitCode]:
    """Write the findings page; an error there is printed, and the rest reported anyway."""
    try:
        return _write_findings_page(batch, checked), ExitCode.GOOD
    except UsageError as error:
        print_error(error)
        return None, exit_code_of(error)


def _write_findings_page(batch: Batch, checked: CheckResult) -> Path | None:
    """Leave a page with all that is wrong in the workbooks, and return where it is; none where
    nothing is."""
    page = batch.plan.folder / f"{batch.plan.proof}-findings.html"
    if not checked.failed:
        with report_write_errors(page):
            page.unlink(missing_ok=True)
        return None
    with report_write_errors(page):
        page.parent.mkdir(parents=True, exist_ok=True)
    FORMS["html"].write(Report.of(checked.failed), page)
    return page


def _write_proofs(
    batch: Batch, steps: Sequence[StepOverview]
) -> tuple[list[WrittenProof], XlbridgeError | None]:
    """Write the closing proof; where the system cannot be asked, return why with what there is."""
    written: list[WrittenProof] = []
    try:
        with show_progress(Text(pt="Lendo de volta", en="Reading back")) as progress:
            written.extend(write_proofs(batch, steps, datetime.now(), progress.tell))
    except XlbridgeError as error:
        return written, error
    return written, None


def _proof_exit_code(proofs: Sequence[WrittenProof]) -> ExitCode:
    settled = all(one.settled for one in proofs)
    return ExitCode.GOOD if settled else ExitCode.DATA_ERRORS
