"""Consistency of the demo: sums, order of dates and numbers, references."""

from pathlib import Path

import pytest
from consistency import consistency_report
from databases import connected, database_options
from sandboxes import create_database

LEAST_CHECKED = 20_000


@pytest.mark.parametrize("scale", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_the_demo_is_consistent(tmp_path: Path, scale: int) -> None:
    create_database(tmp_path, ["--scale", str(scale), *database_options(tmp_path)])
    with connected(tmp_path) as connection:
        report = consistency_report(connection)
    assert report.contradictions == []
    assert report.examined.total() > LEAST_CHECKED * scale
    assert all(report.examined.values())
