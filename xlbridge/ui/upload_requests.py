"""Requests about sending: plans, uploads, their progress, doubts and evidence, processing, batches.

A workbook of a batch is opened as a copy, and judged as its step does. The plan's own file is never
written: a person puts the corrected copy in its place, and the next run judges it again.
"""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from xlbridge.batch import (
    Batch,
    BatchConsentRequest,
    BatchOutcome,
    BatchRunOptions,
    UnitStatus,
    batch_json,
    open_known_batch,
    open_ledger,
    overview,
)
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources import load_catalogue
from xlbridge.ui.answers import download, error_json, json_of, posting, reading, shown_sheet
from xlbridge.ui.environment import Changed, Following, Remote
from xlbridge.ui.row_remarks import refusals
from xlbridge.ui.sheet_editor import MAPPING, BatchUnit, SheetChoice, SheetEditor
from xlbridge.ui.sheet_forms import known_mapping, sheet_json
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import UploadOptions, open_context
from xlbridge.upload.planning import ApproveAll
from xlbridge.upload.results import ensure_evidence, job_json, require_unchanged
from xlbridge.validation.mapping import read_mapping

if TYPE_CHECKING:
    from xlbridge.ui.sending import SheetUploads

_OWN_HEADERS = Text(
    pt="A planilha do envio {job} tem cabeçalhos próprios.",
    en="The workbook of the upload {job} has headers of its own.",
)
_HOW_TO_MAP = Text(
    pt="Abra-a em Abrir e confirme as colunas uma vez; depois as linhas recusadas aparecem na "
    "grade.",
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


_MOST_BATCHES = 12

RunBatch = Callable[[Batch, BatchRunOptions], BatchOutcome]
"""Runs a batch, as ``xlbridge.batch.run_batch`` does."""


@dataclass(frozen=True, slots=True)
class _Telling:
    """Progress of a phase of a run, told to the page."""

    tell: Callable[[Text], None]
    advance: Callable[[], None] = field(default=lambda: None)


class BatchRequests:
    """Requests about the batches of the home's ledger; ``run_batch`` runs one."""

    def __init__(
        self,
        workspace: Workspace,
        remote: Remote,
        following: Following,
        run_batch: RunBatch,
    ) -> None:
        self._workspace = workspace
        self._remote = remote
        self._following = following
        self._run_batch = run_batch

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        return [
            reading("/api/batches", self.batches),
            reading("/api/proof", self.proof),
            posting("/api/batch-unit", self.open_unit),
            posting("/api/batch-run", self.run),
        ]

    async def batches(self, _request: Request) -> Response:
        """Answer the batches with their steps, as they are now. No system is asked."""
        names = {status.value: str(status.text) for status in UnitStatus}
        return await json_of(lambda: {"batches": self._batches(), "names": names})

    def _batches(self) -> list[dict[str, Any]]:
        found = []
        with open_ledger(self._remote.base) as ledger:
            latest = ledger.batches()[:_MOST_BATCHES]
        for known in latest:
            told: dict[str, Any] = {"batch": known.id, "plan": str(known.plan)}
            try:
                with self._opened(known.id) as batch:
                    told |= batch_json(batch, overview(batch))
                    told["proofs"] = [_proof_json(path) for path in _proof_files(batch)]
            except XlbridgeError as error:
                told |= {"steps": [], "error": error_json(error)}
            found.append({**told, "created_at": f"{known.created_at:%d/%m/%Y %H:%M}"})
        return found

    async def proof(self, request: Request) -> Response:
        """Answer the closing proof of a batch: the page, or the workbook."""
        name, suffix = request.query_params["batch"], request.query_params["kind"]
        with self._opened(name) as batch:
            files = _proof_files(batch)
        return download(next((path for path in files if path.suffix == suffix), None))

    async def open_unit(self, request: Request) -> Response:
        """Open a copy of a batch's workbook in the grid, judged as its step says."""
        given = await request.json()
        return await json_of(
            lambda: sheet_json(self._open_unit(given["batch"], given["step"], given["unit"]))
        )

    def _open_unit(self, name: str, step_name: str, unit: str) -> SheetEditor:
        with self._opened(name) as batch:
            step, book = batch.plan.workbook_named(step_name, unit)
            settings = batch.environments.settings
        folder = self._workspace.new_folder()
        path = folder / book.path.name
        shutil.copyfile(book.path, path)
        mapping = None
        if step.mapping is not None:
            shutil.copyfile(step.mapping.path, folder / MAPPING)
            mapping = read_mapping(folder / MAPPING)
        limits = replace(settings.limits, csv=step.csv.with_defaults(settings.limits.csv))
        catalogue = load_catalogue(settings.schemas)
        editor = self._workspace.read_file(path, catalogue, limits)
        resource = None if mapping is not None else step.resource
        editor.choose(SheetChoice(resource, step.sheet, mapping, step.reading, step.links))
        editor.unit = BatchUnit(name, step_name, str(book.path))
        self._workspace.show(editor)
        return editor

    async def run(self, request: Request) -> Response:
        """Begin to run what is not done of a batch. Nothing is sent without the token that the
        outcome of a run without one asks for."""
        given = await request.json()
        work = partial(self._run, given["batch"], given.get("token", ""))
        return self._following.begin(work)

    def _run(self, name: str, token: str, changed: Changed) -> None:
        remote = self._remote
        asked: list[BatchConsentRequest] = []

        def consent(request: BatchConsentRequest) -> bool:
            asked.append(request)
            return request.token == token

        with remote.following("batch", changed, name):
            tell = remote.progress(changed)

            def progress(title: Text, _total: int) -> AbstractContextManager[_Telling]:
                tell(title)
                return nullcontext(_Telling(tell))

            options = BatchRunOptions(
                consent, UploadOptions(consent=ApproveAll(), progress=tell), progress=progress
            )
            with self._opened(name, tell) as batch:
                outcome = self._run_batch(batch, options)
                told = [it for it in asked if it.token != token]
                errors = (outcome.findings_error, outcome.proof_error, outcome.failure)
                remote.state.outcome = {
                    "batch": name,
                    "asked": _asked_json(batch, told[0]) if told else None,
                    "problems": [error_json(error) for error in errors if error is not None],
                }

    def _opened(
        self, name: str, announce: Callable[[Text], None] = lambda _text: None
    ) -> AbstractContextManager[Batch]:
        return open_known_batch(name, self._remote.base, announce)


def _asked_json(batch: Batch, request: BatchConsentRequest) -> dict[str, Any]:
    """Return what a run would send, to be confirmed."""
    targets = {
        step.profile: batch.environments.client(step.profile).target for step, _, _ in request.rows
    }
    return {
        "token": request.token,
        "writes": request.total,
        "failed": request.failed,
        "production": any(target.production for target in targets.values()),
        "environment": ", ".join(dict.fromkeys(target.profile for target in targets.values())),
        "steps": [
            {"step": step.name, "files": files, "rows": rows} for step, files, rows in request.rows
        ],
    }


def _proof_files(batch: Batch) -> list[Path]:
    """Return the files of the batch's closing proof that were written."""
    target = batch.plan.folder / batch.plan.proof
    files = [target.with_name(f"{target.name}{suffix}") for suffix in (".html", ".xlsx")]
    return [path for path in files if path.is_file()]


def _proof_json(path: Path) -> dict[str, str]:
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC).astimezone()
    return {"kind": path.suffix, "file": path.name, "written_at": f"{written:%d/%m/%Y %H:%M}"}
