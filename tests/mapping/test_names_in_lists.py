"""Names for codes in the lists of records, such as the cost centres of a title's split."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from environment import Xlbridge

_HEADER = (
    "Filial;Cliente;Categoria;Conta;Vencimento;Histórico;Nº documento;Valor do título;"
    "CC do rateio;Categoria do rateio;Valor do rateio"
)
_ROWS = (
    "1;1311;1.01.001;1;30/11/2026;Mensalidade;T-1;100,00;Oficina;Vendas;60,00",
    "1;1311;1.01.001;1;30/11/2026;Mensalidade;T-1;100,00;Comercial;Serviços;40,00",
    "1;1197;1.01.001;1;30/11/2026;Suporte;T-2;50,00;Oficina;Vendas;50,00",
)


def _write(path: Path, *rows: str) -> None:
    path.write_text("\n".join((_HEADER, *rows)) + "\n", "utf-8")


def _mapping(**items: Any) -> dict[str, Any]:
    """Return the mapping of the sheet; ``items`` are the columns of a split besides the amount."""
    sources = {
        "chave": "Nº documento",
        "codigoDaFilial": "Filial",
        "codigoDoCliente": "Cliente",
        "codigoDoItemDeLancamento": "Categoria",
        "codigoDaContaCorrente": "Conta",
        "dataDeVencimento": "Vencimento",
        "historico": "Histórico",
        "numeroDoDocumento": "Nº documento",
    }
    amount = {"from": "Valor do rateio", "numbers": "pt"}
    return {
        "version": 1,
        "resource": "contasreceber",
        "header": _HEADER.split(";"),
        "columns": {
            **{name: {"from": source} for name, source in sources.items()},
            "codigoDoCentroDeCusto": {"constant": "01.001"},
            "valorDoLancamento": {"from": "Valor do título", "numbers": "pt"},
        },
        "lists": {"rateio": {"items": [{**items, "valor": amount}]}},
        "ignore": ["Categoria do rateio"],
    }


def _write_mapping(path: Path, content: dict[str, Any]) -> None:
    path.write_text(yaml.safe_dump(content, allow_unicode=True, sort_keys=False), "utf-8")


def test_names_in_a_list_are_asked_for_once_and_remembered(
    tmp_path: Path, at_demo: Xlbridge
) -> None:
    _write(tmp_path / "a.csv", *_ROWS)
    proposed = at_demo("map", "a.csv", "--resource", "contasreceber", "--online", "-o", "m.yaml")
    assert proposed.returncode == 0, proposed.stderr
    content = yaml.safe_load((tmp_path / "m.yaml").read_text("utf-8"))
    (items,) = content["lists"]["rateio"]["items"]
    # The system has "Comercial", and no listing of posting items.
    centre = {"from": "CC do rateio", "link": "centrodecusto", "values": {"Oficina": "?"}}
    category = {"from": "Categoria do rateio", "values": {"Vendas": "?", "Serviços": "?"}}
    assert items["codigoDoCentroDeCusto"] == centre
    assert items["codigoDoItemDeLancamento"] == category
    refused = at_demo("validate", "a.csv", "--map", "m.yaml")
    assert refused.returncode == 2
    content["columns"]["codigoDoCentroDeCusto"] = {"constant": "01.001"}
    items["codigoDoCentroDeCusto"]["values"] = {"Oficina": "Logística"}
    items["codigoDoItemDeLancamento"]["values"] = {"Vendas": "1.01.001", "Serviços": "1.01.002"}
    _write_mapping(tmp_path / "m.yaml", content)
    checked = at_demo("validate", "a.csv", "--map", "m.yaml", "--online")
    assert checked.returncode == 0, checked.stdout
    # Another sheet, with the words in another column: they are known.
    text = (tmp_path / "a.csv").read_text("utf-8")
    (tmp_path / "b.csv").write_text(text.replace("Nº documento", "Documento"), "utf-8")
    found = yaml.safe_load(
        at_demo("map", "b.csv", "--resource", "contasreceber", "--online").stdout
    )
    (again,) = found["lists"]["rateio"]["items"]
    for name in ("codigoDoCentroDeCusto", "codigoDoItemDeLancamento"):
        assert again[name]["values"] == items[name]["values"]


@pytest.mark.parametrize(
    ("names", "centre", "code"),
    [
        ({}, {"from": "CC do rateio", "link": "centrodecusto"}, "link-unknown"),
        (
            {"Oficina": "99.999", "Comercial": "01.001"},
            {"from": "CC do rateio"},
            "reference-unknown",
        ),
    ],
    ids=["names", "codes"],
)
def test_validate_finds_what_a_list_names_and_the_system_lacks(
    tmp_path: Path, at_demo: Xlbridge, names: dict[str, str], centre: dict[str, str], code: str
) -> None:
    rows = list(_ROWS)
    for name, replaced in names.items():
        rows = [row.replace(name, replaced) for row in rows]
    _write(tmp_path / "a.csv", *rows)
    _write_mapping(tmp_path / "m.yaml", _mapping(codigoDoCentroDeCusto=centre))
    checked = at_demo("validate", "a.csv", "--map", "m.yaml", "--online", "--format", "json")
    assert checked.returncode == 1
    found = [
        (one["code"], one["cell"])
        for file in json.loads(checked.stdout)["files"]
        for one in file["findings"]
        if one["severity"] == "error"
    ]
    assert found == [(code, "I2"), (code, "I4")]
