"""Executor on the workers of a Dask cluster. Needs the extra ``dask``.

Tasks, items and outcomes travel as opaque bytes, so that credentials and the content of workbooks
do not appear in the scheduler, the workers' logs or the dashboard.
"""

import logging
import pickle
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, Future, KilledWorker

from xlbridge.errors import ConfigError, TransportError, UsageError
from xlbridge.i18n import Text
from xlbridge.parallel.local import LocalExecutor
from xlbridge.parallel.messages import Answer, Raised, outcome_of, pack, run_task, unpack
from xlbridge.parallel.tasks import Item, LostItem, OnDone, Outcome, Task

_CHECKED_PACKAGES = ("xlbridge", "pandas", "pandera", "python-calamine")
"""Packages on which the findings in a workbook depend."""

_thread_local = threading.local()


@dataclass(frozen=True, slots=True)
class OpaqueBytes:
    """Packed bytes, which Dask does not show and only their receiver unpacks."""

    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """A packed task with an item, and the versions that its outcome depends on."""

    versions: Mapping[str, str]
    payload: OpaqueBytes


def run_on_worker(message: TaskMessage) -> OpaqueBytes:
    """Run a task on a worker of the cluster, in a child process.

    A hostile file can then only harm that process, and the threads of a worker do not wait for one
    another.
    """
    versions = _versions()
    if versions != message.versions:
        return OpaqueBytes(pack(Raised(_versions_error(message.versions, versions), "")))
    task, retry, item = pickle.loads(message.payload.content)  # noqa: S301 - from the coordinator
    return OpaqueBytes(
        run_task(lambda one: next(_thread_executor().run(task, [one], retry=retry)), item)
    )


def _thread_executor() -> LocalExecutor:
    """Return this thread's child process, which is kept for later tasks."""
    if not hasattr(_thread_local, "executor"):
        _thread_local.executor = LocalExecutor(1, "xlbridge.parallel.workbooks")
    executor: LocalExecutor = _thread_local.executor
    return executor


def unpack_outcome(payload: OpaqueBytes) -> Any:
    """Return what the task returned. Raises its ``XlbridgeError``, or ``WorkerDefect``."""
    answer: Answer = unpack(payload.content)
    return outcome_of(answer)


@cache
def _versions() -> Mapping[str, str]:
    return {name: version(name) for name in _CHECKED_PACKAGES}


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


_CONNECT_SECONDS = 10
_NO_WORKER_SECONDS = 60
_POLL_SECONDS = 2
_MIN_PENDING = 8

_DASK_SETTINGS = {
    # Messages contain whole workbooks, a few at a time.
    "distributed.admin.large-graph-warning-threshold": "4 GiB",
}


@contextmanager
def connect_cluster(address: str) -> Iterator["DaskExecutor"]:
    """Connect to the cluster of a scheduler at ``tcp://…`` or ``tls://…``.

    Raises ``UsageError`` for an invalid address, ``ConfigError`` if TLS is not set up,
    ``TransportError`` if there is no scheduler, or no worker.
    """
    with dask.config.set(_DASK_SETTINGS), _quiet_logs(), _client(address) as client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError as error:
            raise _no_workers_error(address) from error
        yield DaskExecutor(client, address)


class DaskExecutor:
    """Executor on the workers of a cluster, to which the content of files is sent.

    The items of a lost worker are retried. The cluster must be trusted with all that is sent to it.
    """

    shares_files = False

    def __init__(self, client: Client, address: str) -> None:
        """``address`` is the scheduler's, for messages."""
        self._client = client
        self._address = address

    def run(
        self,
        task: Task[Item, Outcome],
        items: Iterable[Item],
        on_done: OnDone = lambda _index: None,
        *,
        retry: Task[Item, Outcome] | None = None,
    ) -> Iterator[Outcome | LostItem]:
        """Yield the outcome of the task for each item, in order; see ``Executor.run``.

        Raises the task's ``XlbridgeError``, ``WorkerDefect``, ``ConfigError`` if the workers lack
        xlbridge or have another version, ``TransportError`` if the cluster is gone.
        """
        max_pending = max(_MIN_PENDING, 2 * sum(self._client.nthreads().values()))
        pending: deque[Future[OpaqueBytes]] = deque()
        run_id = uuid4().hex
        try:
            for index, item in enumerate(items):
                key = f"xlbridge-{run_id}-{index}"
                message = TaskMessage(_versions(), OpaqueBytes(pack((task, retry, item))))
                future = self._client.submit(run_on_worker, message, key=key, pure=False)
                future.add_done_callback(lambda _future, index=index: on_done(index))
                pending.append(future)
                if len(pending) > max_pending:
                    yield self._outcome(pending.popleft())
            while pending:
                yield self._outcome(pending.popleft())
        finally:
            self._client.cancel(list(pending))

    def _outcome(self, future: "Future[OpaqueBytes]") -> Any:
        try:
            return unpack_outcome(self._wait_for(future))
        except KilledWorker:
            return LostItem()
        except CancelledError as error:
            raise _no_answer_error(self._address) from error
        except (ImportError, AttributeError) as error:
            raise _not_installed_error() from error

    def _wait_for(self, future: "Future[OpaqueBytes]") -> OpaqueBytes:
        """Wait for a future, but not forever if no worker is left."""
        worker_seen = time.monotonic()
        while True:
            try:
                return future.result(timeout=_POLL_SECONDS)
            except TimeoutError:
                if self._client.nthreads():
                    worker_seen = time.monotonic()
                elif time.monotonic() - worker_seen > _NO_WORKER_SECONDS:
                    raise _no_workers_error(self._address) from None


@contextmanager
def _client(address: str) -> Iterator[Client]:
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except OSError as error:
        raise _no_answer_error(address) from error
    except ValueError as error:
        raise _address_error(address) from error
    except (TypeError, RuntimeError) as error:
        raise _tls_error() from error
    with client:
        yield client


@contextmanager
def _quiet_logs() -> Iterator[None]:
    """Silence Dask's log: failures are reported as exceptions."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _no_answer_error(address: str) -> TransportError:
    return TransportError(
        Text(
            pt="O cluster Dask em {address} não responde.",
            en="The Dask cluster at {address} does not answer.",
        ).format(address=address)
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


def _address_error(address: str) -> UsageError:
    return UsageError(
        Text(
            pt="{address!r} não é o endereço de um cluster Dask: tcp://SERVIDOR:PORTA ou tls://…",
            en="{address!r} is not the address of a Dask cluster: tcp://HOST:PORT or tls://…",
        ).format(address=address)
    )


def _tls_error() -> ConfigError:
    return ConfigError(
        Text(
            pt="Faltam os certificados para tls://…",
            en="The certificates for tls://… are missing.",
        ),
        Text(
            pt="Configure-os no Dask: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT e "
            "…__CLIENT__KEY.",
            en="Configure them in Dask: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT and "
            "…__CLIENT__KEY.",
        ),
    )


def _not_installed_error() -> ConfigError:
    return ConfigError(
        Text(
            pt="O xlbridge não está instalado em um processo do cluster.",
            en="xlbridge is not installed for a process of the cluster.",
        ),
        Text(
            pt='Instale-o também no scheduler e nos workers: pip install "xlbridge[dask]"',
            en='Install it for the scheduler and the workers too: pip install "xlbridge[dask]"',
        ),
    )
