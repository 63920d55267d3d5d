"""Sending from the page: the plan of a sheet, the upload of it, and its progress.

Both are the use cases of the commands, run in a thread. One connection serves the whole life of the
page, so that the embedded sandbox is started once.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from xlbridge.client import Client
from xlbridge.connection import connect
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.parallel import validate_single_sheet
from xlbridge.settings import Settings
from xlbridge.ui.sheet_editor import SheetEditor
from xlbridge.upload import (
    ApproveAll,
    Confirmed,
    Job,
    UploadContext,
    UploadOptions,
    Uploads,
    ensure_evidence,
    job_headline,
    job_json,
    open_context,
    state_name,
)
from xlbridge.validation import ValidatedSheet, ValidationRequest
from xlbridge.workbook import column_index

_BUSY = Text(
    pt="Outro envio está em andamento nesta página; espere por ele.",
    en="Another upload is running in this page; wait for it.",
)

_UNCONFIRMED = Text(
    pt="O envio {job} ainda não foi confirmado, e nada dele foi enviado.",
    en="The upload {job} is not confirmed yet, and nothing of it was sent.",
)
_HOW_TO_CONFIRM = Text(
    pt="Abra a planilha, veja o plano e envie.", en="Open the workbook, see the plan and send."
)


class Cancelled(BaseException):
    """The person stopped an upload between two of its steps, as Ctrl-C does."""


@dataclass(slots=True)
class SendingState:
    """Progress of the upload that runs now, and what the last one came to."""

    running: bool = False
    job: str | None = None
    lines: list[str] = field(default_factory=list)
    outcome: dict[str, Any] | None = None
    error: dict[str, str] | None = None


class Remote:
    """Connection of the page to its environment, opened when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.state = SendingState()
        self._stack = ExitStack()
        self._client: Client | None = None
        self._lock = Lock()
        self._cancelled = False

    def close(self) -> None:
        """End the connection, and the embedded sandbox with it."""
        self._stack.close()

    @contextmanager
    def uploads(self) -> Iterator[tuple[UploadContext, Client]]:
        """Hold the connection for one piece of work. Raises ``UsageError`` while another has it."""
        if not self._lock.acquire(blocking=False):
            raise UsageError(_BUSY)
        try:
            if self._client is None:
                self._client = self._stack.enter_context(connect(self.settings, self._note))
            with open_context(self.settings) as context:
                yield context, self._client
        finally:
            self._lock.release()

    def plan(self, editor: SheetEditor, copy: Path, options: dict[str, bool]) -> dict[str, Any]:
        """Return the action of each row of the corrected copy; nothing is written.

        Raises ``UsageError`` when the sheet has errors, ``ApiError`` when the system cannot be
        asked.
        """
        sheet = self._corrected_sheet(editor, copy)
        with self.uploads() as (context, client):
            planned = Uploads(context, client).plan(sheet, _options(options, ""))
            target = client.target
        return {
            "counts": planned.plan.counts,
            "token": planned.plan.token,
            "rows": [row.to_json() for row in planned.plan.rows if not row.is_created],
            "writes": len(planned.plan.positions),
            "environment": target.profile,
            "address": target.base_url,
            "production": target.production,
        }

    def send(
        self,
        editor: SheetEditor,
        copy: Path,
        options: dict[str, bool],
        token: str,
        changed: Callable[[], None],
    ) -> None:
        """Send the corrected copy as it was planned, and keep what it came to in ``state``.

        ``changed`` is called with each step. What goes wrong is kept too: nobody waits for it.
        """
        with self._following(changed):
            sheet = self._corrected_sheet(editor, copy)
            with self.uploads() as (context, client):
                given = _options(options, token, self._progress(changed))
                uploads = Uploads(context, client)
                job = uploads.create(sheet, given)
                self.state.job = job.id
                changed()
                self._finish(context, uploads.run(job, given), editor)

    def resume(self, job_id: str, changed: Callable[[], None]) -> None:
        """Continue a job that a person has confirmed; what it comes to is kept in ``state``."""
        with self._following(changed, job_id), self.uploads() as (context, client):
            job = context.journal.job(job_id)
            if job.state.is_unsent:
                raise UsageError(_UNCONFIRMED.format(job=job_id), _HOW_TO_CONFIRM)
            given = _options({}, job.token, self._progress(changed))
            self._finish(context, Uploads(context, client).run(job, given), None)

    @contextmanager
    def _following(self, changed: Callable[[], None], job: str | None = None) -> Iterator[None]:
        """Keep in ``state`` how the block goes, and what goes wrong in it."""
        self.state = SendingState(running=True, job=job)
        self._cancelled = False
        try:
            yield
        except XlbridgeError as error:
            self.state.error = error_json(error)
        except Cancelled:
            self.state.lines.append(str(_STOPPED.format(job=self.state.job or "–")))
        finally:
            self.state.running = False
            changed()

    def cancel(self) -> None:
        """Stop the upload that runs, before its next step; it can be resumed."""
        self._cancelled = True

    def jobs(self) -> list[dict[str, Any]]:
        """Return the jobs of the journal, newest first. The system is not asked."""
        with open_context(self.settings) as context:
            return [_listed_job(job) for job in context.journal.jobs()]

    def rejects_file(self, job_id: str) -> Path | None:
        """Return the workbook of the rows of a job that were not written, None where all were."""
        with open_context(self.settings) as context:
            name = ensure_evidence(context, context.journal.job(job_id)).last("rejects_file")
        return None if name is None else Path(name)

    def _corrected_sheet(self, editor: SheetEditor, copy: Path) -> ValidatedSheet:
        with editor.lock:
            editor.save_corrected(copy)
            choice = editor.choice
            request = ValidationRequest(
                file=copy,
                resource=choice.resource,
                sheet=editor.validated.sheet,
                reading=choice.reading,
            )
        return validate_single_sheet(request, self.settings.schemas, self.settings.limits)

    def _progress(self, changed: Callable[[], None]) -> Callable[[Text], None]:
        def progress(text: Text) -> None:
            if self._cancelled:
                raise Cancelled
            self.state.lines.append(str(text))
            changed()

        return progress

    def _note(self, text: Text) -> None:
        self.state.lines.append(str(text))

    def _finish(self, context: UploadContext, job: Job, editor: SheetEditor | None) -> None:
        document = job_json(job, context.journal.plan_of(job))
        self.state.outcome = document | {"headline": job_headline(job)}
        if editor is not None:
            with editor.lock:
                editor.remarks = _refusals(document["rejected"])


_STOPPED = Text(
    pt="Interrompido. O envio {job} pode continuar em Envios.",
    en="Stopped. The upload {job} can be continued under Uploads.",
)


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


def _refusals(rejected: list[dict[str, Any]]) -> dict[tuple[int, int], str]:
    """Return the reasons of rejected rows by their cells, the row's first where none is named."""
    return {
        (row["row"], column_index((row["cell"] or "A").rstrip("0123456789"))): row["message"]
        for row in rejected
    }


def _listed_job(job: Job) -> dict[str, Any]:
    return job_json(job) | {
        "file": Path(job.what.file).name,
        "profile": job.what.profile,
        "created_at": job.created_at.strftime("%d/%m/%Y %H:%M"),
        "state_name": str(state_name(job.state)),
        "final": job.state.is_final,
    }


def error_json(error: XlbridgeError) -> dict[str, str]:
    """Return an error as the page shows it: what happened, and what to do next."""
    return {"message": str(error.message), "hint": "" if error.hint is None else str(error.hint)}
