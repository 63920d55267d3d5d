"""Workbooks with child sheets, joined to the main sheet by ``chave``."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from environment import Xlbridge
from sheets import GOOD, write_records, write_workbook

Rows = list[dict[str, Any]]

ORDER = {"chave": "A", "codigoDaFilial": 1, "codigoDoCliente": 1001}
PRODUCT = {"chave": "A", "idProduto": 2001, "quantidade": 2, "valorUnitario": 10.5}


def found(xlbridge: Xlbridge, path: Path, *options: str) -> list[tuple[str, str | None, str]]:
    """Return the sheet, the cell and the code of each finding that the command reports."""
    result = xlbridge("validate", path, "--format", "json", *options)
    return findings_of(json.loads(result.stdout)["files"])


def findings_of(files: Sequence[Mapping[str, Any]]) -> list[tuple[str, str | None, str]]:
    return [
        (sheet["sheet"], finding["cell"], finding["code"])
        for sheet in files
        for finding in sheet["findings"]
    ]


def test_complete_order_has_no_findings(xlbridge: Xlbridge, tmp_path: Path) -> None:
    parts = [{"chave": "A", "percentual": 40}, {"chave": "A", "percentual": 60}]
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER], produtos=[PRODUCT], parcelas=parts)
    assert found(xlbridge, path) == []


def test_each_validated_sheet_is_an_entry_of_the_report(xlbridge: Xlbridge, tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER], produtos=[PRODUCT, PRODUCT])
    result = xlbridge("validate", path, "--format", "json")
    files = json.loads(result.stdout)["files"]
    entries = [(one["resource"], one["sheet"], one["rows"]) for one in files]
    assert entries == [("pedido", "pedido", 1), ("pedido.produtos", "produtos", 2)]


def test_child_row_without_its_parent_is_reported(xlbridge: Xlbridge, tmp_path: Path) -> None:
    stray = {**PRODUCT, "chave": "B"}
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER], produtos=[PRODUCT, stray])
    assert found(xlbridge, path) == [("produtos", "A3", "child-without-parent")]


def test_main_sheet_without_the_key_column_is_reported_once(
    xlbridge: Xlbridge, tmp_path: Path
) -> None:
    title = {name: value for name, value in GOOD["contasreceber"].items() if name != "chave"}
    parts = [{"chave": key, "codigoDoCentroDeCusto": "01.001", "valor": 1} for key in "AAB"]
    path = write_workbook(tmp_path / "t.xlsx", contasreceber=[title], rateio=parts)
    assert found(xlbridge, path) == [("contasreceber", None, "key-column-missing")]


def test_parent_without_child_rows_is_reported(xlbridge: Xlbridge, tmp_path: Path) -> None:
    lonely = {**ORDER, "chave": "B"}
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER, lonely], produtos=[PRODUCT])
    assert found(xlbridge, path) == [("pedido", "A3", "parent-without-children")]


def test_parent_without_child_sheet_is_reported(xlbridge: Xlbridge, tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER])
    assert found(xlbridge, path) == [("pedido", "A2", "parent-without-children")]


def test_missing_and_repeated_keys_are_reported(xlbridge: Xlbridge, tmp_path: Path) -> None:
    keyless = {**PRODUCT, "chave": None}
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER, ORDER], produtos=[PRODUCT, keyless])
    assert found(xlbridge, path) == [
        ("pedido", "A3", "duplicate-in-sheet"),
        ("produtos", "A3", "required-missing"),
    ]


@pytest.mark.parametrize(
    ("parts", "cell"),
    [
        ([{"chave": "A", "percentual": 40}, {"chave": "A", "percentual": 50}], "B2"),
        ([{"chave": "A", "valor": 10}, {"chave": "A", "valor": 11.5}], "B2"),
    ],
    ids=["percentages", "amounts"],
)
def test_instalments_that_do_not_add_up_are_reported(
    xlbridge: Xlbridge, tmp_path: Path, parts: Rows, cell: str
) -> None:
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER], produtos=[PRODUCT], parcelas=parts)
    assert found(xlbridge, path) == [("parcelas", cell, "child-sum")]


def test_total_known_only_to_the_system_is_not_checked(xlbridge: Xlbridge, tmp_path: Path) -> None:
    parts = [{"chave": "A", "valor": 10}]
    discounted = {**PRODUCT, "valorDesconto": 3}
    unpriced = {"chave": "A", "idProduto": 2001, "quantidade": 1}
    for product in (discounted, unpriced):
        path = write_workbook(
            tmp_path / "p.xlsx", pedido=[ORDER], produtos=[product], parcelas=parts
        )
        assert found(xlbridge, path) == []


def test_invalid_item_suppresses_the_sum_check(xlbridge: Xlbridge, tmp_path: Path) -> None:
    broken = {**PRODUCT, "quantidade": "duas"}
    parts = [{"chave": "A", "valor": 10}]
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER], produtos=[broken], parcelas=parts)
    assert found(xlbridge, path) == [("produtos", "C2", "type-number")]


@pytest.mark.parametrize("key", [None, "B"], ids=["no key", "another key"])
@pytest.mark.parametrize("amounts", [(40, 60), (10, 30, 60)])
@pytest.mark.parametrize("name", ["parcelas", "produtos"])
def test_sum_is_not_checked_if_orphan_rows_could_complete_it(
    xlbridge: Xlbridge, tmp_path: Path, name: str, amounts: tuple[int, ...], key: str | None
) -> None:
    products: Rows = [{**PRODUCT, "quantidade": 1, "valorUnitario": amount} for amount in amounts]
    sheets = {"produtos": products, "parcelas": [{"chave": "A", "valor": one} for one in amounts]}
    for row in sheets[name][1:]:
        row["chave"] = key
    short = {**ORDER, "chave": "C"}
    sheets["produtos"].append({**PRODUCT, "chave": "C"})
    sheets["parcelas"].append({"chave": "C", "valor": 20})
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER, short], **sheets)
    code = "required-missing" if key is None else "child-without-parent"
    lost = [(name, f"A{row}", code) for row in range(3, 2 + len(amounts))]
    wrong = [("parcelas", f"B{len(amounts) + 2}", "child-sum")]
    assert sorted(found(xlbridge, path)) == sorted(lost + wrong)


def test_sum_is_not_checked_with_a_row_without_key_and_amount(
    xlbridge: Xlbridge, tmp_path: Path
) -> None:
    parts = [{"chave": "A", "percentual": 40}, {"percentual": "sessenta"}]
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER], produtos=[PRODUCT], parcelas=parts)
    assert found(xlbridge, path) == [
        ("parcelas", "A3", "required-missing"),
        ("parcelas", "B3", "type-number"),
    ]


def test_number_and_text_match_as_keys(xlbridge: Xlbridge, tmp_path: Path) -> None:
    order, product = {**ORDER, "chave": 7}, {**PRODUCT, "chave": "7"}
    path = write_workbook(tmp_path / "p.xlsx", pedido=[order], produtos=[product])
    assert found(xlbridge, path) == []


def test_main_sheet_of_any_name_finds_its_child_sheets(xlbridge: Xlbridge, tmp_path: Path) -> None:
    stray = {**PRODUCT, "chave": "B"}
    path = write_workbook(tmp_path / "p.xlsx", Vendas=[ORDER], Produtos=[PRODUCT, stray])
    expected = [("Produtos", "A3", "child-without-parent")]
    assert found(xlbridge, path) == expected
    assert found(xlbridge, path, "--sheet", "Vendas") == expected
    assert found(xlbridge, path, "--all-sheets") == expected


def test_parallel_validation_finds_and_accepts_the_same(xlbridge: Xlbridge, tmp_path: Path) -> None:
    stray = {**PRODUCT, "chave": "B"}
    first = write_workbook(tmp_path / "a.xlsx", pedido=[ORDER], produtos=[PRODUCT, stray])
    second = write_workbook(tmp_path / "b.xlsx", pedido=[ORDER], produtos=[PRODUCT])
    codes = [{"numeroDoDocumento": one} for one in [*(f"{n:05}" for n in range(1, 20)), "20"]]
    others = [write_records(tmp_path / f"{n}.xlsx", "contasreceber", codes) for n in range(2)]
    alone = found(xlbridge, first) + found(xlbridge, second)
    options = ("--workers", "2", "--accept", "code-shape", "--format", "json")
    result = xlbridge("validate", first, second, *others, *options)
    files = json.loads(result.stdout)["files"]
    assert findings_of(files) == alone
    assert [[one["cells"] for one in file.get("accepted", [])] for file in files[-2:]] == [[1], [1]]


def test_annotated_copy_has_the_findings_in_their_sheets(
    xlbridge: Xlbridge, tmp_path: Path
) -> None:
    stray = {**PRODUCT, "chave": "B"}
    path = write_workbook(tmp_path / "p.xlsx", pedido=[ORDER], produtos=[PRODUCT, stray])
    marked = tmp_path / "m.xlsx"
    xlbridge("validate", path, "--annotate", marked)
    book = openpyxl.load_workbook(marked)
    assert book["produtos"]["A3"].comment is not None
    assert book["pedido"]["A2"].comment is None


@pytest.mark.parametrize("name", ["Rateios", "Divisão"])
def test_sheet_with_the_columns_of_a_list_but_another_name_is_reported(
    xlbridge: Xlbridge, tmp_path: Path, name: str
) -> None:
    title = {"chave": "A", **GOOD["contasreceber"]}
    parts = [{"chave": "A", "codigoDoCentroDeCusto": "01.001", "valor": 10.5}]
    path = write_workbook(tmp_path / "t.xlsx", **{"contasreceber": [title], name: parts})
    assert found(xlbridge, path) == [("contasreceber", None, "list-misnamed")]
    both = write_workbook(
        tmp_path / "b.xlsx", **{"contasreceber": [title], "rateio": parts, name: parts}
    )
    assert found(xlbridge, both) == []


def test_other_sheets_are_not_taken_for_lists(xlbridge: Xlbridge, tmp_path: Path) -> None:
    title = {"chave": "A", **GOOD["contasreceber"]}
    notes = [{"chave": "A", "Responsável": "Ana", "Telefone": "1"}]
    tables: dict[str, Rows] = {"contasreceber": [title], "Notas": notes, "Contas": [{"valor": 1}]}
    path = write_workbook(tmp_path / "t.xlsx", **tables)
    assert found(xlbridge, path) == []
