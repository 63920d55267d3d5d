"""Requests about the open sheet: what it holds, its mapping, its rows, and edits of its cells."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.i18n import Text
from xlbridge.settings import CSV_DELIMITERS, CsvForm, ParseOptions
from xlbridge.ui.answers import download, json_of, posting, reading, shown_sheet
from xlbridge.ui.cell_edits import value_text
from xlbridge.ui.reading_progress import ReadingProgress, ReadingStopped
from xlbridge.ui.sheet_editor import WRONG, SheetChoice, SheetEditor
from xlbridge.ui.sheet_forms import (
    chosen_column,
    confirmed_mapping,
    known_mapping,
    proposed_form,
    remember,
    sheet_json,
)
from xlbridge.ui.workspace import Workspace
from xlbridge.validation.headers import NoFittingResource
from xlbridge.workbook import cell_address
from xlbridge.workbook.write import write_template

_ROWS_AT_ONCE = 500
_WATCH_SECONDS = 0.1
_UNSAFE = re.compile(r"[^\w .()\[\]-]+")
_TOO_LARGE = Text(pt="O arquivo passa de {mb} MB.", en="The workbook is larger than {mb} MB.")
_SAY_CSV_FORM = Text(
    pt="Escolha abaixo o separador ou a codificação, ou salve o arquivo de novo como CSV UTF-8.",
    en="Choose the delimiter or the encoding below, or save the file again as CSV UTF-8.",
)
_EMPTY = UsageError(
    Text(pt="O arquivo não tem nenhuma linha.", en="The workbook has no rows."),
)
_HIDDEN = Text(
    pt="Há planilhas ocultas, que não são lidas: {listed}. Se os dados estão numa delas, reexiba-a "
    "no Excel, salve e abra o arquivo de novo.",
    en="There are hidden sheets, which are not read: {listed}. If the data is in one of them, "
    "unhide it in Excel, save, and open the file again.",
)


class SheetRequests:
    """Requests about the sheet that is open in a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._progress = ReadingProgress()

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        return [
            posting("/api/open", self.open),
            reading("/api/progress", self.progress),
            reading("/api/template", self.template),
            reading("/api/drafts", self.drafts),
            posting("/api/continue", self.continue_draft),
            posting("/api/discard", self.discard),
            posting("/api/choose", self.choose),
            posting("/api/reading", self.reading),
            posting("/api/mapping-column", self.mapping_column),
            posting("/api/map", self.map),
            reading("/api/sheet", self.sheet),
            reading("/api/rows", self.rows),
            reading("/api/next-error", self.next_error),
            posting("/api/part", self.part),
            posting("/api/edit", self.edit),
            posting("/api/step", self.step),
            posting("/api/set-aside", self.set_aside),
            reading("/api/fixes", self.fixes),
            posting("/api/fix", self.fix),
            reading("/api/workbook", self.workbook),
        ]

    async def open(self, request: Request) -> Response:
        """Take a dropped workbook, and validate it, unless its page is gone or stops it."""
        asked = request.query_params
        csv = CsvForm(CSV_DELIMITERS.get(asked.get("delimiter", "")), asked.get("encoding") or None)
        name = unquote(request.headers.get("x-file-name", ""))
        safe = _UNSAFE.sub("_", Path(name.replace("\\", "/")).name).strip(". ") or "planilha.xlsx"
        path = self._workspace.new_folder() / safe
        try:
            await self._receive(request, path)
        except ClientDisconnect:
            return Response()
        progress = self._progress = ReadingProgress()
        progress.is_reading = True
        opening = asyncio.ensure_future(run_in_threadpool(self._open, path, csv, progress))
        while not (await asyncio.wait({opening}, timeout=_WATCH_SECONDS))[0]:
            if await request.is_disconnected():
                progress.stop()
        return JSONResponse(await opening)

    async def _receive(self, request: Request, path: Path) -> None:
        limit = self._workspace.settings.limits.file_size
        with path.open("wb") as target:
            async for piece in request.stream():
                target.write(piece)
                if target.tell() > limit:
                    raise UsageError(_TOO_LARGE.format(mb=limit >> 20))

    def _open(self, path: Path, csv: CsvForm, progress: ReadingProgress) -> dict[str, Any]:
        """Read and validate a file, and show it in place of what is open, unless it is stopped."""
        own = self._workspace.settings.limits
        limits = replace(own, csv=csv.with_defaults(own.csv))
        try:
            editor = self._workspace.read_file(path, self._workspace.catalogue, limits, progress)
            told = self._recognised(editor, SheetChoice(), None)
            progress.require_wanted()
            self._workspace.show(editor)
        except WorkbookRefused as refused:
            if "--" not in str(refused.hint):
                raise
            # An option of the command, that says how a .csv is written: here it is chosen.
            raise WorkbookRefused(refused.code, refused.message, _SAY_CSV_FORM) from None
        except ReadingStopped:
            return {}
        finally:
            progress.is_reading = False
        return told

    async def progress(self, _request: Request) -> Response:
        """Answer how far the reading of the last dropped workbook is."""
        return JSONResponse(self._progress.to_json())

    async def template(self, request: Request) -> Response:
        """Answer the blank workbook of a resource."""
        resource = self._workspace.catalogue.named(request.query_params["resource"])
        path = self._workspace.new_folder() / f"{resource.name}.xlsx"
        await run_in_threadpool(write_template, path, resource)
        return download(path)

    async def drafts(self, _request: Request) -> Response:
        """Answer the workbooks with kept edits."""
        return await json_of(lambda: {"drafts": self._workspace.drafts()})

    async def continue_draft(self, request: Request) -> Response:
        """Open a workbook with the edits that were kept of it."""
        name = (await request.json())["id"]
        await run_in_threadpool(self._workspace.continue_draft, name)
        return await self.sheet(request)

    async def discard(self, request: Request) -> Response:
        """Remove kept edits."""
        name = (await request.json())["id"]
        await run_in_threadpool(self._workspace.discard_draft, name)
        return await self.drafts(request)

    async def choose(self, request: Request) -> Response:
        """Validate the open workbook by another choice of resource, sheet and header row."""
        given = await request.json()
        editor = self._workspace.editor
        choice = SheetChoice(
            given.get("resource") or None, given.get("sheet") or None, None, editor.choice.reading
        )
        row = int(given["header_row"]) if given.get("header_row") else None
        return await json_of(lambda: self._recognised(editor, choice, row))

    async def reading(self, request: Request) -> Response:
        """Read text dates and numbers of the open sheet by other conventions."""
        given = await request.json()
        options = ParseOptions(given.get("dates") or None, given.get("numbers") or None)
        return await self._change(
            request, lambda editor: editor.choose(replace(editor.choice, reading=options))
        )

    def _recognised(
        self, editor: SheetEditor, choice: SheetChoice, header_row: int | None
    ) -> dict[str, Any]:
        """Validate by a choice. Where columns are missing, as the sheet has headers of its own, go
        by the mapping that was used before, else propose one; what nothing tells is left for the
        person to say."""
        settings, told = self._workspace.settings, _unrecognised(editor, None)
        with editor.lock:
            if header_row is None:
                try:
                    editor.choose(choice)
                except NoFittingResource:
                    pass
                except UsageError as error:
                    return _unrecognised(editor, error)
                else:
                    if not editor.is_recognised:
                        return _unrecognised(editor, _EMPTY)
                    told = sheet_json(editor)
                if "rows" in told and editor.validated.readable:
                    return told
                known = known_mapping(editor, settings, choice.resource)
                if known is not None and _reads(editor, replace(choice, mapping=known)):
                    return sheet_json(editor, "remembered")
            try:
                form = proposed_form(
                    editor, self._workspace.catalogue, settings, choice.resource, header_row
                )
            except UsageError as error:
                return told if "rows" in told else _unrecognised(editor, error)
            return told | {"mapping": form}

    async def mapping_column(self, request: Request) -> Response:
        """Answer how the cells under a header become a column that a person chose."""
        given = await request.json()
        resource = self._workspace.catalogue.named(given["resource"])
        place = given["sheet"], int(given["header_row"]), given["header"], given["column"]
        editor = self._workspace.editor
        return await json_of(lambda: chosen_column(editor, resource, *place))

    async def map(self, request: Request) -> Response:
        """Read the open sheet by the mapping that a person confirmed, and remember it."""
        given = await request.json()
        editor = self._workspace.editor

        def read() -> dict[str, Any]:
            with editor.lock:
                resource = self._workspace.catalogue.named(given["resource"])
                mapping = confirmed_mapping(editor, resource, given)
                choice = SheetChoice(None, given["sheet"], mapping, editor.choice.reading)
                editor.choose(choice)
                remember(editor, self._workspace.settings)
                return sheet_json(editor)

        return await json_of(read)

    async def sheet(self, _request: Request) -> Response:
        """Answer what is known of the open sheet: columns, rules, counts."""
        editor = self._workspace.editor
        return await json_of(lambda: sheet_json(editor))

    async def rows(self, request: Request) -> Response:
        """Answer some rows of a view."""
        asked = request.query_params
        start, count = int(asked.get("start", 0)), int(asked.get("count", 100))
        view, renew = asked.get("view", WRONG), asked.get("renew") == "1"
        editor = self._workspace.editor_of(shown_sheet(request))

        def read() -> dict[str, Any]:
            with editor.lock:
                numbers = editor.view(view, renew=renew)
                shown = numbers[start : start + min(count, _ROWS_AT_ONCE)]
                return {"total": len(numbers), "start": start, "rows": editor.rows(shown)}

        return await json_of(read)

    async def next_error(self, request: Request) -> Response:
        """Answer the next wrong cell after a place, and where a view shows it."""
        asked = request.query_params
        row, column = int(asked["row"]), int(asked["column"])
        editor = self._workspace.editor_of(shown_sheet(request))

        def find() -> dict[str, Any]:
            with editor.lock:
                place = editor.next_error(row, column)
                if place is None:
                    return {"row": None}
                numbers = editor.view(asked.get("view", WRONG), renew=False)
                at = numbers.index(place[0]) if place[0] in numbers else None
                return {"row": place[0], "column": place[1], "position": at}

        return await json_of(find)

    async def part(self, request: Request) -> Response:
        """Show the chosen sheet, or the sheet of one of its records' lists."""
        name = (await request.json())["sheet"]
        return await self._change(request, lambda editor: editor.show_part(name))

    async def edit(self, request: Request) -> Response:
        """Write typed texts into cells, and answer the sheet as it is then."""
        values = {(it["row"], it["column"]): str(it["value"]) for it in await request.json()}
        return await self._change(request, lambda editor: editor.edit(values))

    async def step(self, request: Request) -> Response:
        """Undo or redo one step."""
        name = (await request.json())["step"]
        return await self._change(
            request, lambda editor: (editor.undo if name == "undo" else editor.redo)()
        )

    async def set_aside(self, request: Request) -> Response:
        """Set aside the rows of a rule that are no records."""
        rule = (await request.json())["rule"]
        return await self._change(request, lambda editor: editor.put_aside(rule))

    async def fixes(self, request: Request) -> Response:
        """Answer what the certain corrections of a rule would change."""
        rule = request.query_params["rule"]
        editor = self._workspace.editor_of(shown_sheet(request))

        def find() -> dict[str, Any]:
            with editor.lock:
                found = [
                    {"cell": cell_address(*place), "before": before, "after": value_text(after)}
                    for place, (before, after) in editor.fixes(rule).items()
                ]
                return {"count": len(found), "cells": found[:20]}

        return await json_of(find)

    async def fix(self, request: Request) -> Response:
        """Make all certain corrections of a rule, as one step."""
        rule = (await request.json())["rule"]
        return await self._change(
            request,
            lambda editor: editor.put({p: new for p, (_, new) in editor.fixes(rule).items()}),
        )

    async def _change(self, request: Request, change: Callable[[SheetEditor], object]) -> Response:
        shown = shown_sheet(request)

        def locked() -> dict[str, Any]:
            editor = self._workspace.editor
            with editor.lock:
                self._workspace.editor_of(shown)
                change(editor)
                self._workspace.save_edits(editor)
                return sheet_json(editor)

        return await json_of(locked)

    async def workbook(self, request: Request) -> Response:
        """Answer the corrected copy of the original."""
        editor = self._workspace.editor_of(shown_sheet(request))

        def save() -> None:
            with editor.lock:
                editor.save_corrected(editor.copy)

        await run_in_threadpool(save)
        return download(editor.copy)


def _unrecognised(editor: SheetEditor, error: UsageError | None) -> dict[str, Any]:
    """Return that a person has to say what the sheet holds, or to confirm its mapping."""
    path = editor.path
    told: dict[str, Any] = {"file": path.name, "sheets": editor.sheet_names}
    hidden = ", ".join(editor.workbook.hidden)
    hint = str(_HIDDEN.format(listed=hidden)) if hidden else ""
    if error is not None or hidden:
        # The hints name options of the command; the page asks beside the message. Where the page
        # keeps its copy of the file is nobody's concern.
        message = "" if error is None else str(error.message)
        told["error"] = {"message": message.replace(str(path), path.name), "hint": hint}
    return told


def _reads(editor: SheetEditor, choice: SheetChoice) -> bool:
    """Validate by a mapping that was kept; tell whether it still fits."""
    try:
        editor.choose(replace(choice, resource=None))
    except UsageError:
        return False
    return True
