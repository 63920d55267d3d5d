"""Faults of one request, and what the upload protocol concludes from them."""

import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from wire_proxy import Exchange, Fault, Point, forward_unchanged

PATIENCE = 20.0
"""How long a client waits for an answer, in seconds."""

SILENCE = 2.0
"""How long a silence lasts, in seconds; clients that meet one wait for less."""


class Outcome(StrEnum):
    """What the answer proves, and whether the server executed the request."""

    NOT_EXECUTED = "not executed"
    REJECTED = "rejected"
    EXECUTED = "executed"
    UNREADABLE = "executed, by an answer that cannot be read"
    DECLINED = "put off, not applied"
    EXPIRED = "token expired, not applied"
    LOST = "in doubt, not applied"
    REFUSED = "in doubt, refused without errors, not applied"
    APPLIED = "in doubt, applied"


@dataclass(frozen=True)
class Kind:
    """A kind of fault, and what it proves.

    ``refused`` refuses connections when the request is made; with ``everywhere`` the system info is
    answered in the same way until the next login. ``repeats`` delivers the request twice.
    """

    verdict: Outcome
    play: Fault = forward_unchanged
    cut: Point | None = None
    refused: bool = False
    everywhere: bool = False
    repeats: bool = False


def http_answer(status: str, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _rejection(message: str) -> bytes:
    errors = [{"key": "", "value": message, "dateOccurred": "2026-11-02T09:00:00"}]
    return json.dumps({"success": False, "data": None, "errors": errors}).encode()


_SPACES = b" " * 2**20
_HTML = b"<html><body>Bad gateway</body></html>"


def answer_instead(answer: bytes) -> Fault:
    """Answer without asking the server."""
    return lambda exchange: exchange.send(answer)


def answer_after(answer: Callable[[bytes], bytes]) -> Fault:
    """Let the server execute the request, and send a changed answer."""
    return lambda exchange: exchange.send(answer(exchange.forward()))


def _answer_with(answer: bytes) -> Fault:
    return answer_after(lambda _answer: answer)


def _reset(exchange: Exchange) -> None:
    exchange.reset()


def _close(_exchange: Exchange) -> None:
    """Close the connection properly, without an answer."""


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
    """Break the connection; the request reaches the server a moment later."""
    disconnected = threading.Event()

    def commit() -> None:
        disconnected.wait()
        time.sleep(0.1)
        exchange.forward()

    exchange.proxy.later(commit)
    disconnected.set()
    exchange.reset()


def _answer_during(answer: bytes) -> Fault:
    """Answer at once; the request reaches the server a moment later."""

    def play(exchange: Exchange) -> None:
        exchange.proxy.later(lambda: (time.sleep(0.1), exchange.forward()))
        exchange.send(answer)

    return play


def _deliver_twice(exchange: Exchange) -> None:
    """Deliver the request twice, as a balancer does that has lost the first answer."""
    exchange.forward()
    exchange.send(exchange.forward_again())


def _deliver_again_later(exchange: Exchange) -> None:
    """Answer, and deliver the request again a moment later."""
    answer = exchange.forward()
    exchange.proxy.later(lambda: (time.sleep(0.1), exchange.forward_again()))
    exchange.send(answer)


def _of_another_file(exchange: Exchange) -> None:
    """Answer a question for a log with that of another file."""
    answer = exchange.forward()
    if "log-importacao" in exchange.request.path:
        answer = http_answer("200 OK", re.sub(rb'"id": ?\d+', b'"id":999999', body_of(answer)))
    exchange.send(answer)


def _from_a_cache(answer: bytes) -> bytes:
    return answer.replace(b"\r\n", b"\r\nAge: 30\r\n", 1)


def _drip_endlessly(exchange: Exchange) -> None:
    """Execute the request, and send an answer that does not end, as long as it is read."""
    exchange.forward()
    exchange.client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        exchange.client.sendall(b" ")
        time.sleep(0.05)


def _flood(exchange: Exchange) -> None:
    """Execute the request, and send an answer without an end as fast as it is read."""
    exchange.forward()
    exchange.client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        exchange.client.sendall(_SPACES)


def _huge(exchange: Exchange) -> None:
    """Execute the request, and announce an answer of a terabyte."""
    exchange.forward()
    exchange.client.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % 2**40
    )
    while True:
        exchange.client.sendall(_SPACES)


def _huge_packed(exchange: Exchange) -> None:
    """Execute the request, and send a small answer that unpacks to a terabyte."""
    exchange.forward()
    exchange.client.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: deflate\r\n\r\n"
    )
    packed = zlib.compressobj()
    exchange.client.sendall(packed.compress(_SPACES) + packed.flush(zlib.Z_FULL_FLUSH))
    # After a full flush, equal bytes become equal bytes.
    again = packed.compress(_SPACES) + packed.flush(zlib.Z_FULL_FLUSH)
    while True:
        exchange.client.sendall(again)


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
    "connection refused": Kind(Outcome.NOT_EXECUTED, refused=True),
    "401 in the middle": Kind(
        Outcome.LOST, answer_instead(http_answer("401 Unauthorized", _rejection("Token expirado.")))
    ),
    "413": Kind(Outcome.LOST, answer_instead(http_answer("413 Payload Too Large", b"too large"))),
    "429": Kind(
        Outcome.DECLINED,
        answer_instead(
            http_answer("429 Too Many Requests", _rejection("Espere."), "Retry-After: 1")
        ),
    ),
    "307 elsewhere": Kind(
        Outcome.LOST,
        answer_instead(
            http_answer("307 Temporary Redirect", b"", "Location: https://example.com/")
        ),
    ),
    "400 with errors": Kind(
        Outcome.REJECTED,
        answer_instead(http_answer("400 Bad Request", _rejection("Layout inválido."))),
    ),
    "403 with errors": Kind(
        Outcome.REJECTED, answer_instead(http_answer("403 Forbidden", _rejection("Sem permissão.")))
    ),
    "400 with a bare message": Kind(
        Outcome.REJECTED,
        answer_instead(http_answer("400 Bad Request", b'"Par\xc3\xa2metro inv\xc3\xa1lido"')),
    ),
    "200 with success false": Kind(
        Outcome.REJECTED, answer_instead(http_answer("200 OK", _rejection("Nada feito.")))
    ),
    "slow drip": Kind(Outcome.EXECUTED, _drip),
    "100 first": Kind(Outcome.EXECUTED, _continue),
    "201": Kind(Outcome.EXECUTED, answer_after(lambda a: http_answer("201 Created", body_of(a)))),
    "reset after headers": Kind(Outcome.LOST, cut=Point.HEAD),
    "reset in the body": Kind(Outcome.LOST, cut=Point.BODY),
    "reset before commit": Kind(Outcome.LOST, _reset),
    "closed before commit": Kind(Outcome.LOST, _close),
    "silence before commit": Kind(Outcome.LOST, _silence),
    "403 of a gateway": Kind(
        Outcome.LOST, answer_instead(http_answer("403 Forbidden", _HTML, kind="text/html"))
    ),
    "500 before commit": Kind(
        Outcome.LOST,
        answer_instead(http_answer("500 Internal Server Error", _rejection("Erro interno."))),
    ),
    "502 of a gateway": Kind(
        Outcome.LOST, answer_instead(http_answer("502 Bad Gateway", _HTML, kind="text/html"))
    ),
    "503 with Retry-After": Kind(
        Outcome.LOST, answer_instead(http_answer("503 Service Unavailable", b"", "Retry-After: 1"))
    ),
    "302 elsewhere": Kind(
        Outcome.LOST,
        answer_instead(http_answer("302 Found", b"", "Location: https://example.com/")),
    ),
    "reset after commit": Kind(Outcome.APPLIED, _reset_after),
    "closed after commit": Kind(Outcome.APPLIED, _close_after),
    "silence after commit": Kind(Outcome.APPLIED, _silence_after),
    "late commit": Kind(Outcome.APPLIED, _commit_late),
    "half a status line": Kind(Outcome.APPLIED, answer_after(lambda a: a[:9])),
    "cut in the headers": Kind(Outcome.APPLIED, answer_after(lambda a: a[:40])),
    "cut in the body": Kind(
        Outcome.APPLIED, answer_after(lambda a: a[: -max(1, len(body_of(a)) // 2)])
    ),
    "cut in a chunk": Kind(Outcome.APPLIED, answer_after(_chunked)),
    "500 after commit": Kind(
        Outcome.APPLIED,
        _answer_with(http_answer("500 Internal Server Error", _rejection("Erro interno."))),
    ),
    "504 after commit": Kind(
        Outcome.APPLIED, _answer_with(http_answer("504 Gateway Timeout", _HTML, kind="text/html"))
    ),
    "200 with HTML": Kind(
        Outcome.APPLIED, _answer_with(http_answer("200 OK", _HTML, kind="text/html"))
    ),
    "200 with nothing": Kind(Outcome.APPLIED, _answer_with(http_answer("200 OK", b""))),
    "204": Kind(
        Outcome.APPLIED, _answer_with(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    ),
    "200 with half the JSON": Kind(
        Outcome.APPLIED, answer_after(lambda a: http_answer("200 OK", body_of(a)[:-5]))
    ),
    "wrong schema": Kind(
        Outcome.UNREADABLE,
        _answer_with(http_answer("200 OK", b'{"success": true, "data": {"ok": "sim"}}')),
    ),
    "401 after commit": Kind(
        Outcome.APPLIED,
        _answer_with(http_answer("401 Unauthorized", _rejection("Token expirado."))),
    ),
    "429 after commit": Kind(
        Outcome.APPLIED, _answer_with(http_answer("429 Too Many Requests", b"", "Retry-After: 1"))
    ),
    "307 after commit": Kind(
        Outcome.APPLIED,
        _answer_with(http_answer("307 Temporary Redirect", b"", "Location: /elsewhere")),
    ),
    "400 as text after commit": Kind(
        Outcome.APPLIED,
        _answer_with(http_answer("400 Bad Request", b"Bad Request", kind="text/plain")),
    ),
    "404 as text after commit": Kind(
        Outcome.APPLIED, _answer_with(http_answer("404 Not Found", b"Not Found", kind="text/plain"))
    ),
    "success without an envelope": Kind(
        Outcome.APPLIED, _answer_with(http_answer("200 OK", b'{"ok": true}'))
    ),
    "broken gzip": Kind(
        Outcome.APPLIED,
        _answer_with(http_answer("200 OK", b"\x1f\x8bgarbage", "Content-Encoding: gzip")),
    ),
}


_DECLINED_ANSWERS = {
    "401": http_answer("401 Unauthorized", _rejection("Token expirado.")),
    "429": http_answer("429 Too Many Requests", b"", "Retry-After: 1"),
    "503": http_answer("503 Service Unavailable", b"", "Retry-After: 1"),
    "504": http_answer("504 Gateway Timeout", _HTML, kind="text/html"),
    "400 as text": http_answer("400 Bad Request", b"Bad Request", kind="text/plain"),
}
LATE_KINDS: Mapping[str, Kind] = {
    **{
        f"{name} while it is on its way": Kind(Outcome.APPLIED, _answer_during(answer))
        for name, answer in _DECLINED_ANSWERS.items()
    },
    "answer from a cache": Kind(Outcome.EXECUTED, answer_after(_from_a_cache)),
    "silence, an endless answer": Kind(Outcome.APPLIED, _drip_endlessly),
    "a huge answer": Kind(Outcome.APPLIED, _huge),
}
"""Answers that come before the request arrives, are old, do not end, or announce too much."""

LONG_KINDS: Mapping[str, Kind] = {
    "a flood without an end": Kind(Outcome.APPLIED, _flood),
    "a huge answer, packed": Kind(Outcome.APPLIED, _huge_packed),
}
"""Answers that are read until they prove to be too long."""

REPEATED_KINDS: Mapping[str, Kind] = {
    "delivered twice": Kind(Outcome.APPLIED, _deliver_twice, repeats=True),
    "delivered again later": Kind(Outcome.EXECUTED, _deliver_again_later, repeats=True),
}
"""Requests that a balancer repeats; where the system takes both, no client can prevent it."""

WRONG_LOG = Kind(Outcome.EXECUTED, _of_another_file)

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
"""Missing or incomplete answers, by what arrives and when."""
