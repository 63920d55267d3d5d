"""Corrections of a sheet over HTTP: the copy has them, and keeps its styles.

Inside: ui.
"""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile

import httpx
import pytest
from hostile_kinds import FILES
from openpyxl import load_workbook
from openpyxl.packaging.custom import StringProperty
from running_page import RunningPage, open_workbook, wait_for_end
from sheets import GOOD, Formula, write_records, write_workbook

from xlbridge import validate
from xlbridge.ui.texts import page_texts


def codes(sheet: dict[str, Any]) -> dict[str, int]:
    return {rule["key"]: rule["count"] for rule in sheet["rules"]}


def sent(client: httpx.Client) -> dict[str, Any]:
    """Plan and send the open sheet; return the outcome."""
    planned = client.post("/api/plan", json={}).json()
    assert "token" in planned, planned
    answer = client.post("/api/send", json={"token": planned["token"]})
    assert answer.status_code == 200
    state = wait_for_end(client)
    assert state["error"] is None, state
    outcome: dict[str, Any] = state["outcome"]
    return outcome


def test_findings_equal_those_of_validate(client: httpx.Client, samples: Path) -> None:
    path = samples / "contasreceber-com-erros.xlsx"
    sheet = open_workbook(client, path)
    report = validate(path)
    assert (sheet["resource"], sheet["sheet"], sheet["header_row"]) == (
        "contasreceber",
        "Títulos",
        3,
    )
    assert sheet["errors"] == sum(report.findings["severity"] == "error")
    shown = client.get("/api/rows", params={"view": "wrong", "count": 500}).json()
    columns = [column["letters"] for column in sheet["columns"]]
    marked = {
        f"{columns[int(place)]}{row['row']}" for row in shown["rows"] for place in row["marks"]
    }
    expected = report.findings
    of_cells = expected[expected["row"] > sheet["header_row"]]
    assert marked == set(of_cells["cell"].dropna())


def test_typed_values_are_converted_to_the_type_of_the_column(
    client: httpx.Client, tmp_path: Path
) -> None:
    path = tmp_path / "títulos.xlsx"
    wrong = {"codigoDaFilial": "x", "dataDeVencimento": "amanhã", "valorDoLancamento": "dez"}
    write_records(path, "contasreceber", [wrong])
    sheet = open_workbook(client, path)
    names = [column["name"] for column in sheet["columns"]]
    typed = {"codigoDaFilial": "2", "dataDeVencimento": "2026-12-24", "valorDoLancamento": "7.25"}
    cells = [
        {"row": 2, "column": names.index(name), "value": value} for name, value in typed.items()
    ]
    sheet = client.post("/api/edit", json=cells).json()
    assert (sheet["errors"], sheet["edited"]) == (0, 3)
    copy = tmp_path / "copy.xlsx"
    copy.write_bytes(client.get("/api/workbook").content)
    report = validate(copy)
    assert report.ok
    assert len(report.findings) == 0
    row = report.frame.iloc[0]
    assert (row["codigoDaFilial"], str(row["dataDeVencimento"])[:10]) == (2, "2026-12-24")
    assert str(row["valorDoLancamento"]) == "7.25"


def test_edits_are_undone_and_redone(client: httpx.Client, samples: Path) -> None:
    before = open_workbook(client, samples / "cliente-com-erros.xlsx")
    column = before["columns"][0]
    assert column["name"] == "nomeComercial"
    cell = [{"row": 5, "column": 1, "value": "Padaria"}]
    after = client.post("/api/edit", json=cell).json()
    assert after["errors"] == before["errors"] - 1
    undone = client.post("/api/step", json={"step": "undo"}).json()
    assert (codes(undone), undone["edited"]) == (codes(before), 0)
    again = client.post("/api/step", json={"step": "redo"}).json()
    assert (codes(again), again["edited"]) == (codes(after), 1)


def test_all_certain_fixes_of_a_rule_are_applied_at_once(
    client: httpx.Client, samples: Path
) -> None:
    sheet = open_workbook(client, samples / "cliente-com-erros.xlsx")
    fixable = next(rule for rule in sheet["rules"] if rule["code"] == "text-spaces")
    shown = client.get("/api/fixes", params={"rule": fixable["key"]}).json()
    assert shown["count"] == fixable["fixable"] >= 1
    assert all(cell["before"] != cell["after"] for cell in shown["cells"])
    after = client.post("/api/fix", json={"rule": fixable["key"]}).json()
    assert fixable["key"] not in codes(after)
    assert after["edited"] == shown["count"]


def test_next_error_wraps_around(client: httpx.Client, samples: Path) -> None:
    open_workbook(client, samples / "contasreceber-com-erros.xlsx")
    expected = validate(samples / "contasreceber-com-erros.xlsx").findings
    expected = expected[expected["severity"] == "error"]
    wrong = expected[(expected["row"] > 3) & expected["cell"].notna()]
    place = {"row": 0, "column": -1}
    seen = []
    for _ in range(len(set(wrong["cell"]))):
        place = client.get("/api/next-error", params=place).json()
        seen.append((place["row"], place["column"]))
        del place["position"]
    assert len(set(seen)) == len(seen)
    assert seen == sorted(seen)
    first = client.get("/api/next-error", params=place).json()
    assert (first["row"], first["column"]) == seen[0]


def test_a_computed_cell_is_not_changed(client: httpx.Client, tmp_path: Path) -> None:
    path = tmp_path / "formula.xlsx"
    write_records(path, "contasreceber", [{"valorDoLancamento": Formula("=1+1")}])
    sheet = open_workbook(client, path)
    place = [column["name"] for column in sheet["columns"]].index("valorDoLancamento")
    answer = client.post("/api/edit", json=[{"row": 2, "column": place, "value": "3"}])
    assert answer.status_code == 422
    assert "the value comes from a formula" in answer.json()["error"]["message"]


def test_a_tab_does_not_change_the_sheet_of_another(client: httpx.Client, samples: Path) -> None:
    shown = {"X-Sheet": open_workbook(client, samples / "cliente-com-erros.xlsx")["id"]}
    other = open_workbook(client, samples / "contasreceber-com-erros.xlsx")
    cell = [{"row": 5, "column": 0, "value": "Padaria"}]
    for answer in (
        client.post("/api/edit", json=cell, headers=shown),
        client.get("/api/rows", headers=shown),
        client.post("/api/plan", json={}, headers=shown),
    ):
        assert "Another sheet was opened" in answer.json()["error"]["message"]
    now = client.post("/api/edit", json=cell, headers={"X-Sheet": other["id"]}).json()
    assert (now["sheet"], now["edited"]) == (other["sheet"], 1)


def test_refused_file_is_explained_and_the_page_keeps_working(
    client: httpx.Client, tmp_path: Path, samples: Path
) -> None:
    path = tmp_path / "texto.xlsx"
    path.write_text("nada", encoding="utf-8")
    answer = client.post("/api/open", content=path.read_bytes(), headers={"X-File-Name": "t.xlsx"})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"]
    assert open_workbook(client, samples / "cliente.xlsx")["errors"] == 0


def test_the_file_name_cannot_leave_its_folder(
    client: httpx.Client, ui: RunningPage, samples: Path
) -> None:
    content = (samples / "cliente.xlsx").read_bytes()
    for name in ("../../outside.xlsx", "..\\..\\outside.xlsx", "/outside.xlsx", "..", ""):
        headers = {"X-File-Name": quote(name)}
        assert client.post("/api/open", content=content, headers=headers).status_code == 200
    written = {path.parent.parent for path in ui.home.rglob("*.xlsx")}
    assert written == {ui.home / "page"}


def test_the_corrected_copy_keeps_the_rest_of_the_original(
    client: httpx.Client, tmp_path: Path, samples: Path
) -> None:
    path = samples / "contasreceber-com-erros.xlsx"
    open_workbook(client, path)
    client.post("/api/edit", json=[{"row": 4, "column": 0, "value": "1"}])
    copy = tmp_path / "copy.xlsx"
    copy.write_bytes(client.get("/api/workbook").content)
    before, after = (load_workbook(book)["Títulos"] for book in (path, copy))
    changed = [
        one.coordinate
        for line in before.iter_rows()
        for one in line
        if one.value != after[one.coordinate].value
    ]
    assert changed == ["A4"]
    assert after["A4"].value == 1
    assert repr(before["B3"].font) == repr(after["B3"].font)
    assert repr(before["A4"].border) == repr(after["A4"].border)


def test_csv_has_the_same_findings_as_on_the_command_line(
    client: httpx.Client, tmp_path: Path
) -> None:
    header = "codigoDaFilial;codigoDoCliente;codigoDoItemDeLancamento;codigoDoCentroDeCusto;"
    header += "codigoDaContaCorrente;historico;dataDeVencimento;valorDoLancamento"
    row = "1;1001;1.01.001;01.001;1;Serviço;31/10/2026;1.234,56"
    path = tmp_path / "titulos.csv"
    path.write_bytes(f"{header}\r\n{row}\r\n{row.replace('Serviço', '')}\r\n".encode("cp1252"))
    sheet = open_workbook(client, path)
    assert sheet["file"] == "titulos.csv"
    report = validate(path)
    assert (sheet["errors"], sheet["warnings"]) == (len(report.findings), 0) == (1, 0)
    assert "Windows-1252" in sheet["read_as"]
    edit = [{"row": 3, "column": 5, "value": "Juros"}]
    assert client.post("/api/edit", json=edit).json()["errors"] == 0
    (draft,) = client.get("/api/drafts").json()["drafts"]
    open_workbook(client, path)
    kept = client.post("/api/continue", json={"id": draft["id"]}).json()
    assert (kept["file"], kept["errors"], kept["warnings"]) == ("titulos.csv", 0, 0)
    assert kept["read_as"] == sheet["read_as"]
    copy = tmp_path / "copy.xlsx"
    copy.write_bytes(client.get("/api/workbook").content)
    assert list(validate(copy).frame["historico"]) == ["Serviço", "Juros"]


@pytest.mark.parametrize("kind", ["csv", "xls", "xlsb", "ods"])
def test_a_draft_has_the_name_of_the_opened_file(
    client: httpx.Client, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"clientes.{kind}"
    path.write_bytes(FILES[f"good {kind}"][2](tmp_path))
    opened = open_workbook(client, path)
    client.post("/api/edit", json=[{"row": 2, "column": 0, "value": "Outro nome"}])
    (draft,) = client.get("/api/drafts").json()["drafts"]
    continued = client.post("/api/continue", json={"id": draft["id"]}).json()
    assert {opened["file"], draft["file"], continued["file"]} == {path.name}


def test_a_row_is_added_below_the_last(client: httpx.Client, tmp_path: Path) -> None:
    path = tmp_path / "clientes.xlsx"
    write_records(path, "cliente", [{}])
    book = load_workbook(path)
    for row in (3, 5):  # formatted, and empty
        book.worksheets[0].cell(row, 1).number_format = "@"
    book.save(path)
    names = [column["name"] for column in open_workbook(client, path)["columns"]]
    typed = {"nomeComercial": "Padaria", "natureza": "F"}
    added = [{"row": 3, "column": names.index(name), "value": text} for name, text in typed.items()]
    sheet = client.post("/api/edit", json=added).json()
    assert (sheet["rows"], sheet["errors"]) == (2, 0)
    copy = tmp_path / "copy.xlsx"
    copy.write_bytes(client.get("/api/workbook").content)
    assert list(validate(copy).frame["nomeComercial"])[1] == "Padaria"
    with ZipFile(copy) as package:
        xml = package.read("xl/worksheets/sheet1.xml").decode()
    assert re.findall(r'<row r="(\d+)"', xml) == ["1", "2", "3", "5"]
    assert client.post("/api/step", json={"step": "undo"}).json()["rows"] == 1


def test_rows_of_totals_are_set_aside_and_restored(client: httpx.Client, tmp_path: Path) -> None:
    path = tmp_path / "titulos.xlsx"
    total = {**dict.fromkeys(GOOD["contasreceber"]), "historico": "Total", "valorDoLancamento": 20}
    write_records(path, "contasreceber", [{"valorDoLancamento": 10}] * 2 + [total])
    sheet = open_workbook(client, path)
    (rule,) = [rule for rule in sheet["rules"] if rule["code"] == "row-total"]
    assert sheet["sendable"]
    assert client.get("/api/rows", params={"renew": 1}).json()["total"] == 1
    client.post("/api/set-aside", json={"rule": rule["key"]})
    assert client.get("/api/rows", params={"renew": 1}).json()["total"] == 0
    client.post("/api/edit", json=[{"row": 2, "column": 0, "value": "2"}])
    for step, edited, wrong in (("undo", 0, 0), ("undo", 0, 1), ("redo", 0, 0), ("redo", 1, 0)):
        assert client.post("/api/step", json={"step": step}).json()["edited"] == edited
        assert client.get("/api/rows").json()["total"] == wrong
    # A row that is no record waits for nobody.
    planned = client.post("/api/plan", json={}).json()
    assert (planned["counts"]["held"], planned["counts"]["aside"]) == (0, 1)
    assert planned["table"]["lines"][0]["cells"][:2] == ["set aside", "4"]


def test_child_sheets_are_corrected_separately(client: httpx.Client, tmp_path: Path) -> None:
    order = {"chave": "A", "codigoDaFilial": 1, "codigoDoCliente": None}
    product = {"chave": "A", "idProduto": 2001, "quantidade": "duas", "valorUnitario": 10.5}
    path = write_workbook(tmp_path / "p.xlsx", pedido=[order], produtos=[product])
    main = open_workbook(client, path)
    assert [(part["sheet"], part["errors"]) for part in main["parts"]] == [
        ("pedido", 1),
        ("produtos", 1),
    ]
    client.post("/api/edit", json=[{"row": 2, "column": 2, "value": "1001"}])
    child = client.post("/api/part", json={"sheet": "produtos"}).json()
    assert (child["shown"], child["resource"], child["errors"]) == ("produtos", "pedido", 1)
    (wrong,) = client.get("/api/rows", params={"view": "wrong"}).json()["rows"]
    assert (wrong["row"], list(wrong["marks"]), wrong["edited"]) == (2, ["2"], [])
    quantity = [{"row": 2, "column": 2, "value": "2"}]
    added = {"row": 3, "column": 0, "value": "A"}
    assert client.post("/api/edit", json=quantity).json()["sendable"]
    answer = client.post("/api/edit", json=[added]).json()
    assert (answer["rows"], answer["errors"] > 0, answer["edited"]) == (2, True, 3)
    answer = client.post("/api/step", json={"step": "undo"}).json()
    assert (answer["shown"], answer["sendable"], answer["edited"]) == ("produtos", True, 2)
    copy = tmp_path / "copy.xlsx"
    copy.write_bytes(client.get("/api/workbook").content)
    book = load_workbook(copy)
    assert (book["pedido"]["C2"].value, book["produtos"]["C2"].value) == (1001, 2)
    for _ in range(2):
        answer = client.post("/api/step", json={"step": "undo"}).json()
    assert (answer["shown"], answer["edited"], answer["errors"]) == ("pedido", 0, 1)
    for _ in range(2):
        answer = client.post("/api/step", json={"step": "redo"}).json()
    (draft,) = client.get("/api/drafts").json()["drafts"]
    again = client.post("/api/continue", json={"id": draft["id"]}).json()
    assert (draft["cells"], again["shown"], again["edited"]) == (2, "pedido", 2)
    assert client.post("/api/plan", json={}).json()["writes"] == 1


def test_rejected_child_rows_are_marked_in_their_sheet(
    client: httpx.Client, tmp_path: Path
) -> None:
    orders = [{"chave": key, "codigoDaFilial": 1, "codigoDoCliente": 987654} for key in "AB"]
    item = {"quantidade": 2, "valorUnitario": 10.5, "idProduto": 987654}
    items = [{**item, "chave": key} for key in "BAA"]
    open_workbook(client, write_workbook(tmp_path / "p.xlsx", pedido=orders, produtos=items))
    assert sent(client)["in_grid"] == ["pedido", "produtos"]
    sheet = client.post("/api/part", json={"sheet": "produtos"}).json()
    assert (sheet["refused"], sheet["errors"]) == (3, 0)
    rows = client.get("/api/rows", params={"view": "wrong", "renew": 1}).json()["rows"]
    (rule,) = [rule for rule in sheet["rules"] if rule["severity"] == "refused"]
    assert rule["count"] == 3
    assert client.get("/api/rows", params={"view": rule["key"]}).json()["total"] == 3
    place = [column["name"] for column in sheet["columns"]].index("idProduto")
    marks = {row["row"]: row["marks"][str(place)] for row in rows}
    assert {row: [mark["severity"] for mark in own] for row, own in marks.items()} == {
        row: ["refused"] for row in (2, 3, 4)
    }
    assert "987654" in marks[4][0]["message"]
    first = client.get("/api/next-error", params={"row": 0, "column": -1}).json()
    assert (first["row"], first["column"]) == (2, place)
    typed = [{"row": 2, "column": place, "value": "987653"}]
    assert client.post("/api/edit", json=typed).json()["refused"] == 2
    (job,) = client.get("/api/jobs").json()["jobs"]
    again = client.post("/api/job-workbook", json={"job": job["job"]}).json()
    assert (again["file"], again["edited"]) == ("p.xlsx", 1)
    (draft,) = client.get("/api/drafts").json()["drafts"]
    again = client.post("/api/continue", json={"id": draft["id"]}).json()
    assert {part["sheet"]: part["refused"] for part in again["parts"]} == {
        "pedido": 2,
        "produtos": 2,
    }


def test_block_of_rows_is_added_to_an_empty_child_sheet(
    client: httpx.Client, tmp_path: Path
) -> None:
    path = tmp_path / "pedido.xlsx"
    path.write_bytes(client.get("/api/template", params={"resource": "pedido"}).content)
    sheet = open_workbook(client, path)
    assert {part["sheet"] for part in sheet["parts"]} == {"pedido", "produtos", "parcelas"}
    for name, values in (
        ("pedido", {"chave": "A", "codigoDaFilial": "1", "codigoDoCliente": "1001"}),
        ("produtos", {"chave": "A", "idProduto": "7", "quantidade": "2", "valorUnitario": "3"}),
    ):
        sheet = client.post("/api/part", json={"sheet": name}).json()
        names = [column["name"] for column in sheet["columns"]]
        below = sheet["header_row"] + 1
        shown = client.get("/api/rows", params={"view": "all"}).json()
        assert [row["row"] for row in shown["rows"]] == [below]
        block = [
            {"row": below + at, "column": names.index(column), "value": value}
            for at in range(3)
            for column, value in ({**values, "chave": f"{'ABC'[at]}"}).items()
        ]
        sheet = client.post("/api/edit", json=block).json()
        assert (sheet["shown"], sheet["rows"]) == (name, 3)
        gap = [{"row": below + 5, "column": 0, "value": "1"}]
        assert "no such row" in client.post("/api/edit", json=gap).json()["error"]["message"]
    assert sheet["sendable"]
    undone = client.post("/api/step", json={"step": "undo"}).json()
    assert (undone["shown"], undone["rows"]) == ("produtos", 0)
    assert client.get("/api/rows", params={"view": "all"}).json()["total"] == 1
    client.post("/api/step", json={"step": "redo"})
    copy = tmp_path / "copy.xlsx"
    copy.write_bytes(client.get("/api/workbook").content)
    report = validate(copy)
    assert report.ok
    assert list(load_workbook(copy)["produtos"].values)[-1][1] == 7


def test_plan_is_shown_in_the_grid_with_differing_values(
    client: httpx.Client, tmp_path: Path
) -> None:
    due = {"dataDeVencimento": "30/11/2026", "historico": "Aluguel"}
    same, record = [{**due, "numeroDoDocumento": f"PLAN-{n}"} for n in (1, 2)]
    path = tmp_path / "pagar.xlsx"
    open_workbook(client, write_records(path, "contaspagar", [same, record]))
    assert sent(client)["state"] == "done"
    other = {**record, "historico": "Frete"}
    new = {**record, "numeroDoDocumento": "PLAN-3"}
    sheet = open_workbook(client, write_records(path, "contaspagar", [same, other, new]))
    planned = client.post("/api/plan", json={}).json()
    assert (planned["counts"]["held"], planned["writes"]) == (1, 1)
    # Rows that need a decision come first, with hints for the page.
    held, unchanged = planned["table"]["lines"]
    assert (held["cells"][:2], unchanged["cells"][1]) == (["not sent, waiting for you", "3"], "2")
    assert held["below"] == ["row 3, Description: sheet 'Frete', system 'Aluguel'"]
    assert "tick" in held["cells"][2]
    assert "--" not in held["cells"][2]
    shown = client.get("/api/rows", params={"view": "plan:held", "renew": 1}).json()["rows"]
    place = [column["name"] for column in sheet["columns"]].index("historico")
    assert [row["row"] for row in shown] == [3]
    (mark,) = shown[0]["marks"][str(place)]
    assert (mark["severity"], mark["message"]) == ("planned", "in the system: Aluguel")


def test_record_numbers_of_another_system_count_only_if_that_is_said(
    client: httpx.Client, tmp_path: Path
) -> None:
    record = {"descricaoDoProduto": "Parafuso", "codigoInterno": "PG-1", "idProduto": 1}
    path = write_records(tmp_path / "produtos.xlsx", "produto", [record])
    book = load_workbook(path)
    for name, value in {"format": "1", "system": "https://outro.example#9"}.items():
        book.custom_doc_props.append(StringProperty(name=f"xlbridge-{name}", value=value))
    book.save(path)
    open_workbook(client, path)
    refused = client.post("/api/plan", json={"update": True})
    assert refused.status_code == 422
    error = refused.json()["error"]
    assert "https://outro.example#9" in error["message"]
    assert error["message"].startswith("produtos.xlsx has record numbers")
    assert page_texts()["foreign_numbers"].partition(":")[0] in error["hint"]
    assert "--" not in error["hint"]
    planned = client.post("/api/plan", json={"foreign_numbers": True}).json()
    assert (planned["counts"]["create"], planned["writes"]) == (1, 1)


def test_reading_of_dates_and_numbers_can_be_changed(client: httpx.Client, tmp_path: Path) -> None:
    record = {"dataDeVencimento": "03/04/2030", "valorDoLancamento": "1,234"}
    path = write_records(tmp_path / "titulos.xlsx", "contasreceber", [record])
    sheet = open_workbook(client, path)
    found = {rule["code"] for rule in sheet["rules"]}
    assert {"date-ambiguous", "number-ambiguous"} <= found
    read = client.post("/api/reading", json={"dates": "mdy", "numbers": "en"}).json()
    assert (read["dates"], read["numbers"], read["errors"]) == ("mdy", "en", 0)
    assert found.isdisjoint(rule["code"] for rule in read["rules"] if rule["severity"] == "error")


def test_finding_is_accepted_here_and_in_later_sheets(client: httpx.Client, tmp_path: Path) -> None:
    codes = [*(f"{number:05}" for number in range(1, 20)), "20"]
    rows = [{"idws": code, "dataDeVencimento": "31/10/2030"} for code in codes]
    path = write_records(tmp_path / "titulos.xlsx", "contasreceber", rows)
    rules = {rule["code"]: rule for rule in open_workbook(client, path)["rules"]}
    assert rules["code-shape"]["acceptable"]
    assert "--accept" not in rules["code-shape"]["hint"]
    accepted = {"code": "code-shape", "column": "idws"}
    sheet = client.post("/api/accept", json=accepted).json()
    assert {rule["code"] for rule in sheet["rules"]} == {"date-as-text"}
    rows[-1]["idws"] = "21"
    later = write_records(tmp_path / "novembro.xlsx", "contasreceber", rows)
    assert {rule["code"] for rule in open_workbook(client, later)["rules"]} == {"date-as-text"}
    refused = client.post("/api/accept", json={"code": "type-integer", "column": None})
    assert refused.status_code == 422
    assert "type-integer" in refused.json()["error"]["message"]


def test_next_error_skips_warnings_while_there_are_errors(
    client: httpx.Client, tmp_path: Path
) -> None:
    warned = {"dataDeVencimento": "31/10/2030"}
    records = [warned, {**warned, "valorDoLancamento": "dez"}, warned]
    sheet = open_workbook(
        client, write_records(tmp_path / "titulos.xlsx", "contasreceber", records)
    )
    assert (sheet["errors"], sheet["warnings"]) == (1, 3)
    names = [column["name"] for column in sheet["columns"]]
    wrong, due = (names.index(name) for name in ("valorDoLancamento", "dataDeVencimento"))

    def next_after(row: int, column: int) -> tuple[int, int]:
        found = client.get("/api/next-error", params={"row": row, "column": column}).json()
        return found["row"], found["column"]

    assert next_after(0, -1) == next_after(3, wrong) == (3, wrong)
    client.post("/api/edit", json=[{"row": 3, "column": wrong, "value": "10"}])
    assert [next_after(0, -1), next_after(2, due), next_after(4, due)] == [
        (2, due),
        (3, due),
        (2, due),
    ]
