"""State machines of trials: their faults, and how they are run."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from faults import KINDS, LATE_KINDS, LONG_KINDS, REPEATED_KINDS, WRONG_LOG, Kind
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test
from trials import SystemUnderTest, Trial
from wire_proxy import Exchange, Fault, Point, Request, forward_unchanged

from xlbridge.upload import UploadOptions
from xlbridge.upload.planning import ApproveAll

SETTLE = 900.0
_WRITING = ("importacao", "processar-arquivo", "log-importacao")
_ALL_KINDS = {
    **KINDS,
    **LATE_KINDS,
    **LONG_KINDS,
    **REPEATED_KINDS,
    "log of another file": WRONG_LOG,
}
PROMPT_KINDS = {name: kind for name, kind in _ALL_KINDS.items() if "silence" not in name}
PROMPT = sorted(PROMPT_KINDS)
"""Kinds of faults that take no time."""


def adds_any(request: Request) -> bool:
    """Return whether the system takes a second delivery of a request, too.

    That is so for a direct import; and a change that arrives once more later takes back another.
    """
    return "preview=false" in request.path or request.method == "PUT"


class StateMachine(RuleBasedStateMachine):
    """State machine on a system; counts its steps and keeps the trial of each sheet."""

    system: ClassVar[SystemUnderTest]
    folder: ClassVar[Path]
    steps: ClassVar[int] = 0
    trials: ClassVar[list[Trial]] = []

    @property
    def options(self) -> UploadOptions:
        """Options of uploads that consent to everything and wait for nothing but late requests."""
        return UploadOptions(consent=ApproveAll(), sleep=self.system.sleep, settle_seconds=SETTLE)


def inject_fault(
    system: SystemUnderTest,
    kind: Kind,
    number: int,
    more_paths: Sequence[str] = (),
    takes_both: Callable[[Request], bool] = adds_any,
) -> None:
    """Inject the fault into the ``number``-th of the coming writing requests.

    None that the system ``takes_both`` times is repeated: no client can prevent that.
    """
    matching: list[int] = []

    def is_affected(request: Request) -> bool:
        query = f"{request.method} {request.path}"
        if not any(part in query for part in (*_WRITING, *more_paths)):
            return False
        if request.number not in matching:
            matching.append(request.number)
        return matching.index(request.number) == number

    def fault(request: Request) -> Fault:
        if not is_affected(request) or (kind.repeats and takes_both(request)):
            return forward_unchanged
        return kind.play

    def cut_at(request: Request) -> Point | None:
        return kind.cut if kind.cut is not None and is_affected(request) else None

    system.proxy.fault, system.proxy.cut_at = fault, cut_at


def disconnect_server(system: SystemUnderTest) -> None:
    """Break every connection from now on."""

    def reset(exchange: Exchange) -> None:
        exchange.reset()

    system.proxy.fault = lambda _request: reset


def run_machine(
    kind: type[StateMachine],
    system: SystemUnderTest,
    folder: Path,
    examples: int,
    steps: int,
    *,
    same: bool = False,
) -> type[StateMachine]:
    """Run ``examples`` scenarios of up to ``steps`` steps; return the machine with their trials.

    With ``same``, every run has the same scenarios.
    """
    machine = type("Machine", (kind,), {"system": system, "folder": folder, "trials": []})
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


def machine_trials(
    kind: type[StateMachine], system: SystemUnderTest, folder: Path, steps: int
) -> Iterator[Trial]:
    """Run scenarios until ``steps`` steps were made, and yield the trial of each sheet."""
    made = 0
    while made < steps:
        machine = run_machine(kind, system, folder, examples=10, steps=25)
        made += machine.steps
        yield from machine.trials
    print(f"  {kind.__name__}: {made} steps", flush=True)
