"""Runner of a command in separate processes, some of which are killed by a schedule."""

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
"""Exit codes of a batch that another run may complete."""

_MAX_PAUSE_SECONDS = 0.3


@dataclass(slots=True)
class KillSchedule:
    """Schedule of kills: ``left`` runs are still to be killed, each after some journal events.

    ``random`` draws the moments; ``max_events_between`` limits the events between two kills.
    """

    random: Random
    max_events_between: int
    left: int = 0
    done: int = 0


@dataclass(slots=True)
class CommandRunner:
    """Runner of a command of xlbridge, each time in a new process.

    The output of the processes stays in ``folder``; ``count`` is their number.
    """

    command: Sequence[str]
    folder: Path
    journal: Path
    count: int = field(default=0, init=False)

    def run(
        self, environment: Mapping[str, str], schedule: KillSchedule | None = None
    ) -> dict[str, Any] | None:
        """Run the command once and return its JSON, None if it wrote none.

        ``environment`` is the whole environment of the process. Raises ``UsageError`` with the last
        lines of its log if its exit code says that another run cannot help.
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
                _kill_process(process)
        if killed:
            return None
        report = _read_report(out)
        if report is None and code not in _RESUMABLE_EXIT_CODES:
            raise _run_failed(code, err)
        return report

    def _kill(self, process: "subprocess.Popen[bytes]", schedule: KillSchedule) -> bool:
        """Kill a process after some more events; return whether it was still running."""
        target = self._events() + schedule.random.randrange(schedule.max_events_between)
        pause = schedule.random.uniform(0, _MAX_PAUSE_SECONDS)
        while process.poll() is None and self._events() < target:
            time.sleep(_JOURNAL_POLL_SECONDS)
        time.sleep(pause)
        if process.poll() is not None:
            return False
        _kill_process(process)
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
            # The journal is just being created.
            return 0


def _kill_process(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and its children, and wait until it has ended."""
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
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = "\n".join(lines[-_LOG_LINES_SHOWN:])
    return UsageError(
        Text(
            pt="O lote não pôde ser ensaiado (código de saída {code}).",
            en="The batch cannot be rehearsed (exit code {code}).",
        ).format(code=code),
        untranslated(last) if last else None,
    )
