"""What can go wrong with one request, and what the upload protocol says that it proves."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from wire_proxy import Exchange, Fault, Point, passed_on

PATIENCE = 20.0
"""How long a client waits for an answer, in seconds."""

SILENCE = 2.0
"""How long a silence lasts, in seconds; a client that is to meet one waits for less."""


class Class(StrEnum):
    """What the answer proves, and whether the server has executed the request."""

    NOT_EXECUTED = "not executed"
    REJECTED = "rejected"
    EXECUTED = "executed"
    DECLINED = "put off, not applied"
    EXPIRED = "token expired, not applied"
    LOST = "in doubt, not applied"
    APPLIED = "in doubt, applied"


@dataclass(frozen=True)
class Kind:
    """A kind of fault: how it is played, and what it proves.

    ``refused`` lets nobody connect when the request is to be made; with ``everywhere`` the system
    info is answered the same way until the next login.
    """

    verdict: Class
    play: Fault = passed_on
    cut: Point | None = None
    refused: bool = False
    everywhere: bool = False


def made_answer(status: str, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _refusal(message: str) -> bytes:
    errors = [{"key": "", "value": message, "dateOccurred": "2026-11-02T09:00:00"}]
    return json.dumps({"success": False, "data": None, "errors": errors}).encode()


_HTML = b"<html><body>Bad gateway</body></html>"


def played_instead(answer: bytes) -> Fault:
    """Answer without asking the server."""
    return lambda exchange: exchange.send(answer)


def played_after(answer: Callable[[bytes], bytes]) -> Fault:
    """Let the server execute the request, and answer something made of its answer."""
    return lambda exchange: exchange.send(answer(exchange.forward()))


def _say(answer: bytes) -> Fault:
    return played_after(lambda _answer: answer)


def _reset(exchange: Exchange) -> None:
    exchange.reset()


def _close(_exchange: Exchange) -> None:
    """Close the connection in order, without a word."""


def _reset_after(exchange: Exchange) -> None:
    exchange.forward()
    exchange.reset()


def _close_after(exchange: Exchange) -> None:
    exchange.forward()


def _silence(_exchange: Exchange) -> None:
    time.sleep(SILENCE)


def _silence_after(exchange: Exchange) -> None:
    exchange.forward()
    time.sleep(SILENCE)


def _commit_late(exchange: Exchange) -> None:
    """The connection breaks; what was sent reaches the server a moment later."""
    gone = threading.Event()

    def commit() -> None:
        gone.wait()
        time.sleep(0.1)
        exchange.forward()

    exchange.proxy.later(commit)
    gone.set()
    exchange.reset()


def _drip(exchange: Exchange) -> None:
    answer = exchange.forward()
    step = max(1, len(answer) // 20)
    for start in range(0, len(answer), step):
        exchange.send(answer[start : start + step])
        time.sleep(0.005)


def _continue(exchange: Exchange) -> None:
    exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    exchange.send(exchange.forward())


def body_of(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def _chunked(answer: bytes) -> bytes:
    body = body_of(answer)
    head = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    return head + f"{len(body) + 9:x}\r\n".encode() + body


KINDS: Mapping[str, Kind] = {
    "connection refused": Kind(Class.NOT_EXECUTED, refused=True),
    "401 in the middle": Kind(
        Class.LOST, played_instead(made_answer("401 Unauthorized", _refusal("Token expirado.")))
    ),
    "413": Kind(Class.LOST, played_instead(made_answer("413 Payload Too Large", b"too large"))),
    "429": Kind(
        Class.DECLINED,
        played_instead(made_answer("429 Too Many Requests", _refusal("Espere."), "Retry-After: 1")),
    ),
    "307 elsewhere": Kind(
        Class.LOST,
        played_instead(
            made_answer("307 Temporary Redirect", b"", "Location: https://example.com/")
        ),
    ),
    "400 with errors": Kind(
        Class.REJECTED, played_instead(made_answer("400 Bad Request", _refusal("Layout inválido.")))
    ),
    "403 with errors": Kind(
        Class.REJECTED, played_instead(made_answer("403 Forbidden", _refusal("Sem permissão.")))
    ),
    "400 with a bare message": Kind(
        Class.REJECTED,
        played_instead(made_answer("400 Bad Request", b'"Par\xc3\xa2metro inv\xc3\xa1lido"')),
    ),
    "200 with success false": Kind(
        Class.REJECTED, played_instead(made_answer("200 OK", _refusal("Nada feito.")))
    ),
    "slow drip": Kind(Class.EXECUTED, _drip),
    "100 first": Kind(Class.EXECUTED, _continue),
    "201": Kind(Class.EXECUTED, played_after(lambda a: made_answer("201 Created", body_of(a)))),
    "reset after headers": Kind(Class.LOST, cut=Point.HEAD),
    "reset in the body": Kind(Class.LOST, cut=Point.BODY),
    "reset before commit": Kind(Class.LOST, _reset),
    "closed before commit": Kind(Class.LOST, _close),
    "silence before commit": Kind(Class.LOST, _silence),
    "403 of a gateway": Kind(
        Class.LOST, played_instead(made_answer("403 Forbidden", _HTML, kind="text/html"))
    ),
    "500 before commit": Kind(
        Class.LOST,
        played_instead(made_answer("500 Internal Server Error", _refusal("Erro interno."))),
    ),
    "502 of a gateway": Kind(
        Class.LOST, played_instead(made_answer("502 Bad Gateway", _HTML, kind="text/html"))
    ),
    "503 with Retry-After": Kind(
        Class.LOST, played_instead(made_answer("503 Service Unavailable", b"", "Retry-After: 1"))
    ),
    "302 elsewhere": Kind(
        Class.LOST, played_instead(made_answer("302 Found", b"", "Location: https://example.com/"))
    ),
    "reset after commit": Kind(Class.APPLIED, _reset_after),
    "closed after commit": Kind(Class.APPLIED, _close_after),
    "silence after commit": Kind(Class.APPLIED, _silence_after),
    "late commit": Kind(Class.APPLIED, _commit_late),
    "half a status line": Kind(Class.APPLIED, played_after(lambda a: a[:9])),
    "cut in the headers": Kind(Class.APPLIED, played_after(lambda a: a[:40])),
    "cut in the body": Kind(
        Class.APPLIED, played_after(lambda a: a[: -max(1, len(body_of(a)) // 2)])
    ),
    "cut in a chunk": Kind(Class.APPLIED, played_after(_chunked)),
    "500 after commit": Kind(
        Class.APPLIED, _say(made_answer("500 Internal Server Error", _refusal("Erro interno.")))
    ),
    "504 after commit": Kind(
        Class.APPLIED, _say(made_answer("504 Gateway Timeout", _HTML, kind="text/html"))
    ),
    "200 with HTML": Kind(Class.APPLIED, _say(made_answer("200 OK", _HTML, kind="text/html"))),
    "200 with nothing": Kind(Class.APPLIED, _say(made_answer("200 OK", b""))),
    "204": Kind(Class.APPLIED, _say(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")),
    "200 with half the JSON": Kind(
        Class.APPLIED, played_after(lambda a: made_answer("200 OK", body_of(a)[:-5]))
    ),
    "wrong schema": Kind(
        Class.EXECUTED, _say(made_answer("200 OK", b'{"success": true, "data": {"ok": "sim"}}'))
    ),
    "401 after commit": Kind(
        Class.APPLIED, _say(made_answer("401 Unauthorized", _refusal("Token expirado.")))
    ),
    "429 after commit": Kind(
        Class.APPLIED, _say(made_answer("429 Too Many Requests", b"", "Retry-After: 1"))
    ),
    "307 after commit": Kind(
        Class.APPLIED, _say(made_answer("307 Temporary Redirect", b"", "Location: /elsewhere"))
    ),
    "400 as text after commit": Kind(
        Class.APPLIED, _say(made_answer("400 Bad Request", b"Bad Request", kind="text/plain"))
    ),
    "404 as text after commit": Kind(
        Class.APPLIED, _say(made_answer("404 Not Found", b"Not Found", kind="text/plain"))
    ),
    "success without an envelope": Kind(
        Class.APPLIED, _say(made_answer("200 OK", b'{"ok": true}'))
    ),
    "broken gzip": Kind(
        Class.APPLIED, _say(made_answer("200 OK", b"\x1f\x8bgarbage", "Content-Encoding: gzip"))
    ),
}


SILENCE_KINDS: Mapping[tuple[str, str], Kind] = {
    ("reset in the headers", "before"): KINDS["reset after headers"],
    ("reset", "before"): KINDS["reset before commit"],
    ("closed", "before"): KINDS["closed before commit"],
    ("reset", "after"): KINDS["reset after commit"],
    ("closed", "after"): KINDS["closed after commit"],
    ("half a status line", "after"): KINDS["half a status line"],
    ("cut in the headers", "after"): KINDS["cut in the headers"],
    ("cut in the body", "after"): KINDS["cut in the body"],
    ("cut in a chunk", "after"): KINDS["cut in a chunk"],
    ("half the JSON", "after"): KINDS["200 with half the JSON"],
    ("broken gzip", "after"): KINDS["broken gzip"],
}
"""Answers that do not come, or not whole, by what comes and when."""
