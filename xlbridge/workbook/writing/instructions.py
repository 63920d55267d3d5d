"""The sheet of a template that tells how to fill it in, in Portuguese.

The examples live here only, so that none can be uploaded by mistake.
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.resources.resource import Resource
from xlbridge.workbook import style
from xlbridge.workbook.signature import INSTRUCTIONS_SHEET, INSTRUCTIONS_TITLE
from xlbridge.workbook.writing.column_guide import (
    example_in_words,
    kind_name,
    obligation,
    row_rules_in_words,
    rules_in_words,
)
from xlbridge.workbook.writing.data_sheet import (
    OPTIONAL_HEADER,
    REQUIRED_HEADER,
    print_across_pages,
)

_TABLE = ("Coluna", "Título", "Preenchimento", "Tipo", "O que é", "Regras", "Exemplo")
_WIDTHS = (32, 15, 18, 46, 36, 30)
"""Of the columns of the table behind the first, which is as wide as the names that it holds."""
_NARROWEST_NAME, _WIDEST_NAME = 32, 48
_LINE_HEIGHT, _PADDING = 15, 5
_HIGHEST_ROW = 409  # Excel's own

_STEPS = """\
Preencha a planilha “{sheet}”, uma linha por registro, a partir da linha 2.
Não mude os nomes das colunas. A ordem pode mudar; coluna opcional sem uso pode ser apagada.
Preencha as colunas obrigatórias; nas opcionais deixe em branco o que não houver, sem “-” nem “N/A”.
Cole só valores (Colar especial > Valores), para não perder os formatos e as conferências.
Códigos são texto: os zeros à esquerda contam, e as células já estão formatadas para guardá-los.
Os exemplos ficam só nesta página; nada daqui é enviado.
"""

_LOOKS: Mapping[str, Mapping[str, Any]] = {
    "title": {"bold": True, "font_size": 18, "font_color": style.STRONG},
    "heading": {
        "bold": True,
        "font_size": 13,
        "font_color": style.STRONG,
        "bottom": 2,
        "bottom_color": style.STRONG,
    },
    "plain": {},
    "command": {"font_name": "Consolas", "bg_color": "F2F2F2", "valign": "vcenter"},
    "required": REQUIRED_HEADER,
    "optional": OPTIONAL_HEADER,
    "note": {"indent": 1, "valign": "vcenter"},
    "cell": {
        "text_wrap": True,
        "valign": "vcenter",
        "indent": 1,
        "border": 1,
        "border_color": style.RULE,
    },
}
_PADDED = frozenset({"required", "optional", "cell", "heading", "command"})


def add_instructions_sheet(book: xlsxwriter.Workbook, resource: Resource) -> None:
    """Add the instructions: how to fill in, the colours, every column, and what to do next."""
    sheet: Worksheet = book.add_worksheet(INSTRUCTIONS_SHEET)
    longest = max(len(column.name) for column in resource.columns) + 5
    widths = (min(max(longest, _NARROWEST_NAME), _WIDEST_NAME), *_WIDTHS)
    looks = {name: book.add_format(dict(look)) for name, look in _LOOKS.items()}
    page = _Page(sheet, looks, widths)
    for index, width in enumerate(widths):
        sheet.set_column(index, index, width)
    sheet.hide_gridlines(2)
    sheet.set_tab_color(style.RULE)
    print_across_pages(sheet, f"{resource.title.pt}: instruções")
    page.line("title", f"{INSTRUCTIONS_TITLE}{resource.title.pt}")
    page.line("plain", resource.description)
    _how_to_fill_in(page, resource)
    _colours(page)
    _columns(page, resource)
    _next_steps(page, resource)


class _Page:
    """Writes lines one below the other."""

    def __init__(
        self, sheet: Worksheet, looks: Mapping[str, Format], widths: Sequence[int]
    ) -> None:
        self.sheet = sheet
        self.looks = looks
        self.widths = widths
        self.row = 0

    def line(self, look: str, *texts: str) -> None:
        self.cells([(look, text) for text in texts])

    def cells(self, cells: Sequence[tuple[str, str]]) -> None:
        if any(look in _PADDED for look, _ in cells):
            lines = max(map(_lines, cells, self.widths))
            height = _PADDING + _LINE_HEIGHT * lines
            self.sheet.set_row(self.row, min(height, _HIGHEST_ROW))
        for index, (look, text) in enumerate(cells):
            self.sheet.write_string(self.row, index, text, self.looks[look])
        self.row += 1

    def heading(self, text: str) -> None:
        self.row += 1
        self.line("heading", text, *[""] * len(_WIDTHS))


def _lines(cell: tuple[str, str], width: int) -> int:
    """How many lines a cell's text takes; no program works it out for a file that it opens."""
    look, text = cell
    return len(wrap(text, width - 3)) if look == "cell" else 1


def _how_to_fill_in(page: _Page, resource: Resource) -> None:
    page.heading("Como preencher")
    for number, text in enumerate(_STEPS.format(sheet=resource.name).splitlines(), start=1):
        page.line("plain", f"{number}. {text}")


def _colours(page: _Page) -> None:
    page.heading("Cores do cabeçalho")
    page.cells([("required", "coluna obrigatória"), ("note", "Sem ela a linha não é aceita.")])
    page.cells([("optional", "coluna opcional"), ("note", "Pode ficar em branco.")])


def _columns(page: _Page, resource: Resource) -> None:
    page.heading("As colunas")
    page.line("required", *_TABLE)
    for column in resource.columns:
        texts = (
            column.title.pt,
            obligation(column),
            kind_name(column),
            column.description,
            rules_in_words(column),
            example_in_words(column),
        )
        name = ("required" if column.required else "optional", column.name)
        page.cells([name, *(("cell", text) for text in texts)])
    rules = row_rules_in_words(resource)
    if rules:
        page.heading("Regras entre colunas")
    for rule in rules:
        page.line("plain", f"• {rule}")


def _next_steps(page: _Page, resource: Resource) -> None:
    page.heading("E depois")
    for text, command in (
        ("Confira no próprio computador:", f"xlbridge validate {resource.name}.xlsx"),
        (
            "Veja os erros marcados nas células:",
            f"xlbridge validate {resource.name}.xlsx --annotate conferido.xlsx",
        ),
        ("Envie:", f"xlbridge upload {resource.name}.xlsx"),
    ):
        page.cells([("note", text), ("command", command), ("command", ""), ("command", "")])
