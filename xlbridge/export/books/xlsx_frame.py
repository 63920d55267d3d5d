"""All of a workbook but its data rows: styles, headers, tables, widths, the cover."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from io import BytesIO
from math import ceil
from typing import Any
from zipfile import ZipFile

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge import __version__
from xlbridge.export.books.xlsx_rows import Style, StyleIds
from xlbridge.export.columns import ExportColumn
from xlbridge.export.summary import Summary
from xlbridge.i18n import Text
from xlbridge.resources.column import Kind
from xlbridge.workbook.plain_text import write_plain_text
from xlbridge.workbook.signature import COVER_MOMENT, COVER_SHEET, EXPORT_PROPERTY
from xlbridge.workbook.style import FONT, FONT_SIZE, NUMBER_FORMATS, QUIET, STRONG
from xlbridge.workbook.writing.data_sheet import PAGE_WIDTH, print_across_pages

_TABLE_STYLE = "Table Style Light 9"
_NARROWEST, _WIDEST = 8, 50
_FILTER_BUTTON = 4
_A4 = 9
_WIDEST_KEY = PAGE_WIDTH // 2
"""A key that takes more of a page is not printed on each."""

_USUAL_WIDTHS = {Kind.DATE: 13, Kind.MONEY: 12, Kind.NUMBER: 10}
_STYLES_FROM = 40
"""On the cover, far to the right, columns carry the data's styles: so they are in the file."""

_COVER_STYLES = re.compile(rb'<col min="(\d+)" max="\d+" width="[^"]*" style="(\d+)"')
_DATED = {Style.DAY: NUMBER_FORMATS[Kind.DATE], Style.MOMENT: f"{NUMBER_FORMATS[Kind.DATE]} hh:mm"}
_PLAIN = {
    Style.TEXT: Kind.TEXT,
    Style.LINES: Kind.TEXT,
    Style.INTEGER: Kind.INTEGER,
    Style.NUMBER: Kind.NUMBER,
    Style.MONEY: Kind.MONEY,
    Style.BOOLEAN: Kind.BOOLEAN,
}


@dataclass(frozen=True, slots=True)
class DataSheet:
    """One worksheet that holds data: its name, columns, their longest texts, how many rows.

    ``key`` names the columns that say which record a row is of.
    """

    name: str
    columns: Sequence[ExportColumn]
    widths: Sequence[int]
    rows: int
    key: Sequence[str]


@cache
def style_ids() -> StyleIds:
    """Return the number that each style has in the workbooks that ``frame`` makes."""
    content = BytesIO()
    with _workbook(content) as book:
        _add_styles(book, book.add_worksheet())
    return _styles_in(content)


def frame(listing: str, summary: Summary, data: Sequence[DataSheet]) -> BytesIO:
    """Return a workbook with the cover and, for each data sheet, its header over no rows."""
    content = BytesIO()
    with _workbook(content) as book:
        book.set_properties({"title": listing, "author": f"xlbridge {__version__}"})
        book.set_custom_property(EXPORT_PROPERTY, listing)
        cover: Worksheet = book.add_worksheet(str(COVER_SHEET))
        _add_styles(book, cover)
        header = book.add_format({"bold": True, "text_wrap": True, "valign": "top"})
        for number, sheet in enumerate(data, start=1):
            _add_data_sheet(book, sheet, number, header)
        _fill_cover(book, cover, summary)
    if _styles_in(content) != style_ids():
        raise AssertionError("the styles are numbered otherwise than the rows were written with")
    return content


def _workbook(content: BytesIO) -> xlsxwriter.Workbook:
    options = {
        "in_memory": True,
        "default_format_properties": {"font_name": FONT, "font_size": FONT_SIZE},
    }
    return xlsxwriter.Workbook(content, options)


def _add_styles(book: xlsxwriter.Workbook, cover: Worksheet) -> None:
    forms: Mapping[Style, str] = {
        **{style: NUMBER_FORMATS[kind] for style, kind in _PLAIN.items()},
        **_DATED,
    }
    for index, style in enumerate(Style, start=_STYLES_FROM):
        form = {"num_format": forms[style], "valign": "top", "text_wrap": style is Style.LINES}
        cover.set_column(index, index, None, book.add_format(form))


def _styles_in(content: BytesIO) -> dict[Style, str]:
    with ZipFile(content) as archive:
        found = dict(_COVER_STYLES.findall(archive.read("xl/worksheets/sheet1.xml")))
    first = _STYLES_FROM + 1
    return {
        style: found[b"%d" % column].decode() for column, style in enumerate(Style, start=first)
    }


def _add_data_sheet(
    book: xlsxwriter.Workbook, sheet: DataSheet, number: int, header: Format
) -> None:
    worksheet: Worksheet = book.add_worksheet(sheet.name)
    worksheet.freeze_panes(1, 0)
    widths = list(map(_width, sheet.columns, sheet.widths))
    for index, width in enumerate(widths):
        worksheet.set_column(index, index, width)
    worksheet.add_table(
        0,
        0,
        1,  # xlsxwriter keeps something for each row; the rows' file tells how many there are
        len(sheet.columns) - 1,
        {
            "name": f"tabela_{number}_{re.sub(r'[^A-Za-z0-9]', '_', sheet.name)}",
            "style": _TABLE_STYLE,
            "columns": [{"header": c.name, "header_format": header} for c in sheet.columns],
        },
    )
    _set_up_printing(worksheet, sheet, widths)
    worksheet.ignore_errors({"number_stored_as_text": f"A2:XFD{sheet.rows + 1}"})


def _width(column: ExportColumn, longest: int) -> int:
    usual = _USUAL_WIDTHS.get(column.kind, _NARROWEST)
    return min(max(usual, longest, len(column.name)), _WIDEST) + _FILTER_BUTTON


def _set_up_printing(worksheet: Worksheet, sheet: DataSheet, widths: Sequence[int]) -> None:
    """Print as many pages wide as can be read, with header and key on each."""
    places = [place for place, column in enumerate(sheet.columns) if column.name in sheet.key]
    repeated = sum(widths[places[0] : places[-1] + 1]) if places else 0
    if 0 < repeated <= _WIDEST_KEY:
        worksheet.repeat_columns(places[0], places[-1])
    else:
        repeated = 0
    pages = ceil((sum(widths) - repeated) / (PAGE_WIDTH - repeated))
    page_of = Text(pt="&P de &N", en="&P of &N")
    print_across_pages(worksheet, sheet.name, pages, str(page_of))
    worksheet.repeat_rows(0)


class _Cover:
    """Writes the cover, line by line."""

    def __init__(self, book: xlsxwriter.Workbook, sheet: Worksheet) -> None:
        self._sheet = sheet
        self._row = 0
        self._title = book.add_format({"bold": True, "font_size": 16, "font_color": STRONG})
        self._head = book.add_format({"bold": True, "font_color": STRONG, "bottom": 1})
        self._figure_head = book.add_format(
            {"bold": True, "font_color": STRONG, "bottom": 1, "align": "right"}
        )
        self._label = book.add_format({"font_color": QUIET, "valign": "top"})
        self._text = book.add_format({"text_wrap": True, "valign": "top"})
        self._kinds = {
            int: book.add_format({"num_format": "#,##0", "align": "left"}),
            datetime: book.add_format({"num_format": _DATED[Style.MOMENT], "align": "left"}),
        }
        self._count = book.add_format({"num_format": "#,##0"})
        self._money = book.add_format({"num_format": NUMBER_FORMATS[Kind.MONEY]})

    def title(self, text: Text) -> None:
        self._sheet.write_string(0, 0, str(text), self._title)
        self._row = 2

    def heading(self, text: object, *figures: object) -> None:
        """Write what stands over labels and, to the right, over figures."""
        self._row += 1
        self._sheet.write_string(self._row, 0, str(text), self._head)
        for column, figure in enumerate(figures, start=1):
            self._sheet.write_string(self._row, column, str(figure), self._figure_head)
        self._row += 1

    def line(self, label: object, value: Any) -> None:
        self._sheet.write_string(self._row, 0, str(label), self._label)
        if isinstance(value, datetime):
            self._sheet.write_datetime(self._row, 1, value, self._kinds[datetime])
        elif isinstance(value, int):
            self._sheet.write_number(self._row, 1, value, self._kinds[int])
        else:
            write_plain_text(self._sheet, self._row, 1, str(value), self._text)
        self._row += 1

    def total(self, label: str, rows: int, amount: Any = None) -> None:
        self._sheet.write_string(self._row, 0, label, self._label)
        self._sheet.write_number(self._row, 1, rows, self._count)
        if amount is not None:
            self._sheet.write_number(self._row, 2, amount, self._money)
        self._row += 1


def _fill_cover(book: xlsxwriter.Workbook, sheet: Worksheet, summary: Summary) -> None:
    cover = _Cover(book, sheet)
    cover.title(summary.title)
    cover.line(COVER_MOMENT, summary.at.replace(microsecond=0))
    yes, no = Text(pt="sim", en="yes"), Text(pt="NÃO", en="NO")
    cover.line(Text(pt="Completo", en="Complete"), yes if summary.complete else no)
    cover.line(Text(pt="Registros", en="Records"), summary.records)
    for remark in summary.remarks:
        cover.line("", remark)
    if summary.filters:
        cover.heading(Text(pt="Filtros", en="Filters"), "")
    for name, value in summary.filters:
        cover.line(name, value)
    cover.heading(Text(pt="Planilha", en="Sheet"), Text(pt="Linhas", en="Rows"))
    for name, count in summary.sheets.items():
        cover.total(name, count)
    for table in summary.totals:
        cover.heading(table.title, Text(pt="Linhas", en="Rows"), summary.amount)
        for total in table.totals:
            cover.total(total.label, total.rows, total.amount)
        rows = sum(total.rows for total in table.totals)
        cover.total(str(Text(pt="Total", en="Total")), rows, sum(t.amount for t in table.totals))
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, 2, 24)
    sheet.hide_gridlines(2)
    sheet.set_paper(_A4)
    sheet.fit_to_pages(1, 0)
