"""Rejects workbooks: the rejected rows in the layout of the template, with the reasons."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.findings import Severity
from xlbridge.workbook import style
from xlbridge.workbook.signature import REJECTS_COLUMNS
from xlbridge.workbook.write.clean_workbook import cell_values
from xlbridge.workbook.write.data_sheet import cell_format
from xlbridge.workbook.write.new_workbook import looks_like_formula, write_plain_text
from xlbridge.workbook.write.template import template_sheets

_REMARK_WIDTHS = dict(zip(REJECTS_COLUMNS, (18, 70), strict=True))
_NO_CELLS: Mapping[int, Mapping[str, str | float]] = MappingProxyType({})
_NONE_WRONG: Mapping[int, Collection[str]] = MappingProxyType({})
_EMPTY = object()
"""Stands for the value of an empty cell that is marked."""


def write_rejects(
    path: Path,
    resource: Resource,
    frame: pd.DataFrame,
    rows: Sequence[int],
    reasons: Sequence[str],
    own: Mapping[int, Mapping[str, str | float]] = _NO_CELLS,
    wrong: Mapping[int, Collection[str]] = _NONE_WRONG,
    children: Sequence["RejectedItems"] = (),
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
    with template_sheets(path, resource, _REMARK_WIDTHS) as (book, sheets):
        sheet = sheets[resource.sheet]
        quiet = book.add_format({"italic": True, "font_color": style.QUIET})
        # A reason is the system's word, and the analyst edits beside it.
        quoted = book.add_format({"italic": True, "font_color": style.QUIET, "num_format": "@"})
        _write_rows(
            [
                *_rejected_columns(book, sheet, resource, frame, own, reasons, wrong),
                _ColumnWriter(sheet.write_number, rows, quiet),
                _ColumnWriter(partial(write_plain_text, sheet), reasons, quoted),
            ]
        )
        for items in children:
            below = sheets[items.resource.sheet]
            _write_rows(
                list(
                    _rejected_columns(
                        book,
                        below,
                        items.resource,
                        items.frame,
                        items.own,
                        items.reasons,
                        items.wrong,
                    )
                )
            )


@dataclass(frozen=True, slots=True)
class RejectedItems:
    """Rows of a list of rejected records, as ``write_rejects`` takes the records themselves."""

    resource: Resource
    frame: pd.DataFrame
    reasons: Sequence[str]
    own: Mapping[int, Mapping[str, str | float]]
    wrong: Mapping[int, Collection[str]]


def _rejected_columns(
    book: xlsxwriter.Workbook,
    sheet: Worksheet,
    resource: Resource,
    frame: pd.DataFrame,
    own: Mapping[int, Mapping[str, str | float]],
    reasons: Sequence[str],
    wrong: Mapping[int, Collection[str]],
) -> "Iterator[_ColumnWriter]":
    """Yield the writers of rejected rows: own contents as they are, wrong cells marked."""
    writers = _column_writers(book, sheet, resource.columns, frame)
    for column, writer in zip(resource.columns, writers, strict=True):
        plain = _with_own_cells(book, sheet, writer, column, own)
        marked = {at: reasons[at] for at, names in wrong.items() if column.name in names}
        yield _with_marked_cells(book, sheet, plain, column, marked)


@dataclass(frozen=True, slots=True)
class _ColumnWriter:
    """Writer of the cells of one column; a value of None leaves the cell empty."""

    write: Callable[[int, int, Any, Format], int]
    values: Sequence[Any]
    format: Format


def _column_writers(
    book: xlsxwriter.Workbook, sheet: Worksheet, columns: Iterable[Column], frame: pd.DataFrame
) -> list[_ColumnWriter]:
    return [
        _ColumnWriter(
            _cell_writer(sheet, column.kind),
            cell_values(column.kind, frame[column.name]),
            cell_format(book, column),
        )
        for column in columns
    ]


def _with_own_cells(
    book: xlsxwriter.Workbook,
    sheet: Worksheet,
    writer: _ColumnWriter,
    column: Column,
    own: Mapping[int, Mapping[str, str | float]],
) -> _ColumnWriter:
    """Return a writer that writes the analyst's own contents of some cells as they are."""
    name, number_format = column.name, style.NUMBER_FORMATS[column.kind]
    contents = {at: cells[name] for at, cells in own.items() if name in cells}
    if not contents:
        return writer
    quoted = book.add_format({"num_format": number_format, "quote_prefix": True})

    def write(row: int, place: int, value: Any, form: Format) -> int:
        if row - 1 not in contents:
            return writer.write(row, place, value, form)
        if isinstance(value, str):
            is_like_formula = not column.kind.is_text and looks_like_formula(value)
            return write_plain_text(sheet, row, place, value, quoted if is_like_formula else form)
        written: int = sheet.write_number(row, place, value, form)
        return written

    values = [contents.get(at, value) for at, value in enumerate(writer.values)]
    return _ColumnWriter(write, values, writer.format)


def _with_marked_cells(
    book: xlsxwriter.Workbook,
    sheet: Worksheet,
    writer: _ColumnWriter,
    column: Column,
    reasons: Mapping[int, str],
) -> _ColumnWriter:
    """Return a writer that colours some cells, also empty ones, and says why in a comment."""
    if not reasons:
        return writer
    marked = cell_format(book, column)
    marked.set_bg_color(f"#{style.SEVERITY_FILLS[Severity.ERROR]}")
    marked.set_font_color(f"#{style.SEVERITY_FONTS[Severity.ERROR]}")

    def write(row: int, place: int, value: Any, form: Format) -> int:
        if row - 1 not in reasons:
            return writer.write(row, place, value, form)
        sheet.write_comment(row, place, reasons[row - 1], {"author": "xlbridge", "x_scale": 2})
        if value is _EMPTY:
            return int(sheet.write_blank(row, place, None, marked))
        return writer.write(row, place, value, marked)

    values = [
        _EMPTY if value is None and at in reasons else value
        for at, value in enumerate(writer.values)
    ]
    return _ColumnWriter(write, values, writer.format)


def _cell_writer(sheet: Worksheet, kind: Kind) -> Callable[[int, int, Any, Format], int]:
    if kind.is_text:
        return partial(write_plain_text, sheet)
    return sheet.write_boolean if kind is Kind.BOOLEAN else sheet.write_number


def _write_rows(writers: Sequence[_ColumnWriter]) -> None:
    columns = [(index, w.write, w.format) for index, w in enumerate(writers)]
    for row, values in enumerate(zip(*(w.values for w in writers), strict=True), start=1):
        for value, (index, write, form) in zip(values, columns, strict=True):
            if value is not None and write(row, index, value, form):
                raise ValueError(f"Excel cannot hold row {row + 1}, column {index + 1}")
