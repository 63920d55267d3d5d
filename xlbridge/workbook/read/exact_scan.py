"""Exact scan of a sheet's raw XML, which refuses cells that readers disagree on.

It visits every element and understands every notation, but is slow; the quick scan of
``chunked_parsing.py`` is for the common notation.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from xlbridge.i18n import Text
from xlbridge.workbook.address import CellPosition, cell_address, column_index
from xlbridge.workbook.read.archive import blocks_before
from xlbridge.workbook.read.cells import TRUE, RawSheet, is_missing_result
from xlbridge.workbook.read.refusals import cell_ambiguous, document_type, unreadable

_CELL_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})", re.ASCII)
_LOWEST_DATE_NUMBER = -1e9
_ROW_NUMBER = re.compile(r"[0-9]{1,7}", re.ASCII)

_VALUES: Mapping[str, re.Pattern[str]] = {
    "s": re.compile(r"\d{1,9}", re.ASCII),
    # Infinity and NaN are read as such; validation reports them.
    "n": re.compile(
        r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf|infinity|nan)",
        re.ASCII | re.IGNORECASE,
    ),
    "b": re.compile(r"[01]|true|false"),
}
"""Valid values by the cell's type; those of other types may be any text."""

_WITH_REFERENCES = frozenset({"str", "d", "e"})
"""Types of cells in whose values the parser understands character references."""

_CHARACTER_SIZE = 2
"""Maximum bytes of a number's character, or of a line break."""

_CELL = re.compile(rb"<((?:\w+:)?)c(?:\s[^>]*)?(?<!/)>.*?</\1c\s*>", re.DOTALL)
_IS_TEXT = re.compile(rb"""^<[^>]*\st\s*=\s*["']str["']""")
_PADDING = re.compile(
    rb"(?<=>)\s+(?=[^<\s][^<]*</(?:\w+:)?v\s*>)|(?<=[^>\s])\s+(?=</(?:\w+:)?v\s*>)"
)

_CONTENT_ORDER = ("f", "v", "is")
_XML_SPACES = " \t\r\n"
# XML forbids control characters, but programs write them and the parser reads them.
_CONTROLS = bytes({*range(1, 32)} - set(b"\t\n\r"))
_CONTROLS_AS_SPACES = bytes.maketrans(_CONTROLS, b" " * len(_CONTROLS))
_CONTROL_REFERENCE = re.compile(
    rb"&#(?:0*(?:[1-8]|1[124-9]|2\d|3[01])|x0*(?:[1-8bcef]|1[\da-f]));", re.IGNORECASE
)

_BAD_ADDRESS = Text(
    pt="o endereço dela se repete, está fora de ordem ou não é o da linha em que está",
    en="its address is repeated, out of order, or not that of its row",
)
_BAD_CONTENT = Text(
    pt="ela tem mais de um valor, ou um valor fora do lugar",
    en="it has more than one value, or a value out of place",
)
_BAD_VALUE = Text(
    pt="o valor dela não está escrito como o seu tipo exige",
    en="its value is not written as its type requires",
)


@dataclass(slots=True)
class SheetScan:
    """Scan of a sheet by its XML events: raw facts, extent, and the state of the current cell.

    ``cells`` counts the cells, empty ones included. ``is_parsable``: every address is valid, and no
    number is so negative that the parser panics if it has a date format. ``padded`` is the first
    cell with white space around a value, which only the parser takes for a part of it.
    """

    _parser: expat.XMLParserType
    _scaling: Mapping[int, float]
    _sheet: str
    _struck: Mapping[int, bool]
    _lacks_results: bool = False
    raw: RawSheet = field(default_factory=RawSheet)
    cells: int = 0
    is_parsable: bool = True
    padded: CellPosition | None = None
    _in_table: bool | None = None
    _row: int = 0
    _column: int = -1
    _cell: Mapping[str, str] | None = None
    _runs: int = 0
    _struck_runs: int = 0
    _content: list[str] = field(default_factory=list)
    _formula: list[str] = field(default_factory=list)
    _area: str | None = None
    _in_value: bool = False
    _value: list[str] = field(default_factory=list)
    _value_starts: list[int] = field(default_factory=list)
    _has_reference: bool = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._in_value:
            raise self._ambiguous(_BAD_CONTENT)
        tag = name.rpartition(":")[2]
        if tag in {"sheetFormatPr", "col", "mergeCell"}:
            self.raw.layout.add_element(tag, attributes)
        elif tag == "sheetData":
            if self._in_table is not None:
                raise unreadable()
            self._in_table = True
        elif self._in_table:
            self._start_in_table(tag, attributes)

    def _start_in_table(self, tag: str, attributes: Mapping[str, str]) -> None:
        match tag:
            case "row":
                number = _ROW_NUMBER.fullmatch(attributes.get("r", ""))
                self.is_parsable &= number is not None or "r" not in attributes
                previous = self._row
                self._row, self._column = int(number[0]) if number else previous + 1, -1
                if self._row <= previous:
                    raise self._ambiguous(_BAD_ADDRESS)
                self.raw.layout.add_element("row", {**attributes, "r": str(self._row)})
            case "c":
                self._cell, self._content = attributes, []
                self._runs = self._struck_runs = 0
                self.cells += 1
                previous = self._column
                reference = _CELL_REFERENCE.fullmatch(attributes.get("r", ""))
                self._column = column_index(reference[1].upper()) if reference else previous + 1
                self.is_parsable &= reference is not None or "r" not in attributes
                if self._column <= previous or (reference and int(reference[2]) != self._row):
                    raise self._ambiguous(_BAD_ADDRESS)
            case "f" | "v" | "is" if self._cell is not None:
                # Each comes once: a formula, then a value or an inline text.
                order = _CONTENT_ORDER.index(tag)
                if any(_CONTENT_ORDER.index(previous) >= order for previous in self._content):
                    raise self._ambiguous(_BAD_CONTENT)
                self._content.append(tag)
                if tag == "f":
                    self._formula = []
                    self._area = attributes.get("ref") if attributes.get("t") == "array" else None
                    self._parser.CharacterDataHandler = self._formula.append
                elif tag == "v":
                    self._in_value, self._value, self._value_starts = True, [], []
                    self._parser.CharacterDataHandler = self._add_text
            case "r":
                self._runs += 1
            case "strike" if attributes.get("val", "1") in TRUE:
                self._struck_runs += 1

    def end(self, name: str) -> None:
        match name.rpartition(":")[2]:
            case "v" if self._in_value:
                self._parser.CharacterDataHandler, self._in_value = None, False
                # A character reference, such as &#51;, is a separate part.
                ends = (*self._value_starts[1:], self._parser.CurrentByteIndex)
                self._has_reference = any(
                    len(text) == 1 and end - start > _CHARACTER_SIZE
                    for text, start, end in zip(self._value, self._value_starts, ends, strict=False)
                )
            case "f" if self._cell is not None:
                self._parser.CharacterDataHandler = None
                formula = "".join(self._formula)
                self.raw.layout.add_formula(self._row, self._column, formula)
            case "c" if self._cell is not None:
                self._end_cell((self._row, self._column), self._cell)
                self._cell = None
            case "sheetData":
                self._in_table = False

    def _add_text(self, text: str) -> None:
        self._value_starts.append(self._parser.CurrentByteIndex)
        self._value.append(text)

    def refuse_within_value(self, *_event: str) -> None:
        """Refuse markup within a value: the parser would read a part of the value as the whole."""
        if self._in_value:
            raise self._ambiguous(_BAD_VALUE)

    def _ambiguous(self, reason: Text) -> Exception:
        return cell_ambiguous(self._sheet, cell_address(self._row, max(self._column, 0)), reason)

    def without_padding(self, content: bytes) -> bytes:
        """Return the sheet's part without white space around the values of ``padded`` cells.

        Raises ``WorkbookRefused`` if it has markup in which values could be confused.
        """
        if self.padded is None:
            return content
        if b"<!" in content:
            raise cell_ambiguous(self._sheet, cell_address(*self.padded), _BAD_VALUE)
        return _CELL.sub(
            lambda cell: cell[0] if _IS_TEXT.search(cell[0]) else _PADDING.sub(b"", cell[0]),
            content,
        )

    def _end_cell(self, position: CellPosition, cell: Mapping[str, str]) -> None:
        kind = cell.get("t", "n")
        value = "".join(self._value) if "v" in self._content else None
        if ("is" if kind != "inlineStr" else "v") in self._content:
            raise self._ambiguous(_BAD_CONTENT)
        if value and kind not in _WITH_REFERENCES and self._has_reference:
            raise self._ambiguous(_BAD_VALUE)
        if value and kind != "str" and (bare := value.strip(_XML_SPACES)) != value:
            value, self.padded = bare, self.padded or position
        pattern = _VALUES.get(kind)
        if value and pattern is not None and not pattern.fullmatch(value):
            raise self._ambiguous(_BAD_VALUE)
        if value or "is" in self._content or (kind == "str" and value is not None):
            self.raw.extent.add(*position)
        if kind == "n" and value is not None and value.startswith("-"):
            self.is_parsable &= float(value) > _LOWEST_DATE_NUMBER
        if kind == "e" and value:
            self.raw.errors[position] = value
        is_whole: bool | None = None
        if self._runs and self._struck_runs:
            is_whole = self._runs == self._struck_runs
        elif self._struck and kind == "s" and value:
            is_whole = self._struck.get(int(value))
        if is_whole is not None:
            if is_whole:
                self.raw.struck_texts.add(position)
            else:
                self.raw.partly_struck_texts[position] = []
        if "f" in self._content and is_missing_result(
            kind, value, "".join(self._formula), self._lacks_results
        ):
            self.raw.add_missing_result(*position, self._area)
        style = cell.get("s", "0")
        if style.isdecimal() and int(style) in self._scaling:
            self.raw.scaled[position] = self._scaling[int(style)]


_NOTHING_STRUCK: Mapping[int, bool] = {}


def scan_exactly(
    pieces: Iterable[bytes],
    scaling: Mapping[int, float],
    sheet: str = "",
    struck: Mapping[int, bool] = _NOTHING_STRUCK,
    *,
    lacks_results: bool = False,
) -> SheetScan:
    """Scan a sheet's part.

    ``scaling`` are the factors of cell styles that display scaled numbers, ``sheet`` is the name
    for messages, ``struck`` are the indexes of shared texts that are struck through, each with
    whether it is so as a whole. With ``lacks_results`` zero is no result of a formula. Raises
    ``WorkbookRefused`` for malformed XML, or a cell that readers take for different values.
    """
    parser = expat.ParserCreate()
    scan = SheetScan(parser, scaling, sheet, struck, lacks_results)
    parser.StartElementHandler = scan.start
    parser.EndElementHandler = scan.end
    parser.StartDoctypeDeclHandler = _refuse_document_type
    parser.StartCdataSectionHandler = scan.refuse_within_value
    parser.CommentHandler = scan.refuse_within_value
    parser.ProcessingInstructionHandler = scan.refuse_within_value
    try:
        for piece in blocks_before(pieces, b"<"):
            allowed = piece.translate(_CONTROLS_AS_SPACES)
            if b"&#" in allowed:
                allowed = _CONTROL_REFERENCE.sub(b"&#32;", allowed)
            parser.Parse(allowed, False)
        parser.Parse(b"", True)
    except (expat.ExpatError, ValueError) as error:
        raise unreadable() from error
    return scan


def _refuse_document_type(*_declaration: object) -> NoReturn:
    raise document_type()
