"""Typed rows in workbooks are read back as they were written."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from python_calamine import CalamineWorkbook
from sheets import ERROR_FILL, INSTRUCTIONS_SHEET, TEMPLATE_PROPERTY, header_of

from xlbridge.i18n import untranslated
from xlbridge.report_forms import Report
from xlbridge.resources import Resource, load_catalogue
from xlbridge.workbook import REJECTS_COLUMNS, WorkbookOrigin
from xlbridge.workbook.write import RejectedRows, records_workbook

CATALOGUE = load_catalogue()
RECEIVABLE = CATALOGUE["contasreceber"]
ORIGIN = WorkbookOrigin(
    job="20261101-101010-abcd", system="http://erp#1", resource="contasreceber", language="pt-BR"
)
SUMMARY = Report(verdict=untranslated("ruim"))
ROW: dict[str, Any] = {
    "codigoDaFilial": 1,
    "codigoDoCliente": 1001,
    "codigoDoItemDeLancamento": "1.01.001",
    "codigoDoCentroDeCusto": "01.001",
    "codigoDaContaCorrente": 1,
    "historico": "Mensalidade de outubro",
}


def frame_of(resource: Resource, *rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            column.name: pd.Series([row.get(column.name) for row in rows], dtype=column.dtype)
            for column in resource.columns
        }
    )


def write_and_read(path: Path, resource: Resource, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    path.write_bytes(records_workbook(resource, frame_of(resource, *rows)))
    lines = list(openpyxl.load_workbook(path)[resource.name].iter_rows(values_only=True))
    return [dict(zip(map(str, lines[0]), line, strict=True)) for line in lines[1:]]


@pytest.mark.parametrize(
    ("resource", "column", "value"),
    [
        ("contasreceber", "codigoDoCentroDeCusto", "001.01"),
        ("contasreceber", "numeroDoDocumento", "0000123"),
        ("contasreceber", "historico", "=1+1"),
        ("contasreceber", "historico", "@SOMA(A1)"),
        ("contasreceber", "historico", "http://exemplo.com.br/boleto"),
        ("contasreceber", "historico", "<r><t>texto</t></r>"),
        ("contasreceber", "historico", "  ação < pão & 'água' \n “quente” "),
        ("contasreceber", "historico", "x" * 32_767),
        ("contasreceber", "valorDoLancamento", 1234.56),
        ("contasreceber", "valorDoLancamento", 0.07),
        ("contasreceber", "valorDoLancamento", 99999999999.99),
        ("contasreceber", "dataDeVencimento", datetime(2026, 10, 31)),
        ("contasreceber", "dataDeVencimento", datetime(2026, 10, 31, 13, 45)),
        ("contasreceber", "dataDeVencimento", datetime(1900, 3, 1)),
        ("contasreceber", "dataDeVencimento", datetime(1900, 2, 28)),
        ("contasreceber", "dataDeVencimento", datetime(2096, 2, 29)),
        ("nota-fiscal-servico", "aliquotaISSRetido", 2.3456),
        ("enderecamento-de-produto", "ativo", True),
        ("enderecamento-de-produto", "ativo", False),
        ("cliente", "cnpj", "12ABC34501DE35"),
    ],
)
def test_a_value_is_read_back_unchanged(
    tmp_path: Path, resource: str, column: str, value: object
) -> None:
    [row] = write_and_read(tmp_path / "w.xlsx", CATALOGUE[resource], {column: value})
    assert row[column] == value
    assert type(row[column]) is type(value)


def test_no_text_becomes_a_formula(tmp_path: Path) -> None:
    path = tmp_path / "w.xlsx"
    path.write_bytes(
        records_workbook(RECEIVABLE, frame_of(RECEIVABLE, {**ROW, "historico": "=HYPERLINK(1)"}))
    )
    cells = [cell for row in openpyxl.load_workbook(path).active.iter_rows() for cell in row]
    assert all(cell.data_type != "f" for cell in cells)


@pytest.mark.parametrize(
    "text", ["a _x0041_ b", "_x0041_x0042_", "_x0041\rb", "_x0041\x01", "<r>_x0041_</r>"]
)
def test_text_that_looks_like_an_escape_survives(tmp_path: Path, text: str) -> None:
    path = tmp_path / "w.xlsx"
    path.write_bytes(records_workbook(RECEIVABLE, frame_of(RECEIVABLE, {**ROW, "historico": text})))
    rows = CalamineWorkbook.from_path(str(path)).get_sheet_by_name("contasreceber").to_python()
    assert rows[1][5] == text


def test_money_is_rounded_to_the_cent(tmp_path: Path) -> None:
    [row] = write_and_read(tmp_path / "w.xlsx", RECEIVABLE, {"valorDoLancamento": 0.1 + 0.2})
    assert row["valorDoLancamento"] == 0.3


def test_empty_optional_columns_are_not_write_and_read(tmp_path: Path) -> None:
    path = tmp_path / "w.xlsx"
    first, second = write_and_read(path, RECEIVABLE, {**ROW, "numeroDoDocumento": "NF-1"}, ROW)
    assert list(first) == [*RECEIVABLE.required, "numeroDoDocumento"]
    assert second["numeroDoDocumento"] is None
    assert openpyxl.load_workbook(path).sheetnames == ["contasreceber"]


def test_empty_required_columns_are_write_and_read(tmp_path: Path) -> None:
    path = tmp_path / "w.xlsx"
    path.write_bytes(records_workbook(RECEIVABLE, frame_of(RECEIVABLE)))
    [header] = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    assert header == RECEIVABLE.required


def test_the_same_rows_give_the_same_bytes() -> None:
    frame = frame_of(RECEIVABLE, ROW, {**ROW, "dataDeEmissao": datetime(2026, 1, 2)})
    assert records_workbook(RECEIVABLE, frame) == records_workbook(RECEIVABLE, frame)


def test_a_text_too_long_for_excel_is_an_error() -> None:
    frame = frame_of(RECEIVABLE, {**ROW, "historico": "x" * 32_768})
    with pytest.raises(ValueError, match="row 2, column 6"):
        records_workbook(RECEIVABLE, frame)


def test_rejects_have_the_template_layout_and_the_reasons(tmp_path: Path) -> None:
    path = tmp_path / "rejects.xlsx"
    frame = frame_of(RECEIVABLE, ROW, {**ROW, "codigoDoCliente": 1002})
    reasons = [("Cliente inativo.", "Corrija."), ("=mau", "")]
    RejectedRows(RECEIVABLE, frame, reasons).write(path, [17, 400], ORIGIN, SUMMARY)
    assert WorkbookOrigin.of(path) == replace(ORIGIN, template=RECEIVABLE.fingerprint)
    book = openpyxl.load_workbook(path)
    sheet = book[RECEIVABLE.name]
    lines = list(sheet.iter_rows(values_only=True))
    added = [column.en for column in REJECTS_COLUMNS]
    assert header_of(sheet) == [*added, *(column.name for column in RECEIVABLE.sheet_columns)]
    assert [line[:3] for line in lines[1:]] == [(17, *reasons[0]), (400, "=mau", None)]
    assert [line[4] for line in lines[1:]] == [1001, 1002]
    assert (sheet["A2"].data_type, sheet["B3"].data_type) == ("n", "s")
    assert (sheet["G2"].number_format, sheet["B3"].number_format) == ("@", "@")
    # Texts keep apart from the numbers on their left.
    beside = [sheet[cell].alignment for cell in ("B2", "C2", "F2", "G2", "I2")]
    assert {(one.horizontal, one.indent) for one in beside} == {("left", 1)}
    assert book.worksheets[0]["A1"].value == f"Summary of the upload {ORIGIN.job}"
    assert len(sheet.data_validations.dataValidation) == len(RECEIVABLE.columns)
    assert INSTRUCTIONS_SHEET in book.sheetnames
    assert book.custom_doc_props[TEMPLATE_PROPERTY].value == RECEIVABLE.fingerprint


def test_rejects_need_a_number_and_a_reason_for_each_row(tmp_path: Path) -> None:
    rows = RejectedRows(RECEIVABLE, frame_of(RECEIVABLE, ROW), [("x", "")])
    with pytest.raises(ValueError, match="1 rows, 2 numbers, 1 reasons"):
        rows.write(tmp_path / "r.xlsx", [1, 2], ORIGIN, SUMMARY)


def test_text_like_a_formula_in_rejects_stays_text_when_edited(tmp_path: Path) -> None:
    path, frame = tmp_path / "rejects.xlsx", frame_of(RECEIVABLE, ROW, ROW)
    original = {0: {"dataDeVencimento": "=HOJE()"}, 1: {"dataDeVencimento": "amanhã"}}
    reasons = [("x", ""), ("y", "")]
    RejectedRows(RECEIVABLE, frame, reasons, original).write(path, [2, 3], ORIGIN, SUMMARY)
    sheet = openpyxl.load_workbook(path)[RECEIVABLE.name]
    index = header_of(sheet).index("dataDeVencimento") + 1
    formula, words = sheet.cell(2, index), sheet.cell(3, index)
    assert (formula.value, formula.data_type, formula.quotePrefix) == ("=HOJE()", "s", True)
    assert (words.value, bool(words.quotePrefix)) == ("amanhã", False)


def test_rejected_cells_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "r.xlsx"
    frame = frame_of(RECEIVABLE, ROW, {**ROW, "historico": None})
    wrong = {0: {"codigoDoCliente"}, 1: {"historico"}}
    reasons = [("não existe", "Corrija."), ("falta", "")]
    RejectedRows(RECEIVABLE, frame, reasons, {}, wrong).write(path, [2, 3], ORIGIN, SUMMARY)
    sheet = openpyxl.load_workbook(path)["contasreceber"]
    columns = {name: n for n, name in enumerate(header_of(sheet), start=1)}
    client = sheet.cell(2, columns["codigoDoCliente"])
    history = sheet.cell(3, columns["historico"])
    assert (client.value, client.comment.text) == (1001, "não existe\nCorrija.")
    assert (history.value, history.comment.text) == (None, "falta")
    filled = {
        cell.coordinate
        for row in sheet.iter_rows(min_row=2)
        for cell in row
        if str(cell.fill.fgColor.rgb).endswith(ERROR_FILL)
    }
    assert filled == {client.coordinate, history.coordinate}


def test_rejects_print_up_to_the_last_filled_or_required_column(tmp_path: Path) -> None:
    path = tmp_path / "rejects.xlsx"
    names = [column.name for column in RECEIVABLE.sheet_columns]
    for filled in ({}, {"historico": "x"}, {names[-1]: "x"}):
        frame = frame_of(RECEIVABLE, {**ROW, **filled})
        RejectedRows(RECEIVABLE, frame, [("a", "b")]).write(path, [17], ORIGIN, SUMMARY)
        sheet = openpyxl.load_workbook(path)[RECEIVABLE.name]
        last = max(names.index(name) for name in (*ROW, *filled, *RECEIVABLE.required)) + 1
        area = f"A1:{sheet.cell(2, last + len(REJECTS_COLUMNS)).coordinate}"
        is_whole = last == len(names)
        assert sheet.print_title_cols == "$A:$A"  # the row's number is on every page
        assert sheet.print_area.rpartition("!")[2].replace("$", "") == ("" if is_whole else area)
        columns = [sheet.cell(1, index + 1).column_letter for index in range(last)]
        assert not any(sheet.column_dimensions[letter].hidden for letter in columns)
