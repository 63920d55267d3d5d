"""Steps of an analyst with a foreign sheet, as documented."""

from pathlib import Path

import pytest
from analyst_steps import WAYS, play
from environment import ROOT, Xlbridge

MOST_STEPS = {"a proposed mapping": 12, "the saved mapping": 8}


@pytest.mark.parametrize("first", [1, pytest.param(0, marks=pytest.mark.slow)])
def test_foreign_sheet_is_uploaded_in_few_steps(
    at_demo: Xlbridge, tmp_path: Path, first: int
) -> None:
    stories = play(at_demo, tmp_path, WAYS[first:])
    for name, most in MOST_STEPS.items():
        assert stories[name].steps <= most, stories[name]
    page = (ROOT / "docs" / "mapping.md").read_text("utf-8")
    for name, story in stories.items():
        commands, edits = len(story.commands), len(story.edits)
        assert f"| {name} | {commands} | {edits} | {story.steps} |" in page
