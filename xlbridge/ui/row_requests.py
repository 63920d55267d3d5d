"""Requests about the rows of the open sheet: windows of a view, what is found, filled, arranged."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from xlbridge.ui.answers import get_route, json_response, post_route, shown_sheet_id
from xlbridge.ui.registry_names import RegistryNames
from xlbridge.ui.row_order import SheetLayout, SoughtText, read_layout
from xlbridge.ui.sheet_forms import changes_json, counts_json, sheet_json, sheet_version
from xlbridge.ui.sheet_rows import WRONG, CellBlock, SheetRows
from xlbridge.ui.workspace import Workspace

_MAX_VALUES = 200
_MAX_INSERTED = 1000
_SOUGHT: dict[str, Any] = {"text": str, "column": int | None, "whole": bool}
_BLOCK: dict[str, Any] = {"view": str, "first": int, "last": int, "left": int, "right": int}


class RowRequests:
    """Requests about the rows of the open sheet of a workspace."""

    def __init__(self, workspace: Workspace, names: RegistryNames) -> None:
        self._workspace = workspace
        self._names = names

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        place: dict[str, Any] = {"row": int, "column": int, "view": str | None}
        return [
            get_route("/api/rows", self.rows, start=int | None, count=int | None, view=str | None),
            get_route("/api/next-error", self.next_error, **place),
            get_route("/api/edge", self.edge, **place, down=bool),
            get_route("/api/find", self.find, **_SOUGHT, row=int, at=int, view=str),
            get_route("/api/replacements", self.replacements, **_SOUGHT, by=str),
            get_route("/api/column-values", self.column_values, column=int, contains=str | None),
            get_route("/api/names", self.names, column=int, text=str),
            post_route(
                "/api/find-replace",
                self.replace,
                **_SOUGHT,
                by=str,
                only=tuple[int, int] | None,
            ),
            post_route("/api/layout", self.layout, layout=SheetLayout),
            post_route("/api/fill", self.fill, **_BLOCK, series=bool),
            post_route("/api/insert-rows", self.insert, above=int | None, count=int),
            post_route("/api/delete-rows", self.delete, **_BLOCK),
        ]

    async def _answer(
        self, request: Request, build: Callable[[SheetRows], dict[str, Any]]
    ) -> Response:
        rows = self._workspace.rows_for(shown_sheet_id(request))

        def locked() -> dict[str, Any]:
            with rows.editor.lock:
                return build(rows)

        return await json_response(locked)

    async def _change(self, request: Request, change: Callable[[SheetRows], object]) -> Response:
        workspace, shown = self._workspace, shown_sheet_id(request)
        return await json_response(
            lambda: sheet_json(
                workspace.changed(shown, lambda _: change(workspace.rows_for(shown)))
            )
        )

    async def rows(self, request: Request) -> Response:
        """Return some rows of a view."""

        def read(rows: SheetRows) -> dict[str, Any]:
            window = rows.window(request.query_params, self._names.known)
            return {**window, "version": sheet_version(rows.editor)}

        return await self._answer(request, read)

    async def next_error(self, request: Request) -> Response:
        """Return the next cell with an error, and its row's position in a view."""
        query = request.query_params

        def find(rows: SheetRows) -> dict[str, Any]:
            position = rows.next_error(int(query["row"]), int(query["column"]))
            if position is None:
                return {"row": None}
            numbers = rows.view(query.get("view", WRONG))
            at = numbers.index(position[0]) if position[0] in numbers else None
            return {"row": position[0], "column": position[1], "position": at}

        return await self._answer(request, find)

    async def edge(self, request: Request) -> Response:
        """Return the position in a view where the filled or empty cells from a cell on end."""
        query = request.query_params
        row, column, down = int(query["row"]), int(query["column"]), query["down"] == "1"
        view = query.get("view", WRONG)
        return await self._answer(
            request, lambda rows: {"position": rows.edge(view, row, column, down=down)}
        )

    async def find(self, request: Request) -> Response:
        """Return the number of cells with a text, and the next one after a cell."""
        query = request.query_params
        after = int(query["row"]), int(query["at"])

        def find(rows: SheetRows) -> dict[str, Any]:
            found = rows.found(_sought(query))
            answer: dict[str, Any] = {"count": sum(map(len, found.values())), "row": None}
            following = rows.next_found(found, query["view"], after)
            if following is not None:
                (row, column), at = following
                answer |= {"row": row, "column": column, "position": at}
            return answer

        return await self._answer(request, find)

    async def replacements(self, request: Request) -> Response:
        """Return the cells in which a text would be replaced, the first ones with both values."""
        query = request.query_params

        def find(rows: SheetRows) -> dict[str, Any]:
            return changes_json(rows.replacements(_sought(query), query["by"]))

        return await self._answer(request, find)

    async def replace(self, request: Request) -> Response:
        """Replace a text in one cell, or in all of them as one step."""
        body = await request.json()
        only = None if body.get("only") is None else (body["only"][0], body["only"][1])
        return await self._change(
            request,
            lambda rows: rows.editor.set_values(
                {
                    cell: after
                    for cell, (_, after) in rows.replacements(
                        _sought(body), body["by"], only
                    ).items()
                }
            ),
        )

    async def column_values(self, request: Request) -> Response:
        """Return the most frequent values of a column that contain a text."""
        query = request.query_params
        column, contains = int(query["column"]), query.get("contains", "")

        def find(rows: SheetRows) -> dict[str, Any]:
            return counts_json(rows.values(column, contains), _MAX_VALUES)

        return await self._answer(request, find)

    async def names(self, request: Request) -> Response:
        """Return the records of a column's registry that a typed text may mean."""
        query = request.query_params
        rows = self._workspace.rows_for(shown_sheet_id(request))
        column = rows.editor.column_at(int(query["column"]))
        if column is None:
            return JSONResponse({"records": [], "read": False})
        return await json_response(lambda: self._names.offer(column, query["text"]))

    async def layout(self, request: Request) -> Response:
        """Set how the shown sheet is sorted and filtered, and its columns' layout."""
        layout = read_layout((await request.json())["layout"])
        return await self._change(request, lambda rows: setattr(rows.editor, "layout", layout))

    async def fill(self, request: Request) -> Response:
        """Fill cells downwards, or continue them as a series."""
        body = await request.json()
        series = bool(body["series"])
        return await self._change(request, lambda rows: rows.fill(_block(body), as_series=series))

    async def insert(self, request: Request) -> Response:
        """Insert empty rows below another one, or below the header."""
        body = await request.json()
        above = None if body.get("above") is None else int(body["above"])
        count = min(max(int(body["count"]), 1), _MAX_INSERTED)
        return await self._change(request, lambda rows: rows.insert(above, count))

    async def delete(self, request: Request) -> Response:
        """Delete rows of a view."""
        body = await request.json()
        return await self._change(request, lambda rows: rows.delete(_block(body)))


def _sought(values: Any) -> SoughtText:
    column = values.get("column")
    whole = values.get("whole") in {True, "1", "true"}
    return SoughtText(values["text"], None if column in {None, ""} else int(column), whole)


def _block(body: Any) -> CellBlock:
    return CellBlock(*(body[name] for name in _BLOCK))
