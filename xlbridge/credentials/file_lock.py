"""One process at a time may change what is kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from xlbridge.workbook.atomic import reporting_failures


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock for the length of the block; the system frees it when the process dies.

    Its folder is made for its owner only. Raises ``UsageError`` when it cannot be written there.
    """
    lock = FileLock(path)
    with reporting_failures(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
