"""Samples of long tables of cases: the default suite takes a fixed part of each, ``make test-slow``
all of it."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import settings


def sampled(cases: Iterable[Any], in_sample: Callable[[int, Any], bool]) -> list[Any]:
    """Mark as slow the cases that are not in the sample, each told by its place and itself."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[] if in_sample(place, case) else [pytest.mark.slow],
        )
        for place, case in enumerate(cases)
    ]


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """Sample one of so many cases, the first to begin with."""
    return sampled(cases, lambda place, _: place % step == 0)


def across(*axes: Sequence[Any]) -> list[Any]:
    """Combine the values of all axes; sample each of the longest, with the others' in turn."""
    longest = max(axes, key=len)
    in_turn = [tuple(axis[n % len(axis)] for axis in axes) for n in range(len(longest))]
    return sampled(product(*axes), lambda _, case: case in in_turn)


def examples(few: int) -> settings:
    """Draw few examples, always the same, in the default suite; ten times as many new ones else."""
    at_hand = settings.get_current_profile_name() == "same-examples"
    return settings(max_examples=few if at_hand else 10 * few)
