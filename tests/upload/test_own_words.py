"""Words that a mapping translates stand in the rejects workbook as they did in the analyst's sheet,
and are understood when it comes back.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from environment import Xlbridge, credentials
from openpyxl import load_workbook
from sheets import GOOD, header_of, write_rows

from xlbridge.sandbox import RunningSandbox

BRANCHES = {"Matriz": 1, "2 – Filial Curitiba": 2, "Fechada": None}
SENT = ("--yes", "--read-back", "--format", "json")


def write_mapping(path: Path, header: list[str], values: Mapping[str, object]) -> Path:
    columns: dict[str, Any] = {name: {"from": name} for name in header[1:]}
    columns["codigoDaFilial"] = {"from": "Loja", "values": values}
    content = {
        "version": 1,
        "resource": "contasreceber",
        "header": header,
        "columns": columns,
    }
    path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return path


def send_shops(
    xlbridge: Xlbridge,
    sandbox: RunningSandbox,
    folder: Path,
    shops: Mapping[str, int],
    values: Mapping[str, object],
) -> Path:
    """Upload a title for each shop, with its client, and return the rejects workbook."""
    row = {name: it for name, it in GOOD["contasreceber"].items() if name != "codigoDaFilial"}
    rows = [
        [shop, *(row | {"codigoDoCliente": client, "numeroDoDocumento": f"W-{shop}"}).values()]
        for shop, client in shops.items()
    ]
    header = ["Loja", *row, "numeroDoDocumento"]
    mapping = write_mapping(folder / "m.yaml", header, values)
    path = write_rows(folder / "lojas.xlsx", header, rows)
    copy = ("--annotate", folder / "lojas-enviadas.xlsx")
    sent = xlbridge("upload", path, "--map", mapping, *SENT, *copy, **credentials(sandbox))
    assert sent.returncode == 1, sent.stderr
    return Path(json.loads(sent.stdout)["rejects_file"])


def cells_of(path: Path, name: str) -> list[Any]:
    sheet = load_workbook(path)["contasreceber"]
    column = header_of(sheet).index(name)
    return [row[column] for row in sheet.iter_rows(min_row=2, values_only=True)]


def set_cell(path: Path, name: str, row: int, value: object) -> None:
    book = load_workbook(path)
    sheet = book["contasreceber"]
    sheet.cell(row, header_of(sheet).index(name) + 1, value)
    book.save(path)


def test_words_come_back_from_the_rejects_workbook(
    xlbridge: Xlbridge, demo_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    shops = {"Matriz": 999_998, "2 – Filial Curitiba": 999_999}
    rejects = send_shops(xlbridge, demo_sandbox, tmp_path, shops, BRANCHES)
    assert cells_of(rejects, "codigoDaFilial") == [*shops]
    sheet = load_workbook(rejects)["contasreceber"]
    letter = sheet.cell(1, header_of(sheet).index("codigoDaFilial") + 1).column_letter
    [offered] = [
        check
        for check in sheet.data_validations.dataValidation
        if letter in str(check.sqref) and check.type == "list"
    ]
    # Another branch may be typed.
    assert offered.errorStyle == "warning"

    # Still rejected: the next rejects workbook has them, too.
    set_cell(rejects, "codigoDoCliente", 2, 999_997)
    set_cell(rejects, "codigoDoCliente", 3, 1001)
    again = xlbridge("retry", rejects, *SENT, **credentials(demo_sandbox))
    assert again.returncode == 1, again.stderr
    outcome = json.loads(again.stdout)
    assert outcome["rows"]["accepted"] == 1, outcome
    second = Path(outcome["rejects_file"])
    assert cells_of(second, "codigoDaFilial") == ["Matriz"]

    # A word of the mapping that no row has is understood as well as a code.
    set_cell(second, "codigoDoCliente", 2, 1001)
    set_cell(second, "codigoDaFilial", 2, "2 – filial curitiba")
    checked = xlbridge("validate", second, "--format", "json", **credentials(demo_sandbox))
    assert checked.returncode == 0, checked.stdout
    sent = xlbridge("retry", second, *SENT, **credentials(demo_sandbox))
    assert sent.returncode == 0, sent.stderr
    export = ("export", "contasreceber", "--format", "jsonl", "-o", "open.jsonl")
    assert xlbridge(*export, **credentials(demo_sandbox)).returncode == 0
    listed = map(json.loads, (tmp_path / "open.jsonl").read_text("utf-8").splitlines())
    branches = {one["numeroDoDocumento"]: one["codigoDaFilial"] for one in listed}
    assert {branches["W-Matriz"], branches["W-2 – Filial Curitiba"]} == {2}


def test_an_unknown_word_in_a_rejects_workbook_is_an_error(
    xlbridge: Xlbridge, demo_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    rejects = send_shops(xlbridge, demo_sandbox, tmp_path, {"Matriz": 999_998}, BRANCHES)
    set_cell(rejects, "codigoDaFilial", 2, "Matrizz")
    checked = xlbridge("validate", rejects, "--format", "json", **credentials(demo_sandbox))
    [file] = json.loads(checked.stdout)["files"]
    assert [found["value"] for found in file["findings"]] == ["Matrizz"]


@pytest.mark.parametrize(
    ("shop", "values"),
    [
        # A number could be the code of another branch.
        ("0102", {"0102": 1}),
        # A document is not a word for its branch.
        ("11.222.333/0001-81", {"cnpj": 1}),
    ],
)
def test_what_is_no_word_is_its_code(
    xlbridge: Xlbridge,
    demo_sandbox: RunningSandbox,
    tmp_path: Path,
    shop: str,
    values: Mapping[str, object],
) -> None:
    rejects = send_shops(xlbridge, demo_sandbox, tmp_path, {shop: 999_998}, values)
    assert cells_of(rejects, "codigoDaFilial") == [1]


def test_the_command_in_a_copy_of_a_mapped_sheet_sends_it_again(
    xlbridge: Xlbridge, demo_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    shops = {"Matriz": 999_998, "2 – Filial Curitiba": 1001}
    send_shops(xlbridge, demo_sandbox, tmp_path, shops, BRANCHES)
    book = load_workbook(tmp_path / "lojas-enviadas.xlsx")
    command = str(book.worksheets[0]["A3"].value).rpartition(": xlbridge ")[2].split()
    sheet = book.worksheets[1]
    header = [cell.value for cell in sheet[1]]
    sheet.cell(2, header.index("codigoDoCliente") + 1, 1001)
    book.save(tmp_path / "lojas-enviadas.xlsx")
    sent = xlbridge(*command, *SENT, **credentials(demo_sandbox))
    assert sent.returncode == 0, sent.stderr
    assert json.loads(sent.stdout)["rows"]["created"] == 1


def test_reasons_in_a_copy_call_the_columns_as_its_sheet_does(
    xlbridge: Xlbridge, demo_sandbox: RunningSandbox, tmp_path: Path
) -> None:
    header = ["codigoDaFilial", "codigoDoCliente", "Classe"]
    row = {**GOOD["contasreceber"], "codigoDoItemDeLancamento": "9.99.999"}
    others = {
        name: it for name, it in row.items() if name not in {*header, "codigoDoItemDeLancamento"}
    }
    columns = {name: {"from": name} for name in [*header[:2], *others]}
    columns["codigoDoItemDeLancamento"] = {"from": "Classe"}
    header += others
    content = {"version": 1, "resource": "contasreceber", "header": header, "columns": columns}
    (tmp_path / "m.yaml").write_text(json.dumps(content), "utf-8")
    write_rows(tmp_path / "t.xlsx", header, [[1, 1001, "9.99.999", *others.values()]])
    options = ("--map", "m.yaml", *SENT, "--annotate", "copy.xlsx")
    sent = xlbridge("upload", "t.xlsx", *options, **credentials(demo_sandbox))
    assert sent.returncode == 1, sent.stderr
    summary, sheet = load_workbook(tmp_path / "copy.xlsx").worksheets
    assert "Classe" in sheet["C2"].comment.text
    texts = [str(cell.value) for row in summary.iter_rows() for cell in row]
    assert any(text.startswith("Classe: 9.99.999") for text in texts), texts
