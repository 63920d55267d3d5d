"""Executors of a task for many items: processes on this machine, or the workers of a Dask cluster.

``python -m xlbridge.parallel.executors NAME`` is a worker process: it reads tasks, each with one
item, from its input and writes answers to its output. NAME, a module or ``module:name``, is
imported before the first task arrives. The process exits when its input ends, and thus with the
process that started it.

On a cluster, which needs the extra ``dask``, tasks, items and outcomes travel as opaque bytes, so
that credentials and the content of workbooks do not appear in the scheduler, the workers' logs or
the dashboard. Dask and the messages, which need pandas, are imported late.
"""

import logging
import os
import pickle
import pkgutil
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from queue import SimpleQueue
from threading import Lock, local
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from xlbridge.errors import ConfigError, TransportError, UsageError
from xlbridge.i18n import Text
from xlbridge.processes import (
    NEW_PROCESS_GROUP,
    helper_command,
    helper_environment,
    helper_not_started,
    kill_process_tree,
    report_ready,
    report_start_errors,
    wait_until_ready,
)

if TYPE_CHECKING:
    from distributed import Client

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

Attempts = Sequence[Callable[[Any], Any]]
"""Task for an item, and the tasks for retries after its worker was lost."""

_EXIT_SECONDS = 5.0
_MAX_PENDING = 32


@dataclass(frozen=True, slots=True)
class LostItem:
    """Outcome of an item whose worker was lost at each attempt."""


class Executor(ABC):
    """Runs a task for many items on workers; losing one affects only its item.

    It runs one task at a time. ``shares_files``: workers see the files of this machine under the
    same paths.
    """

    shares_files: ClassVar[bool]

    def run(
        self,
        task: Callable[[Item], Outcome],
        items: Iterable[Item],
        on_done: Callable[[int], None] = lambda _index: None,
        *,
        retry: Callable[[Item], Outcome] | None = None,
    ) -> Iterator[Outcome | LostItem]:
        """Yield the outcome of the task for each item, in order.

        Task, items and outcomes can be pickled. The task may run again for an item whose worker was
        lost; then ``retry`` replaces it. Items are consumed only a little ahead of the outcomes.
        ``on_done`` is called with the index of each finished item, in any order.

        Raises the task's ``XlbridgeError``; ``WorkerDefect``; ``LocalFailure`` if no process
        starts; ``ConfigError`` if a cluster's workers lack xlbridge or have another version,
        ``TransportError`` if the cluster is gone.
        """
        numbered = enumerate(items)
        max_pending = self.max_pending()
        pending: deque[Future[Any]] = deque()
        unfinished: dict[Future[Any], int] = {}
        try:
            while True:
                for index, item in islice(numbered, max_pending - len(pending)):
                    future = self.submit((task, retry or task), item)
                    pending.append(future)
                    unfinished[future] = index
                if not pending:
                    return
                while pending[0] in unfinished:
                    for future in self.wait(unfinished):
                        on_done(unfinished.pop(future))
                yield self.outcome(pending.popleft())
        finally:
            for future in pending:
                future.cancel()

    def max_pending(self) -> int:
        """Return the number of outcomes that may wait for an earlier one that takes longer."""
        return _MAX_PENDING

    @abstractmethod
    def submit(self, attempts: Attempts, item: Any) -> Future[Any]:
        """Run a task for an item on a worker."""

    def wait(self, futures: Collection[Future[Any]]) -> set[Future[Any]]:
        """Wait until some of the futures are done, and return these."""
        return wait(futures, return_when=FIRST_COMPLETED).done

    def outcome(self, future: Future[Any]) -> Any:
        """Return the outcome of a future that is done, or raise its exception.

        It is ``LostItem`` if each attempt lost its worker.
        """
        return future.result()


class _WorkerDied(Exception):
    """A worker ended before it answered."""


class _WorkerProcess:
    """A process that runs tasks, one at a time (``main``).

    It gets no credentials and no Ctrl-C of the terminal. It exits when its input ends, and thus
    with this process.
    """

    def __init__(self, preload: str) -> None:
        with report_start_errors():
            self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                helper_command("xlbridge.parallel.executors", preload),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=helper_environment(),
                **NEW_PROCESS_GROUP,
            )
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError
        self._pipes: tuple[IO[bytes], IO[bytes]] = self._process.stdin, self._process.stdout
        self.is_ready = False

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def failed_to_start(self) -> bool:
        """True once the process has exited by itself, not by a signal, before it was ready."""
        return not self.is_ready and (self._process.poll() or 0) >= 0

    def ask(self, task: bytes, item: bytes) -> Any:
        """Return what the packed task returned for the packed item.

        Raises the task's ``XlbridgeError``, ``WorkerDefect``, ``_WorkerDied``.
        """
        from xlbridge.parallel.messages import outcome_of, unpack

        requests, answers = self._pipes
        self.is_ready = self.is_ready or wait_until_ready(answers)
        if not self.is_ready:
            raise _WorkerDied
        try:
            requests.write(task + item)
            requests.flush()
            answer = unpack(answers)
        except (OSError, EOFError, pickle.UnpicklingError, ValueError) as error:
            raise _WorkerDied from error
        return outcome_of(answer)

    def end(self, kill: bool) -> None:
        """Ask the process to exit, or kill it and its children."""
        if kill:
            kill_process_tree(self._process)
        else:
            self._process.terminate()

    def wait(self) -> None:
        """Wait until the process has exited; kill it if that takes too long."""
        try:
            self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            kill_process_tree(self._process)
            self._process.wait()
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()


class LocalExecutor(Executor):
    """Worker processes for the length of a ``with`` block; they start at once.

    A worker that dies is replaced, and only its item is retried. An exception that ends the block
    kills them all; if this process is killed, each exits after its item.
    """

    shares_files = True

    def __init__(self, count: int, preload: str = "xlbridge.validation:validate_file") -> None:
        """``preload`` is the module, or a name in it, that workers import before any task."""
        self._preload = preload
        self._processes = {_WorkerProcess(preload) for _ in range(count)}
        self._idle: SimpleQueue[_WorkerProcess] = SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        self._is_closed = False
        self._lock = Lock()
        # One thread per process, which only waits for it.
        self._threads = ThreadPoolExecutor(count)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._is_closed = True
            for process in self._processes:
                process.end(kill=kind is not None)
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            process.wait()

    def submit(self, attempts: Attempts, item: Any) -> Future[Any]:
        # Loads pandas while the processes start.
        from xlbridge.parallel.messages import pack

        return self._threads.submit(self._run, [*map(pack, attempts)], pack(item))

    def _run(self, attempts: Sequence[bytes], item: bytes) -> Any:
        process = self._idle.get()
        lost: list[_WorkerProcess] = []
        try:
            for task in attempts:
                process = self._running(process)
                try:
                    return process.ask(task, item)
                except _WorkerDied:
                    if process.is_ready:
                        process.end(kill=True)
                    process.wait()
                    lost.append(process)
        finally:
            self._idle.put(process)
        if all(process.failed_to_start for process in lost):
            raise helper_not_started()
        return LostItem()

    def _running(self, process: _WorkerProcess) -> _WorkerProcess:
        """Return the process, or another one that replaces it if it has ended."""
        with self._lock:
            if self._is_closed:
                raise CancelledError
            if not process.is_running:
                process.wait()
                self._processes.remove(process)
                process = _WorkerProcess(self._preload)
                self._processes.add(process)
            return process


_CHECKED_PACKAGES = ("xlbridge", "pandas", "pandera", "python-calamine")
"""Packages on which the findings in a workbook depend."""

_CONNECT_SECONDS = 10
_NO_WORKER_SECONDS = 60
_POLL_SECONDS = 2
_MIN_PENDING = 8

_DASK_SETTINGS = {
    # Messages contain whole workbooks, a few at a time.
    "distributed.admin.large-graph-warning-threshold": "4 GiB",
}

_thread_local = local()


@dataclass(frozen=True, slots=True)
class Message:
    """Packed content, which Dask does not show, and the versions that its outcome depends on."""

    content: bytes = field(repr=False)
    versions: Mapping[str, str]


@cache
def _versions() -> Mapping[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in _CHECKED_PACKAGES}


def run_on_worker(message: Message) -> Message:
    """Run the packed task for its item on a worker of the cluster, in a child process.

    A hostile file can then only harm that process, and the threads of a worker do not wait for one
    another.
    """
    from xlbridge.parallel.messages import Raised, pack, run_task

    versions = _versions()
    if versions != message.versions:
        error = _versions_error(message.versions, versions)
        return Message(pack(Raised(error)), versions)
    attempts, item = pickle.loads(message.content)  # noqa: S301 - from the coordinator
    if not hasattr(_thread_local, "pool"):
        # Each thread keeps its process for later tasks.
        _thread_local.pool = LocalExecutor(1)
    answer = run_task(lambda one: _thread_local.pool.submit(attempts, one).result(), item)
    return Message(answer, versions)


@contextmanager
def connect_cluster(address: str) -> Iterator["ClusterExecutor"]:
    """Connect to the cluster of a scheduler at ``tcp://…`` or ``tls://…``.

    Raises ``UsageError`` for an invalid address, ``ConfigError`` if TLS is not set up,
    ``TransportError`` if there is no scheduler, or no worker.
    """
    import dask
    import distributed  # noqa: F401 - adds its settings to Dask's, which are changed below

    # Failures are reported as exceptions.
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with dask.config.set(_DASK_SETTINGS), _connect(address) as client:
            try:
                client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
            except TimeoutError as error:
                raise _no_workers_error(address) from error
            yield ClusterExecutor(client, address)
    finally:
        logger.setLevel(level)


class ClusterExecutor(Executor):
    """Workers of a cluster, to which the content of files is sent.

    Dask retries the items of a lost worker. The cluster must be trusted with all that is sent.
    """

    shares_files = False

    def __init__(self, client: "Client", address: str) -> None:
        self._client = client
        self._workers = client.get_executor(pure=False)
        self._address = address

    def max_pending(self) -> int:
        """Return the number of items to send ahead, so that no worker waits for the next one."""
        threads: int = sum(self._client.nthreads().values())
        return max(_MIN_PENDING, 2 * threads)

    def submit(self, attempts: Attempts, item: Any) -> Future[Message]:
        from xlbridge.parallel.messages import pack

        message = Message(pack((attempts, item)), _versions())
        future: Future[Message] = self._workers.submit(run_on_worker, message)
        return future

    def wait(self, futures: Collection[Future[Any]]) -> set[Future[Any]]:
        """Wait until some of the futures are done, and return these.

        Raises ``TransportError`` if no worker is left for a minute.
        """
        worker_seen = time.monotonic()
        while not (done := wait(futures, _POLL_SECONDS, FIRST_COMPLETED).done):
            if self._client.nthreads():
                worker_seen = time.monotonic()
            elif time.monotonic() - worker_seen > _NO_WORKER_SECONDS:
                raise _no_workers_error(self._address)
        return done

    def outcome(self, future: Future[Message]) -> Any:
        from distributed import KilledWorker

        from xlbridge.parallel.messages import outcome_of, unpack

        try:
            return outcome_of(unpack(future.result().content))
        except KilledWorker:
            return LostItem()
        except CancelledError as error:
            raise _no_answer_error(self._address) from error
        except (ImportError, AttributeError) as error:
            raise ConfigError(
                Text(
                    pt="O xlbridge não está instalado em um processo do cluster.",
                    en="xlbridge is not installed for a process of the cluster.",
                ),
                Text(
                    pt="O scheduler e os workers também precisam dele, com o extra dask.",
                    en="The scheduler and the workers need it too, with its extra dask.",
                ),
            ) from error


def _connect(address: str) -> "Client":
    from distributed import Client

    try:
        return Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except OSError as error:
        raise _no_answer_error(address) from error
    except ValueError as error:
        raise UsageError(
            Text(
                pt="{address!r} não é o endereço de um cluster Dask: tcp://SERVIDOR:PORTA ou "
                "tls://…",
                en="{address!r} is not the address of a Dask cluster: tcp://HOST:PORT or tls://…",
            ).format(address=address)
        ) from error
    except (TypeError, RuntimeError) as error:
        raise ConfigError(
            Text(
                pt="Faltam os certificados para tls://…",
                en="The certificates for tls://… are missing.",
            ),
            Text(
                pt="Configure-os no Dask: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT e "
                "…__CLIENT__KEY.",
                en="Configure them in Dask: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT "
                "and …__CLIENT__KEY.",
            ),
        ) from error


def _versions_error(expected: Mapping[str, str], found: Mapping[str, str]) -> ConfigError:
    differences = ", ".join(
        f"{name} {found.get(name)} ≠ {version}"
        for name, version in expected.items()
        if found.get(name) != version
    )
    return ConfigError(
        Text(
            pt="Um worker do cluster tem versões diferentes das deste computador: {differences}.",
            en="The versions on a worker of the cluster differ from this computer's: "
            "{differences}.",
        ).format(differences=differences),
        Text(
            pt="Instale as mesmas versões em toda parte: só assim o resultado é o mesmo.",
            en="Install the same versions everywhere, or results may differ.",
        ),
    )


def _no_answer_error(address: str) -> TransportError:
    return TransportError(
        Text(
            pt="O cluster Dask em {address} não responde.",
            en="The Dask cluster at {address} does not answer.",
        ).format(address=address),
        Text(
            pt="Confira o endereço em --scheduler, e se o dask scheduler está em execução.",
            en="Check the address in --scheduler, and that the dask scheduler is running.",
        ),
    )


def _no_workers_error(address: str) -> TransportError:
    return TransportError(
        Text(
            pt="O cluster Dask em {address} não tem nenhum worker.",
            en="The Dask cluster at {address} has no workers.",
        ).format(address=address),
        Text(
            pt="Inicie um: dask worker {address} --nthreads 1",
            en="Start one: dask worker {address} --nthreads 1",
        ).format(address=address),
    )


def main() -> None:
    """Answer tasks until the input ends."""
    from xlbridge.parallel.messages import run_task

    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Output printed by a library must not be mixed with the answers.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    pkgutil.resolve_name(sys.argv[1])
    report_ready(answers)
    while True:
        try:
            task = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the parent
            item = pickle.load(sys.stdin.buffer)  # noqa: S301
        except EOFError:
            return
        answers.write(run_task(task, item))
        answers.flush()


if __name__ == "__main__":
    main()
