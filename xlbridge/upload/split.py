"""A large sheet sent in parts: each a job of its own, joined to one verdict for the one sheet."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from typing import Any

from xlbridge.i18n import Text
from xlbridge.upload.journal.job import Job
from xlbridge.upload.journal.journal import Journal
from xlbridge.upload.journal.states import UNSENT, State
from xlbridge.upload.options import RunOptions
from xlbridge.upload.report import verdict_of
from xlbridge.upload.steps.bench import Bench
from xlbridge.upload.steps.runner import NO_CONSENT, Runner
from xlbridge.upload.verdict import WHOLE_REFUSED, RejectedRow, Verdict

Hold = Callable[[str], AbstractContextManager[None]]
"""Keeps other processes from a job, given by its id, for the length of a block."""

_STOPPED = Text(
    pt="outra parte da planilha foi recusada antes do envio",
    en="another part of the sheet was refused before sending",
)

_SEEN_MISSING = Text(
    pt="Não está no sistema, como uma pessoa conferiu.",
    en="Not in the system, as a person has seen.",
)


def run_split(bench: Bench, parent: Job, hold: Hold) -> Job:
    """Take all parts of a sheet as far as they go, and join what became of them.

    All parts are looked at before anything is written; where one is refused then, none is sent.
    Raises what ``Runner.run`` raises; the parts that were not reached are sent by a later run.
    """
    if not parent.state.is_final:
        bench.client.login()
    if parent.state in UNSENT:
        parent = _look_at_all(bench, parent, hold)
    if parent.state is State.PREPARED:
        parent = _ask(bench, parent)
    try:
        if parent.state is State.SENDING_PARTS:
            for part in bench.journal.parts_of(parent):
                with hold(part.id):
                    Runner(_bench_for(bench, part)).run(bench.journal.job(part.id))
    finally:
        parent = settle_parent(bench.journal, parent)
    return parent


def settle_parent(journal: Journal, parent: Job) -> Job:
    """Write down what became of a parent's parts so far, and return the parent as it is then."""
    parent = journal.job(parent.id)
    parts = journal.parts_of(parent)
    state = joined_state(parts)
    settled = parent.state.is_final and parent.state is not State.NEEDS_PERSON
    if settled or (parent.state in UNSENT and not state.is_final):
        return parent
    reason = next((part.last("reason") for part in parts if part.last("reason")), None)
    note: dict[str, Any] = {} if reason is None else {"reason": reason}
    verdict = asdict(joined_verdict(parent, parts))
    if state is parent.state and parent.last("verdict") == verdict:
        return parent
    return journal.record(parent, state, verdict=verdict, **_looked(parts), **note)


def joined_verdict(parent: Job, parts: Sequence[Job]) -> Verdict:
    """Return what became of the rows of a whole sheet."""
    verdicts = [verdict_of(part) for part in parts]
    nothing_sent = joined_state(parts) is State.ABANDONED
    fallen = [] if nothing_sent else [row for part in parts for row in _fallen(part)]
    refused = [row for verdict in verdicts for row in verdict.rejected_rows]
    return Verdict(
        read=len(parent.what.rows),
        accepted=sum(verdict.accepted for verdict in verdicts),
        unknown=sum(verdict.unknown for verdict in verdicts),
        rejected_rows=tuple(sorted([*refused, *fallen], key=lambda row: row.row or 0)),
    )


def joined_state(parts: Sequence[Job]) -> State:
    """Return the state of a sheet whose parts are in those states."""
    states = {part.state for part in parts}
    if any(not state.is_final for state in states):
        return State.SENDING_PARTS
    if State.NEEDS_PERSON in states:
        return State.NEEDS_PERSON
    if len(states) == 1:
        return states.pop()
    if states <= {State.REJECTED, State.ABANDONED, State.PREVIEWED}:
        return State.REJECTED if State.REJECTED in states else State.ABANDONED
    return State.PARTIAL


def _look_at_all(bench: Bench, parent: Job, hold: Hold) -> Job:
    for part in bench.journal.parts_of(parent):
        with hold(part.id):
            Runner(_bench_for(bench, part)).look(bench.journal.job(part.id))
    parts = bench.journal.parts_of(parent)
    if any(part.state.is_final for part in parts):
        for part in parts:
            if not part.state.is_final:
                bench.end(part, State.ABANDONED, reason=asdict(_STOPPED))
        return settle_parent(bench.journal, parent)
    return bench.journal.record(parent, State.PREPARED, **_looked(parts))


def _looked(parts: Sequence[Job]) -> dict[str, Any]:
    """Return what was seen of all parts before anything is sent, as far as it was looked at."""
    looked: dict[str, Any] = {"previewed": _sum(part.last("previewed") for part in parts)}
    plans = [part.last("plan") for part in parts]
    if all(plans):
        looked["plan"] = {action: sum(p[action] for p in plans) for action in plans[0]}
    unread = next((part.last("unread") for part in parts if part.last("unread")), None)
    return looked if unread is None else looked | {"unread": unread}


def _ask(bench: Bench, parent: Job) -> Job:
    if bench.options.consent(parent, parent.last("previewed")):
        return bench.journal.record(parent, State.SENDING_PARTS)
    for part in bench.journal.parts_of(parent):
        bench.end(part, State.ABANDONED, reason=asdict(NO_CONSENT))
    return settle_parent(bench.journal, parent)


def _bench_for(bench: Bench, part: Job) -> Bench:
    """Return a bench for one part: consent was given for all, progress names the part."""

    def tell(text: Text) -> None:
        bench.options.tell(
            Text(pt="Parte {n} · {text}", en="Part {n} · {text}").format(n=part.part, text=text)
        )

    options: RunOptions = replace(bench.options, consent=lambda _job, _seen: True, tell=tell)
    return replace(bench, options=options)


def _fallen(part: Job) -> list[RejectedRow]:
    """Return the rows of a part that was not applied and did not say so of each row."""
    if part.state not in {State.REJECTED, State.ABANDONED}:
        return []
    why = WHOLE_REFUSED if part.state is State.REJECTED else part.reason
    if part.last("resolved") is not None:
        why = _SEEN_MISSING
    told = {row.row for row in verdict_of(part).rejected_rows}
    return [
        RejectedRow(row, None, None, str(why), itself=False)
        for row in part.what.rows
        if row not in told
    ]


def _sum(counts: Any) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
