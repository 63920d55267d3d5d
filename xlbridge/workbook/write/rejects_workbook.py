"""Rejects workbooks: the rejected rows in the layout of the template, with the reasons."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.resources import Resource
from xlbridge.resources.findings import Severity
from xlbridge.workbook import style
from xlbridge.workbook.signature import REJECTS_COLUMNS
from xlbridge.workbook.write.clean_workbook import cell_values
from xlbridge.workbook.write.data_sheet import cell_format
from xlbridge.workbook.write.new_workbook import looks_like_formula
from xlbridge.workbook.write.template import template_sheets

_REMARK_WIDTHS = dict(zip(REJECTS_COLUMNS, (18, 70), strict=True))
_NO_CELLS: Mapping[int, Mapping[str, str | float]] = MappingProxyType({})
_NONE_WRONG: Mapping[int, Collection[str]] = MappingProxyType({})
_COMMENT = {"author": "xlbridge", "x_scale": 2}


@dataclass(frozen=True, slots=True)
class RejectedItems:
    """Rows of a list of rejected records, as ``write_rejects`` takes the records themselves."""

    resource: Resource
    frame: pd.DataFrame
    reasons: Sequence[str]
    own: Mapping[int, Mapping[str, str | float]]
    wrong: Mapping[int, Collection[str]]


def write_rejects(
    path: Path,
    resource: Resource,
    frame: pd.DataFrame,
    rows: Sequence[int],
    reasons: Sequence[str],
    own: Mapping[int, Mapping[str, str | float]] = _NO_CELLS,
    wrong: Mapping[int, Collection[str]] = _NONE_WRONG,
    children: Sequence[RejectedItems] = (),
) -> None:
    """Write the rejected rows in the layout of the template, ready to be corrected and sent again.

    ``frame`` holds the rejected rows only; ``rows`` are their row numbers in the analyst's sheet
    and ``reasons`` why each was rejected, shown in the columns ``REJECTS_COLUMNS``. ``own`` are the
    contents of cells that ``frame`` has no value of, by position and column; ``wrong`` are the
    columns of each position that it was rejected for, whose cells are coloured and have the reason
    as a comment. ``children`` are the rows of the lists of the rejected records.

    Raises ``UsageError`` when the file cannot be written, ``ValueError`` when Excel cannot hold
    the rows or the three differ in length.
    """
    if not len(frame) == len(rows) == len(reasons):
        raise ValueError(f"{len(frame)} rows, {len(rows)} numbers, {len(reasons)} reasons")
    records = RejectedItems(resource, frame, reasons, own, wrong)
    with template_sheets(path, resource, _REMARK_WIDTHS) as (book, sheets):
        quiet = book.add_format({"italic": True, "font_color": style.QUIET})
        # A reason is the system's word, and the analyst edits beside it.
        quoted = book.add_format({"italic": True, "font_color": style.QUIET, "num_format": "@"})
        remarks = _Cells(rows, quiet, quiet), _Cells(reasons, quoted, quoted)
        cells = (*_rejected_cells(book, records), *remarks)
        _write_rows(sheets[resource.sheet], cells, len(rows))
        for items in children:
            below = sheets[items.resource.sheet]
            _write_rows(below, _rejected_cells(book, items), len(items.frame))


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells of one column, by their positions; one whose value is None stays empty.

    ``own`` are the analyst's contents of some as they are; those in ``wrong`` are coloured, also
    where they are empty, and have the reason as a comment. ``quoted`` is for what looks like a
    formula in a column that is not of texts.
    """

    values: Sequence[Any]
    plain: Format
    marked: Format
    quoted: Format | None = None
    own: Mapping[int, str | float] = field(default_factory=dict)
    wrong: Mapping[int, str] = field(default_factory=dict)

    def write(self, sheet: Worksheet, position: int, index: int) -> int:
        """Write one cell. Return a negative number when Excel cannot hold it."""
        row, value, form = position + 1, self.values[position], self.plain
        if position in self.wrong:
            sheet.write_comment(row, index, self.wrong[position], _COMMENT)
            form = self.marked
        if position in self.own:
            value = self.own[position]
            if self.quoted and isinstance(value, str) and looks_like_formula(value):
                form = self.quoted
        if value is None and form is self.plain:
            return 0
        return int(sheet.write(row, index, value, form))


def _rejected_cells(book: xlsxwriter.Workbook, items: RejectedItems) -> Iterator[_Cells]:
    for column in items.resource.columns:
        name, marked = column.name, cell_format(book, column)
        marked.set_bg_color(f"#{style.SEVERITY_FILLS[Severity.ERROR]}")
        marked.set_font_color(f"#{style.SEVERITY_FONTS[Severity.ERROR]}")
        quoted = cell_format(book, column)
        quoted.set_quote_prefix()
        values = items.frame.get(name)
        yield _Cells(
            [None] * len(items.frame) if values is None else cell_values(column.kind, values),
            cell_format(book, column),
            marked,
            None if column.kind.is_text else quoted,
            {at: cells[name] for at, cells in items.own.items() if name in cells},
            {at: items.reasons[at] for at, names in items.wrong.items() if name in names},
        )


def _write_rows(sheet: Worksheet, columns: Iterable[_Cells], count: int) -> None:
    columns = list(columns)
    for position in range(count):
        for index, cells in enumerate(columns):
            if cells.write(sheet, position, index):
                raise ValueError(f"Excel cannot hold row {position + 2}, column {index + 1}")
