"""Where a command's files are worked on: here, in processes beside it, or on a Dask cluster."""

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from xlbridge.errors import ConfigError, UsageError
from xlbridge.i18n import Text
from xlbridge.spreading.carrier import Carrier
from xlbridge.spreading.local import LocalWorkers, sensible_workers

_TASKS = "xlbridge.spreading.workbooks"


@contextmanager
def carrier_for(
    files: Sequence[Path], workers: int | None, scheduler: str | None
) -> Iterator[Carrier | None]:
    """Give what spreads the work as the options say; None where this process does it all.

    Raises ``UsageError`` when both are asked for, ``ConfigError`` when the extra ``dask`` is not
    installed, ``TransportError`` when the cluster does not answer.
    """
    if scheduler is not None:
        if workers is not None:
            raise UsageError(
                Text(
                    pt="--workers e --scheduler se excluem.",
                    en="--workers and --scheduler exclude one another.",
                )
            )
        with cluster_of(scheduler) as cluster:
            yield cluster
        return
    count = sensible_workers(files) if workers is None else min(workers, len(files))
    if count <= 1:
        yield None
        return
    with LocalWorkers(count, _TASKS) as local:
        yield local


@contextmanager
def cluster_of(scheduler: str) -> Iterator[Carrier]:
    """Connect to a Dask cluster for the length of the block.

    Raises ``ConfigError`` when the extra ``dask`` is not installed, ``TransportError`` when the
    cluster does not answer.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ConfigError(
            Text(pt="O Dask não está instalado.", en="Dask is not installed."),
            Text(
                pt='Instale-o: pip install "xlbridge[dask]"',
                en='Install it: pip install "xlbridge[dask]"',
            ),
        )
    # Dask takes its time to import.
    from xlbridge.spreading.cluster import connected

    with connected(scheduler) as cluster:
        yield cluster
