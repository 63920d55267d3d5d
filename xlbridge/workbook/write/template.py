"""Import template of a resource: the data sheets to fill in, instructions, lists of allowed values.

A data sheet has a header, descriptions, formats and input checks; the rejects workbook has it, too.
Everything is written row by row, for workbooks in constant memory, and in the active language. Only
the instructions have the examples, so that none is uploaded by mistake.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge import titles
from xlbridge.i18n import Text, active_language
from xlbridge.report_forms import Report
from xlbridge.resources import KEY, Column, Fingerprint, Kind, Resource
from xlbridge.resources.checks import ROW_RULES
from xlbridge.settings import Headers
from xlbridge.workbook import style
from xlbridge.workbook.address import MAX_ROWS, cell_address, column_letters
from xlbridge.workbook.signature import (
    INSTRUCTIONS_SHEET,
    INSTRUCTIONS_TITLE,
    LISTS_SHEET,
    REGISTRIES_SHEET,
    UPLOAD_SUMMARY_SHEET,
    WorkbookOrigin,
)
from xlbridge.workbook.write.column_inputs import (
    EXAMPLE,
    NO_LISTS,
    OBLIGATIONS,
    RegistryLists,
    add_registries_sheet,
    example_in_words,
    input_check,
    kind_name,
    rules_in_words,
)
from xlbridge.workbook.write.new_workbook import FilledRows, new_workbook, print_across_pages
from xlbridge.workbook.write.report_workbook import write_cover

_LAST_ROW = 100_000
_HEADER_PADDING, _HEADER_INDENT = 3, 1
_BESIDE_TEXT = 4
"""Indent and margins of a text."""
_MOST_REPEATED = 36
"""Width of the columns that are repeated on each page, if there is more than one of them."""
FREE_TEXT_WIDTH = 30
"""Width of a column of free text, which wraps in sheets with columns in front of it."""
_KEY_WIDTH, _CHOICE_WIDTH, _MAX_WIDTH = 16, 40, 48
_MIN_WIDTHS: Mapping[Kind, int] = {Kind.DATE: 12, Kind.MONEY: 14}
_COMMENT_LINE, _COMMENT_SYMBOLS = 18, 46
_COMMENT = {"width": 320, "font_name": style.FONT, "font_size": 10}

_HEADER = {
    "bold": True, "indent": 1, "valign": "vcenter", "text_wrap": True,
    "border": 1, "border_color": style.RULE,
}  # fmt: skip
_REQUIRED_HEADER = {**_HEADER, "bg_color": style.STRONG, "font_color": "FFFFFF"}
_OPTIONAL_HEADER = {**_HEADER, "bg_color": style.SOFT, "font_color": style.STRONG}
_OVER_NUMBERS = {"align": "right", "indent": 2}
"""Alignment of a header above numbers or dates, beside the button of the filter."""
_REMARK_HEADER = {**_HEADER, "italic": True, "bg_color": style.REMARK, "font_color": style.QUIET}
"""Formats of the headers of required, optional and added columns."""


AddedColumn = tuple[str, int, str]
"""Column of a main sheet that is not the resource's: its header, width and note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetLayout:
    """Layout of the data sheets of a resource: the columns added ``before`` and ``after`` those of
    the main sheet, and what the headers are."""

    before: Sequence[AddedColumn]
    after: Sequence[AddedColumn]
    headers: Headers

    def header(self, column: Column) -> str:
        """Return the header of a column."""
        return header_text(column, self.headers)

    def added(
        self, part: Resource, resource: Resource
    ) -> tuple[Sequence[AddedColumn], Sequence[AddedColumn]]:
        """Return the columns added before and after those of a sheet of ``resource``."""
        return (self.before, self.after) if part is resource else ((), ())

    def widths(self, part: Resource, resource: Resource) -> list[int]:
        """Return the widths of the columns of a sheet of ``resource``."""
        before, after = self.added(part, resource)
        return [
            *(width for _, width, _ in before),
            *(_width(column, self.header(column)) for column in part.sheet_columns),
            *(width for _, width, _ in after),
        ]


def header_text(column: Column, headers: Headers) -> str:
    """Return the header of a column; the title of a required one is marked."""
    if headers == "names":
        return column.name
    return f"{column.title}{titles.REQUIRED_MARK if column.required else ''}"


_NAME_IN_SYSTEM = Text(pt="Nome no sistema", en="Name in the system")


def add_data_sheets(
    book: xlsxwriter.Workbook,
    resource: Resource,
    layout: SheetLayout,
    list_ranges: Mapping[str, str],
) -> dict[str, Worksheet]:
    """Add the main sheet of a resource and its child sheets; return them by name."""
    sheets = {}
    choices = {
        (part.sheet, column.name): f"{LISTS_SHEET}!$B${row}:${letters}${row}"
        for row, (part, column) in enumerate(_limited_columns(resource), start=1)
        for letters in [column_letters(len(column.allowed))]
    }
    remark = book.add_format(_REMARK_HEADER)
    forms = {
        (required, over_numbers): book.add_format(
            {**header, **(_OVER_NUMBERS if over_numbers else {})}
        )
        for required, header in ((True, _REQUIRED_HEADER), (False, _OPTIONAL_HEADER))
        for over_numbers in (True, False)
    }
    for part in (resource, *resource.children):
        before, after = layout.added(part, resource)
        sheet: Worksheet = book.add_worksheet(part.sheet)
        columns = list(enumerate(part.sheet_columns, start=len(before)))
        last = len(columns) + len(before)
        added = (*enumerate(before), *enumerate(after, start=last))
        headers = [layout.header(column) for _, column in columns]
        # Rows may narrow the columns to the width of their headers.
        narrowest = [
            *map(style.heading_width, headers),
            *(width - _HEADER_INDENT for _, (_, width, _) in added),
        ]
        height = style.heading_lines([*headers, *(text for _, (text, _, _) in added)], narrowest)
        sheet.set_row(0, height * style.LINE_HEIGHT + _HEADER_PADDING)
        for index, (text, width, note) in added:
            sheet.set_column(index, index, width)
            sheet.write_string(0, index, text, remark)
            if note:
                sheet.write_comment(0, index, note, _COMMENT)
        for (index, column), header in zip(columns, headers, strict=True):
            sheet.set_column(index, index, _width(column, header), cell_format(book, column))
            over_numbers = column.kind.is_number or column.kind is Kind.DATE
            sheet.write_string(0, index, header, forms[column.required, over_numbers])
            lines = [
                f"{column.title} ({OBLIGATIONS[column.required]})",
                str(column.description),
                f"{titles.KIND}: {kind_name(column)}",
            ]
            if rules := rules_in_words(column):
                lines.append(f"{titles.RULES}: {rules}")
            if example := example_in_words(column):
                lines.append(str(EXAMPLE.format(example=example)))
            lines.append(f"{_NAME_IN_SYSTEM}: {column.name}")
            height = sum(1 + len(line) // _COMMENT_SYMBOLS for line in lines) + 1
            options = {**_COMMENT, "height": height * _COMMENT_LINE}
            sheet.write_comment(0, index, "\n".join(lines), options)
            offered = list_ranges.get(column.link.registry) if column.link else None
            check = input_check(column, index, offered or choices.get((part.sheet, column.name)))
            sheet.data_validation(1, index, _LAST_ROW, index, check)
        if texts := [index for index, column in columns if column.kind.is_text]:
            ranges = (f"{cell_address(2, i)}:{cell_address(_LAST_ROW + 1, i)}" for i in texts)
            sheet.ignore_errors({"number_stored_as_text": " ".join(ranges)})
        sheet.set_comments_author("xlbridge")
        sheet.freeze_panes(1, min(len(before), 2))
        sheet.autofilter(0, 0, _LAST_ROW, last + len(after) - 1)
        sheet.set_tab_color(style.STRONG)
        sheet.repeat_rows(0)
        sheets[part.sheet] = sheet
    return sheets


def _set_printing(
    book: xlsxwriter.Workbook,
    sheet: Worksheet,
    part: Resource,
    resource: Resource,
    layout: SheetLayout,
    filled: FilledRows | None,
) -> None:
    """Print the sheet on two pages beside each other at most.

    A ``filled`` sheet is printed up to its last column that is filled or required, with columns as
    wide as their texts need; columns added after the resource's are for the system, not for paper.
    Of a blank one, columns are printed as far as they fit, the required ones first.
    """
    before, _ = layout.added(part, resource)
    widths = layout.widths(part, resource)
    last, last_row = len(widths), MAX_ROWS
    if filled is not None:
        last, last_row = len(before), filled.rows + 1
        for index, column in enumerate(part.sheet_columns, len(before)):
            longest = filled.longest.get(index, 0)
            if longest or column.required:
                last = index + 1
            heading = style.heading_width(layout.header(column)) + _HEADER_INDENT
            most = widths[index]
            if column.kind.is_text:
                most = FREE_TEXT_WIDTH if before and column.kind is Kind.TEXT else _MAX_WIDTH
            width = min(max(heading, longest + _BESIDE_TEXT), most)
            if width != widths[index]:
                widths[index] = width
                sheet.set_column(index, index, width, cell_format(book, column))
    # On each page: the number of the row, or the first columns, which are required, if narrow.
    narrow = (n for n in range(4) if sum(widths[:n]) <= _MOST_REPEATED)
    repeated = range(1 if before else max(1, *narrow))
    most = style.DENSE_WIDTH if before else style.READABLE_WIDTH
    last = min(last, style.columns_on_two_pages(widths, repeated, most))
    if last < len(widths):
        # Of whole columns, programs print the filled rows. openpyxl would not read the area
        # as xlsxwriter writes it then.
        area = f"'{part.sheet}'!$A$1:${column_letters(last - 1)}${last_row}"
        book.define_name(f"{part.sheet}!_xlnm.Print_Area", f"={area}")
    print_across_pages(sheet, str(part.title), widths[:last], repeated, dense=bool(before))


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
    properties = {"num_format": style.NUMBER_FORMATS[column.kind]}
    beside = style.BESIDE_NUMBERS if column.kind.is_text else {}
    cells: Format = book.add_format({**properties, **beside})
    return cells


def _limited_columns(resource: Resource) -> list[tuple[Resource, Column]]:
    """Return the columns with allowed values, each with its resource."""
    parts = (resource, *resource.children)
    return [(part, column) for part in parts for column in part.columns if column.allowed]


def _width(column: Column, header: str) -> int:
    text_length = column.checks.get("str_length", {}).get("max_value", 0)
    content = min(text_length, FREE_TEXT_WIDTH) if column.kind is Kind.TEXT else 0
    if column.link is not None:
        content = _CHOICE_WIDTH
    if column.name == KEY:
        content = _KEY_WIDTH
    return min(
        _MAX_WIDTH,
        max(
            style.heading_width(header) + _HEADER_INDENT,
            len(example_in_words(column)) + 2,
            _MIN_WIDTHS.get(column.kind, 0),
            content,
        ),
    )


_NO_ORIGIN = WorkbookOrigin()
_NOTHING_FILLED: Mapping[str, FilledRows] = MappingProxyType({})

_TABLE_HEADERS = (
    titles.COLUMN,
    _NAME_IN_SYSTEM,
    Text(pt="Preenchimento", en="Required?"),
    titles.KIND,
    Text(pt="O que é", en="Description"),
    titles.RULES,
    Text(pt="Exemplo", en="Example"),
)
_TITLE_WIDTH, _WIDTHS = 34, (15, 18, 46, 38, 30)
"""Widths of the table's columns; that of the second fits the names."""
_MIN_NAME_WIDTH, _COMMON_NAME_WIDTH, _MAX_NAME_WIDTH = 28, 34, 44
_DESCRIPTION = 4
"""Index of the column of descriptions, the widest."""
_PADDING, _CELL_INDENT = 5, 2

_HEADINGS = {
    "steps": titles.WHAT_TO_DO,
    "example": Text(
        pt="Uma linha de “{sheet}” (exemplo: nada desta página é enviado)",
        en="A row of “{sheet}” (an example: nothing on this page is sent)",
    ),
    "remarks": Text(pt="Bom saber", en="Good to know"),
    "columns": Text(pt="As colunas", en="The columns"),
    "columns of": Text(
        pt="As colunas da planilha “{sheet}”", en="The columns of the sheet “{sheet}”"
    ),
    "rules": Text(pt="Regras entre colunas", en="Rules between columns"),
}
_PAGE_TITLE = Text(pt="{title}: instruções", en="{title}: instructions")

_STEPS = (
    Text(
        pt="Preencha a planilha “{sheet}”, uma linha por registro, a partir da linha 2.",
        en="Fill in the sheet “{sheet}”, one row for each record, from row 2 on.",
    ),
    Text(
        pt="As colunas com * são obrigatórias; nas outras deixe em branco o que não houver, sem "
        "“-” nem “N/A”.",
        en="Columns with * are required; in the others leave empty what does not apply, without "
        "“-” or “N/A”.",
    ),
    Text(
        pt="Cole só valores (Colar especial > Valores), para não perder os formatos e as "
        "conferências.",
        en="Paste values only (Paste special > Values), to keep the formats and checks.",
    ),
    Text(
        pt="Confira no próprio computador: xlbridge validate {file} --annotate conferido.xlsx",
        en="Check it on your own computer: xlbridge validate {file} --annotate checked.xlsx",
        page=Text(
            pt="Confira no próprio computador: abra este arquivo em Abrir, na página do xlbridge.",
            en="Check it on your own computer: open this file under Open, in the page of xlbridge.",
        ),
    ),
    Text(
        pt="Envie: xlbridge upload {file}",
        en="Send it: xlbridge upload {file}",
        page=Text(
            pt="Envie por ali também: a página mostra o plano antes de enviar.",
            en="Send it there, too: the page shows the plan before it sends.",
        ),
    ),
)

_REMARKS = (
    Text(
        pt="A ordem das colunas pode mudar; coluna opcional sem uso pode ser apagada.",
        en="The order of the columns may change; optional ones that you do not use may be deleted.",
    ),
    Text(
        pt="Códigos são texto: os zeros à esquerda contam, e as células já estão formatadas para "
        "guardá-los.",
        en="Codes are text: leading zeros count, and the cells are formatted to keep them.",
    ),
    Text(
        pt="A nota de cada cabeçalho diz o que cabe na coluna.",
        en="The note of each header says what the column takes.",
    ),
)

_REMARKS_ON_CHILDREN = (
    Text(
        pt="As listas de cada registro vão em {names}, uma linha por item; planilha sem uso fica "
        "em branco.",
        en="The lists of each record go into {names}, one row for each item; a sheet that you do "
        "not use stays empty.",
    ),
    Text(
        pt="A coluna “{key}” junta as planilhas: escolha um texto por linha de “{sheet}” e "
        "repita-o nos itens.",
        en="The column “{key}” joins the sheets: choose a text for each row of “{sheet}”, and "
        "repeat it in its items.",
    ),
)

_REMARKS_ON_LISTS = (
    Text(
        pt="Escolha na lista em: {columns}. Código, nome ou documento também servem; o envio acha "
        "o código.",
        en="Choose from the list in: {columns}. A code, name or document will do, too; the upload "
        "finds the code.",
    ),
    Text(
        pt="A planilha “{registries}” tem o que as listas oferecem, para procurar (Ctrl+L); não é "
        "enviada.",
        en="The sheet “{registries}” has what the lists offer, to be searched (Ctrl+F); it is not "
        "sent.",
    ),
)

_TITLE = {"bold": True, "font_size": 13, "font_color": style.STRONG}
_NOTE = {"indent": 1, "valign": "vcenter"}
_FORMATS: Mapping[str, Mapping[str, Any]] = {
    "title": {**_TITLE, "font_size": 18},
    "heading": {**_TITLE, "bottom": 2, "bottom_color": style.STRONG},
    "plain": {},
    "required": _REQUIRED_HEADER,
    "optional": _OPTIONAL_HEADER,
    "cell": {**_NOTE, "text_wrap": True, "border": 1, "border_color": style.RULE},
}
_WRAPPED = frozenset({"required", "optional", "cell"})
_PADDED_FORMATS = _WRAPPED | {"heading"}


def add_instructions_sheet(
    book: xlsxwriter.Workbook, resource: Resource, layout: SheetLayout, lists: RegistryLists
) -> None:
    """Add the instructions: what to do in five lines, an example, then columns and rules."""
    sheet: Worksheet = book.add_worksheet(str(INSTRUCTIONS_SHEET))
    parts = (resource, *resource.children)
    longest = max(len(column.name) for part in parts for column in part.columns) + 5
    names = min(max(longest, _MIN_NAME_WIDTH), _MAX_NAME_WIDTH)
    widths = [_TITLE_WIDTH, names, *_WIDTHS]
    # The description makes room for long names.
    widths[_DESCRIPTION] -= max(0, names - _COMMON_NAME_WIDTH)
    formats = {name: book.add_format(dict(properties)) for name, properties in _FORMATS.items()}
    page = _InstructionsWriter(sheet, formats, widths)
    for index, width in enumerate(widths):
        sheet.set_column(index, index, width)
    sheet.hide_gridlines(2)
    sheet.set_tab_color(style.RULE)
    print_across_pages(sheet, str(_PAGE_TITLE.format(title=resource.title)))
    page.line("title", f"{INSTRUCTIONS_TITLE}{resource.title}")
    page.line("plain", str(resource.description))
    page.heading("steps")
    for number, step in enumerate(_STEPS, start=1):
        text = step.format(sheet=resource.sheet, file=f"{resource.name}.xlsx")
        page.line("plain", f"{number}. {text}")
    page.heading("example", sheet=resource.sheet)
    filled = [column for column in resource.sheet_columns if column.required]
    for start in range(0, len(filled), len(widths)):
        shown = filled[start : start + len(widths)]
        page.cells([("required", layout.header(column)) for column in shown])
        page.cells([("cell", _example(column, lists)) for column in shown])
    page.heading("remarks")
    remarks = [*_REMARKS]
    if resource.children:
        listed = ", ".join(f"“{child.sheet}”" for child in resource.children)
        key = resource.by_name[KEY].title
        remarks += (
            text.format(sheet=resource.sheet, names=listed, key=key)
            for text in _REMARKS_ON_CHILDREN
        )
    if lists.lists:
        offered = ", ".join(layout.header(c) for c in resource.sheet_columns if c.link)
        remarks += (
            text.format(columns=offered, registries=REGISTRIES_SHEET) for text in _REMARKS_ON_LISTS
        )
    for remark in remarks:
        page.line("plain", f"– {remark}")
    for part in parts:
        page.heading("columns of" if resource.children else "columns", sheet=part.sheet)
        if part is resource:  # the header of all tables from here on
            sheet.repeat_rows(page.row)
        _write_columns(page, part, layout, lists)


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
            # Programs do not fit the height of a row to its text on opening.
            texts = zip(cells, self.widths, strict=False)
            lines = style.wrapped_lines(
                (text, width - _CELL_INDENT) for (name, text), width in texts if name in _WRAPPED
            )
            height = _PADDING + style.LINE_HEIGHT * lines
            self.sheet.set_row(self.row, min(height, style.MAX_ROW_HEIGHT))
        for index, (name, text) in enumerate(cells):
            self.sheet.write_string(self.row, index, text, self.formats[name])
        self.row += 1

    def heading(self, name: str, **values: object) -> None:
        self.row += 1
        text = str(_HEADINGS[name].format(**values))
        self.line("heading", text, *[""] * (len(self.widths) - 1))


def _example(column: Column, lists: RegistryLists) -> str:
    """Return a column's example: the first choice of its list if there is one."""
    for registry in lists.lists:
        if column.link and column.link.registry == registry.registry and registry.records:
            return registry.records[0].choice
    return example_in_words(column)


def _write_columns(
    page: _InstructionsWriter, resource: Resource, layout: SheetLayout, lists: RegistryLists
) -> None:
    page.line("required", *map(str, _TABLE_HEADERS))
    for column in resource.sheet_columns:
        texts = (
            column.name,
            str(OBLIGATIONS[column.required]),
            kind_name(column),
            str(column.description),
            rules_in_words(column),
            _example(column, lists),
        )
        title = layout.header(column) if layout.headers == "titles" else str(column.title)
        name = ("required" if column.required else "optional", title)
        page.cells([name, *(("cell", text) for text in texts)])
    if resource.row_checks:
        page.heading("rules")
    titles = {column.name: f"“{column.title}”" for column in resource.columns}
    for check in resource.row_checks:
        rule = str(ROW_RULES[check.name].wording(check.statistics))
        page.line("plain", f"• {_NAME.sub(lambda name: titles.get(name[0], name[0]), rule)}")


_NAME = re.compile(r"\w+")


def write_template(
    path: Path, resource: Resource, lists: RegistryLists = NO_LISTS, headers: Headers = "titles"
) -> None:
    """Write the blank workbook: the instructions and the sheets to fill in.

    ``lists`` are the records of registries that the linked columns of ``resource`` offer. Files
    are reproducible. Raises ``UsageError`` if the file cannot be written.
    """
    with template_sheets(
        path,
        resource,
        headers=headers,
        instructions_first=True,
        shared=not lists.lists,
        lists=lists,
    ):
        pass


@contextmanager
def template_sheets(
    path: Path,
    resource: Resource,
    *,
    before: Sequence[AddedColumn] = (),
    after: Sequence[AddedColumn] = (),
    headers: Headers = "titles",
    instructions_first: bool = False,
    summary: Report | None = None,
    shared: bool = False,
    lists: RegistryLists = NO_LISTS,
    origin: WorkbookOrigin = _NO_ORIGIN,
    filled: Mapping[str, FilledRows] = _NOTHING_FILLED,
) -> Iterator[tuple[xlsxwriter.Workbook, Mapping[str, Worksheet]]]:
    """Yield a workbook in the layout of the template, and its data sheets by name.

    ``before``, ``after`` and ``headers`` are those of ``SheetLayout``. The first sheet is a
    ``summary``, the data sheet, or, ``instructions_first``, the instructions. Rows of a sheet must
    be written in order. The workbook carries ``origin`` with the resource and its layout.
    ``filled`` is read on exit: the rows of sheets, whose filled columns are printed. Raises
    ``UsageError`` if the file cannot be written.
    """
    layout = SheetLayout(before=before, after=after, headers=headers)
    list_ranges = lists.ranges()
    fingerprint = Fingerprint.parse(resource.fingerprint)
    linked = tuple(
        c.name if part is resource else f"{part.sheet}.{c.name}"
        for part in (resource, *resource.children)
        for c in part.columns
        if c.link and (c.link.registry in list_ranges or lists is NO_LISTS)
    )
    origin = replace(
        origin,
        resource=resource.name,
        language=origin.language or active_language(),
        template=str(fingerprint and replace(fingerprint, listed=linked)),
        system=origin.system or lists.system,
        export="",
    )
    with new_workbook(path, carried=origin.properties(), shared=shared) as book:
        if summary is not None:
            write_cover(book, book.add_worksheet(str(UPLOAD_SUMMARY_SHEET)), summary)
        if instructions_first:
            add_instructions_sheet(book, resource, layout, lists)
        sheets = add_data_sheets(book, resource, layout, list_ranges)
        yield book, sheets
        for part in (resource, *resource.children):
            sheet = sheets[part.sheet]
            _set_printing(book, sheet, part, resource, layout, filled.get(part.sheet))
        if not instructions_first:
            add_instructions_sheet(book, resource, layout, lists)
        add_lists_sheet(book, resource)
        add_registries_sheet(book, lists)
