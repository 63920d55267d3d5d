"""Rows that are read by the words or the sign of a column: open titles, and those of one side."""

import json
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from environment import Xlbridge

import xlbridge as xb

_CONSTANTS = {
    "codigoDaFilial": {"constant": 1},
    "codigoDoItemDeLancamento": {"constant": "1.01.001"},
    "codigoDoCentroDeCusto": {"constant": "01.001"},
    "codigoDaContaCorrente": {"constant": 1},
    "codigoDoCliente": {"constant": 1311},
    "codigoDoFornecedor": {"constant": 501},
    "historico": {"constant": "Mensalidade"},
}


def write(folder: Path, header: str, *rows: str) -> None:
    (folder / "a.csv").write_text("\n".join([header, *rows]) + "\n", "utf-8")


def complete(folder: Path, text: str) -> None:
    """Write a proposed mapping with the constants that only a person knows."""
    content = yaml.safe_load(text)
    for name, body in content["columns"].items():
        if body.get("constant") == "?":
            content["columns"][name] = _CONSTANTS[name]
    (folder / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")


def read_amounts(xlbridge: Xlbridge) -> tuple[int, int]:
    """Return the numbers of rows and errors of the mapped sheet."""
    done = xlbridge("validate", "a.csv", "--map", "m.yaml", "--format", "json")
    (file,) = json.loads(done.stdout)["files"]
    return file["rows"], file["errors"]


def test_settled_titles_are_left_out_and_said(tmp_path: Path, xlbridge: Xlbridge) -> None:
    header = "Cliente;Vencimento;Valor;Histórico;Situação"
    rows = ["1311;31/10/2026;99,90;Mensalidade;Em aberto", "1197;31/10/2026;50,10;Suporte;Pago"]
    write(tmp_path, header, *rows)
    text = xlbridge("map", "a.csv").stdout
    assert yaml.safe_load(text)["rows"] == {"Situação": {"Em aberto": True, "Pago": False}}
    complete(tmp_path, text)
    assert read_amounts(xlbridge) == (1, 0)
    said = xlbridge("validate", "a.csv", "--map", "m.yaml").stdout
    assert "The mapping leaves out rows, by 'Situação': Pago (1)." in said
    # A word that the mapping does not know is not left out silently.
    write(tmp_path, header, *rows, "1429;31/10/2026;10,00;Venda;Parcial")
    assert read_amounts(xlbridge) == (2, 1)


@pytest.mark.parametrize(
    ("resource", "kept"), [("contasreceber", "Entrada"), ("contaspagar", "Saída")]
)
def test_the_side_of_a_statement_is_selected(
    tmp_path: Path, xlbridge: Xlbridge, resource: str, kept: str
) -> None:
    rows = ["15/10/2026;Pix recebido;99,90;Entrada", "16/10/2026;Energia;50,10;Saída"]
    write(tmp_path, "Data;Histórico;Valor;Tipo", *rows)
    text = xlbridge("map", "a.csv", "--resource", resource).stdout
    words = {"Entrada": kept == "Entrada", "Saída": kept == "Saída"}
    assert yaml.safe_load(text)["rows"] == {"Tipo": words}
    complete(tmp_path, text)
    assert read_amounts(xlbridge) == (1, 0)


@pytest.mark.parametrize(
    ("resource", "sign"), [("contasreceber", "positive"), ("contaspagar", "negative")]
)
def test_negative_amounts_are_payables(
    tmp_path: Path, xlbridge: Xlbridge, resource: str, sign: str
) -> None:
    rows = ["31/10/2026;Mensalidade;99,90", "31/10/2026;Energia;-50,10"]
    write(tmp_path, "Vencimento;Descrição;Valor", *rows)
    text = xlbridge("map", "a.csv", "--resource", resource).stdout
    body = yaml.safe_load(text)["columns"]["valorDoLancamento"]
    assert body == {"from": "Valor", "numbers": "pt", "sign": sign}
    complete(tmp_path, text)
    assert read_amounts(xlbridge) == (1, 0)
    report = xb.validate(tmp_path / "a.csv", map=tmp_path / "m.yaml")
    amounts = [Decimal("99.9")] if sign == "positive" else [Decimal("50.1")]
    assert [Decimal(str(it)) for it in report.frame["valorDoLancamento"]] == amounts


@pytest.mark.parametrize(
    ("resource", "own"), [("contasreceber", "Crédito"), ("contaspagar", "Débito")]
)
@pytest.mark.parametrize("nothing", ["", "0,00"])
def test_one_of_two_amount_columns_is_that_of_the_party(
    tmp_path: Path, xlbridge: Xlbridge, resource: str, own: str, nothing: str
) -> None:
    rows = [
        f"15/10/2026;Pix recebido;{nothing};99,90;199,90",
        f"16/10/2026;Energia;-50,10;{nothing};149,80",
    ]
    write(tmp_path, "Vencimento;Histórico;Débito;Crédito;Saldo", *rows)
    text = xlbridge("map", "a.csv", "--resource", resource).stdout
    body = yaml.safe_load(text)["columns"]["valorDoLancamento"]
    assert body == {"from": own, "numbers": "pt", "sign": "any"}
    complete(tmp_path, text)
    assert read_amounts(xlbridge) == (1, 0)
    report = xb.validate(tmp_path / "a.csv", map=tmp_path / "m.yaml")
    amount = "99.90" if own == "Crédito" else "50.10"
    assert list(report.frame["valorDoLancamento"]) == [Decimal(amount)]
    # Next month the same columns are read, even if no row has an amount of the other side.
    header = "Vencimento;Histórico;Débito;Crédito;Saldo;Obs"
    write(tmp_path, header, "15/11/2026;Pix;5,00;5,00;5,00;x")
    again = yaml.safe_load(xlbridge("map", "a.csv", "--resource", resource).stdout)
    assert again["columns"]["valorDoLancamento"] == body


@pytest.mark.parametrize(
    ("month", "later", "dates"),
    [
        ("Mês do vencimento", None, ["2026-10-10", "2026-11-05"]),
        ("Competência", 1, ["2026-11-10", "2026-12-05"]),
    ],
)
def test_due_dates_by_the_day_of_a_month(
    tmp_path: Path, xlbridge: Xlbridge, month: str, later: int | None, dates: list[str]
) -> None:
    header = f"Cliente;Dia de vencimento;{month};Valor;Histórico"
    rows = ["1311;todo dia 10;10/2026;99,90;Aluguel", "1197;dia 5;nov/2026;50,10;Suporte"]
    write(tmp_path, header, *rows)
    text = xlbridge("map", "a.csv", "--resource", "contasreceber").stdout
    content = yaml.safe_load(text)
    body = content["columns"]["dataDeVencimento"]
    # Whether the month after the one of competence is meant, only a person knows.
    asked = {} if later is None else {"later": "?"}
    assert body == {"from": "Dia de vencimento", "month": month, **asked}
    complete(tmp_path, text)
    if later is not None:
        refused = xlbridge("validate", "a.csv", "--map", "m.yaml")
        assert (refused.returncode, "replace ? with the value" in refused.stderr) == (2, True)
        content = yaml.safe_load((tmp_path / "m.yaml").read_text("utf-8"))
        content["columns"]["dataDeVencimento"]["later"] = later
        (tmp_path / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    report = xb.validate(tmp_path / "a.csv", map=tmp_path / "m.yaml")
    assert report.ok, report.findings
    assert [str(day.date()) for day in report.frame["dataDeVencimento"]] == dates
    # A day that the month lacks is no date.
    other = "set" if later is None else "out"
    write(tmp_path, header, rows[0], rows[1].replace("dia 5;nov", f"dia 31;{other}"))
    done = xlbridge("validate", "a.csv", "--map", "m.yaml", "--format", "json")
    (found,) = json.loads(done.stdout)["files"][0]["findings"]
    assert (found["code"], found["cell"]) == ("mapping-day-unknown", "B3")


def test_an_unknown_state_among_settled_titles_is_asked_for(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    header = "Cliente;Vencimento;Valor;Histórico;Situação"
    states = ("Em aberto", "Pago", "Renegociado")
    rows = [f"1311;{day}/10/2026;99,90;Mensalidade;{it}" for day, it in enumerate(states, start=28)]
    write(tmp_path, header, *rows)
    done = xlbridge("map", "a.csv")
    words = {"Em aberto": True, "Pago": False, "Renegociado": "?"}
    assert yaml.safe_load(done.stdout)["rows"] == {"Situação": words}
    assert "Situação" in done.stderr.splitlines()[-1]
    complete(tmp_path, done.stdout)
    refused = xlbridge("validate", "a.csv", "--map", "m.yaml")
    assert (refused.returncode, "Renegociado" in refused.stderr) == (2, True)
    content = yaml.safe_load(done.stdout)
    content["rows"]["Situação"]["Renegociado"] = False
    complete(tmp_path, yaml.safe_dump(content, allow_unicode=True))
    assert read_amounts(xlbridge) == (1, 0)


def test_words_of_rows_that_are_left_out_are_not_asked_for(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    header = "Cliente;Vencimento;Valor;Histórico;Situação;Categoria;Filial"
    rows = [
        f"1311;{day}/10/2026;99,90;Mensalidade;{state};{category};{branch}"
        for day, state, category, branch in [
            (28, "Em aberto", "Vendas", 1),
            (29, "Pago", "Sucata", "Centro"),
            (30, "Pago", "Vendas", 2),
        ]
    ]
    write(tmp_path, header, *rows)
    columns = yaml.safe_load(xlbridge("map", "a.csv").stdout)["columns"]
    assert columns["codigoDoItemDeLancamento"]["values"] == {"Vendas": "?"}
    # What is read has codes.
    assert "Centro" not in str(columns["codigoDaFilial"])
    # So it is with the sign of the amounts: those of payables are negative.
    header = "Cliente;Vencimento;Valor;Histórico;Categoria"
    write(
        tmp_path,
        header,
        "1311;28/10/2026;99,90;Mensalidade;Vendas",
        "1311;29/10/2026;-99,90;Devolução;Sucata",
    )
    columns = yaml.safe_load(xlbridge("map", "a.csv", "--resource", "contasreceber").stdout)
    assert columns["columns"]["codigoDoItemDeLancamento"]["values"] == {"Vendas": "?"}
