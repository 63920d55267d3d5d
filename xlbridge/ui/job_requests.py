"""Requests about the jobs of the journal: details, totals, evidence, the workbook, a doubt."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from xlbridge.errors import UsageError
from xlbridge.files import path_beside
from xlbridge.i18n import Text
from xlbridge.titles import sheet_row
from xlbridge.ui.answers import download, get_route, post_route, table_json
from xlbridge.ui.environment import BackgroundWork, PageConnection, RegistryNames
from xlbridge.ui.row_remarks import PlannedAction, refusals
from xlbridge.ui.sheet_editor import SheetChoice, SheetEditor, own_name
from xlbridge.ui.sheet_forms import (
    job_details,
    job_totals,
    listed_job,
    remembered_mapping,
    sheet_json,
)
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import Job, Resolution, UploadContext, open_context, resolve_job
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results import (
    RowLedger,
    ensure_evidence,
    job_json,
    jobs_table,
    write_status_copy,
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
