"""Data sheet for analysts to fill in: header, descriptions, formats, input checks.

Shared by the template and the rejects workbook. Everything is written row by row, for workbooks in
constant memory. Templates are always in Portuguese, the language of their readers.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from textwrap import shorten
from typing import Any

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.resources import KEY, Column, Kind, Resource
from xlbridge.resources.checks import ROW_RULES, RULES
from xlbridge.workbook import style
from xlbridge.workbook.address import MAX_TEXT_LENGTH, cell_address, column_letters
from xlbridge.workbook.signature import LISTS_SHEET
from xlbridge.workbook.write.new_workbook import print_across_pages

TRUE, FALSE = "VERDADEIRO", "FALSO"

_KIND_NAMES: Mapping[Kind, str] = {
    Kind.TEXT: "texto",
    Kind.CODE: "código (texto)",
    Kind.CNPJ: "CNPJ (texto)",
    Kind.CPF: "CPF (texto)",
    Kind.INTEGER: "número inteiro",
    Kind.NUMBER: "número",
    Kind.MONEY: "valor em reais",
    Kind.DATE: "data",
    Kind.BOOLEAN: f"{TRUE} ou {FALSE}",
}


def kind_name(column: Column) -> str:
    """Return the kind of a column's values, such as ``número inteiro``."""
    return "da lista, ou código, nome ou documento" if column.link else _KIND_NAMES[column.kind]


def obligation(column: Column) -> str:
    """Return ``obrigatória`` or ``opcional``."""
    return "obrigatória" if column.required else "opcional"


def rules_in_words(column: Column) -> str:
    """Return the rules of a column's values, separated by semicolons."""
    checks = [RULES[name].wording(statistics).pt for name, statistics in column.checks.items()]
    return "; ".join(["dd/mm/aaaa", *checks] if column.kind is Kind.DATE else checks)


def row_rules_in_words(resource: Resource) -> list[str]:
    """Return the rules across columns and rows, one sentence each."""
    return [ROW_RULES[c.name].wording(c.statistics).pt for c in resource.row_checks]


def example_in_words(column: Column) -> str:
    """Return a column's example as an analyst would type it, empty if there is none."""
    example = column.example
    if example is None:
        return ""
    if column.kind is Kind.BOOLEAN:
        return TRUE if example else FALSE
    if isinstance(example, date):
        return example.strftime("%d/%m/%Y")
    if column.kind in {Kind.MONEY, Kind.NUMBER}:
        number = f"{example:,.2f}" if column.kind is Kind.MONEY else f"{example:,}"
        return number.translate(str.maketrans(",.", ".,"))
    return str(example)


_TITLE_LIMIT, _PROMPT_LIMIT, _ERROR_LIMIT, _FORMULA_LIMIT = 32, 255, 225, 255  # Excel's

_BOUNDS: Mapping[str, str] = {
    "greater_than": ">",
    "greater_than_or_equal_to": ">=",
    "less_than": "<",
    "less_than_or_equal_to": "<=",
}
_MASKS: Mapping[Kind, str] = {Kind.CNPJ: "./-", Kind.CPF: ".-"}
_MAX_NUMBER = 10**15
_FIRST_DAY = date(1900, 1, 1)


def input_check(column: Column, index: int, choices: str | None) -> dict[str, Any]:
    """Return the options of xlsxwriter for the input check of a column's cells.

    ``index`` is the zero-based column; ``choices`` is the range of its allowed values, if any. A
    check that may be wrong only warns: the validator decides.
    """
    check = _check_of_kind(column, index)
    if choices:
        # Records that the list lacks may be typed.
        error_type = "warning" if column.link else "stop"
        check = {"validate": "list", "source": f"={choices}", "error_type": error_type}
    expected = "; ".join(filter(None, (kind_name(column), rules_in_words(column))))
    example = example_in_words(column)
    return {
        "error_type": "stop",
        **check,
        "ignore_blank": True,
        "input_title": _shorten(column.title.pt, _TITLE_LIMIT),
        "input_message": _shorten(
            f"{column.description} Aqui cabe: {expected}."
            + (f" Exemplo: {example}" if example else ""),
            _PROMPT_LIMIT,
        ),
        "error_title": _shorten(column.title.pt, _TITLE_LIMIT),
        "error_message": _shorten(_ERROR.format(expected=expected), _ERROR_LIMIT)
        if column.link is None
        else _NOT_OFFERED,
    }


_ERROR = "O valor não serve. Aqui cabe: {expected}."
_NOT_OFFERED = "Não está na lista. Código, nome ou documento de outro registro do sistema serve."


def _shorten(text: str, limit: int) -> str:
    return shorten(text, limit, placeholder="…")


def _check_of_kind(column: Column, index: int) -> dict[str, Any]:
    match column.kind:
        case Kind.BOOLEAN:
            return {"validate": "list", "source": [TRUE, FALSE], "error_type": "warning"}
        case Kind.DATE:
            return {"validate": "date", "criteria": ">=", "value": _FIRST_DAY}
        case Kind.INTEGER:
            return {"validate": "integer", **_bounds(column)}
        case Kind.NUMBER | Kind.MONEY:
            return {"validate": "decimal", **_bounds(column)}
        case _:
            if column.kind in _MASKS:
                length = _exact_length(column, index, _MASKS[column.kind])
                return length | {"error_type": "warning"}
            if "digits" in column.checks:
                return _exact_length(column, index, column.checks["digits"].get("separators", ""))
            if "str_length" in column.checks:
                lengths = _between(column.checks["str_length"], 0, MAX_TEXT_LENGTH)
                return {"validate": "length", **lengths}
            return {"validate": "any"}


def _bounds(column: Column) -> dict[str, Any]:
    bounds = [name for name in _BOUNDS if name in column.checks]
    if bounds and "in_range" not in column.checks:
        return {"criteria": _BOUNDS[bounds[0]], "value": column.checks[bounds[0]]["value"]}
    return _between(column.checks.get("in_range", {}), -_MAX_NUMBER, _MAX_NUMBER)


def _between(span: Mapping[str, Any], least: int, most: int) -> dict[str, Any]:
    """Return the criterion of a span's limits; ``least`` and ``most`` are the default ones."""
    minimum, maximum = span.get("min_value", least), span.get("max_value", most)
    return {"criteria": "between", "minimum": minimum, "maximum": maximum}


def _exact_length(column: Column, index: int, separators: str) -> dict[str, Any]:
    bare = cell_address(2, index)
    for separator in separators:
        quoted = separator.replace('"', '""')
        bare = f'SUBSTITUTE({bare},"{quoted}","")'
    formula = f"LEN({bare})={column.width}"
    if len(formula) > _FORMULA_LIMIT:
        return {"validate": "any"}
    return {"validate": "custom", "value": f"={formula}"}


_LAST_ROW = 100_000
_HEADER_HEIGHT = 24
_KEY_WIDTH, _FREE_TEXT_WIDTH, _MAX_WIDTH = 16, 40, 48
_MIN_WIDTHS: Mapping[Kind, int] = {Kind.DATE: 12, Kind.MONEY: 14}
_COMMENT_WIDTH, _COMMENT_LINE, _COMMENT_SYMBOLS = 320, 18, 46

_HEADER = {"bold": True, "indent": 1, "valign": "vcenter", "border": 1, "border_color": style.RULE}
REQUIRED_HEADER = {**_HEADER, "bg_color": style.STRONG, "font_color": "FFFFFF"}
OPTIONAL_HEADER = {**_HEADER, "bg_color": style.SOFT, "font_color": style.STRONG}
REMARK_HEADER = {**_HEADER, "italic": True, "bg_color": style.REMARK, "font_color": style.QUIET}
"""Formats of the headers of required, optional and added columns."""


def add_data_sheets(
    book: xlsxwriter.Workbook,
    resource: Resource,
    remarks: Mapping[str, int],
    list_ranges: Mapping[str, str],
) -> dict[str, Worksheet]:
    """Add the main sheet of a resource and its child sheets; return them by name."""
    sheets = {}
    choices = {
        (part.sheet, column.name): f"{LISTS_SHEET}!$B${row}:${letters}${row}"
        for row, (part, column) in enumerate(_limited_columns(resource), start=1)
        for letters in [column_letters(len(column.allowed))]
    }
    for part in (resource, *resource.children):
        added = remarks if part is resource else {}
        sheet: Worksheet = book.add_worksheet(part.sheet)
        required, optional, remark = map(
            book.add_format, (REQUIRED_HEADER, OPTIONAL_HEADER, REMARK_HEADER)
        )
        sheet.set_row_pixels(0, _HEADER_HEIGHT)
        for index, column in enumerate(part.columns):
            sheet.set_column(index, index, _width(column), cell_format(book, column))
            sheet.write_string(0, index, column.name, required if column.required else optional)
            sheet.write_comment(0, index, *_comment(column))
            offered = list_ranges.get(column.link.registry) if column.link else None
            check = input_check(column, index, offered or choices.get((part.sheet, column.name)))
            sheet.data_validation(1, index, _LAST_ROW, index, check)
        if texts := [i for i, column in enumerate(part.columns) if column.kind.is_text]:
            ranges = (f"{cell_address(2, i)}:{cell_address(_LAST_ROW + 1, i)}" for i in texts)
            sheet.ignore_errors({"number_stored_as_text": " ".join(ranges)})
        for index, (name, width) in enumerate(added.items(), start=len(part.columns)):
            sheet.set_column(index, index, width)
            sheet.write_string(0, index, name, remark)
        widths = [*map(_width, part.columns), *added.values()]
        _set_up_view_and_print(sheet, part, widths)
        sheets[part.sheet] = sheet
    return sheets


def add_lists_sheet(book: xlsxwriter.Workbook, resource: Resource) -> None:
    """Add the hidden sheet of the dropdowns, one row per column with allowed values.

    Unlike a list in the check itself, a range may exceed 255 characters and contain commas.
    """
    limited = _limited_columns(resource)
    if not limited:
        return
    sheet: Worksheet = book.add_worksheet(LISTS_SHEET)
    for row, (_, column) in enumerate(limited):
        for index, value in enumerate((column.name, *column.allowed)):
            sheet.write_string(row, index, value)
    sheet.hide()


def cell_format(book: xlsxwriter.Workbook, column: Column) -> Format:
    """Return the format of a column's data cells."""
    number_format: Format = book.add_format({"num_format": style.NUMBER_FORMATS[column.kind]})
    return number_format


def _limited_columns(resource: Resource) -> list[tuple[Resource, Column]]:
    """Return the columns with allowed values, each with its resource."""
    parts = (resource, *resource.children)
    return [(part, column) for part in parts for column in part.columns if column.allowed]


def _width(column: Column) -> int:
    text_length = column.checks.get("str_length", {}).get("max_value", 0)
    content = min(text_length, _FREE_TEXT_WIDTH) if column.kind is Kind.TEXT else 0
    if column.link is not None:
        content = _FREE_TEXT_WIDTH
    if column.name == KEY:
        content = _KEY_WIDTH
    return min(
        _MAX_WIDTH,
        max(
            len(column.name) + 6,  # bold text, and the filter button
            len(example_in_words(column)) + 2,
            _MIN_WIDTHS.get(column.kind, 0),
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


def _set_up_view_and_print(sheet: Worksheet, resource: Resource, widths: Sequence[int]) -> None:
    sheet.set_comments_author("xlbridge")
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, _LAST_ROW, len(widths) - 1)
    sheet.set_tab_color(style.STRONG)
    print_across_pages(sheet, resource.title.pt, widths)
    sheet.repeat_rows(0)
