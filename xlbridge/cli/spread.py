"""Where a command's files are worked on: here, or in processes beside it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from xlbridge.spreading.carrier import Carrier
from xlbridge.spreading.local import LocalWorkers, sensible_workers

_TASKS = "xlbridge.spreading.workbooks"


@contextmanager
def carrier_for(files: Sequence[Path], workers: int | None) -> Iterator[Carrier | None]:
    """Give what spreads the work over so many workers; None where this process does it all."""
    count = sensible_workers(files) if workers is None else min(workers, len(files))
    if count == 1:
        yield None
        return
    with LocalWorkers(count, _TASKS) as local:
        yield local
