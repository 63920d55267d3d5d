"""Rows of an analyst's file in a new workbook: those to send alone, or its rejected rows with
the reasons.

In the workbook to send xlsxwriter writes everything but the rows, whose XML is made here: with a
call and an object for every cell it takes ten times as long.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pandas as pd

from xlbridge.report_forms import Report
from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.findings import Severity
from xlbridge.resources.names import number_title
from xlbridge.workbook import style
from xlbridge.workbook.address import MAX_ROWS, MAX_TEXT_LENGTH, escape_text
from xlbridge.workbook.signature import REJECTS_COLUMNS, WorkbookOrigin
from xlbridge.workbook.write.new_workbook import (
    CellWriter,
    FilledRows,
    new_workbook,
)
from xlbridge.workbook.write.template import FREE_TEXT_WIDTH, cell_format, template_sheets

_REMARK_WIDTHS = (9, 40, 26)
_NUMBER_WIDTH = 24
_MOST_LINES = 4
"""Most lines of a long text of the analyst's own that are in view."""
_TOP = {"valign": "top"}
_REMARK = {"italic": True, "font_color": style.QUIET, **style.BESIDE_NUMBERS, **_TOP}
_WRONG = {
    "bg_color": f"#{style.SEVERITY_FILLS[Severity.ERROR]}",
    "font_color": f"#{style.SEVERITY_FONTS[Severity.ERROR]}",
}
_COMMENT = {"author": "xlbridge", "x_scale": 2}


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """Rejected rows of a resource.

    ``frame`` has only these rows, ``reasons`` a text for each, and what to do. ``contents`` are the
    analyst's own contents of cells, by position and column; ``wrong_columns`` are the rejected
    columns by position, whose cells are coloured and have the reason as a comment;
    ``record_numbers`` are the system's numbers of the records, by row and column.
    """

    resource: Resource
    frame: pd.DataFrame
    reasons: Sequence[tuple[str, str]]
    contents: Mapping[int, Mapping[str, str | float]] = field(default_factory=dict)
    wrong_columns: Mapping[int, Collection[str]] = field(default_factory=dict)
    record_numbers: Sequence[Mapping[str, str | int]] = ()

    def write(
        self,
        path: Path,
        numbers: Sequence[int | str],
        origin: WorkbookOrigin,
        summary: Report,
        children: Sequence["RejectedRows"] = (),
    ) -> None:
        """Write the rows in the layout of the template, to be corrected and uploaded again.

        ``numbers`` are the rows' numbers in the analyst's sheet, as texts of those of which a row
        has several; they are written in
        ``REJECTS_COLUMNS``, the first ones, with the reasons. ``origin`` is the upload, which the
        workbook carries inside; ``summary``, the first sheet, says what became of all its rows.
        ``children`` are the rows of the records' lists.

        Raises ``UsageError`` if the file cannot be written, ``ValueError`` if Excel cannot hold the
        rows or the lengths differ.
        """
        reasons = self.reasons
        if not len(self.frame) == len(numbers) == len(reasons):
            raise ValueError(
                f"{len(self.frame)} rows, {len(numbers)} numbers, {len(reasons)} reasons"
            )
        number_columns = dict.fromkeys(name for row in self.record_numbers for name in row)
        filled = dict[str, FilledRows]()
        with template_sheets(
            path,
            self.resource,
            before=[
                (str(column), width, "")
                for column, width in zip(REJECTS_COLUMNS, _REMARK_WIDTHS, strict=True)
            ],
            after=[(str(number_title(name)), _NUMBER_WIDTH, name) for name in number_columns],
            summary=replace(summary, title=origin.summary_title),
            origin=origin,
            filled=filled,
        ) as (book, sheets):
            writer = CellWriter(book)
            for rows in (self, *children):
                sheet = sheets[rows.resource.sheet]
                first = len(REJECTS_COLUMNS) if rows is self else 0
                columns, blank = rows.resource.sheet_columns, [None] * len(rows.frame)
                shown = filled[rows.resource.sheet] = FilledRows(len(rows.frame))
                values = [
                    cell_values(column.kind, rows.frame[column.name])
                    if column.name in rows.frame
                    else blank
                    for column in columns
                ]
                for position in range(len(rows.frame)):
                    contents = rows.contents.get(position, {})
                    wrong = rows.wrong_columns.get(position, ())
                    reason, what_to_do = rows.reasons[position]
                    cells = [
                        (index, column, contents.get(column.name, of_column[position]))
                        for index, (column, of_column) in enumerate(
                            zip(columns, values, strict=True), first
                        )
                    ]
                    if rows is self:
                        # Text format, as reasons come from the remote system.
                        wrapped = {**_REMARK, "num_format": "@", "text_wrap": True}
                        writer.write(sheet, position + 1, 0, numbers[position], _REMARK)
                        writer.write(sheet, position + 1, 1, reason, wrapped)
                        writer.write(sheet, position + 1, 2, what_to_do, wrapped)
                        lines = style.wrapped_lines(
                            zip((reason, what_to_do), _REMARK_WIDTHS[1:], strict=True)
                        )
                        of_texts = style.wrapped_lines(
                            (str(value), FREE_TEXT_WIDTH)
                            for _, column, value in cells
                            if column.kind is Kind.TEXT and value is not None
                        )
                        lines = max(lines, min(of_texts, _MOST_LINES))
                        height = min(lines * style.LINE_HEIGHT, style.MAX_ROW_HEIGHT)
                        sheet.set_row(position + 1, height if lines > 1 else None)
                    for index, column, value in cells:
                        properties: dict[str, Any] = {
                            "num_format": style.NUMBER_FORMATS[column.kind],
                            **_TOP,
                        }
                        if isinstance(value, str):
                            properties |= style.BESIDE_NUMBERS
                        if rows is self and column.kind is Kind.TEXT:
                            properties["text_wrap"] = True
                        if column.name in wrong:
                            properties |= _WRONG
                            note = "\n".join(filter(None, (reason, what_to_do)))
                            sheet.write_comment(position + 1, index, note, _COMMENT)
                        if value is not None or column.name in wrong:
                            shown.add(index, value)
                            writer.write(sheet, position + 1, index, value, properties)
                    for index, name in enumerate(
                        number_columns if rows is self else (), first + len(columns)
                    ):
                        number = self.record_numbers[position].get(name)
                        writer.write(sheet, position + 1, index, number, {})


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
                _cells(column.kind, letters, style_id, start + 2, found[start : start + _BLOCK])
                for column, (letters, style_id), found in zip(columns, cells, values, strict=True)
            ]
            rows = enumerate(map("".join, zip(*block, strict=True)), start + 2)
            stream.write("".join(f'<row r="{n}">{row}</row>' for n, row in rows if row).encode())
        stream.write(f"{_ROWS_END}{tail}".encode())


def _cells(kind: Kind, letters: str, style_id: str, first: int, values: Sequence[Any]) -> list[str]:
    """Return the XML of a column's cells from Excel's row ``first`` on."""
    text_of: Callable[[Any], str] = str
    texts = [text for text in values if text] if kind.is_text else []
    is_plain = _SPECIAL.search("".join(texts)) is None and texts == list(map(str.strip, texts))
    if kind.is_text and is_plain:
        between, after = f'"{style_id} t="inlineStr"><is><t>', "</t></is></c>"
    elif kind.is_text:
        text_of, between, after = (
            _text_content,
            f'"{style_id} t="inlineStr"><is><t',
            "</t></is></c>",
        )
    elif kind is Kind.BOOLEAN:
        text_of, between, after = "{:d}".format, f'"{style_id} t="b"><v>', "</v></c>"
    else:
        text_of, between, after = "{:.16G}".format, f'"{style_id}><v>', "</v></c>"
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
