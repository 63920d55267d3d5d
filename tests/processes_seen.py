"""What runs beside a command, as /proc tells it."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

_PATIENCE = 120.0
_EVERY = 0.005
Seen = TypeVar("Seen")


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process started, and those that they started."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        # A helper may have been started by any thread.
        listed += [
            child
            for thread in Path(f"/proc/{pid}/task").iterdir()
            if thread.name != str(pid)
            for child in (thread / "children").read_text().split()
        ]
    except OSError:
        return
    for child in map(int, listed):
        yield child
        yield from descendants(child)


def workers_of(pid: int) -> list[int]:
    """Return the worker processes of a command."""
    return [child for child in descendants(pid) if "xlbridge.parallel" in command_of(child)]


def busy_workers(pid: int, seconds: float) -> list[int]:
    """Return the worker processes of a command that took so much processor time already."""
    return [worker for worker in workers_of(pid) if cpu_seconds(worker) >= seconds]


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process took, in seconds."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def lives(pid: int) -> bool:
    """Tell whether a process is there and is more than an entry that nobody asked for yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def awaited(look: Callable[[], Seen]) -> Seen:
    """Look until there is something to be seen."""
    deadline = time.monotonic() + _PATIENCE
    while not (seen := look()):
        assert time.monotonic() < deadline
        time.sleep(_EVERY)
    return seen
