"""Every kind of answer to a write, before and after the commit, in every mode, and what it ends in.

``PAGE`` is the table of it (``docs/answers.md``): run this file to write it anew.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from faults import SILENCE_KINDS, Class, Kind, body_of, made_answer, played_after, played_instead
from subjects import DIRECT, DIRECT_KEYLESS, OWN_QUEUE, QUEUE, Subject

from xlbridge.upload import State

_REFUSAL = (
    b'{"success": false, "data": null, "errors": [{"key": "", "value": "Recusado.", '
    b'"dateOccurred": "2026-11-02T09:00:00"}]}'
)
_HTML = b"<html><body>Gateway</body></html>"

BODIES: Mapping[str, tuple[bytes, str]] = {
    "error envelope": (_REFUSAL, "application/json"),
    "failure without errors": (b'{"success": false, "data": null}', "application/json"),
    "JSON string": (b'"Par\xc3\xa2metro inv\xc3\xa1lido"', "application/json"),
    "other JSON": (b'{"status": "ok"}', "application/json"),
    "text": (b"Bad Request", "text/plain"),
    "HTML": (_HTML, "text/html"),
    "nothing": (b"", "text/plain"),
}

_STATUSES: Mapping[str, str] = {
    "200 OK": "failure without errors, JSON string, other JSON, text, HTML, nothing",
    "204 No Content": "nothing",
    "302 Found": "nothing",
    "307 Temporary Redirect": "nothing",
    "400 Bad Request": "failure without errors, other JSON, text, HTML, nothing",
    "401 Unauthorized": "error envelope, text",
    "403 Forbidden": "text, HTML",
    "404 Not Found": "other JSON, text, HTML",
    "409 Conflict": "JSON string, text",
    "413 Payload Too Large": "HTML",
    "418 I'm a teapot": "text",
    "429 Too Many Requests": "error envelope, text",
    "500 Internal Server Error": "error envelope, JSON string, HTML",
    "502 Bad Gateway": "HTML",
    "503 Service Unavailable": "text",
    "504 Gateway Timeout": "HTML",
}
"""Answers that prove nothing: they are played before the commit and after it."""

_REFUSALS: Mapping[str, str] = {
    "200 OK": "error envelope",
    "400 Bad Request": "error envelope, JSON string",
    "403 Forbidden": "error envelope",
    "404 Not Found": "error envelope, JSON string",
    "422 Unprocessable Content": "error envelope",
}
"""Answers that are the system's own word that it did nothing: played before the commit."""


@dataclass(frozen=True)
class Mode:
    """A way of sending: its sheet, its request, and the state that each class of answer ends in."""

    subject: Subject
    path: str
    ends: Mapping[Class, State]
    told: Mapping[Class, str]
    trusting: bool = False


_DONE = dict.fromkeys(Class, State.DONE)
_AT_ONCE = {Class.REJECTED: State.REJECTED, Class.LOST: State.NEEDS_PERSON}
_TOLD = {
    Class.EXECUTED: "done",
    Class.REJECTED: "rejected",
    Class.LOST: "in doubt; not there: a person",
    Class.APPLIED: "in doubt; read back: done",
    Class.DECLINED: "read back, not there: sent again",
    Class.EXPIRED: "read back, not there: sent once more",
}
_KEYLESS = (
    _DONE | _AT_ONCE | {Class.APPLIED: State.NEEDS_PERSON, Class.DECLINED: State.NEEDS_PERSON}
)
_TOLD_KEYLESS = _TOLD | dict.fromkeys(
    (Class.LOST, Class.APPLIED, Class.DECLINED), "in doubt: a person"
)
_ONCE_MORE = {Class.EXPIRED: "sent once more"}

MODES: Mapping[str, Mode] = {
    "direct": Mode(DIRECT, "preview=false", _DONE | _AT_ONCE, _TOLD),
    "direct, no key": Mode(DIRECT_KEYLESS, "preview=false", _KEYLESS, _TOLD_KEYLESS | _ONCE_MORE),
    "direct, no key, `trust_429`": Mode(
        DIRECT_KEYLESS,
        "preview=false",
        _KEYLESS | {Class.DECLINED: State.DONE},
        _TOLD_KEYLESS | _ONCE_MORE | {Class.DECLINED: "sent again"},
        trusting=True,
    ),
    "queue that runs by itself": Mode(
        OWN_QUEUE,
        "/fila",
        _DONE | _AT_ONCE,
        _TOLD
        | dict.fromkeys((Class.DECLINED, Class.EXPIRED), "in doubt; not there: can be sent again"),
    ),
    "staging for processar-arquivo": Mode(
        QUEUE,
        "/fila",
        _DONE | {Class.REJECTED: State.REJECTED},
        dict.fromkeys(Class, "staged again, started once")
        | {Class.EXECUTED: "done", Class.REJECTED: "rejected"},
    ),
    "processar-arquivo": Mode(
        QUEUE,
        "processar-arquivo",
        _DONE | {Class.REJECTED: State.IN_DOUBT},
        {
            Class.EXECUTED: "done",
            Class.REJECTED: "in doubt: the log tells, then a person",
            Class.LOST: "in doubt; the log: started again",
            Class.APPLIED: "in doubt; the log: done",
            Class.DECLINED: "the log: started again",
            Class.EXPIRED: "the log: started again",
        },
    ),
}


def _answers() -> Iterator[tuple[tuple[str, str, str], Kind]]:
    """Yield status, body and moment of each answer, with how it is played and what it proves."""
    for status in ("200 OK", "201 Created", "202 Accepted"):
        whole = played_after(lambda a, s=status: made_answer(s, body_of(a)))
        yield (status, "the spec's success", "after"), Kind(Class.EXECUTED, whole)
    bare = played_after(lambda _a: made_answer("200 OK", b'{"success": true, "data": null}'))
    yield ("200 OK", "success without data", "after"), Kind(Class.EXECUTED, bare)
    for status, bodies in _REFUSALS.items():
        for body in bodies.split(", "):
            content, kind = BODIES[body]
            answer = made_answer(status, content, kind=kind)
            yield (status, body, "before"), Kind(Class.REJECTED, played_instead(answer))
    for status, bodies in _STATUSES.items():
        for body in bodies.split(", "):
            content, kind = BODIES[body]
            headers = ["Location: /elsewhere"] if status.startswith("3") else []
            answer = made_answer(status, content, *headers, kind=kind)
            before = Class.DECLINED if status.startswith("429") else Class.LOST
            yield (status, body, "before"), Kind(before, played_instead(answer))
            yield (status, body, "after"), Kind(Class.APPLIED, played_after(lambda _a, x=answer: x))
    expired = played_instead(made_answer("401 Unauthorized", _REFUSAL))
    yield (
        ("401 Unauthorized", "the token is refused elsewhere too", "before"),
        Kind(Class.EXPIRED, expired, everywhere=True),
    )
    for (told, moment), kind in SILENCE_KINDS.items():
        yield ("no answer", told, moment), kind


ANSWERS: Mapping[tuple[str, str, str], Kind] = dict(_answers())


def _can_happen(mode: Mode, answer: tuple[str, str, str]) -> bool:
    """Tell whether a system of a mode may answer so.

    A file that was staged without an id is no success: the interface promises the id.
    """
    status, body, moment = answer
    if body == "success without data":
        return mode.path != "/fila"
    return not (mode.trusting and status.startswith("429") and moment == "after")


TRIALS = [
    (name, answer)
    for name, mode in MODES.items()
    for answer in ANSWERS
    if _can_happen(mode, answer)
]

_HEAD = """# What an answer proves, and what became of the rows

Written by `tests/reliability/answers.py`; `make reliability` plays each line of it in each mode,
{trials} trials in all, against the sandbox, and counts in its database: **0 rows twice, 0 lost,
0 false verdicts**. A row that a person decides about is there or not, as the person sees; whatever
was not there was sent again and is there once. *Before* means that the answer came before the
commit, *after* that it came after it. The rules are those of
[the upload protocol](upload-protocol.md#what-an-answer-means).

What the system itself says of what it did is believed: its success is not played before a commit,
its error envelope and its JSON string are not played after one, nor a 401 of a token that is
refused everywhere, nor a 429 where the profile says that it is trusted.
"""


def page() -> str:
    """Return the page of all answers."""
    lines = [_HEAD.format(trials=len(TRIALS))]
    for name, mode in MODES.items():
        lines += [f"\n## {name[0].upper()}{name[1:]}\n"]
        lines += ["| Status | Body | Before the commit | After the commit |", "|---|---|---|---|"]
        rows: dict[tuple[str, str], dict[str, str]] = {}
        for told, (status, body, moment) in (
            (mode.told[ANSWERS[answer].verdict], answer) for m, answer in TRIALS if m == name
        ):
            rows.setdefault((status, body), {})[moment] = told
        lines += [
            f"| {status} | {body} | {cell.get('before', '–')} | {cell.get('after', '–')} |"
            for (status, body), cell in rows.items()
        ]
    return "\n".join(lines) + "\n"


PAGE = Path(__file__).parents[2] / "docs" / "answers.md"

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
