"""Sheets with a row for each item: the rows of one record become the record and its lists."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml
from environment import Xlbridge

import xlbridge as xb
from xlbridge.sandbox import RunningSandbox

ORDERS = tuple(
    line.replace("POUSADA", "Pousada Nova Era Ltda;69.879.837/0001-59;AM").replace(
        "ADRIANA", "Adriana Medeiros Souza;765.181.887-31;RO"
    )
    for line in (
        (
            "ID;Número do pedido;Data;Nome do cliente;CPF/CNPJ;UF;Frete;Observações;ID produto;"
            "Código (SKU);Descrição;Quantidade;Valor unitário;Valor total do pedido"
        ),
        "99123;4501;23/11/2026;POUSADA;9,00;;771;P002001;Tinta;2;10,50;31,00",
        "99123;4501;23/11/2026;POUSADA;9,00;;772;P002002;Torneira;1;10,00;31,00",
        "99124;4502;24/11/2026;ADRIANA;0,00;;771;P002001;Tinta;1;10,50;10,50",
        "99125;4503;25/11/2026;POUSADA;0,00;;771;P002001;Tinta;1;10,00;40,00",
        "99125;4503;25/11/2026;POUSADA;0,00;;772;P002002;Torneira;1;10,00;40,00",
        "99125;4503;25/11/2026;POUSADA;0,00;;773;P002003;Lâmpada;1;10,00;40,00",
        "99125;4503;25/11/2026;POUSADA;0,00;;774;P002004;Mangueira;1;10,00;40,00",
    )
)
INSTALMENTS = (
    "Pedido;Cliente;Código do produto;Quantidade;Valor unitário;Vencto 1;Valor 1;Vencto 2;Valor 2",
    "1;1311;2001;2;10,50;23/12/2026;15,00;23/01/2027;16,00",
    "1;1311;2002;1;10,00;23/12/2026;15,00;23/01/2027;16,00",
    "2;1197;2001;1;10,50;24/12/2026;10,50;;0,00",
)


def write(folder: Path, lines: Sequence[str], name: str = "pedidos.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def mapped(
    xlbridge: Xlbridge, folder: Path, *options: str, name: str = "pedidos.csv", **filled: Any
) -> dict[str, Any]:
    """Write the proposed mapping with the values that only a person knows; return its content."""
    done = xlbridge("map", name, *options)
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = yaml.safe_load(done.stdout)
    columns = content["columns"]
    asked = {name for name, body in columns.items() if body.get("constant") == "?"}
    assert asked == filled.keys()
    columns |= {name: {"constant": value} for name, value in filled.items()}
    (folder / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    return content


def findings(xlbridge: Xlbridge, *options: str) -> list[tuple[str, str, str]]:
    """Return the cells, columns and codes of the errors of the mapped sheet."""
    done = xlbridge("validate", "pedidos.csv", "--map", "m.yaml", "--format", "json", *options)
    files = json.loads(done.stdout)["files"]
    return [
        (one["cell"], one["column"], one["code"])
        for file in files
        for one in file["findings"]
        if one["severity"] == "error"
    ]


def test_orders_with_a_row_for_each_item_arrive(
    tmp_path: Path, at_demo: Xlbridge, demo_sandbox: RunningSandbox
) -> None:
    write(tmp_path, ORDERS)
    content = mapped(at_demo, tmp_path, codigoDaFilial=1)
    assert content["resource"] == "pedido"
    assert content["columns"]["chave"] == {"from": "Número do pedido"}
    assert content["lists"] == {
        "produtos": {
            "items": [
                {
                    # What the other system calls a product says less than its code.
                    "idProduto": {"from": "Código (SKU)", "link": "produto"},
                    "quantidade": {"from": "Quantidade"},
                    "valorUnitario": {"from": "Valor unitário", "numbers": "pt"},
                }
            ]
        }
    }
    # The freight of a document, repeated in its rows, is not that of each item.
    assert {"Frete", "Valor total do pedido"} <= set(content["ignore"])
    options = "pedidos.csv", "--map", "m.yaml", "--yes", "--format", "json"
    done = at_demo("upload", *options, "--annotate", "situacao.xlsx")
    assert json.loads(done.stdout)["rows"]["accepted"] == 3, done.stderr
    with xb.connect(
        base_url=demo_sandbox.base_url, email=demo_sandbox.email, password=demo_sandbox.password
    ) as erp:
        frames = erp.export("pedidos").frames
    orders = frames["pedidos"][frames["pedidos"]["numeroDaOrdem"].isin([4501, 4502, 4503])]
    items = frames["produtos"]
    counts = [sum(items["numeroDoPedido"] == number) for number in orders["numeroDoPedido"]]
    assert sorted(counts) == [1, 2, 4]
    # Each row of her sheet has the status and the code of its order.
    sheet = openpyxl.load_workbook(tmp_path / "situacao.xlsx").worksheets[1]
    *_, state, _, code, _ = zip(*sheet.iter_rows(min_row=2, values_only=True), strict=True)
    assert set(state) == {"accepted"}
    assert [len(set(code[a:b])) for a, b in ((0, 2), (2, 3), (3, 7))] == [1, 1, 1]


def test_contradictory_repeats_are_named_with_their_cells(
    tmp_path: Path, at_demo: Xlbridge
) -> None:
    xlbridge = at_demo
    write(tmp_path, INSTALMENTS)
    mapped(xlbridge, tmp_path, codigoDaFilial=1)
    assert findings(xlbridge) == []
    write(tmp_path, [*INSTALMENTS[:2], INSTALMENTS[2].replace("1311", "1197"), INSTALMENTS[3]])
    assert findings(xlbridge) == [("B2", "codigoDoCliente", "mapping-rows-contradict")]
    said = xlbridge("validate", "pedidos.csv", "--map", "m.yaml").stdout
    assert "Rows of the same record have different values here and in B3 ('1197')" in said
    # The record is held as a whole.
    options = "pedidos.csv", "--map", "m.yaml", "--good-rows", "--yes", "--format", "json"
    sent = json.loads(xlbridge("upload", *options).stdout)
    assert (sent["rows"]["accepted"], sent["rows"]["held"]) == (1, 1)
    assert [(row["row"], row["action"]) for row in sent["not_created"]] == [(2, "held")]


def test_instalments_side_by_side_are_a_list(tmp_path: Path, xlbridge: Xlbridge) -> None:
    path = write(tmp_path, INSTALMENTS)
    content = mapped(xlbridge, tmp_path, codigoDaFilial=1)
    parcelas = content["lists"]["parcelas"]
    assert parcelas["once"] is True
    assert [one["valor"]["from"] for one in parcelas["items"]] == ["Valor 1", "Valor 2"]
    report = xb.validate(path, map=tmp_path / "m.yaml")
    assert report.ok
    assert list(report.frame.index) == [2, 4]
    frame = report.children["parcelas"].frame
    # An instalment without an amount is none.
    assert list(frame.index) == [2, 2, 4]
    assert list(frame["valor"]) == [Decimal("15.00"), Decimal("16.00"), Decimal("10.50")]
    # A finding is in the cell of its instalment.
    wrong = [line.replace("23/01/2027", "31/02/2027") for line in INSTALMENTS]
    write(tmp_path, wrong)
    assert ("H2", "dataDeVencimento", "type-date") in findings(xlbridge)


def test_a_row_without_a_key_is_an_error_at_its_cell(tmp_path: Path, xlbridge: Xlbridge) -> None:
    write(tmp_path, INSTALMENTS)
    mapped(xlbridge, tmp_path, codigoDaFilial=1)
    write(tmp_path, [*INSTALMENTS, ";;2003;1;5,00;;;;"])
    assert ("A5", "chave", "required-missing") in findings(xlbridge)


@pytest.mark.parametrize(
    ("resource", "key", "list_name", "lines", "filled"),
    [
        (
            "pedido-compra",
            "Pedido de compra",
            "itens",
            (
                "Pedido de compra;Fornecedor;CNPJ;Data;Cód. Produto;Quantidade;Preço unitário",
                "PC-1;Aços Sul;11.222.333/0001-81;23/11/2026;2001;2;10,50",
                "PC-1;Aços Sul;11.222.333/0001-81;23/11/2026;2002;3;1,50",
                "PC-2;Metal Norte;11.444.777/0001-61;24/11/2026;2001;1;10,50",
            ),
            {"codigoDaFilial": 1},
        ),
        (
            "nfe",
            "Nº NF",
            "produtos",
            (
                "Nº NF;CNPJ;Nome do cliente;CEP;Natureza da operação;Cód. produto;Qtde;Vl. Unit.",
                "1001;11.222.333/0001-81;Padaria;01310-100;Venda;2001;2;10,50",
                "1001;11.222.333/0001-81;Padaria;01310-100;Venda;2002;1;10,00",
                "1002;11.444.777/0001-61;Mercado;06010-000;Venda;2001;1;10,50",
            ),
            {
                "codigoDaFilial": 1,
                "codigoDaNotaFiscal": 1,
                "tipoDeOperacao": "Saída",
                "codigoDaFormaDePagamento": 1,
            },
        ),
    ],
)
def test_other_documents_with_items(
    tmp_path: Path,
    xlbridge: Xlbridge,
    resource: str,
    key: str,
    list_name: str,
    lines: Sequence[str],
    filled: Mapping[str, Any],
) -> None:
    path = write(tmp_path, lines)
    content = mapped(xlbridge, tmp_path, **filled)
    assert (content["resource"], content["columns"]["chave"]) == (resource, {"from": key})
    report = xb.validate(path, map=tmp_path / "m.yaml")
    assert report.ok, report.findings
    assert (len(report.frame), len(report.children[list_name].frame)) == (2, 3)


PARTS = (
    "Documento;Cliente;Emissão;Vencimento;Valor total;Centro de custo;Valor",
    "NF-1;1311;01/10/2026;31/10/2026;300,00;01.001;100,00",
    "NF-1;1311;01/10/2026;31/10/2026;300,00;01.002;200,00",
    "NF-2;1197;01/10/2026;30/10/2026;50,00;01.001;50,00",
)


def test_the_parts_of_a_title_are_its_split(tmp_path: Path, xlbridge: Xlbridge) -> None:
    path = write(tmp_path, PARTS, "receber.csv")
    content = yaml.safe_load(xlbridge("map", "receber.csv").stdout)
    assert content["columns"]["chave"] == {"from": "Documento"}
    assert content["columns"]["valorDoLancamento"]["from"] == "Valor total"
    (block,) = content["lists"]["rateio"]["items"]
    assert block["valor"]["from"] == "Valor"
    # Rows that do not add up are titles of their own.
    wrong = [line.replace(";200,00", ";210,00") for line in PARTS]
    path.write_text("\n".join(wrong), "utf-8")
    done = xlbridge("map", "receber.csv", "--resource", "contasreceber")
    assert "lists" not in yaml.safe_load(done.stdout)


def test_next_month_only_the_difference_is_asked(tmp_path: Path, xlbridge: Xlbridge) -> None:
    write(tmp_path, INSTALMENTS)
    before = mapped(xlbridge, tmp_path, codigoDaFilial=1)
    assert findings(xlbridge) == []
    header, *rows = INSTALMENTS
    header = header.replace("Quantidade", "Qtde pedida") + ";Vencto 3;Valor 3"
    write(tmp_path, [header, *(f"{row};;" for row in rows[:2]), rows[2] + ";24/02/2027;1,00"])
    done = xlbridge("map", "pedidos.csv")
    after = yaml.safe_load(done.stdout)
    assert after["columns"] == before["columns"]
    (item,) = after["lists"]["produtos"]["items"]
    assert item["quantidade"] == {"from": "Qtde pedida"}
    assert [one["valor"]["from"] for one in after["lists"]["parcelas"]["items"]] == [
        "Valor 1",
        "Valor 2",
        "Valor 3",
    ]
    asked = [line.split(" → ")[1].split(":")[0] for line in done.stderr.splitlines() if "→" in line]
    new = ["produtos.1.quantidade", "parcelas.3.dataDeVencimento", "parcelas.3.valor"]
    assert sorted(asked) == sorted(new)


def test_mistakes_in_lists_are_reported_with_their_lines(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    write(tmp_path, INSTALMENTS)
    content = mapped(xlbridge, tmp_path, codigoDaFilial=1)
    content["lists"]["itens"] = {"items": [{"quantidade": {"constant": 1}}]}
    content["lists"]["produtos"]["items"][0]["chave"] = {"constant": "A"}
    content["lists"]["produtos"]["items"][0]["cor"] = {"constant": "A"}
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    done = xlbridge("validate", "pedidos.csv", "--map", "m.yaml")
    assert done.returncode == 2
    for said in ("lists.itens", "lists.produtos.items", "cor", "the key is that of the record"):
        assert said in done.stderr
    del content["lists"]["itens"], content["columns"]["chave"]
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    done = xlbridge("validate", "pedidos.csv", "--map", "m.yaml")
    assert "columns lacks the chave" in done.stderr


SHOP = (
    "Número do Pedido;Status do Pedido;CPF / CNPJ;Nome do comprador;SKU;Qtde;Valor do Produto",
    "1;Aberto;765.181.887-31;Ana Souza;P002001;2;40,00",
    "1;;;;P002002;1;10,00",
    "2;Cancelado;111.444.777-35;Rui Lima;P002001;1;40,00",
    "2;;;;P002002;1;10,00",
    "Total;;;;;5;150,00",
)


def test_cancelled_orders_are_left_out_by_their_state(tmp_path: Path, xlbridge: Xlbridge) -> None:
    write(tmp_path, [line.replace("Status do Pedido", "Estado") for line in SHOP])
    content = mapped(xlbridge, tmp_path, codigoDaFilial=1)
    assert content["rows"] == {"Estado": {"Aberto": True, "Cancelado": False}}


def test_cells_of_a_record_may_be_in_its_first_row_only(tmp_path: Path, xlbridge: Xlbridge) -> None:
    path = write(tmp_path, SHOP)
    content = mapped(xlbridge, tmp_path, codigoDaFilial=1)
    # A cancelled order is left out with all of its rows.
    assert content["rows"] == {"Status do Pedido": {"Aberto": True, "Cancelado": False}}
    report = xb.validate(path, map=tmp_path / "m.yaml")
    assert list(report.frame.dropna(subset="codigoDoCliente").index) == [2]
    items = report.children["produtos"]
    assert list(items.frame.index) == [2, 3]
    # The total is no order, and a row with nothing but an item is no doubtful one.
    assert (list(report.findings["code"]), list(items.findings["code"])) == (
        ["mapping-rows-left-out", "row-total"],
        [],
    )


def test_lists_that_no_header_tells_are_kept_next_month(tmp_path: Path, xlbridge: Xlbridge) -> None:
    lines = (
        "Ref;Cliente;Produto;Quantidade;Valor unitário;Entrada;Data da entrada;Saldo;Data do saldo",
        "A;1311;2001;2;10,50;15,00;23/12/2026;6,00;23/01/2027",
        "A;1311;2002;1;10,50;15,00;23/12/2026;6,00;23/01/2027",
    )
    write(tmp_path, lines)
    items = [
        {
            "numeroDaParcela": {"constant": number},
            "dataDeVencimento": {"from": day},
            "valor": {"from": amount, "numbers": "pt"},
        }
        for number, amount, day in (
            (1, "Entrada", "Data da entrada"),
            (2, "Saldo", "Data do saldo"),
        )
    ]
    content = {
        "version": 1,
        "resource": "pedido",
        "header": lines[0].split(";"),
        "columns": {
            "chave": {"from": "Ref"},
            "codigoDoCliente": {"from": "Cliente"},
            "codigoDaFilial": {"constant": 1},
        },
        "lists": {
            "produtos": {
                "items": [
                    {
                        "idProduto": {"from": "Produto"},
                        "quantidade": {"from": "Quantidade"},
                        "valorUnitario": {"from": "Valor unitário", "numbers": "pt"},
                        "aliquotaIPI": {"constant": 0},
                    }
                ]
            },
            "parcelas": {"once": True, "items": items},
        },
    }
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    assert findings(xlbridge) == [("F2", "valor", "child-sum")]
    write(tmp_path, [f"{line};{note}" for line, note in zip(lines, ("Obs", "", "x"), strict=True)])
    done = xlbridge("map", "pedidos.csv")
    after = yaml.safe_load(done.stdout)
    for name in ("columns", "lists"):
        assert after[name].keys() == content[name].keys()
    assert after["columns"] == content["columns"]
    assert after["lists"]["produtos"] == content["lists"]["produtos"]
    block = after["lists"]["parcelas"]["items"][1]
    assert block == items[1]
    assert "→" not in done.stderr


def test_a_plan_sends_and_proves_orders_with_a_row_for_each_item(
    tmp_path: Path, at_demo: Xlbridge
) -> None:
    write(tmp_path, INSTALMENTS)
    mapped(at_demo, tmp_path, codigoDaFilial=1)
    step = "{upload: pedidos.csv, resource: pedido, map: m.yaml}"
    (tmp_path / "mes.yaml").write_text(f"name: mes\nsteps:\n  pedidos: {step}\n", "utf-8")
    done = at_demo("batch", "run", "mes.yaml", "--yes")
    assert done.returncode == 0, done.stderr
    assert "Rows: 2 = 2 accepted" in done.stdout
    assert "Everything accounted for: 2 of 2 rows read back" in done.stdout


BELOW = (
    "Nº do pedido;Emissão;Cliente;Código do produto;Qtde;Preço unitário;Total",
    "4501;23/11/2026;1311;;;;31,00",
    ";;;2001;2;10,50;21,00",
    ";;;2002;1;10,00;10,00",
    ";;;;;;",
    "4502;24/11/2026;1197;2001;1;10,50;10,50",
    ";;;2002;1;10,00;10,00",
)


def test_a_key_in_the_first_row_of_a_record_only_is_that_of_the_rows_below(
    tmp_path: Path, at_demo: Xlbridge
) -> None:
    path = write(tmp_path, BELOW)
    content = mapped(at_demo, tmp_path, "--resource", "pedido", codigoDaFilial=1)
    assert content["columns"]["chave"] == {"from": "Nº do pedido", "down": True}
    report = xb.validate(path, map=tmp_path / "m.yaml")
    assert list(report.frame.index) == [2, 6]
    items = report.children["produtos"].frame
    # Rows are those of the sheet, and a row with nothing but cells of a record has no item.
    assert list(items.index) == [3, 4, 6, 7]
    assert list(items["chave"]) == ["4501", "4501", "4502", "4502"]
    wrong = [line.replace(";1;10,00;", ";x;10,00;") for line in BELOW]
    write(tmp_path, wrong)
    assert [cell for cell, *_ in findings(at_demo)] == ["E4", "E7"]
    write(tmp_path, BELOW)
    options = "pedidos.csv", "--map", "m.yaml", "--yes", "--format", "json"
    done = at_demo("upload", *options, "--annotate", "situacao.xlsx")
    assert json.loads(done.stdout)["rows"]["accepted"] == 2, done.stderr
    sheet = openpyxl.load_workbook(tmp_path / "situacao.xlsx").worksheets[1]
    *_, state, _, _, _ = zip(*sheet.iter_rows(min_row=2, values_only=True), strict=True)
    assert state == ("accepted",) * 3 + (None,) + ("accepted",) * 2


def test_rows_without_a_number_but_with_other_cells_of_a_record_are_doubtful(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    path = write(tmp_path, [*BELOW, ";25/11/2026;1311;2001;1;10,50;10,50"])
    proposed = xlbridge("map", path.name, "--resource", "pedido")
    assert "Nº do pedido → chave: low confidence" in proposed.stderr
    content = mapped(xlbridge, tmp_path, "--resource", "pedido", codigoDaFilial=1)
    assert content["columns"]["chave"]["down"] is True
    assert [cell for cell, *_ in findings(xlbridge)] == ["B6", "C6"]
    content["lists"]["produtos"]["items"][0]["quantidade"]["down"] = True
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(content, allow_unicode=True), "utf-8")
    assert (
        "down is only valid in the chave"
        in xlbridge("validate", path.name, "--map", "m.yaml").stderr
    )


@pytest.mark.parametrize("code", ["Código", "SKU"])
def test_an_item_is_known_by_the_code_beside_its_name(
    tmp_path: Path, xlbridge: Xlbridge, code: str
) -> None:
    header = f"Pedido;Fornecedor;Produto;{code};Quantidade;Valor unitário"
    lines = ["71;Aços SA;Tinta;P-1;2;10,50", "71;Aços SA;Torneira;P-2;3;1,25"]
    write(tmp_path, [header, *lines, "72;Energia SA;Tinta;P-1;5;10,75"])
    proposed = yaml.safe_load(xlbridge("map", "pedidos.csv", "--resource", "pedido-compra").stdout)
    (item,) = proposed["lists"]["itens"]["items"]
    assert item["idProduto"] == {"from": code, "link": "produto"}
