"""Samples of long tables of cases: the default suite runs a fixed part, ``make test-slow`` all."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import settings


def sampled(cases: Iterable[Any], in_sample: Callable[[int, Any], bool]) -> list[Any]:
    """Mark as slow the cases that are not in the sample, chosen by index and case."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[] if in_sample(index, case) else [pytest.mark.slow],
        )
        for index, case in enumerate(cases)
    ]


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """Sample every ``step``-th case, beginning with the first."""
    return sampled(cases, lambda index, _: index % step == 0)


def across(*axes: Sequence[Any]) -> list[Any]:
    """Combine the values of all axes; sample each of the longest axis, cycling the others."""
    longest = max(axes, key=len)
    in_turn = [tuple(axis[n % len(axis)] for axis in axes) for n in range(len(longest))]
    return sampled(product(*axes), lambda _, case: case in in_turn)


def examples(few: int) -> settings:
    """Draw a few fixed examples in the default suite, ten times as many new ones otherwise."""
    is_fixed = settings.get_current_profile_name() == "same-examples"
    return settings(max_examples=few if is_fixed else 10 * few)
