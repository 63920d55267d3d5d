"""Workbooks read back by openpyxl and calamine: every cell unchanged, with its type.

Inside: export.
"""

import io
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from exporting import export
from fake_system import Reply, replying_server
from libreoffice import save_with_libreoffice
from reading import Rows, read_calamine, read_openpyxl, write_all
from sheets import header_of

from xlbridge.client import Client, Target
from xlbridge.errors import UsageError
from xlbridge.export import LISTINGS, Listing
from xlbridge.export.formats.base import compressed_member, summed_columns
from xlbridge.export.formats.xlsx import open_xlsx
from xlbridge.export.layout import Layout
from xlbridge.export.sheets import Sheet, join_child_sheet
from xlbridge.i18n import LANGUAGES, Language, override_language
from xlbridge.resources import Kind, normalize_header
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook import COVER_SHEET, WorkbookOrigin
from xlbridge.workbook.read import read_workbook

pytestmark = pytest.mark.one_database

PEDIDOS = LISTINGS["pedidos"]
ESTOQUE = LISTINGS["estoque"]
READERS = [read_openpyxl, read_calamine]
Read = Callable[[Path], dict[str, Rows]]


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


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "text",
    ["_x0000_", "_x005F_x0041_", "_x0041_x0042_", "_x0041\rb", "_x0041\x01", "_x00e9_", "a\r\nb"],
)
def test_text_like_an_escape_is_unchanged(tmp_path: Path, text: str, read: Read) -> None:
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
def test_money_is_shown_with_cents_and_finer_digits(
    tmp_path: Path, value: Decimal | int, form: str
) -> None:
    cell = one_cell(tmp_path, "valorTotal", value)
    assert Decimal(str(cell.value)) == value
    assert cell.number_format == form


@pytest.mark.parametrize(
    "value", [Decimal("12345678901234567.89"), Decimal("0.12345678901234567"), 10**17 + 1]
)
def test_a_number_too_long_for_excel_becomes_text(tmp_path: Path, value: Decimal | int) -> None:
    assert one_cell(tmp_path, "valorTotal", value).value == str(value)


def test_text_with_several_numbers_is_not_a_number(tmp_path: Path) -> None:
    assert one_cell(tmp_path, "valorTotal", "1|2").value == "1|2"


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
    column = header_of(sheet).index("dataDaOrdem") + 1
    assert (sheet.cell(2, column).value, sheet.cell(2, column).number_format) == (read, form)


def test_several_texts_become_lines_of_one_cell(tmp_path: Path) -> None:
    path = tmp_path / "pedidos.xlsx"
    write_all(path, [order_with(avisos=["um", "dois"])], PEDIDOS.sheets, open_xlsx)
    sheet = openpyxl.load_workbook(path)["pedidos"]
    column = header_of(sheet).index("avisos") + 1
    assert sheet.cell(2, column).value == "um\ndois"
    assert sheet.cell(2, column).alignment.wrap_text


def test_a_sheet_has_a_table_frozen_header_and_widths(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("records", [0, 1, 3])
def test_a_sheet_for_people_ends_with_sums_that_are_no_records(
    tmp_path: Path, language: Language, records: int
) -> None:
    path = tmp_path / "contasreceber.xlsx"
    order = order_with(valorDoLancamento="10.10", valorBaixado=2, codigoDoExercicio=2026)
    sheets = LISTINGS["contasreceber"].sheets
    with override_language(language):
        write_all(path, [order] * records, sheets, partial(open_xlsx, headers="titles"))
    book = openpyxl.load_workbook(path)
    sheet = book["contasreceber"]
    (table,) = sheet.tables.values()
    last = max(records, 1) + 1
    assert (table.ref, table.totalsRowCount) == (f"A1:S{last + 1}", 1)
    assert table.autoFilter.ref == f"A1:S{last}"
    totals = {cell.column_letter: cell.value for cell in sheet[last + 1] if cell.value is not None}
    summed = {"L": sheet["L1"].value, "R": sheet["R1"].value}
    assert totals == {
        "A": "Total",
        **{
            letter: f"=SUBTOTAL(109,tabela_1_contasreceber[{title}])"
            for letter, title in summed.items()
        },
    }
    stored = openpyxl.load_workbook(path, data_only=True)["contasreceber"]
    assert [str(stored[f"{letter}{last + 1}"].value) for letter in summed] == [
        {0: "0", 1: "10.1", 3: "30.3"}[records],
        str(2 * records),
    ]
    read = read_workbook(path, WorkbookLimits()).sheets[0]
    rows = [read.row(row) for row in range(read.height)]
    assert [row for row in rows[1:] if any(value != "" for value in row)] == rows[1 : records + 1]
    assert not any("Total" in row for row in rows[1:])


@pytest.mark.programs
def test_libreoffice_calculates_the_sums_and_keeps_what_they_are(tmp_path: Path) -> None:
    written = {}
    for listing in LISTINGS.values():
        sheet = listing.sheets[0]
        if summed := summed_columns(sheet, "titles"):
            path = tmp_path / f"{listing.name}.xlsx"
            record = dict.fromkeys(listing.key, 1)
            record |= {column.name: "1.25" for column in sheet.columns if column.kind is Kind.MONEY}
            with override_language("pt-BR"):
                write_all(path, [record] * 2, [sheet], partial(open_xlsx, headers="titles"))
            written[path] = summed
    assert len(written) > 10
    saved_paths = save_with_libreoffice([*written], tmp_path / "saved")
    for saved, summed in zip(saved_paths, written.values(), strict=True):
        *_, totals = openpyxl.load_workbook(saved, data_only=True)[saved.stem[:31]].iter_rows()
        assert {totals[index].value for index in summed} == {2.5}, saved.name
        read = read_workbook(saved, WorkbookLimits()).sheets[0]
        assert all(value == "" for row in range(3, read.height) for value in read.row(row))


def test_sheets_print_in_a_readable_size_on_few_pages_with_header_and_key(tmp_path: Path) -> None:
    path = tmp_path / "pedidos.xlsx"
    write_all(path, [order_with(valor=1, parcelas=[{}])], PEDIDOS.sheets, open_xlsx)
    workbook = openpyxl.load_workbook(path)
    wide, narrow = workbook["pedidos"], workbook["parcelas"]
    letter = wide.cell(1, header_of(wide).index("numeroDoPedido") + 1).column_letter
    assert wide.print_title_rows == narrow.print_title_rows == "$1:$1"
    assert wide.print_title_cols == f"${letter}:${letter}"
    assert wide.page_setup.orientation == "landscape"
    assert {str(sheet.page_setup.paperSize) for sheet in workbook} == {wide.PAPERSIZE_A4}
    widths = [
        sum(page.column_dimensions[cell.column_letter].width for cell in page[1])
        for page in (wide, narrow)
    ]
    assert widths[0] > 225 > widths[1] > 180
    assert wide.sheet_properties.pageSetUpPr.fitToPage
    assert (wide.page_setup.fitToWidth, wide.page_setup.fitToHeight) == (2, 0)
    assert wide.page_setup.pageOrder == "overThenDown"
    _, last = wide.print_area.rpartition("!")[2].replace("$", "").split(":")
    assert 20 < wide[last].column < wide.max_column
    assert narrow.sheet_properties.pageSetUpPr.fitToPage
    assert (narrow.page_setup.fitToWidth or 1, narrow.page_setup.fitToHeight) == (1, 0)


def test_a_sheet_without_rows_is_hidden_so_that_it_takes_no_page(tmp_path: Path) -> None:
    path = tmp_path / "pedidos.xlsx"
    write_all(path, [order_with(parcelas=[{}])], PEDIDOS.sheets, open_xlsx)
    states = {sheet.title: sheet.sheet_state for sheet in openpyxl.load_workbook(path)}
    assert {states.pop("produtos")} == {"hidden"}
    assert {*states.values()} == {"visible"}
    none = tmp_path / "none.xlsx"
    write_all(none, [], join_child_sheet(PEDIDOS.sheets, "parcelas"), open_xlsx)
    flat = openpyxl.load_workbook(none)["pedidos"]
    assert (flat.sheet_state, flat.print_area) == ("visible", "")  # its items are printed, too


def sheets_for_people(listing: Listing) -> Sequence[Sheet]:
    return Layout(listing=listing, for_people=True, named=True).sheets


def test_leading_columns_are_those_of_a_sheet_that_is_too_wide() -> None:
    for listing in LISTINGS.values():
        by_name = {sheet.name: sheet for sheet in sheets_for_people(listing)}
        assert listing.leading.keys() <= by_name.keys()
        for name, names in listing.leading.items():
            columns = [column.name for column in by_name[name].columns]
            assert columns[: by_name[name].leading] == names.split(), name
        for sheet in by_name.values():
            assert sheet.leading or len(sheet.columns) <= 16, sheet.name


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", LISTINGS)
def test_a_sheet_for_people_prints_one_page_wide(
    tmp_path: Path, language: Language, name: str
) -> None:
    path = tmp_path / "x.xlsx"
    with override_language(language):
        sheets = sheets_for_people(LISTINGS[name])
        write_all(path, [], sheets, partial(open_xlsx, headers="titles"))
    book = openpyxl.load_workbook(path)
    for sheet in sheets:
        page = book[sheet.name]
        area = page[page.print_area.rpartition("!")[2].replace("$", "") or page.dimensions]
        printed = [cell.column for cell in area[0]]
        width = sum(  # openpyxl has one for neighbours of the same width
            one.width * len({*range(one.min, one.max + 1)}.intersection(printed))
            for one in page.column_dimensions.values()
        )
        assert width <= (225 if page.sheet_properties.pageSetUpPr else 160), sheet.name
        if page.print_area:
            assert (len(printed), len(area)) == (sheet.leading, page.max_row)
            assert page.print_title_cols is None
        assert page.oddFooter.left.text.startswith(f"{sheet.name} · ")


def test_days_without_a_time_take_the_width_of_days(tmp_path: Path) -> None:
    path = tmp_path / "contasreceber.xlsx"
    days = {"dataDeEmissao": "2026-11-30T00:00:00", "dataDeVencimento": "2026-11-30T10:20:30"}
    write_all(path, [days], LISTINGS["contasreceber"].sheets, partial(open_xlsx, headers="titles"))
    sheet = openpyxl.load_workbook(path)["contasreceber"]
    day, moment = (
        sheet.column_dimensions[cell.column_letter].width
        for cell in sheet[1]
        if cell.comment.text in days
    )
    assert 10 < day < 16 < moment


def test_a_long_title_over_short_cells_takes_three_lines(tmp_path: Path) -> None:
    path = tmp_path / "mapeamento.xlsx"
    record = dict.fromkeys(LISTINGS["mapeamento"].key, 1)
    with override_language("pt-BR"):
        sheets = LISTINGS["mapeamento"].sheets
        write_all(path, [record], sheets, partial(open_xlsx, headers="titles"))
    sheet = openpyxl.load_workbook(path)["mapeamento"]
    (long,) = (cell for cell in sheet[1] if cell.value == "Código do almoxarifado da seção")
    assert sheet.column_dimensions[long.column_letter].width < 20
    assert sheet.row_dimensions[1].height == 45


@pytest.mark.parametrize("language", LANGUAGES)
def test_titles_of_every_listing_are_unique_and_come_back_as_names(
    tmp_path: Path, language: Language
) -> None:
    path = tmp_path / "x.xlsx"
    for listing in LISTINGS.values():
        sheets, record = listing.sheets, dict[str, Any]()
        for sheet in sheets:
            row = record
            for name in sheet.within:
                row = row.setdefault(name, [{}])[0]
        with override_language(language):
            write_all(path, [record], sheets, partial(open_xlsx, headers="titles"))
        book, read = openpyxl.load_workbook(path), read_workbook(path, WorkbookLimits())
        for sheet, cells in zip(sheets, read.sheets, strict=True):
            names = [column.name for column in sheet.columns]
            titles = [str(cell.value) for cell in book[sheet.name][1]]
            assert len(set(map(normalize_header, titles))) == len(titles), sheet.name
            assert header_of(book[sheet.name]) == cells.row(0) == names
            # Measures are spelled like words.
            assert set(titles) & set(names) <= {"Peso", "Altura", "Largura", "Comprimento"}


def test_a_full_sheet_continues_in_the_next(tmp_path: Path) -> None:
    path = tmp_path / "estoque.xlsx"
    records = [balance(idProd=number) for number in range(7)]
    write_all(path, records, ESTOQUE.sheets, partial(open_xlsx, rows_per_sheet=4))
    found = read_calamine(path)
    del found[str(COVER_SHEET)]
    assert {name: len(rows) for name, rows in found.items()} == {
        "estoque": 4,
        "estoque (2)": 4,
        "estoque (3)": 2,
    }
    column = [c.name for c in ESTOQUE.sheets[0].columns].index("idProd")
    assert [row[column] for rows in found.values() for row in rows[1:]] == list(range(7))
    assert len({tuple(rows[0]) for rows in found.values()}) == 1


def test_a_text_too_long_for_a_cell_stops_the_export(tmp_path: Path) -> None:
    path = tmp_path / "estoque.xlsx"
    with pytest.raises(UsageError, match=r"estoque.*idProd 1.*descricaoDoProduto.*32768"):
        write_all(path, [balance(descricaoDoProduto="é" * 32768)], ESTOQUE.sheets, open_xlsx)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_failed_export_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "estoque.xlsx"
    path.write_bytes(b"the old one")
    with pytest.raises(error), open_xlsx(path, ESTOQUE.sheets):
        raise error
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"the old one"


def test_a_folder_that_disappears_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with (
        pytest.raises(UsageError, match=r"estoque\.xlsx"),
        open_xlsx(folder / "estoque.xlsx", ESTOQUE.sheets),
    ):
        shutil.rmtree(folder)


def test_an_empty_listing_becomes_a_workbook_with_headers(tmp_path: Path) -> None:
    path = tmp_path / "pedidos.xlsx"
    write_all(path, [], PEDIDOS.sheets, open_xlsx)
    found = read_openpyxl(path)
    del found[str(COVER_SHEET)]
    assert [[row for row in rows[1:] if any(row)] for rows in found.values()] == [[], [], []]


@pytest.mark.processes
def test_rows_are_compressed_without_isal_too() -> None:
    script = """
import io, sys, zipfile, zlib
sys.modules["isal"] = None
from xlbridge.export.formats import base
output = io.BytesIO()
with zipfile.ZipFile(output, "w") as archive, base.compressed_member(archive, "sheet") as member:
    member.write(b"rows " * 3)
print(base.compressobj is zlib.compressobj, zipfile.ZipFile(output).read("sheet"))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True b'rows rows rows '\n"


def test_rows_are_compressed_by_isal_where_it_is() -> None:
    """``ZipFile`` has its compressor under a name of its own, which must stay.

    Isal's level 1 writes another size than zlib's.
    """
    pytest.importorskip("isal")
    content = b"".join(b'<c r="A%d"><v>%d</v></c>' % (n, n * n) for n in range(5_000))
    sizes = {}
    for name in ("isal", "zlib"):
        output = io.BytesIO()
        with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            opened = compressed_member(archive, name) if name == "isal" else archive.open(name, "w")
            with opened as member:
                member.write(content)
        archive = zipfile.ZipFile(output)
        assert archive.read(name) == content
        sizes[name] = archive.getinfo(name).compress_size
    assert sizes["isal"] != sizes["zlib"]


@pytest.mark.programs
@pytest.mark.slow
def test_libreoffice_reads_each_cell_at_its_address(tmp_path: Path) -> None:
    path = tmp_path / "estoque.xlsx"
    records = [balance(), balance(descricaoDoProduto="x"), {"idProd": 2}, balance(valorTotal=None)]
    write_all(path, records, ESTOQUE.sheets, open_xlsx)
    (saved,) = save_with_libreoffice([path], tmp_path / "saved")
    assert read_openpyxl(saved) == read_openpyxl(path)


_REFUSED = Reply(b'{"success": false, "errors": [{"key": "info", "value": "Sem acesso."}]}', 403)


@pytest.mark.parametrize(
    ("info", "told"),
    [(Reply(b'{"success": true, "data": {"ativo": true}}'), "#a@b.example"), (_REFUSED, "")],
)
def test_a_workbook_names_its_system_as_far_as_that_tells(
    tmp_path: Path, info: Reply, told: str
) -> None:
    path = tmp_path / "estoque.xlsx"
    body = b'{"success": true, "data": []}'
    with (
        replying_server(lambda *_: Reply(body), info) as address,
        Client(Target("t", address, "A@b.example", "unused")) as client,
    ):
        export(client, "estoque", path)
    origin = WorkbookOrigin.of(path)
    assert origin is not None
    assert (origin.system, origin.export) == (told and f"{address}{told}", "estoque")
