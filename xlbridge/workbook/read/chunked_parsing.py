"""Parsing of a large sheet in chunks of rows, two at a time, while its part is unpacked.

The parser returns rows only after it has read a whole sheet. So each chunk of rows is made a
workbook with the styles of the whole, and parsed while the next one is unpacked and scanned.
Shared texts are read once: in the chunks, cells hold a marked index instead. Sheets in notations
that programs do not use for large sheets are left to ``parsing.py``.
"""

import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

from xlbridge.workbook.read.archive import blocks_before
from xlbridge.workbook.read.cells import SHARED_MARK, SharedTextMissing
from xlbridge.workbook.read.messages import Budget, RowsRead, SheetEncoder
from xlbridge.workbook.read.package import Package, pack
from xlbridge.workbook.read.quick_scan import (
    END_OF_ROWS,
    ROW_OR_CELL,
    STRUCK_RUN,
    QuickScan,
    replace_unknown_errors,
)

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
