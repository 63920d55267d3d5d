"""Command lines as processes of their own, quickly: see ``zygote.py``."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from environment import ROOT

Begun = Callable[["Running"], None]


@dataclass
class Running:
    """A process that is alive, until ``kill``."""

    pid: int

    def kill(self) -> None:
        """End the process at once."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Ended:
    """What a process left: its exit code (negative: the signal), and what it wrote."""

    code: int
    stdout: str
    stderr: str


@dataclass
class Zygote:
    """Forks processes that run command lines."""

    process: "subprocess.Popen[str]"
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(
        self,
        folder: Path,
        environment: dict[str, str],
        arguments: list[str],
        *,
        kill: dict[str, Any] | None = None,
        begun: Begun = lambda _running: None,
    ) -> Ended:
        """Run a command line to its end; ``begun`` is told as soon as the process lives."""
        out, err = folder / "stdout", folder / "stderr"
        for file in (out, err):
            file.write_text("", encoding="utf-8")
        order = {
            "folder": str(folder),
            "environment": environment,
            "arguments": arguments,
            "kill": kill,
            "stdout": str(out),
            "stderr": str(err),
        }
        with self.lock:
            _pipe(self.process.stdin).write(json.dumps(order) + "\n")
            _pipe(self.process.stdin).flush()
            begun(Running(self._answer()["pid"]))
            code = self._answer()["status"]
        return Ended(code, out.read_text("utf-8"), err.read_text("utf-8"))

    def _answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(_pipe(self.process.stdout).readline())
        return answer


@contextmanager
def zygote() -> Iterator[Zygote]:
    """Keep a zygote for the length of the block."""
    here = Path(__file__).parent
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XLBRIDGE_")}
    path = os.pathsep.join([str(ROOT), str(here), str(here.parent)])
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    process = subprocess.Popen(
        [sys.executable, str(here / "zygote.py")],
        env=kept | threads,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        _pipe(process.stdout).readline()
        yield Zygote(process)
    finally:
        _pipe(process.stdin).close()
        process.wait(timeout=30)
        _pipe(process.stdout).close()


def _pipe(stream: IO[str] | None) -> IO[str]:
    if stream is None:
        raise AssertionError("no pipe")
    return stream
