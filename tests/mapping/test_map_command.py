"""``xlbridge map``: from a foreign sheet to a mapping that validates, uploads and is remembered."""

import json
import shlex
from datetime import date
from pathlib import Path
from typing import get_args

import pytest
import yaml
from environment import Xlbridge, credentials
from openpyxl import load_workbook
from sheets import write_rows, write_workbook

from xlbridge.sandbox import RunningSandbox
from xlbridge.settings import NumberStyle

HEADER = ["Filial", "Cliente", "Conta", "Categoria", "CC", "Emissão", "Vencto", "Valor (R$)"]
HEADER += ["Histórico", "Obs"]
ROW = [
    "Matriz São Paulo",
    1001,
    1,
    "1.01.001",
    "01.001",
    date(2026, 10, 1),
    date(2026, 10, 31),
    "1.234,56",
]
ROW += ["Mensalidade", ""]
_DAY = date(2026, 10, 1)


def write_titles(folder: Path, name: str = "titulos.xlsx", header: list[str] = HEADER) -> Path:
    """Write two receivables with foreign headers below a title."""
    other = [*ROW]
    other[7:9] = ["99,90", "Mensalidade 2"]
    return write_rows(
        folder / name, header, [ROW, other], at=(2, 0), title="Títulos em aberto", sheet="Relatório"
    )


def test_the_amount_of_a_sale_may_be_that_of_a_title(tmp_path: Path, xlbridge: Xlbridge) -> None:
    header = ["Documento", "Cliente", "Emissão", "Vencimento", "Valor da venda"]
    row = ["NF-1", 1001, date(2026, 10, 1), date(2026, 10, 31), 21]
    write_rows(tmp_path / "vendas.xlsx", header, [row])
    proposed = xlbridge("map", "vendas.xlsx", "-o", "m.yaml")
    assert "Valor da venda → valorDoLancamento: medium confidence" in proposed.stderr


def test_other_sheets_with_the_same_columns_are_reported(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    record = {"Razão Social": "Padaria Central", "CNPJ/CPF": "11444777000161"}
    path = tmp_path / "clientes.xlsx"
    write_workbook(path, Jan=[record], Fev=[record, record], Notas=[{"Assunto": "x", "Nota": "y"}])
    remark = "Other sheets of the workbook fit, too: “Fev”; this mapping is of the sheet “Jan”"
    assert remark in xlbridge("map", path, "--resource", "cliente").stderr
    chosen = xlbridge("map", path, "--resource", "cliente", "--sheet", "Fev").stderr
    assert "sheet Fev" in chosen
    assert "Other sheets" not in chosen


def test_a_proposal_is_written_confirmed_remembered_and_offered(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    write_titles(tmp_path)
    foreign = xlbridge("validate", "titulos.xlsx")
    assert foreign.returncode == 1
    assert "xlbridge map titulos.xlsx -o MAPPING.yaml" in foreign.stderr
    proposed = xlbridge("map", "titulos.xlsx", "-o", "m.yaml")
    assert (proposed.returncode, proposed.stdout) == (0, "")
    assert "Vencto → dataDeVencimento: high confidence" in proposed.stderr
    text = (tmp_path / "m.yaml").read_text("utf-8")
    content = yaml.safe_load(text)
    assert content["resource"] == "contasreceber"
    assert content["columns"]["codigoDaFilial"] == {"from": "Filial", "link": "filial"}
    assert content["columns"]["valorDoLancamento"] == {"from": "Valor (R$)", "numbers": "pt"}
    assert content["ignore"] == ["Obs"]
    assert "# high confidence: it is a usual name of the column, and the values fit." in text
    assert xlbridge("validate", "titulos.xlsx", "--map", "m.yaml").returncode == 0
    again = xlbridge("validate", "titulos.xlsx")
    assert "This header was read as contasreceber before: xlbridge validate titulos" in again.stderr
    unmapped = xlbridge("upload", "titulos.xlsx")
    assert unmapped.returncode == 1
    assert "as contasreceber before: xlbridge upload titulos.xlsx --map" in unmapped.stderr
    known = xlbridge("map", "titulos.xlsx", XLBRIDGE_LANG="pt-BR")
    assert known.stdout.strip() == text.strip()
    assert "Este cabeçalho é conhecido" in known.stderr
    elsewhere = xlbridge("map", "titulos.xlsx", "--profile", "nenhum")
    assert elsewhere.returncode == 2


@pytest.mark.parametrize("command", ["validate", "upload"])
def test_an_unknown_header_has_one_message_with_its_remedies(
    tmp_path: Path, xlbridge: Xlbridge, command: str
) -> None:
    header = ["Nome fantasia", "Tipo pessoa", "Fone"]
    write_rows(tmp_path / "cadastro.xlsx", header, [["Padaria", "Jurídica", "(11) 99999-0000"]])
    unknown = xlbridge(command, "cadastro.xlsx")
    assert unknown.returncode == 2
    error, mapped, chosen = unknown.stderr.splitlines()[-3:]
    assert error == "Error: It is not clear which resource the sheet is for."
    assert mapped.endswith(": xlbridge map cadastro.xlsx -o MAPPING.yaml")
    assert chosen.startswith("If the headers are the system's own, choose the resource with --reso")
    assert unknown.stderr.count("xlbridge map") == 1
    xlbridge("map", "cadastro.xlsx", "-o", "m.yaml", "--resource", "cliente")
    assert xlbridge("validate", "cadastro.xlsx", "--map", "m.yaml").returncode == 0
    known = xlbridge(command, "cadastro.xlsx")
    error, mapped = known.stderr.splitlines()[-2:]
    assert error == "Error: It is not clear which resource the sheet is for."
    assert mapped.startswith(
        f"This header was read as cliente before: xlbridge {command} cadastro.xlsx --map"
    )


def test_a_mapping_is_suggested_below_the_findings(tmp_path: Path, xlbridge: Xlbridge) -> None:
    write_titles(tmp_path)
    for command in ("validate", "upload"):
        result = xlbridge(command, "titulos.xlsx")
        suggestion = "If the sheet has its own headers: xlbridge map titulos.xlsx -o MAPPING.yaml"
        assert result.stderr.splitlines()[-1] == suggestion


def test_displayed_commands_are_quoted_for_the_shell(
    tmp_path: Path, xlbridge: Xlbridge, empty_sandbox: RunningSandbox
) -> None:
    write_titles(tmp_path, "d'água; (2).xlsx")
    proposed = xlbridge("map", "d'água; (2).xlsx", "-o", "m&m.yaml")
    validate = shlex.join(["xlbridge", "validate", "d'água; (2).xlsx", "--map", "m&m.yaml"])
    assert validate in proposed.stderr
    command = ["upload", "d'água; (2).xlsx", "--map", "m&m.yaml", "--mode", "preview"]
    sent = xlbridge(*command, **credentials(empty_sandbox))
    assert f"See them with: {validate}" in sent.stderr
    assert xlbridge("template", "cliente", "-o", "a&b.xlsx").stderr.endswith("'a&b.xlsx'\n")


def test_amount_column_is_proposed_despite_odd_cells(tmp_path: Path, xlbridge: Xlbridge) -> None:
    header = ["codigoDaFilial", "Cód. Cliente", "Cód. Item de Lançamento", "Nº Doc", "Valor"]
    amounts = ["R$ 1.234,56", "(123,45)", "US$ 10,00", "1,234.56", "#N/D", "99,90"]
    rows = [[1, 1001 + n, 1, f"A-{n}", amount] for n, amount in enumerate(amounts)]
    write_rows(tmp_path / "odd.xlsx", header, rows)
    alike = xlbridge("validate", "odd.xlsx", "--resource", "contasreceber")
    assert "xlbridge map odd.xlsx -o MAPPING.yaml" in alike.stderr
    proposed = xlbridge("map", "odd.xlsx", "-o", "m.yaml", "--resource", "contasreceber")
    assert "Valor → valorDoLancamento: low confidence" in proposed.stderr


def test_account_is_not_mapped_as_amount(tmp_path: Path, xlbridge: Xlbridge) -> None:
    header = ["Filial", "Cliente", "Item de lançamento", "C. Custo", "Conta", "Título", "Valor"]
    rows = [[1, 1001 + n, "1.01.001", "01.001", 1, 700 + n, f"({n}0,00)"] for n in range(1, 9)]
    write_rows(tmp_path / "t.xlsx", [*header, "Vencimento"], [[*row, _DAY] for row in rows])
    columns = yaml.safe_load(xlbridge("map", "t.xlsx").stdout)["columns"]
    sources = {name: body.get("from") for name, body in columns.items()}
    assert sources["codigoDaContaCorrente"] == "Conta"
    assert sources["numeroDoDocumento"] == "Título"
    assert sources.get("valorDoLancamento") in {"Valor", None}


@pytest.mark.parametrize(("sheet", "chosen"), [("contaspagar", ()), ("Plan1", ("Plan1",))])
def test_the_keys_of_a_child_sheet_identify_their_column(
    tmp_path: Path, xlbridge: Xlbridge, sheet: str, chosen: tuple[str, ...]
) -> None:
    titles = [
        {"Lançamento": 1000001 + at, "Loja": 1, "Valor (R$)": 100, "Vencimento": date(2026, 12, 1)}
        for at in range(3)
    ]
    parts = [{"chave": str(1000001 + at), "valor": 50} for at in (0, 0, 2, 2)]
    write_workbook(tmp_path / "t.xlsx", **{sheet: titles, "rateio": parts})
    options = ("--resource", "contaspagar", *(("--sheet", *chosen) if chosen else ()))
    proposed = xlbridge("map", "t.xlsx", *options)
    document = yaml.safe_load(proposed.stdout)
    assert document["columns"]["chave"] == {"from": "Lançamento"}
    assert "Lançamento" not in document.get("ignore", [])
    assert "the keys of the sheet rateio are values of the column" in proposed.stdout
    parts[0]["chave"] = "other"
    write_workbook(tmp_path / "t.xlsx", **{sheet: titles, "rateio": parts})
    assert "chave" not in yaml.safe_load(xlbridge("map", "t.xlsx", *options).stdout)["columns"]


def test_the_nature_follows_the_document_rather_than_an_earlier_constant(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    (tmp_path / "a.csv").write_text("Empresa;Doc\nPadaria;11.222.333/0001-81\n", "utf-8")
    columns = "nomeComercial: {from: Empresa}, cnpj: {from: Doc}, natureza: {constant: J}"
    mapping = f"version: 1\nresource: cliente\nheader: [Empresa, Doc]\ncolumns: {{{columns}}}\n"
    (tmp_path / "a.yaml").write_text(mapping, "utf-8")
    assert xlbridge("validate", "a.csv", "--map", "a.yaml").returncode == 0
    (tmp_path / "b.csv").write_text("Nome do cliente;CPF\nAna Souza;529.982.247-25\n", "utf-8")
    body = yaml.safe_load(xlbridge("map", "b.csv").stdout)["columns"]["natureza"]
    assert body == {"from": "CPF", "values": {"cpf": "F"}}


def test_ambiguous_values_do_not_exclude_a_column_and_documents_outrank_names(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    header = "Filial;Cliente;CNPJ/CPF;Conta;Emissão;Vencto;Valor;Histórico;CC"
    rows = [
        f"1;Padaria;11.222.333/0001-81;1;0{day}/10/2026;0{day}/11/2026;1.234;Mensalidade;Comercial"
        for day in (1, 2, 3)
    ]
    (tmp_path / "t.csv").write_text("\n".join([header, *rows]), "utf-8")
    done = xlbridge("map", "t.csv", "--resource", "contasreceber")
    columns = yaml.safe_load(done.stdout)["columns"]
    assert columns["dataDeEmissao"] == {"from": "Emissão"}
    assert columns["dataDeVencimento"] == {"from": "Vencto"}
    assert columns["valorDoLancamento"] == {"from": "Valor"}
    assert columns["codigoDoCliente"] == {"from": "CNPJ/CPF", "link": "cliente"}
    declared = xlbridge("map", "t.csv", "--resource", "contasreceber", "--numbers", "pt")
    body = yaml.safe_load(declared.stdout)["columns"]["valorDoLancamento"]
    assert body == {"from": "Valor", "numbers": "pt"}
    # Names are texts, as codes of cost centres are.
    assert columns["codigoDoCentroDeCusto"] == {"from": "CC", "link": "centrodecusto"}


@pytest.mark.parametrize(
    ("party", "resource", "column"),
    [
        ("cliente", "contasreceber", "codigoDoCliente"),
        ("fornecedor", "contaspagar", "codigoDoFornecedor"),
    ],
)
def test_party_in_a_header_decides_between_receivables_and_payables(
    tmp_path: Path, xlbridge: Xlbridge, party: str, resource: str, column: str
) -> None:
    header = [f"Nome do {party}" if name == "Cliente" else name for name in HEADER]
    rows = [[*ROW[:1], name, *ROW[2:]] for name in ("Padaria Sol", "Mercado Lua", "Ana Ltda")]
    write_rows(tmp_path / "t.xlsx", header, rows, sheet="Plan1")
    proposed = xlbridge("map", "t.xlsx")
    assert proposed.stderr.startswith(f"{resource} · sheet Plan1")
    body = yaml.safe_load(proposed.stdout)["columns"][column]
    assert body == {"from": f"Nome do {party}", "link": party}


def test_confirmed_mapping_improves_later_proposals(tmp_path: Path, xlbridge: Xlbridge) -> None:
    write_titles(tmp_path)
    assert xlbridge("map", "titulos.xlsx", "-o", "m.yaml").returncode == 0
    text = (tmp_path / "m.yaml").read_text("utf-8")
    text = text.replace("{from: Conta}", "{constant: 7}").replace("- Obs", "- Obs\n  - Conta")
    text = text.replace("Vencto", "Data XYZ")
    (tmp_path / "m.yaml").write_text(text, "utf-8")
    header = ["Data XYZ" if text == "Vencto" else text for text in HEADER]
    write_titles(tmp_path, header=header)
    assert xlbridge("validate", "titulos.xlsx", "--map", "m.yaml").returncode == 0
    fewer = [text for text in header if text not in ("Conta", "Obs")]
    rows = [[value for value, text in zip(ROW, header, strict=True) if text in fewer]]
    write_rows(tmp_path / "outra.xlsx", fewer, rows)
    done = xlbridge("map", "outra.xlsx")
    columns = yaml.safe_load(done.stdout)["columns"]
    assert columns["dataDeVencimento"] == {"from": "Data XYZ"}
    assert columns["codigoDaContaCorrente"] == {"constant": 7}


def test_values_only_the_user_knows_are_asked_for_and_never_guessed(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    header = [text for text in HEADER if text != "Conta"]
    rows = [[value for value, text in zip(ROW, HEADER, strict=True) if text != "Conta"]]
    rows.append([2, *rows[0][1:-2], "Outra", ""])
    write_rows(tmp_path / "t.xlsx", header, rows)
    done = xlbridge("map", "t.xlsx", "-o", "m.yaml", XLBRIDGE_LANG="pt-BR")
    assert "só você conhece: codigoDaFilial, codigoDaContaCorrente" in done.stderr
    validated = xlbridge("validate", "t.xlsx", "--map", "m.yaml", XLBRIDGE_LANG="pt-BR")
    assert validated.returncode == 2
    assert "codigoDaFilial.values.Matriz São Paulo: substitua ? pelo valor" in validated.stderr
    assert "codigoDaContaCorrente.constant: substitua ? pelo valor" in validated.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["titulos.xlsx", "-o", "titulos.xlsx"], "is already another file"),
        (["titulos.xlsx", "-o", "old.yaml"], "already exists"),
        (["nothing.xlsx"], "nothing.xlsx"),
        (["words.xlsx"], "header row"),
        (["titulos.xlsx", "--resource", "nada"], "nada"),
        (["odd.xlsx"], "no header resembles a column"),
    ],
)
def test_impossible_mapping_ends_with_2_and_writes_nothing(
    tmp_path: Path, xlbridge: Xlbridge, arguments: list[str], words: str
) -> None:
    write_titles(tmp_path)
    write_rows(tmp_path / "words.xlsx", ["só um texto"], [])
    write_rows(tmp_path / "odd.xlsx", ["aaa", "bbb"], [["x", "y"]])
    (tmp_path / "old.yaml").write_text("mine", "utf-8")
    done = xlbridge("map", *arguments)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "old.yaml").read_text("utf-8") == "mine"
    assert not list(tmp_path.glob("*.yaml.*"))


def test_json_schema_of_the_file_is_printed_for_editors(xlbridge: Xlbridge) -> None:
    form = json.loads(xlbridge("map", "--json-schema").stdout)
    assert form["title"] == "xlbridge mapping"
    keys = {"version", "title", "source", "resource", "header", "columns", "rows", "ignore"}
    keys |= {"accept", "lists"}
    assert set(form["properties"]) == keys
    column = form["properties"]["columns"]["additionalProperties"]["properties"]
    assert {*column["numbers"]["enum"]} == {*get_args(NumberStyle)}


def test_a_mapped_sheet_is_uploaded_once(tmp_path: Path, at_demo: Xlbridge) -> None:
    write_titles(tmp_path)
    text = at_demo("map", "titulos.xlsx").stdout
    text = text.replace("{from: Conta}", "{constant: 1}").replace("- Obs", "- Obs\n  - Conta")
    (tmp_path / "m.yaml").write_text(text, "utf-8")
    sent = at_demo("upload", "titulos.xlsx", "--map", "m.yaml", "--yes", "--format", "json")
    assert sent.returncode == 0, sent.stderr
    assert json.loads(sent.stdout)["rows"]["accepted"] == 2
    again = at_demo("upload", "titulos.xlsx", "--map", "m.yaml", "--yes", "--format", "json")
    assert json.loads(again.stdout)["rows"]["accepted"] == 0
    (tmp_path / "m.yaml").write_text(text.replace("link: filial", "values: {Loja: 1}"), "utf-8")
    bad = at_demo("upload", "titulos.xlsx", "--map", "m.yaml", "--yes")
    assert bad.returncode == 1
    assert "A4='Matriz São Paulo'" in bad.stderr


def test_a_corrected_mapped_sheet_is_retried_with_its_mapping(
    tmp_path: Path, at_demo: Xlbridge
) -> None:
    path = write_titles(tmp_path)
    text = at_demo("map", "titulos.xlsx").stdout
    text = text.replace("{from: Conta}", "{constant: 1}").replace("- Obs", "- Obs\n  - Conta")
    (tmp_path / "m.yaml").write_text(text, "utf-8")
    book = load_workbook(path)
    cell = next(cell for row in book.active for cell in row if cell.value == ROW[7])
    amount, cell.value = cell.value, "muito"
    book.save(path)
    options = ("--map", "m.yaml", "--yes", "--good-rows", "--format", "json")
    sent = json.loads(at_demo("upload", "titulos.xlsx", *options).stdout)
    assert sent["rows"]["held"] == 1, sent
    cell.value = amount
    book.save(path)
    again = at_demo("retry", sent["job"], "--file", "titulos.xlsx", *options)
    rows = json.loads(again.stdout)["rows"]
    assert (again.returncode, rows["held"], rows["rejected"]) == (0, 0, 0), again.stdout


def test_plan_step_accepts_a_mapping(tmp_path: Path, xlbridge: Xlbridge) -> None:
    write_titles(tmp_path)
    xlbridge("map", "titulos.xlsx", "-o", "m.yaml")
    plan = "version: 1\nname: mes\nsteps:\n  titulos: {validate: titulos.xlsx, map: m.yaml}\n"
    (tmp_path / "plan.yaml").write_text(plan, "utf-8")
    done = xlbridge("batch", "run", "plan.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "plan.yaml").write_text(plan.replace("m.yaml", "no.yaml"), "utf-8")
    done = xlbridge("batch", "run", "plan.yaml")
    assert done.returncode == 2
    assert "plan.yaml:4: steps.titulos.map: There is no mapping" in done.stderr


def test_group_above_the_header_identifies_its_columns(tmp_path: Path, xlbridge: Xlbridge) -> None:
    rows = [["Código", "Nome", "Número", "Vencimento", "Valor", "Filial"]]
    rows += [[1001, "Padaria", f"NF-{n}", date(2026, 10, n), 10.5, 1] for n in (1, 2)]
    write_rows(tmp_path / "t.xlsx", ["Cliente", "", "Título", "", "", "Empresa"], rows)
    content = yaml.safe_load(xlbridge("map", "t.xlsx").stdout)
    assert content["resource"] == "contasreceber"
    assert content["columns"]["codigoDoCliente"] == {"from": "Código"}
    assert content["columns"]["numeroDoDocumento"] == {"from": "Número"}


def test_a_required_column_that_no_header_supplies_is_named(
    tmp_path: Path, xlbridge: Xlbridge
) -> None:
    """A constant cannot supply what is different in each record."""
    write_rows(tmp_path / "centros.xlsx", ["Nome", "Ativo"], [["Oficina", "S"], ["Vendas", "S"]])
    proposed = xlbridge("map", "centros.xlsx", "--resource", "centrodecusto")
    assert list(yaml.safe_load(proposed.stdout)["columns"]) == ["descricaoDoCentroDeCusto"]
    assert "No column seems to be codigoDoCentroDeCusto, which is required" in proposed.stderr
