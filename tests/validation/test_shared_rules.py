"""Rules of columns that several sheets have, and all errors of a row in one pass."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge
from sheets import GOOD, write_rows, write_workbook

from xlbridge.resources import Catalogue

ORDER = {"chave": "A", "codigoDaFilial": 1, "codigoDoCliente": 1001}
PRODUCT = {"chave": "A", "idProduto": 2001, "quantidade": 2, "valorUnitario": 10.5}
INVOICE = {
    "chave": "A",
    "codigoDaFilial": 1,
    "codigoDaNotaFiscal": 1,
    "tipoDeOperacao": "Saída",
    "naturezaDaOperacao": "Venda",
    "codigoDaFormaDePagamento": 1,
    "codigoDoCliente": 1001,
    "nomeDoCliente": "Padaria Estrela",
    "cep": "01310-100",
}
RULES = {
    re.compile("cep$", re.I): {"cep"},
    re.compile("(^|[a-z])uf$", re.I): {"uf"},
    re.compile("municipio", re.I): {"municipality"},
    re.compile("cnpjcpf|transportadoraCNPJ"): {"document"},
    re.compile("^email$"): {"email"},
    re.compile("^telefone$"): {"telephone"},
    re.compile("^ncm$"): {"ncm"},
}
"""Rules of columns by a pattern of their names."""


def found(xlbridge: Xlbridge, path: Path, *options: str) -> list[tuple[str, str | None, str]]:
    """Return the sheet, the cell and the code of each finding that the command reports."""
    result = xlbridge("validate", path, "--format", "json", *options)
    return [
        (sheet["sheet"], finding["cell"] or finding["column"], finding["code"])
        for sheet in json.loads(result.stdout)["files"]
        for finding in sheet["findings"]
    ]


def test_every_column_of_a_kind_carries_its_rule(catalogue: Catalogue) -> None:
    sheets = [one for each in catalogue.values() for one in (each, *each.children)]
    columns = [column for sheet in sheets for column in sheet.columns]
    checked = [
        (column.name, rules - column.checks.keys())
        for column in columns
        for pattern, rules in RULES.items()
        if pattern.search(column.name)
    ]
    assert len(checked) >= 16
    assert [(name, missing) for name, missing in checked if missing] == []


@pytest.mark.parametrize(
    ("column", "right", "wrong", "code"),
    [
        (
            "cep",
            ["01310-100", "01310100", 13101000, None],
            ["0131010", "1310-100", "013101000", "00000-000", "abc"],
            "cep-invalid",
        ),
        ("entregaCEP", ["04538-132"], ["4538132", "04538 132"], "cep-invalid"),
        ("uf", ["SP", "EX"], ["xx", "S.", "sp", "0"], "uf-invalid"),
        ("entregaUF", ["RJ"], ["RH"], "uf-invalid"),
        ("transportadoraUF", ["PR"], ["Pr"], "uf-invalid"),
        ("transportadoraPlacaUF", ["SC"], ["00"], "uf-invalid"),
        (
            "codigoDoMunicipio",
            ["3550308", 3550308, "9999999"],
            ["355030", "3550309", "9950308", "São Paulo"],
            "municipality-invalid",
        ),
        ("entregaCodigoMunicipio", ["3304557"], ["3304558"], "municipality-invalid"),
        (
            "cnpjcpf",
            ["11.222.333/0001-81", "11222333000181", "529.982.247-25", 52998224725],
            ["1122233300018", "11.222.333/0001-82", "529.982.247-26", "isento", 191],
            "document-invalid",
        ),
        (
            "transportadoraCNPJ",
            ["11.222.333/0001-81", "12.ABC.345/01DE-35", 11222333000181],
            ["1122233300018", "529.982.247-25", "11.222.333/0001-82"],
            "document-invalid",
        ),
    ],
)
def test_columns_of_an_order_have_the_rules_of_their_kind(
    xlbridge: Xlbridge, tmp_path: Path, column: str, right: list[Any], wrong: list[Any], code: str
) -> None:
    orders = [
        {**ORDER, "chave": f"A{number}", column: cell}
        for number, cell in enumerate([*right, *wrong])
    ]
    products = [{**PRODUCT, "chave": order["chave"]} for order in orders]
    path = write_workbook(tmp_path / "p.xlsx", pedido=orders, produtos=products)
    rows = range(len(right) + 2, len(orders) + 2)
    assert found(xlbridge, path) == [("pedido", f"D{row}", code) for row in rows]


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("0131010", "cep-invalid"),
        (1310100, "code-leading-zeros"),
        ("01310-10", "cep-invalid"),
        ("CEP 01310-100", "cep-invalid"),
        ("-", "text-placeholder"),
        ("01310-100", None),
    ],
)
def test_invoice_has_the_rule_of_postcodes(
    xlbridge: Xlbridge, tmp_path: Path, cell: Any, code: str | None
) -> None:
    path = write_workbook(tmp_path / "n.xlsx", nfe=[{**INVOICE, "cep": cell}], produtos=[PRODUCT])
    codes = [finding[2] for finding in found(xlbridge, path)]
    assert codes[:1] == ([code] if code else [])


@pytest.mark.parametrize("resource", ["cliente", "fornecedor"])
def test_documents_are_checked_beside_an_invalid_nature(
    xlbridge: Xlbridge, tmp_path: Path, resource: str
) -> None:
    header = ["nomeComercial", "natureza", "cnpj", "cpf"]
    rows = [
        ["A", "X", "11.222.333/0001-82", None],
        ["B", "PJ", None, "529.982.247-26"],
        ["C", "Física", "1122233300018", "52998224726"],
        ["D", True, "11.222.333/0001-82", None],
        ["E", "#N/D", "00000000000000", None],
        ["F", "X", "11.222.333/0001-81", None],
        ["G", "F", "isento", "529.982.247-25"],
    ]
    path = write_rows(tmp_path / "a.xlsx", header, rows)
    assert [(cell, code) for _, cell, code in found(xlbridge, path, "--resource", resource)] == [
        ("B2", "value-not-allowed"),
        ("C2", "cnpj-invalid"),
        ("B3", "value-not-allowed"),
        ("D3", "cpf-invalid"),
        ("B4", "value-not-allowed"),
        ("C4", "cnpj-invalid"),
        ("D4", "cpf-invalid"),
        ("B5", "type-text"),
        ("C5", "cnpj-invalid"),
        ("B6", "cell-error"),
        ("C6", "cnpj-invalid"),
        ("B7", "value-not-allowed"),
    ]


@pytest.mark.parametrize("resource", ["requisicao", "ordem"])
@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"idProduto": None, "descricaoDoProduto": None}, ["required-when"]),
        ({"idProduto": 0, "descricaoDoProduto": None}, ["required-when"]),
        ({"idProduto": 0, "descricaoDoProduto": "  "}, ["required-when"]),
        ({"idProduto": None}, ["required-when"]),
        ({"descricaoDoProduto": None}, ["required-when"]),
        ({"idProduto": 2001, "descricaoDoProduto": None}, []),
        ({"idProduto": None, "descricaoDoProduto": "Cadeira"}, []),
        ({"descricaoDoProduto": "Cadeira"}, []),
    ],
    ids=str,
)
def test_item_needs_a_product_or_a_description(
    xlbridge: Xlbridge, tmp_path: Path, resource: str, item: dict[str, Any], expected: list[str]
) -> None:
    main = {
        "chave": "A",
        "codigoDaFilial": 1,
        "codigoDoTipoDeCompra": 1,
        "codigoDoColaborador": 1,
    }
    items = [{"chave": "A", **item, "quantidade": 2}]
    path = write_workbook(tmp_path / "r.xlsx", **{resource: [main], "itens": items})
    assert [code for *_, code in found(xlbridge, path, "--resource", resource)] == expected


@pytest.mark.parametrize("resource", ["contasreceber", "contaspagar"])
@pytest.mark.parametrize(
    ("amount", "parts", "expected"),
    [
        (None, [40, 60], ["child-sum-without-total"]),
        (None, [100], ["child-sum-without-total"]),
        (None, [], []),
        (100, [40, 60], []),
        (100, [40, 59.99], ["child-sum"]),
        (100, [40, None], ["required-missing"]),
        ("x", [40, 60], ["type-number"]),
    ],
    ids=str,
)
def test_split_title_needs_its_amount(
    xlbridge: Xlbridge,
    tmp_path: Path,
    resource: str,
    amount: Any,
    parts: list[Any],
    expected: list[str],
) -> None:
    changed = {"chave": "A", "valorDoLancamento": amount, "ValorBruto": None}
    title = {name: value for name, value in (GOOD[resource] | changed).items() if value}
    title["valorDoLancamento"] = amount
    split = [{"chave": "A", "codigoDoCentroDeCusto": "01.001", "valor": part} for part in parts]
    path = write_workbook(tmp_path / "t.xlsx", **{resource: [title], "rateio": split or [{}]})
    assert sorted(code for *_, code in found(xlbridge, path)) == expected
