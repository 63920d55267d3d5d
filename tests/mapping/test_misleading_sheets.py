"""Headers and values that mislead are never proposed with high confidence."""

import pytest
from header_score import HALVES, Grade, layouts, proposals, scores
from misleading_sheets import misleading

from xlbridge.resources import Catalogue

SAMPLE = 61


@pytest.mark.parametrize(
    ("half", "step"),
    [
        *((half, SAMPLE) for half in HALVES),
        *(pytest.param(half, 1, marks=pytest.mark.slow) for half in HALVES),
    ],
)
def test_no_misleading_column_is_proposed_with_high_confidence(
    catalogue: Catalogue, half: str, step: int
) -> None:
    sheets = [sheet for layout in layouts(half) for sheet in misleading(layout, catalogue)]
    found = scores(proposals(sheets[::step], catalogue))
    assert [(s.what, s.header, *s.sure) for s in found if s.grade is Grade.SURE] == []
