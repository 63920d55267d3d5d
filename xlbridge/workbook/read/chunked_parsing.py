"""Parsing of a large sheet in chunks of rows, two at a time, as its part is unpacked.

A parser gives no row before it has read a whole sheet. So each chunk of rows becomes a workbook
of its own, with the styles of the whole; it is parsed while the next is unpacked and scanned.
Shared texts are read once: in the chunks their cells hold an index with a mark. A sheet that is
not written as programs write large ones is left to ``parsing.py``.

The quick scan looks in the raw XML for what the parser does not tell. It searches by patterns with
literal beginnings, at the speed of memory; it knows the way in which programs write large sheets,
the exact scan (``exact_scan.py``) every other one.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from operator import lt
from typing import Any

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

from xlbridge.workbook.address import CellPosition, column_index
from xlbridge.workbook.read.cells import SHARED_MARK, RawSheet, SharedTextMissing
from xlbridge.workbook.read.exact_scan import blocks_before
from xlbridge.workbook.read.messages import RowsRead
from xlbridge.workbook.read.package import Package, packed
from xlbridge.workbook.read.sheet_encoder import Budget, SheetEncoder

_SIZE = 2 << 20
"""Bytes of a chunk: enough for what each costs besides to be little, and few for what is still to
be done once the last is unpacked."""

_AT_ONCE = 2
_ROW = b"<row"
_END_OF_ROWS = b"</sheetData"
_END = b"</sheetData></worksheet>"
_SHARED = b't="s"'
_SHARED_INDEX = b' t="s"><v>'
_MARK = SHARED_MARK.encode()
_ESCAPED_MARK = re.compile(rb"&#(?:0*%d|[xX]0*(?i:%x));" % ((ord(SHARED_MARK),) * 2))
_MARKED_INDEX = b' t="str"><v>' + _MARK
_SHARED_TEXT = re.compile(r"<si>(?:<t>(?!\s)([^<&\r_]*+)(?<!\s)</t>|(.*?))</si>", re.DOTALL)
_TABLE = b"<sheetData"
_START = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row>'
)

_STRUCK_RUN = b"<strike"
"""Beginning of the element that strikes a part of a rich text through."""

_ODD_MARKS = ("<!", ":si", "<si", "</is", _STRUCK_RUN.decode())
_REFERENCE_ATTRIBUTE = re.compile(rb'\br="([A-Z]{1,3})(\d{1,7})"')
# Atomic groups and possessive repeats: no way of writing XML lets these search back and back again.
_ERROR_CELL = re.compile(
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

_NUMBER = rb"-?\d++(?:\.\d++)?+(?:[eE][-+]?+\d++)?+"
_FORMULA = rb"(?:<f(?=[ />])[^>]*+>(?:(?<=/>)|[^<]*+</f>))?+"
_OTHERS = rb'(?: (?:s|cm|vm)="\d++")*+/?+>'
_EMPTY = rb"<v(?:></v>| ?+/>)"
_PLAIN_NUMBER = rb"><v>" + _NUMBER + rb"</v></c>"
_PLAIN_INDEX = rb's"><v>\d{1,9}</v></c>'
_OWN_TEXT = rb"<is>(?:<(?!/is>|is\b|[vc]\b|row)[^<]*+)*+</is>"
_TEXT = rb"<v[^>]*+>(?:(?<=/>)|[^<]*+</v>)"
_PLAIN_CELL = b"".join(
    (
        rb"(?:" + _PLAIN_NUMBER + rb'| s="\d++"(?:' + _PLAIN_NUMBER + rb'| t="' + _PLAIN_INDEX,
        rb'|/>)| t="(?:' + _PLAIN_INDEX + rb'|inlineStr"><is><t>[^<]*+</t></is></c>))',
    )
)
"""A cell after its address that holds a number, a text or nothing, and no more than that."""

_USUAL_CELL = b"".join(
    (
        rb"(?:" + _PLAIN_CELL,
        rb'|(?: s="\d++")?+(?:(?: t="\w++")?+' + _OTHERS + rb"(?<=/>)",
        rb'|(?: t="n")?+' + _OTHERS + _FORMULA + rb"(?:<v>" + _NUMBER + rb"</v>|" + _EMPTY,
        rb')?+</c>| t="(?:s"' + _OTHERS + rb"(?:<v>\d{1,9}</v>|" + _EMPTY + rb")?+",
        rb'|inlineStr"' + _OTHERS + _OWN_TEXT,
        rb'|b"' + _OTHERS + _FORMULA + rb"(?:<v>(?:[01]|true|false)</v>|" + _EMPTY + rb")?+",
        rb'|(?:str|d|e)"' + _OTHERS + _FORMULA + rb"(?:" + _TEXT + rb")?+)</c>))",
    )
)
"""A cell after its address, written in a way in which all readers take it for the same value."""

_KNOWN_ERRORS = (b"#DIV/0!", b"#N/A", b"#NAME?", b"#NULL!", b"#NUM!", b"#REF!", b"#VALUE!")

RowChunk = tuple[int, int, list[list[Any]]]
"""Rows of a chunk, and the zero-based row and column that they begin in."""


class UnusualSheet(Exception):
    """A sheet is not written as programs write large sheets, and is to be parsed as a whole."""


def parse_in_chunks(
    package: Package, sheet: str, scan: "QuickScan", budget: Budget, shared: list[str]
) -> Iterator[RowsRead]:
    """Yield the rows of a sheet, while ``scan`` notes what they do not show.

    ``shared`` takes the workbook's shared texts from the first sheet that refers to one. Raises
    ``UnusualSheet`` at any point, and ``WorkbookRefused`` where a limit is exceeded.
    """
    parser = _ChunkParser(package, sheet, budget, shared)
    encoder = SheetEncoder(sheet, budget, shared)
    parsed: deque[Future[RowChunk]] = deque()
    with ThreadPoolExecutor(_AT_ONCE) as threads, _unusual_where_parsing_fails():
        for block in blocks_before(package.sheet_pieces(sheet, _SIZE), _ROW):
            if not scan.take(block):
                raise UnusualSheet
            if (part := parser.next_part(block, has_errors=bool(scan.raw.errors))) is not None:
                parsed.append(threads.submit(parser.parse, part))
            if len(parsed) > _AT_ONCE:
                yield from _encoded(encoder, parsed.popleft().result())
        if not parser.has_ended:
            raise UnusualSheet
        while parsed:
            yield from _encoded(encoder, parsed.popleft().result())
    encoder.end()


@contextmanager
def _unusual_where_parsing_fails() -> Iterator[None]:
    try:
        yield
    except (CalamineError, SharedTextMissing, UnicodeDecodeError) as error:
        raise UnusualSheet from error


def _encoded(encoder: SheetEncoder, chunk: RowChunk) -> Iterator[RowsRead]:
    top, left, rows = chunk
    if rows:
        encoder.reserve(top + len(rows) - 1, left, left + len(rows[0]) - 1)
    yield from encoder.encode(top, left, rows)


class _ChunkParser:
    """Parser of chunks of one sheet; ``has_ended`` tells that the last row was seen."""

    def __init__(self, package: Package, sheet: str, budget: Budget, shared: list[str]) -> None:
        self.has_ended = False
        self._shared = shared
        self._package = package
        self._sheet = sheet
        self._budget = budget
        self._parts = package.parser_parts()
        self._before = b""

    def next_part(self, block: bytes, *, has_errors: bool) -> bytes | None:
        """Return the next block as the part of a sheet of its own; None where it has no rows.

        ``has_errors`` tells that cells with errors may be among them.
        """
        rows, end, after = block.partition(_END_OF_ROWS)
        if not self._before:
            self._before, row, _ = rows.partition(_ROW)
            if not row or _TABLE not in self._before:
                raise UnusualSheet
            rows = rows[len(self._before) :]
        if _ROW_OR_CELL.search(block if self.has_ended else after):
            raise UnusualSheet
        if self.has_ended:
            return None
        self.has_ended = bool(end)
        # The parser knows some errors only; the scan has noted which they are.
        rows = with_known_errors(rows) if has_errors else rows
        if self._package.shared_part is not None:
            rows = self._marked(rows)
        return b"".join((self._before, rows, _END))

    def parse(self, part: bytes) -> RowChunk:
        """Return the rows of a part."""
        content = self._open(part)
        if content.start is None or content.end is None:
            return 0, 0, []
        self._budget.check_cells(content.height * content.width)
        return *content.start, content.to_python()

    def _open(self, part: bytes) -> CalamineSheet:
        name = self._package.sheet_part(self._sheet)
        if name is None:
            raise UnusualSheet
        archive = packed({**self._parts, name: part})
        return CalamineWorkbook.from_filelike(archive).get_sheet_by_name(self._sheet)

    def _marked(self, rows: bytes) -> bytes:
        """Return rows with marked texts in place of references to shared texts."""
        # The single marks are rare and found many times faster than what begins with them.
        if (_MARK[:1] in rows and _MARK in rows) or (b"&" in rows and _ESCAPED_MARK.search(rows)):
            raise UnusualSheet
        if _SHARED not in rows:
            return rows
        if not self._shared:
            self._shared.extend(self._read_shared())
        # One that is written in another way refers to a text that the parser is not given.
        return rows.replace(_SHARED_INDEX, _MARKED_INDEX)

    def _read_shared(self) -> list[str]:
        """Return the shared texts; those that are more than a plain text, as the parser reads them
        in cells of one row."""
        content = b"".join(self._package.shared_pieces()).decode()
        before, *found, after = _SHARED_TEXT.split(content)
        odd = [text for text in found[1::3] if text is not None]
        around = "".join((before, *odd, after))
        if "".join(found[2::3]).strip() or any(mark in around for mark in _ODD_MARKS):
            raise UnusualSheet
        # The parser leaves out empty cells before the first that is filled, and after the last.
        cells = map('<c t="inlineStr"><is>{}</is></c>'.format, ("<t>.</t>", *odd, "<t>.</t>"))
        row = b"".join((_START, "".join(cells).encode(), b"</row>", _END))
        ((_, *read, _),) = self._open(row).to_python()
        if len(read) != len(odd):
            raise UnusualSheet
        texts = iter(map(str, read))
        return [next(texts) if plain is None else plain for plain in found[::3]]


def with_known_errors(block: bytes) -> bytes:
    """Return a block in which errors that the parser does not know are ``#N/A``.

    The scan names the error of each cell.
    """
    # What looks like a cell in a comment is none.
    return block if b"<!" in block else _ERROR_CELL.sub(_known_error, block)


def _known_error(found: re.Match[bytes]) -> bytes:
    known = found[3] in _KNOWN_ERRORS or not found[3].startswith(b"#")
    return found[1] + (found[3] if known else b"#N/A")


_COLUMN = re.compile(rb'<c r="([A-Z]{1,3})\d')
_ROW_OR_CELL = re.compile(rb"<(?:row|c)[\s/>]")
"""Beginning of a row or a cell."""

_MAX_COLUMNS = 256
_FIRST_ROWS = 1 << 16
"""Bytes of a sheet that nearly always show its columns."""


class _UsualRows:
    """The rows so far: all written as programs write them, their addresses in ascending order.

    As long as they are plain, with nothing in them but values, no more is to be known of them.
    """

    def __init__(self) -> None:
        self._columns: set[bytes] = set()
        self._are_plain = True
        self._row: re.Pattern[bytes] | None = None
        self._last = 0
        self._tables = 0

    def rest(self, block: bytes) -> bytes | None:
        """Return what is still to be looked at of the next block: what stands around plain rows,
        else all of it; None where its rows are not written in the usual way."""
        if self._row is None:
            self._learn(block[:_FIRST_ROWS])
        numbers, around = self._split(block)
        # Rows further down may have more columns, or else they are not plain.
        for are_plain in (self._are_plain, False):
            if _ROW_OR_CELL.search(around):
                self._are_plain = are_plain
                self._learn(block)
                numbers, around = self._split(block)
        self._tables += around.count(b"<sheetData")
        ascending = [self._last, *numbers]
        self._last = ascending[-1]
        is_whole = self._tables <= 1 and not _ROW_OR_CELL.search(around)
        if not is_whole or not all(map(lt, ascending, ascending[1:])):
            return None
        return around if self._are_plain else block

    def _split(self, block: bytes) -> tuple[list[int], bytes]:
        """Return the numbers of a block's rows that are written so, and what stands around them."""
        parts = [block] if self._row is None else self._row.split(block)
        return list(map(int, parts[1::2])), b"".join(parts[::2])

    def _learn(self, block: bytes) -> None:
        """Learn a block's columns; the cells of a row stand in their order."""
        self._columns.update(_COLUMN.findall(block))
        if len(self._columns) > _MAX_COLUMNS:
            self._row = None
            return
        cell, attribute = (_PLAIN_CELL, rb"[^>h]") if self._are_plain else (_USUAL_CELL, rb"[^>]")
        columns = sorted(self._columns, key=lambda letters: (len(letters), letters))
        cells = b"".join(rb'(?:<c r="%s\1"%s)?+' % (c, cell) for c in columns)
        row = rb'<row r="(\d{1,7})"' + attribute + rb"*+(?:(?<=/)>|>" + cells + rb"</row>)"
        self._row = re.compile(row)


class QuickScan:
    """Scan of a sheet's part that is given block by block, each of whole rows.

    ``raw`` holds what was noted so far.
    """

    def __init__(self, scaling: Mapping[int, float]) -> None:
        """``scaling`` are the cell styles that show a number so many times."""
        self.raw = RawSheet()
        self._scaling = scaling
        styles = "|".join(map(str, sorted(scaling)))
        styled = re.compile(rf'<c\b([^>]*\bs="({styles})"[^>]*)>'.encode())
        self._styled = styled if scaling else None
        self._usual = _UsualRows()
        self._is_first = True

    def take(self, block: bytes) -> bool:
        """Note what the next block shows; False where only the exact scan can tell."""
        rest = self._usual.rest(block)
        if rest is None or _is_unusual(rest) or _STRUCK_RUN in rest:
            return False
        if self._is_first and _PREFIXED.search(rest):
            return False
        self._is_first = False
        computed = _FORMULA_BEGINS.search(rest) is not None
        return (
            _note_errors_and_formulas(rest, self.raw, computed=computed)
            and self.raw.layout.note_block(rest, computed=computed)
            and (not self._styled or _note_styles(block, self._styled, self._scaling, self.raw))
        )


def _is_unusual(block: bytes) -> bool:
    # The single marks are rare and found many times faster than the pairs.
    return (b"'" in block and b"='" in block) or (b"!" in block and b"<!" in block)


def _note_errors_and_formulas(block: bytes, raw: RawSheet, *, computed: bool) -> bool:
    """Note the block's error cells and formulas; False where one has no readable address."""
    if b't="e"' in block:
        for _, attributes, error in _ERROR_CELL.findall(block):
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
