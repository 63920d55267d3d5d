"""Import template of a resource: the data sheet to fill in, instructions, lists of allowed values.

Source of the columns and rules: the resource's schema file, through the catalogue. The
instructions are in Portuguese; the examples are there only, so that none is uploaded by
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

_OFFERED = "código – nome"
_FIRST_ROW = 4  # counted from 1: the records stand below a title, the registries' and the headers
_LONGEST_OFFER = 255  # what Excel takes from a list
_LIST_WIDTHS = (44, 20)
_GAP_WIDTH = 3


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """Record of a registry: its code, what it is called, and its other ``names``."""

    code: str
    label: str
    names: tuple[str, ...] = ()

    @property
    def offered(self) -> str:
        """What a dropdown offers: ``code – name``, or the code alone where Excel takes no more."""
        text = f"{self.code} – {self.label}"
        plain = self.label and text.isprintable() and len(text) <= _LONGEST_OFFER
        return text if plain else self.code


@dataclass(frozen=True, slots=True)
class RegistryList:
    """Records of a registry that a template offers, of ``total`` that may be used.

    ``headers`` say what their other names are.
    """

    registry: str
    title: str
    headers: tuple[str, ...]
    records: tuple[ListedRecord, ...]
    total: int

    @property
    def is_truncated(self) -> bool:
        """True where the registry has more records than the template offers."""
        return len(self.records) < self.total


@dataclass(frozen=True, slots=True)
class RegistryLists:
    """The lists of a template, and from which system they were read, and when."""

    source: str
    lists: tuple[RegistryList, ...] = ()

    def ranges(self) -> Mapping[str, str]:
        """Return the cells that hold what each registry's dropdown offers."""
        return {
            one.registry: f"{REGISTRIES_SHEET}!${letters}${_FIRST_ROW}:"
            f"${letters}${_FIRST_ROW + len(one.records) - 1}"
            for one, place in self.places()
            if one.records
            for letters in [column_letters(place)]
        }

    def places(self) -> Iterator[tuple[RegistryList, int]]:
        """Yield each list with its first column, counted from 0."""
        place = 0
        for one in self.lists:
            yield one, place
            place += len(one.headers) + 2


NO_LISTS = RegistryLists("")
"""The lists of a template that is for any system."""

_TABLE_HEADERS = ("Coluna", "Título", "Preenchimento", "Tipo", "O que é", "Regras", "Exemplo")
_WIDTHS = (32, 15, 18, 46, 36, 30)
"""Widths of the table's columns after the first, which is as wide as its names."""
_NARROWEST_NAME, _USUAL_NAME, _WIDEST_NAME = 32, 38, 48
_DESCRIPTION = 2
"""Place of the widest of the columns behind the titles."""
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

_STEPS_OF_CHILDREN = """\
As listas de cada registro vão em {names}, uma linha por item; planilha sem uso fica em branco.
A coluna “chave” junta as planilhas: escolha um texto por linha de “{sheet}” e repita-o nos itens.
"""

_STEPS_OF_LISTS = """\
Escolha na lista em: {columns}. Código, nome ou documento também servem; o envio acha o código.
A planilha “Cadastros” tem o que as listas oferecem, para procurar (Ctrl+L); não é enviada.
"""

_FORMATS: Mapping[str, Mapping[str, Any]] = {
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
_PADDED_FORMATS = frozenset({"required", "optional", "cell", "heading", "command"})


def add_instructions_sheet(
    book: xlsxwriter.Workbook, resource: Resource, lists: RegistryLists
) -> None:
    """Add the instructions: how to fill in, the colours, every column, and what to do next."""
    sheet: Worksheet = book.add_worksheet(INSTRUCTIONS_SHEET)
    columns = [column for one in (resource, *resource.children) for column in one.columns]
    longest = max(len(column.name) for column in columns) + 5
    names = min(max(longest, _NARROWEST_NAME), _WIDEST_NAME)
    titles, *others = _WIDTHS
    # What long names take beyond the usual is missing elsewhere on the page.
    others[_DESCRIPTION] -= max(0, names - _USUAL_NAME)
    widths = (names, titles, *others)
    looks = {name: book.add_format(dict(look)) for name, look in _FORMATS.items()}
    page = _InstructionsWriter(sheet, looks, widths)
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
    for one in (resource, *resource.children):
        _write_columns(
            page, one, f"As colunas da planilha “{one.sheet}”" if resource.children else ""
        )
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


class _InstructionsWriter:
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
        if any(look in _PADDED_FORMATS for look, _ in cells):
            lines = max(map(_line_count, cells, self.widths))
            height = _PADDING + _LINE_HEIGHT * lines
            self.sheet.set_row(self.row, min(height, _HIGHEST_ROW))
        for index, (look, text) in enumerate(cells):
            self.sheet.write_string(self.row, index, text, self.looks[look])
        self.row += 1

    def heading(self, text: str) -> None:
        self.row += 1
        self.line("heading", text, *[""] * len(_WIDTHS))


def _line_count(cell: tuple[str, str], width: int) -> int:
    """Return the number of lines of a cell's text; no program computes it on opening a file."""
    look, text = cell
    return len(wrap(text, width - 3)) if look == "cell" else 1


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
    page.heading(heading or "As colunas")
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
    rules = row_rules_in_words(resource)
    if rules:
        page.heading("Regras entre colunas")
    for rule in rules:
        page.line("plain", f"• {rule}")


def write_template(path: Path, resource: Resource, lists: RegistryLists = NO_LISTS) -> None:
    """Write the blank workbook: the sheet to fill in and the instructions, in Portuguese.

    ``lists`` are the records of registries that the linked columns of ``resource`` offer. The same
    schema and lists give the same bytes. Raises ``UsageError`` when the file cannot be written.
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
    """Give a workbook laid out as the template, and its data sheets by name.

    ``remarks`` are the names and widths of columns to add after the resource's own. Rows of a
    sheet must be written in their order. Raises ``UsageError`` when the file cannot be written.
    """
    offers = lists.ranges()
    mark = Fingerprint.parse(resource.fingerprint)
    linked = tuple(
        c.name if one is resource else f"{one.sheet}.{c.name}"
        for one in (resource, *resource.children)
        for c in one.columns
        if c.link and c.link.registry in offers
    )
    signature = (TEMPLATE_PROPERTY, str(mark and replace(mark, listed=linked)))
    with new_workbook(path, signature=signature, shared=shared) as book:
        yield book, add_data_sheets(book, resource, remarks or {}, offers)
        add_instructions_sheet(book, resource, lists)
        add_lists_sheet(book, resource)
        add_registries_sheet(book, lists)


def add_registries_sheet(book: xlsxwriter.Workbook, lists: RegistryLists) -> None:
    """Add the sheet of the registries, if there are any."""
    if not lists.lists:
        return
    sheet: Worksheet = book.add_worksheet(REGISTRIES_SHEET)
    title = book.add_format({"bold": True, "font_size": 13, "font_color": style.STRONG})
    quiet = book.add_format({"font_color": style.QUIET})
    header = book.add_format({"bold": True, "bg_color": style.SOFT, "font_color": style.STRONG})
    # A text format, so that no program takes an edited code for a number or a formula.
    text = book.add_format({"num_format": "@"})
    for one, place in lists.places():
        sheet.set_column(place, place, _LIST_WIDTHS[0], text)
        sheet.set_column(place + 1, place + len(one.headers), _LIST_WIDTHS[1], text)
        gap = place + len(one.headers) + 1
        sheet.set_column(gap, gap, _GAP_WIDTH)
    sheet.write_string(0, 0, f"{REGISTRIES_TITLE}{lists.source}", title)
    for one, place in lists.places():
        cut = f"; aqui {len(one.records)}, os outros por código ou nome" if one.is_truncated else ""
        sheet.write_string(1, place, f"{one.title}: {one.total}{cut}", quiet)
    for one, place in lists.places():
        for index, name in enumerate((_OFFERED, *one.headers)):
            sheet.write_string(2, place + index, name, header)
    for row in range(max(len(one.records) for one in lists.lists)):
        for one, place in lists.places():
            if row < len(one.records):
                record = one.records[row]
                for index, value in enumerate((record.offered, *record.names)):
                    sheet.write_string(_FIRST_ROW - 1 + row, place + index, value, text)
    sheet.freeze_panes(_FIRST_ROW - 1, 0)
    sheet.set_tab_color(style.RULE)
    print_across_pages(sheet, REGISTRIES_SHEET)
