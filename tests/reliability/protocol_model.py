"""Model of the upload protocol, small enough to visit every state that it can reach.

One row is sent by a client with a journal, over a network that loses, delays and repeats requests
and may answer for them at any moment, to a server that adds the row to its records. The process may
be killed between any two of its steps, the journal may lose its last entries, the clock may be set.
The states of the journal have the names of the code; a test compares the steps between them.

Assumptions: a request arrives within the settle time or never, a declined one within the shorter
wait for it; a copy of the database is behind by less than the settle time; a person looks at the
system, and answers by what is there.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple, get_args

Mode = Literal["direct", "queue", "own queue", "records"]
"""``queue`` waits for processar-arquivo, the ``own queue`` runs by itself."""

MODES: tuple[Mode, ...] = get_args(Mode)

_MAX_SENT = 3
"""Requests of each kind, after which nothing new is seen."""

_LOST = "entries lost"
_UNSENT = {"prepared", "planned", "not_applied"}
_MAY_GO_ON = _UNSENT | {"previewing", "staging", "staged", "in_doubt"}
_FINAL = {"done", "rejected", "not_written", "abandoned", "applied", "previewed"}
_DOUBT = {"in_doubt", "doubtful"}
_PERSON = {"needs_person", "unproven"}


@dataclass(frozen=True)
class Rules:
    """Rules of the client; without any of them the model breaks a guarantee."""

    declined_settle: bool = True
    absence_settles: bool = True
    counts_requests: bool = True
    reads_rejected_back: bool = True
    clock_runs_forward: bool = True
    doubts_interrupted: bool = True


class Entry(NamedTuple):
    """What the journal knows: the state, the id of the log, the count of requests.

    ``if_absent`` is the state of a doubt after which the row proves not to be there, empty for the
    usual one; ``sent`` counts announcements.
    """

    state: str
    log: int = -1
    count: int = 0
    if_absent: str = ""
    sent: int = 0


class World(NamedTuple):
    """State of everything.

    ``at`` is the next step of the running process, empty if there is none; ``answer`` is the one
    that waits for it. ``flying`` are the requests that may still arrive, ``files`` the staged files
    (true once processed), ``past`` the earlier entries of the journal, which it may fall back to.
    """

    entry: Entry
    at: str = ""
    answer: str = ""
    flying: tuple[str, ...] = ()
    rows: int = 0
    files: tuple[bool, ...] = ()
    settled: bool = False
    counted: int = 0
    past: frozenset[Entry] = frozenset()
    may_lose_entries: bool = True
    may_repeat: bool = True
    repeated: bool = False
    named: bool = False


Step = tuple[str, World]
"""Name of a step, and the state after it."""


@dataclass
class Model:
    """Model of one mode, for a row that is ``keyed``, or cannot be read back."""

    mode: Mode
    keyed: bool
    rules: Rules = field(default_factory=Rules)

    @property
    def start(self) -> World:
        """The row is planned, and nothing was sent."""
        return World(Entry("planned" if self.mode == "records" else "prepared"))

    # The client

    def _client(self, world: World) -> Iterator[Step]:
        """Yield what the running process may do."""
        match world.at:
            case "run":
                yield from self._run(world)
            case "committed":
                yield "count", world._replace(at="counted", counted=world.entry.count)
            case "counted":
                stage = "stage" if self.mode == "queue" else "write"
                sent = {"staging": stage, "starting": f"start {world.entry.log}"}
                request = sent.get(world.entry.state, "write")
                yield "send", world._replace(at="waiting", flying=(*world.flying, request))
                yield "not sent", world._replace(at="waiting", answer="unsent")
            case "waiting" if world.answer:
                yield from self._read_answer(world._replace(answer=""), world.answer)
            case "declined":
                yield from self._repeat_declined(world)

    def _run(self, world: World) -> Iterator[Step]:
        state = world.entry.state
        match state:
            case "prepared" | "previewing" | "planned" | "not_applied":
                yield from self._run_unsent(world)
            case "sending" if self.rules.doubts_interrupted:
                doubt = "doubtful" if self.mode == "records" else "in_doubt"
                yield "interrupted", self._record(world, doubt, settled=False)
            case "sending":
                yield "send", self._announce(world, "sending")
            case "staging" if self.mode == "own queue":
                yield "interrupted", self._record(world, "in_doubt", settled=False)
            case "staging":
                # The file that may be staged is not started by itself.
                yield "interrupted", self._record(world, "prepared")
            case "staged" if self.mode == "own queue":
                yield "poll", self._record(world, "polling")
            case "staged":
                yield "start", self._announce(world, "starting")
                yield "plan changed", self._record(world, "abandoned")
            case "starting":
                yield "interrupted", self._record(world, "in_doubt", settled=False)
            case "polling":
                yield "log unreadable", self._record(world, "in_doubt", settled=False)
                if world.files[world.entry.log]:
                    yield "log", self._record(world, "comparing")
                else:
                    yield "end", world._replace(at="")
            case "comparing":
                yield "compared", self._record(world, "done")
            case "in_doubt" | "doubtful":
                yield from self._settle(world)
            case "rejected" if world.entry.if_absent:
                seen = "applied" if world.rows and self.keyed else "rejected"
                yield "read back", self._record(world, seen)
            case _:
                yield "end", world._replace(at="")

    def _run_unsent(self, world: World) -> Iterator[Step]:
        if world.entry.state == "previewing":
            for ended in ("prepared", "previewed", "rejected", "abandoned"):
                yield "previewed", self._record(world, ended)
            return
        if world.entry.state == "prepared":
            yield "preview", self._record(world, "previewing")
            yield "no consent", self._record(world, "abandoned")
        is_staged = self.mode in {"queue", "own queue"}
        yield "send", self._announce(world, "staging" if is_staged else "sending")

    def _read_answer(self, world: World, answer: str) -> Iterator[Step]:
        state, by_record = world.entry.state, self.mode == "records"
        if state in {"staging", "starting"}:
            yield from self._read_answer_of_queue(world, answer)
            return
        doubt = self._record(world, "doubtful" if by_record else "in_doubt", settled=False)
        match answer:
            case "executed":
                yield answer, self._record(world, "applied" if by_record else "comparing")
            case "unsent":
                yield answer, self._record(world, "not_applied" if by_record else "prepared", at="")
            case "declined" if self.keyed:
                yield answer, world._replace(at="declined")
            case "declined" | "lost":
                yield answer, doubt
            case "text":
                yield answer, doubt._replace(entry=doubt.entry._replace(if_absent="rejected"))
            case "refused" if by_record:
                rejected = self._record(world, "rejected")
                if self.rules.reads_rejected_back:
                    rejected = rejected._replace(
                        entry=rejected.entry._replace(if_absent="rejected")
                    )
                yield answer, rejected
            case "refused" if world.rows and self.keyed and self.rules.reads_rejected_back:
                yield answer, doubt
            case "refused":
                yield answer, self._record(world, "rejected")

    def _read_answer_of_queue(self, world: World, answer: str) -> Iterator[Step]:
        doubt = self._record(world, "in_doubt", settled=False)
        match (world.entry.state, answer):
            case ("starting", "executed"):
                yield answer, self._record(world, "polling")
            case ("starting", "unsent"):
                yield answer, self._record(world, "staged", at="")
            case ("starting", "declined"):
                yield answer, world._replace(at="declined")
            case ("starting", _):
                yield answer, doubt
            case (_, "executed"):
                yield answer, self._record(world, "staged", log=len(world.files) - 1)
            case (_, "unsent"):
                yield answer, self._record(world, "prepared", at="")
            case (_, "refused"):
                yield answer, self._record(world, "rejected")
            case _ if self.mode == "queue":
                # The next attempt stages another file.
                yield answer, self._record(world, "prepared")
            case (_, "declined"):
                yield answer, doubt._replace(entry=doubt.entry._replace(if_absent="prepared"))
            case _:
                yield answer, doubt

    def _repeat_declined(self, world: World) -> Iterator[Step]:
        """Send a declined request again, once it can no longer arrive and the row is not there."""
        if self.rules.declined_settle and world.flying:
            return
        state = world.entry.state
        if state == "starting":
            if world.files[world.entry.log]:
                yield "log", self._record(world, "polling")
            else:
                yield "declined", self._announce(world, "starting")
                yield "given up", self._record(world, "in_doubt", settled=False)
            return
        by_record = self.mode == "records"
        if world.rows:
            found = self._record(world, "applied")
            yield (
                "read back",
                found if by_record else self._record(world, "in_doubt", settled=False),
            )
        else:
            yield "declined", self._announce(world, "sending")
            yield "given up", self._record(world, "not_applied" if by_record else "prepared", at="")

    def _settle(self, world: World) -> Iterator[Step]:
        """Settle a doubt: by the log, else by reading the row back; else a person decides."""
        entry, by_record = world.entry, self.mode == "records"
        yield "end", world._replace(at="")
        if entry.log >= 0:
            if world.files[entry.log]:
                yield "log", self._record(world, "comparing")
                yield "log", self._record(world, "polling")
            elif world.settled:
                yield "log", self._announce(world, "starting")
                yield "plan changed", self._record(world, "abandoned")
            return
        if self.keyed and world.rows:
            yield "read back", self._record(world, "applied" if by_record else "comparing")
        if not world.settled and self.rules.absence_settles:
            return
        if self.keyed and (not world.rows or not world.settled):
            if entry.if_absent:
                yield "absent", self._record(world, entry.if_absent, at="")
            elif not by_record:
                yield "absent", self._record(world, "needs_person", at="")
            elif entry.sent < _MAX_SENT:
                yield "absent", self._record(world, "not_applied")
            else:
                yield "absent", self._record(world, "not_written", at="")
        if not self.keyed:
            yield "no key", self._record(world, "unproven" if by_record else "needs_person", at="")

    # The journal

    def _announce(self, world: World, state: str) -> World:
        entry = world.entry
        announced = entry._replace(
            state=state, count=entry.count + 1, sent=entry.sent + 1, if_absent=""
        )
        return self._write(world, announced, "committed")

    def _record(
        self,
        world: World,
        state: str,
        *,
        log: int | None = None,
        at: str = "run",
        settled: bool | None = None,
    ) -> World:
        entry = world.entry._replace(state=state, if_absent="")
        entry = entry if log is None else entry._replace(log=log)
        written = self._write(world, entry, at)
        return written if settled is None else written._replace(settled=settled)

    def _write(self, world: World, entry: Entry, at: str) -> World:
        past = world.past | {world.entry} if world.may_lose_entries else frozenset()
        return world._replace(entry=entry, past=past, at=at)

    def _open(self, world: World) -> World:
        """Start a process: a journal that is behind its count puts in doubt what may go on."""
        entry = world.entry
        if self.rules.counts_requests and entry.count < world.counted:
            entry = entry._replace(count=world.counted)
            by_record = self.mode == "records"
            if entry.state in _MAY_GO_ON | _DOUBT:
                unsent = (
                    "prepared" if entry.state in {"prepared", "previewing"} else entry.if_absent
                )
                state = "doubtful" if by_record else "in_doubt"
                entry = entry._replace(state=state, if_absent=unsent)
                world = world._replace(settled=False)
        return world._replace(entry=entry, at="run")

    # All others

    def steps(self, world: World) -> Iterator[Step]:
        """Yield every step that may follow."""
        if world.at:
            yield from self._client(world)
            yield "killed", world._replace(at="", answer="")
        elif world.entry.state not in _FINAL | _PERSON or world.entry.if_absent:
            yield "resume", self._open(world)
        for index, request in enumerate(world.flying):
            yield from self._network(world, index, request)
        if not world.flying and not world.settled:
            yield "time passes", world._replace(settled=True)
        if not self.rules.clock_runs_forward and world.entry.state in _DOUBT:
            yield "clock set", world._replace(settled=True)
        if not world.at and world.may_lose_entries:
            for earlier in world.past:
                lost = world._replace(entry=earlier, may_lose_entries=False, past=frozenset())
                yield _LOST, lost
        if world.entry.state in _PERSON and not world.at and world.settled:
            seen = "done" if world.rows else "abandoned"
            yield "person", self._record(world, seen, at="")._replace(named=True)

    def _network(self, world: World, index: int, request: str) -> Iterator[Step]:
        """Yield what may become of a request: a gateway may answer for it first."""
        rest = world.flying[:index] + world.flying[index + 1 :]
        waits = world.at == "waiting" and not world.answer and index == len(world.flying) - 1
        arrived = self._arrive(world._replace(flying=rest), request)
        yield "lost before", world._replace(flying=rest, answer="lost" if waits else world.answer)
        if waits:
            yield "answered early", world._replace(answer="lost")
            yield "declined early", world._replace(answer="declined")
            yield "declined", world._replace(flying=rest, answer="declined")
            yield "refused", world._replace(flying=rest, answer="refused")
            yield "refused as text", world._replace(flying=rest, answer="text")
            yield "text early", world._replace(answer="text")
            yield "answered", arrived._replace(answer="executed")
            yield "answer lost", arrived._replace(answer="lost")
        else:
            yield "arrives", arrived
        if world.may_repeat and request == "write" and self.mode != "own queue":
            # A server that knows the key refuses the second one.
            again = arrived if self.keyed else self._arrive(arrived, request)
            again = again._replace(may_repeat=False, repeated=not self.keyed)
            answer = "refused" if self.keyed else "executed"
            yield "repeated", again._replace(answer=answer if waits else world.answer)

    def _arrive(self, world: World, request: str) -> World:
        """Return the state after a request has arrived."""
        match request.split():
            case ["stage"]:
                return world._replace(files=(*world.files, False))
            case ["start", log]:
                if world.files[int(log)]:
                    return world
                files = list(world.files)
                files[int(log)] = True
                return world._replace(files=tuple(files), rows=world.rows + 1)
        files = (*world.files, True) if self.mode == "own queue" else ()
        return world._replace(rows=world.rows + 1, files=files)


def broken_guarantee(world: World) -> str | None:
    """Return the guarantee that a state breaks, None if it keeps all."""
    if world.rows > 1 and not world.named and not world.repeated:
        return "never twice without a named person"
    if world.entry.state in {"comparing", "done", "applied"} and not world.rows:
        return "done means there"
    is_over = not world.at and not world.flying and not world.entry.if_absent
    if world.entry.state in {"rejected", "not_written", "abandoned"} and world.rows and is_over:
        return "rejected means not there"
    return None


@dataclass
class Search:
    """States that a model reaches, with the steps between them.

    ``broken`` are the guarantees that some break, each with the shortest way there;
    ``transitions`` the changes of the journal's state; ``endless`` states from which no end can be
    reached.
    """

    states: int
    broken: Mapping[str, list[str]]
    transitions: frozenset[tuple[str, str]]
    endless: list[World]


def explore(model: Model, *, until_broken: bool = False) -> Search:
    """Visit every state that a model reaches, or all until one breaks a guarantee."""
    start = model.start
    came_from: dict[World, tuple[World, str] | None] = {start: None}
    before: dict[World, list[World]] = {}
    transitions: set[tuple[str, str]] = set()
    broken: dict[str, list[str]] = {}
    queue: deque[World] = deque([start])
    cut: set[World] = set()
    while queue and not (until_broken and broken):
        world = queue.popleft()
        guarantee = broken_guarantee(world)
        if guarantee is not None:
            broken.setdefault(guarantee, _way(came_from, world))
            continue
        for name, after in model.steps(world):
            if after.entry.sent > _MAX_SENT or len(after.files) > _MAX_SENT:
                cut.add(world)
                continue
            if after.entry != world.entry and name != _LOST:
                transitions.add((world.entry.state, after.entry.state))
            before.setdefault(after, []).append(world)
            if after not in came_from:
                came_from[after] = (world, name)
                queue.append(after)
    # What lies beyond the bound on requests is not searched.
    ends = [world for world in came_from if world.entry.state in _FINAL or world in cut]
    can_end, left = set(ends), deque(ends)
    while left:
        for earlier in before.get(left.popleft(), ()):
            if earlier not in can_end:
                can_end.add(earlier)
                left.append(earlier)
    endless = [world for world in came_from if world not in can_end]
    return Search(len(came_from), broken, frozenset(transitions), endless)


@cache
def search_of(mode: Mode, keyed: bool) -> Search:
    """Return what the model with all its rules reaches."""
    return explore(Model(mode, keyed))


def _way(came_from: Mapping[World, tuple[World, str] | None], world: World) -> list[str]:
    """Return the names of the steps from the start to a state."""
    names: list[str] = []
    while (step := came_from[world]) is not None:
        world, name = step
        names.append(name)
    return names[::-1]
