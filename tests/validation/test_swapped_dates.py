"""Real dates of which day and month seem to have changed places."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fixed_copies import fixed, places
from sheets import write_records

from xlbridge.resources import Catalogue
from xlbridge.validation import write_fixed_copy

CR = "contasreceber"
DUE = "dataDeVencimento"


def test_dates_that_seem_swapped_are_told_once_and_their_texts_are_left(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    swapped = [{"dataDeEmissao": None, DUE: date(2026, month, 11)} for month in (1, 2, 3)]
    texts = [{"dataDeEmissao": None, DUE: f"{day}/11/2026"} for day in (13, 20, 30)]
    path = write_records(tmp_path / "a.xlsx", CR, [*swapped, *texts])
    judged, changes, after = fixed(path, catalogue)
    assert [(finding.cell, finding.kind.code) for finding in judged.findings] == [
        ("H2", "dates-swapped"),
        *((cell, "date-as-text") for cell in ("H5", "H6", "H7")),
    ]
    assert changes == []
    assert places(after) == places(judged)
    [fixes] = write_fixed_copy([judged], path.with_name("again.xlsx"))
    assert [left.finding.cell for left in fixes.left] == ["H5", "H6", "H7"]
    assert "trocados" in fixes.left[0].reason.pt


def november(*days: int) -> list[date]:
    return [date(2026, 11, day) for day in days]


@pytest.mark.parametrize(
    "values",
    [
        [*november(1, 2), "13/11/2026", "14/11/2026", "15/11/2026"],
        [*november(1, 2, 3), "13/11/2026", "14/11/2026"],
        [*november(1, 2, 13), "13/11/2026", "14/11/2026", "15/11/2026"],
        [*november(1, 2, 3), "10/11/2026", "14/11/2026", "15/11/2026", "16/11/2026"],
        [*november(1, 2, 3), "2026-11-14", "2026-11-15", "2026-11-16"],
    ],
)
def test_dates_beside_texts_need_not_be_swapped(
    tmp_path: Path, catalogue: Catalogue, values: list[Any]
) -> None:
    records = [{"dataDeEmissao": None, DUE: value} for value in values]
    judged, changes, after = fixed(write_records(tmp_path / "a.xlsx", CR, records), catalogue)
    assert len(changes) == sum(isinstance(value, str) for value in values)
    assert {finding.kind.code for finding in judged.findings} == {"date-as-text"}
    assert after.findings == []
