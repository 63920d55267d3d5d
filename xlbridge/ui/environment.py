"""Connection of the page to its environment, and its background work, one task at a time.

One connection is used as long as the page runs, so that the embedded sandbox starts only once.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from math import ceil
from threading import Lock
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from xlbridge.client import Client, RetryPolicy
from xlbridge.connection import connect
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.settings import Settings
from xlbridge.ui.answers import error_json
from xlbridge.upload import UploadContext, open_context

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
        if self.state.running or not self._lock.acquire(blocking=False):
            raise UsageError(_BUSY)
        try:
            save()
            self._set_base(self.base.with_profile(profile))
            self._stack.close()
            self._client = None
            self.state = WorkState()
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
        if not self._lock.acquire(timeout=_LOOK_UP_SECONDS if self._is_looking_up else 0):
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
        """Record a step of the work. Raises ``Cancelled``."""
        if self._cancelled:
            raise Cancelled
        if self.state.lines[-1:] != [str(text)]:
            self.state.lines.append(str(text))

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
