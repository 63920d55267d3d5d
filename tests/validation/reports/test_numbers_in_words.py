"""Numbers in reports follow the language; JSON has a decimal point."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import openpyxl
import pytest
from sheets import SUMMARY_SHEET, Percent, write_records

from xlbridge.cli.main import main
from xlbridge.i18n import set_language
from xlbridge.resources import Catalogue
from xlbridge.resources.checks import RULES


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    set_language("en")


@pytest.fixture
def titles(tmp_path: Path) -> Path:
    rows = [
        {"valorDoLancamento": -1234.5},
        {"valorDoLancamento": Percent(0.125)},
        {"valorDoLancamento": "1.5"},
        {"dataDeVencimento": date(2026, 9, 30)},
        {"codigoDoCliente": 1.5, "historico": "1.5"},
    ]
    return write_records(tmp_path / "a.xlsx", "contasreceber", rows)


def output(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([str(argument) for argument in arguments]) == 1
    return capsys.readouterr().out


def test_portuguese_has_a_comma_and_english_a_point(
    titles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = ("validate", titles, "--resource", "contasreceber")
    portuguese = output(capsys, "--lang", "pt-BR", *check)
    for words in (
        "='-1234,5'",
        "mostra 12,5%, mas guarda 0,125",
        "será lido como 1,5",
        "I4='1.5'",
        "='30/09/2026'",
        "='1,5'",
    ):
        assert words in portuguese
    english = output(capsys, "--lang", "en", *check)
    for words in ("='-1234.5'", "shows 12.5% but stores 0.125", "is read as 1.5"):
        assert words in english


def test_json_has_a_point_in_every_language(
    titles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = ("validate", titles, "--resource", "contasreceber", "--format", "json")
    for language in ("pt-BR", "en"):
        [report] = json.loads(output(capsys, "--lang", language, *check))["files"]
        values = {f["cell"]: f["value"] for f in report["findings"]}
        assert values == {
            "I2": "-1234.5",
            "I3": "0.125",
            "I4": "1.5",
            "H5": "30/09/2026",
            "B6": "1.5",
        }


def test_annotated_copy_has_a_comma(
    tmp_path: Path, titles: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "m.xlsx"
    output(capsys, "--lang", "pt-BR", "validate", titles, "--annotate", copy)
    rows = openpyxl.load_workbook(copy)[SUMMARY_SHEET].iter_rows(min_row=6, values_only=True)
    assert [row[3] for row in rows] == ["-1234,5", "0,125", "30/09/2026", "1,5", "1.5"]


@pytest.mark.parametrize(
    ("bound", "pt", "en"),
    [(0.01, "maior que 0,01", "greater than 0.01"), (2e6, "maior que 2000000", "than 2000000")],
)
def test_a_bound_is_written_in_full(catalogue: Catalogue, bound: float, pt: str, en: str) -> None:
    statement = RULES["greater_than"].wording({"value": bound})
    assert pt in statement.pt
    assert en in statement.en


def test_the_largest_integer_is_written_in_words() -> None:
    at_most, limit = RULES["less_than_or_equal_to"], 2**31 - 1
    words = at_most.wording({"value": limit})
    assert words.pt == "um número de até 10 algarismos, no máximo 2.147.483.647"
    assert words.en == "a number of up to 10 digits, at most 2,147,483,647"
    assert at_most.wording({"value": 100}).en == "100 or less"
