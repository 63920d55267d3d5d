"""One process at a time may run a job."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from xlbridge.errors import UsageError
from xlbridge.i18n import Text


@contextmanager
def job_lock(home: Path, job_id: str) -> Iterator[None]:
    """Hold a job for the length of the block; the system frees it when the process dies.

    Raises ``UsageError`` when another process holds it.
    """
    folder = home / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{job_id}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UsageError(
            Text(
                pt="O envio {job} está sendo tratado por outro processo.",
                en="The upload {job} is being worked on by another process.",
            ).format(job=job_id)
        ) from None
    try:
        yield
    finally:
        lock.release()
