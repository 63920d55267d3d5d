"""Rehearsal of a batch: a trial under faults, optionally compared with one without faults."""

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
from xlbridge.batch.rehearsal.required_records import RequiredRecords
from xlbridge.batch.rehearsal.result import (
    RehearsalResult,
    RowDifference,
    RowId,
    TrialCounts,
    TrialResult,
)
from xlbridge.batch.rehearsal.workspace import (
    Workspace,
    copy_month,
    prepare_workspace,
)
from xlbridge.batch.run_options import open_batch
from xlbridge.batch.workbook_checks import StepWorkbook, validate_workbook
from xlbridge.errors import TransportError, UsageError
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.sandbox import FaultPlan, SeedKind, has_unfinished_files, parse_faults
from xlbridge.settings import Settings
from xlbridge.validation import ValidatedSheet


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalOptions:
    """Options of a rehearsal.

    ``faults`` is a specification for the practice system, ``seed_number`` replaces its seed and
    that of the ``kills``. ``database`` is a practice system's, which is copied; without it a new
    one is filled by ``kind``. ``stand_ins`` creates records that are missing there. ``compare``
    also runs the month without faults. ``keep`` is a folder for all files, otherwise they are
    deleted. Of ``settings`` only schemas and limits are used.
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


def run_rehearsal(options: RehearsalOptions, show: Callable[[Text], None]) -> RehearsalResult:
    """Run a month in a private workspace and return the result.

    The real system is not contacted, and the workbooks are only read.

    Raises ``UsageError`` for faults, paths or folders that cannot be used, and if the batch cannot
    be run at all; ``ConfigError`` for an unsuitable database; ``TransportError`` if the practice
    system does not start.
    """
    plan = parse_faults(options.faults)
    seed = plan.seed if options.seed_number is None else options.seed_number
    disturbed = TrialConditions(
        _fault_specification(options.faults, plan, seed), options.kills, seed, options.stand_ins
    )
    with _workspace_folder(options.keep) as folder:

        def run_trial(name: str, conditions: TrialConditions) -> TrialResult:
            workspace = prepare_workspace(
                folder / name, options.settings, plan, options.database, options.kind
            )
            return Trial(workspace, options.plan, show).run(conditions)

        calm = replace(disturbed, faults=None, kills=0)
        undisturbed = run_trial("undisturbed", calm) if options.compare else None
        trial = run_trial("disturbed", disturbed)
    differences = None
    if undisturbed is not None:
        differences = tuple(_differences(undisturbed.counts, trial.counts))
    return RehearsalResult(
        batch=options.plan.batch,
        plan=options.plan.path,
        parameters=options.plan.parameters,
        faults=disturbed.faults or "",
        trial=trial,
        differences=differences,
    )


def _fault_specification(faults: str, plan: FaultPlan, seed: int) -> str | None:
    """Return the faults with the effective seed, None without faults."""
    if not plan.faults:
        return None
    parts = (part for part in faults.split(",") if not part.strip().startswith("seed="))
    return ",".join([*parts, f"seed={seed}"])


@contextmanager
def _workspace_folder(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        # Windows cannot delete files that a process killed just now still has open.
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
                pt="Indique uma pasta nova: todos os arquivos do ensaio ficam nela.",
                en="Name a new folder: all files of the rehearsal stay in it.",
            ),
        )
    yield keep.resolve()


def _differences(undisturbed: TrialCounts, disturbed: TrialCounts) -> Iterator[RowDifference]:
    expected, found = (
        {
            RowId(workbook.step, workbook.name, row): outcome
            for workbook in counts.workbooks
            for row, outcome in workbook.outcomes.items()
        }
        for counts in (undisturbed, disturbed)
    )
    for row_id in sorted(expected.keys() | found.keys()):
        if expected.get(row_id) != found.get(row_id):
            yield RowDifference(row_id, expected.get(row_id), found.get(row_id))


_MAX_FAULTY_RUNS, _MAX_CALM_RUNS = 8, 4
_EVENTS_PER_JOB = 6
_MAX_QUEUE_SECONDS = 120.0
_QUEUE_POLL_SECONDS = 0.05
_FINAL_STATUSES = frozenset({UnitStatus.DONE, UnitStatus.REFUSED, UnitStatus.PARTIAL})
"""Statuses that another run does not change unless a person fixes something.

A workbook with errors is not final: it may refer to records that did not exist yet.
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
    """A trial of a plan in a private workspace."""

    workspace: Workspace
    plan: BatchPlan
    show: Callable[[Text], None]
    _last_status: object = field(default=None, init=False)
    _final: bool = field(default=False, init=False)

    def run(self, conditions: TrialConditions) -> TrialResult:
        """Run the month and return the result.

        Raises ``UsageError`` if it cannot be copied or run at all, and ``ConfigError`` and
        ``TransportError`` as ``sandbox_process`` does.
        """
        path, copied = copy_month(self.plan, self.workspace.month)
        settings = self.workspace.private_settings()
        with open_batch(path, self.plan.parameters, settings, self.show) as batch:
            rows, required = self._read_workbooks(batch, conditions)
            catalogue = batch.environments.context(None).catalogue
            with self.workspace.storage() as storage:
                stand_ins = required.create_missing(storage) if conditions.stand_ins else {}
                before = read_tables(storage, catalogue)
            runner = self._runner(path)
            max_events_between = _EVENTS_PER_JOB * len(rows) // max(1, conditions.kills)
            random = Random(conditions.seed)  # noqa: S311
            schedule = KillSchedule(random, max(2, max_events_between), conditions.kills)
            faulty = self._run_with_faults(conditions.faults, runner, schedule)
            self._run_without_faults(runner)
            with self.workspace.storage() as storage:
                counts = reconcile_trial(batch, rows, storage, before)
            return TrialResult(
                counts=counts,
                copied=copied,
                stand_ins=stand_ins,
                faulty_runs=faulty,
                calm_runs=runner.count - faulty,
                killed_runs=schedule.done,
            )

    def _read_workbooks(
        self, batch: Batch, conditions: TrialConditions
    ) -> tuple[Mapping[tuple[str, str], int], RequiredRecords]:
        """Validate every workbook; return the number of rows of each, and the required records."""
        rows: dict[tuple[str, str], int] = {}
        required = RequiredRecords()
        for step in batch.plan.steps:
            if not isinstance(step, WorkbookStep):
                continue
            for workbook in workbooks_of(batch.plan, step):
                self.show(Text(pt="Lendo {name}", en="Reading {name}").format(name=workbook.name))
                result = validate_workbook(batch, StepWorkbook(step, workbook))
                sheet = result if isinstance(result, ValidatedSheet) else None
                rows[step.name, workbook.name] = _record_count(sheet) if sheet else 0
                if sheet is not None and conditions.stand_ins:
                    required.add(sheet)
        return rows, required

    def _runner(self, path: Path) -> CommandRunner:
        command = ["batch", "run", str(path), "--yes", "--format", "json"]
        for name, value in self.plan.parameters.items():
            command += ["--set", f"{name}={value}"]
        return CommandRunner(
            command, self.workspace.folder, self.workspace.private_settings().journal
        )

    def _run_with_faults(
        self, faults: str | None, runner: CommandRunner, schedule: KillSchedule
    ) -> int:
        """Repeat the batch on a system with faults; return the number of runs."""
        if faults is None and not schedule.left:
            return 0
        with self.workspace.sandbox(faults) as running:
            environment = self.workspace.environment(running)
            for _ in range(_MAX_FAULTY_RUNS + schedule.left):
                self._show_run(runner, faults)
                if self._is_last_run(runner.run(environment, schedule)):
                    break
        return runner.count

    def _run_without_faults(self, runner: CommandRunner) -> None:
        """Complete the batch on a system without faults, and wait until it is idle."""
        with self.workspace.sandbox(None) as running:
            environment = self.workspace.environment(running)
            for _ in range(_MAX_CALM_RUNS):
                if self._final:
                    break
                self._show_run(runner, None)
                if self._is_last_run(runner.run(environment)):
                    break
            self._wait_for_queue()

    def _is_last_run(self, report: Mapping[str, Any] | None) -> bool:
        """Return whether another run would change nothing; wait if a unit is in doubt."""
        if report is None:
            return False
        status = [
            (step["step"], step["state"], unit["name"], unit["state"], unit["rows"], unit["jobs"])
            for step in report["steps"]
            for unit in step["units"]
        ]
        states = _unblocked_states(report)
        self._final = all(state in _FINAL_STATUSES for state in states)
        unchanged, self._last_status = status == self._last_status, status
        if not (unchanged or self._final) and UnitStatus.IN_DOUBT in states:
            time.sleep(self.workspace.settle)
        return unchanged or self._final

    def _show_run(self, runner: CommandRunner, faults: str | None) -> None:
        if faults is None:
            message = Text(pt="Execução {n}, sem falhas", en="Run {n}, without faults")
        else:
            message = Text(pt="Execução {n}, com falhas", en="Run {n}, under faults")
        self.show(message.format(n=runner.count + 1))

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
                            pt="A fila do ambiente de testes não esvazia.",
                            en="The practice system's queue does not become empty.",
                        )
                    )
                time.sleep(_QUEUE_POLL_SECONDS)


def _unblocked_states(report: Mapping[str, Any]) -> list[str]:
    """Return the states of units whose step does not wait for another."""
    return [
        unit["state"] for step in report["steps"] if not step["waits_for"] for unit in step["units"]
    ]


def _record_count(sheet: ValidatedSheet) -> int:
    return sum(row not in sheet.non_records for row in sheet.rows)
