"""Clean workbook of typed rows: xlsxwriter writes everything but the rows, whose XML is made here.

xlsxwriter, with a call and an object for every cell, takes ten times as long.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from math import isfinite
from types import MappingProxyType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd

from xlbridge.resources import Column, Kind, Resource
from xlbridge.workbook.address import MAX_ROWS, MAX_TEXT_LENGTH, escape_text
from xlbridge.workbook.write.new_workbook import new_workbook
from xlbridge.workbook.write.template import cell_format

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


def records_workbook(
    resource: Resource,
    frame: pd.DataFrame,
    children: Mapping[str, pd.DataFrame] = _NO_FRAMES,
) -> bytes:
    """Return a clean workbook of the frame's rows, with nothing but values of the analyst's file.

    One sheet, named as the resource, and one for each frame of ``children``, joined by the key; an
    import has neither these nor the key. Row 1 has the exact names of the columns, without optional
    ones that have no values. Money is rounded to the cent; a missing value is an empty cell. Files
    are reproducible.

    Raises ``ValueError`` if Excel cannot hold the rows.
    """
    for rows in (frame, *children.values()):
        if len(rows) >= MAX_ROWS:
            raise ValueError(f"Excel cannot hold {len(rows)} rows and a header")
    if resource.is_imported and not children:
        resource = replace(resource, columns=resource.sent_columns)
    frames = {resource.sheet: frame, **children}
    sheets: dict[str, tuple[list[Column], pd.DataFrame]] = {}
    without_rows, written = BytesIO(), BytesIO()
    with new_workbook(without_rows) as book:
        for part in (resource, *resource.children):
            if part.sheet not in frames:
                continue
            rows = frames[part.sheet]
            filled = {name for name in rows if rows[name].notna().any()}
            columns = [
                column for column in part.columns if column.required or column.name in filled
            ]
            sheets[_SHEET_PART.format(number=len(sheets) + 1)] = columns, rows
            # The headers, and an empty row with the format of each column.
            worksheet = book.add_worksheet(part.sheet)
            for index, column in enumerate(columns):
                worksheet.write_string(0, index, column.name)
                worksheet.write_blank(1, index, None, cell_format(book, column))
    with (
        ZipFile(without_rows) as source,
        ZipFile(written, "w", ZIP_DEFLATED, compresslevel=_COMPRESSION) as target,
    ):
        for entry in source.infolist():
            content = source.read(entry)
            if entry.filename in sheets:
                _write_sheet(target, entry.filename, content.decode(), *sheets[entry.filename])
            else:
                target.writestr(entry, content)
    return written.getvalue()


def cell_values(kind: Kind, series: pd.Series) -> list[Any]:
    """Return the cell values of a column, None for an empty cell."""
    if kind is Kind.DATE:
        days = (series - _EPOCH) / pd.Timedelta(days=1)
        series = days.where(days >= _FIRST_OF_MARCH_1900, days - 1)
    elif kind is Kind.MONEY:
        series = series.round(2)
    return series.astype(object).where(series.notna(), None).tolist()


def _write_sheet(
    book: ZipFile, part: str, content: str, columns: Sequence[Column], frame: pd.DataFrame
) -> None:
    """Write a sheet with its rows instead of the empty row.

    Raises ``ValueError`` if Excel cannot hold a value.
    """
    cells = _BLANK_CELL.findall(content)
    head, _, tail = _BLANK_ROW.sub("", content).partition(_ROWS_END)
    last = cells[-1][0] if cells else "A"
    dimension = f'<dimension ref="A1:{last}{len(frame) + 1}"/>'
    values = [cell_values(column.kind, frame[column.name]) for column in columns]
    for number, (column, found) in enumerate(zip(columns, values, strict=True), start=1):
        fits = (lambda text: len(text) <= MAX_TEXT_LENGTH) if column.kind.is_text else isfinite
        if not all(map(fits, filter(None, found))):
            row = next(row for row, value in enumerate(found, start=2) if value and not fits(value))
            raise ValueError(f"Excel cannot hold row {row}, column {number}")
    with book.open(part, "w") as stream:
        stream.write(_DIMENSION.sub(dimension, head).encode())
        for start in range(0, len(frame), _BLOCK):
            block = [
                _cells(column.kind, letters, style, start + 2, found[start : start + _BLOCK])
                for column, (letters, style), found in zip(columns, cells, values, strict=True)
            ]
            rows = enumerate(map("".join, zip(*block, strict=True)), start + 2)
            stream.write("".join(f'<row r="{n}">{row}</row>' for n, row in rows if row).encode())
        stream.write(f"{_ROWS_END}{tail}".encode())


def _cells(kind: Kind, letters: str, style: str, first: int, values: Sequence[Any]) -> list[str]:
    """Return the XML of a column's cells from Excel's row ``first`` on."""
    text_of: Callable[[Any], str] = str
    texts = [text for text in values if text] if kind.is_text else []
    is_plain = _SPECIAL.search("".join(texts)) is None and texts == list(map(str.strip, texts))
    if kind.is_text and is_plain:
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


def _text_content(text: str) -> str:
    """Return the XML of a text, from the attributes of its element on."""
    preserved = ' xml:space="preserve">' if text[:1].isspace() or text[-1:].isspace() else ">"
    if _SPECIAL.search(text) is not None:
        escaped = escape_text(text)
        text = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return preserved + text
