"""Any order of uploads, faults, absences, hours and decisions keeps the promises."""

from pathlib import Path

import pytest
from trials import Site
from upload_machine import run_machine


def test_a_few_courses(site: Site, tmp_path: Path) -> None:
    assert run_machine(site, tmp_path, examples=3, steps=8, same=True) > 10


@pytest.mark.slow
def test_many_courses(site: Site, tmp_path: Path) -> None:
    made = 0
    while made < 3000:
        made += run_machine(site, tmp_path, examples=20, steps=25)
