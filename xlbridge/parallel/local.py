"""Executor of worker processes on this machine."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from types import TracebackType
from typing import Any

from xlbridge.parallel.tasks import Item, LostItem, OnDone, Outcome, Task, WorkerDied
from xlbridge.processes import HelperProcess, available_cpus, helper_not_started, wait_until_ready


class Worker(HelperProcess):
    """A helper process that runs tasks, one at a time."""

    def __init__(self, module: str) -> None:
        """``module`` is imported while nothing is to be done yet."""
        super().__init__("xlbridge.parallel.worker_process", module)
        self.is_ready = False

    def ask(self, task: Task[Any, Any], item: Any) -> Any:
        """Return what the task returned.

        Raises the ``XlbridgeError`` that it raised, ``WorkerDefect``, ``WorkerDied``.
        """
        if not self.is_ready:
            self.is_ready = wait_until_ready(self.pipes[1])
        if not self.is_ready:
            raise WorkerDied
        # What is sent and taken in needs pandas, and the process is to begin before that is here.
        from xlbridge.parallel.messages import ask_worker

        return ask_worker(*self.pipes, task, item)


_MAX_AHEAD = 32
"""Number of outcomes that may wait for one before them that takes longer."""

_Attempts = tuple[Task[Any, Any], ...]
"""Task for an item, and the one in its place once a worker was lost over it."""


_MIN_BYTES = 4 * 2**20
"""Files smaller than that in all, in bytes, are done before a second process has begun."""


def default_worker_count(files: Sequence[Path]) -> int:
    """Return how many processes these files are worth: one for each core at most."""
    if sum(file.stat().st_size for file in files if file.is_file()) < _MIN_BYTES:
        return 1
    return min(available_cpus(), len(files))


class LocalExecutor:
    """Worker processes for the length of a ``with`` block; they start at once.

    When a worker is killed, another takes its place and only its item is retried. An exception
    that ends the block kills them all; when this process is killed, each ends after its item.
    """

    shares_files = True

    def __init__(self, count: int, module: str) -> None:
        """``module`` is what the tasks come from: the workers import it before they are asked."""
        self._places = [_WorkerSlot(module) for _ in range(count)]
        self._idle: SimpleQueue[_WorkerSlot] = SimpleQueue()
        for place in self._places:
            self._idle.put(place)
        # A thread each, which does nothing but wait for its process.
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> "LocalExecutor":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        for place in self._places:
            place.close(at_once=kind is not None)
        self._threads.shutdown(cancel_futures=True)
        for place in self._places:
            place.wait()

    def run(
        self,
        task: Task[Item, Outcome],
        items: Iterable[Item],
        on_done: OnDone = lambda _place: None,
        *,
        again: Task[Item, Outcome] | None = None,
    ) -> Iterator[Outcome | LostItem]:
        """Yield what the task returns for each item, in the items' order.

        ``again`` is what is done in its place for an item whose worker was lost over it.
        Raises the ``XlbridgeError`` that the task raised; ``WorkerDefect``; ``LocalFailure`` when
        no worker starts.
        """
        tries = (task, again or task)
        waiting: deque[Future[Any]] = deque()
        try:
            for number, item in enumerate(items):
                waiting.append(self._threads.submit(self._do, tries, number, item, on_done))
                if len(waiting) > _MAX_AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def _do(self, tries: _Attempts, number: int, item: Any, on_done: OnDone) -> Any:
        place = self._idle.get()
        try:
            outcome = place.outcome(tries, item)
        finally:
            self._idle.put(place)
        on_done(number)
        return outcome


class _WorkerSlot:
    """Slot of a worker: when it is lost, another takes its place."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._worker = Worker(module)
        self._closed = False
        self._lock = Lock()

    def outcome(self, tries: _Attempts, item: Any) -> Any:
        """Return what the task returned; ``LostItem`` where each worker was lost over it.

        Raises ``LocalFailure`` where each ended by itself before it began.
        """
        lost: list[Worker] = []
        for task in tries:
            worker = self._ready()
            if worker is None:
                break
            try:
                return worker.ask(task, item)
            except WorkerDied:
                if worker.is_ready:
                    worker.kill()
                worker.wait()
                lost.append(worker)
        if lost and not any(worker.is_ready or worker.was_killed for worker in lost):
            raise helper_not_started()
        return LostItem()

    def _ready(self) -> Worker | None:
        """Return the worker, a new one where it is gone; None once the place is closed."""
        with self._lock:
            if self._closed:
                return None
            if not self._worker.is_running:
                self._worker.wait()
                self._worker = Worker(self._module)
            return self._worker

    def close(self, at_once: bool) -> None:
        """Let the worker end, or end it and what it is at."""
        with self._lock:
            self._closed = True
            if at_once:
                self._worker.kill()
            else:
                self._worker.terminate()

    def wait(self) -> None:
        self._worker.wait()
