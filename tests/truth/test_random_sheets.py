"""Random damage is always reported, and undamaged cells are unchanged."""

from pathlib import Path
from random import SystemRandom

import pytest
from random_sheets import silent_changes

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize("seed", range(1, 7))
def test_damage_is_reported_and_the_rest_is_unchanged(tmp_path: Path, seed: int) -> None:
    assert silent_changes(seed, tmp_path) == []


@pytest.mark.slow
def test_new_random_sheets(tmp_path: Path) -> None:
    """The first of 400 consecutive seeds is printed."""
    first = SystemRandom().randrange(10**9)
    print(f"seeds {first} to {first + 399}")
    found = [
        change for seed in range(first, first + 400) for change in silent_changes(seed, tmp_path)
    ]
    assert found == []
