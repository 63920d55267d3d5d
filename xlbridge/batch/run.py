"""Run of a batch: check everything, ask for consent once, then send and export step by step.

A run holds the batch's lock, and ends with the findings page and the closing proofs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from xlbridge.batch.batch import (
    Batch,
    RowCounts,
    UnitOverview,
    UnitStatus,
)
from xlbridge.batch.ledger import ExportRecord, FailureRecord
from xlbridge.batch.plan_steps import (
    AnyStep,
    CompareStep,
    ExportStep,
    ProcessStep,
    WorkbookFile,
    WorkbookStep,
    file_digest,
    relative_name,
    sends_workbooks,
)
from xlbridge.batch.run_options import (
    BatchConsentRequest,
    BatchOutcome,
    BatchRunOptions,
)
from xlbridge.batch.sender import (
    WorkbookPlan,
    WorkbookSender,
    consent_request,
    run_processing,
)
from xlbridge.batch.status import (
    StepOverview,
    blocked_steps,
    export_files,
    export_request,
    overview,
    prepared_export,
    step_overview,
    workbook_overviews,
)
from xlbridge.batch.workbook_checks import (
    FileResult,
    check_all,
    main_result,
    validation_request,
)
from xlbridge.client import Client
from xlbridge.client.registries import Registries
from xlbridge.errors import (
    ApiError,
    AuthenticationFailed,
    LocalDatabaseError,
    LocalFailure,
    TransportError,
    UsageError,
    XlbridgeError,
)
from xlbridge.files import file_lock, report_local_failures, report_write_errors
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.parallel import Executor, validate_files
from xlbridge.settings import CsvForm
from xlbridge.titles import OpenProgress, WorkProgress
from xlbridge.upload import known_numbers
from xlbridge.validation.report import Report
from xlbridge.validation.report_formats import report_forms

if TYPE_CHECKING:
    from xlbridge.export import ExportResult, PreparedExport

_TO_CHECK = frozenset({UnitStatus.NEW, UnitStatus.CHANGED, UnitStatus.INVALID, UnitStatus.REFUSED})
_FINISHED = frozenset({UnitStatus.DONE, UnitStatus.EDITED})


class BatchRun:
    """One run of a batch, continuing from its ledger and journal.

    ``refused`` are the workbooks that failed the checks; ``checked`` is true once a workbook was
    checked, ``worked`` once something was sent or exported; ``failure`` is the last failure of this
    computer, if any.
    """

    def __init__(self, batch: Batch, options: BatchRunOptions) -> None:
        self._batch = batch
        self._options = options
        self.refused: Sequence[FileResult] = ()
        self.checked = False
        self.worked = False
        self._registries: dict[str | None, Registries] = {}
        self.failure: LocalFailure | None = None
        self._failed: set[tuple[str, str]] = set()
        self._unreachable: dict[str | None, XlbridgeError] = {}
        self._steps: list[StepOverview] = []
        self._blocked: frozenset[str] = frozenset()
        self._plans: dict[tuple[str, str], WorkbookPlan] = {}
        self._sender = WorkbookSender(batch, options.upload)

    def run(self) -> list[StepOverview]:
        """Check, send and export as far as possible; return the status of each step afterwards.

        A workbook that fails stops the steps that depend on its step, and nothing else.
        Raises ``ConfigError`` if an environment cannot be used at all.
        """
        plan = self._batch.plan
        self._batch.ledger.begin(plan.batch, plan.path, plan.parameters, self._batch.custom_schemas)
        self._batch.ledger.clear_failures(self._batch.id)
        sources = [step for step in plan.ordered if plan.is_source(step)]
        if sources:
            # Other steps read them, so they are exported before these can be checked.
            known: dict[str, StepOverview] = {}
            with self._options.progress(_EXPORTING, len(sources)) as progress:
                for step in plan.ordered:
                    if step in sources:
                        self._run_step(step, known, progress)
                    else:
                        known[step.name] = step_overview(self._batch, step, known)
        steps = [step for step in plan.steps if isinstance(step, WorkbookStep)]
        self.refused = self._check(steps)
        self._update_status()
        if self._is_stopped():
            return self._steps
        plans, request = self._plan()
        if self._is_stopped():
            return self._steps
        if not request.total or self._options.consent(request):
            self._sender.approve(plans)
            before: dict[str, StepOverview] = {}
            title = Text(pt="Enviando e exportando", en="Sending and exporting")
            units = sum(len(state.units) for state in overview(self._batch))
            with self._options.progress(title, units) as progress:
                self._sender.show = progress.show
                for step in plan.ordered:
                    self._run_step(step, before, progress)
        return overview(self._batch)

    def plan(self) -> tuple[list[StepOverview], BatchConsentRequest]:
        """Check the workbooks to send, and plan them; return the status of each step with the
        planned actions, and the consent that a run would ask for.

        Nothing is sent or exported; the checks are recorded.
        """
        self._batch.ledger.clear_failures(self._batch.id)
        self.refused = self._check(
            [step for step in self._batch.plan.steps if sends_workbooks(step)]
        )
        self._update_status()
        _, request = self._plan()
        shown = [
            replace(state, units=tuple(self._with_actions(state, unit) for unit in state.units))
            for state in self._steps
        ]
        return shown, request

    def _update_status(self) -> None:
        self._steps = overview(self._batch)
        self._blocked = frozenset(blocked_steps(self._steps))

    def _is_stopped(self) -> bool:
        """Return whether nothing may be sent, because a workbook cannot be."""
        faulty = any(unit.cannot_be_sent for state in self._steps for unit in state.units)
        return self._options.all_or_nothing and (faulty or bool(self._failed))

    def _plan(self) -> tuple[list[WorkbookPlan], BatchConsentRequest]:
        """Plan each workbook that can be planned; return the plans of steps that are not blocked,
        and the request for consent to them."""
        pending = [
            (state, state.step, unit)
            for state in self._steps
            if sends_workbooks(state.step)
            for unit in state.units
            if unit.status not in _FINISHED and not unit.cannot_be_sent
            if (state.step.name, unit.name) not in self._failed
        ]

        def add_plan(state: StepOverview, step: WorkbookStep, unit: UnitOverview) -> None:
            book = self._batch.workbook(step, unit)
            plan = self._sender.plan(book, unit, state.waits_for)
            self._plans[step.name, unit.name] = plan

        title = Text(pt="Planejando", en="Planning")
        with self._options.progress(title, len(pending)) as progress:
            for state, step, unit in pending:
                progress.show(_UNIT.format(step=step.name, unit=unit.name))
                self._attempt(step, unit, partial(add_plan, state, step, unit))
                progress.advance()
        # Planning may have found workbooks that cannot be sent.
        self._update_status()
        plans = [plan for (step, _), plan in self._plans.items() if step not in self._blocked]
        return plans, consent_request(plans, len(self.refused))

    def _with_actions(self, state: StepOverview, unit: UnitOverview) -> UnitOverview:
        """Return a unit with the planned actions of its rows, if they were planned.

        What waits for other steps is planned as the system is now.
        """
        plan = self._plans.get((state.step.name, unit.name))
        if plan is None:
            return unit
        try:
            if state.waits_for:
                plan = self._sender.plan(plan.book, unit, state.waits_for, ahead=True)
        except (ApiError, UsageError) as error:
            status = UnitStatus.FAILED if isinstance(error, ApiError) else UnitStatus.HELD
            return replace(unit, status=status, problem=error.message)
        if not plan.sends:
            return replace(unit, problem=plan.problem or unit.problem)
        counted = [send.planned.plan for send in plan.sends]
        count = sum(len(one.rows) - one.not_records for one in counted)
        rows = unit.rows if unit.jobs else RowCounts(read=count, unsent=count)
        return replace(unit, rows=rows, actions=plan.actions, held=tuple(plan.held))

    def _check(self, steps: Sequence[WorkbookStep]) -> Sequence[FileResult]:
        """Check the workbooks that were not sent yet; return those that failed."""
        all_books = [pair for step in steps for pair in workbook_overviews(self._batch, step)]
        books = [book for book, unit in all_books if unit.status in _TO_CHECK and not unit.jobs]
        under_way = [
            book for book, unit in all_books if unit.jobs and unit.status is not UnitStatus.DONE
        ]
        if not books:
            return ()
        self.checked = True
        for book in books:
            if book.step.sending is not None:
                # Connect now: messages about the environment belong before the progress display.
                self._batch.environments.client(book.step.profile)
        files = [book.path for book in books]
        with (
            self._options.progress(Text(pt="Conferindo", en="Checking"), len(books)) as progress,
            self._options.executor_for(files) as executor,
        ):
            results = self._validated(books, executor)
            refused, unchecked = check_all(self._batch, results, progress.advance, under_way)
        for book, error in unchecked:
            self._note_failure(book.step, book.name, book.sha256, error)
        return refused

    def _validated(
        self, books: Sequence[WorkbookFile], executor: Executor | None
    ) -> Iterator[tuple[WorkbookFile, FileResult]]:
        """Yield results of checks; the sender keeps small ones, so that it need not read again."""
        groups: defaultdict[tuple[str | None, CsvForm], list[WorkbookFile]] = defaultdict(list)
        for book in books:
            groups[book.step.profile, book.step.csv].append(book)
        for (profile, csv), group in groups.items():
            settings = self._batch.environments.context(profile).settings
            requests = [validation_request(self._batch, book) for book in group]
            limits = settings.limits.with_csv(csv)
            results = validate_files(requests, settings.schemas, limits, executor)
            for book, result in zip(group, map(main_result, results), strict=True):
                self._sender.keep(book, result)
                yield book, result

    def _run_step(
        self,
        step: AnyStep,
        before: dict[str, StepOverview],
        progress: WorkProgress,
    ) -> None:
        """Process the units of a step, unless it waits; add its status afterwards to ``before``."""
        state = step_overview(self._batch, step, before)
        for unit in state.units:
            if not state.waits_for and step.name not in self._blocked:
                progress.show(_UNIT.format(step=step.name, unit=unit.name))
                if unit.status not in _FINISHED and (step.name, unit.name) not in self._failed:
                    self._attempt(step, unit, partial(self._run_unit, step, unit))
            progress.advance()
        before[step.name] = step_overview(self._batch, step, before)

    def _attempt(self, step: AnyStep, unit: UnitOverview, work: Callable[[], None]) -> None:
        """Do ``work`` on a unit; record a failure instead of raising it.

        Nothing is tried again with a system that did not answer.
        """
        if step.profile in self._unreachable:
            self._note_failure(step, unit.name, unit.sha256, self._unreachable[step.profile])
            return
        try:
            with report_local_failures():
                work()
        except LocalDatabaseError:
            # The outcome cannot be recorded, so no other unit may be started.
            raise
        except XlbridgeError as error:
            sha256 = unit.sha256
            if isinstance(step, WorkbookStep):
                # The workbook may have changed in the meantime, and that may be the cause.
                sha256 = file_digest(self._batch.plan.folder / unit.name)
            self._note_failure(step, unit.name, sha256, error)

    def _note_failure(self, step: AnyStep, unit: str, sha256: str, error: XlbridgeError) -> None:
        self._failed.add((step.name, unit))
        if isinstance(error, TransportError | AuthenticationFailed):
            not_tried = TransportError(_NOT_TRIED.format(why=error.message))
            self._unreachable.setdefault(step.profile, not_tried)
        if isinstance(error, LocalFailure):
            self.failure = error
        texts = [error.message]
        if isinstance(step, ExportStep) and error.hint is not None:
            texts.append(error.hint)
        failure = FailureRecord(joined(texts, " "), sha256, isinstance(error, ApiError))
        self._batch.ledger.store(self._batch.key(step), unit, failure)

    def _run_unit(self, step: AnyStep, unit: UnitOverview) -> None:
        if isinstance(step, CompareStep):
            self.worked = True
            # Slow to import, with all formats of exports.
            from xlbridge.batch.comparison import run_comparison

            run_comparison(self._batch, step, unit.sha256, self._options.upload.progress)
        elif isinstance(step, ProcessStep):
            self.worked = True
            consent = self._options.consent_to_processing
            run_processing(self._batch, step, replace(self._options.upload, consent=consent))
        elif isinstance(step, ExportStep):
            self.worked = True
            client = self._batch.environments.client(step.profile)
            registries = self._registries.setdefault(step.profile, Registries(client))
            result = (
                _refresh(self._batch, step, client, registries)
                if step.into is not None
                else _prepare_export(self._batch, step).run(client, registries=registries)
            )
            folder = self._batch.plan.folder
            if step.manifest is not None:
                result.write_manifest(folder / step.manifest)
            paths = export_files(self._batch, step)
            files = {relative_name(folder, path): file_digest(path) for path in paths}
            exported = ExportRecord(unit.sha256, result.manifest(Text.to_json), files)
            self._batch.ledger.store(self._batch.key(step), step.output, exported)
        elif sends_workbooks(step) and (unit.jobs or unit.status is UnitStatus.NEW):
            self.worked = True
            self._registries.clear()
            self._sender.send(self._batch.workbook(step, unit), unit)


_EXPORTING = Text(pt="Exportando", en="Exporting")
_UNIT = untranslated("{step} · {unit}")
_NOT_TRIED = Text(
    pt="não tentado, porque o sistema não respondeu antes: {why}",
    en="not tried, because the system did not answer before: {why}",
)


def run_batch(batch: Batch, options: BatchRunOptions) -> BatchOutcome:
    """Check, send and export what is not done yet; write the findings page and the proofs.

    Proofs are only written if something was sent or exported, now or since the last proof. Raises
    ``UsageError`` if the proofs cannot be written or another process runs the batch, and what
    ``BatchRun.run`` raises.
    """
    # Plans start faster without the modules that write proofs.
    from xlbridge.batch.proof_builder import are_proofs_missing, require_proof_folder

    require_proof_folder(batch)
    message = _ALREADY_RUNNING.format(id=batch.id)
    locks = batch.environments.settings.home / "locks"
    with file_lock(locks / f"batch-{batch.id}.lock", message):
        run = BatchRun(batch, options)
        outcome = BatchOutcome(run.run(), failure=run.failure)
    outcome.idle = not run.checked and not run.worked
    page = batch.plan.folder / f"{batch.plan.proof}-findings.html"
    try:
        with report_write_errors(page):
            if run.refused:
                page.parent.mkdir(parents=True, exist_ok=True)
            else:
                page.unlink(missing_ok=True)
        if run.refused:
            report_forms(Report(run.refused)).write("html", page)
            outcome.findings_page = page
    except (UsageError, LocalFailure) as error:
        outcome.findings_error = error
    if run.worked or are_proofs_missing(batch, outcome.steps):
        _write_proofs(batch, outcome, options.progress)
    return outcome


def plan_batch(batch: Batch, options: BatchRunOptions) -> BatchOutcome:
    """Return the status of each step, with the planned actions of the workbooks to send.

    Workbooks are validated, also against one another, and their records looked up; nothing is
    written, not even to the ledger. ``problem`` of a unit says why it could not be planned, for
    example as its environment does not answer. Raises ``ConfigError`` if an environment cannot be
    used at all, ``LocalFailure`` if this computer fails.
    """
    with closing(batch.ledger.copy()) as ledger:
        run = BatchRun(replace(batch, ledger=ledger), options)
        steps, request = run.plan()
    if run.failure is not None:
        raise run.failure
    return BatchOutcome(steps, confirm=request.token if request.total else None)


def prove_batch(batch: Batch, progress: OpenProgress) -> BatchOutcome:
    """Write the closing proofs of a batch as it is now, one per environment.

    If a system cannot be reached, earlier proofs are kept, and ``proof_error`` has the reason.
    """
    outcome = BatchOutcome.of(batch)
    _write_proofs(batch, outcome, progress)
    return outcome


def _write_proofs(batch: Batch, outcome: BatchOutcome, progress: OpenProgress) -> None:
    from xlbridge.batch.proof_builder import write_proofs

    try:
        with progress(
            Text(pt="Lendo no sistema o que foi gravado", en="Reading back"), 1
        ) as display:
            outcome.proofs.extend(write_proofs(batch, outcome.steps, datetime.now(), display.show))
    except XlbridgeError as error:
        outcome.proof_error = error


_ALREADY_RUNNING = Text(
    pt="O lote {id} já está em execução em outro processo.",
    en="Another process is already running the batch {id}.",
)


def _prepare_export(batch: Batch, step: ExportStep) -> "PreparedExport":
    """Return an export whose files may be written; create their folders.

    If no listing has the records' numbers, they come from the journal.
    """
    prepared = prepared_export(batch, step)
    with report_write_errors(prepared.output.path):
        for path in export_files(batch, step):
            path.parent.mkdir(parents=True, exist_ok=True)
    if not batch.last_export(step):
        prepared.require_replaceable()
    return prepared.with_known_ids(partial(_known_ids, batch, step))


def _known_ids(batch: Batch, step: ExportStep, listing: str) -> tuple[int, ...]:
    client = batch.environments.client(step.profile)
    return known_numbers(batch.environments.context(step.profile).settings, listing, client)


def _refresh(
    batch: Batch, step: ExportStep, client: Client, registries: Registries
) -> "ExportResult":
    """Replace the rows of a listing in a workbook of the analyst's.

    Raises ``UsageError`` if something in it cannot be kept, unless the plan accepts that.
    """
    # Batches without exports start faster without the modules that write workbooks.
    from xlbridge.export import open_refresh

    context = batch.environments.context(step.profile)
    with open_refresh(batch.plan.folder / step.output, context.settings.limits) as book:
        prepared = book.prepare(export_request(step), step.sheet, lambda: context.catalogue)
        numbered = prepared.with_known_ids(partial(_known_ids, batch, step))
        result = numbered.run(client, registries=registries)
        book.add_result(result)
        if book.losses and not step.accept_losses:
            raise UsageError(joined(book.losses), _HOW_TO_ACCEPT)
        book.save()
    return result


_HOW_TO_ACCEPT = Text(
    pt="Nada foi gravado. Mude o arquivo, ou aceite a perda com accept_losses: true na etapa.",
    en="Nothing was written. Change the workbook, or accept the loss with accept_losses: true "
    "in the step.",
)
