"""Rejects workbooks: rejected rows in the layout of the template, with the reasons."""

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
_NO_CONTENTS: Mapping[int, Mapping[str, str | float]] = MappingProxyType({})
_NO_COLUMNS: Mapping[int, Collection[str]] = MappingProxyType({})
_COMMENT = {"author": "xlbridge", "x_scale": 2}


@dataclass(frozen=True, slots=True)
class RejectedItems:
    """Rows of a resource in a rejects workbook; the fields are those of ``write_rejects``."""

    resource: Resource
    frame: pd.DataFrame
    reasons: Sequence[str]
    contents: Mapping[int, Mapping[str, str | float]]
    wrong_columns: Mapping[int, Collection[str]]


def write_rejects(
    path: Path,
    resource: Resource,
    frame: pd.DataFrame,
    rows: Sequence[int],
    reasons: Sequence[str],
    contents: Mapping[int, Mapping[str, str | float]] = _NO_CONTENTS,
    wrong_columns: Mapping[int, Collection[str]] = _NO_COLUMNS,
    children: Sequence[RejectedItems] = (),
) -> None:
    """Write rejected rows in the layout of the template, to be corrected and uploaded again.

    ``frame`` has the rejected rows only, ``rows`` their row numbers in the analyst's sheet and
    ``reasons`` the reasons, both written in ``REJECTS_COLUMNS``. ``contents`` are the original
    contents, by position and column, of cells without a value in ``frame``; ``wrong_columns`` are
    the rejected columns by position, whose cells are coloured and have the reason as a comment.
    ``children`` are the rows of the records' lists.

    Raises ``UsageError`` if the file cannot be written, ``ValueError`` if Excel cannot hold the
    rows or the lengths differ.
    """
    if not len(frame) == len(rows) == len(reasons):
        raise ValueError(f"{len(frame)} rows, {len(rows)} numbers, {len(reasons)} reasons")
    records = RejectedItems(resource, frame, reasons, contents, wrong_columns)
    with template_sheets(path, resource, _REMARK_WIDTHS) as (book, sheets):
        quiet = book.add_format({"italic": True, "font_color": style.QUIET})
        # Text format, as reasons come from the remote system and may look like formulas.
        reason = book.add_format({"italic": True, "font_color": style.QUIET, "num_format": "@"})
        remarks = _Cells(rows, quiet, quiet), _Cells(reasons, reason, reason)
        cells = (*_rejected_cells(book, records), *remarks)
        _write_rows(sheets[resource.sheet], cells, len(rows))
        for items in children:
            child_sheet = sheets[items.resource.sheet]
            _write_rows(child_sheet, _rejected_cells(book, items), len(items.frame))


@dataclass(frozen=True, slots=True)
class _Cells:
    """Cells of one column; a value of None is an empty cell.

    ``contents`` are original contents by position; cells in ``reasons`` have the format ``marked``,
    even if empty, and the reason as a comment. ``quoted`` is the format of a text that looks like
    a formula in a column of another kind.
    """

    values: Sequence[Any]
    plain: Format
    marked: Format
    quoted: Format | None = None
    contents: Mapping[int, str | float] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)

    def write(self, sheet: Worksheet, position: int, index: int) -> int:
        """Write one cell; return a negative number if Excel cannot hold it."""
        row, value, cell_style = position + 1, self.values[position], self.plain
        if position in self.reasons:
            sheet.write_comment(row, index, self.reasons[position], _COMMENT)
            cell_style = self.marked
        if position in self.contents:
            value = self.contents[position]
            if self.quoted and isinstance(value, str) and looks_like_formula(value):
                cell_style = self.quoted
        if value is None and cell_style is self.plain:
            return 0
        return int(sheet.write(row, index, value, cell_style))


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
            {n: cells[name] for n, cells in items.contents.items() if name in cells},
            {n: items.reasons[n] for n, names in items.wrong_columns.items() if name in names},
        )


def _write_rows(sheet: Worksheet, columns: Iterable[_Cells], count: int) -> None:
    columns = list(columns)
    for position in range(count):
        for index, cells in enumerate(columns):
            if cells.write(sheet, position, index):
                raise ValueError(f"Excel cannot hold row {position + 2}, column {index + 1}")
