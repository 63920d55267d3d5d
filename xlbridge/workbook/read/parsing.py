"""Parser of workbooks of any kind; it runs in a process of its own, or on files known to be safe.

The rows of a large .xlsx sheet are parsed in chunks, two at a time, while its part is unpacked and
scanned: the parser returns rows only after it has read a whole sheet. So each chunk is made a
workbook with the styles of the whole. Shared texts are read once: in the chunks, cells hold a
marked index instead. Sheets in uncommon notations are parsed as a whole.

``python -m xlbridge.workbook.read.parsing`` reads a task from standard input and writes cells to
standard output. The task is a line, a JSON object of ``file``, ``sheet``, ``limits`` and
``seconds``; no line means no task. A malicious file can only kill this process; its parent then
refuses the file.
"""

import gc
import json
import re
import signal
import struct
import sys
import zlib
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    SheetTypeEnum,
    SheetVisibleEnum,
)

from xlbridge.errors import UsageError, WorkbookRefused
from xlbridge.i18n import Text
from xlbridge.processes import report_ready
from xlbridge.settings import CsvForm, WorkbookLimits
from xlbridge.workbook.address import CellPosition
from xlbridge.workbook.formats import scale_factor
from xlbridge.workbook.read.archive import (
    FileKind,
    WorkbookArchive,
    blocks_before,
    is_zip,
    kind_of_archive,
    kind_of_plain_file,
    plain_content,
)
from xlbridge.workbook.read.cells import SHARED_MARK, RawSheet, SharedTextMissing
from xlbridge.workbook.read.messages import (
    Budget,
    ParserMessage,
    RowsRead,
    SharedTexts,
    SheetEncoder,
    SheetEnded,
    SheetStarted,
    WorkbookStarted,
    send_messages,
)
from xlbridge.workbook.read.package import Package, PackageParts, pack
from xlbridge.workbook.read.refusals import damaged, duration_too_long, too_many_sheets, unreadable
from xlbridge.workbook.read.sheet_scans import (
    END_OF_ROWS,
    ROW_OR_CELL,
    STRUCK_RUN,
    QuickScan,
    SheetScan,
    replace_unknown_errors,
    scan_exactly,
)
from xlbridge.workbook.signature import (
    INSTRUCTIONS_SHEET,
    LISTS_SHEET,
    is_generated_sheet,
    is_reserved_name,
)

if TYPE_CHECKING:
    from xlbridge.workbook.read.binary_scans import XlsbScan, XlsScan
    from xlbridge.workbook.read.ods_scan import OdsScan

_MAX_EXACT_SIZE = 1 << 16
"""Size in bytes up to which the exact scan is faster than setting up the quick one."""

_MAX_SAFE_CELLS = 1_000_000
_MAX_SAFE_TEXT = 64 * 2**20
_PANIC_MODULE = "pyo3_runtime"


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


class XlsxParser:
    """Parser of an .xlsx workbook: each sheet in chunks if possible, or else as a whole."""

    def __init__(self, archive: WorkbookArchive, limits: WorkbookLimits) -> None:
        """Raise ``WorkbookRefused`` if the archive does not hold an .xlsx workbook."""
        self._archive = archive
        self._limits = limits
        self._package = Package(archive)
        self._budget = Budget(limits)
        self._formats, self._struck = self._package.cell_styles()
        factors = ((style, scale_factor(code)) for style, code in self._formats.items())
        self._scaling = {style: factor for style, factor in factors if factor != 1}
        self._lacks_results = self._package.lacks_results()
        self._shared_texts: list[str] = []
        self._scans: dict[str, tuple[SheetScan, bytes]] = {}

    def is_safe(self) -> bool:
        """Return whether all sheets have valid, ordered, close cells of limited size.

        The archive is that of a small file, and was unpacked.
        """
        try:
            text_size = len(self._package.shared_texts())
            self._scans = {sheet: self._scan(sheet) for sheet in self._package.sheets}
        except WorkbookRefused:
            return False
        return all(
            scan.is_parsable
            and scan.raw.extent.cells <= _MAX_SAFE_CELLS
            and scan.cells * text_size <= _MAX_SAFE_TEXT
            for scan, _ in self._scans.values()
        )

    def parse(self, sheet: str | None) -> Iterator[ParserMessage]:
        """Yield one sheet, or all visible ones that may hold data.

        Raises what ``parse_file`` raises.
        """
        package = self._package
        with refuse_on_failure():
            book = (
                self._book
                if self._scans
                else CalamineWorkbook.from_filelike(pack(package.parser_parts([package.styles])))
            )
            start, names = _outline(book, package, package.added_sheets(), sheet, self._limits)
            yield start
            for name in names:
                yield from self._parse_one(name, skip_generated=sheet is None)
        self._archive.unpack()

    def _parse_one(self, sheet: str, *, skip_generated: bool) -> Iterator[ParserMessage]:
        """Yield a sheet; with ``skip_generated`` none that looks like one that xlbridge adds."""
        # The quick scan finds scaled numbers by their style, which the default one may lack.
        size = self._archive.size(self._package.sheet_part(sheet))
        is_large = size > _MAX_EXACT_SIZE and 0 not in self._scaling and sheet not in self._scans
        if is_large and not (skip_generated and is_reserved_name(sheet)):
            with suppress(UnusualSheet):
                quick = QuickScan(self._scaling, lacks_results=self._lacks_results)
                yield SheetStarted(sheet)
                texts = self._shared_texts
                yield from parse_in_chunks(self._package, sheet, quick, self._budget, texts)
                yield SheetEnded(self._with_facts(quick.raw, sheet, bytes(quick.below_rows)))
                return
        known = sheet in self._scans
        scan, below_rows = self._scans.pop(sheet) if known else self._scan(sheet)
        # The parser would allocate all cells in between.
        self._budget.check_extent(sheet, scan.raw.extent)
        content = self._open_whole(sheet, scan)
        raw = self._with_facts(scan.raw, sheet, below_rows)
        yield from _parse_sheet(content, raw, self._budget, skip_generated)

    def _scan(self, sheet: str) -> tuple[SheetScan, bytes]:
        """Return the exact scan of a sheet, and its XML below the rows."""
        pieces = list(self._package.sheet_pieces(sheet))
        length, rows = self._shared.text_length(pieces)
        if length:
            self._budget.check_text_length(length, rows)
        scan = scan_exactly(
            pieces, self._scaling, sheet, self._shared.struck, lacks_results=self._lacks_results
        )
        return scan, b"".join(pieces).rpartition(b"sheetData")[2]

    def _with_facts(self, raw: RawSheet, sheet: str, below_rows: bytes) -> RawSheet:
        """Add the facts from other parts, and from below the rows, to those of a sheet."""
        package = self._package
        raw.uses_1904_dates = package.uses_1904_dates
        raw.part = package.sheet_part(sheet)
        raw.formats, raw.struck = dict(self._formats), self._struck
        package.add_totals_rows(sheet, raw.layout)
        raw.conditional_formats = package.conditional_formats(below_rows)
        return raw

    def _open_whole(self, sheet: str, scan: SheetScan) -> CalamineSheet:
        """Open a sheet, without what the parser does not understand: errors that it does not know
        become ``#N/A``."""
        package, unknown_error = self._package, None
        if scan.padded is None:
            try:
                return self._book.get_sheet_by_name(sheet)
            except CalamineError as error:
                unknown_error = error
        content = b"".join(package.sheet_pieces(sheet))
        readable = replace_unknown_errors(scan.without_padding(content))
        if unknown_error is not None and readable == content:
            raise unknown_error
        parts = package.parser_parts([package.styles, package.texts])
        if (name := package.parser_name(sheet)) is not None:
            parts[name] = readable
        return CalamineWorkbook.from_filelike(pack(parts)).get_sheet_by_name(sheet)

    @cached_property
    def _shared(self) -> SharedTexts:
        return SharedTexts(self._package.shared_texts())

    @cached_property
    def _book(self) -> CalamineWorkbook:
        # The parser itself unpacks without checks.
        self._archive.unpack()
        return CalamineWorkbook.from_filelike(self._package.parser_content())


@contextmanager
def refuse_on_failure() -> Iterator[None]:
    """Convert failures of the parser into ``WorkbookRefused``."""
    try:
        yield
    except CalamineError as error:
        raise unreadable() from error
    except OverflowError as error:
        raise duration_too_long() from error
    except BaseException as error:
        # The parser's panics do not derive from Exception, and their class cannot be imported.
        if type(error).__module__ == _PANIC_MODULE:
            raise unreadable() from error
        raise


def _outline(
    book: CalamineWorkbook,
    facts: "Package | XlsScan | XlsbScan | OdsScan",
    added: Collection[str],
    sheet: str | None,
    limits: WorkbookLimits,
) -> tuple[WorkbookStarted, list[str]]:
    """Return the start of a workbook, and its sheets to read: ``sheet``, or all visible ones.

    Sheets that xlbridge ``added`` are neither hidden nor visible.
    """
    sheets = book.sheets_metadata
    if len(sheets) > limits.entries:
        raise too_many_sheets()
    if len({s.name for s in sheets}) < len(sheets):
        # Readers differ in which of the two sheets the name refers to.
        raise unreadable()
    names = [s.name for s in sheets if s.typ == SheetTypeEnum.WorkSheet]
    if sheet is not None and sheet not in names:
        raise UsageError(
            Text(
                pt="Não há planilha {sheet!r}. Há: {names}.",
                en="There is no sheet {sheet!r}. There are: {names}.",
            ).format(sheet=sheet, names=", ".join(names))
        )
    visible = {s.name for s in sheets if s.visible == SheetVisibleEnum.Visible}
    hidden = [s.name for s in sheets if s.name not in visible and s.name not in added]
    to_read = [name for name in names if name in visible and name not in added]
    start = WorkbookStarted(facts.fingerprint, hidden, exported=facts.exported)
    return start, to_read if sheet is None else [sheet]


def _parse_sheet(
    content: CalamineSheet, raw: RawSheet, budget: Budget, skip_generated: bool
) -> Iterator[ParserMessage]:
    """Yield a sheet and its rows, with ``skip_generated`` unless it looks like one of xlbridge's.

    ``raw`` has the facts that its values do not show.
    """
    first_cells = (row[0] for row in islice(content.iter_rows(), 2) if row)
    if skip_generated and is_generated_sheet(content.name, first_cells):
        return
    encoder = SheetEncoder(content.name, budget)
    yield SheetStarted(content.name)
    left = 0
    rows: Iterable[list[Any]] = ()
    if content.start is not None and content.end is not None:
        left = content.start[1]
        encoder.reserve(content.end[0], left, content.end[1])
        rows = content.iter_rows()
    if raw.replaced:
        left, rows = _replace_values(left, list(rows), raw.replaced)
        encoder.reserve(len(rows) - 1, left, left + len(rows[0]) - 1)
    yield from encoder.encode(0, left, rows)
    encoder.end()
    yield SheetEnded(raw)


def _replace_values(
    left: int, rows: list[list[Any]], replaced: Mapping[CellPosition, bool | str]
) -> tuple[int, list[list[Any]]]:
    """Return the first column and the rows from it on, with values replaced, or added around."""
    width = len(rows[0]) if rows else 0
    columns = [column for _, column in replaced]
    first, end = min(left, *columns), max(left + width, *(column + 1 for column in columns))
    height = max(len(rows), *(row for row, _ in replaced))
    before, after = [""] * (left - first), [""] * (end - left - width)
    wide = [[*before, *row, *after] for row in rows]
    wide += ([""] * (end - first) for _ in range(height - len(rows)))
    for (row, column), value in replaced.items():
        wide[row - 1][column - first] = value
    return first, wide


def open_scan(
    kind: FileKind, content: bytes, limits: WorkbookLimits
) -> "XlsScan | XlsbScan | OdsScan":
    """Return the scan of a file that is not an .xlsx, for facts that the parser does not return."""
    # Imported here: most files are of other kinds.
    if kind is FileKind.XLS:
        from xlbridge.workbook.read.binary_scans import XlsScan

        return XlsScan(content)
    archive = WorkbookArchive(content, limits)
    if kind is FileKind.XLSB:
        from xlbridge.workbook.read.binary_scans import XlsbScan

        return XlsbScan(archive)
    from xlbridge.workbook.read.ods_scan import OdsScan

    return OdsScan(archive, limits.cells)


def parse_file(
    path: Path, content: bytes, sheet: str | None, limits: WorkbookLimits
) -> Iterator[ParserMessage]:
    """Yield the content of a file: one sheet, or all visible ones that may hold data.

    ``path`` is only used for its name. Raises ``UsageError`` if there is no such sheet,
    ``WorkbookRefused`` if the content cannot be read or exceeds the limits.
    """
    content = plain_content(content)
    archive = WorkbookArchive(content, limits) if is_zip(content) else None
    kind = kind_of_plain_file(path, content) if archive is None else kind_of_archive(archive)
    if archive is not None and kind in {FileKind.XLSX, FileKind.XLSM}:
        yield from XlsxParser(archive, limits).parse(sheet)
    elif kind is FileKind.CSV:
        from xlbridge.workbook.read.csv_file import parse_csv

        yield from parse_csv(content, path.stem, sheet, limits)
    else:
        if archive is not None:
            archive.unpack()
        with refuse_on_failure(), refuse_damage():
            if kind is FileKind.XLS:
                from xlbridge.workbook.read.binary_scans import without_password

                content = without_password(content)
            scan = open_scan(kind, content, limits)
            readable = BytesIO(content)
            if archive is not None and kind is FileKind.XLSB:
                readable = PackageParts(archive).parser_content()
            elif archive is not None and not archive.is_plain:
                readable = pack(archive.parts())
            book = CalamineWorkbook.from_filelike(readable)
            visible = {s.name: s.visible == SheetVisibleEnum.Visible for s in book.sheets_metadata}
            instructions = {INSTRUCTIONS_SHEET.pt, INSTRUCTIONS_SHEET.en}
            is_template = bool(instructions & visible.keys()) and not visible.get(LISTS_SHEET)
            added = frozenset({LISTS_SHEET} if is_template else ())
            start, names = _outline(book, scan, added, sheet, limits)
            yield start
            budget = Budget(limits)
            for name in names:
                # Before the parser allocates all cells between the first and the last one.
                raw = scan.sheet(name)
                budget.check_extent(name, raw.extent)
                yield from _parse_sheet(book.get_sheet_by_name(name), raw, budget, sheet is None)


_DAMAGE = (OSError, ValueError, LookupError, EOFError, zlib.error, BadZipFile)
"""Exceptions of reading a damaged file."""


@contextmanager
def refuse_damage() -> Iterator[None]:
    """Convert exceptions of reading a damaged file into ``WorkbookRefused``."""
    try:
        yield
    except struct.error as error:
        raise damaged() from error
    except _DAMAGE as error:
        raise unreadable() from error


_END_WITH_PARENT = 1
"""``PR_SET_PDEATHSIG`` of Linux."""

_SWITCH_SECONDS = 0.0005
"""Time after which the thread that encodes lets another one start or end parsing a chunk."""

_PIPE_SIZE = 1 << 20
"""Bytes written without waiting for the parent, which may be busy importing."""


def main() -> None:
    """Parse the file of the task, under limits that the system enforces."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform == "linux":
        import ctypes
        import fcntl

        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        with suppress(OSError):
            fcntl.fcntl(sys.stdout, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    report_ready(sys.stdout.buffer)
    line = sys.stdin.readline()
    if not line:
        return
    task = json.loads(line)
    limits = WorkbookLimits(**task["limits"] | {"csv": CsvForm(**task["limits"]["csv"])})
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (task["seconds"], task["seconds"] + 1))
        if sys.platform == "linux":
            resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    # The collector would traverse all cells repeatedly, and the process is short-lived.
    gc.disable()
    sys.setswitchinterval(_SWITCH_SECONDS)
    file = Path(task["file"])
    messages = parse_file(file, file.read_bytes(), task["sheet"], limits)
    send_messages(sys.stdout.buffer, messages)


if __name__ == "__main__":
    main()
