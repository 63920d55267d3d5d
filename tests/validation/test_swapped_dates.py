"""Dates whose day and month seem to be swapped."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fixed_copies import finding_counts, fix_and_validate, write_fixed_copy
from sheets import write_records

from xlbridge.resources import Catalogue

CR = "contasreceber"
DUE = "dataDeVencimento"


@pytest.mark.parametrize("months", [(1, 2, 3), (1, 2), (3,)])
def test_swapped_dates_are_reported_once_and_texts_left_unchanged(
    tmp_path: Path, catalogue: Catalogue, months: tuple[int, ...]
) -> None:
    swapped = [{"dataDeEmissao": None, DUE: date(2026, month, 11)} for month in months]
    texts = [{"dataDeEmissao": None, DUE: f"{day}/11/2026"} for day in (13, 20, 30)]
    path = write_records(tmp_path / "a.xlsx", CR, [*swapped, *texts])
    cells = [f"H{row}" for row in range(len(months) + 2, len(months) + 5)]
    validated, changes, after = fix_and_validate(path, catalogue)
    assert [(finding.cell, finding.kind.code) for finding in validated.findings] == [
        ("H2", "dates-swapped"),
        *((cell, "date-as-text") for cell in cells),
    ]
    assert changes == []
    assert finding_counts(after) == finding_counts(validated)
    [fixes] = write_fixed_copy([validated], path.with_name("again.xlsx"))
    assert [left.finding.cell for left in fixes.left] == cells
    assert "trocados" in fixes.left[0].reason.pt


@pytest.mark.parametrize(
    ("days", "texts"),
    [
        ([date(2026, 5, 11), date(2026, 3, 12)], ["13/11/2026"]),
        ([date(2026, 5, 11), date(2026, 3, 12)], ["11/13/2026", "12/25/2026"]),
        ([date(2026, 8, 11)], ["13/11/2026", "30/10/2026"]),
        (
            [date(2026, 1 + n % 12, 1 + n % 11) for n in range(30)] + [date(2026, 6, 15)],
            ["13/6/2026"],
        ),
    ],
)
def test_few_dates_that_fit_only_when_swapped_are_reported(
    tmp_path: Path, catalogue: Catalogue, days: list[date], texts: list[str]
) -> None:
    records = [{"dataDeEmissao": None, DUE: value} for value in (*days, *texts)]
    validated, changes, after = fix_and_validate(
        write_records(tmp_path / "a.xlsx", CR, records), catalogue
    )
    assert changes == []
    assert [f.cell for f in validated.findings if f.kind.code == "dates-swapped"] == ["H2"]
    assert finding_counts(after) == finding_counts(validated)


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
        [*(date(2026, month, 1) for month in range(1, 13)), "31/12/2026"],
    ],
)
def test_plausible_dates_are_not_reported_as_swapped(
    tmp_path: Path, catalogue: Catalogue, values: list[Any]
) -> None:
    records = [{"dataDeEmissao": None, DUE: value} for value in values]
    validated, changes, after = fix_and_validate(
        write_records(tmp_path / "a.xlsx", CR, records), catalogue
    )
    assert len(changes) == sum(isinstance(value, str) for value in values)
    assert {finding.kind.code for finding in validated.findings} == {"date-as-text"}
    assert after.findings == []
