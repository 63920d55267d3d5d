"""Work of ``xlbridge batch run``, ``resume`` and ``proof``: consent, progress, report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from xlbridge.batch import (
    Batch,
    BatchRunOptions,
    ConsentRequest,
    is_settled,
    prove_batch,
    run_batch,
)
from xlbridge.batch.proof import WrittenProof
from xlbridge.cli.batch_common import batch_exit_code, print_batch
from xlbridge.cli.consent import ask_for_token, ask_yes_or_no, yes_in_production
from xlbridge.cli.exit_codes import ExitCode, exit_code_of, gravest
from xlbridge.cli.output import print_error, remark
from xlbridge.cli.progress import show_progress
from xlbridge.errors import ApiError, LocalFailure, UsageError
from xlbridge.i18n import Text
from xlbridge.parallel import cluster_executor, executor_for
from xlbridge.upload import Confirmed, ConsentRequest as JobConsentRequest, UploadOptions


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
            raise yes_in_production(_token_hint(request))
        return self.yes or _ask(request, production)

    def _production(self, request: ConsentRequest) -> bool:
        profiles = {step.profile for step, _, _ in request.rows}
        return any(
            self.batch.environments.client(profile).target.production for profile in profiles
        )


@dataclass(frozen=True, slots=True)
class ProcessingConsentPrompt:
    """Shows the records that a step will process, and asks for consent as ``process`` does."""

    yes: bool
    confirm: str | None

    def __call__(self, request: JobConsentRequest) -> bool:
        for line in request.lines():
            remark(line)
        hint = _PROCESSING_HINT.format(token=request.token)
        if self.confirm is not None:
            return Confirmed(self.confirm)(request)
        if not request.target.production:
            return self.yes or ask_yes_or_no(hint)
        if self.yes:
            raise yes_in_production(hint)
        answer = ask_for_token(hint)
        return bool(answer) and Confirmed(answer)(request)


_PROCESSING_HINT = Text(
    pt="Nada foi processado neste passo. A confirmação dele é --confirm {token}",
    en="Nothing was processed in this step. Its confirmation is --confirm {token}",
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


_HOW_TO_RESUME = Text(
    pt="Para continuar: xlbridge batch resume {id}",
    en="To go on: xlbridge batch resume {id}",
)


def run(
    batch: Batch,
    *,
    yes: bool,
    confirm: str | None,
    all_or_nothing: bool,
    workers: int | None,
    scheduler: str | None,
    form: str,
) -> ExitCode:
    """Check, send, export and prove what is not done yet, and print the status of the batch."""
    options = BatchRunOptions(
        consent=BatchConsentPrompt(batch, yes, confirm),
        upload=UploadOptions(consent=lambda _request: True),
        consent_to_processing=ProcessingConsentPrompt(yes, confirm),
        all_or_nothing=all_or_nothing,
        executor_for=partial(executor_for, workers=workers, scheduler=scheduler),
        cluster_executor=None if scheduler is None else partial(cluster_executor, scheduler),
        progress=show_progress,
    )
    try:
        outcome = run_batch(batch, options)
    except (KeyboardInterrupt, ApiError):
        remark(_HOW_TO_RESUME.format(id=batch.id))
        raise
    except LocalFailure as error:
        remark(_HOW_TO_RESUME.format(id=batch.id))
        if is_settled(batch):
            raise
        print_error(error)
        return ExitCode.IN_DOUBT
    if outcome.findings_error is not None:
        print_error(outcome.findings_error)
    print_batch(batch, outcome.steps, form, outcome.proofs, outcome.findings_page)
    if outcome.proof_error is not None:
        print_error(outcome.proof_error)
    if outcome.failure is not None and not is_settled(batch):
        return ExitCode.IN_DOUBT
    errors = (outcome.findings_error, outcome.failure, outcome.proof_error)
    done = batch_exit_code(outcome.steps) or _proof_exit_code(outcome.proofs)
    return gravest([done, *(exit_code_of(error) for error in errors if error is not None)])


def prove(batch: Batch, form: str) -> ExitCode:
    """Write the closing proofs of a batch as it is now, and print its status."""
    outcome = prove_batch(batch, show_progress)
    if outcome.proof_error is not None:
        raise outcome.proof_error
    print_batch(batch, outcome.steps, form, outcome.proofs)
    return _proof_exit_code(outcome.proofs)


def _proof_exit_code(proofs: Sequence[WrittenProof]) -> ExitCode:
    settled = all(one.settled for one in proofs)
    return ExitCode.GOOD if settled else ExitCode.DATA_ERRORS
