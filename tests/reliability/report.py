"""All reliability trials in one run, with their figures: ``make reliability``.

Trials end with every row once in the sandbox, or count as duplicates or losses. A doubt is one that
only a person could resolve, from the evidence page; each is explained.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TypeVar

import forked
import sandboxes
from answers import TRIALS
from change_machine import ChangeMachine
from disk_trials import all_disk_faults, disk_trial
from environment import clean_environment, work_in_memory
from fault_trials import PAIRS, answer_trial, fault_trial
from journal_cuts import cut_trial, random_cuts
from key_machine import KeyMachine
from kill_scenarios import TrialSetup
from kill_trials import duration, kill_after, kill_at, steps
from state_machines import machine_trials
from subjects import (
    BATCHES,
    BY_RECORD,
    COUNTED,
    DIRECT,
    DIRECT_BATCHES,
    KEYLESS,
    OWN_QUEUE,
    PREVIEW,
    PROCESSINGS,
    QUEUE,
    RIVAL_UNDO,
    RIVAL_UPDATE,
    UNDO,
    UPDATE,
    WORKBOOKS,
    Subject,
)
from trials import Figures, SystemUnderTest, Trial
from upload_machine import UploadMachine
from wire_proxy import wire_proxy

from xlbridge.client import Client, Target
from xlbridge.resources import load_catalogue

_T = TypeVar("_T")

_PARTS = ("--chunk-rows", "2")


def step_kills(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """SIGKILL at every step of every mode."""
    yield from _kills_at_steps(setup, share, (DIRECT, QUEUE, OWN_QUEUE, PREVIEW))


def record_kills(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """SIGKILL at every step of creating or processing single records."""
    yield from _kills_at_steps(setup, share, (BY_RECORD, COUNTED, *PROCESSINGS))


def change_kills(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """SIGKILL at every step of updates and undos, also of records that others change."""
    yield from _kills_at_steps(setup, share, (UPDATE, UNDO, RIVAL_UPDATE, RIVAL_UNDO))


def workbook_kills(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """SIGKILL at every step of a workbook, while another one has other texts for its keys."""
    yield from _kills_at_steps(setup, share, WORKBOOKS)


def batch_kills(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """SIGKILL at every step of a batch, while another home's has other texts for its keys."""
    yield from _kills_at_steps(setup, share, (BATCHES, DIRECT_BATCHES))


def _kills_at_steps(
    setup: TrialSetup, share: float, subjects: Sequence[Subject]
) -> Iterator[Trial]:
    for subject in subjects:
        for step in sample(list(steps(setup, subject)), share):
            yield kill_at(setup, subject, step)


def random_kills(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """60 SIGKILLs of each subject at random moments, also of a direct import in parts."""
    rng = Random(setup.seed)
    kinds: list[tuple[Subject, tuple[str, ...]]] = [
        *(
            (one, ())
            for one in (DIRECT, QUEUE, OWN_QUEUE, KEYLESS, BY_RECORD, COUNTED, *PROCESSINGS)
        ),
        *((one, ()) for one in (UPDATE, UNDO, RIVAL_UPDATE, RIVAL_UNDO, BATCHES)),
        (DIRECT, _PARTS),
    ]
    for subject, options in kinds:
        longest = duration(setup, subject, options)
        for _ in range(round(60 * share)):
            yield kill_after(setup, subject, rng.uniform(0, longest), options)


def faults(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """Every kind of fault on every request of every mode."""
    for spot, kind in sample(PAIRS, share):
        yield fault_trial(setup.system, setup.folder, spot, kind)


def answers(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """Every kind of answer to a write, before and after the commit, in every mode."""
    for mode, answer in sample(TRIALS, share):
        yield answer_trial(setup.system, setup.folder, mode, answer)


def disk_faults(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """A disk that fails in every way from every write of an upload on."""
    for fault in sample(list(all_disk_faults(setup)), share):
        yield disk_trial(setup, fault)


def cut_journals(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """Killed uploads whose journals then lose their last entries."""
    for cut in random_cuts(round(400 * share), setup.seed):
        yield cut_trial(setup.system, setup.folder, cut)


def machine(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """A state machine over client, server, faults and clock."""
    return machine_trials(UploadMachine, setup.system, setup.folder, round(3000 * share))


def key_machine(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """Workbooks with the same keys and other texts, from two homes of one system."""
    return machine_trials(KeyMachine, setup.system, setup.folder, round(2000 * share))


def change_machine(setup: TrialSetup, share: float) -> Iterator[Trial]:
    """Updates, undos, retries and batches of the same keys, from two homes of one system."""
    return machine_trials(ChangeMachine, setup.system, setup.folder, round(2000 * share))


CHAPTERS: dict[str, Callable[[TrialSetup, float], Iterator[Trial]]] = {
    "kills at every step": step_kills,
    "kills record by record": record_kills,
    "kills of updates and undos": change_kills,
    "kills of two workbooks": workbook_kills,
    "kills of two batches": batch_kills,
    "kills at random moments": random_kills,
    "faults": faults,
    "answers": answers,
    "disk faults": disk_faults,
    "cut journals": cut_journals,
    "state machine (sheets)": machine,
    "state machine (keys)": key_machine,
    "state machine (changes)": change_machine,
}


def sample(items: Sequence[_T], share: float) -> list[_T]:
    """Return about the given share of the items, evenly spread."""
    return [item for n, item in enumerate(items) if int(n * share) < int((n + 1) * share)]


def main() -> int:
    """Run the chapters and print their figures; return 1 if a row was lost or sent twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="share of the trials to run")
    parser.add_argument("--only", choices=CHAPTERS, help="one chapter only")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the kills and cuts at random moments"
    )
    arguments = parser.parse_args()
    print(f"{'':26}{'trials':>8}{'duplicates':>12}{'lost':>6}{'in doubt':>10}{'s':>7}", flush=True)
    work_in_memory()
    total = Figures()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reliability-")))
        setup = _setup(stack, folder, arguments.seed)
        for name, chapter in CHAPTERS.items():
            if arguments.only in (None, name):
                start = time.monotonic()
                figures = Figures().add(chapter(setup, arguments.share))
                _print(name, figures, time.monotonic() - start)
                total.merge(figures)
    _print("all", total, None)
    for doubt, number in sorted(total.doubts.items()):
        print(f"  in doubt, {number:>3} ×  {doubt}")
    return int(bool(total.duplicates or total.lost))


def _setup(stack: ExitStack, folder: Path, seed: int) -> TrialSetup:
    stack.callback(sandboxes.end)
    stack.callback(forked.end)
    environment = clean_environment(folder)
    empty = sandboxes.sandbox_process(folder, ["--seed", "empty"], environment)
    sandbox = stack.enter_context(empty)
    proxy = stack.enter_context(wire_proxy(sandbox.base_url))
    target = Target("rehearsal", sandbox.base_url, sandbox.email, sandbox.password)
    with Client(target) as client:
        customer = client.registry.clients.create(nomeComercial="Devedora").codigoDoCliente
    system = SystemUnderTest(sandbox, folder / "sandbox.db", proxy, load_catalogue(), customer)
    return TrialSetup(system, forked.shared_zygote(), folder / "trial", seed)


def _print(name: str, figures: Figures, seconds: float | None) -> None:
    took = "" if seconds is None else f"{seconds:.0f}"
    doubts = sum(figures.doubts.values())
    print(
        f"{name:26}{figures.trials:>8}{figures.duplicates:>12}{figures.lost:>6}{doubts:>10}{took:>7}",
        flush=True,
    )
    if figures.missed:
        print(f"  {figures.missed} had ended before they were to be killed", flush=True)
    for failed in figures.failed:
        print(f"  FAILED: {failed}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
