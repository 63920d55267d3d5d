"""Sending of a batch's workbooks, new or in part, and processing of the records of a step."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd
from msgspec.structs import replace as replace_fields

from xlbridge.batch.batch import (
    Batch,
    UnitOverview,
    UnitStatus,
    workbook_overview,
)
from xlbridge.batch.ledger import JobRecord
from xlbridge.batch.plan_steps import (
    ProcessStep,
    SendOptions,
    WorkbookFile,
    file_digest,
)
from xlbridge.batch.run_options import BatchConsentRequest, StepWrites
from xlbridge.batch.status import last_processing
from xlbridge.batch.workbook_checks import (
    FileResult,
    error_texts,
    validate_workbook,
)
from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload import (
    InvalidSheet,
    Job,
    State,
    UploadContext,
    UploadOptions,
    Uploads,
)
from xlbridge.upload.planning import (
    ConsentRequest,
    CorrectedRows,
    NotRetriable,
    PlannedSheet,
    RowAction,
    RowReason,
    reason_table,
)
from xlbridge.upload.process_kinds import explicit_numbers, find_kind
from xlbridge.upload.process_plan import create_processing, numbers_in_sheet
from xlbridge.upload.results import ControlTotals
from xlbridge.validation import ValidatedSheet

_RETRIABLE = frozenset({State.PARTIAL, State.REJECTED})
_KEPT_ROWS = 50_000
"""Rows of checked sheets that are kept until they are planned, and of plans until they are sent;
beyond that a workbook is validated or planned again."""


@dataclass(frozen=True, slots=True)
class PlannedSend:
    """Rows that one job would send, with their plan."""

    rows: ValidatedSheet | CorrectedRows
    planned: PlannedSheet

    @property
    def token(self) -> str:
        """Token that confirms exactly this plan."""
        return self.planned.plan.token


@dataclass(frozen=True, slots=True)
class WorkbookPlan:
    """Plan of a workbook: what a run would send of it, before anything is written.

    ``later`` counts the rows of a step that waits for others: what these write decides on their
    actions, so they are planned when it is their turn. ``undone`` counts rows that were reversed
    and would be sent again.
    """

    book: WorkbookFile
    sends: tuple[PlannedSend, ...] = ()
    later: int = 0
    undone: int = 0
    problem: Text | None = None

    @property
    def actions(self) -> Counter[str]:
        """Number of rows by planned action."""
        counts: Counter[str] = Counter()
        for send in self.sends:
            counts.update(send.planned.plan.counts)
        return counts

    @property
    def held(self) -> Iterator[Text | str]:
        """The reasons why rows will be held."""
        for send in self.sends:
            source = send.planned.source
            columns = source.resource.titled_as(source.titles).by_path
            held = (
                row
                for row in send.planned.plan.rows
                if row.action is RowAction.HELD and row.reason is not RowReason.NO_RECORD
            )
            table = reason_table(held, columns, titled=True)
            for line in table.lines:
                yield from (line.text or "", *line.below)

    def require(self, request: ConsentRequest) -> bool:
        """Return True if consent to the plan covers a job. Raises ``UsageError`` if it does not."""
        writes = int(request.job.notes.writes or 0)
        if request.token in {send.token for send in self.sends} or writes <= self.later:
            return True
        raise UsageError(_PLAN_CHANGED.format(file=self.book.path.name))

    @property
    def identity(self) -> list[object]:
        """Contents that consent to the plan covers: the workbook and each plan."""
        book, tokens = self.book, [send.token for send in self.sends]
        return [book.step.name, book.name, book.sha256, tokens, self.later]


class WorkbookSender:
    """Sender of the workbooks of a batch.

    ``options`` apply to each upload, except for those that the step sets. The workbooks of a step
    share one ``Uploads``, and so the records found for their links. Only what was planned and
    ``approve`` was called for is written. ``show`` receives messages on progress.
    """

    def __init__(self, batch: Batch, options: UploadOptions) -> None:
        self._batch = batch
        self._options = options
        self._uploads_of: dict[str, Uploads] = {}
        self._checked: dict[tuple[str, str, str], ValidatedSheet] = {}
        self._approved: dict[tuple[str, str], WorkbookPlan] = {}
        self._keep_plans = True
        self.show = options.progress

    def keep(self, book: WorkbookFile, result: FileResult) -> None:
        """Keep a checked workbook until it is planned, as long as those kept are small."""
        if not isinstance(result, ValidatedSheet):
            return
        kept = (result, *self._checked.values())
        if sum(len(sheet.rows) for one in kept for sheet in one.with_children) <= _KEPT_ROWS:
            self._checked[book.step.name, book.name, book.sha256] = result

    def plan(
        self,
        book: WorkbookFile,
        unit: UnitOverview,
        waits_for: Sequence[str] = (),
        *,
        ahead: bool = False,
    ) -> WorkbookPlan:
        """Return what a run would send of a workbook; nothing is written.

        If its step ``waits_for`` others, the rows are only counted; with ``ahead`` they are planned
        as the system is now, and names that it does not have may belong to records that those steps
        will create. Raises ``UsageError`` if the workbook cannot be sent as it is, and what
        ``Uploads.plan`` raises.
        """
        if waits_for and not ahead:
            return WorkbookPlan(book, later=self._rows_at_most(book, unit))
        sends = []
        try:
            for rows in self._rows_to_send(book, unit, waits_for):
                planned = self._uploads(book).plan(rows, self._options_of(book))
                if isinstance(rows, CorrectedRows):
                    rows.require_changes(self._context(book), planned.plan)
                sends.append(PlannedSend(rows, planned))
        except NotRetriable:
            # No row was corrected, or none would change.
            pass
        except _NamesToCome as later:
            return WorkbookPlan(book, later=later.rows, problem=later.message)
        return WorkbookPlan(book, tuple(sends), undone=unit.rows.undone if sends else 0)

    def approve(self, plans: Iterable[WorkbookPlan]) -> None:
        """Allow ``send`` to write what the plans name. Only small plans are kept until then."""
        # Later steps look up what earlier ones create.
        self._uploads_of.clear()
        kept = 0
        for plan in plans:
            kept += sum(len(send.planned.plan.rows) for send in plan.sends)
            self._approved[plan.book.step.name, plan.book.name] = plan
        self._keep_plans = kept <= _KEPT_ROWS

    def send(self, book: WorkbookFile, unit: UnitOverview) -> None:
        """Send a workbook as far as it was approved; jobs that were sent before are resumed first.

        Raises ``UsageError`` if the workbook cannot be sent as it is, or its plan has changed since
        it was approved; ``JournalError`` if another upload has sent rows of it, and what
        ``Uploads.run`` raises.
        """
        for job in unit.jobs:
            if not job.state.is_final and not job.state.is_unsent:
                self._uploads(book).run(job, self._options_of(book))
        unit = workbook_overview(self._batch, book)
        if unit.status is UnitStatus.CHANGED and unit.jobs:
            result = self._without_left_out(book, validate_workbook(self._batch, book))
            if isinstance(result, ValidatedSheet):
                uploads = self._uploads(book)
                if uploads.has_sent_rows(unit.jobs[0], uploads.with_codes(result)):
                    self._record_job(book, unit.jobs[0])
            return
        approved = self._approved.get((book.step.name, book.name))
        if approved is None or not (approved.sends or approved.later):
            return
        if approved.book.sha256 not in ("", file_digest(book.path)):
            raise UsageError(_CHANGED_SINCE.format(file=book.path))
        plan = approved if approved.sends and self._keep_plans else self.plan(book, unit)
        options = replace(self._options_of(book), consent=approved.require)
        for send in plan.sends:
            if isinstance(send.rows, CorrectedRows):
                self._uploads(book).submit(send.rows, options, send.planned)
                if send.rows.sheet.file == book.path:
                    self._record_job(book, send.rows.job)
            else:
                record = partial(self._record_job, book)
                self._uploads(book).submit(send.rows, options, send.planned, on_created=record)

    def _rows_at_most(self, book: WorkbookFile, unit: UnitOverview) -> int:
        """Return the number of rows that a run may send of a workbook."""
        if not unit.jobs or all(job.state.is_unsent for job in unit.jobs):
            return 0 if unit.status in _NOT_SENDABLE else unit.rows.read
        try:
            sent = list(self._rows_to_send(book, unit, [book.step.name]))
        except NotRetriable:
            return 0
        except _NamesToCome as later:
            return later.rows
        return sum(
            len(rows.sheet.rows) - len(rows.set_aside)
            if isinstance(rows, CorrectedRows)
            else len(rows.rows)
            for rows in sent
        )

    def _rows_to_send(
        self, book: WorkbookFile, unit: UnitOverview, waits_for: Sequence[str]
    ) -> Iterator[ValidatedSheet | CorrectedRows]:
        """Yield what would be sent of a workbook: all of it, or its corrected rows."""
        if not unit.jobs or all(job.state.is_unsent for job in unit.jobs):
            if unit.status not in _NOT_SENDABLE:
                yield self._rows_of(book, waits_for)
            return
        if unit.status not in _TO_CORRECT or any(not job.state.is_final for job in unit.jobs):
            return
        first = unit.jobs[0]
        sent = self._batch.last_job(book.step, book.name)
        gone = not book.sha256
        changed = not gone and (sent is None or sent.sha256 != book.sha256)
        if changed and first.state is State.REJECTED:
            yield self._rows_of(book, waits_for)
        elif changed or (unit.rows.undone and not gone):
            yield self._rows_of(book, waits_for, first, in_place=True)
        else:
            for job in reversed(unit.jobs):
                rejects = job.notes.rejects_file
                retriable = job.state in _RETRIABLE or job.held > 0
                if not retriable or rejects is None or not Path(rejects).exists():
                    continue
                step = replace_fields(book.step, resource=job.spec.resource, sheet=None, links={})
                path = Path(rejects)
                # No row may have been corrected, or all corrected rows were sent already.
                with suppress(NotRetriable):
                    corrected = WorkbookFile(step, path, book.name, file_digest(path))
                    yield self._rows_of(corrected, waits_for, job)

    def _options_of(self, book: WorkbookFile) -> UploadOptions:
        """Return the upload options with those that the step sets."""
        sending = book.step.sending or SendOptions()
        return sending.over(replace(self._options, progress=self.show))

    def _without_left_out(self, book: WorkbookFile, result: FileResult) -> FileResult:
        """Remove the columns that the step does not send."""
        left_out = set(book.step.sending.leave_out if book.step.sending else ())
        if not left_out or not isinstance(result, ValidatedSheet):
            return result
        frame = result.frame.copy(deep=False)
        for name in left_out & result.columns.keys():
            frame[name] = pd.Series(pd.NA, index=frame.index).astype(frame[name].dtype)
        columns = {n: at for n, at in result.columns.items() if n not in left_out}
        return replace(result, frame=frame, columns=columns)

    def _rows_of(
        self,
        book: WorkbookFile,
        waits_for: Sequence[str],
        earlier: Job | None = None,
        *,
        in_place: bool = False,
    ) -> ValidatedSheet | CorrectedRows:
        """Return what is sent of a workbook: all rows, or the corrected ones of an ``earlier`` job.

        They are those just checked, or validated again, so that what is planned is what was
        validated. Raises ``NotRetriable`` if no row was corrected, ``UsageError`` if the workbook
        cannot be sent.
        """
        checked = self._checked.pop((book.step.name, book.name, book.sha256), None)
        result = self._without_left_out(book, checked or validate_workbook(self._batch, book))
        if not isinstance(result, ValidatedSheet):
            raise UsageError(result.refusal.message, result.refusal.hint)
        try:
            rows = self._uploads(book).rows_to_send(
                result, self._options_of(book), earlier, in_place=in_place
            )
        except NotRetriable:
            raise
        except InvalidSheet as error:
            raise _not_sendable(book.path, error.sheet, waits_for) from None
        except UsageError:
            # A workbook that a link names is not sent yet.
            if not waits_for:
                raise
            text = _LINKS_TO_COME.format(file=book.path.name, steps=", ".join(waits_for))
            raise _NamesToCome(text, len(result.rows)) from None
        if file_digest(book.path) != book.sha256:
            raise UsageError(_CHANGED_SINCE.format(file=book.path))
        return rows

    def _record_job(self, book: WorkbookFile, job: Job) -> None:
        sent = JobRecord(book.sha256, job.id)
        self._batch.ledger.record_job(self._batch.key(book.step), book.name, sent)

    def _context(self, book: WorkbookFile) -> UploadContext:
        return self._batch.environments.context(book.step.profile)

    def _uploads(self, book: WorkbookFile) -> Uploads:
        environments, profile = self._batch.environments, book.step.profile
        if book.step.name not in self._uploads_of:
            context, client = environments.context(profile), environments.client(profile)
            self._uploads_of[book.step.name] = Uploads(context, client)
        return self._uploads_of[book.step.name]


_NOT_SENDABLE = frozenset({UnitStatus.HELD, UnitStatus.DONE})
_TO_CORRECT = frozenset({UnitStatus.PARTIAL, UnitStatus.INVALID, UnitStatus.REFUSED})
_CHANGED_SINCE = Text(
    pt="{file} mudou durante a execução do lote; nada dele foi enviado.",
    en="{file} was changed while the batch was running; nothing of it was sent.",
)
_PLAN_CHANGED = Text(
    pt="{file}: os registros do sistema mudaram depois da confirmação; nada dele foi enviado. A "
    "próxima execução mostra o novo plano e pergunta de novo.",
    en="{file}: records in the system have changed since the consent; nothing of it was sent. The "
    "next run shows the new plan and asks again.",
)


class _NamesToCome(UsageError):
    """Names that the system does not have yet, in a workbook with the given number of rows."""

    def __init__(self, message: Text, rows: int) -> None:
        super().__init__(message)
        self.rows = rows


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


_LINKS_TO_COME = Text(
    pt="{file}: os códigos dos registros de outros arquivos do lote são procurados depois de: "
    "{steps}.",
    en="{file}: the codes of the records in other workbooks of the batch are looked up after: "
    "{steps}.",
)
_LATER_FOUND = frozenset({"link-unknown", "link-not-sent"})


def _not_sendable(path: Path, result: ValidatedSheet, waits_for: Sequence[str]) -> UsageError:
    errors = [finding for sheet in result.with_children for finding in sheet.error_findings()]
    count = sum(sheet.errors for sheet in result.with_children)
    if waits_for and all(finding.kind.code in _LATER_FOUND for finding in errors):
        names = ", ".join(waits_for)
        text = _NAMES_TO_COME.format(file=path.name, n=count, cell=errors[0].cell, steps=names)
        return _NamesToCome(text, len(result.rows))
    return UsageError(
        _ERRORS.format(file=path.name, n=count, first=next(error_texts(result, titled=True)))
    )


def consent_request(plans: Sequence[WorkbookPlan], failed: int) -> BatchConsentRequest:
    """Return the request for consent to what the plans would write, by step and action."""
    by_step: dict[str, list[WorkbookPlan]] = {}
    for plan in plans:
        if plan.later or plan.sends:
            by_step.setdefault(plan.book.step.name, []).append(plan)
    steps = tuple(map(_step_writes, by_step.values()))
    identity = [plan.identity for of_step in by_step.values() for plan in of_step]
    digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    return BatchConsentRequest(steps, failed, digest)


def _step_writes(plans: Sequence[WorkbookPlan]) -> StepWrites:
    """Return what the plans of a step's workbooks write."""
    step = plans[0].book.step
    planned = [send.planned for plan in plans for send in plan.sends]
    totals = None
    if planned:
        frames = [one.source.frame.iloc[one.plan.positions] for one in planned]
        totals = ControlTotals.of_frames(planned[0].source.resource, frames)
    return StepWrites(
        step,
        len(plans),
        sum((plan.actions for plan in plans), Counter()),
        sum(plan.later for plan in plans),
        sum(plan.undone for plan in plans),
        [*dict.fromkeys(filter(None, (one.unread for one in planned)))],
        totals,
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
        if step.file is not None:
            path = batch.plan.existing_file(step.file)
            numbers = numbers_in_sheet(path, kind, context.settings.limits)
        else:
            # A plan without processing steps does not need this import.
            from xlbridge.upload.results import codes_of_sheet

            sending = next(other for other in batch.plan.steps if other.name == step.records_of)
            source = batch.environments.context(sending.profile)
            codes = [
                code
                for file in batch.ledger.sent_files(batch.key(sending))
                if (sent := batch.last_job(sending, file)) is not None
                for code in codes_of_sheet(source, source.journal.job(sent.job))
            ]
            if not all(code.isdecimal() for code in codes) or not codes:
                raise UsageError(_NO_NUMBERS.format(step=step.records_of))
            numbers = explicit_numbers(kind, [int(code) for code in codes])
        job = create_processing(context, client, kind, numbers, options.progress)
        batch.ledger.record_job(batch.key(step), step.source, JobRecord("", job.id))
    Uploads(context, client).run(job, options)


_NO_NUMBERS = Text(
    pt="A etapa {step} não tem números de registros no sistema para processar.",
    en="The step {step} has no numbers of records in the system to process.",
)
