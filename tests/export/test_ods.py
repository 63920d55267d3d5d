"""Spreadsheets in OpenDocument: their totals rows, charts and printing.

Inside: export.
"""

import re
from functools import partial
from pathlib import Path
from zipfile import ZipFile

import openpyxl
import pytest
from environment import Xlbridge, credentials
from libreoffice import save_with_libreoffice
from python_calamine import CalamineWorkbook
from reading import write_all

from xlbridge.export import LISTINGS
from xlbridge.export.formats.ods import open_ods
from xlbridge.export.layout import Layout
from xlbridge.i18n import override_language
from xlbridge.sandbox import RunningSandbox
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read import read_workbook


def title_with(**values: object) -> dict[str, object]:
    return {"numeroDaTransacao": 7, **values}


@pytest.mark.parametrize("records", [0, 1, 3])
def test_a_sheet_for_people_ends_with_stored_sums(tmp_path: Path, records: int) -> None:
    path = tmp_path / "contasreceber.ods"
    order = title_with(valorDoLancamento="10.10", valorBaixado=2, codigoDoExercicio=2026)
    sheets = LISTINGS["contasreceber"].sheets
    with override_language("en"):
        write_all(path, [order] * records, sheets, partial(open_ods, headers="titles"))
    sheet = CalamineWorkbook.from_path(path).get_sheet_by_name("contasreceber")
    *_, totals = sheet.to_python()
    sums = [value for value in totals if value != ""]
    assert sums == ["Total", pytest.approx(10.1 * records), 2 * records]
    last = max(records, 1) + 1
    with ZipFile(path) as book:
        content = book.read("content.xml").decode()
    assert content.count(f"SUBTOTAL(109;[.L2:.L{last}])") == 1
    # Without it LibreOffice does not understand the formula.
    assert 'xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2"' in content
    assert f"'contasreceber'.S{last}\"" in content  # the filter ends above
    read = next(
        one for one in read_workbook(path, WorkbookLimits()).sheets if one.name == "contasreceber"
    )
    rows = [read.row(row) for row in range(read.height)]
    assert [row for row in rows[1:] if any(row)] == rows[1 : records + 1]
    assert not any("Total" in row for row in rows[1:])


@pytest.mark.programs
def test_libreoffice_calculates_the_sums(tmp_path: Path) -> None:
    path = tmp_path / "contasreceber.ods"
    titles = [title_with(valorDoLancamento="10.10"), title_with(valorDoLancamento="1.05")]
    sheets = LISTINGS["contasreceber"].sheets
    write_all(path, titles, sheets, partial(open_ods, headers="titles"))
    (saved,) = save_with_libreoffice([path], tmp_path / "saved")
    *_, totals = openpyxl.load_workbook(saved, data_only=True)["contasreceber"].values
    assert totals[11] == pytest.approx(11.15)


def test_each_sheet_of_a_long_table_has_its_own_sums(tmp_path: Path) -> None:
    path = tmp_path / "contasreceber.ods"
    orders = [title_with(valorDoLancamento=f"{n}.25") for n in range(5)]
    sheets = LISTINGS["contasreceber"].sheets
    book = partial(open_ods, rows_per_sheet=4, headers="titles")
    write_all(path, orders, sheets, book)
    found = CalamineWorkbook.from_path(path)
    sums = {}
    for name in found.sheet_names:
        if name.startswith("contasreceber"):
            *_, totals = found.get_sheet_by_name(name).to_python()
            sums[name] = totals[11]
    assert sums == {"contasreceber": 1.5, "contasreceber (2)": 5.5, "contasreceber (3)": 4.25}


def test_the_cover_draws_what_that_of_an_xlsx_draws(
    tmp_path: Path, xlbridge: Xlbridge, demo_sandbox: RunningSandbox
) -> None:
    paths = tmp_path / "book.xlsx", tmp_path / "book.ods"
    for path in paths:
        done = xlbridge("export", "contasreceber", "-o", path, **credentials(demo_sandbox))
        assert done.returncode == 0, done.stderr
    cover = openpyxl.load_workbook(paths[0]).worksheets[0]
    drawn = []
    for chart in cover._charts:
        [one] = chart.series
        title = "".join(run.t for part in chart.title.tx.rich.p for run in part.r)
        drawn.append((title, rows_of((one.cat.strRef or one.cat.numRef).f), len(one.dPt)))
    with ZipFile(paths[1]) as book:
        charts = [
            book.read(name).decode() for name in book.namelist() if re.match(r"Object \d", name)
        ]
        assert book.read("content.xml").decode().count("<draw:frame") == len(charts)
    cells = CalamineWorkbook.from_path(paths[1]).get_sheet_by_index(0).to_python()
    found = []
    for chart in charts:
        [title] = re.findall("<text:p>(.*?)</text:p>", chart)
        [area] = re.findall('<chart:categories table:cell-range-address="(.*?)"', chart)
        alarming = chart.count('data-point chart:style-name="alarming"')
        found.append((title, rows_of(area), alarming))
    assert [(title, bars, alarming) for title, (_, bars), alarming in found] == [
        (title, bars, alarming) for title, (_, bars), alarming in drawn
    ]
    assert len(found) > 2
    assert any(alarming for *_, alarming in found)
    # The bars are those of the table with the chart's heading.
    for title, (first, bars), _ in found:
        assert title.startswith(cells[first - 2][0])
        assert cells[first - 1 + bars][0].startswith(("Total", "outros", "others"))


def rows_of(area: str) -> tuple[int, int]:
    """Return the first row of an area, and how many there are."""
    first, last = map(int, re.findall(r"\$[A-Z]+\$(\d+)", area))
    return first, last - first + 1


def test_sheets_print_one_or_two_pages_wide(tmp_path: Path) -> None:
    path = tmp_path / "pedidos.ods"
    order = {"numeroDoPedido": 1, "parcelas": [{}]}
    write_all(path, [order], LISTINGS["pedidos"].sheets, open_ods)
    with ZipFile(path) as book:
        content, styles = (book.read(f"{part}.xml").decode() for part in ("content", "styles"))
    used = dict(re.findall('<table:table table:name="([^"]+)" table:style-name="([^"]+)"', content))
    assert (used["pedidos"], used["parcelas"]) == ("sheet-2", "sheet-1")
    assert used["produtos"] == "sheet-hidden"  # for its page would be empty
    scales = re.findall(
        r'style:name="\w+"><style:page-layout-prop[^>]*? style:(scale-to[^ /]+)', styles
    )
    assert scales == ['scale-to="65%"', 'scale-to-X="1"', 'scale-to-X="2"']


def test_leading_columns_are_printed_with_the_totals(tmp_path: Path) -> None:
    path = tmp_path / "contasreceber.ods"
    layout = Layout(listing=LISTINGS["contasreceber"], for_people=True, named=True)
    with override_language("pt-BR"):
        write_all(path, [title_with()] * 3, layout.sheets, partial(open_ods, headers="titles"))
    (saved,) = save_with_libreoffice([path], tmp_path / "saved")
    book = openpyxl.load_workbook(saved)
    assert book["contasreceber"].print_area == "'contasreceber'!$A$1:$K$5"
    assert not book["rateio"].print_area
