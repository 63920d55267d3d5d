"""SIGKILL at every step and at random moments: no row twice, none lost, no false done."""

from random import Random

import pytest
from kill_courses import Laboratory
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

RANDOM_SUBJECTS = (DIRECT, QUEUE, OWN_QUEUE, KEYLESS, DIRECT, BY_RECORD, *PROCESSINGS, COUNTED)
IN_PARTS = ("--chunk-rows", "2")


def random_kills(laboratory: Laboratory, subject: Subject, seeds: range, parts: bool) -> Figures:
    options = IN_PARTS if parts else ()
    longest = duration(laboratory, subject, options)
    moments = (Random(seed).uniform(0, longest) for seed in seeds)
    return Figures().add(kill_after(laboratory, subject, moment, options) for moment in moments)


def hold(figures: Figures) -> None:
    assert (figures.duplicates, figures.lost) == (0, 0), figures.failed


@pytest.mark.parametrize(
    ("place", "subject"), list(enumerate(RANDOM_SUBJECTS))[:7:3], ids=lambda value: str(value)[:20]
)
def test_random_kills(laboratory: Laboratory, place: int, subject: Subject) -> None:
    figures = random_kills(laboratory, subject, range(place, place + 1), place == 4)
    assert figures.trials == 1
    hold(figures)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "subject"), list(enumerate(RANDOM_SUBJECTS)), ids=lambda value: str(value)[:20]
)
def test_many_random_kills(laboratory: Laboratory, place: int, subject: Subject) -> None:
    figures = random_kills(
        laboratory, subject, range(1000 + 60 * place, 1060 + 60 * place), place == 4
    )
    assert figures.trials == 60
    hold(figures)


@pytest.mark.slow
@pytest.mark.parametrize(
    "subject",
    [
        *(DIRECT, QUEUE, OWN_QUEUE, PREVIEW, BY_RECORD, COUNTED, *PROCESSINGS),
        *(UPDATE, UNDO, RIVAL_UPDATE, RIVAL_UNDO, *WORKBOOKS, BATCHES, DIRECT_BATCHES),
    ],
    ids=lambda s: s.name,
)
def test_a_kill_at_every_step(laboratory: Laboratory, subject: Subject) -> None:
    taken = list(steps(laboratory, subject))
    assert len(taken) > 20
    hold(Figures().add(kill_at(laboratory, subject, step) for step in taken))


@pytest.mark.parametrize(
    ("subject", "writes"),
    every(
        2,
        [
            (DIRECT, "preview=false"),
            (QUEUE, "processar-arquivo"),
            (BY_RECORD, "POST /v2/cliente"),
            (PROCESSINGS[1], "processar/"),
            (COUNTED, Point.ANSWERED),
        ],
    ),
)
def test_a_kill_around_the_request_that_writes(
    laboratory: Laboratory, subject: Subject, writes: str
) -> None:
    grave = [step for step in steps(laboratory, subject) if writes in str(step)]
    assert len(grave) >= 5
    hold(Figures().add(kill_at(laboratory, subject, step) for step in grave[1::5]))


@pytest.mark.parametrize(("subject", "writes"), [(UPDATE, "PUT"), (UNDO, "DELETE")])
def test_a_kill_around_the_request_that_changes(
    laboratory: Laboratory, subject: Subject, writes: str
) -> None:
    taken = list(steps(laboratory, subject))
    grave = [step for step in taken if writes in step.what]
    recorded = [step for step in taken if step.point is None]
    assert len(grave) >= 5
    assert len(recorded) >= 10
    tried = [grave[2], recorded[len(recorded) // 2]]
    hold(Figures().add(kill_at(laboratory, subject, step) for step in tried))


def test_a_batch_that_goes_on_at_once_sees_what_another_home_has_written_meanwhile(
    laboratory: Laboratory,
) -> None:
    taken = steps(laboratory, BATCHES)
    planned = next(step for step in taken if "preview=true" in step.what)
    hold(Figures().add([kill_at(laboratory, BATCHES, planned)]))
