"""Executor of the workers of a Dask cluster. Needs the extra ``dask``.

The scheduler, the workers' logs and the dashboard see nothing of tasks, items and outcomes:
they travel as opaque bytes, for they may hold credentials and the content of workbooks.
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
"""The packages that decide what is found in a workbook."""


_thread_local = threading.local()


@dataclass(frozen=True, slots=True)
class OpaqueBytes:
    """Packed bytes, which only their receiver unpacks."""

    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class TaskMessage:
    """A task with an item, and the versions that its outcome depends on."""

    versions: Mapping[str, str]
    sealed: OpaqueBytes


def run_on_worker(ordered: TaskMessage) -> OpaqueBytes:
    """Do what was ordered: this runs on a worker of the cluster.

    A process beside it does the work. So a hostile file harms nobody else's work there, and the
    threads of a worker do not wait for one another.
    """
    ours = _versions()
    if ours != ordered.versions:
        return OpaqueBytes(pack(Raised(_versions_error(ordered.versions, ours), "")))
    task, again, item = pickle.loads(ordered.sealed.content)  # noqa: S301 - from the coordinator
    return OpaqueBytes(
        run_task(lambda one: next(_thread_executor().run(task, [one], again=again)), item)
    )


def _thread_executor() -> LocalExecutor:
    """Return the process beside this thread, which stays for what comes next."""
    if not hasattr(_thread_local, "workers"):
        _thread_local.workers = LocalExecutor(1, "xlbridge.parallel.workbooks")
    workers: LocalExecutor = _thread_local.workers
    return workers


def unpack_outcome(sealed: OpaqueBytes) -> Any:
    """Return what the task returned. Raises what it raised, ``WorkerDefect`` for a defect."""
    answered: Answer = unpack(sealed.content)
    return outcome_of(answered)


@cache
def _versions() -> Mapping[str, str]:
    return {name: version(name) for name in _CHECKED_PACKAGES}


def _versions_error(wanted: Mapping[str, str], found: Mapping[str, str]) -> ConfigError:
    differing = ", ".join(
        f"{name} {found.get(name)} ≠ {wanted[name]}"
        for name in wanted
        if found.get(name) != wanted[name]
    )
    return ConfigError(
        Text(
            pt="Um worker do cluster tem versões diferentes das deste computador: {differing}.",
            en="A worker of the cluster has other versions than this computer: {differing}.",
        ).format(differing=differing),
        Text(
            pt="Instale as mesmas versões em toda parte: só assim o resultado é o mesmo.",
            en="Install the same versions everywhere: only then the outcome is the same.",
        ),
    )


_CONNECT_SECONDS = 10
_NO_WORKER_SECONDS = 60
_POLL_SECONDS = 2
_MIN_AHEAD = 8

_DASK_SETTINGS = {
    # What is sent are whole workbooks, a few at a time.
    "distributed.admin.large-graph-warning-threshold": "4 GiB",
}


@contextmanager
def connect_cluster(address: str) -> Iterator["DaskExecutor"]:
    """Connect to the cluster of a scheduler at ``tcp://…`` or ``tls://…``.

    Raises ``UsageError`` for what is no address, ``ConfigError`` when TLS is not set up,
    ``TransportError`` when there is no scheduler there, or no worker.
    """
    with dask.config.set(_DASK_SETTINGS), _quiet_logs(), _client(address) as client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError as error:
            raise _no_workers_error(address) from error
        yield DaskExecutor(client, address)


class DaskExecutor:
    """The workers of a cluster, wherever they are: files travel to them.

    A worker that is lost costs a retry of the items that it was at. The cluster must be trusted
    with all that is sent to it.
    """

    shares_files = False

    def __init__(self, client: Client, address: str) -> None:
        """``address`` is how the scheduler is called in messages."""
        self._client = client
        self._address = address

    def run(
        self,
        task: Task[Item, Outcome],
        items: Iterable[Item],
        on_done: OnDone = lambda _place: None,
        *,
        again: Task[Item, Outcome] | None = None,
    ) -> Iterator[Outcome | LostItem]:
        """Yield what the task returns for each item, in the items' order.

        ``again`` is what is done in its place for an item whose process was lost over it.
        Raises the ``XlbridgeError`` that the task raised, ``ConfigError`` when the workers have no
        xlbridge or another one, ``TransportError`` when the cluster is gone; ``WorkerDefect``.
        """
        ahead = max(_MIN_AHEAD, 2 * sum(self._client.nthreads().values()))
        waiting: deque[Future[OpaqueBytes]] = deque()
        run = uuid4().hex
        try:
            for place, item in enumerate(items):
                key = f"xlbridge-{run}-{place}"
                message = TaskMessage(_versions(), OpaqueBytes(pack((task, again, item))))
                future = self._client.submit(run_on_worker, message, key=key, pure=False)
                future.add_done_callback(lambda _future, place=place: on_done(place))
                waiting.append(future)
                if len(waiting) > ahead:
                    yield self._outcome(waiting.popleft())
            while waiting:
                yield self._outcome(waiting.popleft())
        finally:
            self._client.cancel(list(waiting))

    def _outcome(self, future: "Future[OpaqueBytes]") -> Any:
        try:
            return unpack_outcome(self._awaited(future))
        except KilledWorker:
            return LostItem()
        except CancelledError as error:
            raise _no_answer_error(self._address) from error
        except (ImportError, AttributeError) as error:
            raise _not_installed_error() from error

    def _awaited(self, future: "Future[OpaqueBytes]") -> OpaqueBytes:
        """Wait for a future, but not for ever where no worker is left."""
        seen = time.monotonic()
        while True:
            try:
                return future.result(timeout=_POLL_SECONDS)
            except TimeoutError:
                if self._client.nthreads():
                    seen = time.monotonic()
                elif time.monotonic() - seen > _NO_WORKER_SECONDS:
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
    """Leave the report of what happens to the exceptions; Dask would print it as well."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


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
            pt="Informe-os ao Dask: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT e "
            "…__CLIENT__KEY.",
            en="Give them to Dask: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT and "
            "…__CLIENT__KEY.",
        ),
    )


def _not_installed_error() -> ConfigError:
    return ConfigError(
        Text(
            pt="Um processo do cluster não tem o xlbridge.",
            en="A process of the cluster has no xlbridge.",
        ),
        Text(
            pt='Instale-o também no scheduler e nos workers: pip install "xlbridge[dask]"',
            en='Install it for the scheduler and the workers, too: pip install "xlbridge[dask]"',
        ),
    )
