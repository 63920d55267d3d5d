"""Application behind the page: its files, and the requests that the use cases answer."""

from collections.abc import Callable
from http import HTTPStatus
from importlib.resources import files

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from xlbridge.pages import render_page
from xlbridge.ui.answers import posting
from xlbridge.ui.batch_requests import BatchRequests
from xlbridge.ui.sending import Remote
from xlbridge.ui.sheet_requests import SheetRequests
from xlbridge.ui.side_requests import SideRequests, environments_json, listings_json
from xlbridge.ui.texts import page_texts
from xlbridge.ui.upload_requests import Following, UploadRequests
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import KINDS

_TYPES = {".js": "text/javascript", ".css": "text/css"}


async def _no_content(_request: Request) -> Response:
    return Response(status_code=HTTPStatus.NO_CONTENT)


class PageApplication:
    """One page: its open workbook, its connection, and how it ends."""

    def __init__(self, remote: Remote, stop: Callable[[], None]) -> None:
        self._remote = remote
        self._stop = stop
        self._workspace = Workspace(remote.settings)

    def build(self) -> Starlette:
        """Return the application."""
        following = Following(self._remote)
        routes = [
            Route("/", self.page),
            Route("/files/{name}", self.file),
            Route("/favicon.ico", _no_content),
            *SheetRequests(self._workspace).routes(),
            *UploadRequests(self._workspace, self._remote, following).routes(),
            *SideRequests(self._workspace, self._remote, following).routes(),
            *BatchRequests(self._workspace, self._remote, following).routes(),
            posting("/api/stop", self.stop),
        ]
        return Starlette(routes=routes)

    async def page(self, _request: Request) -> Response:
        """Answer the page itself."""
        html = render_page(
            "xlbridge.ui",
            served=True,
            title="xlbridge",
            texts=page_texts(),
            resources=[
                {"name": name, "title": str(self._workspace.catalogue[name].title)}
                for name in sorted(self._workspace.catalogue)
            ],
            listings=listings_json(),
            processes=[it for it in listings_json() if it["name"] in KINDS],
            is_open=self._workspace.is_open,
            running=self._remote.state.work if self._remote.state.running else "",
            environment=environments_json(self._remote)[0],
        )
        return HTMLResponse(html)

    async def file(self, request: Request) -> Response:
        """Answer a script or style that is shipped."""
        name = request.path_params["name"]
        shipped = {it.name: it for it in files("xlbridge.ui").joinpath("page").iterdir()}
        base = files("xlbridge.pages").joinpath("base.css")
        found = base if name == base.name else shipped.get(name)
        kind = _TYPES.get(f".{name.rpartition('.')[2]}")
        if found is None or kind is None:
            return Response(status_code=HTTPStatus.NOT_FOUND)
        return Response(found.read_bytes(), media_type=kind)

    async def stop(self, _request: Request) -> Response:
        """End the server."""
        self._stop()
        return JSONResponse({})

    def close(self) -> None:
        """Remove what nobody needs any more of the files that were opened."""
        self._workspace.close()
