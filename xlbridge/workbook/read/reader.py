"""Read a workbook: check the archive, then parse it where it can do no harm.

A small file that is known to be safe is parsed in this process, any other in a child process
whose memory and time are limited (``parser_process.py``).
"""

import mmap
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from threading import Timer
from typing import BinaryIO

from xlbridge.errors import XlbridgeError
from xlbridge.processes import helper_not_started, wait_until_ready
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.address import CellPosition, column_index, column_letters
from xlbridge.workbook.read.archive import (
    FileKind,
    WorkbookArchive,
    file_content,
    is_zip,
    kind_of_archive,
    kind_of_plain_file,
)
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.messages import (
    BrokenStream,
    OnRows,
    PendingWorkbook,
    WorkbookCells,
    assemble_workbook,
    receive_messages,
)
from xlbridge.workbook.read.parser_start import READ_HERE, parser_process
from xlbridge.workbook.read.refusals import too_demanding

if sys.platform != "win32":
    import resource

MEMORY_LIMITS_ENFORCED = sys.platform == "linux"
"""True where the system keeps a process within the memory that it was given."""

_WALL_TIME_FACTOR = 20
"""Wall time of a parsing process, as a multiple of its processor time: others may be busy too."""


@contextmanager
def parse_in_child(
    path: Path,
    kind: FileKind | None,
    sheet: str | None,
    limits: WorkbookLimits,
    size: int,
    on_rows: OnRows = lambda _: None,
) -> Iterator[PendingWorkbook]:
    """Parse a file in a process of its own, which begins at once and ends with the block.

    ``kind`` is None for a zip archive, which tells its own; ``size`` is that of the unpacked
    content. What is yielded waits for the workbook; it raises what the parsing raised, or
    ``WorkbookRefused`` when the process did not live to tell.
    """
    seconds = limits.seconds_for(size)
    task = {
        "file": str(path.resolve()),
        "kind": None if kind is None else kind.value,
        "sheet": sheet,
        "limits": asdict(limits),
        "seconds": seconds,
    }
    # A thread reads along, so that the process never waits for a full pipe.
    with ThreadPoolExecutor(max_workers=1) as reader, parser_process(task) as process:
        watchdog = Timer(_WALL_TIME_FACTOR * seconds, process.kill)
        watchdog.daemon = True
        try:
            watchdog.start()
            coming = reader.submit(_receive_workbook, process.stdout, on_rows)  # type: ignore[arg-type]
            yield PendingWorkbook(partial(_result, coming, process), coming.done)
        finally:
            process.kill()
            watchdog.cancel()


def _receive_workbook(stream: BinaryIO, on_rows: OnRows) -> WorkbookCells:
    # What ends before it has read anything of the file did not end by it.
    if not wait_until_ready(stream):
        raise helper_not_started()
    try:
        return assemble_workbook(receive_messages(stream), on_rows)
    except BrokenStream as broken:
        raise too_demanding() from broken


def _result(coming: "Future[WorkbookCells]", process: "subprocess.Popen[bytes]") -> WorkbookCells:
    try:
        return coming.result()
    except XlbridgeError as error:
        # Ctrl-C reaches all processes of the terminal, and may end that one before it is told here.
        if process.wait() == -signal.SIGINT:
            raise KeyboardInterrupt from error
        raise


def read_workbook(
    path: Path,
    limits: WorkbookLimits,
    sheet: str | None = None,
    trusted: bytes | None = None,
    on_rows: OnRows = lambda _: None,
) -> WorkbookCells:
    """Read one sheet of a workbook, or all visible ones that may hold data.

    ``trusted`` is the content of an archive, which is parsed in this process, whatever it is.
    ``on_rows`` is told, from any thread, how far the reading of a large file is.
    Raises ``UsageError`` when there is no such file or sheet, ``WorkbookRefused`` when the file is
    no workbook that can be read safely.
    """
    if trusted is not None:
        from xlbridge.workbook.read.parsing import parse_file

        return assemble_workbook(parse_file(trusted, None, path.stem, sheet, limits))
    with start_reading(path, limits, sheet, on_rows) as workbook:
        return workbook()


@contextmanager
def start_reading(
    path: Path,
    limits: WorkbookLimits,
    sheet: str | None = None,
    on_rows: OnRows = lambda _: None,
) -> Iterator[PendingWorkbook]:
    """Begin to read a workbook, and go on while the block does something else.

    What is yielded waits for the workbook. Both raise as ``read_workbook`` does. Only a small file
    that is known to be harmless is parsed in this process, any other in one of its own.
    """
    kind, size, harmless = _looked_at(path, limits)
    if kind is not None and harmless is not None:
        from xlbridge.workbook.read.parsing import parse_file

        yield PendingWorkbook(
            lambda: assemble_workbook(parse_file(harmless, kind, path.stem, sheet, limits)),
            is_here=lambda: True,
        )
        return
    with parse_in_child(path, kind, sheet, limits, size, on_rows) as workbook:
        yield workbook


def _looked_at(path: Path, limits: WorkbookLimits) -> tuple[FileKind | None, int, bytes | None]:
    """Return the kind of a file, None where an archive is still to tell; the size of its unpacked
    content; and its content where that may be parsed here: any other is for the process alone."""
    content = file_content(path, limits)
    if not is_zip(content):
        kind = kind_of_plain_file(path, content)
        is_harmless = kind is FileKind.CSV and len(content) <= READ_HERE
        return kind, len(content), content if is_harmless else None
    gate = WorkbookArchive(content, limits)
    if gate.declared_size <= READ_HERE:
        gate.unpack()
        kind = kind_of_archive(gate)
        # Nothing waits for these where a process beside this one parses.
        from xlbridge.workbook.read.parsing import is_safe_to_parse

        if kind in {FileKind.XLSX, FileKind.XLSM} and is_safe_to_parse(gate):
            return kind, gate.declared_size, content
    if not MEMORY_LIMITS_ENFORCED:
        gate.unpack()
    return None, gate.declared_size, None


_MEMORY_SHARE = 0.75
"""This process gets less memory than the parser's own, so that nothing passes here only."""


def read_in_process(path: Path, limits: WorkbookLimits, sheet: str | None) -> WorkbookCells:
    """Read a workbook as ``read_workbook`` does, under the same limits of memory and time.

    The process may end over it; where memory cannot be limited, another one reads. Raises what
    ``read_workbook`` raises.
    """
    if not MEMORY_LIMITS_ENFORCED:
        return read_workbook(path, limits, sheet)
    content = file_content(path, limits)
    if not is_zip(content):
        return read_workbook(path, limits, sheet)
    gate = WorkbookArchive(content, limits)
    pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    memory = (int(pages) * mmap.PAGESIZE) + int(_MEMORY_SHARE * limits.memory)
    try:
        used = resource.getrusage(resource.RUSAGE_SELF)
        with (
            _resource_limit(resource.RLIMIT_AS, memory),
            _resource_limit(
                resource.RLIMIT_CPU,
                int(used.ru_utime + used.ru_stime) + limits.seconds_for(gate.declared_size),
            ),
        ):
            return read_workbook(path, limits, sheet, trusted=gate.content)
    except XlbridgeError:
        raise
    except BaseException:  # the parser's panics are no ``Exception``
        return read_workbook(path, limits, sheet)


@contextmanager
def _resource_limit(what: int, most: int) -> Iterator[None]:
    before, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(what, (before, hard))


@contextmanager
def prefetch_workbook(
    path: Path, limits: WorkbookLimits, sheet: str | None
) -> Iterator[PendingWorkbook | None]:
    """Begin to read a workbook ahead of its turn; None where it is refused at once.

    Reading it again in its turn raises the reason.
    """
    with ExitStack() as stack:
        source: PendingWorkbook | None = None
        with suppress(XlbridgeError):
            source = stack.enter_context(start_reading(path, limits, sheet))
        yield source


_CHUNK = 1 << 20
_MAX_TAG_LENGTH = 1 << 12
_STYLE_ATTRIBUTE = re.compile(rb"""\ss=["'](\d+)["']""")


def cell_number_formats(
    path: Path, raw: RawSheet, formats: Mapping[int, str], columns: Collection[int]
) -> dict[CellPosition, str]:
    """Return the formats of the cells in some columns of a sheet.

    ``raw`` are the sheet's facts, ``formats`` are those that are looked for, by the style that has
    them, ``columns`` are zero-based. Cells without an address are skipped.
    """
    if not formats or not columns:
        return {}
    if not raw.part:
        return {
            (row, column): formats[style]
            for column in columns
            for first, last, style in raw.styles.get(column, ())
            if style in formats
            for row in range(first, last + 1)
        }
    letters = b"|".join(column_letters(column).encode() for column in columns)
    styles = b"|".join(str(style).encode() for style in formats)
    quick = re.compile(rb'<c r="(%s)(\d{1,7})"[^>]*? s="(%s)"' % (letters, styles))
    exact = re.compile(rb"""<(?:\w+:)?c\s([^<>]*?\br=["'](%s)(\d{1,7})["'][^<>]*)>""" % letters)
    found = {}
    for block in _part_blocks(path, raw.part):
        cells = quick.findall(block) if _is_usual_markup(block) else _styled_cells(exact, block)
        for column, row, style in cells:
            code = formats.get(int(style))
            if code is not None:
                found[int(row), column_index(column.decode())] = code
    return found


def _is_usual_markup(block: bytes) -> bool:
    """Return whether each cell begins with its address, in double quotes, without a prefix."""
    return (
        block.count(b"<c ") == block.count(b'<c r="') and b":c " not in block and b"='" not in block
    )


def _styled_cells(exact: re.Pattern[bytes], block: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield column, row and style of cells, however they are written."""
    for attributes, column, row in exact.findall(block):
        style = _STYLE_ATTRIBUTE.search(b" " + attributes)
        if style is not None:
            yield column, row, style[1]


def _part_blocks(path: Path, part: str) -> Iterator[bytes]:
    """Yield a part in pieces that end where an element begins."""
    pending = b""
    with zipfile.ZipFile(path) as archive, archive.open(part) as content:
        while piece := content.read(_CHUNK):
            piece = pending + piece
            cut = piece.rfind(b"<")
            yield piece[:cut]
            pending = piece[cut:] if len(piece) - cut < _MAX_TAG_LENGTH else b""
    yield pending
