"""Permitted values of a column: in words, for headers and instructions, and as an input check; and
the lists of a template: records of the system's registries, which dropdowns offer.

A check that may be wrong only warns, as the validator decides.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from textwrap import shorten
from typing import Any

import xlsxwriter
from xlsxwriter.worksheet import Worksheet

from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Column, Kind
from xlbridge.resources.checks import RULES
from xlbridge.workbook import style
from xlbridge.workbook.address import MAX_TEXT_LENGTH, cell_address, column_letters
from xlbridge.workbook.signature import REGISTRIES_SHEET, REGISTRIES_TITLE
from xlbridge.workbook.write.new_workbook import print_across_pages

_TRUE, _FALSE = Text(pt="VERDADEIRO", en="TRUE"), Text(pt="FALSO", en="FALSE")

_KIND_NAMES: Mapping[Kind, Text] = {
    Kind.TEXT: Text(pt="texto", en="text"),
    Kind.CODE: Text(pt="código (texto)", en="code (text)"),
    Kind.CNPJ: Text(pt="CNPJ (texto)", en="CNPJ (text)"),
    Kind.CPF: Text(pt="CPF (texto)", en="CPF (text)"),
    Kind.INTEGER: Text(pt="só números", en="only digits"),
    Kind.NUMBER: Text(pt="número", en="number"),
    Kind.MONEY: Text(pt="valor em reais", en="amount in reais"),
    Kind.DATE: Text(pt="data", en="date"),
    Kind.BOOLEAN: Text(pt="VERDADEIRO ou FALSO", en="TRUE or FALSE"),
}
_KIND_OF_LISTED = Text(
    pt="da lista, ou código, nome ou documento", en="from the list, or code, name or document"
)


def kind_name(column: Column) -> str:
    """Return the kind of a column's values, such as “only digits”."""
    return str(_KIND_OF_LISTED if column.link else _KIND_NAMES[column.kind])


OBLIGATIONS = {
    True: Text(pt="obrigatória", en="required"),
    False: Text(pt="opcional", en="optional"),
}
"""Words for whether a column is required."""


_TECHNICAL_BOUND = 10**9
"""Bounds from here on are those of the system's storage, which tell people nothing."""


def rules_in_words(column: Column) -> str:
    """Return the rules of a column's values, separated by semicolons."""
    checks = [
        str(RULES[name].wording(statistics))
        for name, statistics in column.checks.items()
        if not any(
            isinstance(value, int | float) and value >= _TECHNICAL_BOUND
            for value in statistics.values()
        )
    ]
    return "; ".join([str(_DAY_FORMAT), *checks] if column.kind is Kind.DATE else checks)


_DAY_FORMAT = Text(pt="dd/mm/aaaa", en="dd/mm/yyyy")


def example_in_words(column: Column) -> str:
    """Return a column's example as an analyst would type it, empty if there is none."""
    example = column.example
    if example is None:
        return ""
    if column.kind is Kind.BOOLEAN:
        return str(_TRUE if example else _FALSE)
    if isinstance(example, date):
        return example.strftime("%d/%m/%Y")
    if column.kind in {Kind.MONEY, Kind.NUMBER}:
        number = f"{example:,.2f}" if column.kind is Kind.MONEY else f"{example:,}"
        return str(Text(pt=number.translate(str.maketrans(",.", ".,")), en=number))
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
        error_type = "warning" if column.link or column.references else "stop"
        check = {"validate": "list", "source": f"={choices}", "error_type": error_type}
    expected = "; ".join(filter(None, (kind_name(column), rules_in_words(column))))
    example = example_in_words(column)
    return {
        "error_type": "stop",
        **check,
        "ignore_blank": True,
        "input_title": _shorten(column.title, _TITLE_LIMIT),
        "input_message": _shorten(
            " ".join(
                [
                    *filter(None, [str(column.description)]),
                    str(_EXPECTED.format(expected=expected)),
                    *([str(EXAMPLE.format(example=example))] if example else []),
                ]
            ),
            _PROMPT_LIMIT,
        ),
        "error_title": _shorten(column.title, _TITLE_LIMIT),
        "error_message": _shorten(_ERROR.format(expected=expected), _ERROR_LIMIT)
        if column.link is None
        else str(_NOT_OFFERED),
    }


_EXPECTED = Text(pt="Aqui cabe: {expected}.", en="Expected: {expected}.")
EXAMPLE = Text(pt="Exemplo: {example}", en="Example: {example}")
_ERROR = Text(
    pt="O valor não serve. Aqui cabe: {expected}.",
    en="This value does not fit. Expected: {expected}.",
)
_NOT_OFFERED = Text(
    pt="Não está na lista. Código, nome ou documento de outro registro do sistema serve.",
    en="Not in the list. The code, name or document of another record in the system will do.",
)


def _shorten(text: Text | str, limit: int) -> str:
    return shorten(str(text), limit, placeholder="…")


def _check_of_kind(column: Column, index: int) -> dict[str, Any]:
    match column.kind:
        case Kind.BOOLEAN:
            choices = [str(_TRUE), str(_FALSE)]
            return {"validate": "list", "source": choices, "error_type": "warning"}
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


_CHOICE_HEADER = Text(pt="código – nome", en="code – name")
_SIZE = untranslated("{title}: {n}")
_TRUNCATED = Text(
    pt="{title}: {n}; aqui {listed}, os outros por código ou nome",
    en="{title}: {n}; {listed} are here, the others by code or name",
)
_FIRST_ROW = 4  # Excel's number: above are a title, the registries' titles and the headers
_MAX_CHOICE_LENGTH = 255  # Excel's limit
_LIST_WIDTHS = (44, 20)
_GAP_WIDTH = 3


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """Record of a registry: its code, its label, and its other ``names``."""

    code: str
    label: str
    names: tuple[str, ...] = ()

    @property
    def choice(self) -> str:
        """Choice of a dropdown: ``code – label``, or the code alone if that is not possible."""
        text = f"{self.code} – {self.label}"
        plain = self.label and text.isprintable() and len(text) <= _MAX_CHOICE_LENGTH
        return text if plain else self.code


@dataclass(frozen=True, slots=True)
class RegistryList:
    """Records of a registry that a template offers, out of ``total``.

    ``headers`` are the headers of their other names.
    """

    registry: str
    title: str
    headers: tuple[str, ...]
    records: tuple[ListedRecord, ...]
    total: int

    @property
    def is_truncated(self) -> bool:
        """True if the registry has more records than the template offers."""
        return len(self.records) < self.total


@dataclass(frozen=True, slots=True)
class RegistryLists:
    """Lists of a template, and their source: the system and the time of reading.

    ``system`` identifies the remote system, which the workbook carries.
    """

    source: str
    lists: tuple[RegistryList, ...] = ()
    system: str = ""

    def ranges(self) -> Mapping[str, str]:
        """Return the range of choices of each registry's dropdown."""
        return {
            registry.registry: f"{REGISTRIES_SHEET}!${letters}${_FIRST_ROW}:"
            f"${letters}${_FIRST_ROW + len(registry.records) - 1}"
            for registry, column in self.with_columns()
            if registry.records
            for letters in [column_letters(column)]
        }

    def with_columns(self) -> Iterator[tuple[RegistryList, int]]:
        """Yield each list with its first zero-based column."""
        column = 0
        for registry in self.lists:
            yield registry, column
            column += len(registry.headers) + 2


NO_LISTS = RegistryLists("")
"""Lists of a template for any system."""


def add_registries_sheet(book: xlsxwriter.Workbook, lists: RegistryLists) -> None:
    """Add the sheet of the registries' lists, if there are any."""
    if not lists.lists:
        return
    sheet: Worksheet = book.add_worksheet(str(REGISTRIES_SHEET))
    title = book.add_format({"bold": True, "font_size": 13, "font_color": style.STRONG})
    quiet = book.add_format({"font_color": style.QUIET})
    header = book.add_format({"bold": True, "bg_color": style.SOFT, "font_color": style.STRONG})
    # Text format, so that edited codes do not become numbers or formulas.
    text = book.add_format({"num_format": "@"})
    cells = {(0, 0): (f"{REGISTRIES_TITLE}{lists.source}", title)}
    for registry, column in lists.with_columns():
        gap = column + len(registry.headers) + 1
        sheet.set_column(column, column, _LIST_WIDTHS[0], text)
        sheet.set_column(column + 1, gap - 1, _LIST_WIDTHS[1], text)
        sheet.set_column(gap, gap, _GAP_WIDTH)
        counts = {"n": registry.total, "listed": len(registry.records)}
        size = _TRUNCATED if registry.is_truncated else _SIZE
        cells[1, column] = str(size.format(title=registry.title, **counts)), quiet
        for index, name in enumerate((str(_CHOICE_HEADER), *registry.headers), start=column):
            cells[2, index] = name, header
        for row, record in enumerate(registry.records, start=_FIRST_ROW - 1):
            for index, value in enumerate((record.choice, *record.names), start=column):
                cells[row, index] = value, text
    for position, (value, cell_format) in sorted(cells.items()):
        sheet.write_string(*position, value, cell_format)
    sheet.freeze_panes(_FIRST_ROW - 1, 0)
    sheet.set_tab_color(style.RULE)
    print_across_pages(sheet, str(REGISTRIES_SHEET))
    sheet.repeat_rows(0, _FIRST_ROW - 2)
