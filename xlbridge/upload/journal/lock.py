"""One process at a time may run a job, or a batch of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from xlbridge.errors import UsageError
from xlbridge.i18n import Text

_JOB_HELD = Text(
    pt="O envio {job} está sendo tratado por outro processo.",
    en="The upload {job} is being worked on by another process.",
)


@contextmanager
def job_lock(home: Path, job_id: str) -> Iterator[None]:
    """Hold a job for the length of the block. Raises ``UsageError`` as ``held`` does."""
    with held(home, job_id, _JOB_HELD.format(job=job_id)):
        yield


@contextmanager
def held(home: Path, name: str, refusal: Text) -> Iterator[None]:
    """Hold what goes by a name for the block; the system frees it when the process dies.

    Raises ``UsageError`` with ``refusal`` when another process holds it.
    """
    folder = home / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise UsageError(refusal) from None
    try:
        yield
    finally:
        lock.release()
