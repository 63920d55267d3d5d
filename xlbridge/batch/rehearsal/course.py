"""One course of a month: copied, run until nothing changes any more, and counted."""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from xlbridge.batch.batch import Batch
from xlbridge.batch.checking import Target, judge
from xlbridge.batch.plan import Plan, WorkbookStep
from xlbridge.batch.rehearsal.copies import copy_month
from xlbridge.batch.rehearsal.ending import count_course, held_now
from xlbridge.batch.rehearsal.needs import Needs
from xlbridge.batch.rehearsal.outcome import CourseEnd
from xlbridge.batch.rehearsal.processes import Kills, Runs
from xlbridge.batch.rehearsal.stage import Stage
from xlbridge.batch.standing import Standing
from xlbridge.batch.workbooks import workbooks_of
from xlbridge.errors import TransportError
from xlbridge.i18n import Text
from xlbridge.sandbox.imports.queue import is_at_work
from xlbridge.settings import Settings
from xlbridge.validation.validate import ValidatedSheet

OpenBatch = Callable[[Path, Mapping[str, str], Settings], AbstractContextManager[Batch]]
"""Opens the batch of a plan, with its parameters, for settings."""

_MOST_FAULTY, _MOST_CALM = 8, 4
_EVENTS_OF_A_JOB = 6
_QUEUE_SECONDS = 120.0
_POLL_SECONDS = 0.05
_STUCK = frozenset({Standing.DONE, Standing.REFUSED, Standing.PARTIAL})
"""Where another run changes nothing, unless somebody mends something.

A workbook with errors is none of these: it may only have named what was not there yet.
"""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Under what a course is run: faults, if any, and how many kills, at moments by ``seed``."""

    faults: str | None = None
    kills: int = 0
    seed: int = 0
    stand_ins: bool = False


@dataclass(slots=True)
class Course:
    """A course of a plan on a stage of its own."""

    stage: Stage
    plan: Plan
    open_batch: OpenBatch
    tell: Callable[[Text], None]
    _last: object = field(default=None, init=False)
    _over: bool = field(default=False, init=False)

    def run(self, conditions: Conditions) -> CourseEnd:
        """Go through the month and return what it came to.

        Raises ``UsageError`` when it cannot be copied or run at all, ``ConfigError`` and
        ``TransportError`` as ``sandbox_process`` does.
        """
        path, copied = copy_month(self.plan, self.stage.month)
        settings = self.stage.private_settings()
        with self.open_batch(path, self.plan.parameters, settings) as batch:
            rows, needs = self._look(batch, conditions)
            catalogue = batch.sites.desk(None).catalogue
            with self.stage.storage() as storage:
                made = needs.make(storage) if conditions.stand_ins else {}
                before = held_now(storage, catalogue)
            runs = self._runs(path)
            kills = self._kills(conditions, len(rows))
            faulty = self._under_faults(conditions.faults, runs, kills)
            self._calmly(runs)
            with self.stage.storage() as storage:
                counted = count_course(batch, rows, storage, before)
            return CourseEnd(
                counted=counted,
                copied=copied,
                stand_ins=made,
                faulty=faulty,
                calm=runs.count - faulty,
                killed=kills.done,
            )

    def _look(
        self, batch: Batch, conditions: Conditions
    ) -> tuple[Mapping[tuple[str, str], int], Needs]:
        """Judge every workbook by itself; return how many rows each has, and what they name."""
        rows: dict[tuple[str, str], int] = {}
        needs = Needs()
        for step in batch.plan.steps:
            if not isinstance(step, WorkbookStep):
                continue
            for workbook in workbooks_of(batch.plan, step):
                self.tell(Text(pt="Lendo {name}", en="Reading {name}").format(name=workbook.name))
                judged = judge(batch, Target(step, workbook))
                sheet = judged if isinstance(judged, ValidatedSheet) else None
                rows[step.name, workbook.name] = len(sheet.rows) if sheet else 0
                if sheet is not None and conditions.stand_ins:
                    needs.add(sheet)
        return rows, needs

    def _runs(self, path: Path) -> Runs:
        command = ["batch", "run", str(path), "--yes", "--format", "json"]
        for name, value in self.plan.parameters.items():
            command += ["--set", f"{name}={value}"]
        return Runs(command, self.stage.folder, self.stage.private_settings().journal)

    def _kills(self, conditions: Conditions, workbooks: int) -> Kills:
        """Have the kills come about evenly while the workbooks are sent."""
        apart = _EVENTS_OF_A_JOB * workbooks // max(1, conditions.kills)
        return Kills(Random(conditions.seed), max(2, apart), conditions.kills)  # noqa: S311

    def _under_faults(self, faults: str | None, runs: Runs, kills: Kills) -> int:
        """Run the batch again and again while the system misbehaves; return how often."""
        if faults is None and not kills.left:
            return 0
        with self.stage.sandbox(faults) as running:
            environment = self.stage.environment(running)
            for _ in range(_MOST_FAULTY + kills.left):
                self._say(runs, faults)
                if self._changed_nothing(runs.run(environment, kills)):
                    break
        return runs.count

    def _calmly(self, runs: Runs) -> None:
        """Bring to its end what can be, the system being well, and wait until it is idle."""
        with self.stage.sandbox(None) as running:
            environment = self.stage.environment(running)
            for _ in range(_MOST_CALM):
                if self._over:
                    break
                self._say(runs, None)
                if self._changed_nothing(runs.run(environment)):
                    break
            self._wait_for_queue()

    def _changed_nothing(self, report: Mapping[str, Any] | None) -> bool:
        """Say whether another run would come to the same as this one."""
        if report is None:
            return False
        standing = _standing(report)
        self._over = all(state in _STUCK for state in _open_states(report))
        same, self._last = standing == self._last, standing
        if not (same or self._over) and Standing.IN_DOUBT in _open_states(report):
            time.sleep(self.stage.settle)
        return same or self._over

    def _say(self, runs: Runs, faults: str | None) -> None:
        if faults is None:
            told = Text(pt="Corrida {n}, sem falhas", en="Run {n}, without faults")
        else:
            told = Text(pt="Corrida {n}, sob falhas", en="Run {n}, under faults")
        self.tell(told.format(n=runs.count + 1))

    def _wait_for_queue(self) -> None:
        end = time.monotonic() + _QUEUE_SECONDS
        with self.stage.storage() as storage:
            while True:
                with storage.transaction(writing=False) as connection:
                    if not is_at_work(connection):
                        return
                if time.monotonic() > end:
                    raise TransportError(
                        Text(
                            pt="A fila do sistema de ensaio não termina.",
                            en="The practice system's queue does not end.",
                        )
                    )
                time.sleep(_POLL_SECONDS)


def _standing(report: Mapping[str, Any]) -> object:
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
