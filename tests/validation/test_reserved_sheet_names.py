"""Sheets that xlbridge adds are skipped; data sheets with the same names are read."""

from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from openpyxl.packaging.custom import CustomPropertyList
from sampling import across
from sheets import (
    GOOD,
    INSTRUCTIONS_SHEET,
    INSTRUCTIONS_SHEET_PT,
    LISTS_SHEET,
    SUMMARY_SHEET,
    header_of,
    write_page,
    write_records,
    write_rows,
)

from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.validation import ValidationRequest, validate_sheets, validate_workbook
from xlbridge.validation.report import Report
from xlbridge.validation.report_formats import report_forms
from xlbridge.workbook import COVER_SHEET
from xlbridge.workbook.write import write_template

LIMITS = WorkbookLimits()
NAMES = [
    COVER_SHEET.pt,
    COVER_SHEET.en,
    INSTRUCTIONS_SHEET_PT,
    INSTRUCTIONS_SHEET,
    LISTS_SHEET,
    SUMMARY_SHEET,
]
CLIENT = GOOD["cliente"]


def all_of(path: Path) -> ValidationRequest:
    return ValidationRequest(file=path, all_sheets=True)


@pytest.mark.parametrize("name", NAMES)
def test_data_sheet_with_a_reserved_name_is_read(
    tmp_path: Path, catalogue: Catalogue, name: str
) -> None:
    path = write_rows(tmp_path / "a.xlsx", list(CLIENT), [list(CLIENT.values())], sheet=name)
    for sheet in (
        validate_workbook(path, catalogue),
        *validate_sheets(all_of(path), catalogue, LIMITS).sheets,
    ):
        assert (sheet.sheet, list(sheet.rows), sheet.findings) == (name, [2], [])


@pytest.mark.parametrize(("resource", "marked"), across(list(GOOD), [True, False]))
def test_template_sheets_are_skipped_with_or_without_their_mark(
    tmp_path: Path, catalogue: Catalogue, resource: str, marked: bool
) -> None:
    path = tmp_path / "modelo.xlsx"
    write_template(path, catalogue[resource])
    book = openpyxl.load_workbook(path)
    book[resource].append([GOOD[resource].get(name) for name in header_of(book[resource])])
    if marked:
        book[INSTRUCTIONS_SHEET]["A1"] = "Notas"
    else:
        book.custom_doc_props = CustomPropertyList()
    book.save(path)
    sheet = validate_workbook(path, catalogue)
    assert (sheet.sheet, list(sheet.rows), sheet.findings) == (resource, [2], [])
    validated = validate_sheets(all_of(path), catalogue, LIMITS)
    assert ([one.sheet for one in validated.sheets], validated.skipped) == ([resource], [])


def test_data_in_a_lists_sheet_of_a_template_workbook_is_read(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    path = tmp_path / "modelo.xlsx"
    resource = "enderecamento-de-produto"
    write_template(path, catalogue[resource])
    book = openpyxl.load_workbook(path)
    assert LISTS_SHEET not in book.sheetnames
    del book[resource]
    page = book.create_sheet(LISTS_SHEET)
    page.append(list(GOOD[resource]))
    page.append(list(GOOD[resource].values()))
    book.save(path)
    for sheet in (
        validate_workbook(path, catalogue),
        *validate_sheets(all_of(path), catalogue, LIMITS).sheets,
    ):
        assert (sheet.sheet, list(sheet.rows), sheet.findings) == (LISTS_SHEET, [2], [])


@pytest.mark.parametrize("renamed", [True, False])
def test_findings_sheet_is_skipped_by_its_defined_name_or_title(
    tmp_path: Path, catalogue: Catalogue, renamed: bool
) -> None:
    path = write_records(tmp_path / "a.xlsx", "cliente", [{}])
    copy = tmp_path / "b.xlsx"
    report_forms(Report([validate_workbook(path, catalogue)])).workbook(copy)
    book = openpyxl.load_workbook(copy)
    if renamed:
        book[SUMMARY_SHEET].title = "Achados"
        for name in book["Achados"].defined_names.values():
            name.attr_text = name.attr_text.replace(SUMMARY_SHEET, "Achados")
    else:
        book[SUMMARY_SHEET].defined_names.clear()
    book.save(copy)
    validated = validate_sheets(all_of(copy), catalogue, LIMITS)
    assert (len(validated.sheets), validated.skipped) == (1, [])


def test_export_cover_is_recognised_by_its_title(tmp_path: Path, catalogue: Catalogue) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        write_page(book, COVER_SHEET.pt, ["Exportação: Clientes"], [["cliente"]])
        write_page(book, "Dados", list(CLIENT), [list(CLIENT.values())])
    validated = validate_sheets(all_of(path), catalogue, LIMITS)
    assert ([sheet.sheet for sheet in validated.sheets], validated.skipped) == (["Dados"], [])
