"""Time whole processes against each other, in turn, in one run."""

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_INTERVAL = 0.02
_WORK_INTERVAL = 0.005
# An installed program is compiled once, not with each command.
_ENVIRONMENT = {n: value for n, value in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}


@dataclass(slots=True)
class Cost:
    """Wall seconds of a command in each run, and its peak memory in MB.

    Memory is that of the process and its helpers, sampled 50 times a second during the first run,
    which is timed only if it is the only one; None if the system does not report it.
    ``processor_runs`` are their processor seconds, which do not depend on other load.
    """

    runs: list[float] = field(default_factory=list)
    processor_runs: list[float] = field(default_factory=list)
    megabytes: float | None = None

    @property
    def seconds(self) -> float:
        return statistics.median(self.runs)

    @property
    def processor_seconds(self) -> float:
        return statistics.median(self.processor_runs)


def costs(
    commands: Mapping[str, Sequence[str]], runs: int, settings: Mapping[str, str] | None = None
) -> dict[str, Cost]:
    """Run the commands in turn, ``runs`` times after a warm-up, with more environment variables."""
    environment = _ENVIRONMENT | dict(settings or {})
    found = {name: Cost() for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            before = _processor_seconds()
            cost = found[name]
            if number == 0:
                seconds, cost.megabytes = _run_sampled(name, command, environment)
            else:
                seconds = _run(name, command, environment)
            if number or runs == 0:
                cost.runs.append(seconds)
                cost.processor_runs.append(_processor_seconds() - before)
    return found


def medians(commands: Mapping[str, Sequence[str]], runs: int) -> dict[str, float]:
    """Run the commands in turn, ``runs`` times after a warm-up; return median wall seconds."""
    return {name: cost.seconds for name, cost in costs(commands, runs).items()}


def print_ratios(seconds_by_name: Mapping[str, float], unit: str) -> None:
    """Print each command's time, absolute and relative to ``unit``."""
    for name, seconds in seconds_by_name.items():
        print(f"{name:45} {seconds:8.3f} s  {seconds / seconds_by_name[unit]:7.2f} x")


def _processor_seconds() -> float:
    """Return the processor seconds of all ended commands and their helpers."""
    times = os.times()
    return times.children_user + times.children_system


def _run(name: str, command: Sequence[str], environment: Mapping[str, str]) -> float:
    start = time.perf_counter()
    with _started(command, environment) as process:
        _end(name, process)
        return time.perf_counter() - start


def _run_sampled(
    name: str, command: Sequence[str], environment: Mapping[str, str]
) -> tuple[float, float | None]:
    start = time.perf_counter()
    with _started(command, environment) as process:
        peak = _MemorySampler(process.pid)
        _end(name, process)
        return time.perf_counter() - start, peak.end()


def _started(command: Sequence[str], environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment
    )


def _end(name: str, process: "subprocess.Popen[bytes]") -> None:
    _, errors = process.communicate()
    if process.returncode not in (0, 1):
        sys.exit(f"{name} ended with {process.returncode}: {errors.decode()}")


class _MemorySampler:
    """Samples the memory of a process and its helpers until stopped."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._peak = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def end(self) -> float | None:
        self._stopped.set()
        self._thread.join()
        return self._peak / 2**20 if self._peak else None

    def _sample(self) -> None:
        while not self._stopped.wait(_INTERVAL):
            self._peak = max(self._peak, resident(self._pid))


class WorkSampler:
    """Samples for a block whether a process works; ``seconds`` are those in which it did."""

    def __init__(self, pid: int) -> None:
        self.seconds = 0.0
        self._pid = pid
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> "WorkSampler":
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _sample(self) -> None:
        last = time.perf_counter()
        while not self._stopped.wait(_WORK_INTERVAL):
            works = _works(self._pid)
            now = time.perf_counter()
            self.seconds += (now - last) * works
            last = now


def _works(pid: int) -> bool:
    """Return whether a thread of a process or its helpers runs, may run or waits for the disk."""
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            state = (task / "stat").read_text("utf-8").rpartition(")")[2].split()[0]
            helpers = (task / "children").read_text().split()
            if state in "RD" or any(map(_works, map(int, helpers))):
                return True
    except OSError:
        pass  # It has ended meanwhile.
    return False


def processor_seconds(pid: int) -> float:
    """Return the processor seconds of a process and its ended helpers so far, 0 if unknown."""
    stat = Path(f"/proc/{pid}/stat")
    fields = stat.read_text("utf-8").rpartition(")")[2].split() if stat.exists() else ["0"] * 15
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def resident(pid: int) -> int:
    """Return the resident bytes of a process and its descendants, 0 if unknown."""
    folder = Path(f"/proc/{pid}")
    try:
        pages = int((folder / "statm").read_text().split()[1])
        # A helper may have been started by any thread.
        threads = (folder / "task").iterdir()
        children = [pid for task in threads for pid in (task / "children").read_text().split()]
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") + sum(resident(int(child)) for child in children)
