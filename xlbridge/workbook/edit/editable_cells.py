"""Changes of single cells in a workbook that otherwise stays unchanged.

Only the rows of changed cells are written anew: libraries that read and write a whole workbook lose
pictures and the stored results of formulas.
"""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from decimal import Decimal

from lxml import etree

from xlbridge.resources.findings import CorrectedValue
from xlbridge.workbook.address import CellPosition, cell_address, cell_position
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.editable_package import (
    WORKBOOK,
    EditablePackage,
    SheetList,
    cells_by_column,
    find_sheet_data,
)
from xlbridge.workbook.edit.styles import WorkbookStyles

_ROOT = re.compile(rb"<([\w:.-]+)[^>]*>")
_ROW = re.compile(rb"<((?:[\w.-]+:)?row)\b([^>]*?)(?:/>|>.*?</\1\s*>)", re.DOTALL)
_ROW_NUMBER = re.compile(rb"""\br=["'](\d+)["']""")
_ARRAY = re.compile(
    rb"""<(?:[\w.-]+:)?f\b(?=[^>]*\st=["'](?:array|dataTable)["'])[^>]*?"""
    rb"""\sref=["']([A-Z]{1,3}\d{1,7})(?::([A-Z]{1,3}\d{1,7}))?["']"""
)
_FIRST_DAY = {False: date(1899, 12, 30), True: date(1904, 1, 1)}


class EditableCells:
    """Cells of one sheet of an editable workbook."""

    def __init__(self, package: EditablePackage, sheet: str) -> None:
        self._package = package
        self._sheets = SheetList(package)
        self._styles = WorkbookStyles(package)
        self._part = self._sheets.part(sheet)
        self._content = xml.without_comments(xml.in_utf8(package.read(self._part)))
        begin, end, tag = find_sheet_data(self._content)
        self._prefix = tag.removesuffix(b"sheetData")
        self._start = self._content[begin : self._content.index(b">", begin) + 1]
        self._end_of_rows = self._content.rindex(b"</", begin, end)
        self._rows: dict[int, re.Match[bytes]] = {}
        number = 0
        for row in _ROW.finditer(self._content, begin, self._end_of_rows):
            declared = _ROW_NUMBER.search(row[2])
            number = int(declared[1]) if declared else number + 1
            self._rows[number] = row

    def locked_cells(self, positions: Collection[CellPosition]) -> frozenset[CellPosition]:
        """Return those cells that cannot be changed, as a formula computes them."""
        computed = {p for p, c in self._cells(positions).items() if c.find("{*}f") is not None}
        for first, last in _ARRAY.findall(self._content):
            top, left = cell_position(first.decode())
            low, right = cell_position((last or first).decode())
            computed.update(p for p in positions if top <= p[0] <= low and left <= p[1] <= right)
        return frozenset(computed)

    def rich_text_cells(self, positions: Collection[CellPosition]) -> frozenset[CellPosition]:
        """Return those cells whose text has formatted parts."""
        cells = self._cells(positions)
        part = self._package.related(WORKBOOK, "sharedStrings") if cells else None
        rich_texts = set[str]()
        if part is not None and part in self._package:
            texts = enumerate(xml.parse(self._package.read(part)).iterfind("{*}si"))
            rich_texts = {str(n) for n, item in texts if item.find("{*}r") is not None}
        return frozenset(
            position
            for position, cell in cells.items()
            if cell.find("{*}is/{*}r") is not None
            or (cell.get("t") == "s" and cell.findtext("{*}v", "").strip() in rich_texts)
        )

    def write_values(self, values: Mapping[CellPosition, CorrectedValue]) -> None:
        """Replace the values of cells, none of which may be locked; missing rows are added."""
        by_row: defaultdict[int, dict[int, CorrectedValue]] = defaultdict(dict)
        for (row, column), value in values.items():
            by_row[row][column] = value
        numbers = sorted(by_row)
        data = self._parse_rows(numbers)
        for number, row in zip(numbers, data, strict=True):
            cells = dict(cells_by_column(row))
            for column, value in sorted(by_row[number].items()):
                cell = cells.get(column)
                if cell is None:
                    cell = etree.Element(xml.tag_like(row, "c"))
                    row.insert(sum(known < column for known in cells), cell)
                    cells[column] = cell
                cell.set("r", cell_address(number, column))
                self._write_value(cell, value)
        written = _ROW.finditer(etree.tostring(data.getparent(), encoding="UTF-8"))
        existing = sorted(self._rows)
        starts = [*(self._rows[number].start() for number in existing), self._end_of_rows]
        pieces, done = [], 0
        for number, new in zip(numbers, written, strict=True):
            old = self._rows.get(number)
            begin, end = old.span() if old else (starts[bisect(existing, number)],) * 2
            pieces += [self._content[done:begin], new[0]]
            done = end
        self._package.write(self._part, b"".join((*pieces, self._content[done:])))
        self._sheets.recalculate_on_load()
        self._sheets.save()
        self._styles.save()

    def _cells(self, positions: Collection[CellPosition]) -> dict[CellPosition, xml.Element]:
        """Return those cells that are in the sheet."""
        numbers = sorted({row for row, _ in positions})
        return {
            (number, column): cell
            for number, row in zip(numbers, self._parse_rows(numbers), strict=True)
            for column, cell in cells_by_column(row)
            if (number, column) in positions
        }

    def _parse_rows(self, numbers: Iterable[int]) -> xml.Element:
        """Return the element of the rows with only the given ones; missing ones are empty."""
        root = next(_ROOT.finditer(self._content))
        rows = (
            self._rows[n][0] if n in self._rows else b'<%srow r="%d"/>' % (self._prefix, n)
            for n in numbers
        )
        end = b"</%ssheetData></%s>" % (self._prefix, root[1])
        return xml.parse(b"".join((root[0], self._start, *rows, end)))[0]

    def _write_value(self, cell: xml.Element, value: CorrectedValue) -> None:
        style, kind = int(cell.get("s", "0")), cell.attrib.pop("t", None)
        cell[:] = []
        match value:
            case str() if value:
                style = style if kind in {"s", "inlineStr", "str"} else self._styles.for_text(style)
                cell.set("t", "inlineStr")
                xml.add_escaped_text(xml.add_child(cell, "is"), value)
            case Decimal():
                style = self._styles.for_number(style)
                xml.add_child(cell, "v").text = f"{value:f}"
            case date():
                style = self._styles.for_date(style)
                first_day = _FIRST_DAY[self._sheets.uses_1904_dates]
                xml.add_child(cell, "v").text = str((value - first_day).days)
        cell.set("s", str(style))
