"""Forms of the closing proof: a workbook, and a page without scripts for browser and paper.

The workbook has a cover with the verdict, and a sheet with each table in full.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.batch.proof.content import proof_facts, proof_tables, proof_title
from xlbridge.batch.proof.model import Proof
from xlbridge.batch.proof.report_tables import Heading, ReportTable, Tone, Value, page_sections
from xlbridge.batch.proof.verdict import (
    ProofState,
    open_items,
    proof_state,
    resource_lines,
    verdict,
)
from xlbridge.i18n import Text
from xlbridge.report_forms import ReportForms, render_page
from xlbridge.resources import Kind
from xlbridge.workbook import MAX_TEXT_LENGTH, WorkbookMark, style
from xlbridge.workbook.write import new_workbook, print_across_pages

_MAX_LINES = 1_000_000
"""Maximum number of lines of a table on a sheet, just below Excel's limit."""

_CUT = Text(
    pt="Mostradas {n} de {all} linhas{first}; o arquivo da prova tem todas.",
    en="Showing {n} of {all} lines{first}; the proof's workbook has them all.",
)
_COVER = Text(pt="Prova", en="Proof")
_LABEL_WIDTH, _TEXT_WIDTH = 26, 96
_LINE_HEIGHT = 15
_MAX_ROW_HEIGHT = 409  # Excel's limit
_BOLD_WIDTH = 1.25
_INDENT = 2
_OPEN, _OPEN_BACKGROUND = "9C0006", "FFE3E6"
_STATE_FORMATS: dict[ProofState, dict[str, Any]] = {
    ProofState.VERIFIED: {"font_color": "1C6B3A", "bg_color": "E0F3E7"},
    ProofState.PARTLY_VERIFIED: {"font_color": "7A5C00", "bg_color": "FFF3CC"},
    ProofState.OPEN: {"font_color": _OPEN, "bg_color": _OPEN_BACKGROUND},
}
_TONE_FORMATS: dict[Tone, dict[str, Any]] = {
    Tone.PLAIN: {},
    Tone.OPEN: {"bg_color": _OPEN_BACKGROUND},
    Tone.HEAD: {"bold": True, "bg_color": style.SOFT},
    Tone.SUM: {"bold": True, "top": 2},
}


def proof_report(proof: Proof) -> ReportForms:
    """Return the report of a proof in the active language, as a page and as a workbook."""
    return ReportForms(
        page=lambda: _proof_page(proof),
        workbook=lambda target: write_proof_workbook(proof, target),
    )


def _proof_page(proof: Proof) -> str:
    """Return a proof as an HTML page; long tables are shortened, counts stay exact."""
    return render_page(
        "xlbridge.batch.proof",
        title=proof_title(proof),
        verdict=verdict(proof),
        state=proof_state(proof),
        resource_lines=resource_lines(proof),
        open_items=list(open_items(proof)),
        facts=proof_facts(proof),
        sections=page_sections(proof_tables(proof), _CUT),
    )


def write_proof_workbook(proof: Proof, path: Path, *, max_lines: int = _MAX_LINES) -> None:
    """Write a proof as a workbook in the active language, atomically.

    A table of more than ``max_lines`` continues on another sheet. Texts are never written as
    formulas. The same proof produces the same bytes. Raises ``UsageError`` if the file cannot be
    written.
    """
    signature = (WorkbookMark.PROVEN.text, proof.title.plan_sha256)
    title = _clean(proof_title(proof))
    with new_workbook(path, title=title, signature=signature) as book:
        styles = _Styles(book)
        _write_cover(book, styles, proof)
        for name, tables in _sheets(proof, max_lines):
            _SheetWriter(book.add_worksheet(name), styles, tables).write()


def _sheets(proof: Proof, max_lines: int) -> Iterator[tuple[str, list[ReportTable]]]:
    """Yield the name and the tables of each sheet."""
    for sheet, group in groupby(proof_tables(proof), key=lambda table: table.sheet):
        tables = list(group)
        if len(tables) > 1 or len(tables[0].lines) <= max_lines:
            yield str(sheet), tables
            continue
        (table,) = tables
        for number, start in enumerate(range(0, len(table.lines), max_lines), start=1):
            part = replace(table, lines=table.lines[start : start + max_lines])
            yield str(sheet) if number == 1 else f"{sheet} {number}", [part]


class _Styles:
    """Formats of a workbook, each created once."""

    def __init__(self, book: xlsxwriter.Workbook) -> None:
        self._book = book
        self._formats: dict[tuple[tuple[str, Any], ...], Format] = {}

    def format(self, **properties: Any) -> Format:
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            font = {"font_name": style.FONT, "font_size": style.FONT_SIZE, "valign": "top"}
            self._formats[key] = self._book.add_format(font | properties)
        return self._formats[key]

    def cell_format(self, heading: Heading, value: Value, tone: Tone) -> Format:
        properties = dict(_TONE_FORMATS[tone])
        if heading.alarming and value:
            properties |= {"font_color": _OPEN, "bold": True}
        if heading.digest:
            properties |= {"font_size": 9, "font_name": "Consolas"}
        match value:
            case Decimal():
                properties["num_format"] = style.NUMBER_FORMATS[Kind.MONEY]
            case int():
                properties["num_format"] = "#,##0"
            case date():
                properties |= {
                    "num_format": style.NUMBER_FORMATS[Kind.DATE],
                    "align": "left",
                    "indent": 1,
                }
            case _:
                properties |= {"text_wrap": True, "align": "left", "indent": 1}
        return self.format(**properties)


class _SheetWriter:
    """Writer of the tables of one sheet, from top to bottom."""

    def __init__(self, sheet: Worksheet, styles: _Styles, tables: Sequence[ReportTable]) -> None:
        self._sheet = sheet
        self._styles = styles
        self._tables = tables
        columns = max(len(table.headings) for table in tables)
        self._widths = [
            max(table.headings[column].width for table in tables if column < len(table.headings))
            for column in range(columns)
        ]
        self._row = 0

    def write(self) -> None:
        for column, width in enumerate(self._widths):
            self._sheet.set_column(column, column, width)
        self._sheet.hide_gridlines(2)
        print_across_pages(self._sheet, str(self._tables[0].sheet), translated=True)
        for table in self._tables:
            self._write_table(table)
        self._sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{self._row + 1}"})

    def _write_table(self, table: ReportTable) -> None:
        title = table.title or table.sheet
        self._write_paragraph(
            str(title), {"bold": True, "font_size": 13, "font_color": style.STRONG}
        )
        if table.about is not None:
            self._write_paragraph(str(table.about), {"font_color": style.QUIET})
        if not table.lines:
            self._write_paragraph(str(table.none), {"italic": True, "font_color": style.QUIET})
            self._row += 1
            return
        self._write_headings(table)
        if len(self._tables) == 1:
            self._sheet.freeze_panes(self._row, 0)
            self._sheet.repeat_rows(self._row - 1)
            body = sum(line.tone is not Tone.SUM for line in table.lines)
            last = self._row + body - 1
            self._sheet.autofilter(self._row - 1, 0, last, len(table.headings) - 1)
        for line in table.lines:
            self._fit_height([str(v) if isinstance(v, str | Text) else "" for v in line.values])
            for column, (heading, value) in enumerate(
                zip(table.headings, line.values, strict=True)
            ):
                form = self._styles.cell_format(heading, value, line.tone)
                _write_value(self._sheet, self._row, column, value, form)
            self._row += 1
        self._row += 1

    def _write_paragraph(self, text: str, properties: dict[str, Any]) -> None:
        """Write a wrapped text across all columns."""
        width = max(sum(self._widths), 60)
        form = self._styles.format(**properties, text_wrap=True)
        lines = math.ceil(len(text) / width)
        self._sheet.set_row(self._row, lines * _LINE_HEIGHT + 5)
        self._sheet.merge_range(self._row, 0, self._row, max(len(self._widths) - 1, 1), "", form)
        _write_text(self._sheet, self._row, 0, text, form)
        self._row += 1

    def _write_headings(self, table: ReportTable) -> None:
        properties = {
            "bold": True,
            "text_wrap": True,
            "bg_color": style.STRONG,
            "font_color": "FFFFFF",
            "border": 1,
            "border_color": style.RULE,
        }
        self._fit_height([str(heading.title) for heading in table.headings], _BOLD_WIDTH)
        for column, heading in enumerate(table.headings):
            numeric = table.is_numeric(column)
            alignment = {"align": "right"} if numeric else {"align": "left", "indent": 1}
            form = self._styles.format(**properties, **alignment)
            self._sheet.write_string(self._row, column, str(heading.title), form)
        self._row += 1

    def _fit_height(self, texts: Sequence[str], letter_width: float = 1.0) -> None:
        """Make the next row high enough for wrapped texts, which Excel does not do itself."""
        lines = max(
            (
                math.ceil((len(text) + _INDENT) * letter_width / width)
                for text, width in zip(texts, self._widths, strict=False)
            ),
            default=1,
        )
        if lines > 1:
            self._sheet.set_row(self._row, min(lines * _LINE_HEIGHT, _MAX_ROW_HEIGHT))


def _write_value(sheet: Worksheet, row: int, column: int, value: Value, form: Format) -> None:
    match value:
        case None:
            sheet.write_blank(row, column, None, form)
        case int() | Decimal():
            sheet.write_number(row, column, float(value), form)
        case date():
            sheet.write_datetime(row, column, datetime(value.year, value.month, value.day), form)
        case _:
            _write_text(sheet, row, column, value, form)


def _write_cover(book: xlsxwriter.Workbook, styles: _Styles, proof: Proof) -> None:
    sheet: Worksheet = book.add_worksheet(str(_COVER))
    sheet.set_column(0, 0, _LABEL_WIDTH)
    sheet.set_column(1, 1, _TEXT_WIDTH)
    sheet.hide_gridlines(2)
    name = _clean(proof_title(proof))
    print_across_pages(sheet, name, translated=True)
    _write_text(sheet, 0, 0, name, styles.format(bold=True, font_size=16, font_color=style.STRONG))
    properties = _STATE_FORMATS[proof_state(proof)]
    headline = styles.format(**properties, bold=True, text_wrap=True, font_size=12)
    _write_across(sheet, 2, verdict(proof), headline)
    wrapped = {"text_wrap": True, "indent": 1, "align": "left"}
    plain = styles.format(bg_color=properties["bg_color"], **wrapped)
    colored = styles.format(**properties, **wrapped)
    lines = [(str(line), plain) for line in resource_lines(proof)]
    lines += [(f"• {item}", colored) for item in open_items(proof)]
    for row, (line, form) in enumerate(lines, start=3):
        _write_across(sheet, row, line, form)
    label, text = styles.format(font_color=style.QUIET), styles.format(text_wrap=True)
    for row, (fact, value) in enumerate(proof_facts(proof), start=4 + len(lines)):
        _fit_row(sheet, row, value, _TEXT_WIDTH)
        _write_text(sheet, row, 0, fact, label)
        _write_text(sheet, row, 1, value, text)


def _write_across(sheet: Worksheet, row: int, value: object, form: Format) -> None:
    _fit_row(sheet, row, value, _LABEL_WIDTH + _TEXT_WIDTH)
    sheet.merge_range(row, 0, row, 1, "", form)
    _write_text(sheet, row, 0, value, form)


def _fit_row(sheet: Worksheet, row: int, value: object, width: int) -> None:
    lines = math.ceil(len(str(value)) / width)
    if lines > 1:
        sheet.set_row(row, min(lines * _LINE_HEIGHT, _MAX_ROW_HEIGHT))


def _write_text(sheet: Worksheet, row: int, column: int, value: object, form: Format) -> None:
    sheet.write_string(row, column, _clean(value), form)


def _clean(value: object) -> str:
    """Return a text up to Excel's limit, with ``?`` for bytes of file names that are not text."""
    return str(value)[:MAX_TEXT_LENGTH].encode("utf-8", "replace").decode()
