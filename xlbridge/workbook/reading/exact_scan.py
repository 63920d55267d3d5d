"""The raw XML of a sheet, element by element: right for every way of writing it, and slow."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from xlbridge.i18n import Text
from xlbridge.workbook.address import column_index
from xlbridge.workbook.reading.raw_sheet import CellPlace, RawSheet
from xlbridge.workbook.reading.refusals import hostile, unreadable

_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})", re.ASCII)
_FIRST_DAY = -1e9
_ROW_NUMBER = re.compile(r"[0-9]{1,7}", re.ASCII)


@dataclass(slots=True)
class SheetScan:
    """A sheet's raw facts and its extent.

    ``cells`` counts the cells, filled or not; ``last_row`` is Excel's number, ``last_column`` is
    zero-based. ``orderly`` tells that every address could be read and no row goes back, ``modest``
    that no number is so far below zero that the parser panics where it is shown as a date.
    """

    raw: RawSheet = field(default_factory=RawSheet)
    cells: int = 0
    last_row: int = 0
    last_column: int = 0
    orderly: bool = True
    modest: bool = True


def scan_exactly(pieces: Iterable[bytes], scaling: Mapping[int, float]) -> SheetScan:
    """Scan a sheet's part, given piece by piece.

    ``scaling`` are the cell styles that show a number so many times.
    Raises ``WorkbookRefused`` when it is no well-formed XML.
    """
    parser = expat.ParserCreate()
    walk = _Walk(parser, scaling)
    parser.buffer_text = True
    parser.StartElementHandler = walk.start
    parser.EndElementHandler = walk.end
    parser.StartDoctypeDeclHandler = _refuse_document_type
    parser.StartCdataSectionHandler = walk.interrupt
    parser.CommentHandler = walk.interrupt
    try:
        for piece in pieces:
            parser.Parse(piece, False)
        parser.Parse(b"", True)
    except (expat.ExpatError, ValueError) as error:
        raise unreadable() from error
    return walk.scan


def _refuse_document_type(*_declaration: object) -> NoReturn:
    raise hostile(Text(pt="definições DTD", en="DTD definitions"))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


class _Walk:
    """Where the parser is, and what it has seen of the present cell."""

    def __init__(self, parser: expat.XMLParserType, scaling: Mapping[int, float]) -> None:
        self.scan = SheetScan()
        self._parser = parser
        self._scaling = scaling
        self._row = 0
        self._column = -1
        self._cell: Mapping[str, str] | None = None
        self._formula = False
        self._value: list[str] | None = None

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        match name.rpartition(":")[2]:
            case "row":
                self._begin_row(attributes.get("r"))
                self.scan.raw.layout.note("row", {**attributes, "r": str(self._row)})
            case "col" | "mergeCell" as tag:
                self.scan.raw.layout.note(tag, attributes)
            case "c":
                self._begin_cell(attributes)
            case "f" if self._cell is not None:
                self._formula = True
                self.scan.raw.layout.note_formula(self._row, self._column)
            case "v" if self._cell is not None:
                self._value = []
                self._parser.CharacterDataHandler = self._value.append

    def end(self, name: str) -> None:
        match name.rpartition(":")[2]:
            case "v":
                self._parser.CharacterDataHandler = None
            case "c" if self._cell is not None:
                self._note((self._row, self._column), self._cell)
                self._cell = None

    def interrupt(self, *_comment: str) -> None:
        """Refuse what stands within a value, as no program writes it: the parser would read a part
        of the value as the whole."""
        if self._parser.CharacterDataHandler is not None:
            raise unreadable()

    def _begin_row(self, number: str | None) -> None:
        known = number is not None and _ROW_NUMBER.fullmatch(number)
        self.scan.orderly &= number is None or bool(known)
        self._move(int(number) if number and known else self._row + 1, -1)

    def _begin_cell(self, attributes: Mapping[str, str]) -> None:
        self._cell, self._formula, self._value = attributes, False, None
        self.scan.cells += 1
        reference = attributes.get("r")
        match = None if reference is None else _REFERENCE.fullmatch(reference)
        if match:
            self._move(int(match[2]), column_index(match[1].upper()))
        else:
            self.scan.orderly &= reference is None
            self._move(self._row, self._column + 1)
        self.scan.last_row = max(self.scan.last_row, self._row)
        self.scan.last_column = max(self.scan.last_column, self._column)

    def _move(self, row: int, column: int) -> None:
        self.scan.orderly &= row >= self._row
        self._row, self._column = row, column

    def _note(self, place: CellPlace, cell: Mapping[str, str]) -> None:
        value = None if self._value is None else "".join(self._value)
        kind = cell.get("t")
        if value is not None and value.strip().startswith("-"):
            self.scan.modest &= _number(value) > _FIRST_DAY
        if kind == "e" and value:
            self.scan.raw.errors[place] = value
        if self._formula and (value is None or (value == "" and kind != "str")):
            self.scan.raw.unvalued.add(place)
        style = cell.get("s", "")
        if style.isdecimal() and int(style) in self._scaling:
            self.scan.raw.scaled[place] = self._scaling[int(style)]
