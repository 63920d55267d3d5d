"""Requests about sending: plan, upload, its progress, jobs, doubts and evidence, processing."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.ui.answers import download, json_of, posting, reading, shown_sheet
from xlbridge.ui.remote import Following, Remote
from xlbridge.ui.row_remarks import refusals
from xlbridge.ui.sheet_editor import SheetChoice, SheetEditor
from xlbridge.ui.sheet_forms import known_mapping, sheet_json
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import open_context
from xlbridge.upload.results import ensure_evidence, job_json, require_unchanged

if TYPE_CHECKING:
    from xlbridge.ui.sending import SheetUploads

_OWN_HEADERS = Text(
    pt="A planilha do envio {job} tem cabeçalhos próprios.",
    en="The workbook of the upload {job} has headers of its own.",
)
_HOW_TO_MAP = Text(
    pt="Abra-a em Abrir e confirme as colunas uma vez; depois as linhas recusadas vêm à grade.",
    en="Open it under Open and confirm the columns once; then the refused rows come to the grid.",
)


class UploadRequests:
    """Requests about what is sent to the environment of the page."""

    def __init__(
        self, workspace: Workspace, remote: Remote, following: Following, uploads: "SheetUploads"
    ) -> None:
        self._workspace = workspace
        self._remote = remote
        self._following = following
        self._uploads = uploads

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        return [
            posting("/api/plan", self.plan),
            posting("/api/send", self.send),
            posting("/api/cancel", self.cancel),
            Route("/api/events", self._following.events),
            reading("/api/jobs", self.jobs),
            reading("/api/job", self.job),
            posting("/api/job-workbook", self.open_workbook),
            posting("/api/resume", self.resume),
            posting("/api/resolve", self.resolve),
            reading("/api/rejects", self.rejects),
            reading("/api/doubt", self.doubt),
            reading("/api/status-copy", self.status_copy),
            posting("/api/process-plan", self.process_plan),
            posting("/api/process", self.process),
        ]

    async def plan(self, request: Request) -> Response:
        """Answer the plan of the sheet, before anything is written."""
        options, editor = await request.json(), self._workspace.editor_of(shown_sheet(request))
        return await json_of(lambda: self._uploads.plan(editor, options))

    async def send(self, request: Request) -> Response:
        """Begin to send what was planned."""
        given = await request.json()
        editor = self._workspace.editor_of(shown_sheet(request))
        self._workspace.keep_folder(editor)
        options, token = given.get("options", {}), given["token"]
        return self._following.begin(partial(self._uploads.send, editor, options, token))

    async def resume(self, request: Request) -> Response:
        """Continue a job."""
        given = await request.json()
        return self._following.begin(partial(self._uploads.resume, given["job"]))

    async def cancel(self, _request: Request) -> Response:
        """Stop the work that runs, before its next step."""
        self._remote.cancel()
        return JSONResponse({})

    async def jobs(self, _request: Request) -> Response:
        """Answer the jobs of the journal."""
        return await json_of(lambda: {"jobs": self._uploads.jobs()})

    async def job(self, request: Request) -> Response:
        """Answer what is known of a job."""
        job = request.query_params["job"]
        return await json_of(lambda: self._uploads.job(job))

    async def open_workbook(self, request: Request) -> Response:
        """Open the workbook of a job in the grid, with the rows that were refused: its kept edits
        where the page sent it, else a copy."""
        job = (await request.json())["job"]
        return await json_of(lambda: sheet_json(self._open_workbook(job)))

    def _open_workbook(self, job_id: str) -> SheetEditor:
        with open_context(self._remote.settings) as context:
            job = ensure_evidence(context, context.journal.job(job_id))
            job.require_upload()
            source = Path(job.spec.file)
            if source.parent.name in {draft["id"] for draft in self._workspace.drafts()}:
                return self._workspace.continue_draft(source.parent.name)
            require_unchanged(job, source)
            rejected = job_json(job, context.journal.plan_of(job))["rejected"]
        workspace = self._workspace
        path = workspace.new_folder() / source.name
        shutil.copyfile(source, path)
        editor = workspace.read_file(path, workspace.catalogue, workspace.settings.limits)
        choice = SheetChoice(job.spec.resource, job.spec.sheet)
        editor.choose(choice)
        if not editor.validated.readable:
            mapping = known_mapping(editor, workspace.settings, job.spec.resource)
            if mapping is None:
                raise UsageError(_OWN_HEADERS.format(job=job.id), _HOW_TO_MAP)
            editor.choose(replace(choice, resource=None, mapping=mapping))
        editor.job = job.id
        editor.refuse(refusals(editor.validated, rejected))
        workspace.show(editor)
        workspace.save_edits(editor)
        return editor

    async def resolve(self, request: Request) -> Response:
        """Record what a person saw in the system of a job in doubt."""
        given = await request.json()
        work = partial(self._uploads.resolve, given["job"], given["as"], given["reason"])
        await run_in_threadpool(work)
        return await json_of(lambda: self._uploads.job(given["job"]))

    async def rejects(self, request: Request) -> Response:
        """Answer the workbook of the rows that were not written."""
        return await self._evidence(request, "rejects")

    async def doubt(self, request: Request) -> Response:
        """Answer the page to decide a doubt from."""
        return await self._evidence(request, "evidence")

    async def _evidence(self, request: Request, kind: str) -> Response:
        job = request.query_params["job"]
        path = await run_in_threadpool(self._uploads.evidence, job, kind)
        return download(path) if kind == "rejects" else download(path, "text/html")

    async def status_copy(self, request: Request) -> Response:
        """Answer the copy of a job's workbook with the status of each row."""
        job, folder = request.query_params["job"], self._workspace.new_folder()
        return download(await run_in_threadpool(self._uploads.status_copy, job, folder))

    async def process_plan(self, request: Request) -> Response:
        """Answer what processing some records would do."""
        given = await request.json()
        listing, numbers = given["listing"], list(map(int, given["numbers"]))
        return await json_of(lambda: self._uploads.plan_process(listing, numbers))

    async def process(self, request: Request) -> Response:
        """Begin to process what was planned."""
        given = await request.json()
        numbers = list(map(int, given["numbers"]))
        work = partial(self._uploads.process, given["listing"], numbers, given["token"])
        return self._following.begin(work)
