"""Workbooks, read back by openpyxl and calamine: every cell as it was, with its type."""

import shutil
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading import Rows, read_calamine, read_openpyxl, same, write_all

from xlbridge.errors import UsageError
from xlbridge.export.books.xlsx_book import open_xlsx
from xlbridge.export.columns import ExportColumn
from xlbridge.export.listing import Listing, Sheet
from xlbridge.export.listings import LISTINGS
from xlbridge.resources.column import Kind
from xlbridge.workbook.signature import COVER_SHEET

PEDIDOS = LISTINGS["pedidos"]
ESTOQUE = LISTINGS["estoque"]
READERS = [read_openpyxl, read_calamine]
Read = Callable[[Path], dict[str, Rows]]

PLAIN_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20)
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.TEXT: PLAIN_TEXT | st.sampled_from(["=1+1", "+55 11", "-x", "@a", "007", "<r>a</r>"]),
    Kind.INTEGER: st.integers(-(10**15) + 1, 10**15 - 1),
    Kind.NUMBER: st.decimals(-(10**9), 10**9, places=4, allow_nan=False, allow_infinity=False),
    Kind.MONEY: st.decimals(-(10**12), 10**12, places=2, allow_nan=False, allow_infinity=False),
    Kind.DATE: st.datetimes(datetime(1900, 3, 1), datetime(9999, 12, 31)).map(
        lambda moment: moment.replace(microsecond=0).isoformat()
    ),
    Kind.BOOLEAN: st.booleans(),
}


def value_of(column: ExportColumn) -> st.SearchStrategy[Any]:
    return st.lists(PLAIN_TEXT, max_size=3) if column.is_list else VALUES[column.kind]


def fields_of(sheet: Sheet, *, required: tuple[str, ...] = ()) -> st.SearchStrategy[Any]:
    always = {c.name: value_of(c) for c in sheet.columns if c.name in required}
    optional = {c.name: value_of(c) | st.none() for c in sheet.columns if c.name not in required}
    return st.fixed_dictionaries(always, optional=optional)


@st.composite
def records_of(draw: st.DrawFn, listing: Listing) -> dict[str, Any]:
    own, *children = listing.sheets
    record: dict[str, Any] = draw(fields_of(own, required=listing.key))
    for sheet in children:
        holders = [record]
        for name in sheet.within[:-1]:
            holders = [inner for holder in holders for inner in holder.get(name) or ()]
        for holder in holders:
            holder[sheet.within[-1]] = draw(st.lists(fields_of(sheet), max_size=2) | st.none())
    return record


@pytest.mark.parametrize("listing", LISTINGS.values(), ids=lambda listing: listing.name)
@settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_random_records_come_back_equal(
    tmp_path: Path, listing: Listing, data: st.DataObject
) -> None:
    records = data.draw(st.lists(records_of(listing), max_size=3))
    path = tmp_path / "out.xlsx"
    written = write_all(path, records, listing.sheets, open_xlsx)
    for read in READERS:
        found = read(path)
        assert list(found) == [COVER_SHEET, *(sheet.name for sheet in listing.sheets)]
        for sheet in listing.sheets:
            assert differences(sheet, found[sheet.name], written[sheet.name]) == []


def differences(sheet: Sheet, read: Rows, written: Rows) -> list[object]:
    header, *rows = read
    assert header == [column.name for column in sheet.columns]
    assert len(rows) == max(len(written), len(rows[:1]))
    return [
        (column.name, cell, value)
        for row, cells in zip(rows, written, strict=False)
        for column, cell, value in zip(sheet.columns, cells, row, strict=True)
        if not same(column, cell, value)
    ]


def balance(**fields: Any) -> dict[str, Any]:
    return {"idProd": 1, "quantidadeTotal": 1, "valorTotal": Decimal("0.10"), **fields}


def one_cell(tmp_path: Path, field: str, value: Any) -> Any:
    """Write one balance and return the openpyxl cell of one of its fields."""
    path = tmp_path / "estoque.xlsx"
    write_all(path, [balance(**{field: value})], ESTOQUE.sheets, open_xlsx)
    sheet = openpyxl.load_workbook(path)["estoque"]
    index = [column.name for column in ESTOQUE.sheets[0].columns].index(field)
    return sheet.cell(2, index + 1)


@pytest.mark.parametrize(
    "text", ["=1+1", '=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "http://x.example", "01"]
)
def test_a_text_is_never_a_formula_a_link_or_a_number(tmp_path: Path, text: str) -> None:
    cell = one_cell(tmp_path, "descricaoDoProduto", text)
    assert (cell.value, cell.data_type, cell.hyperlink) == (text, "s", None) or (
        cell.value,
        cell.data_type,
        cell.hyperlink,
    ) == (text, "inlineStr", None)


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("text", ["<r><t>x</t></r>", "<r>&amp;</r>", "</si>", "]]>", " a ", "a\nb"])
def test_markup_and_white_space_in_a_text_stay_text(tmp_path: Path, text: str, read: Read) -> None:
    path = tmp_path / "estoque.xlsx"
    write_all(path, [balance(descricaoDoProduto=text)], ESTOQUE.sheets, open_xlsx)
    assert text in read(path)["estoque"][1]


def test_a_control_character_does_not_break_the_workbook(tmp_path: Path) -> None:
    assert one_cell(tmp_path, "descricaoDoProduto", "a\x00b\ud800").value == "a_x0000_b\ufffd"


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (Decimal("12.5"), "#,##0.00"),
        (Decimal("12.3456"), "#,##0.00####"),
        (7, "#,##0.00"),
    ],
)
def test_money_shows_the_cents_and_what_is_finer(
    tmp_path: Path, value: Decimal | int, form: str
) -> None:
    cell = one_cell(tmp_path, "valorTotal", value)
    assert Decimal(str(cell.value)) == value
    assert cell.number_format == form


@pytest.mark.parametrize(
    "value", [Decimal("12345678901234567.89"), Decimal("0.12345678901234567"), 10**17 + 1]
)
def test_a_number_too_long_for_excel_stays_whole_as_text(
    tmp_path: Path, value: Decimal | int
) -> None:
    assert one_cell(tmp_path, "valorTotal", value).value == str(value)


def order_with(**fields: Any) -> dict[str, Any]:
    return {"numeroDoPedido": 1, **fields}


@pytest.mark.parametrize(
    ("value", "read", "form"),
    [
        ("2026-01-31T00:00:00", datetime(2026, 1, 31), "dd/mm/yyyy"),
        ("2026-01-31", datetime(2026, 1, 31), "dd/mm/yyyy"),
        ("2026-01-31T10:20:30-03:00", datetime(2026, 1, 31, 10, 20, 30), "dd/mm/yyyy hh:mm"),
        ("0001-01-01T00:00:00", "0001-01-01T00:00:00", "@"),
    ],
)
def test_dates_are_dates(tmp_path: Path, value: str, read: object, form: str) -> None:
    path = tmp_path / "pedidos.xlsx"
    write_all(path, [order_with(dataDaOrdem=value)], PEDIDOS.sheets, open_xlsx)
    sheet = openpyxl.load_workbook(path)["pedidos"]
    column = [cell.value for cell in sheet[1]].index("dataDaOrdem") + 1
    assert (sheet.cell(2, column).value, sheet.cell(2, column).number_format) == (read, form)


def test_several_texts_share_a_cell_line_by_line(tmp_path: Path) -> None:
    path = tmp_path / "pedidos.xlsx"
    write_all(path, [order_with(avisos=["um", "dois"])], PEDIDOS.sheets, open_xlsx)
    sheet = openpyxl.load_workbook(path)["pedidos"]
    column = [cell.value for cell in sheet[1]].index("avisos") + 1
    assert sheet.cell(2, column).value == "um\ndois"
    assert sheet.cell(2, column).alignment.wrap_text


def test_a_sheet_looks_after_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "estoque.xlsx"
    long = "Parafuso sextavado de aço inoxidável"
    write_all(path, [balance(descricaoDoProduto=long)] * 3, ESTOQUE.sheets, open_xlsx)
    workbook = openpyxl.load_workbook(path)
    sheet = workbook["estoque"]
    assert sheet.freeze_panes == "A2"
    (table,) = sheet.tables.values()
    assert (table.ref, table.autoFilter.ref) == ("A1:K4", "A1:K4")
    assert table.tableStyleInfo.name == "Table Style Light 9".replace(" ", "")
    assert sheet["A1"].font.bold
    assert sheet["A1"].alignment.wrap_text
    assert sheet.column_dimensions["F"].width >= len(long)
    assert workbook.properties.creator.startswith("xlbridge")


def test_a_sheet_that_is_full_goes_on_in_the_next(tmp_path: Path) -> None:
    path = tmp_path / "estoque.xlsx"
    records = [balance(idProd=number) for number in range(7)]
    write_all(path, records, ESTOQUE.sheets, partial(open_xlsx, rows_per_sheet=4))
    found = read_calamine(path)
    del found[COVER_SHEET]
    assert {name: len(rows) for name, rows in found.items()} == {
        "estoque": 4,
        "estoque (2)": 4,
        "estoque (3)": 2,
    }
    column = [c.name for c in ESTOQUE.sheets[0].columns].index("idProd")
    assert [row[column] for rows in found.values() for row in rows[1:]] == list(range(7))
    assert len({tuple(rows[0]) for rows in found.values()}) == 1


def test_a_text_that_no_cell_holds_stops_the_export(tmp_path: Path) -> None:
    path = tmp_path / "estoque.xlsx"
    with pytest.raises(UsageError, match=r"estoque.*idProd 1.*descricaoDoProduto.*32768"):
        write_all(path, [balance(descricaoDoProduto="é" * 32768)], ESTOQUE.sheets, open_xlsx)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_export_broken_off_leaves_the_old_file(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "estoque.xlsx"
    path.write_bytes(b"the old one")
    with pytest.raises(error), open_xlsx(path, ESTOQUE.sheets):
        raise error
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"the old one"


def test_a_folder_that_goes_away_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with (
        pytest.raises(UsageError, match=r"estoque\.xlsx"),
        open_xlsx(folder / "estoque.xlsx", ESTOQUE.sheets),
    ):
        shutil.rmtree(folder)


def test_an_empty_listing_is_a_workbook_with_headers(tmp_path: Path) -> None:
    path = tmp_path / "pedidos.xlsx"
    write_all(path, [], PEDIDOS.sheets, open_xlsx)
    found = read_openpyxl(path)
    del found[COVER_SHEET]
    assert [[row for row in rows[1:] if any(row)] for rows in found.values()] == [[], [], []]
