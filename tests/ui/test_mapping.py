"""A foreign sheet is mapped, and the mapping remembered; edits outlive the page."""

from pathlib import Path
from typing import Any

import httpx
from environment import clean_environment, credentials
from forked import Zygote
from openpyxl import Workbook, load_workbook
from running_page import open_workbook, running_page
from sheets import GOOD, write_records, write_rows

from xlbridge import validate
from xlbridge.sandbox import RunningSandbox
from xlbridge.validation.mapping import read_mapping


def write_foreign(path: Path) -> Path:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.append(["Cadastro"])
    sheet.append(["Razão social", "Tipo pessoa", "E-mail", "Cor"])
    sheet.append(["Padaria Central", "Jurídica", "padaria@example.com", "azul"])
    sheet.append(["Maria da Silva", "Física", "maria", "verde"])
    book.save(path)
    return path


def proposed(client: httpx.Client, path: Path) -> dict[str, Any]:
    """Open a sheet that fits several resources; return its mapping once one is chosen."""
    answer = open_workbook(client, path)
    assert "rows" not in answer
    assert "fornecedor" in answer["error"]["message"]
    form: dict[str, Any] = client.post("/api/choose", json={"resource": "cliente"}).json()[
        "mapping"
    ]
    return form


def confirmed(client: httpx.Client, form: dict[str, Any]) -> dict[str, Any]:
    names = ("resource", "sheet", "header_row", "columns", "rows", "accept")
    answer = client.post("/api/map", json={name: form[name] for name in names if name in form})
    assert answer.status_code == 200, answer.text
    sheet: dict[str, Any] = answer.json()
    return sheet


def test_a_mapping_is_confirmed_and_remembered(client: httpx.Client, tmp_path: Path) -> None:
    path = write_foreign(tmp_path / "cadastro.xlsx")
    form = proposed(client, path)
    assert (form["kind"], form["resource"], form["header_row"]) == ("proposed", "cliente", 2)
    samples = {one["header"]: one["samples"] for one in form["headers"]}
    assert samples["Cor"] == ["azul", "verde"]
    assert form["columns"]["natureza"]["values"] == {"Jurídica": "J", "Física": "F"}
    form["columns"].pop("email", None)
    chosen = {"resource": "cliente", "sheet": form["sheet"], "header_row": 2, "header": "E-mail"}
    body = client.post("/api/mapping-column", json={**chosen, "column": "email"}).json()
    form["columns"]["email"] = body
    sheet = confirmed(client, form)
    assert [rule["column"] for rule in sheet["rules"] if rule["severity"] == "error"] == ["email"]
    columns = [column["name"] for column in sheet["columns"]]
    assert columns == ["nomeComercial", "natureza", "email", None]
    typed = [{"row": 4, "column": 2, "value": "maria@example.com"}]
    assert client.post("/api/edit", json=typed).json()["errors"] == 0
    # Codes are those of the sheet's system until its words are typed.
    code = client.post("/api/edit", json=[{"row": 4, "column": 1, "value": "J"}]).json()
    (rule,) = [rule for rule in code["rules"] if rule["severity"] == "error"]
    assert rule["message"].endswith("it has: 'Jurídica', 'Física'.")
    assert rule["hint"].startswith(
        "Enter one of these values, not its code, or change the “Columns used”"
    )
    word = [{"row": 4, "column": 1, "value": "jurídica"}]
    assert client.post("/api/edit", json=word).json()["errors"] == 0
    again = open_workbook(client, path)
    assert (again["mapping"]["kind"], again["errors"]) == ("remembered", 1)


def test_a_confirmed_mapping_keeps_what_the_one_before_accepts(
    client: httpx.Client, tmp_path: Path, home: Path
) -> None:
    path = write_foreign(tmp_path / "cadastro.xlsx")
    form = proposed(client, path)
    assert form["accept"] == []
    confirmed(client, form)
    (used,) = home.rglob("mappings/*.yaml")
    accepted = "code-shape:seuCodigo"
    used.write_text(used.read_text("utf-8").replace("accept: []", f"accept: ['{accepted}']"))
    assert open_workbook(client, path)["mapping"]["accept"] == [accepted]
    book = load_workbook(path)
    book.worksheets[0].cell(2, 5, "Fone")
    book.save(path)
    form = open_workbook(client, path)["mapping"]
    assert (form["kind"], form["accept"]) == ("proposed", [accepted])
    confirmed(client, form)
    assert open_workbook(client, path)["mapping"]["accept"] == [accepted]
    (new,) = {*home.rglob("mappings/*.yaml")} - {used}
    assert read_mapping(new).accept == (accepted,)


def test_the_header_row_is_corrected(client: httpx.Client, tmp_path: Path) -> None:
    open_workbook(client, write_foreign(tmp_path / "cadastro.xlsx"))
    answer = client.post("/api/choose", json={"resource": "cliente", "header_row": 3}).json()
    assert answer["mapping"]["headers"][0]["header"] == "Padaria Central"
    refused = client.post("/api/choose", json={"resource": "cliente", "header_row": 40}).json()
    assert "no header row" in refused["error"]["message"]


def test_what_speaks_for_each_likely_resource_is_said(client: httpx.Client, tmp_path: Path) -> None:
    header = ["Pedido", "CNPJ", "Código do produto", "Quantidade", "Valor unitário"]
    rows = [[4501 + n // 2, "11.222.333/0001-81", f"P-{n}", 2, 10.5] for n in range(3)]
    path = write_rows(tmp_path / "planilha.xlsx", header, rows)
    asked = open_workbook(client, path)["error"]["message"]
    assert "(pedido: uses 5 of 5 columns; CNPJ would be the client's)" in asked
    assert "(pedido-compra: uses 5 of 5 columns; CNPJ would be the supplier's)" in asked
    chosen = client.post("/api/choose", json={"resource": "pedido"}).json()["mapping"]
    assert chosen["columns"]["codigoDoCliente"] == {"from": "CNPJ", "link": "cliente"}
    assert chosen["columns"]["chave"] == {"from": "Pedido"}


def test_values_only_the_user_knows_are_asked_for(client: httpx.Client, tmp_path: Path) -> None:
    form = proposed(client, write_foreign(tmp_path / "cadastro.xlsx"))
    form["columns"]["natureza"] = {"constant": "?"}
    names = ("resource", "sheet", "header_row", "columns")
    answer = client.post("/api/map", json={name: form[name] for name in names})
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["fields"] == [
        {"column": "natureza", "word": None, "message": "Fill in this value."}
    ]
    assert "mapping.yaml" not in error["message"]


def test_every_column_that_is_read_has_its_name_in_the_grid(
    client: httpx.Client, tmp_path: Path
) -> None:
    header = ["Cliente", "Vencto", "Valor (R$)", "Tipo", "Ref", "Cor"]
    rows = [[1001, "30/11/2026", 10.5, "NF", "2026/1", "azul"]]
    form = open_workbook(client, write_rows(tmp_path / "a receber.xlsx", header, rows))["mapping"]
    assert form["columns"]["historico"]["join"] == ["Tipo", "Ref"]
    form["columns"] |= {n: {"constant": "1"} for n, b in form["columns"].items() if "constant" in b}
    names = [column["name"] for column in confirmed(client, form)["columns"]]
    assert names[3:] == ["historico", "historico", None]


def test_edits_outlive_the_page(
    tmp_path: Path, home: Path, forks: Zygote, empty_sandbox: RunningSandbox
) -> None:
    path = tmp_path / "clientes.xlsx"
    write_records(path, "cliente", [{"nomeComercial": None}])
    environment = clean_environment(home, **credentials(empty_sandbox))
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        names = [column["name"] for column in open_workbook(client, path)["columns"]]
        cell = {"row": 2, "column": names.index("nomeComercial"), "value": "Padaria"}
        assert client.post("/api/edit", json=[cell]).json()["errors"] == 0
    assert {file.stat().st_mode & 0o077 for file in home.glob("page/*/*.json")} == {0}
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        (draft,) = client.get("/api/drafts").json()["drafts"]
        assert (draft["file"], draft["title"], draft["cells"]) == ("clientes.xlsx", "Clients", 1)
        sheet = client.post("/api/continue", json={"id": draft["id"]}).json()
        assert (sheet["errors"], sheet["edited"]) == (0, 1)
        copy = tmp_path / "copy.xlsx"
        copy.write_bytes(client.get("/api/workbook").content)
        assert list(validate(copy).frame["nomeComercial"]) == ["Padaria"]
        assert client.post("/api/discard", json={"id": draft["id"]}).json() == {"drafts": []}


def test_a_row_set_aside_outlives_the_page(
    tmp_path: Path, home: Path, forks: Zygote, empty_sandbox: RunningSandbox
) -> None:
    total = {**dict.fromkeys(GOOD["contasreceber"]), "historico": "Total", "valorDoLancamento": 10}
    path = tmp_path / "titulos.xlsx"
    write_records(path, "contasreceber", [{"valorDoLancamento": 10}, total])
    environment = clean_environment(home, **credentials(empty_sandbox))
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        (rule,) = open_workbook(client, path)["rules"]
        client.post("/api/set-aside", json={"rule": rule["key"]})
    with running_page(forks, tmp_path, home, environment) as ui, ui.client() as client:
        (draft,) = client.get("/api/drafts").json()["drafts"]
        sheet = client.post("/api/continue", json={"id": draft["id"]}).json()
        assert (sheet["aside"], sheet["rules"]) == (1, [])


def test_a_mapped_column_names_records(client: httpx.Client, tmp_path: Path) -> None:
    record = GOOD["contasreceber"] | {"codigoDoCliente": "Padaria que não existe"}
    headers = {name: f"Coluna {name}" for name in record}
    path = write_rows(tmp_path / "titulos.xlsx", list(headers.values()), [list(record.values())])
    open_workbook(client, path)
    columns: dict[str, dict[str, Any]] = {name: {"from": own} for name, own in headers.items()}
    columns["codigoDoCliente"]["link"] = "cliente"
    place = {"resource": "contasreceber", "sheet": "Plan1", "header_row": 1}
    sheet = confirmed(client, {**place, "columns": columns})
    assert sheet["sendable"], sheet["rules"]
    assert client.post("/api/plan", json={}).status_code == 422
    (row,) = client.get("/api/rows", params={"view": "wrong", "renew": 1}).json()["rows"]
    (mark,) = row["marks"][str(list(record).index("codigoDoCliente"))]
    assert mark["severity"] == "refused"
