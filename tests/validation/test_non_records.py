"""Rows that are not records have one finding each, and are not sent."""

import re
import zipfile
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from openpyxl import load_workbook
from sampling import across
from sheets import GOOD, write_rows
from test_sheet_layout import with_single_quotes
from xls_writer import write_xls
from xlsb_writer import write_xlsb
from xlsxwriter.worksheet import Worksheet

from xlbridge.resources import Catalogue
from xlbridge.validation import ValidatedSheet, validate_workbook

CR = "contasreceber"
HEADER = list(GOOD[CR])
PLACES = {name: place for place, name in enumerate(HEADER)}
FIRST, LAST = 1, 5
"""Zero-based rows of the records, below the header."""

Row = Mapping[str, Any]


def zeroed(path: Path) -> Path:
    """Copy a workbook with all explicit heights and widths set to 0."""
    other = path.with_name("zeroed.xlsx")
    with zipfile.ZipFile(path) as before, zipfile.ZipFile(other, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            if name.endswith("sheet1.xml"):
                content = re.sub(rb'\b(ht|width)="[.\d]+"', rb'\1="0"', content)
                assert content.count(b'="0" customHeight') == content.count(b'width="0"') == 1
            after.writestr(name, content)
    return other


def sheet(
    path: Path,
    catalogue: Catalogue,
    below: Row,
    change: Callable[[Worksheet], None] = lambda _: None,
) -> ValidatedSheet:
    """Validate five receivables with a row ``below`` them, after a change to the sheet."""
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet()
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        page.write_row(0, 0, HEADER)
        for row, values in enumerate([*[GOOD[CR]] * LAST, below], FIRST):
            for name, value in values.items():
                place = PLACES.get(name, len(HEADER))
                if isinstance(value, date):
                    page.write_datetime(row, place, value, day)
                elif str(value).startswith("="):
                    page.write_formula(row, place, value, None, 52.5)
                else:
                    page.write(row, place, value)
        change(page)
    return validate_workbook(path, catalogue)


def findings(validated: ValidatedSheet) -> list[tuple[int | None, str]]:
    return [(f.row, f.kind.code) for f in validated.findings if f.kind.code != "formula-result"]


TOTALS: list[Row] = [
    {"historico": "TOTAL", "valorDoLancamento": 52.5},
    {"historico": "Subtotal", "valorDoLancamento": 52.5},
    {"historico": "Soma", "valorDoLancamento": 52.5},
    {"historico": "Média", "valorDoLancamento": 10.5},
    {"historico": "Média geral:", "valorDoLancamento": 10.5},
    {"historico": "Contagem", "valorDoLancamento": 5},
    {"codigoDaFilial": "TOTAL", "valorDoLancamento": 52.5},
    {"codigoDaFilial": "Total", "codigoDoCliente": 5, "valorDoLancamento": 52.5},
    {"codigoDaContaCorrente": "Soma", "valorDoLancamento": 52.5},
    {"dataDeVencimento": "Total:", "valorDoLancamento": 52.5},
    {"anotação": "TOTAL", "valorDoLancamento": 52.5},
    {"valorDoLancamento": "=SUBTOTAL(109,I2:I6)"},
    {"valorDoLancamento": "=SUM(I2:I6)"},
    {"historico": "Mensalidades", "valorDoLancamento": "=SUM($I$2:$I$6)"},
]


@pytest.mark.parametrize(("below", "quoted"), across(TOTALS, [False, True]), ids=str)
def test_total_has_one_finding_and_is_not_a_record(
    tmp_path: Path, catalogue: Catalogue, below: Row, quoted: bool
) -> None:
    path = tmp_path / "a.xlsx"
    validated = sheet(path, catalogue, below)
    if quoted:
        validated = validate_workbook(with_single_quotes(path), catalogue)
    assert [finding for finding in findings(validated) if finding[0] != 1] == [(7, "row-total")]
    assert validated.non_records == {7: "row-total"}
    assert not validated.ok


@pytest.mark.parametrize(
    ("below", "codes"),
    [
        ({"historico": "Obs.: valores sujeitos a reajuste"}, {7: "row-note"}),
        ({"codigoDaFilial": "Relatório de outubro"}, {7: "row-note"}),
        ({"valorDoLancamento": "Emitido em 31/10/2026"}, {7: "row-note"}),
        ({"historico": "* valores em reais"}, {7: "row-note"}),
        ({"codigoDaFilial": "x"}, {}),
        ({**GOOD[CR], "historico": "Total"}, {}),
        ({**GOOD[CR], "historico": "Soma de mensalidades"}, {}),
        ({**GOOD[CR], "historico": "Obs.: reajuste"}, {}),
        ({**GOOD[CR], "valorDoLancamento": "=5*10.5"}, {}),
        ({**GOOD[CR], "valorDoLancamento": "=SUM(A7:B7)"}, {}),
    ],
    ids=str,
)
def test_notes_are_not_records_but_records_may_contain_their_words(
    tmp_path: Path, catalogue: Catalogue, below: Row, codes: Mapping[int, str]
) -> None:
    validated = sheet(tmp_path / "a.xlsx", catalogue, below)
    assert validated.non_records == codes
    if codes:
        assert findings(validated) == list(codes.items())


def test_totals_row_of_a_table_is_not_a_record(tmp_path: Path, catalogue: Catalogue) -> None:
    """Also one without a word or a sum, in every format that has tables."""
    columns = [{"header": name} for name in HEADER]
    columns[PLACES["historico"]] = {"header": "historico", "total_string": "Geral"}
    columns[PLACES["valorDoLancamento"]] = {
        "header": "valorDoLancamento",
        "total_function": "sum",
        "total_value": 52.5,
    }

    def table(page: Worksheet) -> None:
        page.add_table(0, 0, LAST + 1, len(HEADER) - 1, {"columns": columns, "total_row": True})

    validated = sheet(tmp_path / "a.xlsx", catalogue, {}, table)
    assert findings(validated) == [(7, "row-total")]
    assert validated.non_records == {7: "row-total"}
    columns[:] = [{"header": name} for name in HEADER]
    source = sheet(tmp_path / "b.xlsx", catalogue, GOOD[CR], table).file
    rows = [list(row) for row in load_workbook(source).active.iter_rows(values_only=True)]
    shown = [[f"{v:%d/%m/%Y}" if isinstance(v, date) else v for v in row] for row in rows]
    for path in (
        source,
        write_xlsb(source, tmp_path / "b.xlsb"),
        write_xls(tmp_path / "b.xls", shown, totals=1),
    ):
        assert validate_workbook(path, catalogue).non_records == {7: "row-total"}
    assert (
        validate_workbook(write_xls(tmp_path / "c.xls", shown, totals=0), catalogue).non_records
        == {}
    )


@pytest.mark.parametrize(
    ("struck", "non_records", "expected"),
    [
        (HEADER, {3: "row-struck"}, [(3, "row-struck")]),
        (HEADER[:-1], {3: "row-struck"}, [(3, "row-struck")]),
        (HEADER[-1:], {}, [(3, "cell-struck")]),
    ],
    ids=["all", "most", "one"],
)
def test_struck_through_row_is_not_a_record(
    tmp_path: Path,
    catalogue: Catalogue,
    struck: list[str],
    non_records: Mapping[int, str],
    expected: list[tuple[int, str]],
) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet()
        line, day = (
            book.add_format({"font_strikeout": True, "num_format": form})
            for form in ("General", "dd/mm/yyyy")
        )
        plain = book.add_format({"num_format": "dd/mm/yyyy"})
        page.write_row(0, 0, HEADER)
        for row in (1, 2, 3):
            for name, value in GOOD[CR].items():
                through = row == 2 and name in struck
                if isinstance(value, date):
                    form = day if through else plain
                    page.write_datetime(row, PLACES[name], value, form)
                else:
                    page.write(row, PLACES[name], value, line if through else None)
    validated = validate_workbook(path, catalogue)
    assert validated.non_records == non_records
    assert findings(validated) == expected


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("styled", [True, False], ids=["struck cell", "plain cell"])
def test_struck_through_rich_text_is_reported(
    tmp_path: Path, catalogue: Catalogue, inline: bool, whole: bool, styled: bool
) -> None:
    """The style of the cell, which LibreOffice writes into .xls files, does not count."""
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path, {"constant_memory": inline}) as book:
        page = book.add_worksheet()
        line, day = (
            book.add_format({"font_strikeout": True}),
            book.add_format({"num_format": "dd/mm/yyyy"}),
        )
        page.write_row(0, 0, HEADER)
        for row in (1, 2):
            for name, value in GOOD[CR].items():
                if isinstance(value, date):
                    page.write_datetime(row, PLACES[name], value, day)
                elif name == "historico" and row == 2:
                    rest = line if whole else book.add_format({"bold": True})
                    style = (line,) if styled else ()
                    parts = line, "Mensal", rest, "idade", *style
                    page.write_rich_string(row, PLACES[name], *parts)
                else:
                    page.write(row, PLACES[name], value)
    validated = validate_workbook(path, catalogue)
    assert findings(validated) == [(3, "cell-struck" if whole else "text-struck-in-part")]


@pytest.mark.parametrize(
    ("below", "is_total"),
    [
        ({"historico": "TOTAL", "valorDoLancamento": 52.5}, True),
        ({"historico": "Soma", "valorDoLancamento": 21.0}, True),
        ({"historico": "TOTAL", "valorDoLancamento": 10.5}, False),
        ({"historico": "TOTAL", "valorDoLancamento": 40.0}, False),
        ({"historico": "Total Distribuidora", "valorDoLancamento": 52.5}, False),
    ],
    ids=str,
)
def test_complete_row_is_a_total_if_labelled_and_summing_rows_above(
    tmp_path: Path, catalogue: Catalogue, below: Row, is_total: bool
) -> None:
    validated = sheet(tmp_path / "a.xlsx", catalogue, {**GOOD[CR], **below})
    assert validated.non_records == ({7: "row-total"} if is_total else {})


def test_line_of_dashes_is_not_a_record(tmp_path: Path, catalogue: Catalogue) -> None:
    drawn = dict.fromkeys(["historico", "codigoDaFilial", "valorDoLancamento"], "------")
    validated = sheet(tmp_path / "a.xlsx", catalogue, drawn)
    assert findings(validated) == [(7, "row-note")]
    record = {**GOOD[CR], "historico": "------"}
    assert sheet(tmp_path / "b.xlsx", catalogue, record).non_records == {}


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize(("height", "low"), [(0.75, True), (2.25, True), (3, False)])
def test_row_of_minimal_height_counts_as_hidden(
    tmp_path: Path, catalogue: Catalogue, height: float, low: bool, quoted: bool
) -> None:
    path = tmp_path / "a.xlsx"
    validated = sheet(path, catalogue, {}, lambda page: page.set_row(3, height))
    if quoted:
        validated = validate_workbook(with_single_quotes(path), catalogue)
    assert findings(validated) == ([(1, "rows-hidden")] if low else [])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda page: page.set_default_row(hide_unused_rows=True), []),
        (lambda page: page.set_default_row(1), [(1, "rows-hidden")]),
    ],
    ids=["rows that are not there", "rows of no height of their own"],
)
def test_default_row_settings_hide_data_rows_only_by_their_height(
    tmp_path: Path,
    catalogue: Catalogue,
    change: Callable[[Worksheet], None],
    expected: list[tuple[int, str]],
) -> None:
    assert findings(sheet(tmp_path / "a.xlsx", catalogue, {}, change)) == expected


@pytest.mark.parametrize("quoted", [False, True])
def test_rows_and_columns_without_height_or_width_count_as_hidden(
    tmp_path: Path, catalogue: Catalogue, quoted: bool
) -> None:
    path = tmp_path / "a.xlsx"

    def flatten(page: Worksheet) -> None:
        page.set_row(3, 7)
        page.set_column(1, 1, 7)

    sheet(path, catalogue, {}, flatten)
    flat = zeroed(path)
    validated = validate_workbook(with_single_quotes(flat) if quoted else flat, catalogue)
    assert [(f.cell, f.kind.code) for f in validated.findings] == [
        (None, "rows-hidden"),
        ("B1", "column-hidden"),
    ]


def test_row_that_is_not_a_record_has_no_other_findings(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    below = {"historico": "TOTAL", "valorDoLancamento": -1}
    validated = sheet(tmp_path / "a.xlsx", catalogue, below)
    assert [f.kind.code for f in validated.findings] == ["row-total"]
    assert validated.findings[0].cell == "F7"
    assert validated.findings[0].value == "TOTAL"


@pytest.mark.parametrize(
    ("name", "code"),
    [("Tipo 12345", "row-doubtful"), ("Setor: 2", "row-note"), ("Atacado 2", None)],
    ids=str,
)
def test_a_name_with_a_number_in_a_registry_of_two_columns_is_doubtful(
    tmp_path: Path, catalogue: Catalogue, name: str, code: str | None
) -> None:
    header = ["codigoDoTipoDeCliente", "descricaoDoTipoDeCliente"]
    path = write_rows(tmp_path / "tipos.xlsx", header, [[None, name], [3, "Varejo"], [4, "Obras"]])
    expected = [] if code is None else [(2, code)]
    assert findings(validate_workbook(path, catalogue)) == expected
