"""Sender of one workbook of a batch, or of what is left of it, and of records to process.

Records that a step has sent, or that a sheet names, are processed once they are there.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeGuard

import pandas as pd

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
    WorkbookFile,
    WorkbookStep,
    file_digest,
)
from xlbridge.batch.status import StepOverview, last_processing, overview
from xlbridge.batch.workbook_checks import (
    GatheredSheets,
    JudgedFile,
    StepWorkbook,
    judge_workbook,
    told_errors,
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

    ``options`` are those of each upload; mode and size of parts are those of each step. What is
    found for the links of a workbook serves the others of its step.
    """

    batch: Batch
    options: UploadOptions
    _uploads_of: dict[str, Uploads] = field(default_factory=dict)

    def send(self, target: StepWorkbook) -> None:
        """Send a workbook as far as possible: begun jobs first, then what was never sent.

        Raises ``UsageError`` when the workbook cannot be sent as it is, ``JournalError`` when rows
        of it were sent otherwise, and what ``Uploads.run`` raises.
        """
        state = workbook_overview(self.batch, target.step, target.workbook)
        self._resume_jobs(target, state)
        state = workbook_overview(self.batch, target.step, target.workbook)
        if state.status is UnitStatus.CHANGED and state.jobs:
            judged = self._prepared(target, judge_workbook(self.batch, target))
            first, context = state.jobs[0], self.batch.environments.context(target.step.profile)
            if isinstance(judged, ValidatedSheet) and has_sent_rows(context, first, judged):
                self._record_job(target, first)
        elif state.status in {UnitStatus.PARTIAL, UnitStatus.INVALID, UnitStatus.REFUSED}:
            if state.jobs:
                self._send_corrected(target, state)
        elif not state.jobs or all(job.state.is_unsent for job in state.jobs):
            self._send_whole(target)

    def planned(
        self,
        target: StepWorkbook,
        judged: JudgedFile,
        unit: UnitOverview,
        waits_for: Sequence[str],
    ) -> UnitOverview:
        """Return the unit with the actions of a judged workbook's rows; nothing is written.

        Names that the system does not have may be those of records that the steps create for which
        this one ``waits_for``. Raises what ``Uploads.plan`` raises.
        """
        prepared = self._prepared(target, judged)
        if not _is_sendable(prepared):
            why = _not_sendable(target.workbook.path, prepared, waits_for)
            return replace(unit, problem=why.message)
        plan = self._uploads(target).plan(prepared, self._options(target)).plan
        count = len(plan.rows) - plan.not_records
        held = plan.rows.select(
            lambda action, reason: action is RowAction.HELD and reason is not RowReason.NO_RECORD
        )
        columns = {} if prepared.resource is None else prepared.resource.by_name
        return replace(
            unit,
            rows=RowCounts(read=count, unsent=count),
            actions=plan.counts,
            held=tuple(reason_lines((plan.rows[at] for at in held), columns)),
        )

    def _resume_jobs(self, target: StepWorkbook, state: UnitOverview) -> None:
        """Resume unfinished jobs; one that has sent nothing only if it is current."""
        sent = self.batch.last_sent(target.step, target.workbook.name)
        current = sent is not None and sent.sha256 == target.workbook.sha256
        for job in state.jobs:
            if not job.state.is_final and (current or not job.state.is_unsent):
                self._run(target, job)

    def _send_whole(self, target: StepWorkbook) -> None:
        judged = self._validated(target)
        sending = target.step.sending
        if judged.resource is None or sending is None:
            return
        job = self._uploads(target).create(judged, self._options(target))
        self._record_job(target, job)
        self._run(target, job)

    def _send_corrected(self, target: StepWorkbook, state: UnitOverview) -> None:
        """Send corrected rows, from the workbook itself or its rejects workbook."""
        sent = self.batch.last_sent(target.step, target.workbook.name)
        first = state.jobs[0]
        gone = not target.workbook.sha256
        changed = not gone and (sent is None or sent.sha256 != target.workbook.sha256)
        if changed and first.state is State.REJECTED:
            self._send_whole(target)
            return
        if changed and (first.state in _RETRIABLE or first.held):
            judged = self._validated(target)
            context = self.batch.environments.context(target.step.profile)
            self._retry(target, corrected_rows(context, first, judged, in_place=True))
            self._record_job(target, first)
            return
        for job in reversed(state.jobs):
            for corrected in self._from_rejects(target, job):
                self._retry(target, corrected)

    def _from_rejects(self, target: StepWorkbook, job: Job) -> Iterator[CorrectedRows]:
        """Yield the rows of a job's rejects workbook that were corrected, if any were."""
        rejects = job.last("rejects_file")
        retriable = job.state in _RETRIABLE or job.held > 0
        if not retriable or rejects is None or not Path(rejects).exists():
            return
        context = self.batch.environments.context(target.step.profile)
        book = replace(target.workbook, path=Path(rejects), sha256=file_digest(Path(rejects)))
        step = replace(target.step, resource=job.spec.resource, sheet=None, links={})
        judged = judge_workbook(self.batch, StepWorkbook(step, book))
        if not _is_sendable(judged):
            raise _not_sendable(Path(rejects), judged)
        try:
            yield corrected_rows(context, job, judged)
        except NotRetriable:
            # Nothing in it was corrected, or all that was is sent already: the job stays as it is.
            return

    def _options(self, target: StepWorkbook) -> UploadOptions:
        """Return the options of an upload as the step has them."""
        sending = target.step.sending or SendOptions()
        return replace(
            self.options,
            mode=sending.mode,
            chunk_rows=sending.chunk_rows,
            pause_seconds=sending.rest,
            update=self.options.update or sending.update,
            foreign_numbers=sending.foreign_numbers,
        )

    def _retry(self, target: StepWorkbook, corrected: CorrectedRows) -> None:
        options = self._options(target)
        try:
            job = self._uploads(target).create_retry(corrected, options, require_changes=True)
        except NotRetriable:
            # Every row would stay as it is.
            return
        self._run(target, job)

    def _prepared(self, target: StepWorkbook, judged: JudgedFile) -> JudgedFile:
        """Leave out columns, and fill in the codes of the records that cells name."""
        if isinstance(judged, ValidatedSheet) and target.step.sending is not None:
            judged = _without_columns(judged, target.step.sending.leave_out)
        if not _is_sendable(judged) or judged.resource is None or judged.resource.base is None:
            return judged
        return self._uploads(target).with_codes(judged)

    def _validated(self, target: StepWorkbook) -> ValidatedSheet:
        """Validate a workbook once more, so that what is sent is what was validated."""
        judged = self._prepared(target, judge_workbook(self.batch, target))
        if not _is_sendable(judged):
            raise _not_sendable(target.workbook.path, judged)
        if file_digest(target.workbook.path) != target.workbook.sha256:
            raise UsageError(
                Text(
                    pt="{file} mudou durante a execução do lote; nada dele foi enviado.",
                    en="{file} was changed while the batch ran; nothing of it was sent.",
                ).format(file=target.workbook.path)
            )
        return judged

    def _record_job(self, target: StepWorkbook, job: Job) -> None:
        step, book = target.step, target.workbook
        profile = self.batch.environments.name(step.profile)
        sent = JobRecord(book.sha256, job.id)
        self.batch.ledger.sent(self.batch.id, step.name, book.name, profile, sent)

    def _run(self, target: StepWorkbook, job: Job) -> None:
        self._uploads(target).run(job, self._options(target))

    def _uploads(self, target: StepWorkbook) -> Uploads:
        environments, profile = self.batch.environments, target.step.profile
        if target.step.name not in self._uploads_of:
            context, client = environments.context(profile), environments.client(profile)
            self._uploads_of[target.step.name] = Uploads(context, client)
        return self._uploads_of[target.step.name]


def _without_columns(judged: ValidatedSheet, names: Collection[str]) -> ValidatedSheet:
    """Return a sheet as if it did not have some columns."""
    present = [name for name in names if name in judged.columns]
    if not present:
        return judged
    frame = judged.frame.copy(deep=False)
    for name in present:
        frame[name] = pd.Series(pd.NA, index=frame.index).astype(frame[name].dtype)
    columns = {name: place for name, place in judged.columns.items() if name not in present}
    return replace(judged, frame=frame, columns=columns)


def _is_sendable(judged: JudgedFile) -> TypeGuard[ValidatedSheet]:
    """Tell whether rows of a workbook may be sent; rows that are no records are left out."""
    return isinstance(judged, ValidatedSheet) and may_be_sent(judged, good_rows=False)


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


def _not_sendable(path: Path, judged: JudgedFile, waits_for: Sequence[str] = ()) -> UsageError:
    if not isinstance(judged, ValidatedSheet):
        return UsageError(judged.refusal.message, judged.refusal.hint)
    errors = [finding for one in judged.with_children for finding in one.error_findings()]
    count = sum(one.errors for one in judged.with_children)
    if waits_for and all(one.kind.code == "link-unknown" for one in errors):
        names = ", ".join(waits_for)
        return UsageError(
            _NAMES_TO_COME.format(file=path.name, n=count, cell=errors[0].cell, steps=names)
        )
    return UsageError(_ERRORS.format(file=path.name, n=count, first=next(told_errors(judged))))


def plan_batch(batch: Batch, options: UploadOptions) -> list[StepOverview]:
    """Return the status of each step, with the planned actions of what was never sent.

    Workbooks are validated, also against one another, and their records looked up; nothing is
    written, not even here. A workbook with errors has them, one whose records cannot be asked for
    says so in its ``problem``. Raises ``ConfigError`` where an environment cannot be used at all,
    and what ``Client.records`` raises.
    """
    sender, gathered = WorkbookSender(batch, options), GatheredSheets(batch)
    steps = [
        replace(
            state,
            units=tuple(
                _with_actions(sender, gathered, state.step, unit, state.waits_for)
                if isinstance(state.step, WorkbookStep) and state.step.sending is not None
                else unit
                for unit in state.units
            ),
        )
        for state in overview(batch)
    ]
    failed = {
        (target.step.name, target.workbook.name): check
        for target, check, _ in gathered.checks()
        if not check.ok
    }
    return [
        replace(state, units=tuple(_with_check(state.step, unit, failed) for unit in state.units))
        for state in steps
    ]


def _with_actions(
    sender: WorkbookSender,
    gathered: GatheredSheets,
    step: WorkbookStep,
    unit: UnitOverview,
    waits_for: Sequence[str],
) -> UnitOverview:
    path = sender.batch.plan.folder / unit.name
    target = StepWorkbook(step, WorkbookFile(path, unit.name, unit.sha256))
    if unit.jobs or unit.status not in _TO_PLAN:
        if unit.jobs and unit.status is not UnitStatus.DONE:
            gathered.add_unsettled(target)
        return unit
    judged = judge_workbook(sender.batch, target)
    gathered.add(target, judged)
    try:
        return sender.planned(target, judged, unit, waits_for)
    except ApiError as error:
        return replace(unit, status=UnitStatus.FAILED, problem=error.message)
    except UsageError as error:
        return replace(unit, status=UnitStatus.HELD, problem=error.message)


def _with_check(
    step: AnyStep, unit: UnitOverview, failed: Mapping[tuple[str, str], CheckRecord]
) -> UnitOverview:
    """Return a planned unit; one that failed the checks has no actions."""
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
    """Process the records of a step: go on with the job that was begun, else plan a new one.

    ``options.consent`` is asked before anything is sent, with the records by count and what is
    final. Raises ``UsageError`` where a number is none, and what ``Uploads.run`` raises.
    """
    environments = batch.environments
    context, client = environments.context(step.profile), environments.client(step.profile)
    job = last_processing(batch, step)
    if job is None or job.state.is_final:
        kind = find_kind(step.listing)
        job = create_processing(context, client, kind, _numbers(batch, step), options)
        profile = environments.name(step.profile)
        batch.ledger.sent(batch.id, step.name, step.source, profile, JobRecord("", job.id))
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
    from xlbridge.upload.results import row_statuses, with_retries  # Here: a plan needs none.

    uploads = (one for one in batch.plan.steps if isinstance(one, WorkbookStep))
    sending = next(one for one in uploads if one.name == step.records_of)
    context = batch.environments.context(sending.profile)
    for file in batch.files_sent(sending):
        sent = batch.last_sent(sending, file)
        if sent is None:
            continue
        for job, _ in with_retries(context.journal, context.journal.job(sent.job)):
            yield from (one.code for one in row_statuses(context, job).values() if one.code)


_NO_NUMBERS = Text(
    pt="A etapa {step} não tem números de registros no sistema para processar.",
    en="The step {step} has no numbers of records in the system to process.",
)
