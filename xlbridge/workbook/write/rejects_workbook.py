"""Rejects workbooks: rejected rows in the layout of the template, with the reasons."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
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
_COMMENT = {"author": "xlbridge", "x_scale": 2}


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """Rejected rows of a resource.

    ``frame`` has only these rows, ``reasons`` a text for each. ``contents`` are the original
    contents, by position and column, of cells without a value in ``frame``; ``wrong_columns`` are
    the rejected columns by position, whose cells are coloured and have the reason as a comment.
    """

    resource: Resource
    frame: pd.DataFrame
    reasons: Sequence[str]
    contents: Mapping[int, Mapping[str, str | float]] = field(default_factory=dict)
    wrong_columns: Mapping[int, Collection[str]] = field(default_factory=dict)


def write_rejects(
    path: Path, records: RejectedRows, numbers: Sequence[int], children: Sequence[RejectedRows] = ()
) -> None:
    """Write rejected rows in the layout of the template, to be corrected and uploaded again.

    ``numbers`` are the rows' numbers in the analyst's sheet; they are written in
    ``REJECTS_COLUMNS``, with the reasons. ``children`` are the rows of the records' lists.

    Raises ``UsageError`` if the file cannot be written, ``ValueError`` if Excel cannot hold the
    rows or the lengths differ.
    """
    reasons = records.reasons
    if not len(records.frame) == len(numbers) == len(reasons):
        raise ValueError(
            f"{len(records.frame)} rows, {len(numbers)} numbers, {len(reasons)} reasons"
        )
    with template_sheets(path, records.resource, _REMARK_WIDTHS) as (book, sheets):
        quiet = book.add_format({"italic": True, "font_color": style.QUIET})
        # Text format, as reasons come from the remote system and may look like formulas.
        reason = book.add_format({"italic": True, "font_color": style.QUIET, "num_format": "@"})
        remarks = _Cells(numbers, quiet, quiet), _Cells(reasons, reason, reason)
        for rows in (records, *children):
            cells = [*_rejected_cells(book, rows), *(remarks if rows is records else ())]
            for position in range(len(rows.frame)):
                for index, column in enumerate(cells):
                    column.write(sheets[rows.resource.sheet], position, index)


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

    def write(self, sheet: Worksheet, position: int, index: int) -> None:
        """Write one cell. Raises ``ValueError`` if Excel cannot hold it."""
        row, value, cell_style = position + 1, self.values[position], self.plain
        if position in self.reasons:
            sheet.write_comment(row, index, self.reasons[position], _COMMENT)
            cell_style = self.marked
        if position in self.contents:
            value = self.contents[position]
            if self.quoted and isinstance(value, str) and looks_like_formula(value):
                cell_style = self.quoted
        is_written = value is not None or cell_style is not self.plain
        if is_written and sheet.write(row, index, value, cell_style):
            raise ValueError(f"Excel cannot hold row {row + 1}, column {index + 1}")


def _rejected_cells(book: xlsxwriter.Workbook, rows: RejectedRows) -> Iterator[_Cells]:
    for column in rows.resource.columns:
        name, marked = column.name, cell_format(book, column)
        marked.set_bg_color(f"#{style.SEVERITY_FILLS[Severity.ERROR]}")
        marked.set_font_color(f"#{style.SEVERITY_FONTS[Severity.ERROR]}")
        quoted = cell_format(book, column)
        quoted.set_quote_prefix()
        values = rows.frame.get(name)
        yield _Cells(
            [None] * len(rows.frame) if values is None else cell_values(column.kind, values),
            cell_format(book, column),
            marked,
            None if column.kind.is_text else quoted,
            {n: cells[name] for n, cells in rows.contents.items() if name in cells},
            {n: rows.reasons[n] for n, names in rows.wrong_columns.items() if name in names},
        )
