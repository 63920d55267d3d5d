"""SIGKILL at every step and at random moments: no row is lost, sent twice or reported wrongly."""

from random import Random

import pytest
from kill_scenarios import TrialSetup
from kill_trials import duration, kill_after, kill_at, steps
from sampling import every
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
from trials import Figures
from wire_proxy import Point

RANDOM_SUBJECTS = (
    *(DIRECT, QUEUE, OWN_QUEUE, KEYLESS, DIRECT, BY_RECORD, *PROCESSINGS, COUNTED),
    *(UPDATE, UNDO, RIVAL_UPDATE, RIVAL_UNDO),
)
IN_PARTS = ("--chunk-rows", "2")


def random_kills(setup: TrialSetup, subject: Subject, seeds: range, parts: bool) -> Figures:
    options = IN_PARTS if parts else ()
    longest = duration(setup, subject, options)
    moments = (Random(seed).uniform(0, longest) for seed in seeds)
    return Figures().add(kill_after(setup, subject, moment, options) for moment in moments)


def assert_nothing_lost(figures: Figures) -> None:
    assert (figures.duplicates, figures.lost) == (0, 0), figures.failed


@pytest.mark.parametrize(
    ("number", "subject"), list(enumerate(RANDOM_SUBJECTS))[:7:3], ids=lambda value: str(value)[:20]
)
def test_a_kill_at_a_random_moment_loses_and_repeats_nothing(
    setup: TrialSetup, number: int, subject: Subject
) -> None:
    figures = random_kills(setup, subject, range(number, number + 1), number == 4)
    assert figures.trials == 1
    assert_nothing_lost(figures)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "subject"), list(enumerate(RANDOM_SUBJECTS)), ids=lambda value: str(value)[:20]
)
def test_many_kills_at_random_moments_lose_and_repeat_nothing(
    setup: TrialSetup, number: int, subject: Subject
) -> None:
    figures = random_kills(
        setup, subject, range(1000 + 60 * number, 1060 + 60 * number), number == 4
    )
    assert figures.trials == 60
    assert_nothing_lost(figures)


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject",
    [
        *(DIRECT, QUEUE, OWN_QUEUE, PREVIEW, BY_RECORD, COUNTED, *PROCESSINGS),
        *(UPDATE, UNDO, RIVAL_UPDATE, RIVAL_UNDO, *WORKBOOKS, BATCHES, DIRECT_BATCHES),
    ],
    ids=lambda s: s.name,
)
def test_a_kill_at_any_step_loses_and_repeats_nothing(setup: TrialSetup, subject: Subject) -> None:
    all_steps = list(steps(setup, subject))
    assert len(all_steps) > 20
    assert_nothing_lost(Figures().add(kill_at(setup, subject, step) for step in all_steps))


@pytest.mark.parametrize(
    ("subject", "writes"),
    every(
        4,
        [
            (DIRECT, "preview=false"),
            (QUEUE, "processar-arquivo"),
            (BY_RECORD, "POST /v2/cliente"),
            (PROCESSINGS[1], "processar/"),
            (COUNTED, Point.ANSWERED),
        ],
    ),
)
def test_a_kill_around_a_writing_request_loses_and_repeats_nothing(
    setup: TrialSetup, subject: Subject, writes: str
) -> None:
    writing = [step for step in steps(setup, subject) if writes in str(step)]
    assert len(writing) >= 5
    assert_nothing_lost(Figures().add(kill_at(setup, subject, step) for step in writing[1::5]))


@pytest.mark.parametrize(("subject", "writes"), every(2, [(UPDATE, "PUT"), (UNDO, "DELETE")]))
def test_a_kill_around_a_changing_request_loses_and_repeats_nothing(
    setup: TrialSetup, subject: Subject, writes: str
) -> None:
    all_steps = list(steps(setup, subject))
    writing = [step for step in all_steps if writes in step.description]
    writes_to_disk = [step for step in all_steps if step.point is None]
    assert len(writing) >= 5
    assert len(writes_to_disk) >= 10
    sample = [writing[2], writes_to_disk[len(writes_to_disk) // 2]]
    assert_nothing_lost(Figures().add(kill_at(setup, subject, step) for step in sample))


def test_a_resumed_batch_sees_records_another_home_wrote_meanwhile(
    setup: TrialSetup,
) -> None:
    all_steps = steps(setup, BATCHES)
    planned = next(step for step in all_steps if "preview=true" in step.description)
    assert_nothing_lost(Figures().add([kill_at(setup, BATCHES, planned)]))
