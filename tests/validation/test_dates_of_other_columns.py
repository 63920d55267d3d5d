"""Text dates that another column decides; dates that a program moved before midnight."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge
from fixed_copies import fix_and_validate
from sheets import write_records

from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook

CR = "contasreceber"
ISSUED, DUE = "dataDeEmissao", "dataDeVencimento"


def dates(folder: Path, issued: list[Any], due: list[Any]) -> Path:
    changes = [{ISSUED: a, DUE: b} for a, b in zip(issued, due, strict=True)]
    return write_records(folder / "a.xlsx", CR, changes)


def codes(sheet: ValidatedSheet, column: str) -> list[str]:
    return sorted({f.kind.code for f in sheet.findings if f.column == column})


BRAZILIAN, AMERICAN = ["25/10/2026", "26/10/2026"], ["10/25/2026", "10/26/2026"]


@pytest.mark.parametrize(
    ("issued", "due", "meant"),
    [
        (BRAZILIAN, ["05/11/2026", "06/11/2026"], [date(2026, 11, 5), date(2026, 11, 6)]),
        (AMERICAN, ["11/05/2026", "11/06/2026"], [date(2026, 11, 5), date(2026, 11, 6)]),
        (["25.10.2026", "26.10.2026"], ["05/11/2026"] * 2, [date(2026, 11, 5)] * 2),
        (["25-10-2026", "1º/10/2026"], ["05/11/2026"] * 2, [date(2026, 11, 5)] * 2),
        (["25/10/2026 10:30", "26/10/2026"], ["5/11/2026"] * 2, [date(2026, 11, 5)] * 2),
        ([*BRAZILIAN, "03/10/2026"], ["05/11/2026"] * 2 + ["25/12/2026"], [date(2026, 11, 5)] * 2),
    ],
)
def test_ambiguous_dates_are_read_in_the_certain_order_of_another_column(
    tmp_path: Path, catalogue: Catalogue, issued: list[Any], due: list[Any], meant: list[date]
) -> None:
    path = dates(tmp_path, issued, due)
    validated, changed, after = fix_and_validate(path, catalogue)
    assert [day.date() for day in validated.frame[DUE][: len(meant)]] == meant
    assert "date-order-of-sheet" in codes(validated, DUE)
    assert validated.errors == 0
    assert {change.column for change in changed} >= {DUE}
    assert after.frame[DUE].equals(validated.frame[DUE])
    assert after.errors == 0


@pytest.mark.parametrize(
    ("issued", "due"),
    [
        ([BRAZILIAN[0], "05/10/2026"], ["05/11/2026", "06/11/2026"]),
        ([BRAZILIAN[0], AMERICAN[0]], ["05/11/2026", "06/11/2026"]),
        (["05/10/2026", "06/10/2026"], ["05/11/2026", "06/11/2026"]),
        ([date(2026, 10, 25), date(2026, 10, 26)], ["05/11/2026", "06/11/2026"]),
        (["2026-10-25", "2026-10-26"], ["05/11/2026", "06/11/2026"]),
        (BRAZILIAN, ["05/11/2026", "11/30/2026"]),
        (["25/out/2026", "26/out/2026"], ["05/11/2026", "06/11/2026"]),
    ],
)
def test_dates_stay_ambiguous_without_another_certain_column(
    tmp_path: Path, catalogue: Catalogue, issued: list[Any], due: list[Any]
) -> None:
    sheet = validate_workbook(dates(tmp_path, issued, due), catalogue)
    assert "date-ambiguous" in codes(sheet, DUE)


def test_dates_of_a_csv_are_decided_by_another_column(xlbridge: Xlbridge, tmp_path: Path) -> None:
    header = f"codigoDaFilial;codigoDoCliente;{ISSUED};{DUE};historico"
    path = tmp_path / "a.csv"
    lines = [f"1;1001;{day}/10/2026;0{day % 10}/11/2026;x" for day in range(15, 25)]
    path.write_text("\n".join([header, *lines, ""]), "utf-8")
    result = xlbridge("--lang", "en", "validate", path, "--resource", CR)
    assert "date-ambiguous" not in result.stdout
    assert "in the order of the dates in the column dataDeEmissao." in result.stdout


def before_midnight(folder: Path, cells: list[Any], column: str = DUE) -> Path:
    path = folder / "a.xlsx"
    changes = [{column: cell} for cell in cells]
    return write_records(path, CR, changes)


@pytest.mark.parametrize(
    ("time", "lost"),
    [
        ("23:59:32", 28),
        ("23:59:17", 43),
        ("23:58:45", 75),
        ("23:59:58", 2),
        ("23:59:30", 30),
        ("23:58:00", 120),
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_time_before_midnight_in_a_whole_column_is_the_next_day(
    tmp_path: Path, catalogue: Catalogue, time: str, lost: int, as_text: bool
) -> None:
    moments = [datetime.fromisoformat(f"2026-11-{day:02} {time}") for day in (9, 30, 15)]
    cells = [f"{moment:%Y-%m-%d %H:%M:%S}" if as_text else moment for moment in moments]
    sheet = validate_workbook(before_midnight(tmp_path, cells), catalogue)
    days = [day.date() for day in sheet.frame[DUE]]
    assert days == [date(2026, 11, 10), date(2026, 12, 1), date(2026, 11, 16)]
    (finding,) = [f for f in sheet.findings if f.column == DUE]
    assert (finding.kind.code, finding.cells) == ("dates-before-midnight", 3)
    assert f"took {lost} seconds off" in finding.message.en
    assert time in finding.message.en


@pytest.mark.parametrize(
    "cells",
    [
        [datetime(2026, 11, 9, 23, 59, 59), datetime(2026, 11, 10, 23, 59, 59)],
        [datetime(2026, 11, 9, 23, 59), datetime(2026, 11, 10, 23, 59)],
        [datetime(2026, 11, 9, 23, 59, 32), datetime(2026, 11, 10, 14, 30)],
        [datetime(2026, 11, 9, 23, 59, 32), date(2026, 11, 10)],
        [datetime(2026, 11, 9, 23, 59, 32), datetime(2026, 11, 10, 23, 59, 31)],
        [datetime(2026, 11, 9, 23, 59, 32), "2026-11-10"],
        [datetime(2026, 11, 9, 23, 50, 32), datetime(2026, 11, 10, 23, 50, 32)],
    ],
)
def test_other_times_stay_on_their_day(
    tmp_path: Path, catalogue: Catalogue, cells: list[Any]
) -> None:
    sheet = validate_workbook(before_midnight(tmp_path, cells), catalogue)
    assert [day.day for day in sheet.frame[DUE]] == [9, 10]
    assert "dates-before-midnight" not in codes(sheet, DUE)
    assert "date-has-time" in codes(sheet, DUE)
