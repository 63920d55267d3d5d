"""CSV in both dialects: exact, safe to open, and read back by validation as it was written."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge
from fake_system import fake_system

from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import read_workbook

pytestmark = pytest.mark.one_database

CLIENTS = "/v2/fornecedor"
TEXTS = [
    "+55 11 4002-8922",
    "=cmd|' /C calc'!A0",
    "a,=cmd|' /C calc'!A0",
    "a\t=1+1",
    'a,"=1+1',
    "a\n@SUM(A1)",
    "-",
    "a;b",
    "a|b",
    'say "hi"',
    "'=1",
    "00000000000434",
    "12E4",
    "1/3",
    "10:30",
    "jan/26",
    "3 de mar",
    "R$ 5",
    "5%",
    "verdadeiro",
    "=" + 'x"' * 400,
    "Padaria São João, Ltda.",
    " com espaços ",
]


def suppliers(texts: list[str]) -> list[dict[str, Any]]:
    return [{"codigoDoFornecedor": n, "nomeComercial": text} for n, text in enumerate(texts)]


def exported(
    tmp_path: Path, xlbridge: Xlbridge, texts: list[str], *options: str
) -> tuple[Path, str, dict[str, Any]]:
    output, manifest = tmp_path / "f.csv", tmp_path / "f.json"
    arguments = ["export", "fornecedores", "-o", output, "--manifest", manifest, *options]
    with fake_system({CLIENTS: suppliers(texts)}) as system:
        done = xlbridge(*arguments, **system.environment())
    assert done.returncode == 0, done.stderr
    return output, done.stderr, json.loads(manifest.read_text("utf-8"))


def cells(path: Path, delimiter: str, name: str = "nomeComercial") -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return [row[name] for row in csv.DictReader(stream, delimiter=delimiter)]


def test_plain_csv_has_the_texts_of_the_records(tmp_path: Path, xlbridge: Xlbridge) -> None:
    output, stderr, manifest = exported(tmp_path, xlbridge, TEXTS)
    assert cells(output, ",") == TEXTS
    assert stderr.count("would be formulas") == 1
    assert manifest["formulas"] == {"fornecedores.nomeComercial": TEXTS[0]}
    lines = output.read_text("utf-8-sig")
    assert '"a;b"' in lines
    assert '"a|b"' in lines
    _, stderr, manifest = exported(tmp_path, xlbridge, ["Ação", "1/3"], "--force")
    assert ("formulas" in stderr, manifest["formulas"]) == (False, {})


def test_the_brazilian_csv_protects_what_excel_would_change(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    output, stderr, manifest = exported(tmp_path, xlbridge, TEXTS, "--csv-dialect", "pt-br")
    found = dict(zip(TEXTS, cells(output, ";"), strict=True))
    assert found["00000000000434"] == '="00000000000434"'
    assert found["12E4"] == '="12E4"'
    assert found["1/3"] == '="1/3"'
    assert found["+55 11 4002-8922"] == '="+55 11 4002-8922"'
    unchanged = [text for text, cell in found.items() if text == cell]
    assert unchanged == TEXTS[7:11] + TEXTS[-2:]
    assert ("formulas" in stderr, manifest["formulas"]) == (False, {})


@pytest.mark.parametrize("delimiter", [",", "\t", "|", ";"])
def test_no_cell_of_the_brazilian_csv_begins_a_foreign_formula(
    tmp_path: Path, xlbridge: Xlbridge, delimiter: str
) -> None:
    output, *_ = exported(tmp_path, xlbridge, TEXTS, "--csv-dialect", "pt-br")
    for line in output.read_text("utf-8-sig").split("\n"):
        for row in csv.reader([line], delimiter=delimiter):
            for cell in row:
                begins = cell.strip().startswith(("=", "+", "-", "@"))
                assert not begins or cell.strip().startswith('="'), cell


@pytest.mark.parametrize("dialect", ["plain", "pt-br"])
def test_validation_reads_the_texts_that_were_written(
    tmp_path: Path, xlbridge: Xlbridge, dialect: str
) -> None:
    output, *_ = exported(tmp_path, xlbridge, TEXTS, "--csv-dialect", dialect)
    (sheet,) = read_workbook(output, WorkbookLimits()).sheets
    header, *rows = (sheet.row(position) for position in range(sheet.height))
    assert [row[header.index("nomeComercial")] for row in rows] == TEXTS


@pytest.mark.parametrize(
    ("dialect", "amounts"),
    [
        ("plain", ["3294.80", "-0.5", "1234567", "0.12345"]),
        ("pt-br", ["3.294,80", "-0,50", "1.234.567,00", "0,12345"]),
    ],
)
def test_amounts_are_written_as_the_dialect_does(
    tmp_path: Path, xlbridge: Xlbridge, dialect: str, amounts: list[str]
) -> None:
    output = tmp_path / "t.csv"
    sent = ["3294.80", "-0.5", "1234567", "0.12345"]
    titles = [
        {"codigoDoExercicio": 2026, "numeroDaTransacao": n, "valorDoLancamento": amount}
        for n, amount in enumerate(sent)
    ]
    with fake_system({"/v2/financeiro/contasreceber": titles}) as system:
        arguments = ["export", "contasreceber", "-o", output, "--csv-dialect", dialect]
        done = xlbridge(*arguments, **system.environment())
    assert done.returncode == 0, done.stderr
    delimiter = "," if dialect == "plain" else ";"
    assert cells(output, delimiter, "valorDoLancamento") == amounts


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_times_have_neither_zone_nor_fraction(
    tmp_path: Path, xlbridge: Xlbridge, form: str
) -> None:
    output, manifest = tmp_path / f"t.{form}", tmp_path / "t.json"
    sent = ["2026-11-30T10:20:30.999-03:00", "2026-11-30T00:00:00.5Z", "2026-11-30"]
    titles = [
        {"codigoDoExercicio": 2026, "numeroDaTransacao": n, "dataDeVencimento": moment}
        for n, moment in enumerate(sent)
    ]
    with fake_system({"/v2/financeiro/contasreceber": titles}) as system:
        arguments = ["export", "contasreceber", "-o", output, "--manifest", manifest]
        done = xlbridge(*arguments, **system.environment())
    assert done.returncode == 0, done.stderr
    if form == "csv":
        found = cells(output, ",", "dataDeVencimento")
        assert found == ["2026-11-30T10:20:30", "2026-11-30", "2026-11-30"]
    else:
        lines = output.read_text("utf-8").splitlines()
        found = [json.loads(line)["dataDeVencimento"] for line in lines]
        assert found == ["2026-11-30T10:20:30", *["2026-11-30T00:00:00"] * 2]
    zones = json.loads(manifest.read_text("utf-8"))["zones"]
    assert zones == {"dataDeVencimento": ["-03:00", "Z"]}
