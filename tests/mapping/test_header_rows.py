"""Proposals for forty foreign header rows, half unused in development, and ten later ones."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from header_score import HALVES, Proposed, proposals, scores

from xlbridge.resources import Catalogue
from xlbridge.validation.mapping import mapping_text, read_mapping

ROWS = {"known": 20, "set aside": 20, "later": 10}
LEAST_RIGHT = 0.9


@pytest.fixture(scope="module")
def proposed(catalogue: Catalogue) -> Callable[[str], list[Proposed]]:
    """Return the proposals for a half, which are made once."""
    return cache(lambda half: list(proposals(HALVES[half], catalogue)))


@pytest.mark.parametrize("half", HALVES)
def test_most_headers_are_proposed_correctly_and_none_wrongly_with_high_confidence(
    proposed: Callable[[str], list[Proposed]], half: str
) -> None:
    found = list(scores(proposed(half)))
    assert len({score.what for score in found}) == ROWS[half]
    assert sum(score.right for score in found) >= LEAST_RIGHT * len(found)
    assert [(score.what, score.header) for score in found if score.surely_wrong] == []
    # Columns that no person wrote down for any header, such as constants, are never sure.
    assert any(score.sure for score in found)


@pytest.mark.parametrize("half", HALVES)
def test_every_proposal_maps_the_whole_header(
    tmp_path: Path, proposed: Callable[[str], list[Proposed]], half: str
) -> None:
    for number, (sheet, proposal) in enumerate(proposed(half)):
        path = tmp_path / f"{number}.yaml"
        path.write_text(mapping_text(proposal), "utf-8")
        mapping = read_mapping(path)
        assert list(mapping.header) == sheet["rows"][0]
        assert {column.name for column in mapping.columns} >= set(proposal.resource.required)
        lines = path.read_text("utf-8").splitlines()
        stated = [(one, two) for one, two in pairwise(lines) if two.startswith("  codigo")]
        assert all(one.startswith("  # ") for one, _ in stated)
