"""Parsing of a large sheet in chunks of rows, two at a time, as its part is unpacked.

A parser gives no row before it has read a whole sheet. So each chunk of rows becomes a workbook
of its own, with the styles of the whole; it is parsed while the next is unpacked and scanned.
Shared texts are read once: in the chunks their cells hold an index with a mark. A sheet that is
not written as programs write large ones is left to ``parsing.py``.
"""

import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from python_calamine import CalamineError, CalamineSheet, CalamineWorkbook

from xlbridge.workbook.read.cells import SHARED_MARK, SharedTextMissing
from xlbridge.workbook.read.exact_scan import blocks_before
from xlbridge.workbook.read.messages import RowsRead
from xlbridge.workbook.read.package import Package, packed
from xlbridge.workbook.read.sheet_encoder import Budget, SheetEncoder
from xlbridge.workbook.read.sheet_scan import ROW_OR_CELL, STRUCK_RUN, QuickScan, with_known_errors

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
_ODD_MARKS = ("<!", ":si", "<si", "</is", STRUCK_RUN.decode())
_TABLE = b"<sheetData"
_START = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row>'
)

RowChunk = tuple[int, int, list[list[Any]]]
"""Rows of a chunk, and the zero-based row and column that they begin in."""


class UnusualSheet(Exception):
    """A sheet is not written as programs write large sheets, and is to be parsed as a whole."""


def parse_in_chunks(
    package: Package, sheet: str, scan: QuickScan, budget: Budget, shared: list[str]
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
        if ROW_OR_CELL.search(block if self.has_ended else after):
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
