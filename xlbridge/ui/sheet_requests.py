"""Requests about the open sheet: opening, mapping and edits; windows of its rows, what is found,
filled and arranged in them."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources import Resource
from xlbridge.resources.yaml_files import InvalidFile
from xlbridge.settings import CSV_DELIMITERS, CSV_ENCODINGS, CsvForm, ParseOptions
from xlbridge.ui.answers import download, get_route, post_route, shown_sheet_id
from xlbridge.ui.environment import RegistryNames
from xlbridge.ui.row_order import SheetLayout, SoughtText
from xlbridge.ui.sheet_editor import (
    ReadingProgress,
    ReadingStopped,
    SheetChoice,
    SheetEditor,
)
from xlbridge.ui.sheet_forms import (
    asked_columns,
    changes_json,
    chosen_column,
    confirmed_mapping,
    counts_json,
    mapping_problems,
    name_problems,
    only_names,
    proposed_form,
    proposed_mapping,
    remember,
    remembered_mapping,
    sheet_json,
    sheet_version,
)
from xlbridge.ui.sheet_rows import WRONG, CellBlock, SheetRows
from xlbridge.ui.workspace import Workspace
from xlbridge.validation.sheet_choice import NoFittingResource
from xlbridge.workbook.read import start_parser_ahead
from xlbridge.workbook.write import new_workbook, write_template

_MAX_VALUES_OF_RULE = 50
_MAX_VALUES_OF_COLUMN = 200
_MAX_INSERTED = 1000
_WATCH_SECONDS = 0.1
_LARGE = 1 << 20  # bytes of a workbook whose parser process is worth starting before all have come
_UNSAFE = re.compile(r"[^\w .()\[\]-]+")
_TOO_LARGE = Text(pt="O arquivo passa de {mb} MB.", en="The workbook is larger than {mb} MB.")
_EMPTY = UsageError(
    Text(
        pt="O arquivo está vazio. Preencha-o no Excel, salve e abra-o de novo.",
        en="The workbook is empty. Enter the rows in Excel, save, and open it again.",
    ),
)
_HIDDEN = Text(
    pt="Planilhas ocultas não são lidas: {names}. Se os dados estão em uma delas, reexiba-a no "
    "Excel, salve e abra o arquivo de novo.",
    en="Hidden sheets are not read: {names}. If the data is in one of them, unhide it in Excel, "
    "save, and open the file again.",
)


_SAMPLE_NAME = Text(pt="exemplo-clientes.xlsx", en="sample-clients.xlsx")
_SAMPLE_OF = "cliente"
_SAMPLE: tuple[Mapping[str, str], ...] = (
    {"nomeComercial": "Padaria Estrela", "natureza": "J", "cnpj": "11.222.333/0001-81"},
    {"natureza": "J", "cnpj": "11.444.777/0001-61"},
    {"nomeComercial": "  Mercado Bom Preço ", "natureza": "J", "cnpj": "45.723.174/0001-10"},
    {"nomeComercial": "Oficina do Zé", "natureza": "J", "cnpj": "33.000.167/0001-02"},
    {"nomeComercial": "Ana Souza", "natureza": "F", "cpf": "529.982.247-25"},
)
"""Rows of the sample: a name is missing, one has spaces around it, a CNPJ is mistyped."""


def write_sample(path: Path, resource: Resource) -> None:
    """Write the sample, with the titles of a resource's columns."""
    columns = list(dict.fromkeys(name for row in _SAMPLE for name in row))
    with new_workbook(path) as book:
        sheet = book.add_worksheet(resource.sheet)
        sheet.set_column(0, len(columns) - 1, 24)
        sheet.write_row(0, 0, [str(resource.by_name[name].title) for name in columns])
        for number, row in enumerate(_SAMPLE, start=1):
            sheet.write_row(number, 0, [row.get(name) for name in columns])


_CHOICE: dict[str, Any] = {
    "resource": str | None,
    "sheet": str | None,
    "header_row": int | Literal[""] | None,
}
_PLACE: dict[str, Any] = {"resource": str, "sheet": str, "header_row": int}
_CONFIRMED: dict[str, Any] = {
    "columns": dict[str, dict[str, Any]],
    "rows": dict[str, dict[str, bool]] | None,
    "accept": list[str] | None,
    "once": list[str] | None,
}
_COLUMN: dict[str, Any] = {**_PLACE, "header": str, "column": str}


class SheetRequests:
    """Requests about the open sheet of a workspace."""

    def __init__(self, workspace: Workspace, names: RegistryNames) -> None:
        self._workspace, self._names = workspace, names
        self._progress = ReadingProgress()

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        asked, changing = partial(get_route, of_sheet=True), partial(post_route, of_sheet=True)
        return [
            post_route("/api/open", self.open),
            get_route("/api/progress", self.progress),
            post_route("/api/sample", self.sample),
            get_route("/api/template", self.template, resource=str),
            get_route("/api/drafts", self.drafts),
            post_route("/api/continue", self.continue_draft, id=str),
            post_route("/api/discard", self.discard, id=str),
            post_route("/api/choose", self.choose, **_CHOICE),
            changing("/api/reading", self.reading, dates=str | None, numbers=str | None),
            changing("/api/accept", self.accept, code=str, column=str | None),
            post_route("/api/mapping-column", self.mapping_column, **_COLUMN),
            post_route("/api/unknown-names", self.unknown_names, **_PLACE),
            post_route("/api/map", self.map, **_PLACE, **_CONFIRMED),
            post_route("/api/mapped-names", self.mapped_names, **_PLACE, **_CONFIRMED),
            get_route("/api/sheet", self.sheet),
            changing("/api/part", self.part, sheet=str),
            post_route("/api/edit", self.edit, items=True, row=int, column=int),
            changing("/api/step", self.step, step=str),
            changing("/api/set-aside", self.set_aside, rule=str),
            asked("/api/values", self.values, rule=str),
            changing("/api/replace", self.replace, rule=str, before=str, after=str),
            asked("/api/fixes", self.fixes, rule=str),
            changing("/api/fix", self.fix, rule=str),
            asked("/api/workbook", self.workbook),
        ]

    async def open(self, request: Request) -> Response:
        """Receive a workbook and validate it, unless the page disconnects or stops it."""
        query = request.query_params
        encoding = query.get("encoding")
        csv = CsvForm(
            CSV_DELIMITERS.get(query.get("delimiter", "")),
            encoding if encoding in CSV_ENCODINGS else None,
        )
        name = unquote(request.headers.get("x-file-name", ""))
        safe = _UNSAFE.sub("_", Path(name.replace("\\", "/")).name).strip(". ") or "planilha.xlsx"
        path = self._workspace.new_folder() / safe
        try:
            limit = self._workspace.settings.limits.file_size
            with path.open("wb") as target:
                is_large = False
                async for piece in request.stream():
                    target.write(piece)
                    if not is_large and target.tell() > _LARGE:
                        is_large = True
                        start_parser_ahead([str(path)])  # meanwhile the rest arrives
                    if target.tell() > limit:
                        raise UsageError(_TOO_LARGE.format(mb=limit >> 20))
        except ClientDisconnect:
            return Response()
        progress = self._progress = ReadingProgress()
        progress.is_reading = True
        opening = asyncio.ensure_future(run_in_threadpool(self._open, path, csv, progress))
        while not (await asyncio.wait({opening}, timeout=_WATCH_SECONDS))[0]:
            if await request.is_disconnected():
                progress.stop()
        opened = await opening
        # The page may have closed since the last look: another one's workbook is not replaced.
        if opened is None or await request.is_disconnected():
            return JSONResponse({})
        editor, answer = opened
        self._workspace.show(editor)
        return JSONResponse(answer)

    def _open(
        self, path: Path, csv: CsvForm, progress: ReadingProgress
    ) -> tuple[SheetEditor, dict[str, Any]] | None:
        """Read and validate a file; return its editor and the answer, None if it was stopped."""
        limits = self._workspace.settings.limits.with_csv(csv)
        try:
            editor = self._workspace.read_file(path, self._workspace.catalogue, limits, progress)
            answer = self._recognise(editor, SheetChoice(), None)
            progress.raise_if_stopped()
        except ReadingStopped:
            return None
        finally:
            progress.is_reading = False
        return editor, answer

    def sample(self) -> dict[str, Any]:
        """Open a small sheet with mistakes, to try the page with."""
        path = self._workspace.new_folder() / str(_SAMPLE_NAME)
        write_sample(path, self._workspace.catalogue.named(_SAMPLE_OF))
        editor = self._workspace.read_file(
            path, self._workspace.catalogue, self._workspace.settings.limits
        )
        answer = self._recognise(editor, SheetChoice(), None)
        self._workspace.show(editor)
        return answer

    async def progress(self, _request: Request) -> Response:
        """Return the progress of reading the last workbook."""
        return JSONResponse(self._progress.to_json())

    def template(self, resource: str) -> Response:
        """Return the blank workbook of a resource."""
        found = self._workspace.catalogue.named(resource)
        path = self._workspace.new_folder() / f"{found.name}.xlsx"
        write_template(path, found)
        return download(path)

    def drafts(self) -> dict[str, Any]:
        """Return the workbooks with stored edits."""
        return {"drafts": self._workspace.drafts()}

    def continue_draft(self, **draft: str) -> dict[str, Any]:
        """Open a workbook with its stored edits."""
        return sheet_json(self._workspace.continue_draft(draft["id"]))

    def discard(self, **draft: str) -> dict[str, Any]:
        """Delete stored edits."""
        self._workspace.discard_draft(draft["id"])
        return self.drafts()

    def choose(
        self, resource: str | None, sheet: str | None, header_row: int | str | None
    ) -> dict[str, Any]:
        """Validate the open workbook by another choice of resource, sheet and header row."""
        editor = self._workspace.editor
        choice = SheetChoice(resource or None, sheet or None, None, editor.choice.reading)
        return self._recognise(editor, choice, int(header_row) if header_row else None)

    def reading(self, shown: str | None, **chosen: Any) -> dict[str, Any]:
        """Parse text dates and numbers of the open sheet by other conventions."""
        options = ParseOptions(chosen["dates"] or None, chosen["numbers"] or None)
        return self._change(
            shown, lambda editor: editor.choose(replace(editor.choice, reading=options))
        )

    def accept(self, shown: str | None, code: str, column: str | None) -> dict[str, Any]:
        """Accept a finding as right in its column, here and in later sheets with this header."""
        # Columns of lists in the rows of their main sheet are called by their path.
        name = (column or "").rpartition(".")[2]
        text = f"{code}:{name}" if name else code

        def accept(editor: SheetEditor) -> None:
            accepted = (*editor.choice.accepted, text)
            editor.choose(replace(editor.choice, accepted=accepted))
            editor.remember_accepted()

        return self._change(shown, accept)

    def _recognise(
        self, editor: SheetEditor, choice: SheetChoice, header_row: int | None
    ) -> dict[str, Any]:
        """Validate by a choice, and return the sheet.

        If columns are missing because the sheet has headers of its own, use the remembered mapping,
        else propose one. If that fails too, the page asks the user for the resource or header row.
        """
        settings, answer = self._workspace.settings, _unrecognised(editor, None)
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
                    answer = sheet_json(editor)
                if "rows" in answer and editor.validated.readable:
                    return answer
                known = remembered_mapping(editor, settings, choice.resource)
                if known is not None:
                    try:
                        editor.choose(replace(choice, resource=None, mapping=known))
                    except UsageError:
                        pass  # The mapping does not fit any more.
                    else:
                        return sheet_json(editor, "remembered")
            try:
                place = choice.resource, editor.choice.sheet, header_row
                proposal = proposed_mapping(editor, self._workspace.catalogue, settings, *place)
            except UsageError as error:
                return answer if "rows" in answer else _unrecognised(editor, error)
            return answer | {"mapping": proposed_form(editor, proposal)}

    def mapping_column(
        self, resource: str, sheet: str, header_row: int, header: str, column: str
    ) -> Mapping[str, Any]:
        """Return the mapping of a header to the column that the user chose."""
        found = self._workspace.catalogue.named(resource)
        return chosen_column(self._workspace.editor, found, sheet, header_row, header, column)

    def unknown_names(self, resource: str, sheet: str, header_row: int) -> dict[str, Any]:
        """Return the columns with names that the page's environment does not have, each of them
        with a value to be filled in, and why they could not be looked up, if so."""
        editor, catalogue = self._workspace.editor, self._workspace.catalogue
        with editor.lock:
            settings = self._workspace.settings
            proposal = proposed_mapping(editor, catalogue, settings, resource, sheet, header_row)
            cells = editor.sheet_cells(proposal.sheet)
        try:
            asked = self._names.ask_unknown(proposal, cells, catalogue)
        except XlbridgeError as error:
            return {"columns": {}, "reasons": {}, "error": str(error.message)}
        return asked_columns(proposal, asked)

    def mapped_names(self, **body: Any) -> dict[str, Any]:
        """Return the problems of the names in a mapping's form, as soon as they can be asked for;
        other mistakes are told when it is confirmed."""
        editor, catalogue = self._workspace.editor, self._workspace.catalogue
        form, resource = only_names(body), catalogue.named(body["resource"])
        if not form["columns"]:
            return {"fields": []}
        with editor.lock:
            try:
                known = self._names.read
                mapping = confirmed_mapping(editor, resource, form, known, "names.yaml")
            except InvalidFile:
                return {"fields": []}
        problems = self._names.problems(mapping, catalogue, with_doubts=True)
        return {"fields": list(map(asdict, problems))}

    def map(self, **body: Any) -> dict[str, Any]:
        """Validate the open sheet with the confirmed mapping, and remember it."""
        editor = self._workspace.editor
        with editor.lock:
            resource = self._workspace.catalogue.named(body["resource"])
            try:
                mapping = confirmed_mapping(editor, resource, body, self._names.read)
                if unknown := self._names.problems(mapping, self._workspace.catalogue):
                    raise name_problems(unknown)
                choice = SheetChoice(None, body["sheet"], mapping, editor.choice.reading)
                editor.choose(choice)
            except InvalidFile as error:
                raise mapping_problems(resource, body, error.mistakes) from error
            remember(editor, self._workspace.settings)
            return sheet_json(editor)

    def sheet(self) -> dict[str, Any]:
        """Return the open sheet: columns, rules, counts."""
        return sheet_json(self._workspace.editor)

    def part(self, shown: str | None, sheet: str) -> dict[str, Any]:
        """Show the chosen sheet or a child sheet."""
        return self._change(shown, lambda editor: editor.show_part(sheet))

    async def edit(self, request: Request) -> Response:
        """Write typed texts into cells; the answer has the rows of the view that is shown."""
        values = {(it["row"], it["column"]): str(it["value"]) for it in await request.json()}
        workspace, shown = self._workspace, shown_sheet_id(request)

        def answer(editor: SheetEditor) -> dict[str, Any]:
            window = workspace.rows_for(shown).window(request.query_params, self._names.known)
            return {**sheet_json(editor), "window": window}

        def edit() -> dict[str, Any]:
            return workspace.change(shown, lambda editor: editor.edit(values), answer)

        return JSONResponse(await run_in_threadpool(edit))

    def step(self, shown: str | None, step: str) -> dict[str, Any]:
        """Undo or redo one step."""
        return self._change(
            shown, lambda editor: (editor.undo if step == "undo" else editor.redo)()
        )

    def set_aside(self, shown: str | None, rule: str) -> dict[str, Any]:
        """Set aside the non-records among the rows of a rule."""
        return self._change(shown, lambda editor: editor.set_aside_rows(rule))

    def values(self, shown: str | None, rule: str) -> dict[str, Any]:
        """Return the values of the cells of a rule, the most frequent first."""
        editor = self._workspace.editor_for(shown)
        with editor.lock:
            return counts_json(editor.values(rule), _MAX_VALUES_OF_RULE)

    def replace(self, shown: str | None, rule: str, before: str, after: str) -> dict[str, Any]:
        """Write a text into all cells of a rule that have a value."""
        return self._change(shown, lambda editor: editor.replace_value(rule, before, after))

    def fixes(self, shown: str | None, rule: str) -> dict[str, Any]:
        """Return the changes that the certain corrections of a rule would make."""
        editor = self._workspace.editor_for(shown)
        with editor.lock:
            return changes_json(editor.fixes(rule))

    def fix(self, shown: str | None, rule: str) -> dict[str, Any]:
        """Make all certain corrections of a rule as one step."""
        return self._change(
            shown,
            lambda editor: editor.set_values(
                {cell: new for cell, (_, new) in editor.fixes(rule).items()}
            ),
        )

    def _change(self, shown: str | None, change: Callable[[SheetEditor], object]) -> dict[str, Any]:
        return self._workspace.change(shown, change, sheet_json)

    def workbook(self, shown: str | None) -> Response:
        """Return the corrected copy of the original, its rows in the order of the page."""
        editor = self._workspace.editor_for(shown)
        # The copy that is sent has the row numbers of the page.
        target = self._workspace.new_folder() / f"{editor.path.stem}-corrigida.xlsx"
        with editor.lock:
            editor.save_corrected(target, placed=True)
        return download(target)


def _unrecognised(editor: SheetEditor, error: UsageError | None) -> dict[str, Any]:
    """Return the answer for a sheet about which the page has to ask the user."""
    answer: dict[str, Any] = {"file": editor.name, "sheets": editor.sheet_names}
    answer["empty"] = error is _EMPTY
    hidden = ", ".join(editor.workbook.hidden)
    hint = str(_HIDDEN.format(names=hidden)) if hidden else ""
    if error is not None or hidden:
        # The error's own hint names options of the command, and its path is the page's copy.
        message = "" if error is None else str(error.message)
        answer["error"] = {"message": message.replace(str(editor.path), editor.name), "hint": hint}
    return answer


_SOUGHT: dict[str, Any] = {"text": str, "column": int | None, "whole": bool}
_BLOCK: dict[str, Any] = {"view": str, "first": int, "last": int, "left": int, "right": int}


class RowRequests:
    """Requests about the rows of the open sheet of a workspace."""

    def __init__(self, workspace: Workspace, names: RegistryNames) -> None:
        self._workspace = workspace
        self._names = names

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        asked, changing = partial(get_route, of_sheet=True), partial(post_route, of_sheet=True)
        place: dict[str, Any] = {"row": int, "column": int, "view": str | None}
        return [
            get_route("/api/rows", self.rows, start=int | None, count=int | None, view=str | None),
            asked("/api/next-error", self.next_error, **place),
            asked("/api/edge", self.edge, **place, down=bool),
            asked("/api/find", self.find, **_SOUGHT, row=int, at=int, view=str),
            asked("/api/replacements", self.replacements, **_SOUGHT, by=str),
            asked("/api/column-values", self.column_values, column=int, contains=str | None),
            asked("/api/names", self.names, column=int, text=str),
            asked("/api/known-names", self.known_names),
            changing(
                "/api/find-replace", self.replace, **_SOUGHT, by=str, only=tuple[int, int] | None
            ),
            changing("/api/layout", self.layout, layout=SheetLayout),
            changing("/api/fill", self.fill, **_BLOCK, series=bool),
            changing("/api/insert-rows", self.insert, above=int | None, count=int),
            changing("/api/delete-rows", self.delete, **_BLOCK),
        ]

    @contextmanager
    def _locked(self, shown: str | None) -> Iterator[SheetRows]:
        rows = self._workspace.rows_for(shown)
        with rows.editor.lock:
            yield rows

    def _change(self, shown: str | None, change: Callable[[SheetRows], object]) -> dict[str, Any]:
        workspace = self._workspace
        return workspace.change(shown, lambda _: change(workspace.rows_for(shown)), sheet_json)

    async def rows(self, request: Request) -> Response:
        """Return some rows of a view."""

        def read() -> dict[str, Any]:
            with self._locked(shown_sheet_id(request)) as rows:
                window = rows.window(request.query_params, self._names.known)
                return {**window, "version": sheet_version(rows.editor)}

        return JSONResponse(await run_in_threadpool(read))

    def next_error(
        self, shown: str | None, row: int, column: int, view: str | None
    ) -> dict[str, Any]:
        """Return the next cell with an error, and its row's position in a view."""
        with self._locked(shown) as rows:
            position = rows.next_error(row, column)
            if position is None:
                return {"row": None}
            numbers = rows.view(view or WRONG)
            at = numbers.index(position[0]) if position[0] in numbers else None
            return {"row": position[0], "column": position[1], "position": at}

    def edge(
        self, shown: str | None, row: int, column: int, view: str | None, *, down: bool
    ) -> dict[str, Any]:
        """Return the position in a view where the filled or empty cells from a cell on end."""
        with self._locked(shown) as rows:
            return {"position": rows.edge(view or WRONG, row, column, down=down)}

    def find(
        self, shown: str | None, row: int, at: int, view: str, **sought: Any
    ) -> dict[str, Any]:
        """Return the number of cells with a text, and the next one after a cell."""
        with self._locked(shown) as rows:
            found = rows.found(SoughtText(**sought))
            answer: dict[str, Any] = {"count": sum(map(len, found.values())), "row": None}
            following = rows.next_found(found, view, (row, at))
            if following is not None:
                cell, position = following
                answer |= {"row": cell[0], "column": cell[1], "position": position}
            return answer

    def replacements(self, shown: str | None, by: str, **sought: Any) -> dict[str, Any]:
        """Return the cells in which a text would be replaced, the first ones with both values."""
        with self._locked(shown) as rows:
            return changes_json(rows.replacements(SoughtText(**sought), by))

    def replace(
        self, shown: str | None, by: str, only: tuple[int, int] | None, **sought: Any
    ) -> dict[str, Any]:
        """Replace a text in one cell, or in all of them as one step."""

        def change(rows: SheetRows) -> None:
            found = rows.replacements(SoughtText(**sought), by, only)
            rows.editor.set_values({cell: after for cell, (_, after) in found.items()})

        return self._change(shown, change)

    def column_values(self, shown: str | None, column: int, contains: str | None) -> dict[str, Any]:
        """Return the most frequent values of a column that contain a text, in their order."""
        with self._locked(shown) as rows:
            values = rows.values(column, contains or "")
            return counts_json(values, _MAX_VALUES_OF_COLUMN, rows.texts(column).in_order)

    def names(self, shown: str | None, column: int, text: str) -> dict[str, Any]:
        """Return the records of a column's registry that a typed text may mean."""
        found = self._workspace.rows_for(shown).editor.column_at(column)
        return {"records": [], "read": False} if found is None else self._names.offer(found, text)

    def known_names(self, shown: str | None) -> dict[str, Any]:
        """Read the registries of the shown sheet's columns; return whether there are new names."""
        with self._locked(shown) as rows:
            editor = rows.editor
            found = {editor.registry(index): None for index in editor.column_indexes}
        return {"new": self._names.read_ahead([one for one in found if one is not None])}

    def layout(self, shown: str | None, layout: SheetLayout) -> dict[str, Any]:
        """Set how the shown sheet is sorted and filtered, and its columns' layout."""
        return self._change(shown, lambda rows: setattr(rows.editor, "layout", layout))

    def fill(self, shown: str | None, *, series: bool, **block: Any) -> dict[str, Any]:
        """Fill cells downwards, or continue them as a series."""
        return self._change(shown, lambda rows: rows.fill(CellBlock(**block), as_series=series))

    def insert(self, shown: str | None, above: int | None, count: int) -> dict[str, Any]:
        """Insert empty rows below another one, or below the header."""
        count = min(max(count, 1), _MAX_INSERTED)
        return self._change(shown, lambda rows: rows.insert(above, count))

    def delete(self, shown: str | None, **block: Any) -> dict[str, Any]:
        """Delete rows of a view."""
        return self._change(shown, lambda rows: rows.delete(CellBlock(**block)))
