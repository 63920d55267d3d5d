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
        """``module`` is imported before the first task arrives."""
        super().__init__("xlbridge.parallel.worker_process", module)
        self.is_ready = False

    def ask(self, task: Task[Any, Any], item: Any) -> Any:
        """Return what the task returned.

        Raises the task's ``XlbridgeError``, ``WorkerDefect``, ``WorkerDied``.
        """
        if not self.is_ready:
            self.is_ready = wait_until_ready(self.pipes[1])
        if not self.is_ready:
            raise WorkerDied
        # Imported late: messages need pandas, and the process should start before that is loaded.
        from xlbridge.parallel.messages import ask_worker

        return ask_worker(*self.pipes, task, item)


_MAX_PENDING = 32
"""Number of outcomes that may wait for an earlier one that takes longer."""

_Attempts = tuple[Task[Any, Any], ...]
"""Task for an item, and the task for a retry after its worker was lost."""

_MIN_BYTES = 4 * 2**20
"""Total size of files, in bytes, below which starting processes costs more than it saves."""


def default_worker_count(files: Sequence[Path]) -> int:
    """Return the number of processes worth starting for some files, at most one per core."""
    if sum(file.stat().st_size for file in files if file.is_file()) < _MIN_BYTES:
        return 1
    return min(available_cpus(), len(files))


class LocalExecutor:
    """Worker processes for the length of a ``with`` block; they start at once.

    A worker that dies is replaced, and only its item is retried. An exception that ends the block
    kills them all; if this process is killed, each exits after its item.
    """

    shares_files = True

    def __init__(self, count: int, module: str) -> None:
        """``module`` defines the tasks: the workers import it before the first one arrives."""
        self._slots = [_WorkerSlot(module) for _ in range(count)]
        self._idle: SimpleQueue[_WorkerSlot] = SimpleQueue()
        for slot in self._slots:
            self._idle.put(slot)
        # One thread per process, which only waits for it.
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> "LocalExecutor":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        for slot in self._slots:
            slot.close(kill=kind is not None)
        self._threads.shutdown(cancel_futures=True)
        for slot in self._slots:
            slot.wait()

    def run(
        self,
        task: Task[Item, Outcome],
        items: Iterable[Item],
        on_done: OnDone = lambda _index: None,
        *,
        retry: Task[Item, Outcome] | None = None,
    ) -> Iterator[Outcome | LostItem]:
        """Yield the outcome of the task for each item, in order; see ``Executor.run``.

        Raises the task's ``XlbridgeError``, ``WorkerDefect``, ``LocalFailure`` if no worker starts.
        """
        attempts = (task, retry or task)
        pending: deque[Future[Any]] = deque()
        try:
            for index, item in enumerate(items):
                pending.append(self._threads.submit(self._run_item, attempts, index, item, on_done))
                if len(pending) > _MAX_PENDING:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()

    def _run_item(self, attempts: _Attempts, index: int, item: Any, on_done: OnDone) -> Any:
        slot = self._idle.get()
        try:
            outcome = slot.outcome(attempts, item)
        finally:
            self._idle.put(slot)
        on_done(index)
        return outcome


class _WorkerSlot:
    """Slot of a worker, in which a lost worker is replaced."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._worker = Worker(module)
        self._closed = False
        self._lock = Lock()

    def outcome(self, attempts: _Attempts, item: Any) -> Any:
        """Return what the task returned; ``LostItem`` if the worker of each attempt was lost.

        Raises ``LocalFailure`` if each exited by itself before it was ready.
        """
        lost: list[Worker] = []
        for task in attempts:
            worker = self._running_worker()
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

    def _running_worker(self) -> Worker | None:
        """Return the worker, replaced if it is gone; None once the slot is closed."""
        with self._lock:
            if self._closed:
                return None
            if not self._worker.is_running:
                self._worker.wait()
                self._worker = Worker(self._module)
            return self._worker

    def close(self, kill: bool) -> None:
        """Terminate or kill the worker."""
        with self._lock:
            self._closed = True
            if kill:
                self._worker.kill()
            else:
                self._worker.terminate()

    def wait(self) -> None:
        self._worker.wait()
