"""Where the windows of a run wait for its end, and for the next run should it not come to it.

Which windows serve a second time, and why none of them is stale, is told in ``docs/exports.md``.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock, Timeout

from xlbridge.export.part import FINISHED, Part
from xlbridge.workbook.atomic import reporting_failures

LONGEST_KEPT = timedelta(hours=6)
"""So long the windows of a run serve the next one."""

_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A place for the windows of one request, under a folder of all of them.

    ``asked`` is everything that the answers and their lines depend on. ``fresh`` says that what
    an earlier run left is not to be used.
    """

    folder: Path
    asked: Sequence[object]
    fresh: bool = False

    @contextmanager
    def place(self, now: datetime) -> Iterator[Path]:
        """Give the folder for the parts of this run, with what an earlier one left in it.

        It is gone when the block ends; after an exception whole windows stay. Where another
        process works at the same request, it is an empty folder that leaves nothing.
        """
        own = self._own
        with reporting_failures(own):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _forget_old(self.folder, now)
            own.mkdir(exist_ok=True, mode=0o700)
        try:
            lock = FileLock(own / _LOCK)
            lock.acquire(blocking=False)
        except Timeout:
            with temporary_place() as folder:
                yield folder
            return
        try:
            _clear(own, now, all_of_it=self.fresh)
            yield own
        except BaseException:
            _clear(own, now, all_of_it=False)
            raise
        else:
            _clear(own, now, all_of_it=True)
        finally:
            _let_go(own, lock)

    def windows(self) -> int:
        """Return how many windows wait for the next run."""
        return sum(1 for _ in self._own.glob(f"*/{FINISHED}"))

    @property
    def _own(self) -> Path:
        return self.folder / hashlib.sha256(json.dumps(self.asked).encode()).hexdigest()[:24]


@contextmanager
def temporary_place() -> Iterator[Path]:
    """Give an empty folder that is gone when the block ends."""
    with TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _clear(folder: Path, now: datetime, *, all_of_it: bool) -> None:
    """Remove what is no whole window, or too old to be used."""
    for path in folder.iterdir():
        if path.name == _LOCK or (not all_of_it and _serves(path, now)):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _serves(folder: Path, now: datetime) -> bool:
    part = Part.finished(folder)
    begun = None if part is None else part.begun
    return begun is not None and timedelta(0) <= now - begun <= LONGEST_KEPT


def _forget_old(folder: Path, now: datetime) -> None:
    """Remove what runs of other requests left long ago, unless one is at work there."""
    for other in folder.iterdir():
        # What comes and goes meanwhile, another command is clearing away; its lock may make the
        # folder anew.
        with suppress(Timeout, FileNotFoundError, FileExistsError):
            if other.stat().st_mtime <= (now - LONGEST_KEPT).timestamp():
                _forget(other, now)


def _forget(folder: Path, now: datetime) -> None:
    """Remove what an old run left. Raises ``Timeout`` where one is at work."""
    lock = FileLock(folder / _LOCK)
    lock.acquire(blocking=False)
    try:
        _clear(folder, now, all_of_it=False)
    finally:
        _let_go(folder, lock)


def _let_go(folder: Path, lock: FileLock) -> None:
    """Release a place, and remove it where nothing is left in it."""
    try:
        if [path.name for path in folder.iterdir()] in ([], [_LOCK]):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        lock.release()
    # Windows removes no file that is open: there the lock is gone only now.
    with suppress(OSError):
        folder.rmdir()
