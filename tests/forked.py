"""Command lines as processes of their own, quickly: see ``zygote.py``."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

Begun = Callable[["Running"], None]

XLBRIDGE = "xlbridge.cli.main"


@dataclass
class Running:
    """A process that is alive, until ``kill``."""

    pid: int

    def kill(self) -> None:
        """End the process at once."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Zygote:
    """Forks processes that run command lines, one at a time."""

    process: "subprocess.Popen[str]"
    folder: Path
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(
        self,
        folder: Path,
        environment: Mapping[str, str],
        arguments: list[str],
        *,
        module: str = XLBRIDGE,
        begun: Begun = lambda _running: None,
        longest: float | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command line to its end; ``begun`` is told as soon as the process lives.

        ``module`` is whose ``run`` is called; after ``longest`` seconds the process is killed.
        """
        out, err = self.folder / "stdout", self.folder / "stderr"
        order = {
            "folder": str(folder),
            "environment": dict(environment),
            "module": module,
            "arguments": arguments,
            "stdout": str(out),
            "stderr": str(err),
        }
        with self.lock:
            _pipe(self.process.stdin).write(json.dumps(order) + "\n")
            _pipe(self.process.stdin).flush()
            running = Running(self._answer()["pid"])
            begun(running)
            with _killed_after(longest, running):
                code = self._answer()["status"]
            return subprocess.CompletedProcess(
                arguments, code, out.read_text("utf-8"), err.read_text("utf-8")
            )

    def _answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(_pipe(self.process.stdout).readline())
        return answer


@contextmanager
def zygote(folder: Path) -> Iterator[Zygote]:
    """Keep a zygote for the length of the block; ``folder`` is for what its processes write."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XLBRIDGE_")}
    path = os.pathsep.join(filter(None, sys.path))
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("zygote.py"))],
        env=kept | threads,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        _pipe(process.stdout).readline()
        yield Zygote(process, folder)
    finally:
        _pipe(process.stdin).close()
        process.wait(timeout=30)
        _pipe(process.stdout).close()


@contextmanager
def _killed_after(seconds: float | None, running: Running) -> Iterator[None]:
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, running.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise AssertionError("no pipe")
    return stream
