"""Requests beside the sheet: exports and profiles."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from xlbridge.connection import connect
from xlbridge.errors import UsageError
from xlbridge.export import (
    LISTINGS,
    ExportProgress,
    ExportRequest,
    Filter,
    Filters,
    OutputFile,
    find_listing,
)
from xlbridge.i18n import Text
from xlbridge.profiles import (
    EMBEDDED_NAME,
    Profile,
    ProfileSource,
    choose_profile,
    read_profile_file,
    save_profile,
)
from xlbridge.ui.answers import download, filter_label, json_of, posting, reading
from xlbridge.ui.cell_edits import displayed_text
from xlbridge.ui.environment import Changed, Following, Remote
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import known_numbers
from xlbridge.workbook.read import read_workbook

_PREVIEWED = 10
_ACCEPTED = Text(
    pt="{name}: credenciais aceitas (até {expiration}).",
    en="{name}: the credentials are accepted (until {expiration}).",
)
_NOT_IN_FILE = Text(
    pt="{name} não é um perfil guardado: só um desses se marca.",
    en="{name} is not a kept profile: only those are marked.",
)
_FETCHED = Text(
    pt="{n} {n:registro|registros}, {windows} {windows:período|períodos}",
    en="{n} {n:record|records}, {windows} {windows:window|windows}",
)


def listings_json() -> list[dict[str, Any]]:
    """Return what can be exported, each with its filters."""
    return [
        {
            "name": listing.name,
            "title": str(listing.title),
            "filters": [
                {
                    "name": name.value,
                    "kind": name.type.kind.value,
                    "meaning": filter_label(name),
                }
                for name in listing.filters
            ],
        }
        for listing in LISTINGS.values()
    ]


class SideRequests:
    """Requests about exports and profiles of the page's environment."""

    def __init__(self, workspace: Workspace, remote: Remote, following: Following) -> None:
        self._workspace = workspace
        self._remote = remote
        self._following = following
        self._exported: dict[str, Path] = {}

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        return [
            posting("/api/export", self.export),
            reading("/api/exported", self.exported),
            reading("/api/profiles", self.profiles),
            posting("/api/use-profile", self.use_profile),
            posting("/api/login", self.login),
            posting("/api/production", self.production),
        ]

    async def export(self, request: Request) -> Response:
        """Begin to export a listing into a workbook; ``/api/events`` tells how it goes."""
        given = await request.json()
        listing = find_listing(given["listing"]).name
        texts = {Filter(name): value for name, value in given.get("filters", {}).items() if value}
        filters = Filters.parse({name: _typed(name, text) for name, text in texts.items()})
        asked = ExportRequest(listing=listing, filters=filters, known_ids=())
        return self._following.begin(partial(self._export, asked))

    def _export(self, asked: ExportRequest, changed: Changed) -> None:
        """Export, and keep how it ends with the first rows in the state of the work."""
        remote = self._remote
        with remote.following("export", changed):
            path = self._workspace.new_folder() / f"{asked.listing}.xlsx"
            progress = remote.progress(changed)

            def tell(done: ExportProgress) -> None:
                progress(_FETCHED.format(n=done.records, windows=done.windows))

            export = asked.prepare(OutputFile(path), lambda: self._workspace.catalogue)
            with remote.connected() as (_, client):
                if export.accepts_known_ids:
                    known = known_numbers(remote.settings, asked.listing, client)
                    export = export.with_known_ids(known)
                exported = export.run(client, on_progress=tell)
            self._exported[asked.listing] = path
            manifest = exported.manifest()
            remote.state.outcome = {
                "listing": asked.listing,
                "manifest": manifest,
                "remarks": [str(text) for text in exported.remarks],
                "preview": self._preview(path, asked.listing),
            }

    def _preview(self, path: Path, sheet: str) -> list[list[str]]:
        """Return the header and the first rows of an exported sheet."""
        cells = read_workbook(path, self._workspace.settings.limits).sheets[0]
        return [
            [
                displayed_text(cells, (row, cells.first_column + at))
                for at in range(len(cells.columns))
            ]
            for row in range(1, min(cells.height, _PREVIEWED + 1) + 1)
        ]

    async def exported(self, request: Request) -> Response:
        """Answer the workbook of an export."""
        return download(self._exported.get(request.query_params["listing"]))

    async def profiles(self, _request: Request) -> Response:
        """Answer the environments that are known, the page's own first; passwords never."""
        return await json_of(lambda: {"profiles": environments_json(self._remote)})

    async def use_profile(self, request: Request) -> Response:
        """Let the page work with another environment."""
        name = (await request.json())["name"]

        def use() -> dict[str, Any]:
            self._remote.use(name)
            if self._workspace.is_open:
                editor = self._workspace.editor
                with editor.lock:
                    editor.forget_uploads()
                    self._workspace.save_edits(editor)
            return {}

        return await json_of(use)

    async def login(self, request: Request) -> Response:
        """Answer whether the credentials of an environment are accepted."""
        name = (await request.json())["name"]

        def log_in() -> dict[str, Any]:
            base = self._remote.base
            chosen = choose_profile(base)
            settings = base if name == chosen.name else base.with_profile(name)
            with connect(settings, lambda _text: None) as client:
                expiration = client.login().expiration or "?"
            return {"message": str(_ACCEPTED.format(name=name, expiration=expiration))}

        return await json_of(log_in)

    async def production(self, request: Request) -> Response:
        """Mark an environment as production; only the terminal takes the mark away."""
        name = (await request.json())["name"]

        def mark() -> dict[str, Any]:
            home = self._remote.base.home
            known = read_profile_file(home).profiles.get(name)
            if known is None:
                raise UsageError(_NOT_IN_FILE.format(name=name))
            chosen = choose_profile(self._remote.base)
            save_profile(home, replace(known, production=True))
            if name == chosen.name:
                self._remote.use(name)
            return {}

        return await json_of(mark)


def environments_json(remote: Remote) -> list[dict[str, Any]]:
    """Return the environment of the page, and the others of the profile file."""
    base = remote.base
    chosen = choose_profile(base)
    others = [*read_profile_file(base.home).profiles.values()]
    if base.base_url is None:
        others.append(Profile(EMBEDDED_NAME, "", "", source=ProfileSource.EMBEDDED))
    return [
        {
            "name": profile.name,
            "address": profile.base_url,
            "email": profile.email,
            "production": profile.production,
            "practice": profile.source is ProfileSource.EMBEDDED,
            "chosen": profile is chosen,
            "kept": profile.source is ProfileSource.FILE,
        }
        for profile in (chosen, *(one for one in others if one.name != chosen.name))
    ]


def _typed(name: Filter, text: str) -> object:
    """Return the text of a filter as a command's option would give it."""
    if name.type.is_flag:
        return True
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    return parts if name.type.is_repeatable else text
