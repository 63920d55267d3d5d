"""Requests about batches: their steps, what is to be corrected in a workbook, runs and proofs.

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
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
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
from xlbridge.errors import XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources import load_catalogue
from xlbridge.ui.answers import download, error_json, json_of, posting, reading
from xlbridge.ui.remote import Changed, Following, Remote
from xlbridge.ui.sheet_editor import MAPPING, BatchUnit, SheetChoice, SheetEditor
from xlbridge.ui.sheet_forms import sheet_json
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import ApproveAll
from xlbridge.validation.mapping import read_mapping

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
        limits = replace(settings.limits, csv=step.csv.completed(settings.limits.csv))
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
