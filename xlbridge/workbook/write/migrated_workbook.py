"""Rows of an older workbook in the current template, with their cell formats and comments."""

import datetime as dt
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import xlsxwriter
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.styles.numbers import BUILTIN_FORMATS_REVERSE
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.resources import Kind, Resource
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook import style
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.edit import edit_package
from xlbridge.workbook.edit.comments import read_comments
from xlbridge.workbook.edit.sheets import SheetList
from xlbridge.workbook.read import CellColumn
from xlbridge.workbook.read.archive import WorkbookArchive
from xlbridge.workbook.read.package import Package
from xlbridge.workbook.write.new_workbook import looks_like_formula
from xlbridge.workbook.write.template import template_sheets

_EXTRA_COLUMN_WIDTH = 20
_NEUTRAL_FORMATS = frozenset({"General", "@"})

CellLook = Mapping[str, Any]
"""The properties of a cell's format, as xlsxwriter calls them; ``num_format`` of filled cells."""


@dataclass(frozen=True, slots=True)
class MigratedColumn:
    """A column of the older workbook: its zero-based place there, and its name in the resource,
    None where it is the analyst's own."""

    name: str | None
    header: str
    cells: CellColumn
    place: int


class OlderWorkbook:
    """Workbook of an earlier layout: the look of its cells, and the comments on them.

    ``formulas`` counts the formulas that were seen, ``other_sheets`` are all but ours.
    """

    def __init__(self, source: Path, sheet: str) -> None:
        self.formulas = 0
        self._source, self._sheet = source, sheet
        with edit_package(source) as package:
            sheets = SheetList(package)
            self.notes = read_comments(package, sheets.part(sheet))
        own = Package(WorkbookArchive(source.read_bytes(), WorkbookLimits())).added_sheets()
        self.other_sheets = [name for name in sheets.names if name not in own]

    def rows(self, first: int, last: int) -> Iterator[Mapping[int, CellLook]]:
        """Yield the looks of each row's cells by their zero-based columns; rows count from 1."""
        with warnings.catch_warnings():
            # What openpyxl does not know it says in English, to developers.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(self._source, read_only=True)
            sheet: Any = book[self._sheet]
            sheet.reset_dimensions()
            for row in sheet.iter_rows(min_row=first, max_row=last):
                self.formulas += sum(cell.data_type == "f" for cell in row)
                yield {
                    cell.column - 1: look
                    for cell in row
                    if isinstance(cell, ReadOnlyCell) and (look := _cell_look(cell))
                }
            book.close()

    def write(
        self,
        target: Path,
        resource: Resource,
        columns: Sequence[MigratedColumn],
        header_row: int,
        last_row: int,
        hidden: Collection[int],
    ) -> None:
        """Write its rows below Excel's ``header_row`` into a workbook of the resource's template.

        ``hidden`` are the Excel numbers of the rows that are hidden, and stay so. Raises
        ``UsageError`` when it cannot be written.
        """
        own = [column for column in columns if column.name is None]
        extra = {column.header: _EXTRA_COLUMN_WIDTH for column in own}
        order = [column.name for column in resource.columns]
        places = {
            one.place: order.index(one.name) if one.name else len(order) + own.index(one)
            for one in columns
        }
        with template_sheets(target, resource, extra) as (book, sheets):
            sheet = sheets[resource.sheet]
            writer = _CellWriter(book, sheet, resource)
            old_rows = self.rows(header_row + 1, last_row)
            for row in range(header_row, last_row):
                look = next(old_rows, {})
                if row + 1 in hidden:
                    sheet.set_row(row - header_row + 1, None, None, {"hidden": True})
                for column in sorted(columns, key=lambda column: places[column.place]):
                    at = row - header_row + 1, places[column.place]
                    writer.write(*at, column.cells.value(row), look.get(column.place, {}))
                    note = self.notes.get(cell_address(row + 1, column.place))
                    if note:
                        sheet.write_comment(*at, note)
            for _ in old_rows:
                pass


class _CellWriter:
    """Writes values as the type that they have, in formats that are made once."""

    def __init__(self, book: xlsxwriter.Workbook, sheet: Worksheet, resource: Resource) -> None:
        self._book, self._sheet = book, sheet
        self._kinds = [column.kind for column in resource.columns]
        self._formats: dict[tuple[object, ...], Format] = {}

    def write(self, row: int, column: int, value: Any, look: CellLook) -> None:
        if value == "" and look.keys() <= {"num_format"}:
            return
        kind = self._kinds[column] if column < len(self._kinds) else None
        number_format = _number_format(kind, value, look.get("num_format", "General"))
        if isinstance(value, str) and number_format != "@" and looks_like_formula(value):
            look = {**look, "quote_prefix": True}
        # What a built-in format shows depends on the reader's language, its code does not.
        identity = BUILTIN_FORMATS_REVERSE.get(number_format, number_format)
        properties = {**look, "num_format": identity}
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            self._formats[key] = self._book.add_format(properties)
        self._sheet.write(row, column, value, self._formats[key])


def _number_format(kind: Kind | None, value: object, own: str) -> str:
    """Return the template's number format, unless the cell's ``own`` tells what its value means.

    A percentage stays one, and so do zeros that only the format puts before a code.
    """
    if kind is None and value != "" and own != "General":
        return own
    if type(value) in {int, float}:
        if own not in _NEUTRAL_FORMATS:
            return own
        # In the template's format the number would turn into a date.
        return "General" if kind in {None, Kind.DATE} else style.NUMBER_FORMATS[kind]
    if type(value) in style.TIME_FORMATS and not (kind is Kind.DATE and type(value) is dt.date):
        return style.TIME_FORMATS[type(value)]
    return "General" if kind is None else style.NUMBER_FORMATS[kind]


def _cell_look(cell: Any) -> CellLook:
    look: dict[str, Any] = {}
    if cell.value is not None and cell.number_format != "General":
        look["num_format"] = cell.number_format
    if cell.fill.fill_type == "solid" and cell.fill.fgColor.type == "rgb":
        look["bg_color"] = f"#{cell.fill.fgColor.rgb[-6:]}"
    font = cell.font
    if font.bold:
        look["bold"] = True
    if font.italic:
        look["italic"] = True
    if font.color is not None and font.color.type == "rgb" and font.color.rgb[-6:] != "000000":
        look["font_color"] = f"#{font.color.rgb[-6:]}"
    return look
