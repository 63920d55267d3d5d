"""Write the sample workbooks, and the expected findings next to each bad one.

Run from the project's folder, with LibreOffice on the path::

    .venv/bin/python samples/make_samples.py
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import openpyxl
import xlsxwriter
import yaml
from bad_cells import BAD_SHEETS
from bad_documents import BAD_SPLITS
from bad_sheet import BadSheet, CopyOf, ErrorCell, UncalculatedFormula
from good_rows import INACTIVE_CLIENT, MAKERS, Row, make_rows, rows_of_child, split_titles
from openpyxl.worksheet.properties import PageSetupProperties
from xlsxwriter.worksheet import Worksheet

from xlbridge.i18n import set_language
from xlbridge.resources import Column, Resource, load_catalogue
from xlbridge.resources.checks import CATALOGUE
from xlbridge.resources.findings import Severity
from xlbridge.workbook import cell_address
from xlbridge.workbook.write import cell_format, template_sheets

FOLDER = Path(__file__).parent
BAD_ROWS, MOST_ON_TWO_PAGES = 24, 32
SPLIT = ("contaspagar", "contasreceber")
SAVED_BY_LIBREOFFICE = ("cliente", "contasreceber")
WRITTEN_BY_OPENPYXL = "contaspagar"  # the only writer that leaves formulas without a result

Cells = Mapping[tuple[int, int], Any]
"""Contents by Excel's row number and zero-based column."""

_FORMULAS = {"#N/A": "=NA()", "#REF!": "=#REF!", "#VALUE!": '="a"+1', "#DIV/0!": "=1/0"}


def main() -> None:
    """Write all samples, or those of the given resources, into the folder of this script."""
    names = sys.argv[1:]
    set_language("pt-BR")
    for resource in load_catalogue().values():
        if names and resource.name not in names:
            continue
        _, count = MAKERS[resource.name]
        good = FOLDER / f"{resource.name}.xlsx"
        write_good(good, resource, make_rows(resource.name, count, f"{resource.name} good"))
        bad = FOLDER / f"{resource.name}-com-erros.xlsx"
        rows = make_rows(resource.name, BAD_ROWS, f"{resource.name} bad")
        write_bad(bad, resource, BAD_SHEETS[resource.name], rows)
        if resource.name in SAVED_BY_LIBREOFFICE:
            for path in (good, bad):
                save_with_libreoffice(path, path.with_name(f"{path.stem}-libreoffice.xlsx"))
            expected = bad.with_suffix(".expected.yaml").read_text(encoding="utf-8")
            again = FOLDER / f"{bad.stem}-libreoffice.expected.yaml"
            again.write_text(expected, encoding="utf-8")
        if resource.name in SPLIT:
            write_split(resource)
    if not names:
        write_rejected_by_the_server()


def write_split(resource: Resource) -> None:
    """Write titles with splits, and some with bad splits."""
    good = FOLDER / f"{resource.name}-com-rateio.xlsx"
    write_good(good, resource, split_titles(resource.name, 12, f"{resource.name} split"))
    bad = FOLDER / f"{resource.name}-com-rateio-com-erros.xlsx"
    rows = split_titles(resource.name, 12, f"{resource.name} split bad")
    write_bad(bad, resource, BAD_SPLITS[resource.name], rows)


def write_rejected_by_the_server() -> None:
    """Write receivables, one for a client that only the server knows to be inactive."""
    rows = make_rows("contasreceber", 12, "contasreceber inactive")
    rows[7]["codigoDoCliente"] = INACTIVE_CLIENT
    for number, row in enumerate(rows, start=1):
        row["numeroDoDocumento"] = f"NF-{20269000 + number}"
    path = FOLDER / "contasreceber-cliente-inativo.xlsx"
    write_good(path, load_catalogue()["contasreceber"], rows)


def write_good(path: Path, resource: Resource, rows: Sequence[Row]) -> None:
    """Fill in the resource's template."""
    with template_sheets(path, resource, headers="titles") as (book, sheets):
        for one in (resource, *resource.children):
            own = rows if one is resource else rows_of_child(rows, one.sheet)
            columns = [(column.name, cell_format(book, column)) for column in one.sheet_columns]
            for row, values in enumerate(own, start=1):
                for index, (name, form) in enumerate(columns):
                    write_typed(sheets[one.sheet], row, index, values.get(name), form)


def write_bad(path: Path, resource: Resource, bad: BadSheet, rows: Sequence[Row]) -> None:
    """Write a workbook as analysts keep them, and its expected findings next to it."""
    kept = [dict(row) for row in rows]
    cells = bad_cells(resource, bad, rows)
    children = [
        (child, bad.children[child.sheet])
        for child in resource.children
        if child.sheet in bad.children
    ]
    if resource.name == WRITTEN_BY_OPENPYXL and not children:
        write_with_openpyxl(path, bad, cells)
    else:
        below = [(b, bad_cells(c, b, rows_of_child(kept, c.sheet))) for c, b in children]
        write_with_xlsxwriter(path, [(bad, cells), *below])
    lines = [f"sheet: {bad.sheet}", f"header_row: {bad.header_row}", *expected_lines(resource, bad)]
    if children:
        lines.append("children:")
        for child, own in children:
            lines.append(f"  {child.sheet}:")
            lines += [f"    {line}" for line in expected_lines(child, own)]
    content = "\n".join(lines) + "\n"
    path.with_suffix(".expected.yaml").write_text(content, encoding="utf-8")


def expected_lines(resource: Resource, bad: BadSheet) -> list[str]:
    """Return the findings of a bad sheet as lines of YAML."""
    lines = ["findings:"]
    for finding in expectations(resource, bad):
        shown = yaml.safe_dump(finding, default_flow_style=True, sort_keys=False, width=200)
        lines.append(f"- {shown.strip()}")
    return lines


def bad_cells(resource: Resource, bad: BadSheet, rows: Sequence[Row]) -> Cells:
    """Return all cells of a bad sheet: title, header, good rows with damages applied."""
    headers = header_places(resource, bad)
    lists = {child.sheet for child in resource.children}
    for damage in bad.damages:
        content = damage.content
        if isinstance(content, CopyOf):
            content = rows[content.row - 1][damage.column]
        rows[damage.row - 1][damage.column] = content
    cells: dict[tuple[int, int], Any] = {}
    if bad.title:
        cells[1, bad.first_column] = bad.title
    for header, column in headers.items():
        cells[bad.header_row, column] = header
    for number, row in enumerate(rows, start=1):
        for name, value in row.items():
            if name in lists:
                continue
            place = headers[header_of(resource.by_name[name], bad)]
            cells[sheet_row(bad, number), place] = value
        for name in bad.added:
            cells[sheet_row(bad, number), headers[name]] = "ok" if number % 5 == 0 else None
    return cells


def header_places(resource: Resource, bad: BadSheet) -> dict[str, int]:
    """Return the headers of a bad sheet with their zero-based columns."""
    names = [header_of(column, bad) for column in resource.columns]
    return {name: bad.first_column + index for index, name in enumerate([*names, *bad.added])}


def header_of(column: Column, bad: BadSheet) -> str:
    return bad.renamed.get(column.name, str(column.title))


def sheet_row(bad: BadSheet, record: int) -> int:
    """Return Excel's row number of a record."""
    return bad.header_row + record + sum(first <= record for first in bad.blank_before)


def expectations(resource: Resource, bad: BadSheet) -> list[dict[str, object]]:
    """Return the findings of a bad sheet: those of the header, then by row and column."""
    headers = header_places(resource, bad)
    for column in resource.columns:
        headers[column.name] = headers[header_of(column, bad)]
    meant = {typed: column for column, typed in bad.renamed.items()}
    found = [(bad.header_row, column, code) for column, code in bad.layout.items()]
    wrong = [(sheet_row(bad, d.row), d.column, d.code) for d in bad.damages if d.code]
    wrong += [(sheet_row(bad, record), column, code) for record, column, code in bad.noticed]
    found += sorted(wrong, key=lambda entry: (entry[0], headers[entry[1]]))
    return [
        {
            "cell": cell_address(row, headers[column]) if column in headers else None,
            "column": meant.get(column, column),
            "code": code,
            **({} if CATALOGUE[code].severity is Severity.ERROR else {"severity": "warning"}),
        }
        for row, column, code in found
    ]


def write_with_xlsxwriter(path: Path, sheets: Sequence[tuple[BadSheet, Cells]]) -> None:
    """Write bad sheets cell by cell."""
    with xlsxwriter.Workbook(str(path)) as book:
        for bad, cells in sheets:
            sheet = book.add_worksheet(bad.sheet)
            dates = book.add_format({"num_format": "dd/mm/yyyy"})
            header = book.add_format({"bold": True, "bg_color": "E2EFDA", "bottom": 1})
            title = book.add_format({"bold": True, "font_size": 14})
            sheet.set_column(bad.first_column, bad.first_column + 30, 16)
            sheet.set_landscape()
            sheet.set_paper(9)  # A4
            if sum(row == bad.header_row for row, _ in cells) <= MOST_ON_TWO_PAGES:
                sheet.fit_to_pages(2, 0)
            sheet.print_across()
            sheet.repeat_rows(bad.header_row - 1)
            for (row, column), content in cells.items():
                form = {1: title, bad.header_row: header}.get(row)
                if form is None and isinstance(content, date):
                    form = dates
                write_typed(sheet, row - 1, column, content, form)


def write_typed(sheet: Worksheet, row: int, column: int, content: object, form: Any) -> None:
    """Write one cell with the type of its content."""
    match content:
        case None:
            return
        case bool():
            sheet.write_boolean(row, column, content, form)
        case ErrorCell(shown):
            sheet.write_formula(row, column, _FORMULAS[shown], form, shown)
        case str():
            sheet.write_string(row, column, content, form)
        case date():
            sheet.write_datetime(row, column, content, form)
        case _:
            sheet.write_number(row, column, content, form)


def write_with_openpyxl(path: Path, bad: BadSheet, cells: Cells) -> None:
    """Write a bad sheet as scripts do."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = bad.sheet
    sheet.page_setup.orientation, sheet.page_setup.paperSize = "landscape", sheet.PAPERSIZE_A4
    sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight = 2, 0
    sheet.page_setup.pageOrder = "overThenDown"
    sheet.sheet_format.defaultColWidth = 14
    sheet.print_title_rows = f"{bad.header_row}:{bad.header_row}"
    for (row, column), content in cells.items():
        cell = sheet.cell(row, column + 1)
        match content:
            case ErrorCell(shown):
                cell.value = shown
            case UncalculatedFormula(formula):
                cell.value = formula
            case _:
                cell.value = content
        if isinstance(content, date):
            cell.number_format = "dd/mm/yyyy"
    book.save(path)


def save_with_libreoffice(source: Path, target: Path) -> None:
    """Let LibreOffice open a workbook and save it under another name."""
    with TemporaryDirectory() as folder:
        subprocess.run(
            ["libreoffice", "--headless", "--convert-to", "xlsx", "--outdir", folder, source],
            check=True,
            capture_output=True,
        )
        (Path(folder) / source.name).replace(target)


if __name__ == "__main__":
    main()
