"""Parsing of a large sheet in chunks of rows, two at a time, while its part is unpacked.

The parser returns rows only after it has read a whole sheet. So each chunk of rows is made a
workbook with the styles of the whole, and parsed while the next one is unpacked and scanned.
Shared texts are read once: in the chunks, cells hold a marked index instead. Sheets in notations
that programs do not use for large sheets are left to ``parsing.py``.

The quick scan finds in the raw XML what the parser does not return, with patterns that start with
literals, at the speed of memory. It understands the notation of programs that write large sheets;
the exact scan (``exact_scan.py``) understands every notation.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from operator import lt

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

from xlbridge.workbook.address import CellPosition, column_index
from xlbridge.workbook.read.archive import blocks_before
from xlbridge.workbook.read.cells import SHARED_MARK, RawSheet, SharedTextMissing
from xlbridge.workbook.read.messages import RowsRead
from xlbridge.workbook.read.package import Package, pack
from xlbridge.workbook.read.sheet_encoder import Budget, SheetEncoder

_CHUNK_SIZE = 2 << 20
"""Bytes of a chunk: large compared with its overhead, small enough for a short last chunk."""

_THREADS = 2
_ROW = b"<row"
_END_OF_ROWS = b"</sheetData"
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

_STRUCK_RUN = b"<strike"
"""Start of the element that strikes a part of a rich text through."""

_UNUSUAL_MARKUP = ("<!", ":si", "<si", "</is", _STRUCK_RUN.decode())
_REFERENCE_ATTRIBUTE = re.compile(rb'\br="([A-Z]{1,3})(\d{1,7})"')
# Atomic groups and possessive quantifiers: no XML makes these patterns backtrack.
_ERROR_CELL = re.compile(
    rb'(<c\b(?>([^>]*?\st="e"[^>]*+))(?<!/)>(?:(?!</?c\b).)*?<v\b[^>]*+(?<!/)>)([^<]+)(?=<)',
    re.DOTALL,
)
"""Cell with an error: everything before the error, the cell's attributes, the error."""

_BARE_FORMULA = re.compile(
    rb"<c\b([^>]*)>\s*+<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)(?:\s*+(<v\s*+/>|<v></v>))?\s*+</c>"
)
# The letter is rarer than the angle bracket, and so found faster.
_FORMULA_START = re.compile(rb"f(?<=<f)")
_TEXT_RESULT = re.compile(rb'\bt="str"')
_PREFIXED = re.compile(rb"""<\w+:worksheet|xmlns:\w+=["'][^"']*/spreadsheetml/(?:2006/)?main["']""")

_NUMBER = rb"-?\d++(?:\.\d++)?+(?:[eE][-+]?+\d++)?+"
_FORMULA = rb"(?:<f(?=[ />])[^>]*+>(?:(?<=/>)|[^<]*+</f>))?+"
_OTHER_ATTRIBUTES = rb'(?: (?:s|cm|vm)="\d++")*+/?+>'
_EMPTY = rb"<v(?:></v>| ?+/>)"
# Literal ends of the usual numbers are matched faster than an optional fraction and exponent.
_NUMBER_END = rb"-?\d++(?:</v></c>|\.\d++</v></c>|(?:\.\d++)?+[eE][-+]?+\d++</v></c>)"
_INDEX_END = rb"\d{1,9}</v></c>"
_TEXT_END = rb"[^<]*+</t></is></c>"
_PLAIN_NUMBER = rb"><v>" + _NUMBER_END
_PLAIN_INDEX = rb's"><v>' + _INDEX_END
_INLINE_TEXT = rb"<is>(?:<(?!/is>|is\b|[vc]\b|row)[^<]*+)*+</is>"
_TEXT = rb"<v[^>]*+>(?:(?<=/>)|[^<]*+</v>)"
_PLAIN_CELL = b"".join(
    (
        rb"(?:" + _PLAIN_NUMBER + rb'| s="\d++"(?:' + _PLAIN_NUMBER + rb'| t="' + _PLAIN_INDEX,
        rb'|/>)| t="(?:' + _PLAIN_INDEX + rb'|inlineStr"><is><t>' + _TEXT_END + rb"))",
    )
)
"""Cell, after its address, with just a number, a text or nothing."""

_USUAL_CELL = b"".join(
    (
        rb"(?:" + _PLAIN_CELL,
        rb'|(?: s="\d++")?+(?:(?: t="\w++")?+' + _OTHER_ATTRIBUTES + rb"(?<=/>)",
        rb'|(?: t="n")?+'
        + _OTHER_ATTRIBUTES
        + _FORMULA
        + rb"(?:<v>"
        + _NUMBER
        + rb"</v>|"
        + _EMPTY,
        rb')?+</c>| t="(?:s"' + _OTHER_ATTRIBUTES + rb"(?:<v>\d{1,9}</v>|" + _EMPTY + rb")?+",
        rb'|inlineStr"' + _OTHER_ATTRIBUTES + _INLINE_TEXT,
        rb'|b"' + _OTHER_ATTRIBUTES + _FORMULA,
        rb"(?:<v>(?:[01]|true|false)</v>|" + _EMPTY + rb")?+",
        rb'|(?:str|d|e)"' + _OTHER_ATTRIBUTES + _FORMULA + rb"(?:" + _TEXT + rb")?+)</c>))",
    )
)
"""Cell, after its address, in a notation that all readers understand as the same value."""

_KNOWN_ERRORS = (b"#DIV/0!", b"#N/A", b"#NAME?", b"#NULL!", b"#NUM!", b"#REF!", b"#VALUE!")


class UnusualSheet(Exception):
    """Sheet in an uncommon notation, which has to be parsed as a whole."""


def parse_in_chunks(
    package: Package, sheet: str, scan: "QuickScan", budget: Budget, shared_texts: list[str]
) -> Iterator[RowsRead]:
    """Yield the rows of a sheet, while ``scan`` collects what they do not show.

    ``shared_texts`` is filled by the first sheet that refers to one. Raises ``UnusualSheet`` at
    any point, and ``WorkbookRefused`` if a limit is exceeded.
    """
    parser = _ChunkParser(package, sheet, shared_texts)
    encoder = SheetEncoder(sheet, budget, shared_texts)
    chunks: deque[Future[CalamineSheet]] = deque()
    with ThreadPoolExecutor(_THREADS) as threads, _failures_as_unusual():
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
    encoder.end()


@contextmanager
def _failures_as_unusual() -> Iterator[None]:
    try:
        yield
    except (CalamineError, SharedTextMissing, UnicodeDecodeError) as error:
        raise UnusualSheet from error


def _encode(encoder: SheetEncoder, chunk: CalamineSheet) -> Iterator[RowsRead]:
    if chunk.start is None or chunk.end is None:
        return
    (top, left), (bottom, right) = chunk.start, chunk.end
    encoder.reserve(bottom, left, right)
    # Not in the threads: they would wait for the GIL, and the rows leave the processor's cache.
    yield from encoder.encode(top, left, chunk.to_python())


class _ChunkParser:
    """Parser of chunks of one sheet; ``has_ended`` is set after its last row."""

    def __init__(self, package: Package, sheet: str, shared_texts: list[str]) -> None:
        self.has_ended = False
        self._shared_texts = shared_texts
        self._package = package
        self._sheet = sheet
        self._parts = package.parser_parts()
        self._head = b""

    def next_part(self, block: bytes, scan: "QuickScan") -> bytes | None:
        """Return the block just scanned as the part of a separate sheet, None if it has no rows."""
        rows, end, tail = block.partition(_END_OF_ROWS) if scan.has_end else (block, b"", b"")
        if not self._head:
            self._head, row, _ = rows.partition(_ROW)
            if not row or _TABLE not in self._head:
                raise UnusualSheet
            rows = rows[len(self._head) :]
            self._head = self._head.replace(_TABLE, _NO_MERGED_CELLS + _TABLE)
        if _ROW_OR_CELL.search(block if self.has_ended else tail):
            raise UnusualSheet
        if self.has_ended:
            return None
        self.has_ended = bool(end)
        # The parser knows only some errors; the scan has collected all of them.
        rows = replace_unknown_errors(rows) if scan.raw.errors else rows
        if self._package.shared_part is not None:
            rows = self._mark_shared_texts(rows)
        return b"".join((self._head, rows, _END))

    def open(self, part: bytes) -> CalamineWorkbook:
        """Return a workbook with a part; its sheet is parsed when it is opened, without the GIL."""
        name = self._package.sheet_part(self._sheet)
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


def replace_unknown_errors(block: bytes) -> bytes:
    """Return a block with ``#N/A`` instead of errors that the parser does not know."""
    # A comment may contain what looks like a cell.
    return block if b"<!" in block else _ERROR_CELL.sub(_known_error, block)


def _known_error(found: re.Match[bytes]) -> bytes:
    known = found[3] in _KNOWN_ERRORS or not found[3].startswith(b"#")
    return found[1] + (found[3] if known else b"#N/A")


_COLUMN = re.compile(rb'<c r="([A-Z]{1,3})\d')
_VALUE_START = re.compile(
    rb'<c r="([A-Z]{1,3})\d++"((?: s="\d++")?+(?: t="s")?+><v>| t="inlineStr"><is><t>)'
)
"""Column of a plain cell, and what comes between its address and its value."""
_ROW_OR_CELL = re.compile(rb"<(?:row|c)[\s/>]")
"""Start of a row or a cell."""

_MAX_COLUMNS = 256
_FIRST_ROWS = 1 << 16
"""Bytes at the start of a sheet that nearly always contain all its columns."""


class _RowMatcher:
    """Matcher of rows in the common notation, with ascending addresses.

    As long as rows are plain, with nothing but values, they need no further scan.
    """

    def __init__(self) -> None:
        self._columns: set[bytes] = set()
        self._are_plain = True
        self._pattern: re.Pattern[bytes] | None = None
        self._last_row = 0
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
            if _ROW_OR_CELL.search(others):
                self._are_plain = are_plain
                self._add_columns(block)
                numbers, others = self._split(block)
        self._tables += others.count(b"<sheetData")
        ascending = [self._last_row, *numbers]
        self._last_row = ascending[-1]
        is_complete = self._tables <= 1 and not _ROW_OR_CELL.search(others)
        if not is_complete or not all(map(lt, ascending, ascending[1:])):
            return None
        return others if self._are_plain else block

    def _split(self, block: bytes) -> tuple[list[int], bytes]:
        """Return the numbers of a block's matching rows, and the other markup."""
        parts = [block] if self._pattern is None else self._pattern.split(block)
        return list(map(int, parts[1::2])), b"".join(parts[::2])

    def _add_columns(self, block: bytes) -> None:
        """Match rows with a block's columns too, in ascending order."""
        self._columns.update(_COLUMN.findall(block))
        if len(self._columns) > _MAX_COLUMNS:
            self._pattern = None
            return
        cell, attribute = (_PLAIN_CELL, rb"[^>h]") if self._are_plain else (_USUAL_CELL, rb"[^>]")
        columns = sorted(self._columns, key=lambda letters: (len(letters), letters))
        cells = b"".join(rb'(?:<c r="%s\1"%s)?+' % (c, cell) for c in columns)
        # Most rows have the same kinds of values as one of them, which is tested faster.
        starts = dict(_VALUE_START.findall(block))
        usual = b"".join(_cell_like(c, starts[c]) for c in columns if c in starts)
        rows = rb">(?:" + usual + rb"</row>|" + cells + rb"</row>))"
        self._pattern = re.compile(rb'<row r="(\d{1,7})"' + attribute + rb"*+(?:(?<=/)>|" + rows)


def _cell_like(column: bytes, start: bytes) -> bytes:
    """Return a pattern of a column's cells that start in the same way."""
    end = _NUMBER_END
    if start.endswith(b"<t>"):
        end = _TEXT_END
    elif _SHARED in start:
        end = _INDEX_END
    return rb'<c r="%s\1"%s%s' % (column, re.escape(start), end)


class QuickScan:
    """Scan of a sheet's part, block by block of whole rows; ``raw`` collects the facts.

    ``has_end``: the last block has the end of the rows. ``scaling`` are the factors of cell styles
    that display scaled numbers.
    """

    def __init__(self, scaling: Mapping[int, float]) -> None:
        self.raw = RawSheet()
        self.has_end = False
        self._scaling = scaling
        styles = "|".join(map(str, sorted(scaling)))
        styled = re.compile(rf'<c\b([^>]*\bs="({styles})"[^>]*)>'.encode())
        self._styled = styled if scaling else None
        self._rows = _RowMatcher()
        self._is_first = True

    def scan_block(self, block: bytes) -> bool:
        """Add the facts of the next block; return False if it needs the exact scan."""
        markup = self._rows.remainder(block)
        if markup is None or _is_unusual(markup) or _STRUCK_RUN in markup:
            return False
        if self._is_first and _PREFIXED.search(markup):
            return False
        self._is_first = False
        self.has_end = _END_OF_ROWS in markup
        has_formulas = _FORMULA_START.search(markup) is not None
        return (
            _add_errors_and_formulas(markup, self.raw, has_formulas=has_formulas)
            and self.raw.layout.scan_block(markup, has_formulas=has_formulas)
            and (not self._styled or _add_styles(block, self._styled, self._scaling, self.raw))
        )


def _is_unusual(block: bytes) -> bool:
    # Searching for a rare single byte first is many times faster.
    return (b"'" in block and b"='" in block) or (b"!" in block and b"<!" in block)


def _add_errors_and_formulas(block: bytes, raw: RawSheet, *, has_formulas: bool) -> bool:
    """Add the block's error cells and formulas; return False if one has no valid address."""
    if b't="e"' in block:
        for _, attributes, error in _ERROR_CELL.findall(block):
            if (position := _position(attributes)) is None or b"&" in error:
                return False
            raw.errors[position] = error.decode("utf-8", "replace")
    if has_formulas:
        for attributes, result in _BARE_FORMULA.findall(block):
            if (position := _position(attributes)) is None:
                return False
            if not (result and _TEXT_RESULT.search(attributes)):
                raw.without_result.add(position)
    return True


def _add_styles(
    block: bytes, styled: re.Pattern[bytes], scaling: Mapping[int, float], raw: RawSheet
) -> bool:
    for attributes, style in styled.findall(block):
        if (position := _position(attributes)) is None:
            return False
        raw.scaled[position] = scaling[int(style)]
    return True


def _position(attributes: bytes) -> CellPosition | None:
    reference = _REFERENCE_ATTRIBUTE.search(attributes)
    if reference is None:
        return None
    return int(reference[2]), column_index(reference[1].decode())
