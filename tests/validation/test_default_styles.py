"""Cells without a style of their own are displayed by the default one, and checked by it."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import xlsxwriter
from open_document import date_cell, number_cell, text_cell, write_ods
from packing import MAIN, SHEET, packed, unpacked
from sheets import GOOD

from xlbridge.resources import Catalogue
from xlbridge.validation import validate_workbook

_RECORD = GOOD["contasreceber"]
_NAMES = list(_RECORD)
_AMOUNT = "valorDoLancamento"
_STYLES = "xl/styles.xml"

XLSX = {
    "a percentage": (9, "<font/>", ["number-percent"]),
    "thousands": ("#,##0,", "<font/>", ["number-scaled"]),
    "words": ('"a combinar"', "<font/>", ["number-shown-otherwise"]),
    "another currency": ("[$US$-409] #,##0.00", "<font/>", ["number-currency"]),
    "two decimals": (2, "<font/>", []),
    "struck through": (0, "<font><strike/></font>", ["row-struck"]),
}
"""Default number format and font, and the findings of the amounts."""


def _xlsx(path: Path, form: int | str, font: str, count: int) -> Path:
    """Write records whose cells have no style, apart from dates, in a workbook with a default."""
    with xlsxwriter.Workbook(path) as book:
        page, day = book.add_worksheet("Plan1"), book.add_format({"num_format": "dd/mm/yyyy"})
        plain = book.add_format({"num_format": "0"})
        for column, name in enumerate(_NAMES):
            page.write(0, column, name)
            for row in range(1, count + 1):
                form_of = day if name.startswith("data") else None if name == _AMOUNT else plain
                page.write(row, column, _RECORD[name], form_of)
    parts = unpacked(path)
    number, own = (form, "") if isinstance(form, int) else (190, form.replace('"', "&quot;"))
    parts[_STYLES] = (
        f'<styleSheet xmlns="{MAIN}"><numFmts>'
        f'<numFmt numFmtId="190" formatCode="{own or "0"}"/></numFmts>'
        f"<fonts>{font}<font/></fonts>"
        f'<cellXfs><xf numFmtId="{number}" fontId="0"/>'
        f'<xf numFmtId="1" fontId="1"/><xf numFmtId="14" fontId="1"/></cellXfs></styleSheet>'
    ).encode()
    assert b' s="' in parts[SHEET]
    path.write_bytes(packed(parts))
    return path


@pytest.mark.parametrize("count", [2, 900], ids=["small", "large"])
@pytest.mark.parametrize("name", XLSX)
def test_default_style_of_a_workbook(
    name: str, count: int, tmp_path: Path, catalogue: Catalogue
) -> None:
    form, font, codes = XLSX[name]
    sheet = validate_workbook(_xlsx(tmp_path / "a.xlsx", form, font, count), catalogue)
    found = sorted({finding.kind.code for finding in sheet.findings})
    expected = codes if name != "struck through" else ["cell-struck"]
    assert found == expected
    assert sum(finding.cells for finding in sheet.findings) == count * len(codes)


_PERCENTAGE = (
    '<number:percentage-style style:name="N"><number:number number:decimal-places="0"/>'
    "<number:text>%</number:text></number:percentage-style>"
)
_OF_CELLS = 'style:family="table-cell" style:data-style-name="N"'
_VALUE = 'office:value="10.5"><text:p>x</text:p></table:table-cell>'
_CHILD = '<style:style style:name="c" style:family="table-cell" style:parent-style-name="p"/>'
ODS: dict[str, tuple[str, str, str, Sequence[str]]] = {
    "the style named Default": (
        f'<style:style style:name="Default" {_OF_CELLS}/>', "", "", ["number-percent"]
    ),
    "the default style of cells": (
        f"<style:default-style {_OF_CELLS}/>", "", "", ["number-percent"]
    ),
    "the style of the row": (
        f'<style:style style:name="c" {_OF_CELLS}/>',
        ' table:default-cell-style-name="c"', "", ["number-percent"],
    ),
    "a parent": (
        f'<style:style style:name="p" {_OF_CELLS}/>{_CHILD}',
        ' table:default-cell-style-name="c"', "", ["number-percent"],
    ),
    "a percentage without a format": (
        "", "", f'<table:table-cell office:value-type="percentage" {_VALUE}', ["number-percent"]
    ),
    "dollars without a format": (
        "", "",
        f'<table:table-cell office:value-type="currency" office:currency="USD" {_VALUE}',
        ["number-currency"],
    ),
    "reais without a format": (
        "", "", f'<table:table-cell office:value-type="currency" office:currency="BRL" {_VALUE}', []
    ),
    "an amount of no currency": (
        "", "", f'<table:table-cell office:value-type="currency" {_VALUE}', []
    ),
}  # fmt: skip
"""Styles, attributes of rows, the cell of the amount, and the findings of the amounts."""


@pytest.mark.parametrize("name", ODS)
def test_default_style_of_a_document(name: str, tmp_path: Path, catalogue: Catalogue) -> None:
    styles, row, amount, codes = ODS[name]
    cells = [
        date_cell(value.isoformat())
        if column.startswith("data")
        else (amount or number_cell(10.5))
        if column == _AMOUNT
        else text_cell(str(value))
        for column, value in _RECORD.items()
    ]
    path = write_ods(tmp_path / "a.ods", [map(text_cell, _NAMES), cells], _PERCENTAGE + styles)
    if row:
        parts = unpacked(path)
        content = parts["content.xml"].replace(
            b"<table:table-row>", f"<table:table-row{row}>".encode()
        )
        path.write_bytes(packed({**parts, "content.xml": content}))
    sheet = validate_workbook(path, catalogue)
    found = [finding.kind.code for finding in sheet.findings if finding.column == _AMOUNT]
    assert found == codes
