"""Runner of a command in processes of its own, killed now and then by a schedule."""

import json
import sqlite3
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.i18n import Text, untranslated
from xlbridge.processes import (
    NEW_PROCESS_GROUP,
    command_line,
    kill_process_tree,
    report_start_errors,
)

_JOURNAL_POLL_SECONDS = 0.02
_LOG_LINES_SHOWN = 5
_RESUMABLE_EXIT_CODES = frozenset({0, 1, 4, 5})
"""The exit codes of a batch that may get further in another run."""

_MAX_PAUSE_SECONDS = 0.3


@dataclass(slots=True)
class KillSchedule:
    """Schedule of kills: how many runs are left to kill, each after more events of the journal.

    The moments are drawn by ``random``; ``max_events_between`` bounds the events between two.
    """

    random: Random
    max_events_between: int
    left: int = 0
    done: int = 0


@dataclass(slots=True)
class CommandRunner:
    """Runs a command of xlbridge, each time in a process of its own.

    What the processes write stays in ``folder``. ``count`` is how many there were.
    """

    command: Sequence[str]
    folder: Path
    journal: Path
    count: int = field(default=0, init=False)

    def run(
        self, environment: Mapping[str, str], schedule: KillSchedule | None = None
    ) -> dict[str, Any] | None:
        """Run the command once and return its JSON, None where it left none.

        ``environment`` is all that the process knows of the world. Raises ``UsageError`` with its
        last words when it ends as none does that may get further another time.
        """
        self.count += 1
        out, err = self.folder / f"run-{self.count}.json", self.folder / f"run-{self.count}.log"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            with report_start_errors():
                process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                    command_line(*self.command),
                    env=dict(environment),
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=stdout,
                    stderr=stderr,
                    **NEW_PROCESS_GROUP,
                )
            try:
                killed = (
                    schedule is not None and schedule.left > 0 and self._kill(process, schedule)
                )
                code = process.wait()
            finally:
                kill_process(process)
        if killed:
            return None
        report = _read_report(out)
        if report is None and code not in _RESUMABLE_EXIT_CODES:
            raise _run_failed(code, err)
        return report

    def _kill(self, process: "subprocess.Popen[bytes]", schedule: KillSchedule) -> bool:
        """Kill a process after some more events; say whether it had not ended before."""
        wanted = self._events() + schedule.random.randrange(schedule.max_events_between)
        pause = schedule.random.uniform(0, _MAX_PAUSE_SECONDS)
        while process.poll() is None and self._events() < wanted:
            time.sleep(_JOURNAL_POLL_SECONDS)
        time.sleep(pause)
        if process.poll() is not None:
            return False
        kill_process(process)
        schedule.left -= 1
        schedule.done += 1
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


def kill_process(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process with all that it started, and wait until it is gone."""
    if process.poll() is None:
        kill_process_tree(process)
        process.wait()


def _read_report(path: Path) -> dict[str, Any] | None:
    try:
        report: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return None
    return report


def _run_failed(code: int, log: Path) -> UsageError:
    words = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = "\n".join(words[-_LOG_LINES_SHOWN:])
    return UsageError(
        Text(
            pt="O lote não pôde ser ensaiado (código de saída {code}).",
            en="The batch cannot be rehearsed (exit code {code}).",
        ).format(code=code),
        untranslated(last) if last else None,
    )
