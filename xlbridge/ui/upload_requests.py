"""Requests about uploads and processing."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.record_rows import sheet_row
from xlbridge.ui.answers import (
    download,
    get_route,
    json_response,
    post_route,
    shown_sheet_id,
)
from xlbridge.ui.environment import BackgroundWork, PageConnection
from xlbridge.ui.row_remarks import PlannedAction, refusals
from xlbridge.ui.sheet_editor import SheetChoice, SheetEditor
from xlbridge.ui.sheet_forms import remembered_mapping, sheet_json
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import Job, Resolution, UploadContext, open_context
from xlbridge.upload.results import RowLedger, RowOutcome, ensure_evidence, job_json

if TYPE_CHECKING:
    from xlbridge.ui.sending import SheetUploads

_OWN_HEADERS = Text(
    pt="A planilha do envio {job} tem cabeçalhos próprios.",
    en="The workbook of the upload {job} has headers of its own.",
)
_HOW_TO_MAP = Text(
    pt="Abra-a em Abrir e confirme as colunas uma vez; depois as linhas rejeitadas aparecem na "
    "grade.",
    en="Open it under Open and confirm the columns once; then the grid shows the rejected rows.",
)


_OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("update", "good_rows", "foreign_numbers"), bool | None),
    **dict.fromkeys(("clear", "create_unread"), bool | None),
    "again": str | None,
}
"""Options of an upload with their types."""


def _chosen(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in _OPTIONS if values.get(name)}


_RESOLUTION: dict[str, Any] = {"job": str, "as": Resolution, "reason": str}


class UploadRequests:
    """Requests about uploads to the environment of the page, and processing."""

    def __init__(
        self,
        workspace: Workspace,
        remote: PageConnection,
        work: BackgroundWork,
        uploads: "SheetUploads",
    ) -> None:
        self._workspace = workspace
        self._remote = remote
        self._work = work
        self._uploads = uploads

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        return [
            post_route("/api/plan", self.plan, **_OPTIONS),
            post_route(
                "/api/send", self.send, token=str, options=dict[str, bool | str | None] | None
            ),
            post_route("/api/cancel", self.cancel),
            get_route("/api/work", self._work.state),
            get_route("/api/jobs", self.jobs),
            get_route("/api/job", self.job, job=str),
            get_route("/api/job-totals", self.job_totals, job=str),
            post_route("/api/job-workbook", self.open_workbook, job=str),
            post_route("/api/resume", self.resume, job=str),
            post_route("/api/undo-plan", self.undo_plan, job=str),
            post_route("/api/undo", self.undo, job=str, token=str),
            post_route("/api/resolve", self.resolve, **_RESOLUTION),
            get_route("/api/rejects", self.rejects, job=str),
            get_route("/api/doubt", self.doubt, job=str),
            get_route("/api/status-copy", self.status_copy, job=str),
            post_route("/api/process-plan", self.process_plan, listing=str, numbers=list[int]),
            post_route("/api/process", self.process, listing=str, numbers=list[int], token=str),
        ]

    async def plan(self, request: Request) -> Response:
        """Return the plan of the sheet, without writing anything."""
        options = _chosen(await request.json())
        editor = self._workspace.editor_for(shown_sheet_id(request))
        return await json_response(lambda: self._uploads.plan(editor, options))

    async def send(self, request: Request) -> Response:
        """Start an upload according to a plan."""
        body = await request.json()
        editor = self._workspace.editor_for(shown_sheet_id(request))
        self._workspace.keep_folder(editor)
        options, token = _chosen(body.get("options") or {}), body["token"]
        return self._work.start(partial(self._uploads.send, editor, options, token))

    async def resume(self, request: Request) -> Response:
        """Resume a job."""
        body = await request.json()
        return self._work.start(partial(self._uploads.resume, body["job"]))

    async def undo_plan(self, request: Request) -> Response:
        """Return what undoing an upload would reverse."""
        job = (await request.json())["job"]
        return await json_response(lambda: self._uploads.plan_undo(job))

    async def undo(self, request: Request) -> Response:
        """Start undoing an upload according to a plan."""
        body = await request.json()
        return self._work.start(partial(self._uploads.undo, body["job"], body["token"]))

    async def cancel(self, _request: Request) -> Response:
        """Stop the running work before its next step."""
        self._remote.cancel()
        return JSONResponse({})

    async def jobs(self, _request: Request) -> Response:
        """Return the jobs of the journal."""
        return await json_response(self._uploads.jobs)

    async def job(self, request: Request) -> Response:
        """Return a job with its history and details."""
        job = request.query_params["job"]
        return await json_response(lambda: self._uploads.job(job))

    async def job_totals(self, request: Request) -> Response:
        """Return the control totals of a job, which take longer than its details."""
        job = request.query_params["job"]
        return await json_response(lambda: self._uploads.totals(job))

    async def open_workbook(self, request: Request) -> Response:
        """Open the workbook of a job with its refused and held rows: the stored edits, else a
        copy."""
        job = (await request.json())["job"]
        return await json_response(lambda: sheet_json(self._open_workbook(job)))

    def _open_workbook(self, job_id: str) -> SheetEditor:
        with open_context(self._remote.settings) as context:
            job = ensure_evidence(context, context.journal.job(job_id))
            job.require_upload()
            source = Path(job.spec.file)
            own = source.parent.parent.name
            if own in {draft["id"] for draft in self._workspace.drafts()}:
                return self._workspace.continue_draft(own)
            job.require_unchanged()
            rejected = [*job_json(context.journal, job)["rejected"], *_held_rows(context, job)]
        workspace = self._workspace
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

    async def resolve(self, request: Request) -> Response:
        """Record what the user saw in the system about a job in doubt."""
        body = await request.json()
        work = partial(self._uploads.resolve, body["job"], body["as"], body["reason"])
        await run_in_threadpool(work)
        return await json_response(lambda: self._uploads.job(body["job"]))

    async def rejects(self, request: Request) -> Response:
        """Return the workbook of the rows that were not written."""
        return await self._evidence(request, "rejects")

    async def doubt(self, request: Request) -> Response:
        """Return the page with the evidence about a job in doubt."""
        return await self._evidence(request, "evidence")

    async def _evidence(self, request: Request, kind: str) -> Response:
        job = request.query_params["job"]
        path = await run_in_threadpool(self._uploads.evidence, job, kind)
        return download(path) if kind == "rejects" else download(path, "text/html")

    async def status_copy(self, request: Request) -> Response:
        """Return the copy of a job's workbook with the status of each row."""
        job, folder = request.query_params["job"], self._workspace.new_folder()
        return download(await run_in_threadpool(self._uploads.status_copy, job, folder))

    async def process_plan(self, request: Request) -> Response:
        """Return what processing some records would do."""
        body = await request.json()
        listing, numbers = body["listing"], list(map(int, body["numbers"]))
        return await json_response(lambda: self._uploads.plan_process(listing, numbers))

    async def process(self, request: Request) -> Response:
        """Start processing records according to a plan."""
        body = await request.json()
        numbers = list(map(int, body["numbers"]))
        work = partial(self._uploads.process, body["listing"], numbers, body["token"])
        return self._work.start(work)


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
