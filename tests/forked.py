"""Command lines in forked processes, which start quickly; see ``zygote.py``."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from xlbridge.client import session, transport

Begun = Callable[["Running"], None]

XLBRIDGE = "xlbridge.cli.main"

GC_THRESHOLD = (20_000, 20, 20)
"""Thresholds of the garbage collector in the suite's processes."""

USUAL_PAUSE = transport.FIRST_PAUSE
SHORT_PAUSE = 0.01
"""First pause before a request is repeated, in production and in the suite's processes."""

_at_end = ExitStack()


def save_time() -> None:
    """Reduce the cost and the pauses of this process that are long on purpose in production."""
    session.PROOF_COST = (2, 1, 1)
    transport.FIRST_PAUSE = SHORT_PAUSE


@dataclass
class Running:
    """A running process."""

    pid: int

    def kill(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Zygote:
    """Process that forks others, which run command lines one at a time."""

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
        terminal: str | None = None,
        shown: str = "stdout",
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command line to its end; ``begun`` is called once the process runs.

        ``module`` is the one whose ``run`` is called; after ``longest`` seconds the process is
        killed. With a ``terminal`` the stream ``shown`` goes there, and is not returned.
        """
        out, err = self.folder / "stdout", self.folder / "stderr"
        streams = {"stdout": str(out), "stderr": str(err)}
        if terminal is not None:
            streams[shown] = terminal
        order = {
            "folder": str(folder),
            "environment": dict(environment),
            "module": module,
            "arguments": arguments,
            **streams,
            "stays": False,
        }
        with self.lock:
            for stream in (out, err):
                stream.write_bytes(b"")
            running = Running(self._ask(order)["pid"])
            begun(running)
            with _killed_after(longest, running):
                code = self._answer()["status"]
            return subprocess.CompletedProcess(
                arguments, code, out.read_text("utf-8"), err.read_text("utf-8")
            )

    @contextmanager
    def running(
        self, environment: Mapping[str, str], arguments: list[str], *, log: Path
    ) -> Iterator[int]:
        """Keep a command line running for the block, and yield its process id.

        While ``run`` waits for a process, this zygote can neither start nor end another one.
        """
        order = {
            "folder": str(Path.cwd()),
            "environment": dict(environment),
            "module": XLBRIDGE,
            "arguments": arguments,
            "stdout": os.devnull,
            "stderr": str(log),
            "stays": True,
        }
        with self.lock:
            pid: int = self._ask(order)["pid"]
        try:
            yield pid
        finally:
            with self.lock:
                self._ask({"end": pid})

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        _pipe(self.process.stdin).write(json.dumps(order) + "\n")
        _pipe(self.process.stdin).flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(_pipe(self.process.stdout).readline())
        return answer


@contextmanager
def zygote(folder: Path) -> Iterator[Zygote]:
    """Run a zygote for the block; its processes write their output to ``folder``."""
    inherited = {k: value for k, value in os.environ.items() if not k.startswith("XLBRIDGE_")}
    path = os.pathsep.join(filter(None, sys.path))
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("zygote.py"))],
        env=inherited | threads,
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


@cache
def shared_zygote() -> Zygote:
    """Return this process's own zygote, started on first use."""
    folder = _at_end.enter_context(TemporaryDirectory(prefix="xlbridge-zygote-"))
    return _at_end.enter_context(zygote(Path(folder)))


def end() -> None:
    """Stop the shared zygote."""
    _at_end.close()


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
