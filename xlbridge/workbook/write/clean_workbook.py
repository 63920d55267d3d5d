"""Clean workbook of many typed rows: xlsxwriter makes all but the rows, whose XML is written here.

xlsxwriter takes ten times as long, with a call and an object for every cell.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd

from xlbridge.files import replace_atomically
from xlbridge.resources import Column, Kind, Resource
from xlbridge.workbook.address import escape_text
from xlbridge.workbook.write.data_sheet import cell_format
from xlbridge.workbook.write.new_workbook import new_workbook

_SHEET_PART = "xl/worksheets/sheet{number}.xml"
_NO_FRAMES: Mapping[str, pd.DataFrame] = MappingProxyType({})
_ROWS_END = "</sheetData>"
_MOST_ROWS = 1_048_576
_MOST_LETTERS = 32_767
_COMPRESSION = 3  # takes less than half the time of 6, for a seventh more bytes
_BLOCK = 2_000
"""Rows whose XML is in memory at once."""

_EPOCH = pd.Timestamp(1899, 12, 30)
_FIRST_OF_MARCH_1900 = 61  # Excel counts a 29 February 1900 that never was
_SPECIAL = re.compile("[&<>_\\x00-\\x1f\ufffe\uffff]")
_DIMENSION = re.compile(r'<dimension ref="[^"]*"/>')
_BLANK_CELL = re.compile(r'<c r="([A-Z]+)2"( s="\d+")?/>')
_BLANK_ROW = re.compile(r'<row r="2".*?</row>')


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Sheet to write: its name, the columns that it has, and its rows."""

    name: str
    columns: Sequence[Column]
    frame: pd.DataFrame

    @classmethod
    def of(cls, resource: Resource, columns: Sequence[Column], frame: pd.DataFrame) -> "_Sheet":
        """Return the sheet of a resource; of the columns, optional ones without values go."""
        filled = {name for name in frame if frame[name].notna().any()}
        kept = [c for c in columns if c.required or c.name in filled]
        return cls(resource.sheet, kept, frame)


def write_records(
    path: Path,
    resource: Resource,
    frame: pd.DataFrame,
    children: Mapping[str, pd.DataFrame] = _NO_FRAMES,
) -> None:
    """Write a clean workbook of the frame's rows: nothing of the analyst's file but the values.

    One sheet, named as the resource, and one for each of the frames of its ``children``, which the
    key joins; an import takes neither them nor the key. The columns' exact names stand in row 1,
    one row per frame row from row 2. Optional columns without any value are left out. Money is
    rounded to the cent; a missing value is an empty cell. The same rows give the same bytes.

    Raises ``UsageError`` when the file cannot be written, ``ValueError`` when Excel cannot hold
    the rows.
    """
    for one in (frame, *children.values()):
        if len(one) >= _MOST_ROWS:
            raise ValueError(f"Excel cannot hold {len(one)} rows and a header")
    own = resource.sent_columns if resource.is_imported and not children else resource.columns
    below = [child for child in resource.children if child.sheet in children]
    sheets = [
        _Sheet.of(resource, own, frame),
        *(_Sheet.of(child, child.columns, children[child.sheet]) for child in below),
    ]
    parts = {_SHEET_PART.format(number=place): one for place, one in enumerate(sheets, start=1)}
    with (
        ZipFile(_workbook_without_rows(sheets)) as empty,
        replace_atomically(path) as temporary,
        ZipFile(temporary, "w", ZIP_DEFLATED, compresslevel=_COMPRESSION) as filled,
    ):
        for part in empty.infolist():
            content = empty.read(part)
            if part.filename in parts:
                sheet = parts[part.filename]
                _write_sheet(filled, part.filename, content.decode(), sheet.columns, sheet.frame)
            else:
                filled.writestr(part, content)


def cell_values(kind: Kind, series: pd.Series) -> list[Any]:
    """Return the values of a column as cells hold them, None for an empty cell."""
    if kind is Kind.DATE:
        days = (series - _EPOCH) / pd.Timedelta(days=1)
        series = days.where(days >= _FIRST_OF_MARCH_1900, days - 1)
    elif kind is Kind.MONEY:
        series = series.round(2)
    return series.astype(object).where(series.notna(), None).tolist()


def _workbook_without_rows(sheets: Sequence[_Sheet]) -> BytesIO:
    """Return a workbook of the headers, and of one empty row in the format of each column."""
    content = BytesIO()
    with new_workbook(content) as book:
        for one in sheets:
            sheet = book.add_worksheet(one.name)
            for index, column in enumerate(one.columns):
                sheet.write_string(0, index, column.name)
                sheet.write_blank(1, index, None, cell_format(book, column))
    return content


def _write_sheet(
    book: ZipFile, part: str, empty: str, columns: Sequence[Column], frame: pd.DataFrame
) -> None:
    """Write the sheet with the rows of the frame in place of its empty row."""
    cells = _BLANK_CELL.findall(empty)
    opening, _, closing = _BLANK_ROW.sub("", empty).partition(_ROWS_END)
    last = cells[-1][0] if cells else "A"
    size = f'<dimension ref="A1:{last}{len(frame) + 1}"/>'
    texts = [
        _CellTexts.of(column, letters, style, _held_values(column, place, frame[column.name]))
        for place, (column, (letters, style)) in enumerate(zip(columns, cells, strict=True), 1)
    ]
    with book.open(part, "w") as sheet:
        sheet.write(_DIMENSION.sub(size, opening).encode())
        for rows in _blocks_of_rows(texts, len(frame)):
            sheet.write(rows.encode())
        sheet.write(f"{_ROWS_END}{closing}".encode())


@dataclass(frozen=True, slots=True)
class _CellTexts:
    """Column of cells: its values, and the XML of a cell before its row, between and behind."""

    values: Sequence[Any]
    text_of: Callable[[Any], str]
    before: str
    between: str
    behind: str

    @classmethod
    def of(cls, column: Column, letters: str, style: str, values: Sequence[Any]) -> "_CellTexts":
        """Return the cells of a column of the frame."""
        before = f'<c r="{letters}'
        if column.kind.is_text:
            return cls(values, _text_content, before, f'"{style} t="inlineStr"><is><t', "</t></is>")
        if column.kind is Kind.BOOLEAN:
            return cls(values, "{:d}".format, before, f'"{style} t="b"><v>', "</v>")
        return cls(values, "{:.16G}".format, before, f'"{style}><v>', "</v>")

    def rows(self, start: int, end: int) -> list[str]:
        """Return the XML of the cells of some rows, counted from 0."""
        text_of, before, between, behind = self.text_of, self.before, self.between, self.behind
        values = self.values[start:end]
        if text_of is _text_content and _are_plain(values):
            return [
                "" if value is None else f"{before}{row}{between}>{value}{behind}</c>"
                for row, value in enumerate(values, start + 2)
            ]
        numbered = enumerate(values, start + 2)
        return [
            "" if value is None else f"{before}{row}{between}{text_of(value)}{behind}</c>"
            for row, value in numbered
        ]


def _held_values(column: Column, place: int, series: pd.Series) -> list[Any]:
    """Return the values of a column's cells. Raises ``ValueError`` for what Excel cannot hold."""
    values = cell_values(column.kind, series)
    filled = [value for value in values if value is not None]
    if column.kind.is_text and max(map(len, filled), default=0) <= _MOST_LETTERS:
        return values
    if not column.kind.is_text and all(map(isfinite, filled)):
        return values
    for row, value in enumerate(values, start=2):
        is_text = isinstance(value, str)
        if value is not None and (len(value) > _MOST_LETTERS if is_text else not isfinite(value)):
            raise ValueError(f"Excel cannot hold row {row}, column {place}")
    return values


def _blocks_of_rows(columns: Sequence[_CellTexts], count: int) -> Iterator[str]:
    """Yield the XML of the rows, some at a time."""
    for start in range(0, count, _BLOCK):
        end = min(start + _BLOCK, count)
        cells = zip(*(column.rows(start, end) for column in columns), strict=True)
        numbered = enumerate(map("".join, cells), start + 2)
        yield "".join(f'<row r="{row}">{content}</row>' for row, content in numbered if content)


def _are_plain(texts: Sequence[str | None]) -> bool:
    """Tell whether all of some texts stand in XML as they are."""
    filled = [text for text in texts if text]
    return _SPECIAL.search("".join(filled)) is None and filled == [one.strip() for one in filled]


def _text_content(text: str) -> str:
    """Return a text as it stands behind the name of its element."""
    preserved = ' xml:space="preserve">' if text[:1].isspace() or text[-1:].isspace() else ">"
    if _SPECIAL.search(text) is not None:
        escaped = escape_text(text)
        text = escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return preserved + text
