"""Scans of an .xlsx sheet's raw XML for what the parser does not return.

The quick scan is for large sheets. Its patterns start with literals, and so run at the speed of
memory. They understand the notation of programs that write large sheets. The exact scan visits
every element and understands every notation, but is slow; it refuses cells that readers disagree
on.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import lt
from typing import NoReturn
from xml.parsers import expat

from xlbridge.i18n import Text
from xlbridge.workbook.address import CellPosition, cell_address, column_index
from xlbridge.workbook.read.archive import blocks_before
from xlbridge.workbook.read.cells import TRUE, RawSheet, SheetLayout, is_missing_result
from xlbridge.workbook.read.refusals import cell_ambiguous, document_type, unreadable

END_OF_ROWS = b"</sheetData"
STRUCK_RUN = b"<strike"
"""Start of the element that strikes a part of a rich text through."""

_REFERENCE = rb'\sr="([A-Z]{1,3})(\d{1,7})"'
# Atomic groups and possessive quantifiers: no XML makes these patterns backtrack.
_ERROR_CELL = re.compile(
    rb'(<c\b(?>([^>]*?\st="e"[^>]*+))(?<!/)>(?:(?!</?c\b).)*?<v\b[^>]*+(?<!/)>)([^<]+)(?=<)',
    re.DOTALL,
)
"""Cell with an error: everything before the error, the cell's attributes, the error."""

_FORMULA_CELL = re.compile(
    rb"<c\b((?>[^>]*?" + _REFERENCE + rb"[^>]*+))>\s*+<f(?=[\s>/])([^>]*+)>(?:(?<=/>)|([^<]*+)</f>)"
    rb"(?:\s*+(<v\s*+/>|<v>(?:0(?:\.0)?+|=[^<]*+)?+</v>)?+\s*+(</c>))?"
)
"""Cell with a formula: its attributes, column and row, the formula's attributes, the formula, an
empty or a dummy result, and its end if there is no other result."""

# The letter is rarer than the angle bracket, and so found faster.
_ANY_FORMULA = re.compile(rb"f(?<=<f)[\s>/]")
_ARRAY = re.compile(r'(?=.*\bt="array").*\bref="([A-Z0-9:]+)"')
_TYPE = re.compile(rb'\bt="(\w+)"')
_PREFIXED = re.compile(rb"""<\w+:worksheet|xmlns:\w+=["'][^"']*/spreadsheetml/(?:2006/)?main["']""")

_LOW = rb'ht="(?<=\bht=")[0-2](?:\.\d*)?"'
_NARROW = rb'width="(?<=\bwidth=")0(?:\.[0-4]\d*)?"'
_HIDING = (re.compile(rb'hidden="'), re.compile(_LOW), re.compile(_NARROW))
_HIDDEN = re.compile(
    rb'<(row|col)\b([^>]*(?:\bhidden="(?:1|true|on)"|' + _LOW + rb"|" + _NARROW + rb")[^>]*)>"
)
_INVISIBLE_BY_DEFAULT = re.compile(
    rb'<sheetFormatPr\b[^>]*\bdefault(?:RowHeight="[0-2]|ColWidth="0)(?:\.\d*)?"'
)
_MERGED = re.compile(rb"<(mergeCell)\b([^>]*)>")
_UNCOMMON = {
    b"<" + tag: re.compile(rb"<%s\b[^<>]*(?:\s=|=\s|&)" % tag)
    for tag in (b"col", b"mergeCell", b"sheetFormatPr")
}
"""Elements of the layout in an uncommon notation, by their start, which is found faster."""

_LAYOUT_ATTRIBUTE = re.compile(rb'\b(r|min|max|hidden|ht|width|ref)="([^"]*)"')

_NUMBER = rb"-?\d++(?:\.\d++)?+(?:[eE][-+]?+\d++)?+"
_FORMULA = rb"(?:<f(?=[ />])[^>]*+>(?:(?<=/>)|[^<]*+</f>))?+"
_OTHER_ATTRIBUTES = rb'(?: (?:s|cm|vm)="\d++")*+/?+>'
_EMPTY = rb"<v(?:></v>| ?+/>)"
# Atomic, here and below, as (?:…)*+ of these does not match before Python 3.11.5 (cpython 106052).
_INLINE_TEXT = rb"<is>(?>(?:<(?!/is>|is\b|[vc]\b|row)[^<]*+)*)</is>"
_TEXT = rb"<v[^>]*+>(?:(?<=/>)|[^<]*+</v>)"
_STYLE = rb'(?: s="\d++")?+'
_VALUES = {
    # Literal ends of the usual numbers are matched faster than an optional fraction and exponent.
    b"><v>": rb"-?\d++(?:</v></c>|\.\d++</v></c>|(?:\.\d++)?+[eE][-+]?+\d++</v></c>)",
    b' t="s"><v>': rb"\d{1,9}</v></c>",
    b' t="inlineStr"><is><t>': rb"[^<]*+</t></is></c>",
    b' t="str"><v>': rb"[^<]*+</v></c>",
    b' t="b"><v>': rb"[01]</v></c>",
}
"""Values of plain cells with the cells' ends, by what comes between address or style and value."""

_PLAIN_VALUES = b"|".join(start + end for start, end in _VALUES.items())
_PLAIN_CELL = b"%s(?:%s|/>)" % (_STYLE, _PLAIN_VALUES)
"""Cell, after its address, with just a value or nothing."""

_USUAL_CELL = b"".join(
    (
        rb"(?:" + _PLAIN_CELL,
        rb"|" + _STYLE + rb'(?:(?: t="\w++")?+' + _OTHER_ATTRIBUTES + rb"(?<=/>)",
        rb'|(?: t="n")?+' + _OTHER_ATTRIBUTES + _FORMULA,
        rb"(?:<v>" + _NUMBER + rb"</v>|" + _EMPTY + rb")?+</c>",
        rb'| t="(?:s"' + _OTHER_ATTRIBUTES + rb"(?:<v>\d{1,9}</v>|" + _EMPTY + rb")?+",
        rb'|inlineStr"' + _OTHER_ATTRIBUTES + _INLINE_TEXT,
        rb'|b"' + _OTHER_ATTRIBUTES + _FORMULA,
        rb"(?:<v>(?:[01]|true|false)</v>|" + _EMPTY + rb")?+",
        rb'|(?:str|d|e)"' + _OTHER_ATTRIBUTES + _FORMULA + rb"(?:" + _TEXT + rb")?+)</c>))",
    )
)
"""Cell, after its address, in a notation that all readers understand as the same value."""

_ROW_ATTRIBUTES = rb"(?>(?:[^>h]++|(?<=\w)h|h(?!t\b|idden\b)|%s)*)"
_PLAIN_ROW = _ROW_ATTRIBUTES % rb'hidden="(?:0|false)"|ht="(?:[3-9]|[1-9]\d)[\d.]*+"'
"""Attributes of a row that do not hide it."""
_USUAL_ROW = _ROW_ATTRIBUTES % rb'(?:hidden|ht)="[^"&]*+"'
"""Attributes of a row in the common notation."""

_COLUMN = re.compile(rb'<c r="([A-Z]{1,3})\d')
_PLAIN_START = re.compile(
    rb'<c r="([A-Z]{1,3})\d++"((?: s="(?=\d++"))?+)[^ >]*+(%s)' % b"|".join(_VALUES)
)
"""Column of a plain cell, whether it has a style, and what comes before its value."""
ROW_OR_CELL = re.compile(rb"<(?:row|c)[\s/>]")
"""Start of a row or a cell."""

_KNOWN_ERRORS = (b"#DIV/0!", b"#N/A", b"#NAME?", b"#NULL!", b"#NUM!", b"#REF!", b"#VALUE!")
_MAX_COLUMNS = 256
_MAX_CHUNK_CELLS = 1 << 24
_FIRST_ROWS = 1 << 16
"""Bytes at the start of a sheet that nearly always contain all its columns."""


class QuickScan:
    """Scan of a sheet's part, block by block of whole rows; ``raw`` collects the facts.

    ``below_rows`` collects the XML after the rows. ``has_end``: the last block has the end of the
    rows. ``scaling`` are the factors of cell styles that display scaled numbers. With
    ``lacks_results`` zero is no result of a formula.
    """

    def __init__(self, scaling: Mapping[int, float], *, lacks_results: bool = False) -> None:
        self.raw = RawSheet()
        self._lacks_results = lacks_results
        self.has_end = False
        self.below_rows = bytearray()
        self._scaling = scaling
        styles = "|".join(map(str, sorted(scaling)))
        styled = re.compile(rf'<c\b([^>]*\bs="({styles})"[^>]*)>'.encode())
        self._styled = styled if scaling else None
        self._rows = _RowMatcher()
        self._is_first = True
        self._is_below = False

    def scan_block(self, block: bytes) -> bool:
        """Add the facts of the next block; return False if it needs the exact scan."""
        markup = self._rows.remainder(block)
        if markup is None or STRUCK_RUN in markup:
            return False
        # Searching for a rare single byte first is many times faster.
        if (b"'" in markup and b"='" in markup) or (b"!" in markup and b"<!" in markup):
            return False
        if self._is_first and _PREFIXED.search(markup):
            return False
        self._is_first = False
        self.has_end = END_OF_ROWS in markup
        if self.has_end:
            self.below_rows += block.partition(END_OF_ROWS)[2]
        elif self._is_below:
            self.below_rows += block
        self._is_below |= self.has_end
        # Cells without a valid address need the exact scan.
        for _, attributes, error in _ERROR_CELL.findall(markup) if b't="e"' in markup else ():
            if (position := _position(attributes)) is None or b"&" in error:
                return False
            self.raw.errors[position] = error.decode("utf-8", "replace")
        if not _add_formulas(markup, self.raw, self._lacks_results):
            return False
        if not _add_layout(markup, self.raw.layout):
            return False
        for attributes, style in self._styled.findall(block) if self._styled else ():
            if (position := _position(attributes)) is None:
                return False
            self.raw.scaled[position] = self._scaling[int(style)]
        return True


class _RowMatcher:
    """Matcher of rows in the common notation, with ascending addresses.

    As long as rows are plain, with nothing but values, they need no further scan.
    """

    def __init__(self) -> None:
        self._columns: set[bytes] = set()
        self._are_plain = True
        self._pattern: re.Pattern[bytes] | None = None
        self._last_row = 0
        self._width = 0
        self._tables = 0

    def remainder(self, block: bytes) -> bytes | None:
        """Return what remains to scan of the next block: the markup around plain rows, or all.

        Returns None if its rows are not in the common notation.
        """
        if self._pattern is None:
            self._add_columns(block[:_FIRST_ROWS])
        numbers, others = self._split(block)
        # If rows do not match, they may have more columns, or they are not plain.
        for are_plain in (self._are_plain, False):
            if ROW_OR_CELL.search(others):
                self._are_plain = are_plain
                self._add_columns(block)
                numbers, others = self._split(block)
        self._tables += others.count(b"<sheetData")
        ascending = [self._last_row, *numbers]
        self._last_row = ascending[-1]
        is_complete = self._tables <= 1 and not ROW_OR_CELL.search(others)
        if not is_complete or not all(map(lt, ascending, ascending[1:])):
            return None
        # The parser allocates all cells between the first and the last one.
        if numbers and (numbers[-1] - numbers[0] + 1) * self._width > _MAX_CHUNK_CELLS:
            return None
        return others if self._are_plain else block

    def _split(self, block: bytes) -> tuple[list[int], bytes]:
        """Return the numbers of a block's matching rows, and the other markup."""
        parts = [block] if self._pattern is None else self._pattern.split(block)
        return list(map(int, parts[1::2])), b"".join(parts[::2])

    def _add_columns(self, block: bytes) -> None:
        """Match rows with a block's columns too, in ascending order."""
        self._columns.update(_COLUMN.findall(block))
        indexes = (column_index(letters.decode()) for letters in self._columns)
        self._width = max(indexes, default=-1) + 1
        if len(self._columns) > _MAX_COLUMNS:
            self._pattern = None
            return
        cell, row = (_PLAIN_CELL, _PLAIN_ROW) if self._are_plain else (_USUAL_CELL, _USUAL_ROW)
        columns = sorted(self._columns, key=lambda letters: (len(letters), letters))
        cells = b"".join(rb'(?>(?:<c r="%s\1"%s)?)' % (c, cell) for c in columns)
        # Most rows have the same kinds of values as one of them, which is tested faster.
        starts = {c: (style, start) for c, style, start in _PLAIN_START.findall(block)}
        usual = b"".join(
            rb'<c r="%s\1"%s%s%s' % (c, style and rb' s="\d++"', start, _VALUES[start])
            for c in columns
            if c in starts
            for style, start in [starts[c]]
        )
        rows = rb">(?:" + usual + rb"</row>|" + cells + rb"</row>))"
        self._pattern = re.compile(rb'<row r="(\d{1,7})"' + row + rb"(?:(?<=/)>|" + rows)


def _add_formulas(block: bytes, raw: RawSheet, lacks_results: bool) -> bool:
    """Add the block's formulas; return False if one has no valid address."""
    count = len(_ANY_FORMULA.findall(block))
    found = _FORMULA_CELL.findall(block) if count else []
    for attributes, letters, number, of_formula, formula, result, end in found:
        row, column = int(number), column_index(letters.decode())
        text = formula.decode("utf-8", "replace")
        raw.layout.add_formula(row, column, text)
        if end:
            kind = _TYPE.search(attributes)
            value = result[3:-4].decode("utf-8", "replace") if result.endswith(b"</v>") else ""
            if is_missing_result(
                kind[1].decode() if kind else "n", value if result else None, text, lacks_results
            ):
                array = _ARRAY.search(of_formula.decode("utf-8", "replace"))
                raw.add_missing_result(row, column, array and array[1])
    return len(found) == count


def _add_layout(block: bytes, layout: SheetLayout) -> bool:
    """Add hidden rows and columns and merged ranges; return False in an uncommon notation."""
    if any(start in block and element.search(block) for start, element in _UNCOMMON.items()):
        return False
    if _INVISIBLE_BY_DEFAULT.search(block):
        return False
    elements: list[tuple[bytes, bytes]] = []
    if any(hiding.search(block) for hiding in _HIDING):
        elements += _HIDDEN.findall(block)
    if b"<mergeCell " in block:
        elements += _MERGED.findall(block)
    for tag, raw_attributes in elements:
        attributes = {k.decode(): v.decode() for k, v in _LAYOUT_ATTRIBUTE.findall(raw_attributes)}
        if tag == b"row" and "r" not in attributes:
            return False
        layout.add_element(tag.decode(), attributes)
    return True


def _position(attributes: bytes) -> CellPosition | None:
    found = re.search(_REFERENCE, attributes)
    return None if found is None else (int(found[2]), column_index(found[1].decode()))


def replace_unknown_errors(block: bytes) -> bytes:
    """Return a block with ``#N/A`` instead of errors that the parser does not know."""
    # A comment may contain what looks like a cell.
    if b"<!" in block:
        return block

    def known_error(found: re.Match[bytes]) -> bytes:
        known = found[3] in _KNOWN_ERRORS or not found[3].startswith(b"#")
        return found[1] + (found[3] if known else b"#N/A")

    return _ERROR_CELL.sub(known_error, block)


_CELL_REFERENCE = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})", re.ASCII)
_LOWEST_DATE_NUMBER = -1e9
_ROW_NUMBER = re.compile(r"[0-9]{1,7}", re.ASCII)

_VALID_VALUES: Mapping[str, re.Pattern[str]] = {
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
        pattern = _VALID_VALUES.get(kind)
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
