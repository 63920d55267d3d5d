"""Workbooks of analysts with the open titles of a listing, in shapes that Excel writes."""

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import xlsxwriter
from added_parts import (
    BOOK,
    DATA,
    HEADERS,
    add_external,
    add_pivot,
    add_slicer,
    declare,
    relate,
)
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.formatting.rule import ColorScaleRule, FormulaRule
from openpyxl.styles import Font, PatternFill
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.datavalidation import DataValidation

FIRST_DAY = date(2026, 1, 5)
EPOCH = date(1899, 12, 30)


def titles_of(count: int, first: int = 1) -> list[dict[str, Any]]:
    """Return the records of as many titles, numbered from ``first``."""
    return [
        {
            "codigoDoExercicio": 2026,
            "codigoDaFilial": 1 + number % 3,
            "numeroDaTransacao": 100 + number,
            "sequenciaDaTransacao": 1,
            "dataDeVencimento": (FIRST_DAY + timedelta(days=number)).isoformat(),
            "valorDoLancamento": number * 10.25,
            "historico": f"=Título {number} & cia",
        }
        for number in range(first, first + count)
    ]


def values(record: Mapping[str, Any], row: int) -> list[Any]:
    """Return the cells of a record under ``HEADERS``; the formulas are those of a row."""
    return [
        record["numeroDaTransacao"],
        record["codigoDoExercicio"],
        f'="F"&D{row}',
        record["codigoDaFilial"],
        record["sequenciaDaTransacao"],
        datetime.fromisoformat(record["dataDeVencimento"]),
        record["valorDoLancamento"],
        f"=ROUND(G{row}*1.1,2)",
    ]


@dataclass(frozen=True)
class Shape:
    """Shape of a workbook: what writes it with as many titles, the parts that a refresh may
    change, texts in parts by the last row, and cells of the sheet ``Resumo`` with their values by
    the records."""

    write: Callable[[Path, int], None]
    changed: frozenset[str] = frozenset()
    sheet: str = "Dados"
    first: int = 2
    extension: str = ".xlsx"
    results: Mapping[str, Callable[[list[dict[str, Any]]], Any]] = field(default_factory=dict)
    follows: tuple[tuple[str, str], ...] = ()


SHAPES: dict[str, Shape] = {}


def total(records: list[dict[str, Any]]) -> float:
    return round(sum(record["valorDoLancamento"] for record in records), 2)


def with_interest(records: list[dict[str, Any]]) -> float:
    return round(sum(round(one["valorDoLancamento"] * 1.1 + 1e-9, 2) for one in records), 2)


def shape(*changed: str, **options: Any) -> Callable[[Any], Any]:
    """Register what fills a workbook: of openpyxl, or of xlsxwriter if it is named so."""

    def register(fill: Callable[[Any, Any, int], None]) -> Any:
        name = fill.__name__
        is_new = options.pop("by", "openpyxl") == "xlsxwriter"
        post = options.pop("then", None)

        def write(path: Path, count: int) -> None:
            (_by_xlsxwriter if is_new else _by_openpyxl)(path, count, fill)
            if post is not None:
                parts = _parts(path)
                post(parts, count)
                path.write_bytes(_packed(parts))

        SHAPES[name] = Shape(write, frozenset({DATA, BOOK, *changed}), **options)
        return fill

    return register


def _by_openpyxl(path: Path, count: int, fill: Callable[[Any, Any, int], None]) -> None:
    book = openpyxl.Workbook()
    page = book.active
    page.title = "Dados"
    page.append(HEADERS)
    for row, record in enumerate(titles_of(count), start=2):
        page.append(values(record, row))
        page.cell(row, 6).number_format = "dd/mm/yyyy"
        page.cell(row, 7).number_format = "#,##0.00"
        page.cell(row, 7).font = Font(bold=True)
    book.create_sheet("Resumo")
    fill(book, page, count)
    book.save(path)


def _by_xlsxwriter(path: Path, count: int, fill: Callable[[Any, Any, int], None]) -> None:
    with xlsxwriter.Workbook(path) as book:
        page = book.add_worksheet("Dados")
        book.add_worksheet("Resumo")
        day = book.add_format({"num_format": "dd/mm/yyyy", "bg_color": "#EEEEEE"})
        page.write_row(0, 0, HEADERS)
        for row, record in enumerate(titles_of(count), start=1):
            cells = values(record, row + 1)
            for column, value in enumerate(cells):
                if isinstance(value, datetime):
                    page.write_datetime(row, column, value, day)
                else:
                    page.write(row, column, value)
        fill(book, page, count)


def _parts(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as package:
        return {entry.filename: package.read(entry) for entry in package.infolist()}


def _packed(parts: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return stream.getvalue()


SUMS = {"A1": total, "A2": with_interest, "A3": len}


def _sums(page: Any, count: int) -> None:
    """Write sums of the titles into the first cells of a sheet of openpyxl."""
    page["A1"] = f"=ROUND(SUM(Dados!$G$2:$G${count + 1}),2)"
    page["A2"] = f"=ROUND(SUM(Dados!H2:H{count + 1}),2)"
    page["A3"] = f"=COUNT(Dados!A2:A{count + 1})"


@shape("xl/worksheets/sheet2.xml", results=SUMS)
def plain_sheet(book: Any, page: Any, count: int) -> None:
    _sums(book["Resumo"], count)


@shape(
    "xl/worksheets/sheet2.xml",
    results={
        **SUMS,
        "A4": lambda _: 110.0,
        "A5": total,
        "A6": lambda rows: rows[-1]["valorDoLancamento"],
    },
)
def rows_below(book: Any, page: Any, count: int) -> None:
    _sums(book["Resumo"], count)
    page.cell(count + 2, 1, "Total")
    page.cell(count + 2, 7, f"=SUM(G2:G{count + 1})")
    page.cell(count + 4, 2, "Conferido por Ana")
    page.cell(count + 5, 2, 110)
    page.cell(count + 5, 3, f"=G{count + 2}")
    book["Resumo"]["A4"] = f"=Dados!B{count + 5}"
    book["Resumo"]["A5"] = f"=ROUND(Dados!C{count + 5},2)"
    book["Resumo"]["A6"] = f"=INDEX(Dados!G2:G{count + 1},COUNT(Dados!A2:A{count + 1}))"


@shape("xl/tables/table1.xml", "xl/worksheets/sheet2.xml", by="xlsxwriter", results={"A1": total})
def table(book: Any, page: Any, count: int) -> None:
    page.add_table(0, 0, count, 7, {"name": "Titulos", "columns": [{"header": h} for h in HEADERS]})
    _fill_calculated(page, count, "Titulos[[#This Row],[Valor do lançamento]]*2")
    book.get_worksheet_by_name("Resumo").write_formula(
        "A1", "=ROUND(SUM(Titulos[Valor do lançamento]),2)"
    )


def _fill_calculated(page: Any, count: int, formula: str) -> None:
    for row in range(1, count + 1):
        page.write_formula(row, 7, f"={formula}")


@shape(
    "xl/tables/table1.xml",
    "xl/worksheets/sheet2.xml",
    by="xlsxwriter",
    results={"A1": total, "A2": total},
    follows=(
        ("xl/tables/table1.xml", ' ref="A1:H{last+1}"'),
        ("xl/tables/table1.xml", 'autoFilter ref="A1:H{last}"'),
        ("xl/worksheets/sheet1.xml", 'r="G{last+1}"'),
    ),
)
def table_with_totals(book: Any, page: Any, count: int) -> None:
    columns: list[dict[str, Any]] = [{"header": header} for header in HEADERS]
    columns[0]["total_string"] = "Total"
    columns[6]["total_function"] = "sum"
    page.add_table(0, 0, count + 1, 7, {"name": "Titulos", "columns": columns, "total_row": True})
    # As Excel stores it.
    page.write_formula(count + 1, 6, "=SUBTOTAL(109,Titulos[Valor do lançamento])")
    summary = book.get_worksheet_by_name("Resumo")
    summary.write_formula("A1", "=ROUND(SUM(Titulos[Valor do lançamento]),2)")
    summary.write_formula("A2", f"=ROUND(Dados!G{count + 2},2)")


@shape(
    "xl/charts/chart1.xml",
    "xl/worksheets/sheet2.xml",
    results=SUMS,
    follows=(
        ("xl/charts/chart1.xml", "'Dados'!$G$2:$G${last}"),
        ("xl/charts/chart1.xml", "'Dados'!$A$2:$A${last}"),
    ),
)
def charts(book: Any, page: Any, count: int) -> None:
    _sums(book["Resumo"], count)
    chart = BarChart()
    chart.add_data(Reference(page, min_col=7, min_row=1, max_row=count + 1), titles_from_data=True)
    chart.set_categories(Reference(page, min_col=1, min_row=2, max_row=count + 1))
    book["Resumo"].add_chart(chart, "C2")


@shape(
    "xl/charts/chart1.xml",
    "xl/drawings/drawing1.xml",
    by="xlsxwriter",
    follows=(
        ("xl/charts/chart1.xml", "Dados!$G$2:$G${last}"),
        ("xl/drawings/drawing1.xml", "<xdr:row>{last+2}</xdr:row>"),
    ),
)
def chart_below(book: Any, page: Any, count: int) -> None:
    chart = book.add_chart({"type": "line"})
    chart.add_series(
        {
            "values": f"=Dados!$G$2:$G${count + 1}",
            "categories": f"=Dados!$A$2:$A${count + 1}",
        }
    )
    page.insert_chart(count + 3, 1, chart)


@shape("xl/worksheets/sheet2.xml", results={"A1": total, "A2": len})
def names(book: Any, page: Any, count: int) -> None:
    for name, area in (("valores", "$G$2:$G$"), ("tudo", "$A$1:$H$"), ("numeros", "$A$2:$A$")):
        book.defined_names[name] = DefinedName(name, attr_text=f"Dados!{area}{count + 1}")
    page.print_area = f"A1:H{count + 1}"
    page.print_title_rows = "1:1"
    book["Resumo"]["A1"] = "=ROUND(SUM(valores),2)"
    book["Resumo"]["A2"] = "=COUNT(numeros)"
    book["Resumo"]["B1"] = f"=Dados!G{count}"  # a single cell, which stays


SHAPES["names"] = Shape(
    SHAPES["names"].write,
    frozenset({DATA, BOOK}),
    results=SHAPES["names"].results,
    follows=((BOOK, "Dados!$G$2:$G${last}"), (BOOK, "'Dados'!$A$1:$H${last}")),
)


@shape(
    follows=(
        ("xl/worksheets/sheet1.xml", 'sqref="G2:G{last}"'),
        ("xl/worksheets/sheet1.xml", 'sqref="A2:H{last}"'),
        ("xl/worksheets/sheet1.xml", "$G2=MAX($G$2:$G${last})"),
    )
)
def conditional_formats(book: Any, page: Any, count: int) -> None:
    red = PatternFill(start_color="FFFFC7CE", end_color="FFFFC7CE", fill_type="solid")
    page.conditional_formatting.add(
        f"G2:G{count + 1}",
        ColorScaleRule(
            start_type="min", start_color="FFFFFFFF", end_type="max", end_color="FF63BE7B"
        ),
    )
    page.conditional_formatting.add(
        f"A2:H{count + 1}", FormulaRule([f"$G2=MAX($G$2:$G${count + 1})"], fill=red)
    )


@shape(
    follows=(
        ("xl/worksheets/sheet1.xml", 'sqref="D2:D{last}"'),
        ("xl/worksheets/sheet1.xml", "$D$2:$D${last}"),
    )
)
def data_validation(book: Any, page: Any, count: int) -> None:
    choice = DataValidation(type="list", formula1=f"$D$2:$D${count + 1}")
    choice.add(f"D2:D{count + 1}")
    page.add_data_validation(choice)


@shape(
    by="xlsxwriter",
    follows=(
        ("xl/worksheets/sheet1.xml", "Dados!G2:G{last}"),
        ("xl/worksheets/sheet1.xml", "G2:G{last}</xm:sqref>"),
    ),
)
def data_bars_and_sparklines(book: Any, page: Any, count: int) -> None:
    page.conditional_format(1, 6, count, 6, {"type": "data_bar", "data_bar_2010": True})
    page.add_sparkline("K1", {"range": f"Dados!G2:G{count + 1}"})


CACHE = "xl/pivotCache/pivotCacheDefinition1.xml"


@shape(
    CACHE,
    then=add_pivot('ref="A1:H{last}" sheet="Dados"'),
    follows=(
        ("xl/pivotCache/pivotCacheDefinition1.xml", 'ref="A1:H{last}"'),
        ("xl/pivotCache/pivotCacheDefinition1.xml", 'refreshOnLoad="1"'),
    ),
)
def pivot_of_range(book: Any, page: Any, count: int) -> None:
    pass


@shape(
    CACHE,
    "xl/tables/table1.xml",
    by="xlsxwriter",
    then=add_pivot('name="Titulos"'),
    follows=(
        ("xl/pivotCache/pivotCacheDefinition1.xml", 'refreshOnLoad="1"'),
        ("xl/tables/table1.xml", 'ref="A1:H{last}"'),
    ),
)
def pivot_of_table(book: Any, page: Any, count: int) -> None:
    page.add_table(0, 0, count, 7, {"name": "Titulos", "columns": [{"header": h} for h in HEADERS]})


@shape(
    CACHE,
    then=add_pivot('name="base"'),
    follows=(
        ("xl/pivotCache/pivotCacheDefinition1.xml", 'refreshOnLoad="1"'),
        ("xl/workbook.xml", "Dados!$A$1:$H${last}"),
    ),
)
def pivot_of_name(book: Any, page: Any, count: int) -> None:
    book.defined_names["base"] = DefinedName("base", attr_text=f"Dados!$A$1:$H${count + 1}")


@shape(
    "xl/tables/table1.xml",
    by="xlsxwriter",
    then=add_slicer,
    follows=(("xl/tables/table1.xml", 'autoFilter ref="A1:H{last}"'),),
)
def slicer(book: Any, page: Any, count: int) -> None:
    page.add_table(0, 0, count, 7, {"name": "Titulos", "columns": [{"header": h} for h in HEADERS]})


@shape(
    "xl/worksheets/sheet2.xml",
    then=add_external,
    results=SUMS,
    follows=(
        ("xl/worksheets/sheet2.xml", "[1]Dados!$G$2:$G$7"),
        ("xl/workbook.xml", "Dados!$A$2:$A${last}"),
    ),
)
def external_links(book: Any, page: Any, count: int) -> None:
    _sums(book["Resumo"], count)
    book.defined_names["nosso"] = DefinedName("nosso", attr_text=f"Dados!$A$2:$A${count + 1}")
    book["Resumo"]["A5"] = f"=SUM([1]Dados!$G$2:$G${count + 1})"


@shape(extension=".xlsm", by="xlsxwriter")
def macros(book: Any, page: Any, count: int) -> None:
    book.add_vba_project(io.BytesIO(b"not a real project" * 50), True)
    book.set_vba_name("ThisWorkbook")


@shape("xl/worksheets/sheet2.xml", results={"A1": lambda _: 20.5, "A2": lambda _: 3, "A3": total})
def lookups(book: Any, page: Any, count: int) -> None:
    last = count + 1
    summary = book["Resumo"]
    summary["A1"] = f"=VLOOKUP(102,Dados!$A$1:$H${last},7,FALSE)"
    summary["A2"] = "=INDEX(Dados!D:D,MATCH(102,Dados!A:A,0))"
    summary["A3"] = (
        f"=ROUND(SUMIFS(Dados!$G$2:$G${last},Dados!$B$2:$B${last},2026)"
        f"+0*SUMPRODUCT((Dados!$D$2:$D${last}=1)*Dados!$G$2:$G${last}),2)"
    )


@shape("xl/worksheets/sheet2.xml", results=SUMS)
def notes_links_pictures(book: Any, page: Any, count: int) -> None:
    _sums(book["Resumo"], count)
    page["A1"].comment = Comment("Não mexer", "Ana")
    page["J1"] = "portal"
    page["J1"].hyperlink = "https://example.com/"
    page["J3"] = "ao lado"
    page["K3"] = f"=SUM(G2:G{count + 1})"


@shape(
    "xl/worksheets/sheet2.xml",
    results=SUMS,
    follows=(
        ("xl/worksheets/sheet1.xml", 'autoFilter ref="A1:H{last}"'),
        ("xl/workbook.xml", "$A$1:$H${last}"),
    ),
)
def filter_and_view(book: Any, page: Any, count: int) -> None:
    _sums(book["Resumo"], count)
    page.auto_filter.ref = f"A1:H{count + 1}"
    page.freeze_panes = "B2"
    page.column_dimensions["E"].hidden = True
    page.row_dimensions[2].height = 24
    page.sheet_properties.outlinePr.summaryBelow = False
    page.protection.sheet = True


def _shared(parts: dict[str, bytes], count: int) -> None:
    content = parts[DATA].decode()
    content = content.replace(
        "<f>ROUND(G2*1.1,2)</f>",
        f'<f t="shared" ref="H2:H{count + 1}" si="0">ROUND(G2*1.1,2)</f>',
    )
    content = re.sub(r"<f>ROUND\(G\d+\*1\.1,2\)</f>", '<f t="shared" si="0"/>', content)
    parts[DATA] = content.encode()
    cells = "".join(f'<c r="H{row}" i="1"/>' for row in range(2, count + 2))
    parts["xl/calcChain.xml"] = (
        '<calcChain xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f'{cells}<c r="A1" i="2"/></calcChain>'
    ).encode()
    relate(parts, BOOK, "calcChain", "/xl/calcChain.xml")
    declare(
        parts,
        "/xl/calcChain.xml",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.calcChain+xml",
    )


@shape(
    "xl/worksheets/sheet2.xml",
    "xl/calcChain.xml",
    "xl/_rels/workbook.xml.rels",
    "[Content_Types].xml",
    then=_shared,
    results=SUMS,
)
def shared_formulas(book: Any, page: Any, count: int) -> None:
    _sums(book["Resumo"], count)


def _prefixed(parts: dict[str, bytes], _count: int) -> None:
    content = parts[DATA].decode()
    content = re.sub(r"<(/?)(?=[a-z])", r"<\1x:", content)
    parts[DATA] = content.replace("xmlns=", "xmlns:x=", 1).encode()


@shape("xl/worksheets/sheet2.xml", then=_prefixed, results=SUMS)
def prefixed_elements(book: Any, page: Any, count: int) -> None:
    _sums(book["Resumo"], count)


@shape(
    "xl/tables/table1.xml",
    "xl/tables/table2.xml",
    by="xlsxwriter",
    follows=(("xl/tables/table2.xml", ' ref="A{last+3}:B{last+4}"'),),
)
def tables_one_below_the_other(book: Any, page: Any, count: int) -> None:
    page.add_table(0, 0, count, 7, {"name": "Titulos", "columns": [{"header": h} for h in HEADERS]})
    page.write_row(count + 3, 0, ["Meta", "Valor"])
    page.write_row(count + 4, 0, ["ano", 500])
    page.add_table(
        count + 3,
        0,
        count + 4,
        1,
        {"name": "Metas", "columns": [{"header": "Meta"}, {"header": "Valor"}]},
    )


@shape("xl/worksheets/sheet2.xml", results=SUMS)
def dates_of_1904(book: Any, page: Any, count: int) -> None:
    book.epoch = datetime(1904, 1, 1)
    _sums(book["Resumo"], count)
