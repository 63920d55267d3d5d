"""Names instead of codes: with a mapping, with ``--link`` and in Python."""

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from environment import Xlbridge, credentials
from openpyxl import load_workbook
from sheets import header_of, write_records, write_rows

import xlbridge as xb
from xlbridge.sandbox import RunningSandbox

HEADER = ["Filial", "CNPJ/CPF", "Conta", "Categoria", "CC", "Vencto", "Valor", "Histórico", "Doc"]
MAPPING = """\
version: 1
resource: contasreceber
header: [Filial, CNPJ/CPF, Conta, Categoria, CC, Vencto, Valor, Histórico, Doc]
columns:
  codigoDaFilial: {from: Filial, link: filial}
  codigoDoCliente: {from: CNPJ/CPF, link: cliente}
  codigoDoItemDeLancamento: {from: Categoria}
  codigoDoCentroDeCusto: {from: CC, link: centrodecusto}
  codigoDaContaCorrente: {from: Conta}
  historico: {from: Histórico}
  numeroDoDocumento: {from: Doc}
  dataDeVencimento: {from: Vencto}
  valorDoLancamento: {from: Valor}
"""
COLUMNS = {
    name: re.split("[,}]", body)[0]
    for name, body in re.findall(r"^  (\w+): \{from: (.*)$", MAPPING, re.MULTILINE)
}
NAMED = {
    "69.879.837/0001-59": 1311,
    "CLI-01429": 1429,
    "POUSADA  nova era LTDA": 1311,
    "1197 - Adriana Medeiros Souza": 1197,
    76518188731.0: 1197,
}


def row(branch: object, client: object, centre: str, document: str) -> list[object]:
    """Return the row of a receivable in the foreign sheet."""
    due = date(2026, 10, 31)
    return [branch, client, 1, "1.01.001", centre, due, 99.9, "Mensalidade", document]


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """Write the mapping; return the sheet's path."""
    (tmp_path / "m.yaml").write_text(MAPPING, "utf-8")
    return tmp_path / "t.xlsx"


def stored(at_demo: Xlbridge) -> dict[str, dict[str, Any]]:
    """Return the open receivables created by the tests, by document number."""
    answer = json.loads(at_demo("api", "GET", "/v2/financeiro/contasreceber").stdout)
    found = {record["numeroDoDocumento"]: record for record in answer["data"]}
    return {number: record for number, record in found.items() if str(number).startswith("LN-")}


def test_names_become_codes_and_are_sent_once(demo: Path, at_demo: Xlbridge) -> None:
    rows = [row("matriz SAO paulo", name, "Logistica", f"LN-{n}") for n, name in enumerate(NAMED)]
    write_rows(demo, HEADER, rows)
    local = at_demo("validate", "t.xlsx", "--map", "m.yaml")
    assert local.returncode == 0, local.stdout
    assert "codigoDaFilial, codigoDoCliente, codigoDoCentroDeCusto are only" in local.stderr
    assert at_demo("validate", "t.xlsx", "--map", "m.yaml", "--online").returncode == 0
    sent = at_demo("upload", "t.xlsx", "--map", "m.yaml", "--yes", "--format", "json")
    assert sent.returncode == 0, sent.stderr
    there = stored(at_demo)
    assert [there[f"LN-{n}"]["codigoDoCliente"] for n in range(5)] == [*NAMED.values()]
    assert {record["codigoDoCentroDeCusto"] for record in there.values()} == {"01.003"}
    assert {record["codigoDaFilial"] for record in there.values()} == {1}
    again = at_demo("upload", "t.xlsx", "--map", "m.yaml", "--yes", "--format", "json")
    assert json.loads(again.stdout)["rows"]["unchanged"] == 5


def test_unknown_and_ambiguous_names_are_reported_with_candidates_and_not_sent(
    demo: Path, at_demo: Xlbridge
) -> None:
    body = '{"nomeComercial": "Pousada Nova Era LTDA", "seuCodigo": "LN-TWIN"}'
    assert at_demo("api", "POST", "/v2/cliente", "--data", body).returncode == 0
    rows = [
        row("Matriz", "LN-TWIN", "Logística", "LN-A"),
        row("Matriz São Paulo", "Pousada Nova Era Ltda", "Comércio", "LN-B"),
        row("Matriz São Paulo", 1311, "01.001", "LN-C"),
        row("Matriz São Paulo", "LN-TWIN", "01.001", "LN-D"),
        row("Matriz São Paulo", "ln-twin", "comercial", "LN-D"),
    ]
    write_rows(demo, HEADER, rows)
    validated = at_demo("validate", "t.xlsx", "--map", "m.yaml", "--online", "--format", "json")
    assert validated.returncode == 1
    [file] = json.loads(validated.stdout)["files"]
    found = {one["cell"]: one for one in file["findings"]}
    assert {cell: one["code"] for cell, one in found.items()} == {
        "A2": "link-unknown",
        "B3": "link-ambiguous",
        "B4": "link-unknown",
        "E3": "link-unknown",
        "I6": "duplicate-in-sheet",
    }
    assert found["A2"]["message"].endswith("Similar: 1 – Matriz São Paulo.")
    assert found["B3"]["value"] == "Pousada Nova Era Ltda"
    assert "1311 – Pousada Nova Era Ltda; " in found["B3"]["message"]
    assert found["B4"]["message"].endswith("Similar: 1311 – Pousada Nova Era Ltda.")
    refused = at_demo("upload", "t.xlsx", "--map", "m.yaml", "--yes", "--format", "json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["job"] is None
    part = at_demo("upload", "t.xlsx", "--map", "m.yaml", "--yes", "--good-rows")
    assert part.returncode == 1
    assert set(stored(at_demo)) == {"LN-D"}


def test_proposal_looks_up_documents_and_names(demo: Path, at_demo: Xlbridge) -> None:
    header = ["Loja", "CNPJ", *HEADER[2:]]
    write_rows(demo, header, [row(1, "69.879.837/0001-59", "01.001", "LN-1")])
    done = at_demo("map", "t.xlsx", "--resource", "contasreceber")
    assert "codigoDoCliente: {from: CNPJ, link: cliente}" in done.stdout
    assert "medium confidence: the values are documents, whose codes are looked up" in done.stdout
    write_rows(
        demo,
        ["Sacado" if text == "CNPJ" else text for text in header],
        [row(1, "Pousada Nova Era Ltda", "01.001", "LN-1")],
    )
    named = at_demo("map", "t.xlsx", "--resource", "contasreceber")
    assert "codigoDoCliente: {from: Sacado, link: cliente}" in named.stdout


def test_link_option_works_with_the_headers_of_the_interface(demo: Path, at_demo: Xlbridge) -> None:
    names = ["Companhia Paulista de Energia", "44.881.234/0001-60"]
    changes = [
        {"codigoDoFornecedor": name, "numeroDoDocumento": f"LN-P{n}"}
        for n, name in enumerate(names)
    ]
    write_records(demo, "contaspagar", changes)
    link = ["--link", "codigoDoFornecedor=fornecedor"]
    assert at_demo("validate", "t.xlsx", "--online", *link).returncode == 0
    sent = at_demo("upload", "t.xlsx", *link, "--yes")
    assert sent.returncode == 0, sent.stderr
    answer = json.loads(at_demo("api", "GET", "/v2/financeiro/contaspagar").stdout)
    codes = {one["numeroDoDocumento"]: one["codigoDoFornecedor"] for one in answer["data"]}
    assert (codes["LN-P0"], codes["LN-P1"]) == (501, 502)


def test_values_offered_by_template_lists_become_codes(demo: Path, at_demo: Xlbridge) -> None:
    made = at_demo("template", "contasreceber", "--with-lists", "-o", str(demo))
    assert made.returncode == 0, made.stderr
    assert "  in the lists: the branches (3)\n" in made.stderr
    book = load_workbook(demo)
    sheet, registries = book["contasreceber"], book["Registries"]
    names = header_of(sheet)
    checks = {str(rule.sqref): rule.formula1 for rule in sheet.data_validations.dataValidation}
    assert checks["A2:A100001"] == "Registries!$A$4:$A$6"
    offered = {cell.value for cell in registries["A"]}
    # The example row chooses from the lists, too.
    assert registries["A4"].value in {cell.value for cell in book.worksheets[0]["A"]}
    assert offered >= {"1 – Matriz São Paulo", "2 – Filial Curitiba", "3 – Filial Recife"}
    assert "1311 – Pousada Nova Era Ltda" in {cell.value for cell in registries["C"]}
    cells = [
        ("2 – Filial Curitiba", "1311 – Pousada Nova Era Ltda", "01.003 – Logística"),
        (1, 1429, "01.001"),
        ("Matriz São Paulo", "CLI-01429", "Logística"),
        ("2 – Filial Curitiba", "9999 – Ninguém", "01.001"),
    ]
    for number, (branch, client, centre) in enumerate(cells):
        values = dict(zip(HEADER, row(branch, client, centre, f"LN-{number}"), strict=True))
        for name, header in COLUMNS.items():
            sheet.cell(number + 2, names.index(name) + 1).value = values[header]
    book.save(demo)
    assert at_demo("validate", "t.xlsx").returncode == 0
    validated = at_demo("validate", "t.xlsx", "--online", "--format", "json")
    [file] = json.loads(validated.stdout)["files"]
    assert [(one["cell"], one["code"]) for one in file["findings"]] == [("B5", "link-unknown")]
    message = "Not found among the clients by identifier, CNPJ/CPF, own code, name or code."
    assert file["findings"][0]["message"] == message
    # The next step finds it too: without --online, the sheet has no error to mark.
    mark = "Next: xlbridge validate t.xlsx --online --annotate t-marked.xlsx shows each cell"
    assert mark in at_demo("validate", "t.xlsx", "--online").stdout
    assert mark in at_demo("upload", "t.xlsx", "--yes").stderr
    sent = at_demo("upload", "t.xlsx", "--yes", "--good-rows")
    assert sent.returncode == 1, sent.stderr
    there = stored(at_demo)
    branches = [there[f"LN-{n}"]["codigoDaFilial"] for n in range(3)]
    assert (len(there), branches) == (3, [2, 1, 1])
    assert [there[f"LN-{n}"]["codigoDoCliente"] for n in range(3)] == [1311, 1429, 1429]
    assert there["LN-2"]["codigoDoCentroDeCusto"] == "01.003"
    # The rejects workbook has her own words, and they are understood again.
    [rejects] = demo.parent.glob("t-rejected-*.xlsx")
    left = load_workbook(rejects)
    sheet = left["contasreceber"]
    names = header_of(sheet)
    branch_cell, client_cell = (
        sheet.cell(2, names.index(name) + 1) for name in ("codigoDaFilial", "codigoDoCliente")
    )
    assert (branch_cell.value, client_cell.value) == ("2 – Filial Curitiba", "9999 – Ninguém")
    client_cell.value = "1311 – Pousada Nova Era Ltda"
    left.save(rejects)
    retried = at_demo("retry", rejects.name, "--yes")
    assert retried.returncode == 0, retried.stderr
    there = stored(at_demo)
    assert (there["LN-3"]["codigoDaFilial"], there["LN-3"]["codigoDoCliente"]) == (2, 1311)


def test_child_sheets_of_a_template_offer_records_too(demo: Path, at_demo: Xlbridge) -> None:
    made = at_demo("template", "pedido", "--with-lists", "-o", str(demo))
    assert "  in the lists: the products (120)\n" in made.stderr
    book = load_workbook(demo)
    orders, items, registries = book["pedido"], book["produtos"], book["Registries"]
    checks = {str(one.sqref): one.formula1 for one in items.data_validations.dataValidation}
    first, last = checks["B2:B100001"].removeprefix("Registries!").replace("$", "").split(":")
    bolt, nut = registries[first].value, registries[last].value
    orders.append(["A-1", "2 – Filial Curitiba", "1311 – Pousada Nova Era Ltda"])
    for item in (bolt, nut, "9999 – Nada"):
        items.append(["A-1", item, 2])
    book.save(demo)
    assert at_demo("validate", "t.xlsx").returncode == 0
    validated = json.loads(at_demo("validate", "t.xlsx", "--online", "--format", "json").stdout)
    found = [
        (file["sheet"], one["cell"]) for file in validated["files"] for one in file["findings"]
    ]
    assert found == [("produtos", "B4")]
    items.delete_rows(4)
    book.save(demo)
    sent = at_demo("upload", "t.xlsx", "--yes", "--format", "json")
    assert sent.returncode == 0, sent.stderr
    listed = json.loads(at_demo("api", "GET", "/v2/faturamento/pedido").stdout)["data"]
    order = max(listed, key=lambda one: int(one["numeroDoPedido"]))
    codes = [int(text.split(" ")[0]) for text in (bolt, nut)]
    assert [item["idProduto"] for item in order["produtos"]] == codes
    assert (order["codigoDaFilial"], order["codigoDoCliente"]) == (2, 1311)


def test_rejected_rows_are_sent_again_with_the_same_links(demo: Path, at_demo: Xlbridge) -> None:
    link = ["--link", "codigoDoCliente=cliente"]
    named = {"codigoDoCliente": "CLI-01429", "numeroDoDocumento": "LN-R"}
    write_records(demo, "contasreceber", [named | {"codigoDaContaCorrente": 99}])
    sent = at_demo("upload", "t.xlsx", *link, "--yes", "--format", "json")
    assert sent.returncode == 1, sent.stderr
    job = json.loads(sent.stdout)["job"]
    write_records(demo, "contasreceber", [named])
    again = at_demo("retry", job, "--file", "t.xlsx", "--yes")
    assert again.returncode == 0, again.stderr
    assert stored(at_demo)["LN-R"]["codigoDoCliente"] == 1429


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tipocliente"], "No column of tipocliente refers to a registry"),
        (["--all", "modelos"], "writes the template of one resource"),
    ],
)
def test_impossible_template_lists_end_with_2(
    xlbridge: Xlbridge, arguments: list[str], words: str
) -> None:
    done = xlbridge("template", "--with-lists", *arguments)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("codigoDoCliente", "write COLUMN=RESOURCE"),
        ("historico=cliente", "historico refers to no registry"),
        ("codigoDoCliente=fornecedor", "allowed here: idws, cnpj, cpf, seuCodigo, cliente"),
    ],
)
def test_invalid_link_ends_with_2(
    tmp_path: Path, xlbridge: Xlbridge, link: str, words: str
) -> None:
    write_records(tmp_path / "t.xlsx", "contasreceber", [{}])
    done = xlbridge("validate", "t.xlsx", "--link", link)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


def test_a_link_of_another_resource_ends_with_2_in_every_spelling_of_the_resource(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    write_records(tmp_path / "t.xlsx", "nota-fiscal-servico", [{}])
    link = ("--link", "codigoDoFornecedor=fornecedor")
    for name in ("nota-fiscal-servico", "nfse", "Notafiscalservico"):
        done = xlbridge("validate", "t.xlsx", "--resource", name, *link)
        assert (done.returncode, "allowed here: codigoDaFilial" in done.stderr) == (2, True), (
            name,
            done.stderr,
        )


def test_a_frame_with_names_is_planned_and_sent(
    demo: Path, home: Path, demo_sandbox: RunningSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (credentials(demo_sandbox) | {"XLBRIDGE_HOME": str(home)}).items():
        monkeypatch.setenv(name, value)
    named = ["69.879.837/0001-59", "Ninguém"]
    write_records(
        demo, "contasreceber", [{"codigoDoCliente": name, "idws": name} for name in named]
    )
    frame = pd.read_excel(demo, dtype=object, engine="openpyxl")
    links = {"codigoDoCliente": "cliente"}
    with xb.connect() as erp:
        good = xb.validate(frame.iloc[:1], "contasreceber", links=links)
        assert good.ok
        assert erp.plan(good).counts["create"] == 1
        refused = erp.upload(xb.validate(frame, "contasreceber", links=links), yes=True)
    assert (refused.state, refused.job) == ("rejected", None)
    assert refused.rejected["column"].tolist() == ["codigoDoCliente"]


def test_names_that_the_system_lacks_are_asked_for_once(demo: Path, at_demo: Xlbridge) -> None:
    rows = [row("Matrz São Paulo", 1311, "01.001", "LN-E"), row("Matriz São Paulo", 1311, "x", "F")]
    write_rows(demo, HEADER, [*rows, row("Matrz São Paulo", 1311, "01.001", "LN-G")])
    options = "--resource", "contasreceber", "--online", "-o", "proposed.yaml"
    proposed = at_demo("map", "t.xlsx", *options)
    assert "Replace each ? with the value that only you know: codigoDaFilial" in proposed.stderr
    text = (demo.parent / "proposed.yaml").read_text("utf-8")
    assert "the system does not have “Matrz São Paulo”. Similar: 1 – Matriz São Paulo." in text
    asked = "values: {Matrz São Paulo: '?'}"
    assert f"codigoDaFilial: {{from: Filial, link: filial, {asked}}}" in text
    known = text.replace(asked, "values: {Matrz São Paulo: Matriz São Paulo}")
    (demo.parent / "proposed.yaml").write_text(known.replace("'?'", "1"), "utf-8")
    checked = at_demo("validate", "t.xlsx", "--map", "proposed.yaml", "--online")
    assert "Filial (codigoDaFilial)" not in checked.stdout, checked.stdout
    # Neither is it asked for again in another sheet.
    other = demo.with_name("other.xlsx")
    write_rows(other, [*HEADER[:-1], "Nº NF"], rows)
    again = at_demo("map", "other.xlsx", "--resource", "contasreceber", "--online")
    assert "values: {Matrz São Paulo: Matriz São Paulo}" in again.stdout, again.stdout
    assert "codigoDaFilial" not in again.stderr.split("Replace each ?")[-1]


@pytest.mark.parametrize("suffix", ["xlsx", "csv"])
def test_rejected_rows_of_a_mapped_sheet_keep_her_own_words(
    tmp_path: Path, demo: Path, at_demo: Xlbridge, suffix: str
) -> None:
    file = tmp_path / f"own.{suffix}"
    rows = [
        row("2 – Filial Curitiba", "Pousada  nova era LTDA", "Logistica", "LN-1"),
        row("2 – Filial Curitiba", "CLI-01429", "01.001", "LN-2"),
    ]
    for cells in rows:
        cells[2] = 99  # No such account: the system rejects the row.
    if suffix == "xlsx":
        write_rows(file, HEADER, rows)
    else:
        texts = [[f"{cell}" for cell in cells] for cells in (HEADER, *rows)]
        file.write_text("\n".join(map(";".join, texts)), "utf-8")
    sent = at_demo("upload", file.name, "--map", "m.yaml", "--yes", "--format", "json")
    assert sent.returncode == 1, sent.stderr
    rejects = json.loads(sent.stdout)["rejects_file"]
    book = load_workbook(rejects)
    sheet = book["contasreceber"]
    names = header_of(sheet)
    found = {
        name: [sheet.cell(at, names.index(name) + 1).value for at in (2, 3)]
        for name in ("codigoDaFilial", "codigoDoCliente", "codigoDoCentroDeCusto")
    }
    assert found == {
        "codigoDaFilial": ["2 – Filial Curitiba"] * 2,
        "codigoDoCliente": ["Pousada  nova era LTDA", "CLI-01429"],
        "codigoDoCentroDeCusto": ["Logistica", "01.001"],
    }
    for at in (2, 3):
        sheet.cell(at, names.index("codigoDaContaCorrente") + 1).value = 1
    book.save(rejects)
    retried = at_demo("retry", rejects, "--yes")
    assert retried.returncode == 0, retried.stderr
    there = stored(at_demo)
    assert [there[f"LN-{n}"]["codigoDaFilial"] for n in (1, 2)] == [2, 2]
    assert [there[f"LN-{n}"]["codigoDoCliente"] for n in (1, 2)] == [1311, 1429]
    assert [there[f"LN-{n}"]["codigoDoCentroDeCusto"] for n in (1, 2)] == ["01.003", "01.001"]


def test_rejected_items_in_the_rows_of_a_mapped_sheet_keep_their_names(
    demo: Path, at_demo: Xlbridge
) -> None:
    header = ["Pedido", "Loja", "Cliente", "Produto", "Qtd"]
    mapping = """\
version: 1
resource: pedido
header: [Pedido, Loja, Cliente, Produto, Qtd]
columns:
  chave: {from: Pedido}
  codigoDaFilial: {from: Loja, link: filial}
  codigoDoCliente: {from: Cliente, link: cliente}
lists:
  produtos:
    items:
    - idProduto: {from: Produto, link: produto}
      quantidade: {from: Qtd}
"""
    (demo.parent / "m.yaml").write_text(mapping, "utf-8")
    listed = json.loads(at_demo("api", "GET", "/v2/produto").stdout)["data"]
    bolt, nut = (product["descricaoDoProduto"] for product in listed[:2])
    order = ["Matriz São Paulo", "CLI-01429"]
    items = [["A-1", *order, bolt, 1], ["A-2", *order, nut, 2], ["A-2", *order, "Nada", 3]]
    write_rows(demo, header, items)
    options = ("--map", "m.yaml", "--yes", "--good-rows", "--format", "json")
    sent = at_demo("upload", "t.xlsx", *options)
    assert sent.returncode == 1, sent.stderr
    rejects = json.loads(sent.stdout)["rejects_file"]
    book = load_workbook(rejects)
    cells = {cell.value for cell in book["pedido"][2]}
    assert cells >= {"Matriz São Paulo", "CLI-01429"}
    sheet = book["produtos"]
    at = header_of(sheet).index("idProduto") + 1
    assert [sheet.cell(row, at).value for row in (2, 3)] == [nut, "Nada"]
    sheet.cell(3, at).value = bolt
    book.save(rejects)
    retried = at_demo("retry", rejects, "--yes")
    assert retried.returncode == 0, retried.stderr


def test_numbers_of_a_mapped_sheet_return_as_codes_and_words_as_words(
    demo: Path, at_demo: Xlbridge
) -> None:
    body = '{"nomeComercial": "Nova", "seuCodigo": "1311"}'
    created = at_demo("api", "POST", "/v2/cliente", "--data", body)
    assert created.returncode == 0, created.stderr
    values = MAPPING.replace("from: Filial, link: filial", "from: Filial, values: {Matriz: 1}")
    (demo.parent / "m.yaml").write_text(values, "utf-8")
    rejected = row("Matriz", "1311", "Logística", "LN-1")
    rejected[2] = 99
    write_rows(demo, HEADER, [rejected])
    sent = at_demo("upload", "t.xlsx", "--map", "m.yaml", "--yes", "--format", "json")
    assert sent.returncode == 1, sent.stderr
    rejects = json.loads(sent.stdout)["rejects_file"]
    book = load_workbook(rejects)
    sheet = book["contasreceber"]
    names = header_of(sheet)
    branch, client, centre, account = (
        sheet.cell(2, names.index(name) + 1)
        for name in (
            *("codigoDaFilial", "codigoDoCliente"),
            *("codigoDoCentroDeCusto", "codigoDaContaCorrente"),
        )
    )
    # As a word of the client's own, 1311 would be the code of another client, too.
    assert (branch.value, centre.value) == ("Matriz", "Logística")
    assert isinstance(client.value, int)
    assert client.value != 1311
    account.value, code = 1, client.value
    book.save(rejects)
    retried = at_demo("retry", rejects, "--yes")
    assert retried.returncode == 0, retried.stderr
    assert stored(at_demo)["LN-1"]["codigoDoCliente"] == code
