"""The workers of a Dask cluster. Needs the extra ``dask``."""

import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import dask
from distributed import Client, Future, KilledWorker

from xlbridge.errors import ConfigError, TransportError, UsageError
from xlbridge.i18n import Text
from xlbridge.spreading.carrier import Item, Lost, OnDone, Outcome, Task
from xlbridge.spreading.cluster_task import Sealed, carry_out, order, outcome

_CONNECT_SECONDS = 10
_WORKERLESS_SECONDS = 60
_LOOK_SECONDS = 2
_FEWEST_AHEAD = 8

_SETTINGS = {
    # What is sent are whole workbooks, a few at a time.
    "distributed.admin.large-graph-warning-threshold": "4 GiB",
}


@contextmanager
def connected(address: str) -> Iterator["DaskCluster"]:
    """Connect to the cluster of a scheduler at ``tcp://…`` or ``tls://…``.

    Raises ``UsageError`` for what is no address, ``ConfigError`` when TLS is not set up,
    ``TransportError`` when there is no scheduler there, or no worker.
    """
    with dask.config.set(_SETTINGS), _quiet(), _client(address) as client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
        except TimeoutError as error:
            raise _no_workers(address) from error
        yield DaskCluster(client, address)


class DaskCluster:
    """The workers of a cluster, wherever they are: files travel to them.

    A worker that is lost costs a retry of the items that it was at. The cluster must be trusted
    with all that is sent to it.
    """

    shares_files = False
    is_expendable = True

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
    ) -> Iterator[Outcome | Lost]:
        """Yield what the task returns for each item, in the items' order.

        ``again`` is what is done in its place for an item whose process was lost over it.
        Raises the ``XlbridgeError`` that the task raised, ``ConfigError`` when the workers have no
        xlbridge or another one, ``TransportError`` when the cluster is gone; ``WorkerDefect``.
        """
        ahead = max(_FEWEST_AHEAD, 2 * sum(self._client.nthreads().values()))
        waiting: deque[Future[Sealed]] = deque()
        run = uuid4().hex
        try:
            for place, item in enumerate(items):
                key = f"xlbridge-{run}-{place}"
                future = self._client.submit(
                    carry_out, order(task, again, item), key=key, pure=False
                )
                future.add_done_callback(lambda _future, place=place: on_done(place))
                waiting.append(future)
                if len(waiting) > ahead:
                    yield self._outcome(waiting.popleft())
            while waiting:
                yield self._outcome(waiting.popleft())
        finally:
            self._client.cancel(list(waiting))

    def _outcome(self, future: "Future[Sealed]") -> Any:
        try:
            return outcome(self._awaited(future))
        except KilledWorker:
            return Lost()
        except CancelledError as error:
            raise _gone(self._address) from error
        except (ImportError, AttributeError) as error:
            raise _not_installed() from error

    def _awaited(self, future: "Future[Sealed]") -> Sealed:
        """Wait for a future, but not for ever where no worker is left."""
        seen = time.monotonic()
        while True:
            try:
                return future.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                if self._client.nthreads():
                    seen = time.monotonic()
                elif time.monotonic() - seen > _WORKERLESS_SECONDS:
                    raise _no_workers(self._address) from None


@contextmanager
def _client(address: str) -> Iterator[Client]:
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except OSError as error:
        raise _gone(address) from error
    except ValueError as error:
        raise _no_address(address) from error
    except (TypeError, RuntimeError) as error:
        raise _no_tls() from error
    with client:
        yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave it to the exceptions to tell what happens; Dask would print it as well."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _gone(address: str) -> TransportError:
    return TransportError(
        Text(
            pt="O cluster Dask em {address} não responde.",
            en="The Dask cluster at {address} does not answer.",
        ).format(address=address)
    )


def _no_workers(address: str) -> TransportError:
    return TransportError(
        Text(
            pt="O cluster Dask em {address} não tem nenhum processo que trabalhe.",
            en="The Dask cluster at {address} has no workers.",
        ).format(address=address),
        Text(
            pt="Inicie um: dask worker {address} --nthreads 1",
            en="Start one: dask worker {address} --nthreads 1",
        ).format(address=address),
    )


def _no_address(address: str) -> UsageError:
    return UsageError(
        Text(
            pt="{address!r} não é o endereço de um cluster Dask: tcp://SERVIDOR:PORTA ou tls://…",
            en="{address!r} is not the address of a Dask cluster: tcp://HOST:PORT or tls://…",
        ).format(address=address)
    )


def _no_tls() -> ConfigError:
    return ConfigError(
        Text(
            pt="Faltam os certificados para tls://…",
            en="The certificates for tls://… are missing.",
        ),
        Text(
            pt="Diga-os ao Dask: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT e "
            "…__CLIENT__KEY.",
            en="Tell Dask of them: DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT and "
            "…__CLIENT__KEY.",
        ),
    )


def _not_installed() -> ConfigError:
    return ConfigError(
        Text(
            pt="Um processo do cluster não tem o xlbridge.",
            en="A part of the cluster has no xlbridge.",
        ),
        Text(
            pt='Instale-o também no scheduler e nos workers: pip install "xlbridge[dask]"',
            en='Install it for the scheduler and the workers, too: pip install "xlbridge[dask]"',
        ),
    )
