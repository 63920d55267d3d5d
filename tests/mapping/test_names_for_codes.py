"""Names in place of codes: lists of their values, which are asked for once, and constants that are
names."""

import json
from pathlib import Path

import pytest
import yaml
from environment import Xlbridge

_HEADER = [
    "Cliente",
    "Categoria",
    "Forma de pagamento",
    "Conta",
    "Vencimento",
    "Valor",
    "Histórico",
]
_ROWS = [
    [1311, "Vendas", "Boleto", "Itaú", "31/10/2026", "1.234,56", "Mensalidade"],
    [1197, "Serviços", "Pix", "Caixa", "15/11/2026", "99,90", "Suporte"],
]


def write(path: Path, header: list[str] = _HEADER) -> None:
    lines = [header, *([str(value) for value in row] for row in _ROWS)]
    path.write_text("".join(";".join(line) + "\n" for line in lines), "utf-8")


def test_names_of_codes_are_listed_to_be_filled_in_and_remembered(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    write(tmp_path / "a.csv")
    proposed = xlbridge("map", "a.csv", "-o", "m.yaml")
    assert proposed.returncode == 0, proposed.stderr
    content = yaml.safe_load((tmp_path / "m.yaml").read_text("utf-8"))
    columns = content["columns"]
    listed = {
        "codigoDoItemDeLancamento": {"Vendas": "?", "Serviços": "?"},
        "codigoDaFormaDePagamento": {"Boleto": "?", "Pix": "?"},
        "codigoDaContaCorrente": {"Itaú": "?", "Caixa": "?"},
    }
    assert {name: columns[name]["values"] for name in listed} == listed
    # No name is sent as a code: the list must be filled in.
    assert xlbridge("validate", "a.csv", "--map", "m.yaml").returncode == 2
    filled = {
        "codigoDoItemDeLancamento": {"Vendas": "1.01.001", "Serviços": "1.01.002"},
        "codigoDaFormaDePagamento": {"Boleto": 1, "Pix": 2},
        "codigoDaContaCorrente": {"Itaú": 1, "Caixa": 2},
    }
    for name, values in filled.items():
        columns[name]["values"] = values
    columns["codigoDaFilial"] = {"constant": 1}
    columns["codigoDoCentroDeCusto"] = {"constant": "01.001"}
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    assert xlbridge("validate", "a.csv", "--map", "m.yaml").returncode == 0
    # Another sheet, for another resource: the words are known.
    write(tmp_path / "b.csv", ["Fornecedor", "Plano de contas", *_HEADER[2:]])
    found = yaml.safe_load(xlbridge("map", "b.csv", "--resource", "contaspagar").stdout)["columns"]
    assert {name: found[name]["values"] for name in filled} == filled


@pytest.mark.parametrize(
    ("header", "words", "values"),
    [
        ("Categoria", ["Vendas 2026", "Serviços"], {"Vendas 2026": "?", "Serviços": "?"}),
        ("Categoria", ["1.01 - Vendas", "1.02"], {"1.01 - Vendas": "?", "1.02": "1.02"}),
        ("Centro de custo", ["Oficina", "01.002"], {"Oficina": "?", "01.002": "01.002"}),
        ("Conta", ["Itaú", "2"], {"Itaú": "?", "2": 2}),
        ("Filial", ["Matriz", "2"], {"Matriz": "?", "2": 2}),
    ],
)
def test_a_name_among_codes_is_never_proposed_as_a_code(
    tmp_path: Path, xlbridge: Xlbridge, header: str, words: list[str], values: dict[str, object]
) -> None:
    lines = [["Cliente", header, "Vencimento", "Valor", "Histórico"]]
    # Names beyond the rows that proposals look at are asked for, too.
    for number in range(240):
        word = words[0] if number == 230 else words[1]
        lines.append([str(1001 + number), word, "31/10/2026", f"{number},50", "Mensalidade"])
    (tmp_path / "a.csv").write_text("".join(";".join(line) + "\n" for line in lines), "utf-8")
    found = yaml.safe_load(xlbridge("map", "a.csv", "--resource", "contasreceber").stdout)
    (body,) = [one for one in found["columns"].values() if one.get("from") == header]
    assert body["values"] == values


@pytest.mark.parametrize("layout", [False, True])
def test_names_of_cost_centres_and_branches_are_looked_up(
    tmp_path: Path, xlbridge: Xlbridge, layout: bool
) -> None:
    """Also in a sheet with a known layout, whose column may have codes."""
    header = ["Filial", "Centro de Custo", "Valor", "Data de Vencimento", "Data de Competência"]
    header += ["Descrição", "Categoria", "Cliente/Fornecedor"] if layout else ["Cliente"]
    row = ["Matriz", "Comercial", "10,50", "31/10/2026", "01/10/2026", "Padaria", "1.01", "1001"]
    lines = [header, row[: len(header)]]
    (tmp_path / "a.csv").write_text("".join(";".join(line) + "\n" for line in lines), "utf-8")
    found = yaml.safe_load(xlbridge("map", "a.csv", "--resource", "contasreceber").stdout)
    assert found["columns"]["codigoDaFilial"] == {"from": "Filial", "link": "filial"}
    centre = {"from": "Centro de Custo", "link": "centrodecusto"}
    assert found["columns"]["codigoDoCentroDeCusto"] == centre


def test_names_that_differ_from_those_of_the_system_are_remembered(
    tmp_path: Path, at_demo: Xlbridge
) -> None:
    header = "Filial;Quem;Centro de custo;Quanto;Vence\n"
    row = "Loja Centro;1311;Comercial;99,90;31/10/2026\n"
    (tmp_path / "a.csv").write_text(header + row, "utf-8")
    mapping = {
        "version": 1,
        "resource": "contasreceber",
        "header": ["Filial", "Quem", "Centro de custo", "Quanto", "Vence"],
        "columns": {
            "codigoDaFilial": {"from": "Filial", "link": "filial"},
            "codigoDoCliente": {"from": "Quem"},
            "codigoDoItemDeLancamento": {"constant": "1.01.001"},
            "codigoDoCentroDeCusto": {"from": "Centro de custo", "link": "centrodecusto"},
            "codigoDaContaCorrente": {"constant": 1},
            "historico": {"constant": "Mensalidade"},
            "dataDeVencimento": {"from": "Vence"},
            "valorDoLancamento": {"from": "Quanto", "numbers": "pt"},
        },
    }
    written = tmp_path / "m.yaml"
    written.write_text(yaml.safe_dump(mapping, allow_unicode=True), "utf-8")
    refused = at_demo("validate", "a.csv", "--map", "m.yaml", "--online")
    assert refused.returncode == 1
    assert "Loja Centro" in refused.stdout
    mapping["columns"]["codigoDaFilial"]["values"] = {"Loja Centro": "Matriz São Paulo"}
    written.write_text(yaml.safe_dump(mapping, allow_unicode=True), "utf-8")
    sent = at_demo("upload", "a.csv", "--map", "m.yaml", "--yes", "--format", "json")
    assert json.loads(sent.stdout)["rows"]["accepted"] == 1, sent.stderr
    (tmp_path / "b.csv").write_text(f"Nº;{header}7;{row}", "utf-8")
    found = yaml.safe_load(at_demo("map", "b.csv", "--resource", "contasreceber").stdout)
    assert found["columns"]["codigoDaFilial"] == mapping["columns"]["codigoDaFilial"]


@pytest.mark.parametrize(
    ("name", "code", "accepted"),
    [("Matriz São Paulo", "Comercial", 1), ("Matriz de Marte", "X", 0)],
)
def test_a_constant_may_be_a_name(
    tmp_path: Path, at_demo: Xlbridge, name: str, code: str, accepted: int
) -> None:
    (tmp_path / "a.csv").write_text("Quem;Quanto;Vence\n1311;99,90;31/10/2026\n", "utf-8")
    mapping = {
        "version": 1,
        "resource": "contasreceber",
        "header": ["Quem", "Quanto", "Vence"],
        "columns": {
            "codigoDaFilial": {"constant": name, "link": "filial"},
            "codigoDoCliente": {"from": "Quem"},
            "codigoDoItemDeLancamento": {"constant": "1.01.001"},
            "codigoDoCentroDeCusto": {"constant": code, "link": "centrodecusto"},
            "codigoDaContaCorrente": {"constant": 1},
            "historico": {"constant": "Mensalidade"},
            "dataDeVencimento": {"from": "Vence"},
            "valorDoLancamento": {"from": "Quanto", "numbers": "pt"},
        },
    }
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(mapping, allow_unicode=True), "utf-8")
    sent = at_demo("upload", "a.csv", "--map", "m.yaml", "--yes", "--format", "json")
    if accepted:
        assert json.loads(sent.stdout)["rows"]["accepted"] == accepted, sent.stderr
    else:
        assert sent.returncode == 1
        assert "Not found among the cost centres" in sent.stdout


def test_a_constant_that_is_a_name_without_a_link_is_explained(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    (tmp_path / "a.csv").write_text("Quem;Quanto\n1311;99,90\n", "utf-8")
    columns = "codigoDaFilial: {constant: Matriz}, codigoDoCliente: {from: Quem}"
    text = f"version: 1\nresource: contasreceber\nheader: [Quem, Quanto]\ncolumns: {{{columns}}}\n"
    (tmp_path / "m.yaml").write_text(text + "ignore: [Quanto]\n", "utf-8")
    refused = xlbridge("validate", "a.csv", "--map", "m.yaml")
    assert refused.returncode == 2
    assert "must be a number, without quotes. For a name, add link: filial." in refused.stderr
