"""Guard of the page: who may ask, and what a browser may do with the answers.

The page listens on loopback, where every program and every site that a browser shows can reach it.
A launch link works once and is exchanged for a cookie; host, origin and fetch metadata are checked,
so that no other site's page acts in its name.
"""

import hmac
import secrets
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xlbridge.i18n import Text

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
_READING = frozenset({"GET", "HEAD"})
_OWN_SITES = frozenset({"none", "same-origin"})

_NO_ENTRY = Text(
    pt="Esta página abre pelo link que xlbridge ui mostra, que vale uma vez. Rode xlbridge ui de "
    "novo.",
    en="This page opens by the link that xlbridge ui shows, which works once. Run xlbridge ui "
    "again.",
)
_FOREIGN = Text(
    pt="Recusado: o pedido não vem desta página.", en="Refused: the request is not from this page."
)


class Guard:
    """ASGI application in front of another: lets in requests of its own page only."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._host = f"127.0.0.1:{port}"
        # Browsers share cookies between the ports of a host: the name tells them apart.
        self._cookie = f"xlbridge-{port}"
        self._secret = secrets.token_urlsafe(32)
        self._launch: str | None = secrets.token_urlsafe(32)

    @property
    def launch_link(self) -> str:
        """Address that opens the page, once."""
        return f"http://{self._host}{_LAUNCH}{self._launch}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            return
        refusal = self._answer(scope, Headers(scope=scope))

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        await (refusal or self._app)(scope, receive, send_guarded)

    def _answer(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to what is not passed on, None for what is."""
        if headers.get("host") != self._host or not self._is_own(scope["method"], headers):
            return _refusal(_FOREIGN)
        path = scope["path"]
        if path.startswith(_LAUNCH):
            return self._enter(path.removeprefix(_LAUNCH))
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        return None if _is_same(cookie, self._secret) else _refusal(_NO_ENTRY)

    def _is_own(self, method: str, headers: Headers) -> bool:
        """Tell whether a request may come from the page itself."""
        if method in _READING:
            # A site may link here: what it gets is the page, which it cannot see.
            is_page = headers.get("sec-fetch-mode") == "navigate"
            return is_page or headers.get("sec-fetch-site", "none") in _OWN_SITES
        is_own_site = headers.get("sec-fetch-site", "same-origin") == "same-origin"
        return is_own_site and headers.get("origin") == f"http://{self._host}"

    def _enter(self, token: str) -> Response:
        if self._launch is None or not _is_same(token, self._launch):
            return _refusal(_NO_ENTRY)
        self._launch = None
        answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        answer.set_cookie(self._cookie, self._secret, httponly=True, samesite="strict")
        return answer


def _is_same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def _refusal(text: Text) -> Response:
    return PlainTextResponse(str(text), HTTPStatus.FORBIDDEN)
