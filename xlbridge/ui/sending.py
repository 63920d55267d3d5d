"""Sending from the page: the plan of a sheet, the upload of it, its progress, doubts and evidence.

All are the use cases of the commands, run in a thread.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.parallel import validate_single_sheet
from xlbridge.resources import Column, Mode
from xlbridge.ui.environment import Changed, Remote
from xlbridge.ui.row_remarks import PlannedAction, planned_text, refusals
from xlbridge.ui.sheet_editor import SheetEditor
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import (
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
    corrected_rows,
)
from xlbridge.upload.processing import (
    create_processing,
    explicit_numbers,
    find_kind,
    plan_processing,
    process_plan_json,
)
from xlbridge.upload.results import (
    ensure_evidence,
    job_headline,
    job_json,
    job_lines,
    job_report,
    settled_rows,
    write_status_copy,
)
from xlbridge.validation import ValidatedSheet, ValidationRequest
from xlbridge.workbook import CellPosition

_UNCONFIRMED = Text(
    pt="O envio {job} ainda não foi confirmado, e nada dele foi enviado.",
    en="The upload {job} is not confirmed yet, and nothing of it was sent.",
)
_HOW_TO_CONFIRM = Text(
    pt="Abra a planilha, veja o plano e envie.", en="Open the workbook, see the plan and send."
)
_LISTED = 200
_RETRIED = frozenset({State.PARTIAL, State.REJECTED})


class SheetUploads:
    """Uploads of the open sheet, and the jobs of the journal."""

    def __init__(self, remote: Remote, workspace: Workspace) -> None:
        self._remote = remote
        self._workspace = workspace

    def plan(self, editor: SheetEditor, options: dict[str, bool]) -> dict[str, Any]:
        """Return the action of each row of the corrected copy; nothing is written.

        Raises ``UsageError`` when the sheet has errors, ``ApiError`` when the system cannot be
        asked.
        """
        sheet, version = self._corrected_sheet(editor)
        with self._remote.connected() as (context, client):
            uploads, given = Uploads(context, client), _options(options, "")
            sheet = _with_codes(uploads, sheet, editor)
            again = _retried(context, sheet, editor)
            planned = uploads.plan(sheet if again is None else again, given)
            target = client.target
        rows = [row for row in planned.plan.rows if not row.is_created]
        listed = sorted(rows, key=lambda row: _LISTING_ORDER.index(row.action))
        columns = {} if sheet.resource is None else sheet.resource.by_name
        with editor.lock:
            if editor.version == version:
                editor.remarks.planned = {row.row: PlannedAction.of(row, columns) for row in rows}
        return {
            "counts": planned.plan.counts,
            "token": planned.plan.token,
            "rows": [_planned_row(row, columns) for row in listed[:_LISTED]],
            "more": max(0, len(rows) - _LISTED),
            "writes": len(planned.plan.positions),
            "retry_of": None if again is None else again.job.id,
            "environment": target.profile,
            "address": target.base_url,
            "production": target.production,
        }

    def send(
        self, editor: SheetEditor, options: dict[str, bool], token: str, changed: Changed
    ) -> None:
        """Send the corrected copy as it was planned."""
        with self._remote.following("upload", changed):
            sheet, version = self._corrected_sheet(editor)
            with self._remote.connected() as (context, client):
                given = _options(options, token, self._remote.progress(changed))
                uploads = Uploads(context, client)
                sheet = _with_codes(uploads, sheet, editor)
                again = _retried(context, sheet, editor)
                if again is not None:
                    job = uploads.create_retry(again, given)
                else:
                    job = uploads.create(sheet, given)
                    with editor.lock:
                        editor.job = job.id
                        self._workspace.save_edits(editor)
                self._remote.state.job = job.id
                changed()
                job = uploads.run(job, given)
                self._finish(context, job)
                self._take_back(job, editor, sheet, is_whole=editor.version == version)

    def resume(self, job_id: str, changed: Changed) -> None:
        """Continue a job that a person has confirmed."""
        remote = self._remote
        with remote.following("upload", changed, job_id), remote.connected() as (context, client):
            job = context.journal.job(job_id)
            if job.state.is_unsent:
                raise UsageError(_UNCONFIRMED.format(job=job_id), _HOW_TO_CONFIRM)
            given = _options({}, job.token, remote.progress(changed))
            job = Uploads(context, client).run(job, given)
            self._finish(context, job)
            editor = self._workspace.editor if self._workspace.is_open else None
            own = {job.id, job.retry_of}
            if editor is not None and editor.job in own:
                self._take_back(job, editor, editor.validated, is_whole=False)

    def jobs(self) -> list[dict[str, Any]]:
        """Return the jobs of the journal, newest first. The system is not asked."""
        with open_context(self._remote.settings) as context:
            return [_listed_job(context, job) for job in context.journal.jobs()]

    def job(self, job_id: str) -> dict[str, Any]:
        """Return what is known of a job: its history, and what a person may do about it."""
        with open_context(self._remote.settings) as context:
            job = ensure_evidence(context, context.journal.job(job_id))
            history = [
                {"at": f"{event.at:%d/%m/%Y %H:%M:%S}", "state": str(event.state.text)}
                for event in job.events
            ]
            return _listed_job(context, job) | {"history": history, "lines": _lines(context, job)}

    def resolve(self, job_id: str, seen: str, reason: str) -> None:
        """Record what a person saw in the system of a job in doubt. Raises ``UsageError`` where
        nothing is in doubt, no reason is given, or rows may still arrive."""
        with open_context(self._remote.settings) as context:
            resolve_job(context, context.journal.job(job_id), Resolution(seen), reason)

    def evidence(self, job_id: str, kind: str) -> Path | None:
        """Return the rejects workbook or the doubt page of a job, None where it has none."""
        with open_context(self._remote.settings) as context:
            name = ensure_evidence(context, context.journal.job(job_id)).last(f"{kind}_file")
        return None if name is None else Path(name)

    def status_copy(self, job_id: str, folder: Path) -> Path:
        """Write the copy of a job's workbook with the status of each row. Raises ``UsageError``
        where the workbook is gone or was changed."""
        with open_context(self._remote.settings) as context:
            job = context.journal.job(job_id)
            job.require_upload()
            target = folder / f"{Path(job.spec.file).stem}-situacao-{job.id}.xlsx"
            write_status_copy(context, job, target)
        return target

    def plan_process(self, listing: str, numbers: Sequence[int]) -> dict[str, Any]:
        """Return what processing records would do; nothing is sent."""
        kind = find_kind(listing)
        with self._remote.connected() as (context, client):
            plan = plan_processing(context, client, kind, explicit_numbers(numbers))
            target = client.target
            told = {"environment": target.profile, "production": target.production}
            return process_plan_json(plan) | told

    def process(self, listing: str, numbers: Sequence[int], token: str, changed: Changed) -> None:
        """Process records as they were planned."""
        remote = self._remote
        with remote.following("process", changed), remote.connected() as (context, client):
            given = _options({}, token, remote.progress(changed))
            job = create_processing(
                context, client, find_kind(listing), explicit_numbers(numbers), given
            )
            remote.state.job = job.id
            self._finish(context, Uploads(context, client).run(job, given))

    def _corrected_sheet(self, editor: SheetEditor) -> tuple[ValidatedSheet, int]:
        """Return the corrected copy as it is validated, and the version that it has."""
        with editor.lock:
            editor.save_corrected(editor.copy)
            choice, version = editor.choice, editor.version
            request = ValidationRequest(
                file=editor.copy,
                resource=None if choice.mapping else choice.resource,
                sheet=editor.validated.sheet,
                reading=choice.reading,
                mapping=choice.mapping,
                links=choice.links,
            )
        settings = self._remote.settings
        return validate_single_sheet(request, settings.schemas, settings.limits), version

    def _finish(self, context: UploadContext, job: Job) -> None:
        journal = context.journal
        if job.spec.mode is Mode.PROCESS:
            told: dict[str, Any] = job_report(journal, job).forms.document()
            told |= {"rejected": [], "rejects_file": None, "headline": _lines(context, job)[0]}
        else:
            told = job_json(job, journal.plan_of(job), settled_rows(journal, job))
            told |= {"headline": job_headline(job)}
        self._remote.state.outcome = told

    def _take_back(
        self, job: Job, editor: SheetEditor, sheet: ValidatedSheet, *, is_whole: bool
    ) -> None:
        """Take the refused rows of an upload of ``sheet`` into the grid.

        Edits are dropped where ``is_whole`` says that all of them are in the upload, and all of it
        is written.
        """
        outcome = self._remote.state.outcome or {}
        with editor.lock:
            editor.job = job.id
            editor.refuse(refusals(sheet, outcome["rejected"]))
            if job.state is State.DONE and is_whole:
                self._workspace.drop_edits(editor)
            else:
                self._workspace.save_edits(editor)
            self._remote.state.outcome = {**outcome, "in_grid": editor.remarks.refused_sheets}


def _with_codes(uploads: Uploads, sheet: ValidatedSheet, editor: SheetEditor) -> ValidatedSheet:
    """Return the sheet with the codes of the records that its cells name; a name that leads to
    none is told at its cell in the grid."""
    linked = uploads.with_codes(sheet)
    if linked is not sheet:
        with editor.lock:
            editor.refuse(
                {
                    there.sheet: _new_errors(given, there)
                    for given, there in zip(sheet.with_children, linked.with_children, strict=True)
                }
            )
    return linked


def _new_errors(given: ValidatedSheet, linked: ValidatedSheet) -> dict[CellPosition, str]:
    known = {(f.row, f.column) for f in given.error_findings()}
    return {
        (f.row, linked.columns[f.column]): str(f.message)
        for f in linked.error_findings()
        if f.row is not None and f.column in linked.columns and (f.row, f.column) not in known
    }


def _retried(
    context: UploadContext, sheet: ValidatedSheet, editor: SheetEditor
) -> CorrectedRows | None:
    """Return the sheet as corrected rows of its last upload, None where nothing is left of it.

    Raises ``NotRetriable`` when no refused row was corrected.
    """
    try:
        job = None if editor.job is None else context.journal.job(editor.job)
    except UsageError:
        return None  # it was sent to another environment
    if job is None or job.parent is not None or job.state not in _RETRIED:
        return None
    return corrected_rows(context, ensure_evidence(context, job), sheet, in_place=True)


_LISTING_ORDER = (RowAction.HELD, RowAction.UNREAD, RowAction.UPDATE, RowAction.UNCHANGED)
"""Order of rows by their actions: what needs a person comes first."""


def _planned_row(row: PlannedRow, columns: Mapping[str, Column]) -> dict[str, Any]:
    """Return a row of the plan for the page: values that differ are as people write them."""
    differing = []
    for name, one in row.differences.items():
        yours, theirs = one.shown(columns.get(name))
        differing.append({"column": name, "yours": str(yours), "theirs": str(theirs)})
    return row.to_json() | {"message": planned_text(row), "differences": differing}


def _lines(context: UploadContext, job: Job) -> list[str]:
    if job.spec.mode is Mode.PROCESS:
        return [str(line) for line in job_report(context.journal, job).forms.lines()]
    # What is next has buttons, unless there is something to wait for.
    offered = job.state.is_final or job.state is State.NEEDS_PERSON
    return list(job_lines(job, next_step=not offered))


def _options(
    given: dict[str, bool],
    token: str,
    progress: Callable[[Text], None] = lambda _text: None,
) -> UploadOptions:
    return UploadOptions(
        consent=Confirmed(token) if token else ApproveAll(),
        update=given.get("update", False),
        good_rows=given.get("good_rows", False),
        progress=progress,
    )


def _listed_job(context: UploadContext, job: Job) -> dict[str, Any]:
    process = job.spec.mode is Mode.PROCESS
    return job_json(job, settled=None if process else settled_rows(context.journal, job)) | {
        "file": Path(job.spec.file).name,
        "profile": job.spec.profile,
        "created_at": job.created_at.strftime("%d/%m/%Y %H:%M"),
        "state_name": str(job.state.text),
        "final": job.state.is_final,
        "sent": not job.state.is_unsent,
        "doubtful": job.state is State.NEEDS_PERSON,
        "is_upload": job.spec.mode not in {Mode.PROCESS, Mode.UNDO},
    }
