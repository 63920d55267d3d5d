"""Change the content of single cells in a workbook that otherwise stays as it is.

The XML of the cells is changed in place: a library that reads and writes a workbook anew loses
pictures and the stored results of formulas.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from xlbridge.resources.findings import CorrectedValue
from xlbridge.workbook.address import CellPosition, cell_address, column_index, escape_text
from xlbridge.workbook.edit.editable_package import (
    WORKBOOK,
    EditablePackage,
    find_child,
    in_utf8,
    local_name,
    parse_xml,
)
from xlbridge.workbook.edit.sheets import SheetList
from xlbridge.workbook.edit.styles import WorkbookStyles


def rich_texts(package: EditablePackage) -> frozenset[int]:
    """Return the numbers of the shared texts that have parts in formats of their own."""
    part = package.related(WORKBOOK, "sharedStrings")
    if part is None or part not in package:
        return frozenset()
    texts = (item for item in parse_xml(package.read(part)) if local_name(item) == "si")
    return frozenset(n for n, item in enumerate(texts) if find_child(item, "r") is not None)


_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})", re.ASCII)


@dataclass(frozen=True, slots=True)
class CellElement:
    """A cell's element: its bytes are ``start`` to ``end`` of the part.

    ``name`` is the tag as it is written, with its prefix. ``computed`` tells that a formula gives
    the cell its value.
    """

    name: str
    attributes: Mapping[str, str]
    start: int
    end: int
    computed: bool


def element_end(part: bytes, name: str, at: int) -> int:
    """Return where the element ends whose end the parser reports ``at`` a byte.

    It reports the closing tag's beginning, or the end of an element that has none.
    """
    closing = b"</" + name.encode()
    is_closing = part.startswith(closing, at) and part[at + len(closing)] in b"> \t\r\n"
    return part.index(b">", at) + 1 if is_closing else at


def find_cells(part: bytes, wanted: Collection[CellPosition]) -> dict[CellPosition, CellElement]:
    """Return the elements of the ``wanted`` cells; of one that is not there an empty one, without
    attributes, where it would stand. Cells of rows that are not there are left out.

    ``part`` is the sheet's XML in UTF-8. Raises ``ExpatError`` when it is no XML.
    """
    return _CellSearch(part, wanted).run()


class _CellSearch:
    """One walk over a sheet's XML."""

    def __init__(self, part: bytes, wanted: Collection[CellPosition]) -> None:
        self._part = part
        self._columns: defaultdict[int, list[int]] = defaultdict(list)
        for row, column in sorted(wanted):
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
            place: replace(cell, computed=cell.computed or self._is_in_array(place))
            for place, cell in self._found.items()
        }

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        match name.rpartition(":")[2]:
            case "row":
                number = attributes.get("r", "")
                self._row = int(number) if number.isdecimal() else self._row + 1
                self._column = -1
                self._pending = list(self._columns.get(self._row, ()))
            case "c":
                place = _place_of(attributes.get("r", ""))
                self._row, self._column = place or (self._row, self._column + 1)
                self._place_absent(name, self._column)
                if self._column in self._columns.get(self._row, ()):
                    self._cell = self._parser.CurrentByteIndex, attributes
                    self._has_formula = False
            case "f":
                self._has_formula = True
                if attributes.get("t") in {"array", "dataTable"}:
                    first, _, last = attributes.get("ref", "").partition(":")
                    begin, end = _place_of(first), _place_of(last or first)
                    self._computed.append((begin, end) if begin and end else ((0, 0), (0, 0)))

    def _place_absent(self, name: str, before: int) -> None:
        """Note where the cells that are not there would stand, up to a column."""
        at = self._parser.CurrentByteIndex
        while self._pending and self._pending[0] <= before:
            column = self._pending.pop(0)
            if column < before:
                self._found[self._row, column] = CellElement(name, {}, at, at, computed=False)

    def _end(self, name: str) -> None:
        is_row_end = self._pending and name.rpartition(":")[2] == "row"
        if is_row_end and self._part.startswith(b"</", self._parser.CurrentByteIndex):
            self._place_absent(f"{name[:-3]}c", self._pending[-1] + 1)
        if self._cell is None or name.rpartition(":")[2] != "c":
            return
        start, attributes = self._cell
        end = element_end(self._part, name, self._parser.CurrentByteIndex)
        self._found[self._row, self._column] = CellElement(
            name, attributes, start, end, self._has_formula
        )
        self._cell = None

    def _is_in_array(self, place: CellPosition) -> bool:
        return any(
            top <= place[0] <= bottom and left <= place[1] <= right
            for (top, left), (bottom, right) in self._computed
        )


def _place_of(reference: str) -> CellPosition | None:
    match = _REFERENCE.fullmatch(reference)
    return None if match is None else (int(match[2]), column_index(match[1].upper()))


_RICH_TEXT_RUN = re.compile(rb"<(?:\w+:)?r[\s>]")
_SHARED_TEXT_INDEX = re.compile(rb"<(?:\w+:)?v[^>]*>\s*(\d+)\s*<")
_BEGIN_OF_ROW = re.compile(rb"<(?:\w+:)?row\b([^>]*)>")
_ROW_NUMBER = re.compile(rb"""\br=["'](\d+)["']""")
_END_OF_ROWS = re.compile(rb"</(\w+:)?sheetData\s*>")
_FIRST_DAY = {False: date(1899, 12, 30), True: date(1904, 1, 1)}


class EditableCells:
    """The cells of one sheet of a workbook that is open for a changed copy."""

    def __init__(self, package: EditablePackage, sheet: str) -> None:
        self._package = package
        self._sheets = SheetList(package)
        self._looks = WorkbookStyles(package)
        self._part = self._sheets.part(sheet)
        self._content = in_utf8(package.read(self._part))
        self._first_day = _FIRST_DAY[self._sheets.begins_in_1904]

    def add_rows(self, numbers: range) -> None:
        """Let there be rows, so that their cells can be changed; those that are there, as formatted
        ones are, stay."""
        ends = list(_END_OF_ROWS.finditer(self._content))
        if not numbers or not ends:
            return
        prefix = (ends[-1][1] or b"").decode()
        begins = list(self._rows_from(numbers[0]))
        there = {number for number, _ in begins}
        begins.append((numbers[-1] + 1, ends[-1].start()))
        pieces, done, place = [], 0, 0
        for number in (number for number in numbers if number not in there):
            while begins[place][0] < number:
                place += 1
            pieces += [
                self._content[done : begins[place][1]],
                f'<{prefix}row r="{number}"></{prefix}row>'.encode(),
            ]
            done = begins[place][1]
        self._content = b"".join([*pieces, self._content[done:]])

    def _rows_from(self, first: int) -> Iterator[tuple[int, int]]:
        """Yield the number and the place of each row's element from a number on."""
        number = 0
        for row in _BEGIN_OF_ROW.finditer(self._content):
            told = _ROW_NUMBER.search(row[1])
            number = number + 1 if told is None else int(told[1])
            if number >= first:
                yield number, row.start()

    def locked(self, places: frozenset[CellPosition]) -> frozenset[CellPosition]:
        """Return those cells that cannot be changed: formulas give them their value, or they are
        not there."""
        found = find_cells(self._content, places)
        return frozenset(p for p in places if p not in found or found[p].computed)

    def rich(self, places: frozenset[CellPosition]) -> frozenset[CellPosition]:
        """Return those cells whose text has parts in formats of their own."""
        found = find_cells(self._content, places)
        shared = rich_texts(self._package) if found else frozenset()
        return frozenset(p for p, cell in found.items() if self._is_rich(cell, shared))

    def _is_rich(self, cell: CellElement, shared: frozenset[int]) -> bool:
        inner = self._content[cell.start : cell.end]
        if cell.attributes.get("t") != "s":
            return _RICH_TEXT_RUN.search(inner) is not None
        number = _SHARED_TEXT_INDEX.search(inner)
        return number is not None and int(number[1]) in shared

    def change(self, contents: Mapping[CellPosition, CorrectedValue]) -> None:
        """Let cells hold something else; none of them may be locked."""
        found = find_cells(self._content, contents.keys())
        elements = sorted(found.items(), key=lambda item: item[1].start)
        self._package.put(self._part, b"".join(self._pieces(elements, contents)))
        self._sheets.calculate_anew()
        self._sheets.put_back()
        self._looks.put_back()

    def _pieces(
        self,
        elements: list[tuple[CellPosition, CellElement]],
        contents: Mapping[CellPosition, CorrectedValue],
    ) -> Iterator[bytes]:
        done = 0
        for place, element in elements:
            yield self._content[done : element.start]
            yield self._cell(place, element, contents[place])
            done = element.end
        yield self._content[done:]

    def _cell(self, place: CellPosition, element: CellElement, value: CorrectedValue) -> bytes:
        style = int(element.attributes.get("s", "0"))
        prefix = element.name.rpartition("c")[0]
        match value:
            case "":
                kind = inner = ""
            case str():
                was_text = element.attributes.get("t") in {"s", "inlineStr", "str"}
                style = style if was_text else self._looks.for_text(style)
                kind = ' t="inlineStr"'
                text = f'<{prefix}t xml:space="preserve">{escape(escape_text(value))}</{prefix}t>'
                inner = f"<{prefix}is>{text}</{prefix}is>"
            case Decimal():
                style, kind = self._looks.for_number(style), ""
                inner = f"<{prefix}v>{value:f}</{prefix}v>"
            case date():
                style, kind = self._looks.for_date(style), ""
                inner = f"<{prefix}v>{(value - self._first_day).days}</{prefix}v>"
        kept = {k: v for k, v in element.attributes.items() if k not in {"r", "s", "t"}}
        others = "".join(f" {name}={quoteattr(text)}" for name, text in kept.items())
        begin = f'<{element.name} r="{cell_address(*place)}" s="{style}"{others}{kind}>'
        return f"{begin}{inner}</{element.name}>".encode("ascii", "xmlcharrefreplace")
