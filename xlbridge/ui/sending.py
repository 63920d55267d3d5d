"""Requests about what the page sends (plan, upload, resume, undo, processing) and about the jobs in
the journal: details, totals, evidence, workbook, doubt."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from xlbridge import titles
from xlbridge.errors import UsageError
from xlbridge.files import make_private_folder, path_beside
from xlbridge.i18n import Text, count_text, untranslated
from xlbridge.parallel import validate_single_sheet
from xlbridge.report_forms import group_by_reason
from xlbridge.report_forms.totals import Axis
from xlbridge.resources.references import BRANCH
from xlbridge.titles import row_text, sheet_row
from xlbridge.ui.answers import (
    ErrorsInGrid,
    download,
    get_route,
    in_background,
    post_route,
    table_json,
)
from xlbridge.ui.environment import BackgroundWork, PageConnection, RegistryNames
from xlbridge.ui.row_remarks import PlannedAction, hint_on_page, planned_view, refusals
from xlbridge.ui.sheet_editor import SheetChoice, SheetEditor, own_name
from xlbridge.ui.sheet_forms import (
    HOW_TO_CONFIRM,
    job_details,
    job_totals,
    listed_job,
    remembered_mapping,
    report_lines,
    sheet_json,
    titled_report,
)
from xlbridge.ui.texts import action_text
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import (
    InvalidSheet,
    Job,
    Resolution,
    State,
    UploadContext,
    UploadOptions,
    Uploads,
    open_context,
    resolve_job,
)
from xlbridge.upload.planning import (
    ApproveAll,
    Confirmed,
    CorrectedRows,
    PlannedRow,
    RowAction,
    RowReason,
    process_plan_report,
    reason_table,
)
from xlbridge.upload.process_kinds import explicit_numbers, find_kind
from xlbridge.upload.process_plan import create_processing, plan_processing
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results import (
    ControlTotals,
    RowLedger,
    ensure_evidence,
    job_document,
    job_json,
    jobs_table,
    write_status_copy,
)
from xlbridge.upload.results.task_report import process_plan_json
from xlbridge.validation import ValidatedSheet, ValidationRequest
from xlbridge.workbook import CellPosition, cell_position

_ERRORS_LEFT = Text(
    pt="Nada foi enviado. Erros a corrigir: {n}; estão na grade, com o motivo.",
    en="Nothing was sent. Errors to correct: {n}; the grid shows them with their reasons.",
)
_FOR_ALL_ROWS = Text(
    pt="{title}, em todas as linhas: “{value}”. {message}",
    en="{title}, in all rows: “{value}”. {message}",
)
_CORRECT_FOR_ALL = Text(
    pt="Corrija o valor em Abrir, em “Colunas usadas”, e confirme.",
    en="Correct the value under Open, in “Columns used”, and confirm.",
)
_UNCONFIRMED = Text(
    pt="O envio {job} ainda não foi confirmado, e nada dele foi enviado.",
    en="The upload {job} has not been confirmed, and nothing of it was sent.",
)
_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("update", "good_rows", "foreign_numbers"), bool | None),
    **dict.fromkeys(("clear", "create_unread"), bool | None),
    "again": str | None,
}
"""Options of an upload with their types."""


@dataclass(frozen=True, slots=True)
class UploadRequests:
    """Requests about uploads to the environment of the page, and processing."""

    workspace: Workspace
    remote: PageConnection
    work: BackgroundWork
    names: RegistryNames

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        start = self.work.start
        options = dict[str, bool | str | None] | None
        numbers: dict[str, Any] = {"listing": str, "numbers": list[int]}
        return [
            post_route("/api/plan", self.plan, of_sheet=True, **_OPTIONS),
            post_route(
                "/api/send", self.send, of_sheet=True, start=start, token=str, options=options
            ),
            post_route("/api/resume", in_background(self.resume), start=start, job=str),
            post_route("/api/undo-plan", self.plan_undo, job=str),
            post_route("/api/undo", in_background(self.undo), start=start, job=str, token=str),
            post_route("/api/process-plan", self.plan_process, **numbers),
            post_route(
                "/api/process", in_background(self.process), start=start, token=str, **numbers
            ),
        ]

    def plan(self, shown: str | None, **options: Any) -> dict[str, Any]:
        """Return the action of each row of the corrected copy, without writing anything.

        Raises ``UsageError`` if the sheet has errors, ``ApiError`` if a look-up fails.
        """
        editor = self.workspace.editor_for(shown)
        sheet, version = self._corrected_sheet(editor)
        with self.remote.awaited("plan"), self.remote.connected() as (context, client):
            uploads = Uploads(context, client)
            upload_options = _options(options, "", self.remote)
            rows = _rows_to_send(uploads, sheet, upload_options, editor)
            try:
                planned = uploads.plan(rows, upload_options)
            except UsageError as error:
                message = str(error.message).replace(str(editor.sent_path), editor.name)
                if message == str(error.message):
                    raise
                # Its path is the page's copy.
                raise UsageError(untranslated(message), error.hint) from error
        in_titles = str if sheet.resource is None else sheet.resource.with_titles
        listed = sorted(
            (
                row if row.why is None else row._replace(why=untranslated(in_titles(row.why)))
                for row in planned.plan.rows
                if not row.is_created
            ),
            key=lambda row: _LISTING_ORDER.index(row.action),
        )
        columns = {} if sheet.resource is None else sheet.resource.by_path
        sent = rows.sheet if isinstance(rows, CorrectedRows) else rows
        with editor.lock:
            if editor.version == version:
                editor.remarks.plan(listed, columns, sent.record_columns)
        totals = ControlTotals.of_sheet(sent)
        totals.branches = self.names.read(BRANCH)
        records = [row for row in planned.plan.rows if row.reason is not RowReason.NO_RECORD]
        actions = ((row.row, str(action_text(row.action))) for row in records)
        written = [row.row for row in records if row.action.writes]
        writes = totals.by_column(written) if written else ()
        counts, aside = planned.plan.counts, planned.plan.not_records
        by_action = totals.by_label(Axis(titles.PLAN, sorted=False), actions, pictured=False)
        return {
            "counts": {**counts, "held": counts["held"] - aside, "aside": aside},
            "token": planned.plan.token,
            "table": table_json(reason_table(listed, columns, titled=True)),
            "groups": _groups(sheet, listed),
            "unread": in_titles(planned.unread or ""),
            "totals": list(map(table_json, (by_action, *writes))),
            "writes": len(planned.plan.positions),
            "retry_of": rows.job.id if isinstance(rows, CorrectedRows) else None,
            "target": client.target.to_json(),
        }

    def send(
        self, shown: str | None, token: str, options: Mapping[str, Any] | None
    ) -> Callable[[], None]:
        """Return the upload of the corrected copy by the plan that ``token`` confirms."""
        editor = self.workspace.editor_for(shown)
        self.workspace.keep_folder(editor)
        return partial(self._send, editor, options or {}, token)

    def _send(self, editor: SheetEditor, options: Mapping[str, Any], token: str) -> None:
        with self.remote.track("upload"):
            sheet, version = self._corrected_sheet(editor)
            with self.remote.connected() as (context, client):
                upload_options = _options(options, token, self.remote)
                uploads = Uploads(context, client)
                rows = _rows_to_send(uploads, sheet, upload_options, editor)

                def show(job: Job) -> None:
                    if job.spec.retry_of is None:
                        with editor.lock:
                            editor.job = job.id
                            self.workspace.save_edits(editor)
                    self.remote.state.job = job.id

                job = uploads.submit(rows, upload_options, on_created=show)
                sent = rows.sheet if isinstance(rows, CorrectedRows) else rows
                self._finish(context, job, sent)
                self._show_refusals(job, editor, sent, is_whole=editor.version == version)

    def resume(self, job: str) -> None:
        """Resume a job that has been confirmed."""
        remote = self.remote
        with remote.track("upload", job), remote.connected() as (context, client):
            confirmed = context.journal.job(job)
            if confirmed.state.is_unsent:
                raise UsageError(_UNCONFIRMED.format(job=job), HOW_TO_CONFIRM)
            upload_options = _options({}, confirmed.token, remote)
            done = Uploads(context, client).run(confirmed, upload_options)
            self._finish(context, done)
            editor = self.workspace.editor if self.workspace.is_open else None
            if editor is not None and editor.job in {done.id, done.spec.retry_of} - {None}:
                self._show_refusals(done, editor, editor.validated, is_whole=False)

    def plan_undo(self, job: str) -> dict[str, Any]:
        """Return what undoing an upload would reverse, and what not, without writing anything."""
        with self.remote.connected() as (context, client):
            written = context.journal.job(job)
            plan = Uploads(context, client).plan_undo(written)
            columns = context.catalogue.named(written.spec.resource).by_name
        return {
            "undo": plan.writes,
            "left": len(plan.left),
            "reasons": [str(remark).strip() for remark in plan.remarks()],
            "restored": [
                str(
                    (_REMOVED if one.task.wanted is None else _RESTORED).format(
                        row=row_text(one.row.row),
                        code=one.task.record,
                        values="; ".join(one.restored(columns)),
                    )
                )
                for one in plan.reversals[:_SHOWN_UNDONE]
            ],
            "more": max(plan.writes - _SHOWN_UNDONE, 0),
            "token": plan.token,
            "target": client.target.to_json(),
        }

    def undo(self, job: str, token: str) -> None:
        """Undo an upload according to the plan confirmed by ``token``."""
        remote = self.remote
        with remote.track("undo"), remote.connected() as (context, client):
            uploads = Uploads(context, client)
            undo = uploads.create_undo(uploads.plan_undo(context.journal.job(job)))
            remote.state.job = undo.id
            upload_options = _options({}, token, remote)
            self._finish(context, uploads.run(undo, upload_options))

    def plan_process(self, listing: str, numbers: Sequence[int]) -> dict[str, Any]:
        """Return what processing records would do, without writing anything."""
        kind = find_kind(listing)
        with self.remote.connected() as (context, client):
            plan = plan_processing(context, client, kind, explicit_numbers(kind, numbers))
            report = process_plan_report(listing, client.target, plan.rows, plan.token, 0)
            return process_plan_json(plan) | {
                "table": table_json(report.tables[0]),
                "warnings": [str(warning).strip() for warning in report.remarks],
                "target": client.target.to_json(),
            }

    def process(self, listing: str, numbers: Sequence[int], token: str) -> None:
        """Process records according to the plan confirmed by ``token``."""
        remote = self.remote
        with remote.track("process"), remote.connected() as (context, client):
            upload_options = _options({}, token, remote)
            kind = find_kind(listing)
            wanted = explicit_numbers(kind, numbers)
            job = create_processing(context, client, kind, wanted, upload_options.progress)
            remote.state.job = job.id
            self._finish(context, Uploads(context, client).run(job, upload_options))

    def _corrected_sheet(self, editor: SheetEditor) -> tuple[ValidatedSheet, int]:
        """Save and validate the corrected copy; return it with the version of its edits."""
        with editor.lock:
            make_private_folder(editor.sent_path.parent)
            editor.save_corrected(editor.sent_path)
            choice, version = editor.choice, editor.version
            request = ValidationRequest(
                file=editor.sent_path,
                resource=None if choice.mapping else choice.resource,
                sheet=editor.validated.sheet,
                reading=choice.reading,
                mapping=choice.mapping,
                links=choice.links,
                accepted=editor.accepted,
            )
        settings = self.remote.settings
        return validate_single_sheet(request, settings.schemas, settings.limits), version

    def _finish(
        self, context: UploadContext, job: Job, sheet: ValidatedSheet | None = None
    ) -> None:
        report, outcome = titled_report(context, job), job_document(context.journal, job)
        outcome["headline"] = str(report.verdict)
        report = replace(report, verdict=None)
        if not job.is_task:
            # The page has the next steps itself.
            report = replace(report, next_steps=())
            outcome["totals"] = job_totals(context, job, self.names, sheet)
        outcome["lines"] = [line.strip() for line in report_lines(report)]
        self.remote.state.outcome = outcome

    def _show_refusals(
        self, job: Job, editor: SheetEditor, sheet: ValidatedSheet, *, is_whole: bool
    ) -> None:
        """Mark the refused rows of an upload of ``sheet`` in the grid.

        Edits are dropped if all of them are in the upload (``is_whole``) and all of it is written.
        """
        outcome = self.remote.state.outcome or {}
        with editor.lock:
            editor.job = job.id
            editor.set_refusals(refusals(sheet, outcome["rejected"]))
            if job.state is State.DONE and is_whole:
                self.workspace.drop_edits(editor)
            else:
                self.workspace.save_edits(editor)
            self.remote.state.outcome = {**outcome, "in_grid": editor.remarks.refused_sheets}


def _rows_to_send(
    uploads: Uploads, sheet: ValidatedSheet, options: UploadOptions, editor: SheetEditor
) -> ValidatedSheet | CorrectedRows:
    """Return the rows of the corrected copy to send: all, or those corrected since its last upload.

    A name in a link column without a record is marked at its cell in the grid; raises
    ``UsageError`` for one that a mapping gives all rows, which has no cell.
    """
    earlier = uploads.rejected_upload(editor.job)
    try:
        rows = uploads.rows_to_send(sheet, options, earlier, in_place=True)
    except InvalidSheet as error:
        _mark_names(editor, sheet, error.sheet)
        for part in error.sheet.with_children:
            for found in part.error_findings():
                resource, name = part.resource, found.column
                column = None if resource is None or name is None else resource.column_at(name)
                if found.row is None or found.cell is not None or column is None:
                    continue
                about = {"title": column.title, "value": found.value, "message": found.message}
                raise UsageError(_FOR_ALL_ROWS.format(**about), _CORRECT_FOR_ALL) from error
        raise ErrorsInGrid(_ERRORS_LEFT.format(n=count_text(editor.count_errors()))) from error
    _mark_names(editor, sheet, rows.sheet if isinstance(rows, CorrectedRows) else rows)
    return rows


def _mark_names(editor: SheetEditor, sheet: ValidatedSheet, linked: ValidatedSheet) -> None:
    """Mark the names that had no record when the names of a sheet were replaced by codes."""
    if sheet.resource is None or sheet.resource.base is None:
        return
    marks: dict[str, dict[CellPosition, str]] = {}
    for before, after in zip(sheet.with_children, linked.with_children, strict=True):
        known = {(f.row, f.column) for f in before.error_findings()}
        marks.setdefault(after.sheet, {}).update(
            (cell_position(f.cell), f"{f.message} {hint_on_page(f.kind.code, f.hint)}".strip())
            for f in after.error_findings()
            if f.row is not None and f.cell is not None and (f.row, f.column) not in known
        )
    with editor.lock:
        editor.set_refusals(marks)


_PAGE_OPTIONS: Mapping[RowReason, str] = {
    RowReason.DIFFERS: "update",
    RowReason.UNKNOWN_NUMBER: "foreign_numbers",
    RowReason.TWO_RECORDS: "foreign_numbers",
    RowReason.EMPTY_CELL: "clear",
    RowReason.NOT_LOOKED_UP: "create_unread",
    RowReason.GONE: "again",
    RowReason.NEAR_KEY: "again",
    RowReason.SENT_OTHERWISE: "again",
}
"""Options of the page that decide about all rows with a reason."""


def _groups(sheet: ValidatedSheet, shown: Sequence[PlannedRow]) -> list[dict[str, Any]]:
    """Return what the page offers for each line of the table of reasons: a view of the rows, and
    the option that decides about all of them."""
    can_change = sheet.resource is not None and sheet.resource.change is not None
    groups = group_by_reason(((row.action, row.reason), row) for row in shown)
    return [
        {
            "view": planned_view(action, reason),
            "count": len(rows),
            "option": _PAGE_OPTIONS.get(reason)
            if reason is not None and (can_change or reason is not RowReason.DIFFERS)
            else None,
        }
        for (action, reason), rows in groups.items()
    ]


_LISTING_ORDER = (
    RowAction.HELD,
    RowAction.UNREAD,
    RowAction.DELETE,
    RowAction.UPDATE,
    RowAction.UNCHANGED,
)
"""Order of rows by action: those that need attention come first."""


def _options(
    choices: Mapping[str, Any],
    token: str,
    remote: PageConnection,
) -> UploadOptions:
    """Return the options of an upload whose progress is recorded in ``remote``."""
    return UploadOptions(
        consent=Confirmed(token) if token else ApproveAll(),
        progress=remote.progress,
        on_count=remote.count,
        **{name: choice for name, choice in choices.items() if choice and name in _OPTIONS},
    )


_SHOWN_UNDONE = 10
_REMOVED = Text(
    pt="linha {row}: o registro {code} será excluído",
    en="row {row}: the record {code} is deleted",
)
_RESTORED = Text(
    pt="linha {row}, registro {code}: volta a ter {values}",
    en="row {row}, record {code}: gets back {values}",
)


_OWN_HEADERS = Text(
    pt="A planilha do envio {job} tem cabeçalhos próprios.",
    en="The workbook of the upload {job} has headers of its own.",
)
_HOW_TO_MAP = Text(
    pt="Abra-a em Abrir e confirme as colunas uma vez; depois as linhas rejeitadas aparecem na "
    "grade.",
    en="Open it under Open and confirm the columns once; then the grid shows the rejected rows.",
)


_RESOLUTION: dict[str, Any] = {"job": str, "as": Resolution, "reason": str}


@dataclass(frozen=True, slots=True)
class JobRequests:
    """Requests about the jobs of the journal, and about the running work."""

    workspace: Workspace
    remote: PageConnection
    work: BackgroundWork
    names: RegistryNames

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        return [
            post_route("/api/cancel", self.cancel),
            get_route("/api/work", self.work.state),
            get_route("/api/jobs", self.jobs),
            get_route("/api/job", self.job, job=str),
            get_route("/api/job-totals", self.totals, job=str),
            post_route("/api/job-workbook", self.open_workbook, job=str),
            post_route("/api/resolve", self.resolve, **_RESOLUTION),
            get_route("/api/rejects", self.rejects, job=str),
            get_route("/api/doubt", self.doubt, job=str),
            get_route("/api/status-copy", self.status_copy, job=str),
        ]

    async def cancel(self, _request: Request) -> Response:
        """Stop the running work before its next step."""
        self.remote.cancel()
        return JSONResponse({})

    def jobs(self) -> dict[str, Any]:
        """Return the jobs of the journal, newest first, without calling the system."""
        with open_context(self.remote.settings) as context:
            jobs = context.journal.jobs()
            catalogue = context.catalogue
            table = jobs_table(
                context.journal,
                jobs,
                show_file=own_name,
                show_resource=lambda name: catalogue[name].title if name in catalogue else name,
            )
            return {
                "table": table_json(table),
                "jobs": [listed_job(context, job) for job in jobs],
            }

    def job(self, job: str) -> dict[str, Any]:
        """Return a job with its history and details."""
        with open_context(self.remote.settings) as context:
            return job_details(context, ensure_evidence(context, context.journal.job(job)))

    def totals(self, job: str) -> dict[str, Any]:
        """Return the control totals of a job, which take longer than its details; none if it has
        no rows."""
        with open_context(self.remote.settings) as context:
            shown = context.journal.job(job)
            return {"totals": [] if shown.is_task else job_totals(context, shown, self.names)}

    def open_workbook(self, job: str) -> dict[str, Any]:
        """Open the workbook of a job with its refused and held rows: the stored edits, else a
        copy."""
        return sheet_json(self._open_workbook(job))

    def _open_workbook(self, job_id: str) -> SheetEditor:
        with open_context(self.remote.settings) as context:
            job = ensure_evidence(context, context.journal.job(job_id))
            job.require_upload()
            source = Path(job.spec.file)
            own = source.parent.parent.name
            if own in {draft["id"] for draft in self.workspace.drafts()}:
                return self.workspace.continue_draft(own)
            job.require_unchanged()
            rejected = [*job_json(context.journal, job)["rejected"], *_held_rows(context, job)]
        workspace = self.workspace
        path = workspace.new_folder() / source.name
        shutil.copyfile(source, path)
        editor = workspace.read_file(path, workspace.catalogue, workspace.settings.limits)
        choice = SheetChoice(job.spec.resource, job.spec.sheet)
        editor.choose(choice)
        if not editor.validated.readable:
            mapping = remembered_mapping(editor, workspace.settings, job.spec.resource)
            if mapping is None:
                raise UsageError(_OWN_HEADERS.format(job=job.id), _HOW_TO_MAP)
            editor.choose(replace(choice, resource=None, mapping=mapping))
        editor.job = job.id
        editor.set_refusals(refusals(editor.validated, rejected))
        workspace.show(editor)
        workspace.save_edits(editor)
        return editor

    def resolve(self, job: str, reason: str, **seen: Resolution) -> dict[str, Any]:
        """Record what the user saw in the system about a job in doubt, and return the job.

        Raises ``UsageError`` if nothing is in doubt, there is no reason, or rows may still arrive.
        """
        with open_context(self.remote.settings) as context:
            resolve_job(context, context.journal.job(job), seen["as"], reason)
        return self.job(job)

    def rejects(self, job: str) -> Response:
        """Return the workbook of the rows that were not written."""
        with open_context(self.remote.settings) as context:
            found = ensure_evidence(context, context.journal.job(job))
        return download(found.notes.rejects_file)

    def doubt(self, job: str) -> Response:
        """Return the page with the evidence about a job in doubt."""
        with open_context(self.remote.settings) as context:
            found = ensure_evidence(context, context.journal.job(job))
        return download(found.notes.evidence_file, "text/html")

    def status_copy(self, job: str) -> Response:
        """Return a copy of a job's workbook with the status of each row.

        Raises ``UsageError`` if the workbook is gone or was changed.
        """
        with open_context(self.remote.settings) as context:
            sent = context.journal.job(job)
            sent.require_upload()
            file = self.workspace.new_folder() / Path(sent.spec.file).name
            target = path_beside(file, _STATUS_COPY_NAME.format(job=sent.id))
            write_status_copy(context, sent, target)
        return download(target)


_STATUS_COPY_NAME = Text(pt="-situacao-{job}.xlsx", en="-state-{job}.xlsx")


def _held_rows(context: UploadContext, job: Job) -> Iterator[dict[str, Any]]:
    """Yield the rows of a job that wait for a decision, with their reasons, as rejected ones; a row
    that differs from its record once for each column."""
    columns = context.catalogue.named(job.spec.resource).by_path
    for row, change in RowLedger.of(context.journal, job).rows_of(job).items():
        if change.outcome is not RowOutcome.HELD or change.planned is None or not change.is_record:
            continue
        action = PlannedAction.of(change.planned, columns)
        for name, text in (action.differences or {"": ""}).items():
            message = " · ".join(filter(None, (action.message, text)))
            cell = job.spec.cell(row, name) if name else None
            yield {"row": sheet_row(row), "cell": cell, "column": name or None, "message": message}
