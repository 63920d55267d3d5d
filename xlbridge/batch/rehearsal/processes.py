"""Runs of the batch in processes of their own, ended by a kill now and then."""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.helper_process import APART, kill_with_children
from xlbridge.i18n import Text

_POLL_SECONDS = 0.02
_LAST_LINES = 5
_EXPECTED = frozenset({0, 1, 4, 5})
"""The exit codes of a batch that may get further in another run."""

_LONGEST_PAUSE = 0.3


@dataclass(slots=True)
class Kills:
    """How many runs are yet to be killed, each after some more events of the journal.

    The moments are drawn by ``random``; ``apart`` is how many events lie between two at most.
    """

    random: Random
    apart: int
    left: int = 0
    done: int = 0


@dataclass(slots=True)
class Runs:
    """Runs a command of xlbridge, each time in a process of its own.

    What the processes write stays in ``folder``. ``count`` is how many there were.
    """

    command: Sequence[str]
    folder: Path
    journal: Path
    count: int = field(default=0, init=False)

    def run(
        self, environment: Mapping[str, str], kills: Kills | None = None
    ) -> dict[str, Any] | None:
        """Run the command once and return its JSON, None where it left none.

        ``environment`` is all that the process knows of the world. Raises ``UsageError`` with its
        last words when it ends as none does that may get further another time.
        """
        self.count += 1
        out, err = self.folder / f"run-{self.count}.json", self.folder / f"run-{self.count}.log"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                [sys.executable, "-m", "xlbridge", *self.command],
                env=dict(environment),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                **APART,
            )
            try:
                killed = kills is not None and kills.left > 0 and self._kill(process, kills)
                code = process.wait()
            finally:
                end_at_once(process)
        if killed:
            return None
        report = _report(out)
        if report is None and code not in _EXPECTED:
            raise _unrunnable(code, err)
        return report

    def _kill(self, process: "subprocess.Popen[bytes]", kills: Kills) -> bool:
        """Kill a process after some more events; say whether it had not ended before."""
        wanted = self._events() + kills.random.randrange(kills.apart)
        pause = kills.random.uniform(0, _LONGEST_PAUSE)
        while process.poll() is None and self._events() < wanted:
            time.sleep(_POLL_SECONDS)
        time.sleep(pause)
        if process.poll() is not None:
            return False
        end_at_once(process)
        kills.left -= 1
        kills.done += 1
        return True

    def _events(self) -> int:
        if not self.journal.exists():
            return 0
        try:
            address = f"{self.journal.resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True)) as journal:
                return int(journal.execute("SELECT COUNT(*) FROM events").fetchone()[0])
        except sqlite3.Error:
            # It is just being made.
            return 0


def end_at_once(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process with all that it started, and wait until it is gone."""
    if process.poll() is None:
        kill_with_children(process)
        process.wait()


def _report(path: Path) -> dict[str, Any] | None:
    try:
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return report


def _unrunnable(code: int, log: Path) -> UsageError:
    words = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = "\n".join(words[-_LAST_LINES:])
    return UsageError(
        Text(
            pt="O lote não pôde ser ensaiado (código de saída {code}).",
            en="The batch cannot be rehearsed (exit code {code}).",
        ).format(code=code),
        Text(pt=last, en=last) if last else None,
    )
