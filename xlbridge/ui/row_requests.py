"""Requests about the rows of the open sheet: windows of a view, what is found, filled, arranged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from xlbridge.ui.answers import get_route, post_route, shown_sheet_id
from xlbridge.ui.environment import RegistryNames
from xlbridge.ui.row_order import SheetLayout, SoughtText
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
            return counts_json(values, _MAX_VALUES, rows.texts(column).in_order)

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
