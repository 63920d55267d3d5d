"""Both scans of a sheet's raw XML have the same result, if the quick one has any.

Inside: workbook.
"""

import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from damages import DAMAGES
from environment import ROOT
from good_rows import make_rows
from hostile_files import CASES, write_hostile
from packing import FIRST_ROWS, MAIN, SHEET, good_parts, packed, text_cell
from quick_scanning import scan_quickly
from sampling import every
from sheets import write_rows

from xlbridge.errors import WorkbookRefused
from xlbridge.resources import Catalogue
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.formats import scale_factor
from xlbridge.workbook.read import RawSheet, read_workbook
from xlbridge.workbook.read.archive import WorkbookArchive
from xlbridge.workbook.read.package import Package
from xlbridge.workbook.read.sheet_scans import scan_exactly

BOOKS = sorted([*(ROOT / "samples").glob("*.xlsx"), *(ROOT / "templates").glob("*.xlsx")])


_SMALL = 10**6


def scans(path: Path) -> Iterator[tuple[str, RawSheet | None, RawSheet]]:
    package = Package(WorkbookArchive(path.read_bytes(), WorkbookLimits()))
    formats, _ = package.cell_styles()
    factors = {style: scale_factor(code) for style, code in formats.items()}
    scaling = {style: factor for style, factor in factors.items() if factor != 1}
    for sheet in package.sheets:
        quick = scan_quickly(package.sheet_pieces(sheet), scaling)
        yield sheet, quick, scan_exactly(package.sheet_pieces(sheet), scaling).raw


@pytest.mark.parametrize("path", every(2, BOOKS), ids=lambda path: path.name)
def test_scans_agree_on_samples_and_templates(path: Path) -> None:
    for sheet, quick, exact in scans(path):
        assert quick == exact, sheet


@pytest.mark.parametrize("resource", ["cliente", "contasreceber", "contaspagar"])
def test_scans_agree_on_damaged_values(tmp_path: Path, catalogue: Catalogue, resource: str) -> None:
    columns = catalogue[resource].columns
    (good,) = make_rows(resource, 1, "scans")
    rows = [
        [
            damage.apply(
                column, column.example if good.get(column.name) is None else good[column.name]
            )
            if damage.fits(column)
            else good.get(column.name)
            for column in columns
        ]
        for damage in DAMAGES
    ]
    path = write_rows(tmp_path / "a.xlsx", [column.name for column in columns], rows)
    [(_, quick, exact)] = scans(path)
    assert quick == exact
    assert exact.errors
    assert exact.without_result


def test_scans_agree_on_hostile_workbooks(tmp_path: Path) -> None:
    small = [name for name, (outcome, _) in CASES.items() if outcome in {"good", "findings"}]
    compared = 0
    for name, path in write_hostile(tmp_path, small).items():
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _SMALL:
                continue
        with suppress(WorkbookRefused):
            for _, quick, exact in scans(path):
                assert quick in (None, exact), name
                compared += quick is not None
    assert compared > 10


def scanned(cells: str) -> tuple[RawSheet | None, RawSheet]:
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{FIRST_ROWS}<row r="3">{cells}</row></sheetData>'
    pieces = [sheet.encode() + b"</worksheet>"]
    return scan_quickly(pieces, {}), scan_exactly(pieces, {}).raw


@pytest.mark.parametrize(
    ("cells", "errors"),
    [
        ('<c r="A3" t="e"/><c r="B3"><v>1</v></c>', {}),
        ('<c r="A3" t="e"></c><c r="B3"><v>1</v></c>', {}),
        ('<c r="A3" t="e"><v/></c><c r="B3"><v>1</v></c>', {}),
        ('<c r="A3" t="e"><v></v></c>', {}),
        ('<c r="A3" t="e"><v>#N/A</v></c>', {(3, 0): "#N/A"}),
        ('<c r="A3" s="1" t="e"><f>1/0</f><v>#DIV/0!</v></c>', {(3, 0): "#DIV/0!"}),
        ('<c r="A3" t="e"/><c r="B3" t="e"><v>#REF!</v></c>', {(3, 1): "#REF!"}),
        ('<c r="A3" t="e" vm="1"><v>#SPILL!</v></c>', {(3, 0): "#SPILL!"}),
        (text_cell("A3", "#N/A"), {}),
    ],
)
def test_an_error_value_belongs_to_its_cell(cells: str, errors: dict[tuple[int, int], str]) -> None:
    quick, exact = scanned(cells)
    assert quick == exact
    assert exact.errors == errors


@pytest.mark.parametrize("value", ["12<!-- x -->34", "<![CDATA[12.5]]>", "12<![CDATA[]]>"])
def test_a_value_that_could_be_read_partially_is_refused(tmp_path: Path, value: str) -> None:
    rows = f'{FIRST_ROWS}<row r="3"><!-- beside --><c r="A3"><v>{value}</v></c></row>'
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    path = tmp_path / "a.xlsx"
    path.write_bytes(packed(good_parts(tmp_path) | {SHEET: sheet.encode()}))
    with pytest.raises(WorkbookRefused):
        read_workbook(path, WorkbookLimits())


def test_columns_without_a_width_are_hidden_if_the_default_is_zero() -> None:
    layout = '<sheetFormatPr defaultColWidth="0" defaultRowHeight="15"/><cols>'
    layout += '<col min="2" max="3" width="9"/><col min="5" max="5" width="0"/></cols>'
    sheet = f'<worksheet xmlns="{MAIN}">{layout}<sheetData>{FIRST_ROWS}</sheetData></worksheet>'
    assert scan_quickly([sheet.encode()], {}) is None
    exact = scan_exactly([sheet.encode()], {}).raw.layout
    assert exact.hidden_columns == [(0, 0), (3, 16_383), (4, 4)]


@pytest.mark.parametrize(
    "attributes",
    ["hidden='1'", "ht='0'", 'ht="&#48;"', 'ht ="0"', 'hidden = "true"', 'ht="2.9"', 'hidden="1"'],
)
def test_a_hidden_row_is_found_however_it_is_written(attributes: str) -> None:
    row = f'<row r="3" spans="1:1" {attributes} customHeight="1"><c r="A3"><v>1</v></c></row>'
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{FIRST_ROWS}{row}</sheetData></worksheet>'
    quick, exact = scan_quickly([sheet.encode()], {}), scan_exactly([sheet.encode()], {}).raw
    assert exact.layout.hidden_rows == {3}
    assert quick in (None, exact)


@pytest.mark.parametrize(
    "attributes",
    ['hidden ="1"', 'hidden= "true"', 'hidden="&#49;"', "width='0'", 'width = "0"', 'width="0.1"'],
)
def test_a_hidden_column_is_found_however_it_is_written(attributes: str) -> None:
    columns = f'<cols><col min="2" max="3" {attributes}/></cols>'
    sheet = f'<worksheet xmlns="{MAIN}">{columns}<sheetData>{FIRST_ROWS}</sheetData></worksheet>'
    quick, exact = scan_quickly([sheet.encode()], {}), scan_exactly([sheet.encode()], {}).raw
    assert exact.layout.hidden_columns == [(1, 2)]
    assert quick in (None, exact)


@pytest.mark.parametrize("attributes", ['ref ="A1:B2"', 'ref= "A1:B2"', 'ref="A1&#58;B2"'])
def test_a_merged_range_is_found_however_it_is_written(attributes: str) -> None:
    merged = f"<mergeCells><mergeCell {attributes}/></mergeCells>"
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{FIRST_ROWS}</sheetData>{merged}</worksheet>'
    quick, exact = scan_quickly([sheet.encode()], {}), scan_exactly([sheet.encode()], {}).raw
    assert exact.layout.merged == [(1, 0, 2, 1)]
    assert quick in (None, exact)


@pytest.mark.parametrize("attributes", ['ht="15.75" customHeight="1"', 'hidden="0"', 'ht="10"'])
def test_a_row_of_usual_height_is_not_hidden(attributes: str) -> None:
    row = f'<row r="3" {attributes}><c r="A3" s="1" t="b"><v>1</v></c></row>'
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{FIRST_ROWS}{row}</sheetData></worksheet>'
    quick, exact = scan_quickly([sheet.encode()], {}), scan_exactly([sheet.encode()], {}).raw
    assert quick == exact
    assert not exact.layout.hidden_rows


def test_a_sheet_without_addresses_needs_the_exact_scan() -> None:
    rows = '<row hidden="1"><c><f>1+1</f><v>2</v></c></row>'
    for first in ("<row><c><v>1</v></c></row>", '<row r="1"><c><v>1</v></c></row>'):
        sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{first}{rows}</sheetData></worksheet>'
        assert scan_quickly([sheet.encode()], {}) is None
        layout = scan_exactly([sheet.encode()], {}).raw.layout
        assert (layout.hidden_rows, layout.formulas) == ({2}, {0: [(2, 2)]})


def test_an_escaped_value_needs_the_exact_scan() -> None:
    quick, exact = scanned('<c r="A3" t="e"><v>&#35;N/A</v></c>')
    assert quick is None
    assert exact.errors == {(3, 0): "#N/A"}


def test_a_value_split_between_expat_buffers_is_one_value(tmp_path: Path) -> None:
    rows = (f'<row r="{n}"><c r="A{n}"><v>{"1" * 280}</v></c></row>' for n in range(1, 20_000))
    before = f"<worksheet xmlns=\"{MAIN}\"><sheetPr filterMode='0'/><sheetData>"
    sheet = "".join((before, *rows, "</sheetData></worksheet>"))
    path = tmp_path / "large.xlsx"
    path.write_bytes(packed(good_parts(tmp_path) | {SHEET: sheet.encode()}))
    (read,) = read_workbook(path, WorkbookLimits()).sheets
    assert read.height == 19_999
