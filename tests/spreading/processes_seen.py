"""What runs beside a command, as /proc tells it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

_PATIENCE = 30.0
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
    return [child for child in descendants(pid) if "xlbridge.spreading" in command_of(child)]


def workers_at(file: Path, pid: int) -> list[int]:
    """Return the worker processes whose parser reads a file at this moment."""
    return [worker for worker in workers_of(pid) if any(map(_reads(file), descendants(worker)))]


def _reads(file: Path) -> Callable[[int], bool]:
    def reads(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/fd/0").readlink() == file
        except OSError:
            return False

    return reads


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
