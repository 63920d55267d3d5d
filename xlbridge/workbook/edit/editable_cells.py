"""Changes of single cells in a workbook that otherwise stays unchanged.

Their XML is replaced in place: libraries that read and write a whole workbook lose pictures and
the stored results of formulas.
"""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from xlbridge.resources.findings import CorrectedValue
from xlbridge.workbook.address import CellPosition, cell_address, column_index, escape_text
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.editable_package import WORKBOOK, EditablePackage
from xlbridge.workbook.edit.sheets import SheetList
from xlbridge.workbook.edit.styles import WorkbookStyles


def rich_texts(package: EditablePackage) -> frozenset[int]:
    """Return the indexes of the shared texts with formatted parts."""
    part = package.related(WORKBOOK, "sharedStrings")
    if part is None or part not in package:
        return frozenset()
    texts = xml.parse(package.read(part)).iterfind("{*}si")
    return frozenset(n for n, item in enumerate(texts) if item.find("{*}r") is not None)


_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})", re.ASCII)


@dataclass(frozen=True, slots=True)
class CellElement:
    """Element of a cell, at ``start`` to ``end`` of the part.

    ``name`` is the tag with its prefix. ``computed``: a formula computes the cell's value.
    """

    name: str
    attributes: Mapping[str, str]
    start: int
    end: int
    computed: bool


def element_end(part: bytes, name: str, at: int) -> int:
    """Return the end of an element from the byte at which the parser reports it.

    That is the start of the closing tag, or the end of an element without one.
    """
    closing = b"</" + name.encode()
    is_closing = part.startswith(closing, at) and part[at + len(closing)] in b"> \t\r\n"
    return part.index(b">", at) + 1 if is_closing else at


def find_cells(part: bytes, positions: Collection[CellPosition]) -> dict[CellPosition, CellElement]:
    """Return the elements of cells in ``part``, a sheet's XML in UTF-8.

    A missing cell has an empty element at its insertion point, or none if its row is missing too.
    Raises ``ExpatError`` for malformed XML.
    """
    return _CellSearch(part, positions).run()


class _CellSearch:
    """Search of cells in a sheet's XML."""

    def __init__(self, part: bytes, positions: Collection[CellPosition]) -> None:
        self._part = part
        self._columns: defaultdict[int, list[int]] = defaultdict(list)
        for row, column in sorted(positions):
            self._columns[row].append(column)
        self._pending: list[int] = []
        self._found: dict[CellPosition, CellElement] = {}
        self._computed: list[tuple[CellPosition, CellPosition]] = []
        self._row, self._column = 0, -1
        self._cell: tuple[int, Mapping[str, str]] | None = None
        self._has_formula = False
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def run(self) -> dict[CellPosition, CellElement]:
        self._parser.Parse(self._part, True)
        return {
            position: replace(cell, computed=cell.computed or self._is_in_array(position))
            for position, cell in self._found.items()
        }

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        match name.rpartition(":")[2]:
            case "row":
                number = attributes.get("r", "")
                self._row = int(number) if number.isdecimal() else self._row + 1
                self._column = -1
                self._pending = list(self._columns.get(self._row, ()))
            case "c":
                position = _position(attributes.get("r", ""))
                self._row, self._column = position or (self._row, self._column + 1)
                self._add_missing(name, self._column)
                if self._column in self._columns.get(self._row, ()):
                    self._cell = self._parser.CurrentByteIndex, attributes
                    self._has_formula = False
            case "f":
                self._has_formula = True
                if attributes.get("t") in {"array", "dataTable"}:
                    first, _, last = attributes.get("ref", "").partition(":")
                    begin, end = _position(first), _position(last or first)
                    self._computed.append((begin, end) if begin and end else ((0, 0), (0, 0)))

    def _add_missing(self, name: str, before: int) -> None:
        """Add the missing cells before a column."""
        at = self._parser.CurrentByteIndex
        while self._pending and self._pending[0] <= before:
            column = self._pending.pop(0)
            if column < before:
                self._found[self._row, column] = CellElement(name, {}, at, at, computed=False)

    def _end(self, name: str) -> None:
        is_row_end = self._pending and name.rpartition(":")[2] == "row"
        if is_row_end and self._part.startswith(b"</", self._parser.CurrentByteIndex):
            self._add_missing(f"{name[:-3]}c", self._pending[-1] + 1)
        if self._cell is None or name.rpartition(":")[2] != "c":
            return
        start, attributes = self._cell
        end = element_end(self._part, name, self._parser.CurrentByteIndex)
        self._found[self._row, self._column] = CellElement(
            name, attributes, start, end, self._has_formula
        )
        self._cell = None

    def _is_in_array(self, position: CellPosition) -> bool:
        return any(
            top <= position[0] <= bottom and left <= position[1] <= right
            for (top, left), (bottom, right) in self._computed
        )


def _position(reference: str) -> CellPosition | None:
    match = _REFERENCE.fullmatch(reference)
    return None if match is None else (int(match[2]), column_index(match[1].upper()))


_RICH_TEXT_RUN = re.compile(rb"<(?:\w+:)?r[\s>]")
_SHARED_TEXT_INDEX = re.compile(rb"<(?:\w+:)?v[^>]*>\s*(\d+)\s*<")
_ROW_START = re.compile(rb"<(?:\w+:)?row\b([^>]*)>")
_ROW_NUMBER = re.compile(rb"""\br=["'](\d+)["']""")
_END_OF_ROWS = re.compile(rb"</(\w+:)?sheetData\s*>")
_FIRST_DAY = {False: date(1899, 12, 30), True: date(1904, 1, 1)}


class EditableCells:
    """Cells of one sheet of an editable workbook."""

    def __init__(self, package: EditablePackage, sheet: str) -> None:
        self._package = package
        self._sheets = SheetList(package)
        self._styles = WorkbookStyles(package)
        self._part = self._sheets.part(sheet)
        self._content = xml.in_utf8(package.read(self._part))
        self._first_day = _FIRST_DAY[self._sheets.uses_1904_dates]

    def add_rows(self, numbers: range) -> None:
        """Add the missing rows of a range, so that their cells can be changed."""
        ends = list(_END_OF_ROWS.finditer(self._content))
        if not numbers or not ends:
            return
        prefix = (ends[-1][1] or b"").decode()
        rows = list(self._rows_from(numbers[0]))
        existing = [number for number, _ in rows]
        offsets = [*(start for _, start in rows), ends[-1].start()]
        pieces, done = [], 0
        for number in sorted(set(numbers).difference(existing)):
            at = offsets[bisect(existing, number)]
            pieces += [
                self._content[done:at],
                f'<{prefix}row r="{number}"></{prefix}row>'.encode(),
            ]
            done = at
        self._content = b"".join([*pieces, self._content[done:]])

    def _rows_from(self, first: int) -> Iterator[tuple[int, int]]:
        """Yield the number and the offset of each row from a number on."""
        number = 0
        for row in _ROW_START.finditer(self._content):
            declared = _ROW_NUMBER.search(row[1])
            number = number + 1 if declared is None else int(declared[1])
            if number >= first:
                yield number, row.start()

    def locked_cells(self, positions: frozenset[CellPosition]) -> frozenset[CellPosition]:
        """Return those cells that cannot be changed: computed ones, and those of missing rows."""
        found = find_cells(self._content, positions)
        return frozenset(p for p in positions if p not in found or found[p].computed)

    def rich_text_cells(self, positions: frozenset[CellPosition]) -> frozenset[CellPosition]:
        """Return those cells whose text has formatted parts."""
        found = find_cells(self._content, positions)
        shared = rich_texts(self._package) if found else frozenset()
        return frozenset(p for p, cell in found.items() if self._is_rich(cell, shared))

    def _is_rich(self, cell: CellElement, shared: frozenset[int]) -> bool:
        inner = self._content[cell.start : cell.end]
        if cell.attributes.get("t") != "s":
            return _RICH_TEXT_RUN.search(inner) is not None
        number = _SHARED_TEXT_INDEX.search(inner)
        return number is not None and int(number[1]) in shared

    def write_values(self, values: Mapping[CellPosition, CorrectedValue]) -> None:
        """Replace the values of cells; none of them may be locked."""
        found = find_cells(self._content, values.keys())
        elements = sorted(found.items(), key=lambda item: item[1].start)
        self._package.write(self._part, b"".join(self._pieces(elements, values)))
        self._sheets.recalculate_on_load()
        self._sheets.save()
        self._styles.save()

    def _pieces(
        self,
        elements: list[tuple[CellPosition, CellElement]],
        values: Mapping[CellPosition, CorrectedValue],
    ) -> Iterator[bytes]:
        done = 0
        for position, element in elements:
            yield self._content[done : element.start]
            yield self._cell(position, element, values[position])
            done = element.end
        yield self._content[done:]

    def _cell(self, position: CellPosition, element: CellElement, value: CorrectedValue) -> bytes:
        style = int(element.attributes.get("s", "0"))
        prefix = element.name.rpartition("c")[0]
        match value:
            case "":
                kind = inner = ""
            case str():
                was_text = element.attributes.get("t") in {"s", "inlineStr", "str"}
                style = style if was_text else self._styles.for_text(style)
                kind = ' t="inlineStr"'
                text = f'<{prefix}t xml:space="preserve">{escape(escape_text(value))}</{prefix}t>'
                inner = f"<{prefix}is>{text}</{prefix}is>"
            case Decimal():
                style, kind = self._styles.for_number(style), ""
                inner = f"<{prefix}v>{value:f}</{prefix}v>"
            case date():
                style, kind = self._styles.for_date(style), ""
                inner = f"<{prefix}v>{(value - self._first_day).days}</{prefix}v>"
        others = "".join(
            f" {name}={quoteattr(text)}"
            for name, text in element.attributes.items()
            if name not in {"r", "s", "t"}
        )
        start = f'<{element.name} r="{cell_address(*position)}" s="{style}"{others}{kind}>'
        return f"{start}{inner}</{element.name}>".encode("ascii", "xmlcharrefreplace")
