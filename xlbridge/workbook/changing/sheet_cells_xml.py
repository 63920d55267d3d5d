"""Where single cells stand in the XML of a sheet, to the byte."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from xml.parsers import expat

from xlbridge.workbook.address import column_index
from xlbridge.workbook.reading.raw_sheet import CellPlace

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


def find_cells(part: bytes, wanted: Collection[CellPlace]) -> dict[CellPlace, CellElement]:
    """Return the elements of the ``wanted`` cells that are there.

    ``part`` is the sheet's XML in UTF-8. Raises ``ExpatError`` when it is no XML.
    """
    search = _Search(part, frozenset(wanted))
    return search.run()


class _Search:
    """One walk over a sheet's XML."""

    def __init__(self, part: bytes, wanted: frozenset[CellPlace]) -> None:
        self._part = part
        self._wanted = wanted
        self._found: dict[CellPlace, CellElement] = {}
        self._computed: list[tuple[CellPlace, CellPlace]] = []
        self._row, self._column = 0, -1
        self._cell: tuple[int, Mapping[str, str]] | None = None
        self._has_formula = False
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def run(self) -> dict[CellPlace, CellElement]:
        self._parser.Parse(self._part, True)
        return {
            place: CellElement(
                cell.name,
                cell.attributes,
                cell.start,
                cell.end,
                cell.computed or self._is_in_array(place),
            )
            for place, cell in self._found.items()
        }

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        match name.rpartition(":")[2]:
            case "row":
                number = attributes.get("r", "")
                self._row = int(number) if number.isdecimal() else self._row + 1
                self._column = -1
            case "c":
                self._place_cell(attributes.get("r", ""))
                if (self._row, self._column) in self._wanted:
                    self._cell = self._parser.CurrentByteIndex, attributes
                    self._has_formula = False
            case "f":
                self._has_formula = True
                if attributes.get("t") in {"array", "dataTable"}:
                    self._computed.append(_corners(attributes.get("ref", "")))

    def _place_cell(self, reference: str) -> None:
        match = _REFERENCE.fullmatch(reference)
        if match is None:
            self._column += 1
        else:
            self._row, self._column = int(match[2]), column_index(match[1].upper())

    def _end(self, name: str) -> None:
        if self._cell is None or name.rpartition(":")[2] != "c":
            return
        start, attributes = self._cell
        end = element_end(self._part, name, self._parser.CurrentByteIndex)
        self._found[self._row, self._column] = CellElement(
            name, attributes, start, end, self._has_formula
        )
        self._cell = None

    def _is_in_array(self, place: CellPlace) -> bool:
        return any(
            top <= place[0] <= bottom and left <= place[1] <= right
            for (top, left), (bottom, right) in self._computed
        )


def _corners(reference: str) -> tuple[CellPlace, CellPlace]:
    """Return the first and the last cell of a range."""
    first, _, last = reference.partition(":")
    corners = [_REFERENCE.fullmatch(corner) for corner in (first, last or first)]
    if None in corners:
        return (0, 0), (0, 0)
    (top, left), (bottom, right) = (
        (int(match[2]), column_index(match[1].upper())) for match in corners if match
    )
    return (top, left), (bottom, right)
