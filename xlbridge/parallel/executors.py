"""Executor of a task for many items, on local worker processes or a Dask cluster."""

import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

# The package, whose names are imported lazily: a large file is read in the meantime.
from xlbridge import resources
from xlbridge.errors import UsageError
from xlbridge.extras import require_extra
from xlbridge.i18n import Text
from xlbridge.parallel.local import LocalPool, LostItem
from xlbridge.processes import available_cpus

if TYPE_CHECKING:
    from xlbridge.parallel.cluster import ClusterPool
    from xlbridge.resources import Catalogue

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")

_MIN_BYTES = 4 * 2**20
"""Total size of files, in bytes, below which starting processes costs more than it saves."""


@dataclass(frozen=True, slots=True)
class CustomSchemas:
    """A folder of custom schema files, with their contents for workers that do not see it."""

    folder: Path
    contents: tuple[tuple[str, bytes], ...] | None = None

    def catalogue(self) -> "Catalogue":
        """Return the catalogue of these and the shipped files.

        Raises ``SchemaFileError`` if one is wrong.
        """
        return resources.load_catalogue(
            self.folder if self.contents is None else Path(_unpack(self).name)
        )


@cache
def _unpack(schemas: CustomSchemas) -> tempfile.TemporaryDirectory[str]:
    """Write the files to a temporary folder, kept as long as this process."""
    folder = tempfile.TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True)
    for name, content in schemas.contents or ():
        file = Path(folder.name, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


class Executor:
    """Runs a task for many items on a pool of workers; losing one affects only its item.

    It runs one task at a time.
    """

    def __init__(self, pool: "LocalPool | ClusterPool") -> None:
        self._pool = pool

    @property
    def shares_files(self) -> bool:
        """True if workers see the files of this machine under the same paths."""
        return self._pool.shares_files

    def custom_schemas(self, folder: Path) -> CustomSchemas:
        """Return the schema files in a folder and its subfolders, as workers need them.

        Raises ``SchemaFileError`` if one is wrong.
        """
        if self.shares_files:
            return CustomSchemas(folder)
        contents = (
            (path.relative_to(folder).as_posix(), path.read_bytes())
            for path in resources.schema_files(folder)
            if path.is_relative_to(folder)
        )
        return CustomSchemas(folder, tuple(contents))

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
        max_pending = self._pool.max_pending()
        pending: deque[Future[Any]] = deque()
        unfinished: dict[Future[Any], int] = {}
        try:
            while True:
                for index, item in islice(numbered, max_pending - len(pending)):
                    future = self._pool.submit((task, retry or task), item)
                    pending.append(future)
                    unfinished[future] = index
                if not pending:
                    return
                while pending[0] in unfinished:
                    for future in self._pool.wait(unfinished):
                        on_done(unfinished.pop(future))
                yield self._pool.outcome(pending.popleft())
        finally:
            for future in pending:
                future.cancel()


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
        require_extra("dask")
        # Imported late: Dask is slow to import.
        from xlbridge.parallel.cluster import connect_cluster

        with connect_cluster(scheduler) as cluster:
            yield Executor(cluster)
        return
    count = default_worker_count(files) if workers is None else min(workers, len(files))
    if count <= 1:
        yield None
        return
    with LocalPool(count) as pool:
        yield Executor(pool)


def default_worker_count(files: Sequence[Path]) -> int:
    """Return the number of processes worth starting for some files, at most one per core."""
    if sum(file.stat().st_size for file in files if file.is_file()) < _MIN_BYTES:
        return 1
    return min(available_cpus(), len(files))
