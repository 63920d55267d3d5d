"""Executor on the workers of a Dask cluster. Needs the extra ``dask``.

Tasks, items and outcomes travel as opaque bytes, so that credentials and the content of workbooks
do not appear in the scheduler, the workers' logs or the dashboard.
"""

import logging
import pickle
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any

import dask
from distributed import Client, KilledWorker

from xlbridge.errors import ConfigError, TransportError, UsageError
from xlbridge.i18n import Text
from xlbridge.parallel.executors import Attempts, Executor, LocalExecutor, LostItem
from xlbridge.parallel.messages import Raised, outcome_of, pack, run_task, unpack

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

_thread_local = threading.local()


@dataclass(frozen=True, slots=True)
class Message:
    """Packed content, which Dask does not show, and the versions that its outcome depends on."""

    content: bytes = field(repr=False)
    versions: Mapping[str, str]


@cache
def _versions() -> Mapping[str, str]:
    return {name: version(name) for name in _CHECKED_PACKAGES}


def run_on_worker(message: Message) -> Message:
    """Run the packed task for its item on a worker of the cluster, in a child process.

    A hostile file can then only harm that process, and the threads of a worker do not wait for one
    another.
    """
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

    def __init__(self, client: Client, address: str) -> None:
        self._client = client
        self._workers = client.get_executor(pure=False)
        self._address = address

    def max_pending(self) -> int:
        """Return the number of items to send ahead, so that no worker waits for the next one."""
        threads: int = sum(self._client.nthreads().values())
        return max(_MIN_PENDING, 2 * threads)

    def submit(self, attempts: Attempts, item: Any) -> Future[Message]:
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


def _connect(address: str) -> Client:
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
