"""Edited copies of .csv and .ods files: what is not edited stays as it is written.

Rows of a .csv with edited cells are written anew in the file's own form, and all other rows keep
every byte. Source of .ods: OpenDocument 1.3, Part 3, tables.
"""

import copy
import csv
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import Literal

from lxml import etree

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.settings import CSV_ENCODINGS, CsvForm, ParseOptions
from xlbridge.workbook.address import CellPosition, cell_address
from xlbridge.workbook.edit.editable_package import Element, parse_xml, xml_bytes
from xlbridge.workbook.read.csv_file import (
    COMMA_NUMBER,
    MARKS,
    NO_DELIMITER,
    POINT_NUMBER,
    split_text,
)

CellValue = Decimal | date | str

_LINE_END = re.compile(r"\r\n|\n|\r")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d\b", re.ASCII)
_NOT_ENCODED = Text(
    pt="{cell}: “{text}” tem um caractere que um arquivo em {encoding} não pode ter. Digite outro, "
    "ou salve o arquivo de origem como CSV UTF-8.",
    en="{cell}: “{text}” has a character that a file in {encoding} cannot have. Enter another one, "
    "or save the original file as CSV UTF-8.",
)


def edit_csv(
    content: bytes,
    form: CsvForm,
    reading: ParseOptions,
    values: Mapping[CellPosition, CellValue],
    order: Sequence[int],
) -> bytes:
    """Return a .csv file with new values in some cells, and its rows in an order: rows that are not
    in it are left out, those below the last one of the file are new.

    ``form`` is the form that was detected, with the codec. Numbers and dates are written as others
    in their column are, or as ``reading`` declares. Raises ``UsageError`` for a text that the
    encoding does not have.
    """
    mark = next((mark for mark, _ in MARKS if content.startswith(mark)), b"")
    codec = form.encoding or "utf-8"
    text = content[len(mark) :].decode(codec)
    if codec == "ascii":
        codec = "cp1252"  # as Excel reads a file without a mark
    start, _, rows, ending = split_text(text)
    delimiter = form.delimiter or NO_DELIMITER
    records = list(_records(rows, delimiter))
    break_ = _LINE_END.search(text)
    line_end = "\r\n" if break_ is None else break_[0]
    by_row: defaultdict[int, dict[int, CellValue]] = defaultdict(dict)
    for (row, column), value in values.items():
        by_row[row][column] = value
    written = list[str]()
    for row in order:
        raw, cells = records[row - 1] if row <= len(records) else ("", [])
        if row in by_row:
            cells = cells + [""] * (max(by_row[row]) + 1 - len(cells))
            for column, value in by_row[row].items():
                cells[column] = _text(value, column, records, reading)
                try:
                    cells[column].encode(codec)
                except UnicodeEncodeError:
                    name, cell = CSV_ENCODINGS[codec[: len("utf-16")]], cell_address(row, column)
                    raise UsageError(
                        _NOT_ENCODED.format(cell=cell, text=cells[column], encoding=name)
                    ) from None
            if row > len(records):
                width = max((len(other) for _, other in records), default=0)
                cells = cells + [""] * (width - len(cells))
            raw = _line(cells, delimiter, line_end, like=raw)
        if written and not written[-1].endswith(("\n", "\r")):
            written[-1] += line_end
        written.append(raw)
    return mark + (start + "".join(written) + ending).encode(codec)


def _records(text: str, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the text of each record, and its cells."""
    lines = io.StringIO(text, newline="")
    taken: list[str] = []

    def read() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    for cells in csv.reader(read(), delimiter=delimiter, strict=True):
        yield "".join(taken), cells
        taken.clear()


def _line(cells: Sequence[str], delimiter: str, line_end: str, like: str) -> str:
    """Return cells as a record; all are quoted if those of the one before were."""
    is_quoted = like.count('"') >= 2 * (like.count(delimiter) + 1)
    target = io.StringIO(newline="")
    writer = csv.writer(
        target,
        delimiter=delimiter,
        lineterminator=line_end,
        quoting=csv.QUOTE_ALL if is_quoted else csv.QUOTE_MINIMAL,
    )
    writer.writerow(cells)
    return target.getvalue()


def _text(
    value: CellValue,
    column: int,
    records: Sequence[tuple[str, Sequence[str]]],
    reading: ParseOptions,
) -> str:
    """Return a value as the cells of its column are written."""
    if isinstance(value, str):
        return value
    own = [cells[column].strip() for _, cells in records if column < len(cells)]
    if isinstance(value, date):
        if any(map(_ISO_DATE.match, own)):
            return value.isoformat()
        return f"{value:%m/%d/%Y}" if reading.dates == "mdy" else f"{value:%d/%m/%Y}"
    style = reading.numbers
    if style is None:
        everywhere = (cell.strip() for _, cells in records for cell in cells)
        forms: Mapping[Literal["pt", "en"], re.Pattern[str]]
        forms = {"pt": COMMA_NUMBER, "en": POINT_NUMBER}
        texts = chain(own, everywhere)
        found = (name for it in texts for name, form in forms.items() if form.fullmatch(it))
        style = next(found, None)
    number = f"{value:f}"
    return number if style == "en" else number.replace(".", ",")


_OPEN_DOCUMENT = "{{urn:oasis:names:tc:opendocument:xmlns:{}:1.0}}"
_TABLE, _OFFICE, _TEXT = map(_OPEN_DOCUMENT.format, ("table", "office", "text"))
_ROW, _ROW_COUNT = f"{_TABLE}table-row", f"{_TABLE}number-rows-repeated"
_CELL, _CELL_COUNT = f"{_TABLE}table-cell", f"{_TABLE}number-columns-repeated"
_CELLS = (_CELL, f"{_TABLE}covered-table-cell")
_FORMULA, _PARAGRAPH = f"{_TABLE}formula", f"{_TEXT}p"
_VALUE_NAMES = ("value-type", "value", "date-value", "time-value", "boolean-value")
_VALUES = tuple(f"{_OFFICE}{name}" for name in (*_VALUE_NAMES, "string-value", "currency"))
_EXTENDED_TYPE = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}value-type"
_CONTENT = "content.xml"
_PARTS = re.compile(r"[^ \t]+| +|\t")


class OdsWorkbook:
    """An .ods workbook whose cells are edited."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            self._root = parse_xml(archive.read(_CONTENT))

    @property
    def has_formulas(self) -> bool:
        """True if a cell has a formula, whose stored result may depend on others."""
        return any(_FORMULA in cell.attrib for cell in self._root.iter(_CELL))

    def edit(
        self,
        sheet: str,
        values: Mapping[CellPosition, Decimal | date | str],
        order: Sequence[int],
        height: int,
    ) -> None:
        """Write values into cells of a sheet, and put its rows in an order: those up to ``height``
        that are not in it are removed, those below are new."""
        tables = self._root.iter(f"{_TABLE}table")
        table = next(it for it in tables if it.get(f"{_TABLE}name") == sheet)
        by_row: defaultdict[int, dict[int, Decimal | date | str]] = defaultdict(dict)
        for (row, column), value in values.items():
            by_row[row][column] = value
        removed = set(range(1, height + 1)).difference(order)
        above = {row: before for before, row in zip((0, *order), order, strict=False)}
        new = [row for row in order if row > height]
        needed = {*by_row, *removed, *map(above.__getitem__, new)}
        rows = {
            row: _single(list(table.iter(_ROW)), _ROW_COUNT, row - 1)
            for row in sorted(needed, reverse=True)
            if 0 < row <= height
        }
        for row in new:
            before = rows[above[row]]
            rows[row] = etree.Element(_ROW, dict(before.attrib))
            for cell in before.iterchildren(*_CELLS):
                kept = {name: text for name, text in cell.attrib.items() if name not in _VALUES}
                kept.pop(_EXTENDED_TYPE, None)
                etree.SubElement(rows[row], _CELL, kept)
            before.addnext(rows[row])
        for row, cells in by_row.items():
            for column, value in cells.items() if row in rows else ():
                _set_value(_cell(rows[row], column), value)
        for row in removed:
            rows[row].getparent().remove(rows[row])

    def save(self) -> bytes:
        """Return the workbook with the edited cells."""
        target = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(self._content)) as archive,
            zipfile.ZipFile(target, "w") as copied,
        ):
            for part in archive.infolist():
                is_content = part.filename == _CONTENT
                copied.writestr(part, xml_bytes(self._root) if is_content else archive.read(part))
        return target.getvalue()


def _single(elements: Sequence[Element], count_name: str, at: int) -> Element:
    """Return the row or cell at a position among others, of which one may stand for several: it is
    split, so that the returned one stands for itself."""
    begin = 0
    for element in elements:
        count = int(element.get(count_name, "1"))
        if at < begin + count:
            break
        begin += count
    for more, is_before in ((begin + count - 1 - at, False), (at - begin, True)):
        if more:
            rest = copy.deepcopy(element)
            rest.tail = None
            _set_count(rest, count_name, more)
            if is_before:
                element.addprevious(rest)
            else:
                element.addnext(rest)
    _set_count(element, count_name, 1)
    return element


def _set_count(element: Element, name: str, count: int) -> None:
    if count > 1:
        element.set(name, str(count))
    else:
        element.attrib.pop(name, None)


def _cell(row: Element, column: int) -> Element:
    """Return the cell of a column, added if the row ends before it."""
    cells = list(row.iterchildren(*_CELLS))
    width = sum(int(cell.get(_CELL_COUNT, "1")) for cell in cells)
    cells += [etree.SubElement(row, _CELL) for _ in range(column + 1 - width)]
    return _single(cells, _CELL_COUNT, column)


def _set_value(cell: Element, value: Decimal | date | str) -> None:
    for name in (*_VALUES, _EXTENDED_TYPE):
        cell.attrib.pop(name, None)
    for paragraph in list(cell.iterchildren(_PARAGRAPH)):
        cell.remove(paragraph)
    if value == "":
        return
    if isinstance(value, str):
        cell.set(f"{_OFFICE}value-type", "string")
    elif isinstance(value, date):
        cell.set(f"{_OFFICE}value-type", "date")
        cell.set(f"{_OFFICE}date-value", value.isoformat())
    else:
        cell.set(f"{_OFFICE}value-type", "float")
        cell.set(f"{_OFFICE}value", f"{value:f}")
    for line in str(value).split("\n"):
        _add_line(etree.SubElement(cell, _PARAGRAPH), line)


def _add_line(paragraph: Element, line: str) -> None:
    """Add a text to a paragraph, in which only single spaces between words stand for themselves."""
    last: Element = None
    for part in _PARTS.findall(line):
        is_plain = not part.isspace() or (part == " " and paragraph.text)
        if is_plain and last is None:
            paragraph.text = (paragraph.text or "") + part
        elif is_plain:
            last.tail = (last.tail or "") + part
        elif part == "\t":
            last = etree.SubElement(paragraph, f"{_TEXT}tab")
        else:
            last = etree.SubElement(paragraph, f"{_TEXT}s", {f"{_TEXT}c": str(len(part))})
