"""Rows of an older workbook in the current template, with their cell formats and comments."""

import datetime as dt
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.cell.read_only import ReadOnlyCell
from openpyxl.styles.numbers import BUILTIN_FORMATS_REVERSE
from xlsxwriter.format import Format

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

CellFormat = Mapping[str, Any]
"""Properties of a cell's format, by xlsxwriter's names; only filled cells have ``num_format``."""


@dataclass(frozen=True, slots=True)
class MigratedColumn:
    """Column of the older workbook, with its zero-based index there.

    ``name`` is that of the resource's column, None for a column of the analyst.
    """

    name: str | None
    header: str
    cells: CellColumn
    index: int


class OlderWorkbook:
    """Workbook of an earlier layout, with its cell formats and comments.

    ``formulas`` counts the formulas read so far; ``other_sheets`` are those that xlbridge did not
    add.
    """

    def __init__(self, source: Path, sheet: str) -> None:
        self.formulas = 0
        self._source, self._sheet = source, sheet
        with edit_package(source) as editable:
            self.comments = read_comments(editable, SheetList(editable).part(sheet))
        package = Package(WorkbookArchive(source.read_bytes(), WorkbookLimits()))
        added = package.added_sheets()
        self.other_sheets = [name for name in package.sheets if name not in added]

    def rows(self, first: int, last: int) -> Iterator[Mapping[int, CellFormat]]:
        """Yield the cell formats of each of Excel's rows, by zero-based column."""
        with warnings.catch_warnings():
            # openpyxl warns of features that it does not support.
            warnings.simplefilter("ignore")
            with closing(openpyxl.load_workbook(self._source, read_only=True)) as book:
                sheet: Any = book[self._sheet]
                sheet.reset_dimensions()
                for row in sheet.iter_rows(min_row=first, max_row=last):
                    self.formulas += sum(cell.data_type == "f" for cell in row)
                    yield {
                        cell.column - 1: cell_format
                        for cell in row
                        if isinstance(cell, ReadOnlyCell) and (cell_format := _cell_format(cell))
                    }

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

        ``hidden`` are the Excel numbers of rows to hide. Raises ``UsageError`` if the workbook
        cannot be written.
        """
        kinds = {column.name: column.kind for column in resource.columns}
        extra = [column for column in columns if column.name is None]
        order = {name: index for index, name in enumerate(kinds)}
        targets = [(order[column.name], column) for column in columns if column.name is not None]
        targets = [*sorted(targets, key=itemgetter(0)), *enumerate(extra, start=len(kinds))]
        formats: dict[tuple[object, ...], Format] = {}
        widths = {column.header: _EXTRA_COLUMN_WIDTH for column in extra}
        with template_sheets(target, resource, widths) as (book, sheets):
            sheet = sheets[resource.sheet]
            all_formats = chain(self.rows(header_row + 1, last_row), repeat({}))
            for row, old_formats in zip(range(header_row, last_row), all_formats, strict=False):
                new_row = row - header_row + 1
                if row + 1 in hidden:
                    sheet.set_row(new_row, None, None, {"hidden": True})
                for index, column in targets:
                    value, old_format = column.cells.value(row), old_formats.get(column.index, {})
                    if value != "" or old_format.keys() - {"num_format"}:
                        kind = None if column.name is None else kinds[column.name]
                        properties = _properties(kind, value, old_format)
                        key = tuple(sorted(properties.items()))
                        if key not in formats:
                            formats[key] = book.add_format(properties)
                        sheet.write(new_row, index, value, formats[key])
                    if comment := self.comments.get(cell_address(row + 1, column.index)):
                        sheet.write_comment(new_row, index, comment)


def _properties(kind: Kind | None, value: object, original: CellFormat) -> dict[str, Any]:
    """Return the properties of a migrated cell's format."""
    number_format = _number_format(kind, value, original.get("num_format", "General"))
    # A built-in format depends on the reader's language only if it is stored by number.
    format_id = BUILTIN_FORMATS_REVERSE.get(number_format, number_format)
    properties = {**original, "num_format": format_id}
    if isinstance(value, str) and number_format != "@" and looks_like_formula(value):
        properties["quote_prefix"] = True
    return properties


def _number_format(kind: Kind | None, value: object, original: str) -> str:
    """Return the template's number format, or the original one if it matters for the value.

    Percentages are kept, and so are leading zeros of codes that only the format displays.
    """
    if kind is None and value != "" and original != "General":
        return original
    if type(value) in {int, float}:
        if original not in _NEUTRAL_FORMATS:
            return original
        # The template's date format would turn the number into a date.
        return "General" if kind in {None, Kind.DATE} else style.NUMBER_FORMATS[kind]
    if type(value) in style.TIME_FORMATS and not (kind is Kind.DATE and type(value) is dt.date):
        return style.TIME_FORMATS[type(value)]
    return "General" if kind is None else style.NUMBER_FORMATS[kind]


def _cell_format(cell: Any) -> CellFormat:
    properties: dict[str, Any] = {}
    if cell.value is not None and cell.number_format != "General":
        properties["num_format"] = cell.number_format
    if cell.fill.fill_type == "solid" and cell.fill.fgColor.type == "rgb":
        properties["bg_color"] = f"#{cell.fill.fgColor.rgb[-6:]}"
    font = cell.font
    if font.bold:
        properties["bold"] = True
    if font.italic:
        properties["italic"] = True
    if font.color is not None and font.color.type == "rgb" and font.color.rgb[-6:] != "000000":
        properties["font_color"] = f"#{font.color.rgb[-6:]}"
    return properties
