"""Choice of an executor: this process, local worker processes, or a Dask cluster."""

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from xlbridge.errors import ConfigError, UsageError
from xlbridge.i18n import Text
from xlbridge.parallel.local import LocalExecutor, default_worker_count
from xlbridge.parallel.tasks import Executor

_TASK_MODULE = "xlbridge.parallel.workbooks"


@contextmanager
def executor_for(
    files: Sequence[Path], workers: int | None, scheduler: str | None
) -> Iterator[Executor | None]:
    """Open the executor for some files; None if this process suffices.

    ``workers`` is the number of local processes (None: chosen by the size of the files),
    ``scheduler`` the address of a cluster.

    Raises ``UsageError`` if both are given, ``ConfigError`` if the extra ``dask`` is not installed,
    ``TransportError`` if the cluster does not answer.
    """
    if scheduler is not None:
        if workers is not None:
            raise UsageError(
                Text(
                    pt="--workers e --scheduler não podem ser usados juntos.",
                    en="--workers and --scheduler are mutually exclusive.",
                )
            )
        with cluster_executor(scheduler) as cluster:
            yield cluster
        return
    count = default_worker_count(files) if workers is None else min(workers, len(files))
    if count <= 1:
        yield None
        return
    with LocalExecutor(count, _TASK_MODULE) as local:
        yield local


@contextmanager
def cluster_executor(scheduler: str) -> Iterator[Executor]:
    """Connect to a Dask cluster for the block.

    Raises ``ConfigError`` if the extra ``dask`` is not installed, ``TransportError`` if the cluster
    does not answer.
    """
    if importlib.util.find_spec("distributed") is None:
        raise ConfigError(
            Text(pt="O Dask não está instalado.", en="Dask is not installed."),
            Text(
                pt='Instale-o: pip install "xlbridge[dask]"',
                en='Install it: pip install "xlbridge[dask]"',
            ),
        )
    # Imported late: Dask is slow to import.
    from xlbridge.parallel.cluster import connect_cluster

    with connect_cluster(scheduler) as cluster:
        yield cluster
