"""Mapping files: documented format, and mistakes reported with their line."""

import json
from pathlib import Path

import pytest
from environment import Xlbridge
from sheets import write_rows

from xlbridge.errors import UsageError
from xlbridge.i18n import override_language
from xlbridge.resources import Catalogue
from xlbridge.validation import validate_workbook
from xlbridge.validation.mapping import read_mapping

CONTRACT = """version: 1
resource: contasreceber
header: [Filial, "Valor (R$)", Tipo, Ref, "CNPJ/CPF", Obs]
columns:
  codigoDaFilial: {from: Filial, values: {Matriz: 1}}
  valorDoLancamento: {from: "Valor (R$)", numbers: pt}
  historico: {join: [Tipo, Ref], with: " "}
  codigoDaContaCorrente: {constant: 1}
  codigoDoCliente: {from: "CNPJ/CPF", link: cliente}
ignore: [Obs]
"""
SMALL = """version: 1
resource: cliente
header: [Nome, Doc, Fone, Fone]
columns:
  nomeComercial: {from: Nome}
  cnpj: {from: Doc, when: cnpj}
ignore: [Fone]
"""


def test_documented_format_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text(CONTRACT, "utf-8")
    mapping = read_mapping(path)
    by_name = {column.name: column for column in mapping.columns}
    assert mapping.header == ("Filial", "Valor (R$)", "Tipo", "Ref", "CNPJ/CPF", "Obs")
    assert by_name["codigoDaFilial"].values == {"Matriz": 1}
    assert by_name["historico"].join == ["Tipo", "Ref"]
    assert by_name["codigoDoCliente"].link == "cliente"
    assert (by_name["codigoDaContaCorrente"].constant, mapping.ignore) == (1, ("Obs",))


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("version: 1", "version: 2", 1, "allowed here: 1"),
        ("from: Nome", "fron: Nome", 5, "'fron' is not known"),
        ("{from: Nome}", "{from: Nome, constant: x}", 5, "exactly one"),
        ("{from: Nome}", "{constant: x, when: cpf}", 5, "when is only valid with from"),
        ("{from: Nome}", "{from: Nomes}", 5, "'Nomes' is not known"),
        ("{from: Nome}", "{from: Fone}", 5, "2 times"),
        ("ignore: [Fone]", "ignore: [Nome, Fone]", 7, "is used in columns"),
        ("ignore: [Fone]", "", 3, "'Fone' is not used"),
        ("when: cnpj", "when: rg", 6, "'rg' is not known"),
        ("when: cnpj", "values: {Sim: J, sim: F}", 6, "same as 'Sim'"),
        ("resource: cliente", "resource: clientes", 2, "'clientes' is not known"),
        ("  cnpj:", "  cnpjs:", 6, "'cnpjs' is not known"),
        ("{from: Nome}", "{from: Nome, values: {A: 1}}", 5, "this must be a text"),
        ("when: cnpj}", "when: cnpj}\n  natureza: {constant: X}", 7, "'X' is not known"),
        ("when: cnpj}", "when: cnpj}\n  codigoDoVendedor: {constant: 0}", 7, "greater than 0"),
        ("when: cnpj}", "when: cnpj}\n  email: {constant: x}", 7, "email.constant"),
        ("columns:", "\tcolumns:", 4, "tab"),
    ],
)
def test_each_mistake_is_reported_with_its_line(
    tmp_path: Path, catalogue: Catalogue, old: str, new: str, line: int, words: str
) -> None:
    path = tmp_path / "m.yaml"
    assert old in SMALL
    path.write_text(SMALL.replace(old, new), "utf-8")
    sheet = write_rows(tmp_path / "a.xlsx", ["Nome", "Doc", "Fone", "Fone"], [["A", "", "", ""]])
    with override_language("en"), pytest.raises(UsageError) as caught:
        validate_workbook(sheet, catalogue, mapping=read_mapping(path))
    assert f"m.yaml:{line}: " in str(caught.value)
    assert words in str(caught.value)


def test_changed_headers_are_named_and_end_with_2(tmp_path: Path, xlbridge: Xlbridge) -> None:
    (tmp_path / "m.yaml").write_text(SMALL, "utf-8")
    write_rows(tmp_path / "a.xlsx", ["Nome", "Documento", "Fone", "Fone"], [["A", "", "", ""]])
    done = xlbridge("validate", "a.xlsx", "--map", "m.yaml", XLBRIDGE_LANG="pt-BR")
    assert done.returncode == 2
    assert "Faltam: 'Doc'. São novas: 'Documento'." in done.stderr
    write_rows(tmp_path / "b.xlsx", ["x", "y"], [["A", ""]])
    done = xlbridge("validate", "b.xlsx", "--map", "m.yaml")
    assert done.returncode == 2
    assert "No visible sheet has the header of the mapping" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--map", "no.yaml"],
        ["--map", "m.yaml", "--resource", "contasreceber"],
        ["--map", "m.yaml", "--all-sheets"],
        ["--map", "m.yaml", "-o", "m.yaml"],
    ],
)
def test_options_incompatible_with_a_mapping_end_with_2(
    tmp_path: Path, xlbridge: Xlbridge, arguments: list[str]
) -> None:
    (tmp_path / "m.yaml").write_text(SMALL, "utf-8")
    write_rows(tmp_path / "a.xlsx", ["Nome", "Doc", "Fone", "Fone"], [["A", "", "", ""]])
    done = xlbridge("validate", "a.xlsx", *arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert (tmp_path / "m.yaml").read_text("utf-8") == SMALL


def test_fix_and_annotate_keep_the_foreign_headers(tmp_path: Path, xlbridge: Xlbridge) -> None:
    (tmp_path / "m.yaml").write_text(
        SMALL.replace("Fone, Fone", "Fone").replace("ignore: [Fone]", "")
        + "  natureza: {from: Doc, values: {cnpj: J}}\n  telefone: {from: Fone}\n",
        "utf-8",
    )
    rows = [["  Padaria ", "11.222.333/0001-81", "(11) 98765-4321"], ["B", "nada", "x"]]
    write_rows(tmp_path / "a.xlsx", ["Nome", "Doc", "Fone"], rows)
    copies = ("--fix", "b.xlsx", "--annotate", "c.xlsx")
    done = xlbridge("validate", "a.xlsx", "--map", "m.yaml", *copies)
    assert done.returncode == 1
    assert "A2 Nome (nomeComercial): '  Padaria ' → 'Padaria'" in done.stdout
    assert "B3='nada'" in done.stdout
    again = xlbridge("validate", "c.xlsx", "--map", "m.yaml", "--format", "json")
    assert again.returncode == 1
    (sheet,) = json.loads(again.stdout)["files"]
    assert "Doc" in [finding.get("header") for finding in sheet["findings"]]
