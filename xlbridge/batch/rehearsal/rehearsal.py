"""Rehearsal of a batch: a trial under faults, and on request one without, compared row by row."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from xlbridge.batch.plan import BatchPlan
from xlbridge.batch.rehearsal.result import (
    RehearsalResult,
    RowDifference,
    RowId,
    TrialCounts,
    TrialResult,
)
from xlbridge.batch.rehearsal.trial import OpenBatch, Trial, TrialConditions
from xlbridge.batch.rehearsal.workspace import prepare_workspace
from xlbridge.errors import UsageError
from xlbridge.files import report_write_errors
from xlbridge.i18n import Text
from xlbridge.sandbox import FaultPlan, SeedKind, parse_faults
from xlbridge.settings import Settings
from xlbridge.upload import RowOutcome


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


def run_rehearsal(
    options: RehearsalOptions, open_batch: OpenBatch, tell: Callable[[Text], None]
) -> RehearsalResult:
    """Run a month in a private workspace and return the result.

    The real system is not asked for anything, and the workbooks are only read.

    Raises ``UsageError`` for faults, paths or folders that cannot be used, and when the batch
    cannot be run at all; ``ConfigError`` for a database that is unfit; ``TransportError`` when
    the practice system does not come up.
    """
    plan = parse_faults(options.faults)
    seed = plan.seed if options.seed_number is None else options.seed_number
    disturbed = TrialConditions(
        _fault_specification(options, plan), options.kills, seed, options.stand_ins
    )
    with _workspace_folder(options.keep) as folder:

        def go(name: str, conditions: TrialConditions) -> TrialResult:
            workspace = prepare_workspace(
                folder / name, options.settings, plan, options.database, options.kind
            )
            return Trial(workspace, options.plan, open_batch, tell).run(conditions)

        calm = (
            go("undisturbed", replace(disturbed, faults=None, kills=0)) if options.compare else None
        )
        trial = go("disturbed", disturbed)
    differences = None if calm is None else tuple(_differences(calm.counted, trial.counted))
    faults = disturbed.faults or ""
    return RehearsalResult(options.plan.batch, str(options.plan.path), faults, trial, differences)


def _fault_specification(options: RehearsalOptions, plan: FaultPlan) -> str | None:
    """Return the faults with the seed that holds, None where there are no faults."""
    if not plan.faults:
        return None
    seed = plan.seed if options.seed_number is None else options.seed_number
    parts = (part for part in options.faults.split(",") if not part.strip().startswith("seed="))
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
                pt="Dê uma pasta nova: nela fica tudo do ensaio.",
                en="Name a new folder: all of the rehearsal stays in it.",
            ),
        )
    yield keep.resolve()


def _differences(calm: TrialCounts, disturbed: TrialCounts) -> Iterator[RowDifference]:
    undisturbed = _fates_by_row(calm)
    found = _fates_by_row(disturbed)
    for row_id in sorted(undisturbed.keys() | found.keys()):
        if undisturbed.get(row_id) != found.get(row_id):
            yield RowDifference(row_id, undisturbed.get(row_id), found.get(row_id))


def _fates_by_row(counted: TrialCounts) -> dict[RowId, RowOutcome]:
    return {
        RowId(workbook.step, workbook.name, row): fate
        for workbook in counted.workbooks
        for row, fate in workbook.fates.items()
    }
