"""Clean workbook of typed rows: xlsxwriter writes everything but the rows, whose XML is made here.

xlsxwriter, with a call and an object for every cell, takes ten times as long.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd

from xlbridge.files import replace_atomically
from xlbridge.resources import Column, Kind, Resource
from xlbridge.workbook.address import MAX_ROWS, MAX_TEXT_LENGTH, escape_text
from xlbridge.workbook.write.data_sheet import cell_format
from xlbridge.workbook.write.new_workbook import new_workbook

_SHEET_PART = "xl/worksheets/sheet{number}.xml"
_NO_FRAMES: Mapping[str, pd.DataFrame] = MappingProxyType({})
_ROWS_END = "</sheetData>"
_COMPRESSION = 3  # less than half the time of 6, 15 % larger
_BLOCK = 2_000
"""Rows whose XML is in memory at a time."""

_EPOCH = pd.Timestamp(1899, 12, 30)
_FIRST_OF_MARCH_1900 = 61  # Excel has a 29 February 1900
_SPECIAL = re.compile("[&<>_\\x00-\\x1f\ufffe\uffff]")
_DIMENSION = re.compile(r'<dimension ref="[^"]*"/>')
_BLANK_CELL = re.compile(r'<c r="([A-Z]+)2"( s="\d+")?/>')
_BLANK_ROW = re.compile(r'<row r="2".*?</row>')


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Sheet to write."""

    name: str
    columns: Sequence[Column]
    frame: pd.DataFrame


def write_records(
    path: Path,
    resource: Resource,
    frame: pd.DataFrame,
    children: Mapping[str, pd.DataFrame] = _NO_FRAMES,
) -> None:
    """Write a clean workbook of the frame's rows, with nothing but values of the analyst's file.

    One sheet, named as the resource, and one for each frame of ``children``, joined by the key; an
    import has neither these nor the key. Row 1 has the exact names of the columns, without optional
    ones that have no values. Money is rounded to the cent; a missing value is an empty cell. Files
    are reproducible.

    Raises ``UsageError`` if the file cannot be written, ``ValueError`` if Excel cannot hold the
    rows.
    """
    for rows in (frame, *children.values()):
        if len(rows) >= MAX_ROWS:
            raise ValueError(f"Excel cannot hold {len(rows)} rows and a header")
    if resource.is_imported and not children:
        resource = replace(resource, columns=resource.sent_columns)
    frames = {resource.sheet: frame, **children}
    sheets = [
        _Sheet(part.sheet, _used_columns(part, frames[part.sheet]), frames[part.sheet])
        for part in (resource, *resource.children)
        if part.sheet in frames
    ]
    parts = {_SHEET_PART.format(number=n): sheet for n, sheet in enumerate(sheets, start=1)}
    with (
        ZipFile(_workbook_without_rows(sheets)) as source,
        replace_atomically(path) as temporary,
        ZipFile(temporary, "w", ZIP_DEFLATED, compresslevel=_COMPRESSION) as target,
    ):
        for part in source.infolist():
            content = source.read(part)
            if part.filename in parts:
                _write_sheet(target, part.filename, content.decode(), parts[part.filename])
            else:
                target.writestr(part, content)


def _used_columns(resource: Resource, frame: pd.DataFrame) -> list[Column]:
    """Return the columns of a resource, without optional ones that have no values."""
    filled = {name for name in frame if frame[name].notna().any()}
    return [column for column in resource.columns if column.required or column.name in filled]


def cell_values(kind: Kind, series: pd.Series) -> list[Any]:
    """Return the cell values of a column, None for an empty cell."""
    if kind is Kind.DATE:
        days = (series - _EPOCH) / pd.Timedelta(days=1)
        series = days.where(days >= _FIRST_OF_MARCH_1900, days - 1)
    elif kind is Kind.MONEY:
        series = series.round(2)
    return series.astype(object).where(series.notna(), None).tolist()


def _workbook_without_rows(sheets: Sequence[_Sheet]) -> BytesIO:
    """Return a workbook of the headers, and an empty row with the format of each column."""
    content = BytesIO()
    with new_workbook(content) as book:
        for sheet in sheets:
            worksheet = book.add_worksheet(sheet.name)
            for index, column in enumerate(sheet.columns):
                worksheet.write_string(0, index, column.name)
                worksheet.write_blank(1, index, None, cell_format(book, column))
    return content


def _write_sheet(book: ZipFile, part: str, content: str, sheet: _Sheet) -> None:
    """Write a sheet with its rows instead of the empty row."""
    cells = _BLANK_CELL.findall(content)
    head, _, tail = _BLANK_ROW.sub("", content).partition(_ROWS_END)
    last = cells[-1][0] if cells else "A"
    dimension = f'<dimension ref="A1:{last}{len(sheet.frame) + 1}"/>'
    values = [
        _checked_values(column, number, sheet.frame[column.name])
        for number, column in enumerate(sheet.columns, start=1)
    ]
    with book.open(part, "w") as stream:
        stream.write(_DIMENSION.sub(dimension, head).encode())
        for start in range(0, len(sheet.frame), _BLOCK):
            columns = [
                _cells(column.kind, letters, style, start + 2, found[start : start + _BLOCK])
                for column, (letters, style), found in zip(
                    sheet.columns, cells, values, strict=True
                )
            ]
            rows = enumerate(map("".join, zip(*columns, strict=True)), start + 2)
            stream.write("".join(f'<row r="{n}">{row}</row>' for n, row in rows if row).encode())
        stream.write(f"{_ROWS_END}{tail}".encode())


def _cells(kind: Kind, letters: str, style: str, first: int, values: Sequence[Any]) -> list[str]:
    """Return the XML of a column's cells from Excel's row ``first`` on."""
    text_of: Callable[[Any], str] = str
    if kind.is_text and _are_plain(values):
        between, after = f'"{style} t="inlineStr"><is><t>', "</t></is></c>"
    elif kind.is_text:
        text_of, between, after = _text_content, f'"{style} t="inlineStr"><is><t', "</t></is></c>"
    elif kind is Kind.BOOLEAN:
        text_of, between, after = "{:d}".format, f'"{style} t="b"><v>', "</v></c>"
    else:
        text_of, between, after = "{:.16G}".format, f'"{style}><v>', "</v></c>"
    before = f'<c r="{letters}'
    return [
        "" if value is None else f"{before}{row}{between}{text_of(value)}{after}"
        for row, value in enumerate(values, first)
    ]


def _checked_values(column: Column, number: int, series: pd.Series) -> list[Any]:
    """Return the cell values of a column. Raises ``ValueError`` if Excel cannot hold one."""
    values = cell_values(column.kind, series)
    fits = (lambda text: len(text) <= MAX_TEXT_LENGTH) if column.kind.is_text else isfinite
    if not all(map(fits, filter(None, values))):
        row = next(row for row, value in enumerate(values, start=2) if value and not fits(value))
        raise ValueError(f"Excel cannot hold row {row}, column {number}")
    return values


def _are_plain(texts: Sequence[str | None]) -> bool:
    """Return whether all texts can be written unescaped."""
    filled = [text for text in texts if text]
    return _SPECIAL.search("".join(filled)) is None and filled == list(map(str.strip, filled))


def _text_content(text: str) -> str:
    """Return the XML of a text, from the attributes of its element on."""
    preserved = ' xml:space="preserve">' if text[:1].isspace() or text[-1:].isspace() else ">"
    if _SPECIAL.search(text) is not None:
        escaped = escape_text(text)
        text = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return preserved + text
