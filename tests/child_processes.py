"""Child processes of a command, read from /proc."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

_PATIENCE = 120.0
_EVERY = 0.005
_Result = TypeVar("_Result")


def descendants(pid: int) -> Iterator[int]:
    """Yield all descendants of a process."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        # A helper may have been started by any thread.
        children += [
            child
            for thread in Path(f"/proc/{pid}/task").iterdir()
            if thread.name != str(pid)
            for child in (thread / "children").read_text().split()
        ]
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from descendants(child)


def workers_of(pid: int) -> list[int]:
    """Return the worker processes of a command."""
    return [child for child in descendants(pid) if "xlbridge.parallel" in command_of(child)]


def busy_workers(pid: int, seconds: float) -> list[int]:
    """Return the worker processes of a command that used at least ``seconds`` of processor time."""
    return [worker for worker in workers_of(pid) if cpu_seconds(worker) >= seconds]


def cpu_seconds(pid: int) -> float:
    """Return the processor time used by a process, in seconds."""
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


def is_alive(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until(poll: Callable[[], _Result]) -> _Result:
    """Poll until the result is truthy, and return it."""
    deadline = time.monotonic() + _PATIENCE
    while not (result := poll()):
        assert time.monotonic() < deadline
        time.sleep(_EVERY)
    return result
