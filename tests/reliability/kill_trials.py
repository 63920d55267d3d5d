"""SIGKILL in the middle of a command, at an exact step or at a random moment; then it is resumed.

At the end of every trial each row must be in the sandbox once: through the command itself, its
resumption, or a manual resolution if only a person can decide. Right after the kill, and at the
end, the journal must say of each row what its events, writes and snapshots show.

The steps are everything visible from outside the process: each point of a writing request, the
start and end of a reading one, each commit of a journal or ledger, each file opened for writing.
"""

import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from disk_driver import Failure
from kill_scenarios import (
    CHANGES,
    ChangeScenario,
    CountedScenario,
    ProcessScenario,
    Scenario,
    TrialSetup,
    UnexpectedExit,
)
from ledger_oracle import require_agreement
from rival_scenarios import RivalBatches, RivalChanges, RivalColleagues, RivalWorkbooks
from subjects import Processing, Subject
from trials import Trial
from wire_proxy import Point

ROWS = 4
ROWS_OF = {"inventario": 3, "importacao": 2}
"""Rows of subjects that are limited: one open inventory per branch, one workbook per row."""

_AROUND = (Point.CONNECTED, Point.RELAYED)
"""Points of a reading request: its start and its end."""

_SCENARIOS: Mapping[str, type[Scenario]] = {
    "change": ChangeScenario,
    "counted": CountedScenario,
    "batches": RivalBatches,
    "workbooks": RivalWorkbooks,
    "colleagues": RivalColleagues,
    "changes": RivalChanges,
}
"""Scenario classes by the subject's scenario; a plain upload by default."""

_KILLED = -9


@dataclass(frozen=True)
class Step:
    """Where a command is killed: at a point of its n-th request, or before its n-th write."""

    number: int
    description: str
    point: Point | None = None

    def __str__(self) -> str:
        return (
            f"before {self.description}"
            if self.point is None
            else f"{self.point} of {self.description}"
        )


def steps(setup: TrialSetup, subject: Subject) -> Iterator[Step]:
    """Run a command without a kill, and yield all its steps."""
    scenario = new_scenario(setup, subject, _at_once(subject, 4))
    scenario.upload()
    for request in sorted(setup.system.proxy.seen, key=lambda one: one.number):
        description = f"request {request.number + 1}, {request.method} {request.path}"
        for point in Point if request.may_write else _AROUND:
            if point is not Point.BODY or request.body:
                yield Step(request.number, description, point)
    for number, write in enumerate(new_scenario(setup, subject, _at_once(subject, 1)).writes()):
        yield Step(number, f"write {number + 1}, {write}")


def kill_at(setup: TrialSetup, subject: Subject, step: Step) -> Trial:
    """Kill a command at a step, and run it to its end.

    A run may have fewer steps than the one before, because commits and polls vary; it is marked as
    missed if it ends before the step.
    """
    scenario = new_scenario(setup, subject, _at_once(subject, 1 if step.point is None else 4))
    name = f"{subject.name}: {step}"
    if step.point is None:
        ended = scenario.upload_on_disk(step.number, Failure.KILLED)
    else:
        ended = scenario.upload_watched(step.number, step.point)
    require_agreement(setup.folder, setup.system.catalogue)
    killed = ended.returncode == _KILLED
    if not killed and ended.returncode not in (0, 1):
        raise UnexpectedExit(
            f"{name}: not killed but ended with {ended.returncode}: {ended.stderr}"
        )
    trial = scenario.run_to_end(name)
    require_agreement(setup.folder, setup.system.catalogue)
    return replace(trial, missed=not killed)


def kill_after(
    setup: TrialSetup, subject: Subject, seconds: float, options: tuple[str, ...] = ()
) -> Trial:
    """Kill a command after some seconds, unless it has ended, and run it to its end."""
    scenario = new_scenario(setup, subject, options)
    ended = scenario.upload(longest=seconds)
    require_agreement(setup.folder, setup.system.catalogue)
    trial = scenario.run_to_end(f"{subject.name}: after {seconds:.3f} s")
    require_agreement(setup.folder, setup.system.catalogue)
    return replace(trial, missed=ended.returncode != _KILLED)


def duration(setup: TrialSetup, subject: Subject, options: tuple[str, ...] = ()) -> float:
    """Return the current duration of an uninterrupted command in seconds."""
    scenario = new_scenario(setup, subject, options)
    start = time.monotonic()
    scenario.upload()
    return time.monotonic() - start


def new_scenario(setup: TrialSetup, subject: Subject, options: tuple[str, ...] = ()) -> Scenario:
    """Start a scenario with empty homes, a new sheet and a reset proxy."""
    system = setup.system
    shutil.rmtree(setup.folder, ignore_errors=True)
    setup.folder.mkdir(parents=True)
    system.proxy.reset()
    path = setup.folder / "sheet.xlsx"
    keys = system.write(subject, path, ROWS_OF.get(subject.resource, ROWS))
    system.proxy.reset()
    kind = (
        ProcessScenario
        if isinstance(subject, Processing)
        else _SCENARIOS.get(subject.scenario, Scenario)
    )
    return kind(setup, subject, path, keys, options)


def _at_once(subject: Subject, number: int) -> tuple[str, ...]:
    """Return the option for the number of concurrent records, if the subject has single records."""
    single_records = subject.mode in (*CHANGES, "records", "process")
    return ("--at-once", str(number)) if single_records and subject.scenario != "batches" else ()
