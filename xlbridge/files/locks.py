"""File locks between processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from xlbridge.errors import UsageError
from xlbridge.files.atomic import make_private_folder, report_write_errors
from xlbridge.i18n import Text

_OWNER_ONLY = 0o600


@contextmanager
def lock_or_fail(home: Path, name: str, refusal: Text) -> Iterator[None]:
    """Hold what goes by a name for the block; the system frees it when the process dies.

    Raises ``UsageError`` with ``refusal`` when another process holds it.
    """
    folder = home / "locks"
    path = folder / f"{name}.lock"
    lock = FileLock(path, mode=_OWNER_ONLY)
    with report_write_errors(path):
        make_private_folder(folder)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            raise UsageError(refusal) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold a lock for the length of the block; the system frees it when the process dies.

    Its folder is made for its owner only. Raises ``UsageError`` when it cannot be written there.
    """
    lock = FileLock(path, mode=_OWNER_ONLY)
    with report_write_errors(path):
        make_private_folder(path.parent)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
