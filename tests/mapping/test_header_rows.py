"""Proposals for 333 foreign layouts; 80 of them are set aside: unused in development."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from header_score import HALVES, Grade, Proposed, layouts, proposals, scores

from xlbridge.resources import Catalogue
from xlbridge.validation.mapping import mapping_text, read_mapping

LEAST_LAYOUTS, LEAST_HEADERS = 60, 900
SAMPLE = 5
"""Every fifth layout; the slow suite scores all."""


@pytest.fixture(scope="module")
def proposed(catalogue: Catalogue) -> Callable[[str, int], list[Proposed]]:
    """Return the proposals for every few layouts of a half, which are made once."""
    return cache(lambda half, step: list(proposals(layouts(half)[::step], catalogue)))


def test_the_layouts_are_as_many_as_documented() -> None:
    found = [layout for half in HALVES for layout in layouts(half)]
    assert len(found) >= LEAST_LAYOUTS
    assert sum(len(layout.header) for layout in found) >= LEAST_HEADERS
    assert len({layout.what for layout in found}) == len(found)


@pytest.mark.parametrize(
    ("half", "least", "most_doubtful", "step"),
    [
        ("known", 0.97, 0.01, SAMPLE),
        ("set aside", 0.9, 0.03, SAMPLE),
        ("adversarial", 0.9, 0.03, SAMPLE),
        pytest.param("known", 0.98, 0.005, 1, marks=pytest.mark.slow),
        pytest.param("set aside", 0.93, 0.013, 1, marks=pytest.mark.slow),
        pytest.param("adversarial", 0.93, 0.01, 1, marks=pytest.mark.slow),
    ],
)
def test_most_headers_are_proposed_correctly_and_none_wrongly_with_high_confidence(
    proposed: Callable[[str, int], list[Proposed]],
    half: str,
    least: float,
    most_doubtful: float,
    step: int,
) -> None:
    found = list(scores(proposed(half, step)))
    grades = [score.grade for score in found]
    assert [(s.what, s.header) for s in found if s.grade is Grade.SURE] == []
    assert grades.count(Grade.RIGHT) >= least * len(found)
    assert grades.count(Grade.DOUBTFUL) <= most_doubtful * len(found)
    # Columns that no person wrote down for any header, such as constants, are never sure.
    assert any(score.sure for score in found)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("step", [SAMPLE, pytest.param(1, marks=pytest.mark.slow)])
def test_every_proposal_maps_the_whole_header(
    tmp_path: Path, proposed: Callable[[str, int], list[Proposed]], half: str, step: int
) -> None:
    for number, (layout, proposal) in enumerate(proposed(half, step)):
        path = tmp_path / f"{number}.yaml"
        path.write_text(mapping_text(proposal), "utf-8")
        mapping = read_mapping(path)
        assert list(mapping.header) == list(layout.header)
        # What is different in each record cannot be asked for as a constant.
        assert {column.name for column in mapping.columns} >= {
            column.name
            for column in proposal.resource.columns
            if column.required and "no_repeats" not in column.checks
        }
        lines = path.read_text("utf-8").splitlines()
        stated = [(one, two) for one, two in pairwise(lines) if two.startswith("  codigo")]
        assert all(one.startswith("  # ") for one, _ in stated)
