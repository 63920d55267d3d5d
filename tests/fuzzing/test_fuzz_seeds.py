"""The fuzzer's seeds, its findings among them, and a fixed sample of damaged copies of each."""

import random

import pytest
from fuzz_targets import SEEDS, TARGETS
from fuzzing import damaged

_COPIES = 40


@pytest.mark.parametrize("target", TARGETS)
def test_seeds_and_their_damaged_copies(target: str) -> None:
    seeds = sorted((SEEDS / target).iterdir())
    assert len(seeds) >= 5
    rng = random.Random(2026)
    for seed in seeds:
        content = seed.read_bytes()
        TARGETS[target](content)
        for _ in range(_COPIES):
            TARGETS[target](content[:1] + damaged(content[1:], rng))
