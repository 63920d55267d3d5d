"""One trial of a batch: run in processes that are killed now and then, until nothing changes."""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from xlbridge.batch.batch import Batch
from xlbridge.batch.checks import StepWorkbook, judge_workbook
from xlbridge.batch.plan import BatchPlan, WorkbookStep, workbooks_of
from xlbridge.batch.rehearsal.reconciliation import read_tables, reconcile_trial
from xlbridge.batch.rehearsal.result import TrialResult
from xlbridge.batch.rehearsal.workspace import RequiredRecords, Workspace, copy_month
from xlbridge.batch.unit_status import UnitStatus
from xlbridge.errors import TransportError, UsageError
from xlbridge.i18n import Text
from xlbridge.processes import NEW_PROCESS_GROUP, kill_process_tree
from xlbridge.sandbox import has_unfinished_files
from xlbridge.settings import Settings
from xlbridge.validation import ValidatedSheet

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
            process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                [sys.executable, "-m", "xlbridge", *self.command],
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
        Text(pt=last, en=last) if last else None,
    )


OpenBatch = Callable[[Path, Mapping[str, str], Settings], AbstractContextManager[Batch]]
"""Opens the batch of a plan, with its parameters, for settings."""

_MAX_FAULTY_RUNS, _MAX_CALM_RUNS = 8, 4
_EVENTS_PER_JOB = 6
_MAX_QUEUE_SECONDS = 120.0
_QUEUE_POLL_SECONDS = 0.05
_FINAL_STATUSES = frozenset({UnitStatus.DONE, UnitStatus.REFUSED, UnitStatus.PARTIAL})
"""Statuses that another run does not change unless somebody fixes something.

A workbook with errors is none of these: it may only have named what was not there yet.
"""


@dataclass(frozen=True, slots=True)
class TrialConditions:
    """Conditions of a trial: faults, if any, and the number of kills, at moments by ``seed``."""

    faults: str | None = None
    kills: int = 0
    seed: int = 0
    stand_ins: bool = False


@dataclass(slots=True)
class Trial:
    """A trial of a plan in a workspace of its own."""

    workspace: Workspace
    plan: BatchPlan
    open_batch: OpenBatch
    tell: Callable[[Text], None]
    _last: object = field(default=None, init=False)
    _over: bool = field(default=False, init=False)

    def run(self, conditions: TrialConditions) -> TrialResult:
        """Run the month and return the result.

        Raises ``UsageError`` when it cannot be copied or run at all, ``ConfigError`` and
        ``TransportError`` as ``sandbox_process`` does.
        """
        path, copied = copy_month(self.plan, self.workspace.month)
        settings = self.workspace.private_settings()
        with self.open_batch(path, self.plan.parameters, settings) as batch:
            rows, needs = self._look(batch, conditions)
            catalogue = batch.environments.context(None).catalogue
            with self.workspace.storage() as storage:
                made = needs.make(storage) if conditions.stand_ins else {}
                before = read_tables(storage, catalogue)
            runner = self._runner(path)
            schedule = self._kill_schedule(conditions, len(rows))
            faulty = self._under_faults(conditions.faults, runner, schedule)
            self._calmly(runner)
            with self.workspace.storage() as storage:
                counted = reconcile_trial(batch, rows, storage, before)
            return TrialResult(
                counted=counted,
                copied=copied,
                stand_ins=made,
                faulty=faulty,
                calm=runner.count - faulty,
                killed=schedule.done,
            )

    def _look(
        self, batch: Batch, conditions: TrialConditions
    ) -> tuple[Mapping[tuple[str, str], int], RequiredRecords]:
        """Judge every workbook by itself; return how many rows each has, and what they name."""
        rows: dict[tuple[str, str], int] = {}
        needs = RequiredRecords()
        for step in batch.plan.steps:
            if not isinstance(step, WorkbookStep):
                continue
            for workbook in workbooks_of(batch.plan, step):
                self.tell(Text(pt="Lendo {name}", en="Reading {name}").format(name=workbook.name))
                judged = judge_workbook(batch, StepWorkbook(step, workbook))
                sheet = judged if isinstance(judged, ValidatedSheet) else None
                rows[step.name, workbook.name] = len(sheet.rows) if sheet else 0
                if sheet is not None and conditions.stand_ins:
                    needs.add(sheet)
        return rows, needs

    def _runner(self, path: Path) -> CommandRunner:
        command = ["batch", "run", str(path), "--yes", "--format", "json"]
        for name, value in self.plan.parameters.items():
            command += ["--set", f"{name}={value}"]
        return CommandRunner(
            command, self.workspace.folder, self.workspace.private_settings().journal
        )

    def _kill_schedule(self, conditions: TrialConditions, workbooks: int) -> KillSchedule:
        """Spread the kills evenly over the sending of the workbooks."""
        max_events_between = _EVENTS_PER_JOB * workbooks // max(1, conditions.kills)
        return KillSchedule(Random(conditions.seed), max(2, max_events_between), conditions.kills)  # noqa: S311

    def _under_faults(
        self, faults: str | None, runner: CommandRunner, schedule: KillSchedule
    ) -> int:
        """Run the batch again and again while the system misbehaves; return how often."""
        if faults is None and not schedule.left:
            return 0
        with self.workspace.sandbox(faults) as running:
            environment = self.workspace.environment(running)
            for _ in range(_MAX_FAULTY_RUNS + schedule.left):
                self._say(runner, faults)
                if self._changed_nothing(runner.run(environment, schedule)):
                    break
        return runner.count

    def _calmly(self, runner: CommandRunner) -> None:
        """Bring to its end what can be, the system being well, and wait until it is idle."""
        with self.workspace.sandbox(None) as running:
            environment = self.workspace.environment(running)
            for _ in range(_MAX_CALM_RUNS):
                if self._over:
                    break
                self._say(runner, None)
                if self._changed_nothing(runner.run(environment)):
                    break
            self._wait_for_queue()

    def _changed_nothing(self, report: Mapping[str, Any] | None) -> bool:
        """Say whether another run would come to the same as this one."""
        if report is None:
            return False
        status = _report_summary(report)
        self._over = all(state in _FINAL_STATUSES for state in _open_states(report))
        same, self._last = status == self._last, status
        if not (same or self._over) and UnitStatus.IN_DOUBT in _open_states(report):
            time.sleep(self.workspace.settle)
        return same or self._over

    def _say(self, runner: CommandRunner, faults: str | None) -> None:
        if faults is None:
            message = Text(pt="Corrida {n}, sem falhas", en="Run {n}, without faults")
        else:
            message = Text(pt="Corrida {n}, sob falhas", en="Run {n}, under faults")
        self.tell(message.format(n=runner.count + 1))

    def _wait_for_queue(self) -> None:
        end = time.monotonic() + _MAX_QUEUE_SECONDS
        with self.workspace.storage() as storage:
            while True:
                with storage.transaction(writing=False) as connection:
                    if not has_unfinished_files(connection):
                        return
                if time.monotonic() > end:
                    raise TransportError(
                        Text(
                            pt="A fila do sistema de ensaio não termina.",
                            en="The practice system's queue does not end.",
                        )
                    )
                time.sleep(_QUEUE_POLL_SECONDS)


def _report_summary(report: Mapping[str, Any]) -> object:
    return [
        (step["step"], step["state"], unit["name"], unit["state"], unit["rows"], unit["jobs"])
        for step in report["steps"]
        for unit in step["units"]
    ]


def _open_states(report: Mapping[str, Any]) -> list[str]:
    """Return the states of what waits for nothing before it."""
    return [
        unit["state"] for step in report["steps"] if not step["waits_for"] for unit in step["units"]
    ]
