"""Requests about exports and profiles."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal
from zipfile import ZIP_DEFLATED, ZipFile

from starlette.responses import Response
from starlette.routing import Route

from xlbridge.client import Client, RetryPolicy, parse_base_url
from xlbridge.connection import connect, new_profile, target_of
from xlbridge.errors import (
    AuthenticationFailed,
    ConfigError,
    TransportError,
    UsageError,
    XlbridgeError,
)
from xlbridge.export import (
    LISTINGS,
    ExportProgress,
    ExportRequest,
    Filter,
    Filters,
    OutputFile,
    find_listing,
)
from xlbridge.i18n import Text, joined
from xlbridge.profiles import (
    EMBEDDED_NAME,
    Profile,
    ProfileSource,
    choose_profile,
    read_profile_file,
)
from xlbridge.report_forms import ReportForms, value_text
from xlbridge.resources import Catalogue, Kind, Resource
from xlbridge.resources.links import listing_resource
from xlbridge.resources.names import field_title
from xlbridge.saved_logins import PasswordSource, save_profile, store_password
from xlbridge.titles import WorkProgress
from xlbridge.ui.answers import (
    FieldProblem,
    InvalidFields,
    download,
    get_route,
    post_route,
    table_json,
)
from xlbridge.ui.cell_edits import displayed_text
from xlbridge.ui.environment import BackgroundWork, PageConnection
from xlbridge.ui.workspace import Workspace
from xlbridge.upload import known_numbers
from xlbridge.upload.lookup import registry_lists
from xlbridge.workbook.read import read_workbook
from xlbridge.workbook.write import write_template

_PREVIEWED = 10
_ACCEPTED = Text(
    pt="{name}: credenciais aceitas (até {expiration}).",
    en="{name}: the credentials are accepted (until {expiration}).",
)
_NOT_IN_FILE = Text(
    pt="{name} não é um ambiente salvo; só ambientes salvos podem ser marcados.",
    en="{name} is not a stored environment; only those can be marked.",
)


_FORMATS: Mapping[str, tuple[str, str | None]] = {
    "xlsx": ("xlsx", None),
    "csv-br": ("csv", "pt-br"),
    "csv": ("csv", None),
    "import": ("xlsx", None),
}
"""Formats of exports on the page: the extension, and the dialect of a .csv file."""


def listings_json(catalogue: Catalogue) -> list[dict[str, Any]]:
    """Return the listings with their filters, and whether they have an import sheet."""
    return [
        {
            "name": listing.name,
            "title": str(listing.title),
            "importable": _is_importable(listing.name, catalogue),
            "filters": [
                {
                    "name": name.value,
                    "kind": name.type.kind.value,
                    "meaning": str(listing.filter_label(name)),
                }
                for name in listing.filters
            ],
        }
        for listing in LISTINGS.values()
    ]


def _is_importable(listing: str, catalogue: Catalogue) -> bool:
    request = ExportRequest(listing=listing, as_template="", known_ids=())
    try:
        request.prepare(OutputFile(Path("import.xlsx")), lambda: catalogue)
    except UsageError:
        return False
    return True


_PROFILE: dict[str, Any] = {
    **dict.fromkeys(("name", "url", "email", "password"), str),
    "production": bool,
}
_STORED: Mapping[PasswordSource, Text] = {
    PasswordSource.KEYRING: Text(
        pt="A senha está no cofre de senhas do computador.",
        en="The password is in the system's keyring.",
    ),
    PasswordSource.FILE: Text(
        pt="A senha está num arquivo que só você pode ler, sem criptografia.",
        en="The password is in a file that only you can read, not encrypted.",
    ),
}
_EXPORT: dict[str, Any] = {
    "listing": str,
    "filters": dict[Filter, str | bool | None] | None,
    "format": Literal["xlsx", "csv-br", "csv", "import"] | None,
}


class ExportAndProfileRequests:
    """Requests about exports and profiles of the page's environment."""

    def __init__(self, workspace: Workspace, remote: PageConnection, work: BackgroundWork) -> None:
        self._workspace = workspace
        self._remote = remote
        self._work = work
        self._exported: dict[str, Path] = {}
        self._templates: dict[str, Path] = {}

    def routes(self) -> list[Route]:
        """Return the routes of the requests."""
        return [
            post_route("/api/export", self.export, start=self._work.start, **_EXPORT),
            get_route("/api/exported", self.exported, listing=str),
            post_route(
                "/api/template-with-lists",
                self.make_template,
                start=self._work.start,
                resource=str,
            ),
            get_route("/api/template-with-lists", self.template, resource=str),
            get_route("/api/profiles", self.profiles),
            post_route("/api/new-profile", self.new_profile, **_PROFILE),
            post_route("/api/use-profile", self.use_profile, name=str),
            post_route("/api/login", self.login, name=str),
            post_route("/api/production", self.production, name=str, production=bool),
        ]

    def export(
        self, listing: str, filters: Mapping[Filter, str | bool | None] | None, **form: str | None
    ) -> Callable[[], None]:
        """Return an export of a listing to a workbook, .csv files or its import sheet."""
        options: dict[Filter, object] = {}
        for wanted, text in (filters or {}).items():
            if text and wanted.type.is_flag:
                options[wanted] = True
            elif isinstance(text, str) and text and wanted.type.is_repeatable:
                options[wanted] = tuple(part.strip() for part in text.split(",") if part.strip())
            elif text:
                options[wanted] = text
        export = ExportRequest(
            listing=find_listing(listing).name,
            filters=Filters.parse(options),
            as_template="" if form["format"] == "import" else None,
            known_ids=(),
        )
        return partial(self._export, export, form["format"] or "xlsx")

    def _export(self, request: ExportRequest, form: str) -> None:
        """Export a listing; the outcome includes its first rows."""
        remote = self._remote
        with remote.track("export"):
            extension, dialect = _FORMATS[form]
            path = self._workspace.new_folder() / f"{request.listing}.{extension}"
            progress = remote.progress

            def on_progress(done: ExportProgress) -> None:
                progress(done.text)
                if done.records_left is not None:
                    remote.count(done.records, done.records + done.records_left)
                elif done.windows_left is not None:
                    remote.count(done.windows, done.windows + done.windows_left)

            output = OutputFile(path, csv_dialect=dialect)
            export = request.prepare(output, lambda: self._workspace.catalogue)
            with remote.connected() as (_, client):
                export = export.with_known_ids(
                    lambda name: known_numbers(remote.settings, name, client)
                )
                result = export.run(client, on_progress=on_progress)
            self._exported[request.listing] = _one_file(path, export.files)
            cover = result.cover(path.name, export.listing, request.filters)
            report = result.report(Path(path.name))
            below = ReportForms.of_report(lambda: replace(report, verdict=None, facts=())).lines()
            cells = read_workbook(path, self._workspace.settings.limits).sheets[0]
            columns = range(cells.first_column, cells.first_column + len(cells.columns))
            known = {column.name: column.kind for column in export.listing.sheets[0].columns}
            kinds = [known.get(displayed_text(cells, (1, column))) for column in columns]
            preview = [
                [
                    displayed_text(cells, (row, column), kind)
                    for column, kind in zip(columns, kinds, strict=True)
                ]
                for row in range(1, min(cells.height, _PREVIEWED + 1) + 1)
            ]
            if extension == "xlsx":
                # A workbook is read with the interface's names, and has titles.
                preview[:1] = [[str(field_title(name)) for name in names] for names in preview[:1]]
            remote.state.outcome = {
                "listing": request.listing,
                "title": str(cover.title),
                "lines": [f"{label}: {value_text(value)}" for label, value in cover.facts],
                "below": list(map(str, below)),
                "totals": [
                    table_json(replace(table, title=table.headings[0].title))
                    for table in cover.tables[1:]
                ],
                "preview": preview,
                "amounts": [kind is Kind.MONEY for kind in kinds],
            }

    def exported(self, listing: str) -> Response:
        """Return the workbook of an export."""
        path = self._exported.get(listing)
        media_type = _TYPES.get("" if path is None else path.suffix)
        return download(path) if media_type is None else download(path, media_type)

    def make_template(self, resource: str) -> Callable[[], None]:
        """Return the work on the blank workbook of a resource, with lists of the system's
        records."""
        return partial(self._make_template, self._workspace.catalogue.named(resource))

    def _make_template(self, resource: Resource) -> None:
        """Write the workbook; the outcome says which lists are not complete."""
        remote = self._remote
        with remote.track("template"):
            path = self._workspace.new_folder() / f"{resource.name}.xlsx"
            form = listing_resource(resource, self._workspace.catalogue)
            remarks: list[Text] = []
            if form is resource:
                write_template(path, form)
            else:
                progress = WorkProgress(remote.progress, count=remote.count)
                with remote.connected() as (_, client):
                    lists = registry_lists(client, form, remarks.append, progress)
                write_template(path, form, lists)
            self._templates[resource.name] = path
            remote.state.outcome = {"resource": resource.name, "lines": list(map(str, remarks))}

    def template(self, resource: str) -> Response:
        """Return the workbook that ``make_template`` wrote."""
        return download(self._templates.get(resource))

    def new_profile(
        self, name: str, url: str, email: str, password: str, *, production: bool
    ) -> dict[str, Any]:
        """Create an environment once its credentials are accepted, and store its password."""
        base = self._remote.base
        name, url, email = name.strip(), url.strip(), email.strip()
        try:
            parse_base_url(url)
        except ConfigError as error:
            raise _at_field("url", error, str(error.hint)) from error
        profile = new_profile(base, Profile(name, url, email, production))
        settings = replace(base, password=password, base_url=profile.base_url)
        target = target_of(settings, profile)
        try:
            with Client(target, retry_policy=RetryPolicy.quick()) as client:
                expiration = client.login().expiration_text
        except AuthenticationFailed as error:
            raise _at_field("password", error) from error
        except TransportError as error:
            raise _at_field("url", error) from error
        save_profile(base, profile)
        stored = store_password(base, profile, password, None)
        if name == choose_profile(base).name:
            self._remote.use(name)
        message = _ACCEPTED.format(name=profile.name, expiration=expiration)
        return {"message": str(joined([message, _STORED[stored]], " "))}

    def profiles(self) -> dict[str, Any]:
        """Return the environments, the page's first, without passwords."""
        return {"profiles": environments_json(self._remote)}

    def use_profile(self, name: str) -> dict[str, Any]:
        """Switch the page to another environment."""
        self._remote.use(name)
        if self._workspace.is_open:
            editor = self._workspace.editor
            with editor.lock:
                editor.forget_uploads()
                self._workspace.save_edits(editor)
        return {}

    def login(self, name: str) -> dict[str, Any]:
        """Check the credentials of an environment."""
        base = self._remote.base
        settings = base if name == choose_profile(base).name else base.with_profile(name)
        with connect(settings, lambda _text: None) as client:
            expiration = client.login().expiration_text
        return {"message": str(_ACCEPTED.format(name=name, expiration=expiration))}

    def production(self, name: str, *, production: bool) -> dict[str, Any]:
        """Mark an environment as production, or remove the mark."""
        base = self._remote.base
        known = read_profile_file(base).profiles.get(name)
        if known is None:
            raise UsageError(_NOT_IN_FILE.format(name=name))
        profile = replace(known, production=production)
        if name == choose_profile(base).name:
            self._remote.use(name, lambda: save_profile(base, profile))
        else:
            save_profile(base, profile)
        return {}


def _at_field(name: str, error: XlbridgeError, hint: str = "") -> InvalidFields:
    """Return an error about a field of the form of an environment; hints name commands."""
    text = f"{error.message} {hint}".strip()
    return InvalidFields(error.message, [FieldProblem(name, None, text)])


_TYPES = {".csv": "text/csv", ".zip": "application/zip"}


def _one_file(path: Path, files: Sequence[Path]) -> Path:
    """Return the file of an export, or an archive if it has several."""
    if len(files) == 1:
        return path
    archive = path.with_suffix(".zip")
    with ZipFile(archive, "w", ZIP_DEFLATED) as content:
        for file in files:
            content.write(file, file.name)
    return archive


def environments_json(remote: PageConnection) -> list[dict[str, Any]]:
    """Return the environment of the page, then the others of the profile file."""
    base = remote.base
    chosen = choose_profile(base)
    others = [*read_profile_file(base).profiles.values()]
    if base.base_url is None:
        others.append(Profile(EMBEDDED_NAME, "", "", source=ProfileSource.EMBEDDED))
    return [
        {
            **profile.to_json(),
            "email": profile.email,
            "practice": profile.source is ProfileSource.EMBEDDED,
            "chosen": profile is chosen,
            "kept": profile.source is ProfileSource.FILE,
            "machine": profile.source is ProfileSource.MACHINE,
        }
        for profile in (chosen, *(one for one in others if one.name != chosen.name))
    ]
