"""Sending of a batch's workbooks, new or in part, and processing of the records of a step."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeGuard

import pandas as pd
from msgspec.structs import replace as replace_fields

from xlbridge.batch.batch import (
    Batch,
    RowCounts,
    UnitOverview,
    UnitStatus,
    failed_check_status,
    workbook_overview,
)
from xlbridge.batch.ledger import CheckRecord, JobRecord
from xlbridge.batch.plan.steps import (
    AnyStep,
    ProcessStep,
    SendOptions,
    WorkbookStep,
    file_digest,
)
from xlbridge.batch.status import StepOverview, last_processing, overview
from xlbridge.batch.workbook_checks import (
    BatchChecks,
    FileResult,
    StepWorkbook,
    error_texts,
    validate_workbook,
)
from xlbridge.errors import ApiError, UsageError
from xlbridge.i18n import Text
from xlbridge.upload import (
    Job,
    State,
    UploadOptions,
    Uploads,
)
from xlbridge.upload.planning import (
    CorrectedRows,
    NotRetriable,
    RowAction,
    RowReason,
    corrected_rows,
    has_sent_rows,
    may_be_sent,
    reason_lines,
)
from xlbridge.upload.processing import (
    RecordNumbers,
    create_processing,
    explicit_numbers,
    find_kind,
    numbers_in_sheet,
)
from xlbridge.validation import ValidatedSheet

_RETRIABLE = frozenset({State.PARTIAL, State.REJECTED})


@dataclass(frozen=True, slots=True)
class WorkbookSender:
    """Sender of the workbooks of a batch.

    ``options`` apply to each upload, except for those that the step sets. The workbooks of a step
    share one ``Uploads``, and so the records found for their links.
    """

    batch: Batch
    options: UploadOptions
    _uploads_of: dict[str, Uploads] = field(default_factory=dict)

    def send(self, target: StepWorkbook) -> None:
        """Send a workbook as far as possible: resume its jobs, then send what was never sent.

        Raises ``UsageError`` if the workbook cannot be sent as it is, ``JournalError`` if another
        upload has sent rows of it, and what ``Uploads.run`` raises.
        """
        self._resume_jobs(target, workbook_overview(self.batch, target.step, target.workbook))
        unit = workbook_overview(self.batch, target.step, target.workbook)
        if unit.status is UnitStatus.CHANGED and unit.jobs:
            result = self._prepared(target, validate_workbook(self.batch, target))
            first, context = unit.jobs[0], self.batch.environments.context(target.step.profile)
            if isinstance(result, ValidatedSheet) and has_sent_rows(context, first, result):
                self._record_job(target, first)
        elif unit.status in {UnitStatus.PARTIAL, UnitStatus.INVALID, UnitStatus.REFUSED}:
            if unit.jobs:
                self._send_corrected(target, unit)
        elif not unit.jobs or all(job.state.is_unsent for job in unit.jobs):
            self._send_whole(target)

    def planned(
        self,
        target: StepWorkbook,
        result: FileResult,
        unit: UnitOverview,
        waits_for: Sequence[str],
    ) -> UnitOverview:
        """Return the unit with the planned actions of its rows; nothing is written.

        Names that the system does not have may belong to records that the steps in ``waits_for``
        will create. Raises what ``Uploads.plan`` raises.
        """
        prepared = self._prepared(target, result)
        if not _is_sendable(prepared):
            error = _not_sendable(target.workbook.path, prepared, waits_for)
            return replace(unit, problem=error.message)
        plan = self._uploads(target).plan(prepared, self._options(target)).plan
        count = len(plan.rows) - plan.not_records
        held = plan.rows.select(
            lambda action, reason: action is RowAction.HELD and reason is not RowReason.NO_RECORD
        )
        columns = {} if prepared.resource is None else prepared.resource.by_path
        return replace(
            unit,
            rows=RowCounts(read=count, unsent=count),
            actions=plan.counts,
            held=tuple(reason_lines((plan.rows[position] for position in held), columns)),
        )

    def _resume_jobs(self, target: StepWorkbook, unit: UnitOverview) -> None:
        """Resume unfinished jobs; one that has sent nothing only if the workbook is unchanged."""
        sent = self.batch.last_job(target.step, target.workbook.name)
        unchanged = sent is not None and sent.sha256 == target.workbook.sha256
        for job in unit.jobs:
            if not job.state.is_final and (unchanged or not job.state.is_unsent):
                self._run(target, job)

    def _send_whole(self, target: StepWorkbook) -> None:
        sheet = self._revalidated(target)
        if sheet.resource is None or target.step.sending is None:
            return
        job = self._uploads(target).create(sheet, self._options(target))
        self._record_job(target, job)
        self._run(target, job)

    def _send_corrected(self, target: StepWorkbook, unit: UnitOverview) -> None:
        """Send corrected rows, from the workbook itself or its rejects workbook."""
        sent = self.batch.last_job(target.step, target.workbook.name)
        first = unit.jobs[0]
        gone = not target.workbook.sha256
        changed = not gone and (sent is None or sent.sha256 != target.workbook.sha256)
        if changed and first.state is State.REJECTED:
            self._send_whole(target)
            return
        if changed and (first.state in _RETRIABLE or first.held):
            sheet = self._revalidated(target)
            context = self.batch.environments.context(target.step.profile)
            self._retry(target, corrected_rows(context, first, sheet, in_place=True))
            self._record_job(target, first)
            return
        for job in reversed(unit.jobs):
            corrected = self._corrected_rejects(target, job)
            if corrected is not None:
                self._retry(target, corrected)

    def _corrected_rejects(self, target: StepWorkbook, job: Job) -> CorrectedRows | None:
        """Return the corrected rows of a job's rejects workbook, None if there are none."""
        rejects = job.last("rejects_file")
        retriable = job.state in _RETRIABLE or job.held > 0
        if not retriable or rejects is None or not Path(rejects).exists():
            return None
        context = self.batch.environments.context(target.step.profile)
        book = replace(target.workbook, path=Path(rejects), sha256=file_digest(Path(rejects)))
        step = replace_fields(target.step, resource=job.spec.resource, sheet=None, links={})
        result = validate_workbook(self.batch, StepWorkbook(step, book))
        if not _is_sendable(result):
            raise _not_sendable(Path(rejects), result)
        try:
            return corrected_rows(context, job, result)
        except NotRetriable:
            # No row was corrected, or all corrected rows were sent already.
            return None

    def _options(self, target: StepWorkbook) -> UploadOptions:
        """Return the upload options with those that the step sets."""
        sending = target.step.sending or SendOptions()
        return sending.over(self.options)

    def _retry(self, target: StepWorkbook, corrected: CorrectedRows) -> None:
        options = self._options(target)
        try:
            job = self._uploads(target).create_retry(corrected, options, require_changes=True)
        except NotRetriable:
            # No row would change.
            return
        self._run(target, job)

    def _prepared(self, target: StepWorkbook, result: FileResult) -> FileResult:
        """Remove columns that are not sent, and resolve record names to codes."""
        if isinstance(result, ValidatedSheet) and target.step.sending is not None:
            result = _without_columns(result, target.step.sending.leave_out)
        if not _is_sendable(result) or result.resource is None or result.resource.base is None:
            return result
        return self._uploads(target).with_codes(result)

    def _revalidated(self, target: StepWorkbook) -> ValidatedSheet:
        """Validate a workbook again, so that what is sent is what was validated."""
        result = self._prepared(target, validate_workbook(self.batch, target))
        if not _is_sendable(result):
            raise _not_sendable(target.workbook.path, result)
        if file_digest(target.workbook.path) != target.workbook.sha256:
            raise UsageError(
                Text(
                    pt="{file} mudou durante a execução do lote; nada dele foi enviado.",
                    en="{file} was changed while the batch was running; nothing of it was sent.",
                ).format(file=target.workbook.path)
            )
        return result

    def _record_job(self, target: StepWorkbook, job: Job) -> None:
        sent = JobRecord(target.workbook.sha256, job.id)
        self.batch.record_job(target.step, target.workbook.name, sent)

    def _run(self, target: StepWorkbook, job: Job) -> None:
        self._uploads(target).run(job, self._options(target))

    def _uploads(self, target: StepWorkbook) -> Uploads:
        environments, profile = self.batch.environments, target.step.profile
        if target.step.name not in self._uploads_of:
            context, client = environments.context(profile), environments.client(profile)
            self._uploads_of[target.step.name] = Uploads(context, client)
        return self._uploads_of[target.step.name]


def _without_columns(sheet: ValidatedSheet, names: Collection[str]) -> ValidatedSheet:
    """Return a sheet without some of its columns."""
    present = [name for name in names if name in sheet.columns]
    if not present:
        return sheet
    frame = sheet.frame.copy(deep=False)
    for name in present:
        frame[name] = pd.Series(pd.NA, index=frame.index).astype(frame[name].dtype)
    columns = {name: number for name, number in sheet.columns.items() if name not in present}
    return replace(sheet, frame=frame, columns=columns)


def _is_sendable(result: FileResult) -> TypeGuard[ValidatedSheet]:
    """Return whether rows of a workbook may be sent; rows that are not records are ignored."""
    return isinstance(result, ValidatedSheet) and may_be_sent(result, good_rows=False)


_ERRORS = Text(
    pt="{file} tem {n} {n:erro|erros}; o primeiro: {first}",
    en="{file} has {n} {n:error|errors}; the first: {first}",
)
_NAMES_TO_COME = Text(
    pt="{file}: nomes que o sistema ainda não tem: {n} (o primeiro, em {cell}). São procurados de "
    "novo depois de: {steps}.",
    en="{file}: names that the system does not have yet: {n} (the first, in {cell}). They are "
    "looked up again after: {steps}.",
)


def _not_sendable(path: Path, result: FileResult, waits_for: Sequence[str] = ()) -> UsageError:
    if not isinstance(result, ValidatedSheet):
        return UsageError(result.refusal.message, result.refusal.hint)
    errors = [finding for sheet in result.with_children for finding in sheet.error_findings()]
    count = sum(sheet.errors for sheet in result.with_children)
    if waits_for and all(finding.kind.code == "link-unknown" for finding in errors):
        names = ", ".join(waits_for)
        return UsageError(
            _NAMES_TO_COME.format(file=path.name, n=count, cell=errors[0].cell, steps=names)
        )
    return UsageError(_ERRORS.format(file=path.name, n=count, first=next(error_texts(result))))


def plan_batch(batch: Batch, options: UploadOptions) -> list[StepOverview]:
    """Return the status of each step, with the planned actions of workbooks that were never sent.

    Workbooks are validated, also against one another, and their records looked up; nothing is
    written, not even to the ledger. ``problem`` of a unit says why it could not be planned. Raises
    ``ConfigError`` if an environment cannot be used at all, and what ``Client.records`` raises.
    """
    sender, checks = WorkbookSender(batch, options), BatchChecks(batch)
    steps = [
        replace(
            state,
            units=tuple(
                _with_actions(sender, checks, state.step, unit, state.waits_for)
                if isinstance(state.step, WorkbookStep) and state.step.sending is not None
                else unit
                for unit in state.units
            ),
        )
        for state in overview(batch)
    ]
    failed = {
        (target.step.name, target.workbook.name): check
        for target, check, _ in checks.results()
        if not check.ok
    }
    return [
        replace(state, units=tuple(_with_check(state.step, unit, failed) for unit in state.units))
        for state in steps
    ]


def _with_actions(
    sender: WorkbookSender,
    checks: BatchChecks,
    step: WorkbookStep,
    unit: UnitOverview,
    waits_for: Sequence[str],
) -> UnitOverview:
    target = StepWorkbook.of_unit(sender.batch, step, unit)
    if unit.jobs or unit.status not in _TO_PLAN:
        if unit.jobs and unit.status is not UnitStatus.DONE:
            checks.add_unsettled(target)
        return unit
    result = validate_workbook(sender.batch, target)
    checks.add(target, result)
    try:
        return sender.planned(target, result, unit, waits_for)
    except ApiError as error:
        return replace(unit, status=UnitStatus.FAILED, problem=error.message)
    except UsageError as error:
        return replace(unit, status=UnitStatus.HELD, problem=error.message)


def _with_check(
    step: AnyStep, unit: UnitOverview, failed: Mapping[tuple[str, str], CheckRecord]
) -> UnitOverview:
    """Return a planned unit, without actions if it failed the checks."""
    check = failed.get((step.name, unit.name))
    if check is None:
        return unit
    rows = RowCounts(check.rows, unsent=check.rows)
    status = failed_check_status(check)
    return UnitOverview(unit.name, status, rows, (), check, check.problem, unit.sha256)


_TO_PLAN = frozenset(
    {UnitStatus.NEW, UnitStatus.CHANGED, UnitStatus.INVALID, UnitStatus.REFUSED, UnitStatus.FAILED}
)


def run_processing(batch: Batch, step: ProcessStep, options: UploadOptions) -> None:
    """Process the records of a step: resume an unfinished job, else create one.

    ``options.consent`` is called before anything is sent. Raises ``UsageError`` if a record has no
    number, and what ``Uploads.run`` raises.
    """
    context = batch.environments.context(step.profile)
    client = batch.environments.client(step.profile)
    job = last_processing(batch, step)
    if job is None or job.state.is_final:
        kind = find_kind(step.listing)
        job = create_processing(context, client, kind, _numbers(batch, step), options)
        batch.record_job(step, step.source, JobRecord("", job.id))
    Uploads(context, client).run(job, options)


def _numbers(batch: Batch, step: ProcessStep) -> RecordNumbers:
    if step.file is not None:
        limits = batch.environments.context(step.profile).settings.limits
        path = batch.plan.file(step.file)
        return numbers_in_sheet(path, find_kind(step.listing), limits)
    codes = list(_codes_of_step(batch, step))
    if not all(code.isdecimal() for code in codes) or not codes:
        raise UsageError(_NO_NUMBERS.format(step=step.records_of))
    return explicit_numbers([int(code) for code in codes])


def _codes_of_step(batch: Batch, step: ProcessStep) -> Iterator[str]:
    """Yield the codes of the records that the workbooks of a step have written or found."""
    # A plan without processing steps does not need this import.
    from xlbridge.upload.results import row_statuses, with_retries

    uploads = (other for other in batch.plan.steps if isinstance(other, WorkbookStep))
    sending = next(other for other in uploads if other.name == step.records_of)
    context = batch.environments.context(sending.profile)
    for file in batch.sent_files(sending):
        sent = batch.last_job(sending, file)
        if sent is None:
            continue
        for job, _ in with_retries(context.journal, context.journal.job(sent.job)):
            yield from (row.code for row in row_statuses(context, job).values() if row.code)


_NO_NUMBERS = Text(
    pt="A etapa {step} não tem números de registros no sistema para processar.",
    en="The step {step} has no numbers of records in the system to process.",
)
