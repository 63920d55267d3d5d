"""Scan of a sheet's raw XML for what the parser does not tell: errors, layout, formulas, scaling.

The quick scan searches by patterns with literal beginnings, at the speed of memory. It knows
the way in which programs write large sheets; a sheet that is written in another way is left to
the exact scan, which walks every element, is right for every way of writing it, and slow.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from threading import Event, get_native_id
from typing import NoReturn
from xml.parsers import expat

from xlbridge.i18n import Text
from xlbridge.workbook.address import CellPosition, column_index
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.number_formats import scale_factor
from xlbridge.workbook.read.package import Package
from xlbridge.workbook.read.refusals import hostile, unreadable

_CELL_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})", re.ASCII)
_LOWEST_DATE_NUMBER = -1e9
_ROW_NUMBER = re.compile(r"[0-9]{1,7}", re.ASCII)


@dataclass(slots=True)
class SheetScan:
    """A sheet's raw facts and its extent.

    ``cells`` counts the cells, filled or not; ``last_row`` is Excel's number, ``last_column`` is
    zero-based. ``in_order`` means that every address could be read and no row goes back,
    ``dates_parse`` that no number is so far below zero that the parser panics where it is shown as
    a date.
    """

    raw: RawSheet = field(default_factory=RawSheet)
    cells: int = 0
    last_row: int = 0
    last_column: int = 0
    in_order: bool = True
    dates_parse: bool = True


def scan_exactly(pieces: Iterable[bytes], scaling: Mapping[int, float]) -> SheetScan:
    """Scan a sheet's part, given piece by piece.

    ``scaling`` are the cell styles that show a number so many times.
    Raises ``WorkbookRefused`` when it is no well-formed XML.
    """
    parser = expat.ParserCreate()
    walk = _ElementHandler(parser, scaling)
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


def _float_or_zero(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


class _ElementHandler:
    """Position of the parser, and what it has read of the present cell."""

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
        self.scan.in_order &= number is None or bool(known)
        self._move(int(number) if number and known else self._row + 1, -1)

    def _begin_cell(self, attributes: Mapping[str, str]) -> None:
        self._cell, self._formula, self._value = attributes, False, None
        self.scan.cells += 1
        reference = attributes.get("r")
        match = None if reference is None else _CELL_REFERENCE.fullmatch(reference)
        if match:
            self._move(int(match[2]), column_index(match[1].upper()))
        else:
            self.scan.in_order &= reference is None
            self._move(self._row, self._column + 1)
        self.scan.last_row = max(self.scan.last_row, self._row)
        self.scan.last_column = max(self.scan.last_column, self._column)

    def _move(self, row: int, column: int) -> None:
        self.scan.in_order &= row >= self._row
        self._row, self._column = row, column

    def _note(self, place: CellPosition, cell: Mapping[str, str]) -> None:
        value = None if self._value is None else "".join(self._value)
        kind = cell.get("t")
        if value is not None and value.strip().startswith("-"):
            self.scan.dates_parse &= _float_or_zero(value) > _LOWEST_DATE_NUMBER
        if kind == "e" and value:
            self.scan.raw.errors[place] = value
        if self._formula and (value is None or (value == "" and kind != "str")):
            self.scan.raw.unvalued.add(place)
        style = cell.get("s", "")
        if style.isdecimal() and int(style) in self._scaling:
            self.scan.raw.scaled[place] = self._scaling[int(style)]


_REFERENCE_ATTRIBUTE = re.compile(rb'\br="([A-Z]{1,3})(\d{1,7})"')
# Atomic groups and possessive repeats: no way of writing XML lets these search back and back again.
ERROR_CELL = re.compile(
    rb'(<c\b(?>([^>]*?\st="e"[^>]*+))(?<!/)>(?:(?!</?c\b).)*?<v\b[^>]*+(?<!/)>)([^<]+)(?=<)',
    re.DOTALL,
)
"""A cell with an error: all before the error, the cell's attributes, the error."""

_BARE_FORMULA = re.compile(
    rb"<c\b([^>]*)>\s*+<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)(?:\s*+(<v\s*+/>|<v></v>))?\s*+</c>"
)
# The letter is rarer than the mark before it, and what is rare is found faster.
_FORMULA_BEGINS = re.compile(rb"f(?<=<f)")
_TEXT_RESULT = re.compile(rb'\bt="str"')
_PREFIXED = re.compile(rb"""<\w+:worksheet|xmlns:\w+=["'][^"']*/spreadsheetml/(?:2006/)?main["']""")

_ROW = re.compile(rb"<row\b[^>]*>")
_CELL = re.compile(rb"<c\b[^>]*>")
_ADDRESSED = re.compile(rb'\sr="')


def scan_quickly(pieces: Iterable[bytes], scaling: Mapping[int, float]) -> RawSheet | None:
    """Scan a sheet's part, given piece by piece; None where only the exact scan can tell.

    ``scaling`` are the cell styles that show a number so many times.
    """
    raw = RawSheet()
    styled = _styled_cell_pattern(scaling)
    begun = False
    for number, block in enumerate(_row_blocks(pieces)):
        if number == 0 and _PREFIXED.search(block):
            return None
        if not begun and not _is_addressed(block):
            return None
        begun = begun or _ROW.search(block) is not None
        computed = _FORMULA_BEGINS.search(block) is not None
        if _is_unusual(block) or not _note_errors_and_formulas(block, raw, computed=computed):
            return None
        if not raw.layout.note_block(block, computed=computed):
            return None
        if styled and not _note_styles(block, styled, scaling, raw):
            return None
    return raw


def _row_blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the part in blocks that end where a row begins."""
    pending: list[bytes] = []
    for piece in pieces:
        cut = piece.rfind(b"<row")
        if cut < 0:
            pending.append(piece)
            continue
        yield b"".join((*pending, piece[:cut]))
        pending = [piece[cut:]]
    yield b"".join(pending)


def _is_addressed(block: bytes) -> bool:
    """Return whether the first row and the first cell of the sheet have addresses."""
    firsts = (_ROW.search(block), _CELL.search(block))
    return all(first is None or _ADDRESSED.search(first[0]) for first in firsts)


def _is_unusual(block: bytes) -> bool:
    # The single marks are rare and found many times faster than the pairs.
    return (b"'" in block and b"='" in block) or (b"!" in block and b"<!" in block)


def _note_errors_and_formulas(block: bytes, raw: RawSheet, *, computed: bool) -> bool:
    """Note the block's error cells and formulas; False where one has no readable address."""
    if b't="e"' in block:
        for _, attributes, error in ERROR_CELL.findall(block):
            if (place := _position(attributes)) is None or b"&" in error:
                return False
            raw.errors[place] = error.decode("utf-8", "replace")
    if computed:
        for attributes, result in _BARE_FORMULA.findall(block):
            if (place := _position(attributes)) is None:
                return False
            if not (result and _TEXT_RESULT.search(attributes)):
                raw.unvalued.add(place)
    return True


def _styled_cell_pattern(scaling: Mapping[int, float]) -> re.Pattern[bytes] | None:
    if not scaling:
        return None
    either = "|".join(map(str, sorted(scaling)))
    return re.compile(rf'<c\b([^>]*\bs="({either})"[^>]*)>'.encode())


def _note_styles(
    block: bytes, styled: re.Pattern[bytes], scaling: Mapping[int, float], raw: RawSheet
) -> bool:
    for attributes, style in styled.findall(block):
        if (place := _position(attributes)) is None:
            return False
        raw.scaled[place] = scaling[int(style)]
    return True


def _position(attributes: bytes) -> CellPosition | None:
    reference = _REFERENCE_ATTRIBUTE.search(attributes)
    if reference is None:
        return None
    return int(reference[2]), column_index(reference[1].decode())


_NICENESS = 10
"""The niceness of the scan."""


@contextmanager
def scan_in_background(
    package: Package, sheet: str, formats: Mapping[int, str]
) -> Iterator[Callable[[], RawSheet]]:
    """Scan a sheet's raw XML while the block parses it, which leaves Python free.

    ``formats`` are the number formats of cell styles that show more than a number's digits.
    What is yielded waits for the scan, and raises ``WorkbookRefused`` when the XML is not
    well-formed. The scan is given up where the block ends without it.
    """
    given_up = Event()
    scaling = {
        style: scale_factor(code) for style, code in formats.items() if scale_factor(code) != 1
    }

    def pieces() -> Iterator[bytes]:
        return takewhile(lambda _: not given_up.is_set(), package.sheet_pieces(sheet))

    def scan() -> RawSheet:
        _lower_priority()
        raw = scan_quickly(pieces(), scaling)
        if raw is None:
            raw = scan_exactly(pieces(), scaling).raw
        raw.counts_from_1904 = package.counts_from_1904()
        raw.part, raw.formats = package.sheet_part(sheet) or "", dict(formats)
        return raw

    with ThreadPoolExecutor(max_workers=1) as other:
        try:
            yield other.submit(scan).result
        finally:
            given_up.set()


def _lower_priority() -> None:
    """Let this thread run where the others leave a core idle: parsing takes longer than it."""
    if sys.platform == "linux":
        # Some systems forbid even this, and nobody may take back what was given up before.
        with suppress(OSError):
            thread = get_native_id()
            niceness = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, max(niceness, _NICENESS))
