"""Rehearsal of a batch: a trial under faults, and on request one without, compared row by row."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from xlbridge.batch.batch import Batch, UnitStatus
from xlbridge.batch.plan.steps import BatchPlan, WorkbookStep, workbooks_of
from xlbridge.batch.rehearsal.command_runner import CommandRunner, KillSchedule
from xlbridge.batch.rehearsal.reconciliation import read_tables, reconcile_trial
from xlbridge.batch.rehearsal.result import (
    RehearsalResult,
    RowDifference,
    RowId,
    TrialCounts,
    TrialResult,
)
from xlbridge.batch.rehearsal.workspace import (
    RequiredRecords,
    Workspace,
    copy_month,
    prepare_workspace,
)
from xlbridge.batch.run_options import open_batch
from xlbridge.batch.workbook_checks import StepWorkbook, judge_workbook
from xlbridge.errors import TransportError, UsageError
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.sandbox import FaultPlan, SeedKind, has_unfinished_files, parse_faults
from xlbridge.settings import Settings
from xlbridge.upload.results import RowOutcome
from xlbridge.validation import ValidatedSheet


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalOptions:
    """Options of a rehearsal.

    ``faults`` is as the practice system takes it, ``seed_number`` another seed for it and for the
    moments of ``kills``. ``database`` is one of the practice system, of which a copy is used;
    without it a new one begins with ``kind``. ``stand_ins`` makes codes that are lacking there.
    ``compare`` goes through the month without faults, too. ``keep`` is a folder that all stays
    in; without it nothing stays. Of ``settings`` only schemas and limits are used.
    """

    plan: BatchPlan
    faults: str
    settings: Settings
    seed_number: int | None = None
    database: Path | None = None
    kind: SeedKind = SeedKind.DEMO
    stand_ins: bool = False
    kills: int = 0
    compare: bool = False
    keep: Path | None = None


def run_rehearsal(options: RehearsalOptions, tell: Callable[[Text], None]) -> RehearsalResult:
    """Run a month in a private workspace and return the result.

    The real system is not asked for anything, and the workbooks are only read.

    Raises ``UsageError`` for faults, paths or folders that cannot be used, and when the batch
    cannot be run at all; ``ConfigError`` for a database that is unfit; ``TransportError`` when
    the practice system does not come up.
    """
    plan = parse_faults(options.faults)
    seed = plan.seed if options.seed_number is None else options.seed_number
    disturbed = TrialConditions(
        _fault_specification(options.faults, plan, seed), options.kills, seed, options.stand_ins
    )
    with _workspace_folder(options.keep) as folder:

        def go(name: str, conditions: TrialConditions) -> TrialResult:
            workspace = prepare_workspace(
                folder / name, options.settings, plan, options.database, options.kind
            )
            return Trial(workspace, options.plan, tell).run(conditions)

        calm = (
            go("undisturbed", replace(disturbed, faults=None, kills=0)) if options.compare else None
        )
        trial = go("disturbed", disturbed)
    differences = None if calm is None else tuple(_differences(calm.counted, trial.counted))
    return RehearsalResult(
        batch=options.plan.batch,
        plan=options.plan.path,
        parameters=options.plan.parameters,
        faults=disturbed.faults or "",
        trial=trial,
        differences=differences,
    )


def _fault_specification(faults: str, plan: FaultPlan, seed: int) -> str | None:
    """Return the faults with the seed that holds, None where there are no faults."""
    if not plan.faults:
        return None
    parts = (part for part in faults.split(",") if not part.strip().startswith("seed="))
    return ",".join([*parts, f"seed={seed}"])


@contextmanager
def _workspace_folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        # Windows removes no file that a process which was just killed has open still.
        with tempfile.TemporaryDirectory(
            prefix="xlbridge-rehearsal-", ignore_cleanup_errors=True
        ) as folder:
            yield Path(folder).resolve()
        return
    with report_write_errors(keep):
        keep.mkdir(parents=True, exist_ok=True)
        occupied = any(keep.iterdir())
    if occupied:
        raise UsageError(
            Text(
                pt="A pasta {folder} não está vazia.", en="The folder {folder} is not empty."
            ).format(folder=keep),
            Text(
                pt="Indique uma pasta nova: tudo do ensaio fica nela.",
                en="Name a new folder: all of the rehearsal stays in it.",
            ),
        )
    yield keep.resolve()


def _differences(calm: TrialCounts, disturbed: TrialCounts) -> Iterator[RowDifference]:
    undisturbed = _outcomes_by_row(calm)
    found = _outcomes_by_row(disturbed)
    for row_id in sorted(undisturbed.keys() | found.keys()):
        if undisturbed.get(row_id) != found.get(row_id):
            yield RowDifference(row_id, undisturbed.get(row_id), found.get(row_id))


def _outcomes_by_row(counted: TrialCounts) -> dict[RowId, RowOutcome]:
    return {
        RowId(workbook.step, workbook.name, row): outcome
        for workbook in counted.workbooks
        for row, outcome in workbook.outcomes.items()
    }


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
        with open_batch(path, self.plan.parameters, settings, self.tell) as batch:
            rows, needs = self._look(batch, conditions)
            catalogue = batch.environments.context(None).catalogue
            with self.workspace.storage() as storage:
                made = needs.make(storage) if conditions.stand_ins else {}
                before = read_tables(storage, catalogue)
            runner = self._runner(path)
            max_events_between = _EVENTS_PER_JOB * len(rows) // max(1, conditions.kills)
            random = Random(conditions.seed)  # noqa: S311
            schedule = KillSchedule(random, max(2, max_events_between), conditions.kills)
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
        """Return whether another run would end like this one; wait where one is in doubt."""
        if report is None:
            return False
        status = [
            (step["step"], step["state"], unit["name"], unit["state"], unit["rows"], unit["jobs"])
            for step in report["steps"]
            for unit in step["units"]
        ]
        self._over = all(state in _FINAL_STATUSES for state in _open_states(report))
        same, self._last = status == self._last, status
        if not (same or self._over) and UnitStatus.IN_DOUBT in _open_states(report):
            time.sleep(self.workspace.settle)
        return same or self._over

    def _say(self, runner: CommandRunner, faults: str | None) -> None:
        if faults is None:
            message = Text(pt="Execução {n}, sem falhas", en="Run {n}, without faults")
        else:
            message = Text(pt="Execução {n}, com falhas", en="Run {n}, under faults")
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


def _open_states(report: Mapping[str, Any]) -> list[str]:
    """Return the states of what waits for nothing before it."""
    return [
        unit["state"] for step in report["steps"] if not step["waits_for"] for unit in step["units"]
    ]
