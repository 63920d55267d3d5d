"""Consistency of the demo: sums, order of dates and numbers, references."""

from pathlib import Path

import pytest
from consistency import consistency_report
from databases import open_storage

from xlbridge.sandbox import SeedKind, seed_database

LEAST_CHECKED = 20_000


@pytest.mark.parametrize("scale", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_the_demo_is_consistent(tmp_path: Path, scale: int) -> None:
    storage = open_storage(tmp_path)
    with storage.transaction(writing=True) as connection:
        seed_database(connection, SeedKind.DEMO, scale)
        report = consistency_report(connection)
    storage.close()
    assert report.contradictions == []
    assert report.examined.total() > LEAST_CHECKED * scale
    assert all(report.examined.values())
