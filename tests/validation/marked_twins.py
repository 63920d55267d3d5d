"""The same records in every format, with rich texts and a conditional format.

A writer gets a folder, the pieces of the text ``historico``, and the number format that a rule
gives to ``valorDoLancamento``.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import xlsxwriter
from open_document import date_cell, number_cell, of_text, text_cell, write_ods
from sheets import GOOD
from xls_writer import PLAIN, STRUCK, Conditional, Rich, Shown, write_xls
from xlsb_writer import write_xlsb

_RECORD = GOOD["contasreceber"]
_NAMES = list(_RECORD)
_AMOUNT, _HISTORY = _NAMES.index("valorDoLancamento"), _NAMES.index("historico")
ROWS = 3
TEXT_COLUMN = _HISTORY + 1
"""Number of the column of the text."""

Pieces = Sequence[tuple[str, bool]]
"""Pieces of a text, each with whether it is struck through."""


def _rows(pieces: Pieces) -> list[list[Any]]:
    values = [pieces if n == _HISTORY else _RECORD[name] for n, name in enumerate(_NAMES)]
    return [list(_NAMES), *[values] * ROWS]


def _xlsx(folder: Path, pieces: Pieces, form: str) -> Path:
    path = folder / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        page, day = book.add_worksheet("Plan1"), book.add_format({"num_format": "dd/mm/yyyy"})
        struck, plain = book.add_format({"font_strikeout": True}), book.add_format({"bold": True})
        for row, values in enumerate(_rows(pieces)):
            for column, value in enumerate(values):
                if isinstance(value, tuple):
                    runs = [it for text, on in value for it in (struck if on else plain, text)]
                    if len(value) == 1:
                        page.write_string(row, column, value[0][0], struck if value[0][1] else None)
                    else:
                        page.write_rich_string(row, column, *runs)
                else:
                    page.write(row, column, value, day if isinstance(value, date) else None)
        rule = {"type": "cell", "criteria": ">", "value": 0}
        rule["format"] = book.add_format({"num_format": form})
        page.conditional_format(1, _AMOUNT, ROWS, _AMOUNT, rule)
    return path


def _xlsb(folder: Path, pieces: Pieces, form: str) -> Path:
    return write_xlsb(_xlsx(folder, pieces, form), folder / "a.xlsb")


def _xlsb_with_texts_in_cells(folder: Path, pieces: Pieces, form: str) -> Path:
    return write_xlsb(_xlsx(folder, pieces, form), folder / "a.xlsb", inline=True)


def _xls_of(*, inline: bool, later: bool) -> Callable[[Path, Pieces, str], Path]:
    def write(folder: Path, pieces: Pieces, form: str) -> Path:
        runs, start = list[tuple[int, int]](), 0
        for text, is_struck in pieces:
            runs.append((start, STRUCK if is_struck else PLAIN))
            start += len(text)
        rich = Rich("".join(text for text, _ in pieces), tuple(runs), inline)
        cells = [
            [
                rich
                if isinstance(value, tuple)
                else Shown((datetime.combine(value, datetime.min.time())
                            - datetime(1899, 12, 30)).days, "dd/mm/yyyy")
                if isinstance(value, date)
                else value
                for value in row
            ]
            for row in _rows(pieces)
        ]  # fmt: skip
        number = {"0%": 9, "0.00": 2}.get(form, form)
        area = (1, ROWS, _AMOUNT, _AMOUNT)
        return write_xls(folder / "a.xls", cells, [Conditional(number, area, later)], 60)

    return write


_STRUCK_STYLE = (
    '<style:style style:name="T1" style:family="text"><style:text-properties '
    'style:text-line-through-style="solid"/></style:style>'
)
CONDITIONAL_FORMATS = {
    "0%": '<number:percentage-style style:name="N"><number:number number:decimal-places="0" '
    'number:min-integer-digits="1"/><number:text>%</number:text></number:percentage-style>',
    "0.00": '<number:number-style style:name="N"><number:number number:decimal-places="2" '
    'number:min-integer-digits="1"/></number:number-style>',
    '"a combinar"': '<number:number-style style:name="N"><number:text>a combinar</number:text>'
    "</number:number-style>",
    '0.00"%"': '<number:number-style style:name="N"><number:number number:decimal-places="2" '
    'number:min-integer-digits="1"/><number:text>%</number:text></number:number-style>',
    "#,##0,": '<number:number-style style:name="N"><number:number number:decimal-places="0" '
    'number:min-integer-digits="1" number:grouping="true" number:display-factor="1000"/>'
    "</number:number-style>",
}
"""Number formats, in Excel's notation and as the style ``N`` of an .ods."""


def _ods_of(*, in_styles: bool) -> Callable[[Path, Pieces, str], Path]:
    def write(folder: Path, pieces: Pieces, form: str) -> Path:
        text = "".join(
            f'<text:span text:style-name="T1">{escape(text)}</text:span>' if on else escape(text)
            for text, on in pieces
        )
        rows = [
            [
                of_text(f"<text:p>{text}</text:p>")
                if isinstance(value, tuple)
                else date_cell(value.isoformat())
                if isinstance(value, date)
                else text_cell(value)
                if isinstance(value, str)
                else number_cell(value, "ce1" if column == _AMOUNT and in_styles else "")
                for column, value in enumerate(row)
            ]
            for row in _rows(pieces)
        ]
        condition = '<style:map style:condition="cell-content()&gt;0" style:apply-style-name="K"/>'
        styles = (
            f'{_STRUCK_STYLE}{CONDITIONAL_FORMATS[form]}<style:style style:name="K" '
            'style:display-name="K 1" style:family="table-cell" style:data-style-name="N"/>'
            f'<style:style style:name="ce1" style:family="table-cell">{condition}</style:style>'
        )
        letter = "ABCDEFGHIJ"[_AMOUNT]
        ranges = (
            "<calcext:conditional-formats><calcext:conditional-format calcext:target-range-address"
            f"=\"'Plan 1'.A99:'Plan 1'.B99 Plan1.{letter}2:Plan1.{letter}{ROWS + 1}\">"
            '<calcext:condition calcext:apply-style-name="K 1" calcext:value="&gt;0"/>'
            "</calcext:conditional-format></calcext:conditional-formats>"
        )
        return write_ods(folder / "a.ods", rows, styles, "" if in_styles else ranges)

    return write


WRITERS: dict[str, Callable[[Path, Pieces, str], Path]] = {
    ".xlsx": _xlsx,
    ".xlsb": _xlsb,
    ".xlsb, texts in cells": _xlsb_with_texts_in_cells,
    ".xls": _xls_of(inline=False, later=False),
    ".xls, texts in cells, rules of Excel 2007": _xls_of(inline=True, later=True),
    ".ods, rules in styles": _ods_of(in_styles=True),
    ".ods, rules of ranges": _ods_of(in_styles=False),
}
