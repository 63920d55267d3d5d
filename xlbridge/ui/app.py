"""Application behind the page: each request, answered by the use case that the command has too.

A workbook that is dropped gets a private folder in the home. It stays where something of it was
sent, as the journal names its file; the others are removed when the page ends.
"""

import asyncio
import json
import re
import secrets
import shutil
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial, wraps
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.export import LISTINGS, ExportRequest, OutputFile, prepare_export
from xlbridge.files import make_private_folder, report_write_errors
from xlbridge.i18n import Text
from xlbridge.pages import render_page
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.ui.cell_texts import value_text
from xlbridge.ui.sending import Remote, error_json
from xlbridge.ui.sheet_editor import WRONG, SheetChoice, SheetEditor
from xlbridge.ui.texts import page_texts
from xlbridge.validation import ParseOptions
from xlbridge.workbook import cell_address
from xlbridge.workbook.write import as_xlsx

_FILES = {"page.js": "text/javascript", "grid.js": "text/javascript", "page.css": "text/css"}
_ROWS_AT_ONCE = 500
_EVENT_SECONDS = 15
_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_UNSAFE = re.compile(r"[^\w .()\[\]-]+")
_NO_WORKBOOK = Text(pt="Abra um arquivo primeiro.", en="Open a workbook first.")
_TOO_LARGE = Text(pt="O arquivo passa de {mb} MB.", en="The workbook is larger than {mb} MB.")
_NO_FILE = Text(pt="Não há arquivo para baixar.", en="There is no file to download.")

Answer = Callable[[Request], Awaitable[Response]]


def _reported(answer: Answer) -> Answer:
    """Turn an error into an answer that says what happened and what to do next."""

    @wraps(answer)
    async def reporting(request: Request) -> Response:
        try:
            return await answer(request)
        except XlbridgeError as error:
            return JSONResponse({"error": error_json(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)

    return reporting


def _read(path: str, answer: Answer) -> Route:
    return Route(path, _reported(answer))


def _posted(path: str, answer: Answer) -> Route:
    return Route(path, _reported(answer), methods=["POST"])


async def _no_content(_request: Request) -> Response:
    return Response(status_code=HTTPStatus.NO_CONTENT)


class PageApplication:
    """State of one page: the open workbook, the connection, and who waits for events."""

    def __init__(self, remote: Remote, stop: Callable[[], None]) -> None:
        self._remote = remote
        self._stop = stop
        self._unsent: set[Path] = set()
        self._exported: dict[str, Path] = {}
        self._catalogue: Catalogue = load_catalogue(remote.settings.schemas)
        self._editor: SheetEditor | None = None
        self._changed = asyncio.Event()
        self._running: set[asyncio.Future[None]] = set()

    def build(self) -> Starlette:
        """Return the application."""
        routes = [
            Route("/", self.page),
            Route("/files/{name}", self.file),
            Route("/favicon.ico", _no_content),
            _posted("/api/open", self.open),
            _posted("/api/choose", self.choose),
            _read("/api/sheet", self.sheet),
            _read("/api/rows", self.rows),
            _read("/api/next-error", self.next_error),
            _posted("/api/edit", self.edit),
            _posted("/api/step", self.step),
            _read("/api/fixes", self.fixes),
            _posted("/api/fix", self.fix),
            _read("/api/workbook", self.workbook),
            _posted("/api/plan", self.plan),
            _posted("/api/send", self.send),
            _posted("/api/cancel", self.cancel),
            Route("/api/events", self.events),
            _read("/api/jobs", self.jobs),
            _posted("/api/resume", self.resume),
            _read("/api/rejects", self.rejects),
            _posted("/api/export", self.export),
            _read("/api/exported", self.exported),
            _posted("/api/stop", self.stop),
        ]
        return Starlette(routes=routes)

    async def page(self, _request: Request) -> Response:
        """Answer the page itself."""
        listings = [{"name": it.name, "title": str(it.title)} for it in LISTINGS.values()]
        html = render_page(
            "xlbridge.ui",
            served=True,
            title="xlbridge",
            texts=page_texts(),
            resources=sorted(self._catalogue),
            listings=listings,
        )
        return HTMLResponse(html)

    async def file(self, request: Request) -> Response:
        """Answer a script or style that is shipped."""
        name = request.path_params["name"]
        if name == "base.css":
            content = files("xlbridge.pages").joinpath(name).read_bytes()
            return Response(content, media_type="text/css")
        if name not in _FILES:
            return Response(status_code=HTTPStatus.NOT_FOUND)
        content = files("xlbridge.ui").joinpath("page", name).read_bytes()
        return Response(content, media_type=_FILES[name])

    async def open(self, request: Request) -> Response:
        """Take a dropped workbook, and validate it."""
        name = unquote(request.headers.get("x-file-name", ""))
        safe = _UNSAFE.sub("_", Path(name.replace("\\", "/")).name).strip(". ") or "planilha.xlsx"
        limit = self._remote.settings.limits.file_size
        path = self._new_folder() / safe
        with path.open("wb") as target:
            async for piece in request.stream():
                target.write(piece)
                if target.tell() > limit:
                    raise UsageError(_TOO_LARGE.format(mb=limit >> 20))
        editor = await run_in_threadpool(self._open_file, path)
        self._editor = editor
        return await self._choose(editor, SheetChoice())

    def _open_file(self, path: Path) -> SheetEditor:
        """Open a dropped file; one of another kind as the .xlsx workbook with the same cells."""
        limits = self._remote.settings.limits
        with as_xlsx(path, (), limits) as workbook:
            if workbook != path:
                path = Path(shutil.copy(workbook, path.with_suffix(".xlsx")))
        return SheetEditor(path, self._catalogue, limits)

    async def choose(self, request: Request) -> Response:
        """Validate the open workbook by another choice of resource, sheet and conventions."""
        given = await request.json()
        reading = ParseOptions(given.get("dates") or None, given.get("numbers") or None)
        choice = SheetChoice(given.get("resource") or None, given.get("sheet") or None, reading)
        return await self._choose(self._open_editor(), choice)

    async def _choose(self, editor: SheetEditor, choice: SheetChoice) -> Response:
        try:
            await run_in_threadpool(editor.choose, choice)
        except UsageError as error:
            # Not recognised: the person says what it is.
            return JSONResponse({"sheets": editor.sheet_names, "error": error_json(error)})
        return await self.sheet(None)

    async def sheet(self, _request: Request | None) -> Response:
        """Answer what is known of the open sheet: columns, rules, counts."""
        return JSONResponse(await run_in_threadpool(self._sheet_json))

    def _sheet_json(self) -> dict[str, Any]:
        editor = self._open_editor()
        with editor.lock:
            sheet = editor.validated
            resource = sheet.resource
            return {
                "file": editor.path.name,
                "sheet": sheet.sheet,
                "sheets": editor.sheet_names,
                "resource": None if resource is None else resource.name,
                "title": "" if resource is None else str(resource.title),
                "header_row": sheet.header_row,
                "rows": len(sheet.rows),
                "height": editor.cells.height,
                "errors": sheet.errors,
                "warnings": sheet.warnings,
                "edited": editor.edited,
                "columns": editor.columns(),
                "rules": editor.rules(),
            }

    async def rows(self, request: Request) -> Response:
        """Answer some rows of a view."""
        asked = request.query_params
        start, count = int(asked.get("start", 0)), int(asked.get("count", 100))
        view, renew = asked.get("view", WRONG), asked.get("renew") == "1"

        def read() -> dict[str, Any]:
            editor = self._open_editor()
            with editor.lock:
                numbers = editor.view(view, renew=renew)
                shown = numbers[start : start + min(count, _ROWS_AT_ONCE)]
                return {"total": len(numbers), "start": start, "rows": editor.rows(shown)}

        return JSONResponse(await run_in_threadpool(read))

    async def next_error(self, request: Request) -> Response:
        """Answer the next wrong cell after a place, and where a view shows it."""
        asked = request.query_params
        row, column = int(asked["row"]), int(asked["column"])

        def find() -> dict[str, Any]:
            editor = self._open_editor()
            with editor.lock:
                place = editor.next_error(row, column)
                if place is None:
                    return {"row": None}
                numbers = editor.view(asked.get("view", WRONG), renew=False)
                at = numbers.index(place[0]) if place[0] in numbers else None
                return {"row": place[0], "column": place[1], "position": at}

        return JSONResponse(await run_in_threadpool(find))

    async def edit(self, request: Request) -> Response:
        """Write typed texts into cells, and answer the sheet as it is then."""
        values = {(it["row"], it["column"]): str(it["value"]) for it in await request.json()}
        return await self._change(lambda editor: editor.edit(values))

    async def step(self, request: Request) -> Response:
        """Undo or redo one step."""
        name = (await request.json())["step"]
        return await self._change(lambda editor: (editor.undo if name == "undo" else editor.redo)())

    async def fixes(self, request: Request) -> Response:
        """Answer what the certain corrections of a rule would change."""
        rule = request.query_params["rule"]

        def find() -> list[dict[str, str]]:
            editor = self._open_editor()
            with editor.lock:
                found = editor.fixes(rule)
                return [
                    {"cell": cell_address(*place), "before": before, "after": value_text(after)}
                    for place, (before, after) in found.items()
                ]

        found = await run_in_threadpool(find)
        return JSONResponse({"count": len(found), "cells": found[:20]})

    async def fix(self, request: Request) -> Response:
        """Make all certain corrections of a rule, as one step."""
        rule = (await request.json())["rule"]
        return await self._change(
            lambda editor: editor.put({p: new for p, (_, new) in editor.fixes(rule).items()})
        )

    async def _change(self, change: Callable[[SheetEditor], object]) -> Response:
        def locked() -> dict[str, Any]:
            editor = self._open_editor()
            with editor.lock:
                change(editor)
                return self._sheet_json()

        return JSONResponse(await run_in_threadpool(locked))

    async def workbook(self, _request: Request) -> Response:
        """Answer the corrected copy of the original."""
        copy = self._copy()
        editor = self._open_editor()

        def save() -> None:
            with editor.lock:
                editor.save_corrected(copy)

        await run_in_threadpool(save)
        return FileResponse(copy, media_type=_XLSX, filename=copy.name)

    async def plan(self, request: Request) -> Response:
        """Answer the plan of the sheet, before anything is written."""
        editor, copy = self._open_editor(), self._copy()
        options = await request.json()
        return JSONResponse(await run_in_threadpool(self._remote.plan, editor, copy, options))

    async def send(self, request: Request) -> Response:
        """Begin to send what was planned; ``/api/events`` tells how it goes."""
        given = await request.json()
        self._unsent.discard(self._open_editor().path.parent)
        work = partial(
            self._remote.send,
            self._open_editor(),
            self._copy(),
            given.get("options", {}),
            given["token"],
            self._changed_from_thread(),
        )
        return self._begin(work)

    async def resume(self, request: Request) -> Response:
        """Continue a job."""
        given = await request.json()
        return self._begin(partial(self._remote.resume, given["job"], self._changed_from_thread()))

    def _begin(self, work: Callable[[], None]) -> Response:
        if self._remote.state.running:
            return JSONResponse({"started": False}, HTTPStatus.CONFLICT)
        self._remote.state.running = True
        task = asyncio.ensure_future(run_in_threadpool(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return JSONResponse({"started": True})

    async def cancel(self, _request: Request) -> Response:
        """Stop the upload that runs, before its next step."""
        self._remote.cancel()
        return JSONResponse({})

    async def events(self, request: Request) -> Response:
        """Stream the progress of uploads as server-sent events."""

        async def stream() -> Any:
            while not await request.is_disconnected():
                state = self._remote.state
                yield f"data: {json.dumps(_state_json(state))}\n\n"
                try:
                    await asyncio.wait_for(self._changed.wait(), _EVENT_SECONDS)
                except TimeoutError:
                    continue

        return StreamingResponse(stream(), media_type="text/event-stream")

    def _changed_from_thread(self) -> Callable[[], None]:
        loop = asyncio.get_running_loop()

        def changed() -> None:
            loop.call_soon_threadsafe(self._tell)

        return changed

    def _tell(self) -> None:
        """Wake who waits for the present event, and let the next ones wait for the next."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def jobs(self, _request: Request) -> Response:
        """Answer the jobs of the journal."""
        return JSONResponse({"jobs": await run_in_threadpool(self._remote.jobs)})

    async def rejects(self, request: Request) -> Response:
        """Answer the workbook of the rows that were not written."""
        path = await run_in_threadpool(self._remote.rejects_file, request.query_params["job"])
        if path is None or not path.exists():
            raise UsageError(_NO_FILE)
        return FileResponse(path, media_type=_XLSX, filename=path.name)

    async def export(self, request: Request) -> Response:
        """Export a listing into a workbook, and answer how many records it has."""
        listing = (await request.json())["listing"]

        path = self._new_folder() / f"{listing}.xlsx"

        def run() -> dict[str, Any]:
            request = ExportRequest(listing=listing)
            export = prepare_export(request, OutputFile(path), lambda: self._catalogue)
            with self._remote.uploads() as (_, client):
                exported = export.run(client)
            return {"listing": listing, "manifest": exported.manifest()}

        answer = await run_in_threadpool(run)
        self._exported[listing] = path
        return JSONResponse(answer)

    async def exported(self, request: Request) -> Response:
        """Answer the workbook of an export."""
        path = self._exported.get(request.query_params["listing"])
        if path is None:
            raise UsageError(_NO_FILE)
        return FileResponse(path, media_type=_XLSX, filename=path.name)

    async def stop(self, _request: Request) -> Response:
        """End the server."""
        self._stop()
        return JSONResponse({})

    def remove_unsent(self) -> None:
        """Remove the folders of workbooks of which nothing was sent, and of exports."""
        for folder in self._unsent:
            shutil.rmtree(folder, ignore_errors=True)

    def _new_folder(self) -> Path:
        """Make a private folder in the home, to be removed unless something of it is sent."""
        moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        name = f"{moment}-{secrets.token_hex(2)}"
        folder = self._remote.settings.home / "page" / name
        with report_write_errors(folder):
            make_private_folder(folder)
        self._unsent.add(folder)
        return folder

    def _open_editor(self) -> SheetEditor:
        if self._editor is None:
            raise UsageError(_NO_WORKBOOK)
        return self._editor

    def _copy(self) -> Path:
        """Return the path of the corrected copy, which keeps its name from send to send."""
        path = self._open_editor().path
        return path.with_name(f"{path.stem}-corrigida.xlsx")


def _state_json(state: Any) -> dict[str, Any]:
    return {
        "running": state.running,
        "job": state.job,
        "lines": state.lines[-50:],
        "outcome": state.outcome,
        "error": state.error,
    }
