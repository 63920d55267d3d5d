"""Parsing of a large sheet in chunks of rows, two at a time, while its part is unpacked, scanned.

The parser returns rows only after it has read a whole sheet. So each chunk of rows is made a
workbook with the styles of the whole, and parsed while the next one is unpacked and scanned.
Shared texts are read once: in the chunks, cells hold a marked index instead.

The quick scan finds in the raw XML what the parser does not return. Its patterns start with
literals, and so run at the speed of memory. They understand the notation of programs that write
large sheets; the exact scan (``exact_scan.py``) understands every notation, and sheets in other
notations are left to ``parsing.py``.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from operator import lt

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

from xlbridge.errors import WorkbookRefused
from xlbridge.workbook.address import CellPosition, column_index
from xlbridge.workbook.read.archive import blocks_before
from xlbridge.workbook.read.cells import (
    SHARED_MARK,
    RawSheet,
    SharedTextMissing,
    SheetLayout,
    is_missing_result,
)
from xlbridge.workbook.read.messages import Budget, RowsRead, SheetEncoder
from xlbridge.workbook.read.package import Package, pack

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


_CHUNK_SIZE = 2 << 20
"""Bytes of a chunk: large compared with its overhead, small enough for a short last chunk."""

_THREADS = 2
_ROW = b"<row"
_END = b"</sheetData></worksheet>"
_SHARED = b't="s"'
_SHARED_INDEX = b' t="s"><v>'
_MARK = SHARED_MARK.encode()
_ESCAPED_MARK = re.compile(rb"&#(?:0*%d|[xX]0*(?i:%x));" % ((ord(SHARED_MARK),) * 2))
_MARKED_INDEX = b"   ><v>" + _MARK
"""As long as a reference, and so quickly replaced: the parser returns what is no number as text."""
_SHARED_TEXT = re.compile(r"<si>(?:<t>(?!\s)([^<&\r_]*+)(?<!\s)</t>|(.*?))</si>", re.DOTALL)
_TABLE = b"<sheetData"
_NO_MERGED_CELLS = b"<mergeCells/>"
"""Ends, before the rows, the parser's second pass, which searches a sheet for merged cells."""
_START = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row>'
)

_UNUSUAL_MARKUP = ("<!", ":si", "<si", "</is", STRUCK_RUN.decode())


class UnusualSheet(Exception):
    """Sheet in an uncommon notation, which has to be parsed as a whole."""


def parse_in_chunks(
    package: Package, sheet: str, scan: QuickScan, budget: Budget, shared_texts: list[str]
) -> Iterator[RowsRead]:
    """Yield the rows of a sheet, while ``scan`` collects what they do not show.

    ``shared_texts`` is filled by the first sheet that refers to one. Raises ``UnusualSheet`` at
    any point, and ``WorkbookRefused`` if a limit is exceeded.
    """
    parser = _ChunkParser(package, sheet, shared_texts)
    encoder = SheetEncoder(sheet, budget, shared_texts)
    chunks: deque[Future[CalamineSheet]] = deque()
    try:
        with ThreadPoolExecutor(_THREADS) as threads:
            for block in blocks_before(package.sheet_pieces(sheet, _CHUNK_SIZE), _ROW):
                if not scan.scan_block(block):
                    raise UnusualSheet
                if (part := parser.next_part(block, scan)) is not None:
                    chunks.append(threads.submit(parser.open(part).get_sheet_by_name, sheet))
                if len(chunks) > _THREADS:
                    yield from _encode(encoder, chunks.popleft().result())
            if not parser.has_ended:
                raise UnusualSheet
            while chunks:
                yield from _encode(encoder, chunks.popleft().result())
    except (CalamineError, SharedTextMissing, UnicodeDecodeError) as error:
        raise UnusualSheet from error
    encoder.end()


def _encode(encoder: SheetEncoder, chunk: CalamineSheet) -> Iterator[RowsRead]:
    if chunk.start is None or chunk.end is None:
        return
    (top, left), (bottom, right) = chunk.start, chunk.end
    try:
        encoder.reserve(bottom, left, right)
    except WorkbookRefused as error:
        # The exact scan knows which cells are too far from the others.
        raise UnusualSheet from error
    # Not in the threads: they would wait for the GIL, and the rows leave the processor's cache.
    yield from encoder.encode(top, left, chunk.to_python())


class _ChunkParser:
    """Parser of chunks of one sheet; ``has_ended`` is set after its last row."""

    def __init__(self, package: Package, sheet: str, shared_texts: list[str]) -> None:
        self.has_ended = False
        self._shared_texts = shared_texts
        self._package = package
        self._sheet = sheet
        self._parts = package.parser_parts([package.styles])
        self._head = b""

    def next_part(self, block: bytes, scan: QuickScan) -> bytes | None:
        """Return the block just scanned as the part of a separate sheet, None if it has no rows."""
        rows, end, tail = block.partition(END_OF_ROWS) if scan.has_end else (block, b"", b"")
        if not self._head:
            self._head, row, _ = rows.partition(_ROW)
            if not row or _TABLE not in self._head:
                raise UnusualSheet
            rows = rows[len(self._head) :]
            self._head = self._head.replace(_TABLE, _NO_MERGED_CELLS + _TABLE)
        if ROW_OR_CELL.search(block if self.has_ended else tail):
            raise UnusualSheet
        if self.has_ended:
            return None
        self.has_ended = bool(end)
        # The parser knows only some errors; the scan has collected all of them.
        rows = replace_unknown_errors(rows) if scan.raw.errors else rows
        if self._package.texts is not None:
            rows = self._mark_shared_texts(rows)
        return b"".join((self._head, rows, _END))

    def open(self, part: bytes) -> CalamineWorkbook:
        """Return a workbook with a part; its sheet is parsed when it is opened, without the GIL."""
        name = self._package.parser_name(self._sheet)
        if name is None:
            raise UnusualSheet
        return CalamineWorkbook.from_filelike(pack({**self._parts, name: part}))

    def _mark_shared_texts(self, rows: bytes) -> bytes:
        """Return rows with marked indexes instead of references to shared texts."""
        # Searching for a rare single byte first is many times faster.
        if (_MARK[:1] in rows and _MARK in rows) or (b"&" in rows and _ESCAPED_MARK.search(rows)):
            raise UnusualSheet
        if _SHARED not in rows:
            return rows
        if not self._shared_texts:
            self._shared_texts.extend(self._read_shared_texts())
        # The parser fails at references in other notations, as it has no shared texts.
        return rows.replace(_SHARED_INDEX, _MARKED_INDEX)

    def _read_shared_texts(self) -> list[str]:
        """Return the shared texts; the parser reads rich ones, as the cells of a row."""
        content = self._package.shared_texts().decode()
        before, *found, after = _SHARED_TEXT.split(content)
        rich = [text for text in found[1::3] if text is not None]
        others = "".join((before, *rich, after))
        if "".join(found[2::3]).strip() or any(mark in others for mark in _UNUSUAL_MARKUP):
            raise UnusualSheet
        # The parser drops empty cells at both ends of a row.
        cells = map('<c t="inlineStr"><is>{}</is></c>'.format, ("<t>.</t>", *rich, "<t>.</t>"))
        row = b"".join((_START, "".join(cells).encode(), b"</row>", _END))
        ((_, *parsed, _),) = self.open(row).get_sheet_by_name(self._sheet).to_python()
        if len(parsed) != len(rich):
            raise UnusualSheet
        texts = iter(map(str, parsed))
        return [next(texts) if plain is None else plain for plain in found[::3]]
