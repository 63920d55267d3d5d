"""Every kind of answer to a write, before and after the commit, in every mode, with its outcome.

Run this file to write the table of them to ``PAGE`` (``docs/answers.md``).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from faults import SILENCE_KINDS, Kind, Outcome, answer_after, answer_instead, body_of, http_answer
from subjects import DIRECT, DIRECT_KEYLESS, OWN_QUEUE, QUEUE, Subject

from xlbridge.upload import State

_REJECTION = (
    b'{"success": false, "data": null, "errors": [{"key": "", "value": "Recusado.", '
    b'"dateOccurred": "2026-11-02T09:00:00"}]}'
)
_HTML = b"<html><body>Gateway</body></html>"

BODIES: Mapping[str, tuple[bytes, str]] = {
    "error envelope": (_REJECTION, "application/json"),
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
"""Answers that prove nothing; they are sent before and after the commit."""

_REJECTIONS: Mapping[str, str] = {
    "200 OK": "error envelope",
    "400 Bad Request": "error envelope, JSON string",
    "403 Forbidden": "error envelope",
    "404 Not Found": "error envelope, JSON string",
    "422 Unprocessable Content": "error envelope",
}
"""Answers with which the system states that it did nothing; they are sent before the commit."""


@dataclass(frozen=True)
class Mode:
    """Way of sending: its sheet, its request, and the final state of each outcome."""

    subject: Subject
    path: str
    final_states: Mapping[Outcome, State]
    descriptions: Mapping[Outcome, str]
    trusting: bool = False


_DONE = dict.fromkeys(Outcome, State.DONE)
_AFTER_ONE_WRITE = {
    Outcome.REJECTED: State.REJECTED,
    Outcome.REFUSED: State.NEEDS_PERSON,
    Outcome.LOST: State.NEEDS_PERSON,
}
_DESCRIPTIONS = {
    Outcome.EXECUTED: "done",
    Outcome.REJECTED: "rejected",
    Outcome.LOST: "in doubt; not found: a person decides",
    Outcome.REFUSED: "in doubt; not found: a person decides",
    Outcome.APPLIED: "in doubt; found: done",
    Outcome.DECLINED: "not found: sent again",
    Outcome.EXPIRED: "not found: sent once more",
}
_KEYLESS = (
    _DONE
    | _AFTER_ONE_WRITE
    | dict.fromkeys((Outcome.APPLIED, Outcome.DECLINED, Outcome.EXPIRED), State.NEEDS_PERSON)
)
_KEYLESS_DESCRIPTIONS = _DESCRIPTIONS | dict.fromkeys(
    (Outcome.LOST, Outcome.REFUSED, Outcome.APPLIED, Outcome.DECLINED, Outcome.EXPIRED),
    "in doubt: a person decides",
)

MODES: Mapping[str, Mode] = {
    "direct": Mode(
        DIRECT,
        "preview=false",
        _DONE | _AFTER_ONE_WRITE | {Outcome.REFUSED: State.REJECTED},
        _DESCRIPTIONS | {Outcome.REFUSED: "in doubt; not found: rejected for this reason"},
    ),
    "direct, no key": Mode(DIRECT_KEYLESS, "preview=false", _KEYLESS, _KEYLESS_DESCRIPTIONS),
    "direct, no key, `trust_429`": Mode(
        DIRECT_KEYLESS,
        "preview=false",
        _KEYLESS | {Outcome.DECLINED: State.DONE},
        _KEYLESS_DESCRIPTIONS | {Outcome.DECLINED: "sent again"},
        trusting=True,
    ),
    "queue that runs by itself": Mode(
        OWN_QUEUE,
        "/fila",
        _DONE | _AFTER_ONE_WRITE,
        _DESCRIPTIONS
        | dict.fromkeys(
            (Outcome.DECLINED, Outcome.EXPIRED), "in doubt; not found: can be sent again"
        ),
    ),
    "staging for processar-arquivo": Mode(
        QUEUE,
        "/fila",
        _DONE | {Outcome.REJECTED: State.REJECTED},
        dict.fromkeys(Outcome, "staged again, started once")
        | {Outcome.EXECUTED: "done", Outcome.REJECTED: "rejected"},
    ),
    "processar-arquivo": Mode(
        QUEUE,
        "processar-arquivo",
        _DONE | {Outcome.REJECTED: State.IN_DOUBT},
        {
            Outcome.EXECUTED: "done",
            Outcome.REJECTED: "in doubt: the log, then a person decides",
            Outcome.LOST: "in doubt; log: started again",
            Outcome.REFUSED: "in doubt; log: started again",
            Outcome.APPLIED: "in doubt; log: done",
            Outcome.DECLINED: "log: started again",
            Outcome.EXPIRED: "log: started again",
        },
    ),
}


def _answers() -> Iterator[tuple[tuple[str, str, str], Kind]]:
    """Yield status, body and moment of each answer, with the fault that sends it."""
    for status in ("200 OK", "201 Created", "202 Accepted"):
        specified = answer_after(lambda a, s=status: http_answer(s, body_of(a)))
        yield (status, "success as specified", "after"), Kind(Outcome.EXECUTED, specified)
    bare = answer_after(lambda _a: http_answer("200 OK", b'{"success": true, "data": null}'))
    yield ("200 OK", "success without data", "after"), Kind(Outcome.EXECUTED, bare)
    for status, bodies in _REJECTIONS.items():
        for body in bodies.split(", "):
            content, kind = BODIES[body]
            answer = http_answer(status, content, kind=kind)
            yield (status, body, "before"), Kind(Outcome.REJECTED, answer_instead(answer))
    for status, bodies in _STATUSES.items():
        for body in bodies.split(", "):
            content, kind = BODIES[body]
            headers = ["Location: /elsewhere"] if status.startswith("3") else []
            answer = http_answer(status, content, *headers, kind=kind)
            before = Outcome.DECLINED if status.startswith("429") else Outcome.LOST
            is_text = body == "text" and status.startswith(("400", "404"))
            if is_text or body == "failure without errors":
                before = Outcome.REFUSED
            yield (status, body, "before"), Kind(before, answer_instead(answer))
            yield (
                (status, body, "after"),
                Kind(Outcome.APPLIED, answer_after(lambda _a, x=answer: x)),
            )
    expired = answer_instead(http_answer("401 Unauthorized", _REJECTION))
    yield (
        ("401 Unauthorized", "token also rejected elsewhere", "before"),
        Kind(Outcome.EXPIRED, expired, everywhere=True),
    )
    for (silence, moment), kind in SILENCE_KINDS.items():
        yield ("no answer", silence, moment), kind


ANSWERS: Mapping[tuple[str, str, str], Kind] = dict(_answers())


def _can_happen(mode: Mode, answer: tuple[str, str, str]) -> bool:
    """Return whether a system of a mode may send an answer.

    Staging a file without returning an id is not a success: the interface guarantees the id.
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

_HEAD = """# Answers to a write and what they prove

This page is generated by `tests/reliability/answers.py`. `make reliability` plays every line in
every mode against the sandbox, {trials} trials in all, and counts the rows in its database:
**0 duplicates, 0 lost, 0 false verdicts**.

- *Before the commit*, *after the commit*: whether the system had already applied the write when it
  answered.
- *Found*, *not found*: the result of reading the rows back. Rows that were not found and can be
  sent again are there exactly once at the end; otherwise a person checks the system and decides.
- A plain text with 400 or 404, or `success: false`, is a refusal if the rows are not found, else a
  gateway's answer.

A dash marks an answer that is not played because xlbridge trusts the system's own statements:
success is never played before a commit; an error envelope, a JSON string or a 401 for a token that
is rejected everywhere never after one; nor is a 429 if the profile trusts it.
[The upload protocol](upload-protocol.md#what-an-answer-means) explains the rules.
"""


def page() -> str:
    """Return the page of all answers."""
    lines = [_HEAD.format(trials=len(TRIALS))]
    for name, mode in MODES.items():
        lines += [f"\n## {name[0].upper()}{name[1:]}\n"]
        lines += ["| Status | Body | Before the commit | After the commit |", "|---|---|---|---|"]
        rows: dict[tuple[str, str], dict[str, str]] = {}
        for description, (status, body, moment) in (
            (mode.descriptions[ANSWERS[answer].verdict], answer)
            for m, answer in TRIALS
            if m == name
        ):
            rows.setdefault((status, body), {})[moment] = description
        lines += [
            f"| {status} | {body} | {cell.get('before', '–')} | {cell.get('after', '–')} |"
            for (status, body), cell in rows.items()
        ]
    return "\n".join(lines) + "\n"


PAGE = Path(__file__).parents[2] / "docs" / "answers.md"

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
