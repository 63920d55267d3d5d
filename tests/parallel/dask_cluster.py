"""A Dask cluster on loopback: a scheduler and worker processes, started from the command line."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from child_processes import command_of, cpu_seconds, descendants, is_alive, wait_until

_BUSY = 0.05
_DASK = Path(sys.executable).with_name("dask")


@dataclass(frozen=True)
class RunningCluster:
    """A cluster: the address of its scheduler, and the log of all its processes."""

    address: str
    log: Path
    pid: int
    baseline: dict[int, float] = field(default_factory=dict)

    def busy(self) -> list[int]:
        """Return the workers whose children used processor time since the first call."""
        seconds = {
            worker: sum(map(cpu_seconds, descendants(worker)))
            for worker in descendants(self.pid)
            if "spawn_main" in command_of(worker)
        }
        if not self.baseline:
            self.baseline.update(seconds)
        return [pid for pid in seconds if seconds[pid] > self.baseline.get(pid, 0) + _BUSY]


@contextmanager
def cluster(
    folder: Path, environment: Mapping[str, str], workers: int = 2
) -> Iterator[RunningCluster]:
    """Run a scheduler and ``workers`` worker processes of one thread each."""
    ready, log = folder / "scheduler.json", folder / "cluster.log"
    with log.open("wb") as output:

        def start(*arguments: str) -> "subprocess.Popen[bytes]":
            return subprocess.Popen(
                [_DASK, *arguments, "--scheduler-file", str(ready), "--no-dashboard"],
                cwd=folder,
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

        scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0")
        wait_until(ready.exists)
        nannies = start("worker", "--nworkers", str(workers), "--nthreads", "1")
        address = wait_until(lambda: _address(log))
        try:
            yield RunningCluster(address, log, nannies.pid)
        finally:
            started = [*descendants(nannies.pid)]
            for process in (nannies, scheduler):
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            for pid in filter(is_alive, started):
                os.kill(pid, signal.SIGKILL)


def _address(log: Path) -> str:
    for line in log.read_text("utf-8").splitlines():
        _, found, address = line.partition("Scheduler at: ")
        if found:
            return address.strip()
    return ""
