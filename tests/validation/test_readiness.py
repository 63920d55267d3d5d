"""Judging gets ready while a workbook is read, which changes nothing of what is found."""

from pathlib import Path

import pytest
from sheets import write_records

from xlbridge.limits import WorkbookLimits
from xlbridge.resources.catalogue import Catalogue
from xlbridge.validation.readiness import get_ready
from xlbridge.validation.validate import validate_workbook
from xlbridge.workbook.reading.reader import reading

MANY = 3_000


def test_every_resource_can_be_got_ready_for(catalogue: Catalogue) -> None:
    for name, resource in catalogue.items():
        get_ready({name: resource})


@pytest.mark.parametrize("resource", ["cliente", "contasreceber"])
def test_what_was_got_ready_finds_the_same(
    catalogue: Catalogue, samples: Path, resource: str
) -> None:
    workbook = samples / f"{resource}-com-erros.xlsx"
    before = list(validate_workbook(workbook, catalogue).findings)
    get_ready(catalogue)
    assert list(validate_workbook(workbook, catalogue).findings) == before


def test_a_small_workbook_is_not_waited_for(samples: Path) -> None:
    with reading(samples / "cliente.xlsx", WorkbookLimits()) as workbook:
        assert workbook.is_here()
        assert workbook().sheets


def test_a_large_workbook_tells_when_it_is_there(tmp_path: Path) -> None:
    path = write_records(tmp_path / "large.xlsx", "cliente", [{}] * MANY)
    with reading(path, WorkbookLimits()) as workbook:
        assert not workbook.is_here()
        assert workbook().sheets[0].height == MANY + 1
        assert workbook.is_here()
