"""Answers that differ from the interface's description: kept and told, or refused."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from environment import ROOT, Xlbridge
from fake_system import FakeSystem, fake_system
from sheets import rows_of

import xlbridge as xb

pytestmark = pytest.mark.one_database

TITLE = {
    "codigoDoExercicio": 2026,
    "codigoDaFilial": 1,
    "numeroDaTransacao": 1,
    "sequenciaDaTransacao": 1,
    "valorDoLancamento": 10.5,
    "dataDeVencimento": "2026-11-30T00:00:00",
}
ODD_VALUES: list[tuple[str, object, str]] = [
    ("dataDeVencimento", "30/11/2026", "30/11/2026"),
    ("dataDeVencimento", 20261130, "20261130"),
    ("codigoDaFilial", "000123", "000123"),
    ("codigoDoCentroDeCusto", 11, "11"),
    ("codigoDoCentroDeCusto", 11.5, "11.5"),
    ("valorDoLancamento", "1.234,50", "1.234,50"),
    ("valorDoLancamento", True, "true"),
    ("valorDoLancamento", {"valor": 1}, '{"valor": 1}'),
    ("historico", ["a", "b"], '["a", "b"]'),
    ("codigoDoItemDeLancamento", False, "false"),
]


def exported(
    xlbridge: Xlbridge, system: FakeSystem, output: Path, *arguments: str
) -> tuple[str, dict[str, Any]]:
    manifest = output.with_suffix(".json")
    options = ["-o", output, "--manifest", manifest]
    done = xlbridge("export", *arguments, *options, **system.environment())
    assert done.returncode == 0, done.stderr
    return done.stderr, json.loads(manifest.read_text("utf-8"))


@pytest.mark.parametrize("extension", ["csv", "jsonl", "xlsx", "parquet"])
@pytest.mark.parametrize(("field", "value", "text"), ODD_VALUES, ids=str)
def test_a_value_of_another_type_is_kept_as_text_with_a_warning(
    tmp_path: Path, xlbridge: Xlbridge, extension: str, field: str, value: object, text: str
) -> None:
    output = tmp_path / f"t.{extension}"
    titles = [TITLE, TITLE | {"numeroDaTransacao": 2, field: value}]
    with fake_system({"/v2/financeiro/contasreceber": titles}) as system:
        stderr, manifest = exported(xlbridge, system, output, "contasreceber")
    assert ("as text, and" in stderr, f"contasreceber.{field}" in stderr) == (True, False)
    assert manifest["as_text"] == {f"contasreceber.{field}": text}
    assert (manifest["complete"], manifest["records"]) == (True, 2)
    assert values_in(output, field)[1] == text


def values_in(output: Path, field: str) -> list[Any]:
    match output.suffix:
        case ".csv":
            with output.open(encoding="utf-8-sig", newline="") as stream:
                return [row[field] for row in csv.DictReader(stream)]
        case ".jsonl":
            return [json.loads(line)[field] for line in output.read_text("utf-8").splitlines()]
        case ".parquet":
            return list(pd.read_parquet(output)[field])
    rows = rows_of(openpyxl.load_workbook(output)["contasreceber"])
    return [row[rows[0].index(field)] for row in rows[1:]]


def test_amounts_that_are_no_numbers_have_no_control_totals(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    titles = [TITLE, TITLE | {"numeroDaTransacao": 2, "valorDoLancamento": "1.234,50"}]
    with fake_system({"/v2/financeiro/contasreceber": titles}) as system:
        _, manifest = exported(xlbridge, system, tmp_path / "t.csv", "contasreceber")
        assert manifest["totals"] == []
        titles[1]["valorDoLancamento"] = "1234.50"
        _, manifest = exported(xlbridge, system, tmp_path / "u.csv", "contasreceber")
    assert manifest["totals"][0]["sums"][0]["amount"] == "1245.00"


def test_a_column_of_several_types_is_text_in_a_data_frame(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XLBRIDGE_HOME", str(tmp_path))
    titles = [TITLE, TITLE | {"numeroDaTransacao": 2, "codigoDaFilial": "000123"}]
    with fake_system({"/v2/financeiro/contasreceber": titles}) as system:
        for name, value in system.environment().items():
            monkeypatch.setenv(name, value)
        with xb.connect() as erp:
            frame = erp.export("contasreceber").frames["contasreceber"]
    assert list(frame["codigoDaFilial"]) == ["1", "000123"]
    assert list(frame["numeroDaTransacao"]) == [1, 2]


def test_an_import_sheet_keeps_odd_values_as_text(tmp_path: Path, xlbridge: Xlbridge) -> None:
    output = tmp_path / "t.xlsx"
    titles = [
        TITLE,
        TITLE | {"numeroDaTransacao": 2, "codigoDoCliente": "0007", "valorDoLancamento": "1,5"},
        TITLE | {"numeroDaTransacao": 3, "codigoDoCliente": 8, "dataDeVencimento": "30/11/2026"},
    ]
    with fake_system({"/v2/financeiro/contasreceber": titles}) as system:
        stderr, _ = exported(xlbridge, system, output, "contasreceber", "--as-template")
    assert "0007" in stderr
    rows = rows_of(openpyxl.load_workbook(output)["contasreceber"])
    header, _, *rows = rows if len(rows) == 5 else [rows[0], None, *rows[1:]]
    found = {name: [row[header.index(name)] for row in rows] for name in header if name}
    assert found["codigoDoCliente"] == [None, "0007", 8]
    assert found["valorDoLancamento"] == [10.5, "1,5", 10.5]
    assert found["dataDeVencimento"][2] == "30/11/2026"


FOREIGN = [{"codigo": n, "razaoSocial": f"Cliente {n}"} for n in range(1, 7)]


@pytest.mark.parametrize("extra", [{}, {"ativo": True}], ids=["all unknown", "one known"])
@pytest.mark.parametrize("options", [[], ["--as-template"], ["--keep-unknown"]], ids=str)
def test_an_export_names_fields_that_are_not_understood(
    tmp_path: Path, xlbridge: Xlbridge, options: Sequence[str], extra: dict[str, Any]
) -> None:
    with fake_system({"/v2/cliente": [one | extra for one in FOREIGN]}) as system:
        arguments = ["export", "clientes", "-o", tmp_path / "c.xlsx", *options]
        done = xlbridge(*arguments, **system.environment())
    assert done.returncode == 4
    assert "6 records" in done.stderr
    assert "codigo, razaoSocial" in done.stderr
    assert "profiles.d/stand-in.quirks.yaml" in done.stderr
    assert not (tmp_path / "c.xlsx").exists()


def test_the_key_of_a_listing_must_be_understood(tmp_path: Path, xlbridge: Xlbridge) -> None:
    orders = [{"pedido": 7, "codigoDaFilial": 1}]
    with fake_system({"/v2/faturamento/pedido": orders}) as system:
        arguments = ["export", "pedidos", "-o", tmp_path / "p.csv"]
        done = xlbridge(*arguments, **system.environment())
    assert done.returncode == 4
    assert "numeroDoPedido" in done.stderr
    assert "pedido" in done.stderr


def test_lists_of_a_template_name_fields_that_are_not_understood(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    answers = {"/v2/cliente": FOREIGN, "/v2/centrodecusto": []}
    with fake_system(answers) as system:
        arguments = ["template", "contasreceber", "--with-lists", "-o", tmp_path / "t.xlsx"]
        done = xlbridge(*arguments, **system.environment())
    assert done.returncode == 0, done.stderr
    assert "codigo, razaoSocial" in done.stderr
    assert "profiles.d/stand-in.quirks.yaml" in done.stderr


@pytest.mark.parametrize(
    "command",
    [["validate", "--online", "contasreceber.xlsx"], ["upload", "--yes", "cliente.xlsx"]],
    ids=str,
)
def test_a_look_up_names_fields_that_are_not_understood(
    xlbridge: Xlbridge, command: Sequence[str]
) -> None:
    sheet = ROOT / "samples" / command[-1]
    with fake_system({"/v2/cliente": FOREIGN}) as system:
        done = xlbridge(*command[:-1], sheet, **system.environment())
    assert done.returncode != 0
    assert "codigo, razaoSocial" in done.stderr + done.stdout
