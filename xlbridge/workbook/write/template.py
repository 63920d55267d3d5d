"""Import template of a resource: the data sheet to fill in, instructions, lists of allowed values.

The instructions are in Portuguese; only they have the examples, so that none is uploaded by
mistake.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.resources import Fingerprint, Resource
from xlbridge.workbook import style
from xlbridge.workbook.address import column_letters
from xlbridge.workbook.signature import (
    INSTRUCTIONS_SHEET,
    INSTRUCTIONS_TITLE,
    REGISTRIES_SHEET,
    REGISTRIES_TITLE,
    TEMPLATE_PROPERTY,
)
from xlbridge.workbook.write.data_sheet import (
    OPTIONAL_HEADER,
    REQUIRED_HEADER,
    add_data_sheets,
    add_lists_sheet,
    example_in_words,
    kind_name,
    obligation,
    row_rules_in_words,
    rules_in_words,
)
from xlbridge.workbook.write.new_workbook import new_workbook, print_across_pages

_CHOICE_HEADER = "código – nome"
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
    """Lists of a template, and their source: the system and the time of reading."""

    source: str
    lists: tuple[RegistryList, ...] = ()

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

_TABLE_HEADERS = ("Coluna", "Título", "Preenchimento", "Tipo", "O que é", "Regras", "Exemplo")
_WIDTHS = (32, 15, 18, 46, 36, 30)
"""Widths of the table's columns after the first, whose width fits the names."""
_MIN_NAME_WIDTH, _COMMON_NAME_WIDTH, _MAX_NAME_WIDTH = 32, 38, 48
_DESCRIPTION = 4
"""Index of the column of descriptions, the widest."""
_LINE_HEIGHT, _PADDING = 15, 5
_MAX_ROW_HEIGHT = 409  # Excel's limit

_STEPS = """\
Preencha a planilha “{sheet}”, uma linha por registro, a partir da linha 2.
Não mude os nomes das colunas. A ordem pode mudar; coluna opcional sem uso pode ser apagada.
Preencha as colunas obrigatórias; nas opcionais deixe em branco o que não houver, sem “-” nem “N/A”.
Cole só valores (Colar especial > Valores), para não perder os formatos e as conferências.
Códigos são texto: os zeros à esquerda contam, e as células já estão formatadas para guardá-los.
Os exemplos ficam só nesta página; nada daqui é enviado.
"""

_NEXT_STEPS = (
    ("Confira no próprio computador:", "xlbridge validate {file}"),
    ("Veja os erros marcados nas células:", "xlbridge validate {file} --annotate conferido.xlsx"),
    ("Envie:", "xlbridge upload {file}"),
)

_STEPS_OF_CHILDREN = """\
As listas de cada registro vão em {names}, uma linha por item; planilha sem uso fica em branco.
A coluna “chave” junta as planilhas: escolha um texto por linha de “{sheet}” e repita-o nos itens.
"""

_STEPS_OF_LISTS = """\
Escolha na lista em: {columns}. Código, nome ou documento também servem; o envio acha o código.
A planilha “Cadastros” tem o que as listas oferecem, para procurar (Ctrl+L); não é enviada.
"""

_TITLE = {"bold": True, "font_size": 13, "font_color": style.STRONG}
_NOTE = {"indent": 1, "valign": "vcenter"}
_FORMATS: Mapping[str, Mapping[str, Any]] = {
    "title": {**_TITLE, "font_size": 18},
    "heading": {**_TITLE, "bottom": 2, "bottom_color": style.STRONG},
    "plain": {},
    "command": {"font_name": "Consolas", "bg_color": "F2F2F2", "valign": "vcenter"},
    "required": REQUIRED_HEADER,
    "optional": OPTIONAL_HEADER,
    "note": _NOTE,
    "cell": {**_NOTE, "text_wrap": True, "border": 1, "border_color": style.RULE},
}
_PADDED_FORMATS = frozenset({"required", "optional", "cell", "heading", "command"})


def add_instructions_sheet(
    book: xlsxwriter.Workbook, resource: Resource, lists: RegistryLists
) -> None:
    """Add the instructions: how to fill in, colours, columns, next steps."""
    sheet: Worksheet = book.add_worksheet(INSTRUCTIONS_SHEET)
    parts = (resource, *resource.children)
    longest = max(len(column.name) for part in parts for column in part.columns) + 5
    names = min(max(longest, _MIN_NAME_WIDTH), _MAX_NAME_WIDTH)
    widths = [names, *_WIDTHS]
    # The description makes room for long names.
    widths[_DESCRIPTION] -= max(0, names - _COMMON_NAME_WIDTH)
    formats = {name: book.add_format(dict(properties)) for name, properties in _FORMATS.items()}
    page = _InstructionsWriter(sheet, formats, widths)
    for index, width in enumerate(widths):
        sheet.set_column(index, index, width)
    sheet.hide_gridlines(2)
    sheet.set_tab_color(style.RULE)
    print_across_pages(sheet, f"{resource.title.pt}: instruções")
    page.line("title", f"{INSTRUCTIONS_TITLE}{resource.title.pt}")
    page.line("plain", resource.description)
    _write_steps(page, resource, lists)
    page.heading("Cores do cabeçalho")
    page.cells([("required", "coluna obrigatória"), ("note", "Sem ela a linha não é aceita.")])
    page.cells([("optional", "coluna opcional"), ("note", "Pode ficar em branco.")])
    for part in parts:
        heading = f"As colunas da planilha “{part.sheet}”" if resource.children else "As colunas"
        _write_columns(page, part, heading)
    page.heading("E depois")
    for text, command in _NEXT_STEPS:
        filled = command.format(file=f"{resource.name}.xlsx")
        page.cells([("note", text), ("command", filled), ("command", ""), ("command", "")])


@dataclass(slots=True)
class _InstructionsWriter:
    """Writes one line after the other."""

    sheet: Worksheet
    formats: Mapping[str, Format]
    widths: Sequence[int]
    row: int = 0

    def line(self, name: str, *texts: str) -> None:
        self.cells([(name, text) for text in texts])

    def cells(self, cells: Sequence[tuple[str, str]]) -> None:
        if any(name in _PADDED_FORMATS for name, _ in cells):
            lines = max(map(_line_count, cells, self.widths))
            height = _PADDING + _LINE_HEIGHT * lines
            self.sheet.set_row(self.row, min(height, _MAX_ROW_HEIGHT))
        for index, (name, text) in enumerate(cells):
            self.sheet.write_string(self.row, index, text, self.formats[name])
        self.row += 1

    def heading(self, text: str) -> None:
        self.row += 1
        self.line("heading", text, *[""] * len(_WIDTHS))


def _line_count(cell: tuple[str, str], width: int) -> int:
    """Return the number of lines of a cell's text: programs do not compute it on opening."""
    name, text = cell
    return len(wrap(text, width - 3)) if name == "cell" else 1


def _write_steps(page: _InstructionsWriter, resource: Resource, lists: RegistryLists) -> None:
    page.heading("Como preencher")
    steps = _STEPS.format(sheet=resource.sheet).splitlines()
    if resource.children:
        names = ", ".join(f"“{child.sheet}”" for child in resource.children)
        steps[1:1] = _STEPS_OF_CHILDREN.format(sheet=resource.sheet, names=names).splitlines()
    if lists.lists:
        offered = ", ".join(c.name for c in resource.columns if c.link)
        steps[-1:-1] = _STEPS_OF_LISTS.format(columns=offered).splitlines()
    for number, text in enumerate(steps, start=1):
        page.line("plain", f"{number}. {text}")


def _write_columns(page: _InstructionsWriter, resource: Resource, heading: str) -> None:
    page.heading(heading)
    page.line("required", *_TABLE_HEADERS)
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
    if rules := row_rules_in_words(resource):
        page.heading("Regras entre colunas")
        for rule in rules:
            page.line("plain", f"• {rule}")


def write_template(path: Path, resource: Resource, lists: RegistryLists = NO_LISTS) -> None:
    """Write the blank workbook: the sheet to fill in and the instructions, in Portuguese.

    ``lists`` are the records of registries that the linked columns of ``resource`` offer. Files
    are reproducible. Raises ``UsageError`` if the file cannot be written.
    """
    with template_sheets(path, resource, shared=not lists.lists, lists=lists):
        pass


@contextmanager
def template_sheets(
    path: Path,
    resource: Resource,
    remarks: Mapping[str, int] | None = None,
    *,
    shared: bool = False,
    lists: RegistryLists = NO_LISTS,
) -> Iterator[tuple[xlsxwriter.Workbook, Mapping[str, Worksheet]]]:
    """Yield a workbook in the layout of the template, and its data sheets by name.

    ``remarks`` are the names and widths of columns to add after the resource's. Rows of a sheet
    must be written in order. Raises ``UsageError`` if the file cannot be written.
    """
    list_ranges = lists.ranges()
    fingerprint = Fingerprint.parse(resource.fingerprint)
    linked = tuple(
        c.name if part is resource else f"{part.sheet}.{c.name}"
        for part in (resource, *resource.children)
        for c in part.columns
        if c.link and c.link.registry in list_ranges
    )
    signature = (TEMPLATE_PROPERTY, str(fingerprint and replace(fingerprint, listed=linked)))
    with new_workbook(path, signature=signature, shared=shared) as book:
        yield book, add_data_sheets(book, resource, remarks or {}, list_ranges)
        add_instructions_sheet(book, resource, lists)
        add_lists_sheet(book, resource)
        add_registries_sheet(book, lists)


def add_registries_sheet(book: xlsxwriter.Workbook, lists: RegistryLists) -> None:
    """Add the sheet of the registries' lists, if there are any."""
    if not lists.lists:
        return
    sheet: Worksheet = book.add_worksheet(REGISTRIES_SHEET)
    title = book.add_format(_TITLE)
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
        shown = f"; aqui {len(registry.records)}, os outros por código ou nome"
        suffix = shown if registry.is_truncated else ""
        cells[1, column] = f"{registry.title}: {registry.total}{suffix}", quiet
        for index, name in enumerate((_CHOICE_HEADER, *registry.headers), start=column):
            cells[2, index] = name, header
        for row, record in enumerate(registry.records, start=_FIRST_ROW - 1):
            for index, value in enumerate((record.choice, *record.names), start=column):
                cells[row, index] = value, text
    for position, (value, cell_format) in sorted(cells.items()):
        sheet.write_string(*position, value, cell_format)
    sheet.freeze_panes(_FIRST_ROW - 1, 0)
    sheet.set_tab_color(style.RULE)
    print_across_pages(sheet, REGISTRIES_SHEET)
