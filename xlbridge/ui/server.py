"""Server of the page, on loopback only.

Any program, any user of this computer and any site open in a browser can reach loopback. Therefore
a launch link works once; the browser finds it in a private file, as everybody can read its command
line. The link is exchanged for a cookie, and for a key that the page's scripts send in a header:
browsers send cookies to every port of a host, but keep the key for one. Host, origin and fetch
metadata are checked to refuse other sites.

A private file names the running page of a home, so that ``xlbridge ui`` opens it again. Both sides
prove that they know its secret, which is not sent: another program may have got the port of a page
that has ended.
"""

import hashlib
import hmac
import json
import os
import secrets
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any, Literal

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xlbridge.errors import ConfigError
from xlbridge.files import write_private
from xlbridge.i18n import LANGUAGES, Language, Text, active_language, set_language, shown_on_page
from xlbridge.report_forms import render_page
from xlbridge.serving import LOOPBACK, Server, listen
from xlbridge.settings import CSV_DELIMITERS, CSV_ENCODINGS, Settings
from xlbridge.ui.answers import post_route, read_object
from xlbridge.ui.batch_requests import BatchRequests, ProveBatch, RunBatch
from xlbridge.ui.environment import BackgroundWork, PageConnection, RegistryNames
from xlbridge.ui.exports_and_profiles import (
    ExportAndProfileRequests,
    environments_json,
    listings_json,
)
from xlbridge.ui.sending import JobRequests, UploadRequests
from xlbridge.ui.sheet_requests import RowRequests, SheetRequests
from xlbridge.ui.texts import page_texts
from xlbridge.ui.workspace import Workspace
from xlbridge.upload.process_kinds import KINDS

_AGAIN = "/again"
"""Path of the request for a new launch link."""

_FILE = "page.json"
_PREFERENCES = "page-preferences.json"
_NONCE, _PROOF, _BROWSER = "x-page-nonce", "x-page-proof", "x-page-browser"
_PATIENCE = 5  # seconds


@dataclass(frozen=True, slots=True)
class _PageSecret:
    """Secret that a running page shares with its owner's other commands."""

    value: str

    @classmethod
    def new(cls) -> "_PageSecret":
        """Return a new secret."""
        return cls(secrets.token_hex(32))

    def sign(self, text: str) -> str:
        """Return the proof that the signer of a text knows the secret."""
        return hmac.new(self.value.encode(), text.encode(), hashlib.sha256).hexdigest()

    def answer(self, headers: Any, link: str) -> dict[str, str]:
        """Return the answer to a request for a launch link, signed for it alone."""
        return {"url": link, "proof": self.sign(f"{headers.get(_NONCE, '')} {link}")}

    def asks(self, headers: Any) -> bool:
        """Return whether the headers of a request prove that it knows the secret."""
        return hmac.compare_digest(headers.get(_PROOF, ""), self.sign(headers.get(_NONCE, "")))


def _forget_running(settings: Settings) -> None:
    """Remove the record of this process's page."""
    if read_object(settings.home / _FILE).get("pid") == os.getpid():
        (settings.home / _FILE).unlink(missing_ok=True)


def _ask_running(settings: Settings, *, browser: bool) -> str | None:
    """Return a new launch link of the page that runs with these settings, None if there is none.

    With ``browser`` the page opens it in a browser.
    """
    import httpx

    record = read_object(settings.home / _FILE)
    if record.get("of") != _digest(settings):
        return None
    secret, nonce = _PageSecret(record["secret"]), secrets.token_hex(16)
    address = f"http://{LOOPBACK}:{record['port']}"
    headers = {"Origin": address, _NONCE: nonce, _PROOF: secret.sign(nonce)}
    if browser:
        headers[_BROWSER] = "1"
    try:
        with httpx.Client(trust_env=False, timeout=_PATIENCE, verify=False) as client:  # noqa: S501
            answer = client.post(f"{address}{_AGAIN}", headers=headers).json()
    except (httpx.HTTPError, ValueError):
        return None  # The page has ended without removing its record.
    link = str(answer.get("url")) if isinstance(answer, dict) else ""
    proof = str(answer.get("proof")) if isinstance(answer, dict) else ""
    return link if hmac.compare_digest(proof, secret.sign(f"{nonce} {link}")) else None


_Theme = Literal["", "light", "dark"]
"""Theme of the page; without a name it is the computer's."""


@dataclass(frozen=True, slots=True)
class _Preferences:
    """Language and theme chosen on the page; without a language it is the command's."""

    language: Language | None = None
    theme: _Theme = ""

    @classmethod
    def of_home(cls, home: Path) -> "_Preferences":
        """Return the preferences that a home keeps."""
        stored = read_object(home / _PREFERENCES)
        language, theme = stored.get("language"), stored.get("theme")
        return cls(
            language if language in LANGUAGES else None, theme if theme in {"light", "dark"} else ""
        )

    def save(self, home: Path) -> None:
        """Keep the preferences in a home."""
        write_private(home / _PREFERENCES, json.dumps(asdict(self)))


def _digest(settings: Settings) -> str:
    """Return a digest of what a page is started with."""
    parts = (settings.profile, settings.base_url, settings.email)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


_TYPES = {".js": "text/javascript", ".css": "text/css"}


class PageApplication:
    """Application of one page: its workspace, connection and routes."""

    def __init__(
        self,
        remote: PageConnection,
        run_batch: RunBatch,
        prove_batch: ProveBatch,
        stop: Callable[[], None],
    ) -> None:
        self._remote = remote
        self._run_batch, self._prove_batch = run_batch, prove_batch
        self._stop = stop
        self._names = RegistryNames(remote)
        self._workspace = Workspace(remote, self._names)
        self._workspace.return_to_environment()
        self._home = remote.settings.home

    def build(self) -> Starlette:
        """Return the ASGI application."""
        work, names = BackgroundWork(self._remote), self._names
        routes = [
            Route("/", self.page),
            Route("/files/{name}", self.file),
            Route("/favicon.ico", self.no_icon),
            *SheetRequests(self._workspace, names).routes(),
            *RowRequests(self._workspace, names).routes(),
            *UploadRequests(self._workspace, self._remote, work, names).routes(),
            *JobRequests(self._workspace, self._remote, work, names).routes(),
            *ExportAndProfileRequests(self._workspace, self._remote, work).routes(),
            *BatchRequests(
                self._workspace, self._remote, work, names, self._run_batch, self._prove_batch
            ).routes(),
            post_route("/api/preferences", self.prefer, language=Language, theme=_Theme),
            post_route("/api/stop", self.stop),
        ]
        return Starlette(routes=routes)

    async def page(self, _request: Request) -> Response:
        """Return the page."""
        left = self._workspace.left_environment
        html = render_page(
            "xlbridge.ui",
            served=True,
            title="xlbridge",
            texts=page_texts(),
            csv_choices={"csv_delimiter": CSV_DELIMITERS, "csv_encoding": CSV_ENCODINGS},
            resources=[
                {"name": name, "title": str(self._workspace.catalogue[name].title)}
                for name in sorted(self._workspace.catalogue)
            ],
            listings=listings_json(self._workspace.catalogue),
            processes=[kind for kind in KINDS.values() if not kind.within],
            is_open=self._workspace.is_open,
            running=self._remote.followed_work,
            left_open="" if self._workspace.is_open else self._workspace.left_open,
            left_environment="" if left == self._remote.environment else left,
            environment=environments_json(self._remote)[0],
            theme=_Preferences.of_home(self._home).theme,
            home=str(self._home),
        )
        return HTMLResponse(html)

    async def file(self, request: Request) -> Response:
        """Return a script or style sheet of the page."""
        name = request.path_params["name"]
        page_files = {file.name: file for file in files("xlbridge.ui").joinpath("page").iterdir()}
        base = files("xlbridge.report_forms").joinpath("base.css")
        file = base if name == base.name else page_files.get(name)
        media_type = _TYPES.get(f".{name.rpartition('.')[2]}")
        if file is None or media_type is None:
            return Response(status_code=HTTPStatus.NOT_FOUND)
        return Response(file.read_bytes(), media_type=media_type)

    async def no_icon(self, _request: Request) -> Response:
        """Return nothing: the page has no icon."""
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def prefer(self, request: Request) -> Response:
        """Change the language and theme of the page, from now on and when it is started again."""
        body = await request.json()
        set_language(body["language"])
        _Preferences(body["language"], body["theme"]).save(self._home)
        return JSONResponse({})

    async def stop(self, _request: Request) -> Response:
        """Stop the server."""
        self._workspace.forget_open()
        self._stop()
        return JSONResponse({})

    def close(self) -> None:
        """Remove files that are no longer needed."""
        self._workspace.close()


_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_LAUNCH = "/launch/"
_API = "/api/"
_KEY_HEADER = "X-Page-Key"
_SAFE_METHODS = frozenset({"GET", "HEAD"})
_OWN_SITES = frozenset({"none", "same-origin"})

_NO_ENTRY = Text(
    pt="Abra esta página pelo link que o xlbridge mostra ao iniciar; ele vale uma vez. Para outro, "
    "inicie o xlbridge de novo.",
    en="Open this page by the link that xlbridge shows when it starts; it works once. For "
    "another link, start xlbridge again.",
)
_LOST = Text(
    pt="Esta aba perdeu o acesso à página. Inicie o xlbridge de novo: ele abre a página com a "
    "sua planilha e as correções salvas.",
    en="This tab has lost its access to the page. Start xlbridge again: it opens the page with "
    "your sheet and the corrections that are stored.",
)
_FOREIGN = Text(
    pt="Recusado: o acesso não vem desta página.",
    en="Refused: the request does not come from this page.",
)


class Guard:
    """ASGI middleware that only accepts requests of its own page."""

    def __init__(self, app: ASGIApp, port: int, open_browser: Callable[[str], None]) -> None:
        self._app = app
        self._open_browser = open_browser
        self.owner = _PageSecret.new()
        """Secret of the commands that may ask for another launch link."""
        self._host = f"127.0.0.1:{port}"
        # Browsers share cookies between the ports of a host, so the name includes the port.
        self._cookie = f"xlbridge-{port}"
        self._secret = secrets.token_urlsafe(32)
        self._key = secrets.token_urlsafe(32)
        self._launch: str | None = secrets.token_urlsafe(32)

    @property
    def launch_link(self) -> str:
        """Address that opens the page once."""
        return f"http://{self._host}{_LAUNCH}{self._launch}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request of the page, or answer it."""
        if scope["type"] != "http":
            return
        answer = self._answer(scope, Headers(scope=scope))

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        await (answer or self._app)(scope, receive, send_guarded)

    def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a request, None if it is to be passed on."""
        if headers.get("host") != self._host or not self._is_own(scope["method"], headers):
            return _refusal(_FOREIGN)
        path = scope["path"]
        if path == _AGAIN:
            return self._launch_again(headers) if scope["method"] == "POST" else _refusal(_NO_ENTRY)
        if path.startswith(_LAUNCH):
            if self._launch is None or not _is_same(path.removeprefix(_LAUNCH), self._launch):
                return _refusal(_NO_ENTRY)
            if scope["method"] != "GET":
                return Response(status_code=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "GET"})
            self._launch = None
            # A fragment is not sent to servers; the page's scripts remove it from the address.
            answer = RedirectResponse(f"/#key={self._key}", HTTPStatus.SEE_OTHER)
            # A strict cookie would not be sent after a redirect from the file that opens the page.
            answer.set_cookie(self._cookie, self._secret, httponly=True, samesite="lax")
            return answer
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        has_key = _is_same(headers.get(_KEY_HEADER, ""), self._key)
        may_enter = _is_same(cookie, self._secret) and (has_key or not path.startswith(_API))
        return None if may_enter else _refusal(_LOST if path.startswith(_API) else _NO_ENTRY)

    def _launch_again(self, headers: Headers) -> Response:
        """Return a new launch link to a command of the page's owner."""
        if not self.owner.asks(headers):
            return _refusal(_NO_ENTRY)
        self._launch = secrets.token_urlsafe(32)
        if headers.get(_BROWSER):
            self._open_browser(self.launch_link)
        return JSONResponse(self.owner.answer(headers, self.launch_link))

    def _is_own(self, method: str, headers: Headers) -> bool:
        """Return whether a request may come from the page itself."""
        if method in _SAFE_METHODS:
            # Another site may link to the page, but cannot read it.
            is_page = headers.get("sec-fetch-mode") == "navigate"
            return is_page or headers.get("sec-fetch-site", "none") in _OWN_SITES
        is_own_site = headers.get("sec-fetch-site", "same-origin") == "same-origin"
        return is_own_site and headers.get("origin") == f"http://{self._host}"


def _is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _refusal(text: Text) -> Response:
    return PlainTextResponse(str(text), HTTPStatus.FORBIDDEN)


_STOP_SECONDS = 1
_LAUNCH_FILE = """<!DOCTYPE html>
<meta charset="utf-8">
<title>xlbridge</title>
<meta http-equiv="refresh" content="0; url={link}">
<a href="{link}">xlbridge</a>
"""


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Options of the page: port (0 is any free one), whether to open a browser, ready file."""

    port: int = 0
    browser: bool = True
    ready_file: Path | None = None


def serve_page(
    options: PageOptions,
    settings: Settings,
    run_batch: RunBatch,
    prove_batch: ProveBatch,
    announce: Callable[[str], None],
) -> None:
    """Serve the page until SIGINT, SIGTERM or its button; ``announce`` receives the launch link.

    If a page runs for this home, it is opened again instead, unless the options name a port or a
    ready file.

    ``run_batch`` runs a batch, ``prove_batch`` proves one. ``settings`` must not include a
    profile's values, as the page may switch environments. Raises ``UsageError`` if the port is in
    use, ``ConfigError`` if the server does not start.
    """
    if not options.port and options.ready_file is None:
        link = _ask_running(settings, browser=options.browser)
        if link is not None:
            announce(link)
            return
    with ExitStack() as stack:
        stack.enter_context(shown_on_page())
        stack.callback(set_language, active_language())
        set_language(_Preferences.of_home(settings.home).language or active_language())
        listener = stack.enter_context(listen(LOOPBACK, options.port))
        remote = PageConnection(settings)
        stack.callback(remote.close)
        application = PageApplication(remote, run_batch, prove_batch, lambda: server.stop())
        stack.callback(application.close)
        port = listener.getsockname()[1]

        def open_browser(link: str) -> None:
            file = settings.home / f"launch-{port}.html"
            write_private(file, _LAUNCH_FILE.format(link=link))
            stack.callback(file.unlink, missing_ok=True)
            # Some browsers return only when they are closed.
            Thread(target=webbrowser.open, args=[file.as_uri()], daemon=True).start()

        guard = Guard(application.build(), port, open_browser)

        def ready() -> None:
            if options.ready_file is not None:
                content = {"url": guard.launch_link, "pid": os.getpid()}
                write_private(options.ready_file, json.dumps(content), in_home=False)
                stack.callback(options.ready_file.unlink, missing_ok=True)
            record = {"port": port, "pid": os.getpid(), "of": _digest(settings)}
            record["secret"] = guard.owner.value
            write_private(settings.home / _FILE, json.dumps(record))
            stack.callback(_forget_running, settings)
            announce(guard.launch_link)
            if options.browser:
                open_browser(guard.launch_link)

        server = Server(guard, ready, timeout_graceful_shutdown=_STOP_SECONDS)
        server.run(sockets=[listener])
        if not server.started:
            raise ConfigError(
                Text(pt="A página não iniciou.", en="The page did not start."),
                Text(pt="Tente outra porta: --port", en="Try another port: --port"),
            )
