"""Dates with names of months, two-digit years, or times with a zone."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from fixed_copies import fix_and_validate
from sampling import across
from sheets import write_records, write_rows

from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.settings import ParseOptions
from xlbridge.validation import validate_workbook

DUE = "dataDeVencimento"


def sheet(folder: Path, text: str) -> Path:
    changes = [{"dataDeEmissao": None, DUE: text}]
    return write_records(folder / "a.xlsx", "contasreceber", changes)


@pytest.mark.parametrize(
    "text",
    [
        *("06-nov-2026", "6/nov/2026", "06-Nov-2026", "6 de novembro de 2026", "06.NOV.2026"),
        *("6 nov. 2026", "Nov 6, 2026", "November 6 2026", "6º de novembro de 2026"),
    ],
)
def test_date_with_the_name_of_a_month_is_read_and_fixed(
    tmp_path: Path, catalogue: Catalogue, text: str
) -> None:
    validated, changes, after = fix_and_validate(sheet(tmp_path, text), catalogue)
    assert [f.kind.code for f in validated.findings] == ["date-as-text"]
    assert [change.corrected for change in changes] == [date(2026, 11, 6)]
    assert after.findings == []


@pytest.mark.parametrize("text", ["1º/11/2026", "1°/11/2026", "01º-11-2026", "1° de nov. de 2026"])
def test_the_first_of_a_month_is_brazilian(tmp_path: Path, catalogue: Catalogue, text: str) -> None:
    validated, changes, after = fix_and_validate(sheet(tmp_path, text), catalogue)
    assert [f.kind.code for f in validated.findings] == ["date-as-text"]
    assert [change.corrected for change in changes] == [date(2026, 11, 1)]
    assert after.findings == []


@pytest.mark.parametrize(
    "month", ["jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez"]
)
def test_every_month_abbreviation_is_read(tmp_path: Path, catalogue: Catalogue, month: str) -> None:
    validated = validate_workbook(sheet(tmp_path, f"15-{month}-2026"), catalogue)
    months = ["jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez"]
    assert validated.frame[DUE][0].month == months.index(month) + 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("31-nov-2026", "type-date"),
        ("nov-2026", "type-date"),
        ("06-nvo-2026", "type-date"),
        ("06-nov-26", "date-short-year"),
        ("05/11/26", "date-short-year"),
        ("31/11/26", "type-date"),
        ("31-nov-26", "type-date"),
        ("1º/13/2026", "type-date"),
        ("2º/11/2026", "type-date"),
    ],
)
def test_incomplete_or_invalid_date_is_not_fixed(
    tmp_path: Path, catalogue: Catalogue, text: str, code: str
) -> None:
    validated, changes, _ = fix_and_validate(sheet(tmp_path, text), catalogue)
    assert [f.kind.code for f in validated.findings] == [code]
    assert changes == []


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("05/11/26", "dmy", date(2026, 11, 5)),
        ("05/11/26", "mdy", date(2026, 5, 11)),
        ("31.12.49", "dmy", date(2049, 12, 31)),
        ("06-nov-26", "dmy", date(2026, 11, 6)),
        ("06-nov-75", "dmy", "date-short-year"),
        ("31/12/50", "dmy", "date-short-year"),
        ("12/31/26", "dmy", "type-date"),
    ],
)
def test_two_digit_year_needs_a_declared_order_and_a_clear_century(
    tmp_path: Path, catalogue: Catalogue, text: str, order: Any, expected: Any
) -> None:
    reading = ParseOptions(dates=order)
    validated, changes, _ = fix_and_validate(sheet(tmp_path, text), catalogue, reading=reading)
    if isinstance(expected, str):
        assert [f.kind.code for f in validated.findings] == [expected]
        assert changes == []
    else:
        assert [change.corrected for change in changes] == [expected]


DAYS = ["2026-11-06T", "06/11/2026 "]
READ = [
    ("10:30:00Z", "date-has-time"),
    ("05:00Z", "date-has-time"),
    ("23:59:59.999+00:00", "date-has-time"),
    ("23:30-03:00", "date-has-time"),
    ("00:00:00-03", "date-as-text"),
    ("00:00:00.000-0500", "date-as-text"),
    ("14:00+09:00", "date-has-time"),
]
REFUSED = ["00:00:00Z", "00:00Z", "04:59Z", "03:00:00+0000", "10:00+09:00", "22:00:00-08:00"]


@pytest.mark.parametrize(("case", "day"), across(READ, DAYS))
def test_time_with_zone_is_accepted_if_the_day_is_the_same_in_brazil(
    tmp_path: Path, catalogue: Catalogue, case: tuple[str, str], day: str
) -> None:
    time, code = case
    changes = [
        {"dataDeEmissao": None, DUE: text} for text in (day + time, "25/11/2026", "26/11/2026")
    ]
    validated = validate_workbook(
        write_records(tmp_path / "a.xlsx", "contasreceber", changes), catalogue
    )
    assert validated.frame[DUE][0].date() == date(2026, 11, 6)
    assert [f.kind.code for f in validated.findings if f.row == 2] == [code]


@pytest.mark.parametrize(("time", "day"), across(REFUSED, DAYS))
def test_time_with_zone_is_refused_if_the_day_may_differ_in_brazil(
    tmp_path: Path, catalogue: Catalogue, day: str, time: str
) -> None:
    validated, changes, _ = fix_and_validate(sheet(tmp_path, f"{day}{time}"), catalogue)
    [finding] = validated.findings
    assert finding.kind.code == "type-date"
    assert "zone" in finding.message.en
    assert changes == []


@pytest.mark.parametrize(
    ("stated", "day", "codes"),
    [
        ("", date(1949, 12, 31), ["date-implausible"]),
        ("", date(2099, 12, 31), []),
        (", usual_years: [1910, 2026]", date(1949, 12, 31), []),
        (", usual_years: [1910, 2026]", date(2026, 12, 31), []),
        (", usual_years: [1910, 2026]", date(2027, 1, 1), ["date-implausible"]),
    ],
)
def test_usual_years_of_a_column_are_respected(
    tmp_path: Path, stated: str, day: date, codes: list[str]
) -> None:
    own = tmp_path / "pessoa.yaml"
    own.write_text(
        "schema_type: dataframe\ntitle: Pessoas\nmetadata:\n  resource: pessoa\n  layout: 1\n"
        "  import: {direct: imports.direct}\n  columns:\n"
        f"    nascimento: {{title_en: Born{stated}}}\n"
        "columns:\n  nascimento: {title: Nascimento, dtype: 'datetime64[us]', nullable: true}\n",
        "utf-8",
    )
    catalogue = load_catalogue(tmp_path)
    path = write_rows(tmp_path / "a.xlsx", ["nascimento"], [[day]])
    validated = validate_workbook(path, catalogue, resource="pessoa")
    assert [finding.kind.code for finding in validated.findings] == codes
