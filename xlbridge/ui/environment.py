"""Environment of the page: its connection, and one piece of work at a time, which pages follow.

One connection serves the whole life of the page, so that the embedded sandbox is started once.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from xlbridge.client import Client
from xlbridge.connection import connect
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.settings import Settings
from xlbridge.ui.answers import error_json
from xlbridge.upload import UploadContext, open_context

_EVENT_SECONDS = 15
_BUSY = Text(
    pt="Outra tarefa está em andamento nesta página; espere por ela.",
    en="Other work is running in this page; wait for it.",
)

_STOPPED = Text(
    pt="Interrompido. O envio {job} pode continuar em Envios.",
    en="Stopped. The upload {job} can be continued under Uploads.",
)
_STOPPED_UNSENT = Text(
    pt="Interrompido; nada foi gravado. Veja o plano para enviar.",
    en="Stopped; nothing was written. See the plan to send.",
)
_STOPPED_OTHER = Text(pt="Interrompido.", en="Stopped.")
Changed = Callable[[], None]
"""Told whenever the state of the work changes, from any thread."""


class Cancelled(BaseException):
    """The person stopped a work between two of its steps, as Ctrl-C does."""


@dataclass(slots=True)
class SendingState:
    """Progress of the work that runs now, and what the last one came to."""

    running: bool = False
    work: str = "upload"
    job: str | None = None
    lines: list[str] = field(default_factory=list)
    outcome: dict[str, Any] | None = None
    error: dict[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as the page follows it."""
        return {
            "running": self.running,
            "work": self.work,
            "job": self.job,
            "lines": self.lines[-50:],
            "outcome": self.outcome,
            "error": self.error,
        }


class Remote:
    """Connection of the page to its environment, opened when it is first needed."""

    def __init__(self, base: Settings) -> None:
        self.base = base
        self.settings = settings_for(base, choose_profile(base))
        self.state = SendingState()
        self._stack = ExitStack()
        self._client: Client | None = None
        self._lock = Lock()
        self._cancelled = False

    def close(self) -> None:
        """End the connection, and the embedded sandbox with it."""
        self._stack.close()

    def use(self, profile: str) -> None:
        """Work with another environment. Raises ``ConfigError`` where it cannot be chosen,
        ``UsageError`` while something runs in the present one."""
        base = self.base.with_profile(profile)
        settings = settings_for(base, choose_profile(base))
        if self.state.running or not self._lock.acquire(blocking=False):
            raise UsageError(_BUSY)
        try:
            self._stack.close()
            self._client = None
            self.base, self.settings, self.state = base, settings, SendingState()
        finally:
            self._lock.release()

    @contextmanager
    def connected(self) -> Iterator[tuple[UploadContext, Client]]:
        """Hold the connection for one piece of work. Raises ``UsageError`` while another has it."""
        if not self._lock.acquire(blocking=False):
            raise UsageError(_BUSY)
        try:
            if self._client is None:
                client = connect(self.settings, lambda text: self.state.lines.append(str(text)))
                self._client = self._stack.enter_context(client)
            with open_context(self.settings) as context:
                yield context, self._client
        finally:
            self._lock.release()

    @contextmanager
    def following(self, work: str, changed: Changed, job: str | None = None) -> Iterator[None]:
        """Keep in ``state`` how the block goes, and what goes wrong in it: nobody waits for it."""
        self.state = SendingState(running=True, work=work, job=job)
        try:
            yield
        except XlbridgeError as error:
            self.state.error = error_json(error)
        except Cancelled:
            self.state.lines.append(str(self._stopped()))
        finally:
            self.state.running = False
            changed()

    def progress(self, changed: Changed) -> Callable[[Text], None]:
        """Return a callback that keeps each step in ``state``, and ends the work when asked to."""

        def progress(text: Text) -> None:
            if self._cancelled:
                raise Cancelled
            if self.state.lines[-1:] != [str(text)]:
                self.state.lines.append(str(text))
            changed()

        return progress

    def begin(self) -> None:
        """Take note that a work begins. Raises ``UsageError`` while another one runs."""
        if self.state.running:
            raise UsageError(_BUSY)
        self.state = SendingState(running=True)
        self._cancelled = False

    def cancel(self) -> None:
        """Stop the work that runs, before its next step; an upload can be resumed."""
        self._cancelled = True

    def _stopped(self) -> Text:
        """Return what became of the work that was stopped."""
        if self.state.work in {"export", "batch"}:
            return _STOPPED_OTHER
        if self.state.job is None:
            return _STOPPED_UNSENT
        with open_context(self.settings) as context:
            job = context.journal.job(self.state.job)
        return _STOPPED_UNSENT if job.state.is_unsent else _STOPPED.format(job=job.id)


class Following:
    """Work that runs in a thread, one at a time, and the pages that follow it."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._changed = asyncio.Event()
        self._running: set[asyncio.Future[None]] = set()

    def begin(self, work: Callable[[Changed], None]) -> Response:
        """Begin a work; ``/api/events`` tells how it goes.

        Raises ``UsageError`` while another one runs.
        """
        self._remote.begin()
        task = asyncio.ensure_future(run_in_threadpool(work, self._changed_from_thread()))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return JSONResponse({"started": True})

    async def events(self, request: Request) -> Response:
        """Stream the progress of the work as server-sent events."""

        async def stream() -> Any:
            while not await request.is_disconnected():
                yield f"data: {json.dumps(self._remote.state.to_json())}\n\n"
                try:
                    await asyncio.wait_for(self._changed.wait(), _EVENT_SECONDS)
                except TimeoutError:
                    continue

        return StreamingResponse(stream(), media_type="text/event-stream")

    def _changed_from_thread(self) -> Changed:
        loop = asyncio.get_running_loop()

        def changed() -> None:
            loop.call_soon_threadsafe(self._tell)

        return changed

    def _tell(self) -> None:
        """Wake who waits for the present event, and let the next ones wait for the next."""
        self._changed.set()
        self._changed = asyncio.Event()
