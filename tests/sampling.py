"""Samples of long tables of cases: the default suite runs a fixed part, ``make test-slow`` all."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import settings

_only_samples: list[bool] = []


def leave_out_slow() -> None:
    """Omit slow cases, in a run that would deselect them: collecting each takes time."""
    _only_samples.append(True)


def sampled(cases: Iterable[Any], in_sample: Callable[[int, Any], bool]) -> list[Any]:
    """Mark as slow the cases that are not in the sample, chosen by index and case."""
    chosen = [(case, in_sample(index, case)) for index, case in enumerate(cases)]
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)), marks=[pytest.mark.slow] * (not is_in)
        )
        for case, is_in in chosen
        if is_in or not _only_samples
    ]


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """Sample every ``step``-th case, beginning with the first."""
    return sampled(cases, lambda index, _: index % step == 0)


def across(*axes: Sequence[Any]) -> list[Any]:
    """Combine the values of all axes; sample each of the longest axis, cycling the others."""
    longest = max(axes, key=len)
    in_turn = [tuple(axis[n % len(axis)] for axis in axes) for n in range(len(longest))]
    return sampled(product(*axes), lambda _, case: case in in_turn)


def sample_products(items: Iterable[pytest.Item]) -> None:
    """Mark as slow most combinations of tests with several ``parametrize`` marks, as ``across``
    does: each value of the longest occurs once, those of the others in turn."""
    groups = defaultdict[Hashable, list[tuple[pytest.Item, tuple[Hashable, ...]]]](list)
    for item in items:
        axes = [mark.args[0] for mark in item.iter_markers("parametrize")]
        if len(axes) < 2 or item.get_closest_marker("slow") is not None:
            continue
        values: dict[str, object] = item.callspec.params  # type: ignore[attr-defined]
        names = [axis.split(",") if isinstance(axis, str) else axis for axis in axes]
        case = tuple(tuple(id(values[name.strip()]) for name in axis) for axis in names)
        # Those that drive other programs have a run of their own.
        group = item.nodeid.partition("[")[0], item.get_closest_marker("programs") is None
        groups[group].append((item, case))
    for cases in groups.values():
        axes = [[*dict.fromkeys(axis)] for axis in zip(*(case for _, case in cases), strict=True)]
        longest = max(map(len, axes))
        in_turn = {tuple(axis[n % len(axis)] for axis in axes) for n in range(longest)}
        for item, case in cases:
            if case not in in_turn:
                item.add_marker(pytest.mark.slow)


def examples(few: int) -> settings:
    """Draw a few fixed examples in the default suite, ten times as many new ones otherwise."""
    is_fixed = settings.get_current_profile_name() == "same-examples"
    return settings(max_examples=few if is_fixed else 10 * few)
