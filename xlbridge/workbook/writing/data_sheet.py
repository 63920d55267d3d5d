"""The sheet that analysts fill in: its header, formats, checks and printing.

The blank template and the workbook of rejected rows share it. Everything is written row by row,
so that it serves workbooks in constant memory too.
"""

import math
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.resources.column import Column, Kind
from xlbridge.resources.resource import Resource
from xlbridge.workbook import style
from xlbridge.workbook.address import cell_address, column_letters
from xlbridge.workbook.signature import LISTS_SHEET
from xlbridge.workbook.writing.column_guide import (
    example_in_words,
    kind_name,
    obligation,
    rules_in_words,
)
from xlbridge.workbook.writing.input_check import input_check

_LAST_ROW = 100_000
_HEADER_HEIGHT = 24
PAGE_WIDTH = 215  # letters beside each other that can still be read on A4 in landscape
_FREE_TEXT_WIDTH, _WIDEST = 40, 48
_NARROWEST: Mapping[Kind, int] = {Kind.DATE: 12, Kind.MONEY: 14}
_MARGIN = 0.4  # inches
_LONGEST_FOOTER = 100
_COMMENT_WIDTH, _COMMENT_LINE, _COMMENT_SYMBOLS = 320, 18, 46

_HEADER = {"bold": True, "indent": 1, "valign": "vcenter", "border": 1, "border_color": style.RULE}
REQUIRED_HEADER = {**_HEADER, "bg_color": style.STRONG, "font_color": "FFFFFF"}
OPTIONAL_HEADER = {**_HEADER, "bg_color": style.SOFT, "font_color": style.STRONG}
REMARK_HEADER = {**_HEADER, "italic": True, "bg_color": style.REMARK, "font_color": style.QUIET}
"""How the headers of required, optional and added columns look; the legend shows the same."""


def add_data_sheet(
    book: xlsxwriter.Workbook, resource: Resource, remarks: Mapping[str, int]
) -> Worksheet:
    """Add the sheet of the resource's columns, followed by our ``remarks`` (names and widths).

    Row 1 holds the names of the columns; the rows below are left for the data.
    """
    sheet: Worksheet = book.add_worksheet(resource.name)
    choices = _choice_ranges(resource)
    required, optional, remark = map(
        book.add_format, (REQUIRED_HEADER, OPTIONAL_HEADER, REMARK_HEADER)
    )
    sheet.set_row_pixels(0, _HEADER_HEIGHT)
    for index, column in enumerate(resource.columns):
        sheet.set_column(index, index, _width(column), cell_format(book, column))
        sheet.write_string(0, index, column.name, required if column.required else optional)
        sheet.write_comment(0, index, *_comment(column))
        check = input_check(column, index, choices.get(column.name))
        sheet.data_validation(1, index, _LAST_ROW, index, check)
    if texts := [i for i, column in enumerate(resource.columns) if column.kind.is_text]:
        ranges = (f"{cell_address(2, i)}:{cell_address(_LAST_ROW + 1, i)}" for i in texts)
        sheet.ignore_errors({"number_stored_as_text": " ".join(ranges)})
    for index, (name, width) in enumerate(remarks.items(), start=len(resource.columns)):
        sheet.set_column(index, index, width)
        sheet.write_string(0, index, name, remark)
    widths = [*map(_width, resource.columns), *remarks.values()]
    _set_up(sheet, resource, widths)
    return sheet


def add_lists_sheet(book: xlsxwriter.Workbook, resource: Resource) -> None:
    """Add the hidden sheet that the dropdowns read, one row per column with allowed values.

    A range has neither the 255 symbols that Excel grants a list in place nor its commas.
    """
    limited = _limited_columns(resource)
    if not limited:
        return
    sheet: Worksheet = book.add_worksheet(LISTS_SHEET)
    for row, column in enumerate(limited):
        for index, value in enumerate((column.name, *column.allowed)):
            sheet.write_string(row, index, value)
    sheet.hide()


def cell_format(book: xlsxwriter.Workbook, column: Column) -> Format:
    """Return the format of a column's data cells."""
    number_format: Format = book.add_format({"num_format": style.NUMBER_FORMATS[column.kind]})
    return number_format


def _limited_columns(resource: Resource) -> list[Column]:
    return [column for column in resource.columns if column.allowed]


def _choice_ranges(resource: Resource) -> dict[str, str]:
    return {
        column.name: f"{LISTS_SHEET}!$B${row}:${column_letters(len(column.allowed))}${row}"
        for row, column in enumerate(_limited_columns(resource), start=1)
    }


def _width(column: Column) -> int:
    text_length = column.checks.get("str_length", {}).get("max_value", 0)
    content = min(text_length, _FREE_TEXT_WIDTH) if column.kind is Kind.TEXT else 0
    return min(
        _WIDEST,
        max(
            len(column.name) + 6,  # bold letters, and the filter's button
            len(example_in_words(column)) + 2,
            _NARROWEST.get(column.kind, 0),
            content,
        ),
    )


def _comment(column: Column) -> tuple[str, dict[str, Any]]:
    lines = [
        f"{column.title.pt} ({obligation(column)})",
        column.description,
        f"Tipo: {kind_name(column)}",
    ]
    if rules := rules_in_words(column):
        lines.append(f"Regras: {rules}")
    if example := example_in_words(column):
        lines.append(f"Exemplo: {example}")
    height = sum(1 + len(line) // _COMMENT_SYMBOLS for line in lines) + 1
    size = {"width": _COMMENT_WIDTH, "height": height * _COMMENT_LINE}
    return "\n".join(lines), {**size, "font_name": style.FONT, "font_size": 10}


def _set_up(sheet: Worksheet, resource: Resource, widths: Sequence[int]) -> None:
    sheet.set_comments_author("xlbridge")
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, _LAST_ROW, len(widths) - 1)
    sheet.set_tab_color(style.STRONG)
    print_across_pages(sheet, resource.title.pt, math.ceil(sum(widths) / PAGE_WIDTH))
    sheet.repeat_rows(0)


def print_across_pages(
    sheet: Worksheet, title: str, pages: int = 1, page_of: str = "&P de &N"
) -> None:
    """Print the sheet in landscape, as wide as so many pages, with page numbers."""
    a4 = 9
    sheet.set_landscape()
    sheet.set_paper(a4)
    sheet.fit_to_pages(pages, 0)
    sheet.set_margins(left=_MARGIN, right=_MARGIN)
    sheet.set_footer(
        f"&L{shorten(title, _LONGEST_FOOTER, placeholder='…').replace('&', '&&')}&R{page_of}"
    )
