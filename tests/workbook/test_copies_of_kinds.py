"""Annotated and fixed copies of files of other kinds are .xlsx workbooks."""

from pathlib import Path

import openpyxl
import pytest
from hostile_kinds import FILES
from xlsb_writer import write_xlsb

import xlbridge
from xlbridge.cli.main import main
from xlbridge.errors import WorkbookRefused
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import read_workbook

HEADER = ("nomeComercial", "natureza", "cnpj")


@pytest.mark.parametrize("kind", ["csv", "xls", "xlsb", "ods"])
def test_the_annotated_copy_is_a_workbook(kind: str, tmp_path: Path) -> None:
    path, copy = tmp_path / f"clientes.{kind}", tmp_path / "marcada.xlsx"
    content = FILES[f"good {kind}"][2](tmp_path)
    path.write_bytes(content)
    assert main(["validate", str(path), "--annotate", str(copy)]) == 0
    book = openpyxl.load_workbook(copy)
    assert [cell.value for cell in book.worksheets[0][1]] == list(HEADER)
    assert book.sheetnames[-1] == "xlbridge"
    assert {sheet.page_setup.orientation for sheet in book} == {"landscape"}
    assert path.read_bytes() == content
    assert main(["validate", str(path), "--annotate", str(tmp_path / f"m.{kind}")]) == 2


def test_values_and_formats_are_copied(tmp_path: Path) -> None:
    source = tmp_path / "a.xlsx"
    book = openpyxl.Workbook()
    book.active.append([*HEADER, "nota"])
    book.active.append(["São", True, 0.125, "#N/A"])
    book.active["C2"].number_format = "0.0%"
    book.active.row_dimensions[2].hidden = True
    book.save(source)
    path, copy = write_xlsb(source, tmp_path / "a.xlsb"), tmp_path / "m.xlsx"
    assert main(["validate", str(path), "--resource", "cliente", "--annotate", str(copy)]) == 1
    sheet = openpyxl.load_workbook(copy).worksheets[0]
    assert [cell.value for cell in sheet[2]] == ["São", True, 0.125, "#N/A"]
    assert sheet["C2"].number_format == "0.0%"
    assert sheet.row_dimensions[2].hidden


@pytest.mark.parametrize("text", ["<r><t>x</t></r>", "<r>&</r>", "_x0041_x0042_"])
def test_text_like_markup_stays_text(text: str, tmp_path: Path) -> None:
    path, copy = tmp_path / "clientes.csv", tmp_path / "marcada.xlsx"
    path.write_text(f"{';'.join(HEADER)}\n{text};J;11.222.333/0001-81\n", encoding="utf-8")
    assert main(["validate", str(path), "--annotate", str(copy)]) == 0
    assert xlbridge.validate(copy).ok
    assert next(iter(read_workbook(copy, WorkbookLimits()).sheets)).row(1)[0] == text


def test_numbers_and_dates_of_a_csv_are_fixed(tmp_path: Path) -> None:
    path, fixed = tmp_path / "contas.csv", tmp_path / "certa.xlsx"
    names = list(_TITLE)
    path.write_text(";".join(names) + "\n" + ";".join(_TITLE.values()) + "\n", encoding="cp1252")
    assert main(["validate", str(path), "--fix", str(fixed)]) == 0
    row = [cell.value for cell in openpyxl.load_workbook(fixed)["contas"][2]]
    assert row[names.index("valorDoLancamento")] == 1234.5
    assert row[names.index("dataDeVencimento")].isoformat() == "2026-10-31T00:00:00"
    assert row[names.index("codigoDoCentroDeCusto")] == "01.001"
    assert main(["validate", str(fixed)]) == 0


_TITLE = {
    "codigoDaFilial": "1",
    "codigoDoCliente": "1001",
    "codigoDoItemDeLancamento": "1.01.001",
    "codigoDoCentroDeCusto": "01.001",
    "codigoDaContaCorrente": "1",
    "historico": "Mensalidade de março",
    "dataDeEmissao": "17/10/2026",
    "dataDeVencimento": "31/10/2026",
    "valorDoLancamento": "1.234,50",
}


def test_python_can_set_encoding_and_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "clientes.csv"
    row = ("Padaria São João", "J", "11.222.333/0001-81")
    path.write_text(f"{';'.join(HEADER)}\n{';'.join(row)}\n", encoding="cp850")
    with pytest.raises(WorkbookRefused):
        xlbridge.validate(path)
    report = xlbridge.validate(path, encoding="cp850", delimiter=";")
    assert report.ok
    report.to_excel(tmp_path / "marcada.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "marcada.xlsx")["clientes"]
    assert sheet["A2"].value == "Padaria São João"
