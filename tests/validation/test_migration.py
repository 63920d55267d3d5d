"""Older templates are detected, reported with their changes, and migrated.

Inside: validation.
"""

import dataclasses
import os
from datetime import date
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from environment import Xlbridge
from openpyxl.comments import Comment
from openpyxl.styles import Font, PatternFill
from sheets import TEMPLATE_PROPERTY, rows_of

from xlbridge.cli.main import main
from xlbridge.errors import UsageError
from xlbridge.i18n import untranslated
from xlbridge.resources import Catalogue, Resource, load_catalogue
from xlbridge.resources.findings import Finding, Severity
from xlbridge.settings import Headers, WorkbookLimits
from xlbridge.validation import migrate, validate_workbook
from xlbridge.validation.edited_copies import Migration
from xlbridge.workbook.write import template_sheets

NOW = """\
title: Vendedores
metadata:
  resource: vendedor
  layout: 3
  layouts:
    1: {renamed: {cod: codigo}, removed: [fax]}
    2: {renamed: {nome: nomeCompleto}}
  import: {direct: imports.direct}
  columns:
    codigo: {kind: code}
    comissao: {kind: money}
columns:
  codigo: {dtype: str, nullable: false, digits: {width: 4}}
  desde: {dtype: "datetime64[us]", nullable: true}
  nomeCompleto: {dtype: str, nullable: false, title: Nome completo}
  comissao: {dtype: Float64, nullable: true}
"""
OLD_HEADER = ["nome", "fax", "cod", "desde", "Minha nota"]


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "vendedor.yaml").write_text(NOW, encoding="utf-8")
    return load_catalogue(folder)


@pytest.fixture
def seller(catalogue: Catalogue) -> Resource:
    return catalogue["vendedor"]


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A workbook as layout 1 had it, with an analyst's work in it."""
    path = tmp_path / "antigo.xlsx"
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "vendedor"
    sheet.append(["Vendedores de 2025"])
    sheet.append(OLD_HEADER)
    sheet.append(["Ana", "3333-1", "0001", date(2026, 1, 31), "conferir"])
    sheet.append([None, None, None, None, None])
    sheet.append(["Rui", None, "0002", "01/02/2026", "=1+1"])
    sheet["A3"].fill = PatternFill("solid", fgColor="FFFF00")
    sheet["C5"].font = Font(bold=True, color="FF0000")
    sheet["C3"].comment = Comment("veio do RH", "Ana")
    book.create_sheet("Rascunho")
    book.custom_doc_props.append(
        openpyxl.packaging.custom.StringProperty(TEMPLATE_PROPERTY, "vendedor:1:abcdefabcdef")
    )
    book.save(path)
    return path


def outdated(path: Path, catalogue: Catalogue) -> list[Finding]:
    validated = validate_workbook(path, catalogue)
    return [f for f in validated.findings if f.kind.code == "template-outdated"]


def moved(tmp_path: Path, old: Path, seller: Resource) -> tuple[Migration, openpyxl.Workbook]:
    target = tmp_path / "novo.xlsx"
    done = migrate(old, target, seller, WorkbookLimits())
    return done, openpyxl.load_workbook(target)


def test_older_template_is_reported_with_its_changes(old: Path, catalogue: Catalogue) -> None:
    [finding] = outdated(old, catalogue)
    assert finding.kind.severity is Severity.WARNING
    assert finding.row == 2
    message = str(finding.message)
    assert "layout 1; the current one is 3" in message
    changes = {
        "cod is now codigo",
        "nome is now nomeCompleto",
        "fax no longer exists",
        "comissao is new",
    }
    assert all(change in message for change in changes)
    assert "--migrate" in str(finding.hint)


def test_current_template_has_no_finding(
    tmp_path: Path, catalogue: Catalogue, seller: Resource
) -> None:
    path = tmp_path / "novo.xlsx"
    with template_sheets(path, seller) as (_, sheets):
        sheet = sheets[seller.sheet]
        sheet.write_row(1, 0, ["0001", "Ana"])
    assert validate_workbook(path, catalogue).findings == []


def test_layout_change_without_a_new_number_is_detected(
    tmp_path: Path, catalogue: Catalogue, seller: Resource
) -> None:
    path = tmp_path / "novo.xlsx"
    fewer = dataclasses.replace(seller, columns=seller.columns[:3])
    with template_sheets(path, fewer) as (_, sheets):
        sheet = sheets[fewer.sheet]
        sheet.write_row(1, 0, ["0001", "Ana"])
    [finding] = outdated(path, catalogue)
    assert "comissao is new" in str(finding.message)


def test_changed_rules_do_not_outdate_templates(seller: Resource) -> None:
    column = dataclasses.replace(seller.columns[0], checks={"digits": {"width": 5}})
    assert dataclasses.replace(seller, columns=(column, *seller.columns[1:])).fingerprint == (
        seller.fingerprint
    )


def test_a_copy_gets_the_current_header_and_keeps_the_rest(
    tmp_path: Path, old: Path, seller: Resource
) -> None:
    before = old.read_bytes()
    done, book = moved(tmp_path, old, seller)
    lines = rows_of(book["vendedor"])
    header = ["nomeCompleto *", "fax", "codigo *", "desde", "Minha nota", "comissao"]
    assert list(lines[1]) == header
    assert lines[2][3].date() == date(2026, 1, 31)
    assert (*lines[2][:3], *lines[2][4:]) == ("Ana", "3333-1", "0001", "conferir", None)
    assert lines[4] == ("Rui", None, "0002", "01/02/2026", "=1+1", None)
    assert book.sheetnames == ["vendedor", "Rascunho"]
    sheet = book["vendedor"]
    assert sheet["A3"].fill.fgColor.rgb[2:] == "FFFF00"
    assert sheet["C5"].font.bold
    assert sheet["C3"].comment.text == "veio do RH"
    assert book.custom_doc_props[TEMPLATE_PROPERTY].value == seller.fingerprint
    assert old.read_bytes() == before
    assert done == Migration(
        rows=2,
        renamed={"nome": "nomeCompleto", "cod": "codigo"},
        new=["comissao"],
        removed={"fax": 1},
    )


@pytest.mark.parametrize("headers", ["titles", "names"])
def test_titles_of_an_earlier_layout_are_known_by_their_notes(
    tmp_path: Path, catalogue: Catalogue, seller: Resource, headers: Headers
) -> None:
    code, since, name, _ = seller.columns
    fax = dataclasses.replace(since, name="fax", title=untranslated("Número de fax"))
    earlier = dataclasses.replace(
        seller,
        layout=1,
        columns=(
            dataclasses.replace(code, name="cod", title=untranslated("Matrícula")),
            dataclasses.replace(name, name="nome", title=untranslated("Quem é")),
            since,
            fax,
        ),
    )
    path = tmp_path / "antigo.xlsx"
    with template_sheets(path, earlier) as (_, sheets):
        rows = dict(zip(("cod", "nome", "fax"), ("0001", "Ana", "3333-1"), strict=True))
        for index, column in enumerate(earlier.sheet_columns):
            sheets[seller.sheet].write(1, index, rows.get(column.name))
    done = migrate(path, tmp_path / "novo.xlsx", seller, WorkbookLimits(), headers=headers)
    assert done.renamed == {"Matrícula *": "codigo", "Quem é *": "nomeCompleto"}
    assert (done.new, done.removed) == (["comissao"], {"Número de fax": 1})
    validated = validate_workbook(tmp_path / "novo.xlsx", catalogue)
    assert [finding.kind.code for finding in validated.findings] == ["column-unknown"]
    assert list(validated.frame["nomeCompleto"]) == ["Ana"]
    header = [cell.value for cell in openpyxl.load_workbook(tmp_path / "novo.xlsx")["vendedor"][1]]
    assert ("nomeCompleto" in header) == (headers == "names")


def test_all_headers_become_names_on_request(tmp_path: Path, xlbridge: Xlbridge) -> None:
    old, new = tmp_path / "old.xlsx", tmp_path / "new.xlsx"
    xlbridge("template", "cliente", "-o", old)
    done = xlbridge("template", "cliente", "--migrate", old, "--headers", "names", "-o", new)
    assert done.returncode == 0, done.stderr
    names = [column.name for column in load_catalogue()["cliente"].sheet_columns]
    assert [cell.value for cell in openpyxl.load_workbook(new)["cliente"][1]] == names


def test_headers_of_a_table_follow_in_its_formulas(
    tmp_path: Path, catalogue: Catalogue, seller: Resource
) -> None:
    path = tmp_path / "antigo.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.add_table(
            0, 0, 2, 1, {"name": "lista", "columns": [{"header": "nome"}, {"header": "cod"}]}
        )
        sheet.write_row(1, 0, ["Ana", "0001"])
        sheet.write_row(2, 0, ["Rui", "0002"])
        book.add_worksheet("Contas").write_formula(0, 0, "=COUNTA(lista[cod])", None, 2)
    _, moved_book = moved(tmp_path, path, seller)
    sheet = moved_book.worksheets[0]
    assert sheet.tables["lista"].column_names == [sheet["A1"].value, sheet["B1"].value]
    assert sheet["B1"].value == "codigo *"
    assert moved_book["Contas"]["A1"].value == "=COUNTA(lista[[codigo *]])"
    assert list(validate_workbook(tmp_path / "novo.xlsx", catalogue).frame["codigo"]) == [
        "0001",
        "0002",
    ]


def test_migrated_workbook_passes_validation(
    tmp_path: Path, old: Path, catalogue: Catalogue, seller: Resource
) -> None:
    book = openpyxl.load_workbook(old)
    book["vendedor"]["D5"], book["vendedor"]["E5"] = date(2026, 2, 1), None
    book.save(old)
    moved(tmp_path, old, seller)
    validated = validate_workbook(tmp_path / "novo.xlsx", catalogue)
    assert [(f.kind.code, f.cell) for f in validated.findings] == [
        ("column-unknown", "B2"),
        ("column-unknown", "E2"),
    ]


def test_repeated_column_is_refused(tmp_path: Path, old: Path, seller: Resource) -> None:
    book = openpyxl.load_workbook(old)
    book["vendedor"]["F2"] = "cod"
    book.save(old)
    with pytest.raises(UsageError, match="more than once"):
        migrate(old, tmp_path / "novo.xlsx", seller, WorkbookLimits())
    assert not (tmp_path / "novo.xlsx").exists()


def test_command_reports_what_happened_to_each_column(
    tmp_path: Path, old: Path, catalogue: Catalogue, capsys: pytest.CaptureFixture[str]
) -> None:
    del catalogue
    target = tmp_path / "novo.xlsx"
    schemas = ["--schemas", str(tmp_path / "schemas")]
    command = ["template", "vendedor", "--migrate", str(old), "-o", str(target), *schemas]
    assert main(command) == 0
    text = capsys.readouterr().err
    for words in ("Rows: 2", "cod → codigo", "fax (filled cells: 1)", "comissao"):
        assert words in text
    assert main(command) == 2
    assert main([*command[:4], str(old), "-o", str(old), "--force", *schemas]) == 2
    assert "XLBRIDGE_SCHEMAS" not in os.environ


def test_a_workbook_without_the_columns_is_refused(tmp_path: Path, seller: Resource) -> None:
    path = tmp_path / "outro.xlsx"
    with xlsxwriter.Workbook(path) as book:
        book.add_worksheet().write_row(0, 0, ["a", "b"])
    with pytest.raises(UsageError, match="no row with the column names"):
        migrate(path, tmp_path / "novo.xlsx", seller, WorkbookLimits())


def test_a_current_workbook_keeps_its_cells(tmp_path: Path, xlbridge: Xlbridge) -> None:
    old, new = tmp_path / "old.xlsx", tmp_path / "new.xlsx"
    xlbridge("template", "contasreceber", "-o", old)
    book = openpyxl.load_workbook(old)
    book["contasreceber"].append([1, 1001])
    book["rateio"].append(["A-1", 1])
    book.save(old)
    moved = xlbridge("template", "contasreceber", "--migrate", old, "-o", new)
    assert moved.stderr.splitlines() == [
        f"Copy written to {new}. Rows: 1. The old workbook is unchanged.",
        "Check it: xlbridge validate new.xlsx",
    ]
    copied = openpyxl.load_workbook(new)
    for sheet in ("contasreceber", "rateio"):
        assert rows_of(copied[sheet]) == rows_of(book[sheet])


def test_shifted_rows_of_a_csv_are_not_moved(tmp_path: Path, xlbridge: Xlbridge) -> None:
    """In the new workbook nothing would tell that 100,03 became two values."""
    old = tmp_path / "old.csv"
    old.write_text(
        "codigoDaFilial,historico,valorDoLancamento,codigoDaFormaDePagamento\n"
        "1,Aluguel,100.50,4\n1,Aluguel,100,03,\n",
        "utf-8",
    )
    moved = xlbridge("template", "contasreceber", "--migrate", old, "-o", "new.xlsx")
    assert moved.returncode == 2
    assert "(row 3)" in moved.stderr
    assert not (tmp_path / "new.xlsx").exists()


def test_a_csv_that_was_cut_off_is_not_moved(tmp_path: Path, xlbridge: Xlbridge) -> None:
    """In the new workbook the last row would look like any other."""
    old = tmp_path / "old.csv"
    header = "codigoDaFilial;historico;valorDoLancamento\n"
    old.write_text(f"{header}1;Aluguel;100,50\n1;Alug", "utf-8")
    moved = xlbridge("template", "contasreceber", "--migrate", old, "-o", "new.xlsx")
    assert (moved.returncode, "row 3" in moved.stderr) == (2, True)
    assert not (tmp_path / "new.xlsx").exists()
    old.write_text(f"{header}1;Aluguel;100,50\n1;Aluguel;99,10", "utf-8")
    moved = xlbridge("template", "contasreceber", "--migrate", old, "-o", "new.xlsx")
    assert moved.returncode == 0, moved.stderr
