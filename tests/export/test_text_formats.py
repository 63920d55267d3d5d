"""CSV and JSON Lines: exact, one file per sheet, safe to open in a spreadsheet.

Inside: export.
"""

import csv
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from reading import write_all

from xlbridge.export import LISTINGS
from xlbridge.export.formats.data import CSV_DIALECTS, begins_formula, csv_opener, open_jsonl

pytestmark = pytest.mark.one_database

SHEETS = LISTINGS["pedidos"].sheets
ORDER = {
    "numeroDoPedido": 7,
    "dataDaOrdem": "2026-01-31T00:00:00",
    "dataDeProcessamento": "2026-01-31T08:05:09",
    "cep": "01310-100",
    "nomeDoCliente": "Padaria; São, João\n& filhos",
    "processado": True,
    "transportadoraValorFrete": Decimal("-1234.50"),
    "parcelas": [{"numeroDaParcela": 1, "valor": Decimal("0.10")}, {"numeroDoPedido": 7}],
}


def read_csv(path: Path, delimiter: str) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream, delimiter=delimiter))


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("plain", ("2026-01-31", "2026-01-31T08:05:09", "true", "-1234.50", "0.10")),
        ("pt-br", ("31/01/2026", "31/01/2026 08:05:09", "VERDADEIRO", "-1.234,50", "0,10")),
    ],
)
def test_csv_is_exact_in_both_dialects(
    tmp_path: Path, dialect: str, expected: tuple[str, ...]
) -> None:
    written = CSV_DIALECTS[dialect]
    write_all(tmp_path / "p.csv", [ORDER], SHEETS, csv_opener(written))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "p.csv",
        "p.parcelas.csv",
        "p.produtos.csv",
    ]
    assert (tmp_path / "p.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    (order,) = read_csv(tmp_path / "p.csv", written.delimiter)
    first, second = read_csv(tmp_path / "p.parcelas.csv", written.delimiter)
    assert (
        order["dataDaOrdem"],
        order["dataDeProcessamento"],
        order["processado"],
        order["transportadoraValorFrete"],
        first["valor"],
    ) == expected
    cep = "01310-100" if dialect == "plain" else '="01310-100"'
    assert (order["cep"], order["nomeDoCliente"]) == (cep, ORDER["nomeDoCliente"])
    assert (first["numeroDoPedido"], second["numeroDoPedido"]) == ("7", "7")
    assert read_csv(tmp_path / "p.produtos.csv", written.delimiter) == []


FORMULAS = ["=1", "+1", "-1", "@a", "\t=1", "\rx", "  =1", "＝1", " +1"]
FORMULAS += ["a,=cmd|' /C calc'!A0", "a\t=1", "a|@x", 'a,"=1', "a\n+1", "a; -1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_recognised_whatever_the_separator(text: str) -> None:
    assert begins_formula(text)


@pytest.mark.parametrize("text", ["", "a=1", "1-2", "Ação", "'=1", "(-1)", "a, b", "a;'=1"])
def test_other_text_is_no_formula(text: str) -> None:
    assert not begins_formula(text)


def test_json_lines_are_exact(tmp_path: Path) -> None:
    write_all(tmp_path / "p.jsonl", [ORDER], SHEETS, open_jsonl)

    def lines(name: str) -> list[dict[str, Any]]:
        text = (tmp_path / name).read_text(encoding="utf-8")
        return [json.loads(line, parse_float=Decimal) for line in text.splitlines()]

    (order,) = lines("p.jsonl")
    assert order["transportadoraValorFrete"] == Decimal("-1234.50")
    assert order["nomeDoCliente"] == ORDER["nomeDoCliente"]
    assert order["dataDaOrdem"] == "2026-01-31T00:00:00"
    assert order["processado"] is True
    assert [line["numeroDoPedido"] for line in lines("p.parcelas.jsonl")] == [7, 7]


@pytest.mark.parametrize("open_book", [csv_opener(CSV_DIALECTS["plain"]), open_jsonl])
def test_an_interrupted_text_export_leaves_no_file(tmp_path: Path, open_book) -> None:
    with pytest.raises(KeyboardInterrupt), open_book(tmp_path / "p.csv", SHEETS):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_list_of_texts_is_a_list_if_the_format_has_lists(tmp_path: Path) -> None:
    order = ORDER | {"avisos": ["um", "dois; três"]}
    write_all(tmp_path / "p.jsonl", [order, ORDER | {"avisos": []}], SHEETS, open_jsonl)
    lines = (tmp_path / "p.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["avisos"] for line in lines] == [["um", "dois; três"], []]
    write_all(tmp_path / "p.csv", [order], SHEETS, csv_opener(CSV_DIALECTS["plain"]))
    assert read_csv(tmp_path / "p.csv", ",")[0]["avisos"] == "um\ndois; três"
