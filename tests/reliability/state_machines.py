"""Courses of the state machines: what happens to the network in them, and how they are run."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from faults import KINDS, Kind
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from trials import Site, Trial
from wire_proxy import Exchange, Fault, Point, Request, passed_on

_WRITING = ("importacao", "processar-arquivo", "log-importacao")
PROMPT = sorted(name for name in KINDS if "silence" not in name)
"""Kinds of faults that take no time."""


class Courses(RuleBasedStateMachine):
    """A state machine of a site: the steps that were made, and what became of each sheet."""

    site: ClassVar[Site]
    folder: ClassVar[Path]
    steps: ClassVar[int] = 0
    ended: ClassVar[list[Trial]] = []


def arm_one(site: Site, kind: Kind, number: int, more: Sequence[str] = ()) -> None:
    """Let the writing request of that number among those to come have the fault."""
    met: list[int] = []

    def strikes(request: Request) -> bool:
        asked = f"{request.method} {request.path}"
        if not any(part in asked for part in (*_WRITING, *more)):
            return False
        if request.number not in met:
            met.append(request.number)
        return met.index(request.number) == number

    def fault(request: Request) -> Fault:
        return kind.play if strikes(request) else passed_on

    def cut_at(request: Request) -> Point | None:
        return kind.cut if kind.cut is not None and strikes(request) else None

    site.proxy.fault, site.proxy.cut_at = fault, cut_at


def take_away(site: Site) -> None:
    """Let every connection break from now on."""

    def gone(exchange: Exchange) -> None:
        exchange.reset()

    site.proxy.fault = lambda _request: gone


def run_courses(
    kind: type[Courses],
    site: Site,
    folder: Path,
    examples: int,
    steps: int,
    *,
    same: bool = False,
) -> type[Courses]:
    """Run that many courses of that many steps, and return the machine with what became of them.

    ``same`` makes every run take the same courses.
    """
    machine = type("Machine", (kind,), {"site": site, "folder": folder, "ended": []})
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=same,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return machine


def course_trials(kind: type[Courses], site: Site, folder: Path, steps: int) -> Iterator[Trial]:
    """Run courses until that many steps were made, and yield what became of each sheet."""
    made = 0
    while made < steps:
        machine = run_courses(kind, site, folder, examples=10, steps=25)
        made += machine.steps
        yield from machine.ended
    print(f"  {kind.__name__}: {made} steps", flush=True)
