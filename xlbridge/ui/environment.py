"""Environment of the page: its connection, background work, and the names of its records.

One connection is used as long as the page runs, so that the embedded sandbox starts only once. Work
is done one task at a time. Names of the records that codes stand for (clients, branches, cost
centres) are read when a sheet with codes is shown, beside other work, or when a code is first
typed. They are kept for the next time, so that they are shown without a connection, too.
"""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Set
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from math import ceil
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from xlbridge.client import Client, RetryPolicy
from xlbridge.client.registries import Registries, StoredNames
from xlbridge.connection import connect
from xlbridge.errors import AuthenticationFailed, UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.profiles import ProfileSource, choose_profile, settings_for
from xlbridge.resources import Catalogue, Column
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Finding
from xlbridge.resources.references import REFERENCES, Link, link_words
from xlbridge.settings import Settings
from xlbridge.ui.answers import FieldProblem, error_json
from xlbridge.upload import UploadContext, open_context
from xlbridge.upload.lookup import OnlineCheck
from xlbridge.validation.cells import folded_text
from xlbridge.validation.mapping import MappingProposal, SheetMapping
from xlbridge.workbook.read import SheetCells

_LOOK_UP_SECONDS = 60
_BUSY = Text(
    pt="Outra tarefa está em andamento nesta página; espere terminar.",
    en="Another task is running in this page; wait until it ends.",
)

_STOPPED = Text(
    pt="Interrompido. O envio {job} pode continuar em Envios.",
    en="Stopped. The upload {job} can be continued under Uploads.",
)
_STOPPED_UNSENT = Text(
    pt="Interrompido; nada foi gravado. Para enviar, veja o plano.",
    en="Stopped; nothing was written. To send, see the plan.",
)
_STOPPED_OTHER = Text(pt="Interrompido.", en="Stopped.")

_REPEATING = Text(
    pt="O sistema não respondeu como esperado; nova tentativa em {seconds} s…",
    en="The system did not answer as expected; next attempt in {seconds} s…",
)

_NUMBERS = re.compile(r"\d[\d.,:]*")


class Cancelled(BaseException):
    """The user stopped the work between two steps, as Ctrl-C does."""


@dataclass(slots=True)
class WorkState:
    """Progress of the running work, or the outcome of the last one."""

    running: bool = False
    work: str = "upload"
    job: str | None = None
    lines: list[str] = field(default_factory=list)
    done: int = 0
    total: int = 0
    outcome: dict[str, Any] | None = None
    error: dict[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the state for the page."""
        return {**asdict(self), "lines": self.lines[-50:]}


class PageConnection:
    """Connection of the page to its environment, opened on first use."""

    def __init__(self, base: Settings) -> None:
        self._set_base(base)
        self.state = WorkState()
        self._stack = ExitStack()
        self._client: Client | None = None
        self._lock = Lock()
        self._cancelled = False
        self._is_looking_up = False
        self.is_refused = False
        """Whether the environment refused the credentials when nobody had asked for it."""

    def _set_base(self, base: Settings) -> None:
        chosen = choose_profile(base)
        self.base, self.settings = base, settings_for(base, chosen)
        self.environment = chosen.name
        """Name of the environment."""

    def close(self) -> None:
        """Close the connection, and stop the embedded sandbox."""
        self._stack.close()

    def use(self, profile: str, save: Callable[[], None] = lambda: None) -> None:
        """Switch to another environment, which ``save`` may change.

        Raises ``ConfigError`` if it cannot be used, ``UsageError`` while work is running.
        """
        if self.state.running or not self._acquire():
            raise UsageError(_BUSY)
        try:
            save()
            self._set_base(self.base.with_profile(profile))
            self._stack.close()
            self._client = None
            self.state = WorkState()
            self.is_refused = False
        finally:
            self._lock.release()

    @property
    def followed_work(self) -> str:
        """The running work that a page follows, empty if there is none: plans have their page."""
        state = self.state
        return state.work if state.running and state.work != "plan" else ""

    @contextmanager
    def connected(self, *, looking_up: bool = False) -> Iterator[tuple[UploadContext, Client]]:
        """Hold the connection for the block.

        A look-up of names for the grid is awaited. Raises ``UsageError`` if the connection is in
        use by anything else.
        """
        if not self._acquire():
            raise UsageError(_BUSY)
        self._is_looking_up = looking_up
        try:
            if self._client is None:
                client = connect(
                    self.settings,
                    lambda text: self.state.lines.append(str(text)),
                    RetryPolicy(sleep=self._wait),
                )
                self._client = self._stack.enter_context(client)
            with open_context(self.settings) as context:
                yield context, self._client
        finally:
            self._is_looking_up = False
            self._lock.release()

    def _acquire(self) -> bool:
        return self._lock.acquire(timeout=_LOOK_UP_SECONDS if self._is_looking_up else 0)

    @contextmanager
    def beside(self) -> Iterator[Client]:
        """Open a client for reading that the user did not ask for: no dialog asks for a password,
        no request is repeated, and other work waits for none but those to the embedded sandbox.

        Raises what ``connect`` raises.
        """
        if choose_profile(self.settings).source is ProfileSource.EMBEDDED:
            with self.connected(looking_up=True) as (_, client):
                yield client
            return
        once = RetryPolicy(tries=1)
        is_open = self._client is not None  # The password was found already.
        with connect(self.settings, lambda _text: None, once, silently=not is_open) as client:
            yield client

    @contextmanager
    def track(self, work: str, job: str | None = None) -> Iterator[None]:
        """Record the progress and errors of the block in ``state``."""
        self.state = WorkState(running=True, work=work, job=job)
        try:
            yield
        except XlbridgeError as error:
            self.state.error = error_json(error)
        except Cancelled:
            self.state.lines.append(str(self._stopped_message()))
        finally:
            self.state.running = False

    @contextmanager
    def awaited(self, work: str) -> Iterator[None]:
        """Record the progress of work whose request waits for its answer.

        Raises ``UsageError`` while other work is running, or if it is stopped.
        """
        self.start()
        self.state.work = work
        try:
            yield
        except Cancelled:
            raise UsageError(_STOPPED_UNSENT) from None
        finally:
            self.state.running = False

    def progress(self, text: Text) -> None:
        """Record a step of the work; it replaces the last one if only its numbers are others.

        Raises ``Cancelled``.
        """
        if self._cancelled:
            raise Cancelled
        line, lines = str(text), self.state.lines
        if lines and _NUMBERS.sub("", lines[-1]) == _NUMBERS.sub("", line):
            lines[-1] = line
        else:
            lines.append(line)

    def count(self, done: int, total: int) -> None:
        """Record how many steps of the work are done, of all; 0 if that is unknown.

        Raises ``Cancelled``.
        """
        if self._cancelled:
            raise Cancelled
        self.state.done, self.state.total = done, total

    def _wait(self, seconds: float) -> None:
        """Wait before a request is repeated, and show that.

        Raises ``Cancelled`` in work that only reads.
        """
        self._stop_reading()
        if self.state.running:
            self.state.lines.append(str(_REPEATING.format(seconds=ceil(seconds))))
        time.sleep(seconds)
        self._stop_reading()

    def _stop_reading(self) -> None:
        if self._cancelled and self.state.work in {"export", "plan", "template"}:
            raise Cancelled

    def start(self) -> None:
        """Record that work starts. Raises ``UsageError`` while other work is running."""
        if self.state.running:
            raise UsageError(_BUSY)
        self.state = WorkState(running=True)
        self._cancelled = False

    def cancel(self) -> None:
        """Stop the running work before its next step; an upload can be resumed."""
        self._cancelled = True

    def _stopped_message(self) -> Text:
        if self.state.work in {"export", "batch", "template"}:
            return _STOPPED_OTHER
        if self.state.job is None:
            return _STOPPED_UNSENT
        with open_context(self.settings) as context:
            job = context.journal.job(self.state.job)
        return _STOPPED_UNSENT if job.state.is_unsent else _STOPPED.format(job=job.id)


class BackgroundWork:
    """Work in a thread, one task at a time."""

    def __init__(self, remote: PageConnection) -> None:
        self._remote = remote
        self._running: set[asyncio.Future[None]] = set()

    def start(self, work: Callable[[], None]) -> Response:
        """Start work, whose progress ``/api/work`` returns.

        Raises ``UsageError`` while other work is running.
        """
        self._remote.start()
        task = asyncio.ensure_future(run_in_threadpool(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return JSONResponse({"started": True})

    async def state(self, _request: Request) -> Response:
        """Return the progress of the work."""
        return JSONResponse(self._remote.state.to_json())


_MAX_OFFERED = 20
_UNCHECKED = Text(
    pt="O sistema não responde agora: este nome só será conferido com conexão, no plano.",
    en="The system does not answer now: this name is checked only when connected, by the plan.",
)
_KNOWN_BEFORE = Text(
    pt=" Sem conexão, vale a última leitura. Nomes parecidos: {names}.",
    en=" Without a connection, the last reading counts. Similar names: {names}.",
)

_SIMILAR = Text(pt=" Nomes parecidos: {names}.", en=" Similar names: {names}.")
_MAX_SIMILAR = 3

Names = dict[str, str]
"""Names of the records of a registry by their codes."""


class RegistryNames:
    """Names of records in the page's environment, by registry."""

    def __init__(self, remote: PageConnection) -> None:
        self._remote = remote
        self._names: dict[Path, Names] = {}
        self._usable: dict[Path, Names] = {}
        self._folded: dict[Path, set[str]] = {}
        self._read: set[Path] = set()
        self._reading = defaultdict[Path, Lock](Lock)

    def known(self, registry: str, settings: Settings | None = None) -> Names:
        """Return the names that were read now or earlier; ``settings`` are those of another
        environment than the page's."""
        stored = self._stored(registry, settings)
        if stored.path not in self._names:
            self._keep(stored.path, *stored.read())
        return self._names[stored.path]

    def read(self, registry: str) -> Names:
        """Return the names, read now unless they were since the page began, or cannot be."""
        if self._stored(registry).path not in self._read:
            self._read_names(registry)
        return self.known(registry)

    def offer(self, column: Column, typed: str) -> dict[str, Any]:
        """Return the records that a typed text may mean, and whether names were read just now.

        Without a connection those that are known are offered.
        """
        registry = column.references or (column.link and column.link.registry)
        if not registry:
            return {"records": [], "read": False}
        path = self._stored(registry).path
        is_new = path not in self._read and self._read_names(registry)
        self.known(registry)
        records = self._usable[path]
        is_code = typed in records
        # A code that is complete may be replaced by any other one.
        words = [] if is_code else folded_text(typed).split()
        first = {typed: records[typed]} if is_code else {}
        offered = []
        for code, name in (first | records).items():
            text = f" {folded_text(f'{code} {name}')}"
            if all(f" {word}" in text for word in words):
                # A column of names gets both, which the look-up of links reads.
                value = code if column.link is None else f"{code} – {name}"
                offered.append({"value": value, "code": code, "name": name})
        if typed.isdecimal() and not is_code:  # the codes that begin so come first, in their order
            offered.sort(key=lambda one: (not one["code"].startswith(typed), one["code"]))
        return {"records": offered[:_MAX_OFFERED], "read": is_new}

    def ask_unknown(
        self, proposal: MappingProposal, cells: SheetCells, catalogue: Catalogue
    ) -> MappingProposal:
        """Return a proposed mapping that asks for the names in ``cells`` which the system lacks.

        Raises what ``PageConnection.connected`` and ``OnlineCheck.ask_unknown_names`` raise.
        """
        if not any(proposal.names_to_look_up(cells).values()):
            return proposal
        with self._remote.connected(looking_up=True) as (_, client):
            return OnlineCheck(client).ask_unknown_names(proposal, cells, catalogue)

    def problems(
        self, mapping: SheetMapping, catalogue: Catalogue, *, with_doubts: bool = False
    ) -> list[FieldProblem]:
        """Return the problems of the names in a mapping.

        If the page's environment cannot be asked, there are only doubts: names that are not among
        those read earlier, which may have new ones by now, or that cannot be compared.
        """
        if not any(one.link and (one.constant or one.values) for _, one in mapping.all_columns):
            return []
        with suppress(XlbridgeError), self._remote.connected(looking_up=True) as (_, client):
            found = OnlineCheck(client).problems_of_names(mapping, catalogue)
            return [FieldProblem(name, word, str(message)) for name, word, message in found]
        problems: list[FieldProblem] = []
        if not with_doubts:
            return problems
        for column, _, link, given in OnlineCheck.names_in_mapping(mapping, catalogue):
            if not self.known(link.registry) or len(link.fields) > 1:
                problems += (FieldProblem(column, word, str(_UNCHECKED)) for word, _ in given)
                continue
            for word, text in given:
                if (finding := self._unknown(link, text, _KNOWN_BEFORE)) is not None:
                    problems.append(FieldProblem(column, word, str(finding.message)))
        return problems

    def unknown(self, link: Link, text: str) -> Finding | None:
        """Return the finding of a name that no record has, None if one has it, or if the registry
        was not read since the page began."""
        is_read = self._stored(link.registry).path in self._read
        return self._unknown(link, text, _SIMILAR) if is_read and text else None

    def _unknown(self, link: Link, text: str, similar: Text) -> Finding | None:
        known = self.known(link.registry)
        # Records with several names are known by one of them only.
        if len(link.fields) > 1 or folded_text(text) in self._spellings(link.registry):
            return None
        wanted = folded_text(text)
        records = (f"{code} – {name}" for code, name in known.items())
        alike = [*islice((one for one in records if wanted in folded_text(one)), _MAX_SIMILAR)]
        about = {"by": link_words(link), "registry": REFERENCES[link.registry].title}
        about["similar"] = similar.format(names="; ".join(alike or ["–"]))
        return Finding(CATALOGUE["link-unknown"], value=text, details=about)

    def _spellings(self, registry: str) -> Set[str]:
        """Return the codes and names of a registry's records, alone and together, folded."""
        names, path = self.known(registry), self._stored(registry).path
        if path not in self._folded:
            records = [f"{code} – {name}" for code, name in names.items()]
            self._folded[path] = set(map(folded_text, [*names, *names.values(), *records]))
        return self._folded[path]

    def read_with(self, client: Client, registry: str, settings: Settings | None = None) -> Names:
        """Return the names in another environment, read with its client as ``read`` does."""
        with suppress(XlbridgeError):
            self._read_once(client, registry, settings)
        return self.known(registry, settings)

    def read_ahead(self, registries: Collection[str]) -> bool:
        """Read the names of registries beside other work, unless they were since the page began;
        return whether other names are known now. Nothing is said of what cannot be read."""
        settings = self._remote.settings
        unread = [it for it in registries if self._stored(it, settings).path not in self._read]
        if not unread or self._remote.is_refused:
            return False
        before = {one: self.known(one, settings) for one in unread}
        try:
            with self._remote.beside() as client:
                for one in unread:
                    self._read_once(client, one, settings)
        except XlbridgeError as error:
            # Each further attempt might bring the user closer to being locked out.
            self._remote.is_refused = isinstance(error, AuthenticationFailed)
        return any(self.known(one, settings) != names for one, names in before.items())

    def _read_once(self, client: Client, registry: str, settings: Settings | None) -> None:
        stored = self._stored(registry, settings)
        with self._reading[stored.path]:
            if stored.path in self._read:
                return
            records = Registries(client).named(REFERENCES[registry])
            by_name = sorted(records, key=lambda one: one.label.casefold())
            names = {str(one.code): one.label for one in by_name}
            inactive = {str(one.code) for one in by_name if not one.active}
            self._keep(stored.path, names, inactive)
            self._read.add(stored.path)
            stored.write(names, inactive)

    def _read_names(self, registry: str) -> bool:
        """Read the names of a registry; return whether that was possible."""
        with suppress(XlbridgeError), self._remote.connected(looking_up=True) as (_, client):
            self.read_with(client, registry)
        return self._stored(registry).path in self._read

    def _keep(self, path: Path, names: Names, inactive: Set[str]) -> None:
        self._names[path] = names
        self._folded.pop(path, None)
        self._usable[path] = {code: name for code, name in names.items() if code not in inactive}

    def _stored(self, registry: str, settings: Settings | None = None) -> StoredNames:
        return StoredNames(settings or self._remote.settings, registry)
