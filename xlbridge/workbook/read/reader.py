"""Read a workbook: check the archive, then parse it in a sandboxed process.

Only a small file that is known to be safe is parsed in this process, any other in a child process
with limited memory and time (``parsing.py``).
"""

import mmap
import re
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Timer
from typing import BinaryIO

from xlbridge.errors import XlbridgeError
from xlbridge.processes import helper_not_started, wait_until_ready
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.address import CellPosition, column_index, column_letters
from xlbridge.workbook.encryption import is_encrypted_package
from xlbridge.workbook.read.archive import (
    FileKind,
    WorkbookArchive,
    blocks_before,
    file_content,
    is_zip,
    kind_of_archive,
    kind_of_plain_file,
    plain_content,
)
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.messages import (
    BrokenStream,
    OnRows,
    ParserMessage,
    WorkbookCells,
    assemble_workbook,
    receive_messages,
)
from xlbridge.workbook.read.parser_process import MAX_IN_PROCESS_SIZE, parser_process
from xlbridge.workbook.read.refusals import too_demanding

if sys.platform != "win32":
    import resource

MEMORY_LIMITS_ENFORCED = sys.platform == "linux"
"""True if the system enforces the memory limit of a process."""

_WALL_TIME_FACTOR = 20
"""Wall time of a parser process as a multiple of its processor time, for busy machines."""


@contextmanager
def _parse_in_child(
    path: Path, sheet: str | None, limits: WorkbookLimits, size: int, on_rows: OnRows
) -> Iterator[Future[WorkbookCells]]:
    """Parse a file in a child process, which starts at once and ends with the block.

    ``size`` is the size of the unpacked content. The yielded workbook raises what the parsing
    raised, or ``WorkbookRefused`` if the process died.
    """
    seconds = limits.seconds_for(size)
    task = {
        "file": str(path.absolute()),
        "sheet": sheet,
        "limits": asdict(limits),
        "seconds": seconds,
    }
    # A thread reads the messages, so that the process never waits for a full pipe.
    with ThreadPoolExecutor(max_workers=1) as reader, parser_process(task) as process:
        watchdog = Timer(_WALL_TIME_FACTOR * seconds, process.kill)
        watchdog.daemon = True
        # Imported while the process starts, and not by the thread: the block may import it from
        # another of its modules at the same moment, and each would wait for the other.
        import msgspec  # noqa: F401

        try:
            watchdog.start()
            yield reader.submit(_receive_workbook, process, on_rows)
        finally:
            process.kill()
            watchdog.cancel()


def _receive_workbook(process: "subprocess.Popen[bytes]", on_rows: OnRows) -> WorkbookCells:
    stream: BinaryIO = process.stdout  # type: ignore[assignment]
    try:
        # A process that ends before it is ready did not fail because of the file.
        if not wait_until_ready(stream):
            raise helper_not_started()
        return assemble_workbook(receive_messages(stream), on_rows)
    except (XlbridgeError, BrokenStream) as error:
        # Ctrl-C reaches all processes of the terminal, and may end the child first.
        if process.wait() == -signal.SIGINT:
            raise KeyboardInterrupt from error
        if isinstance(error, BrokenStream):
            raise too_demanding() from error
        raise


def read_workbook(
    path: Path,
    limits: WorkbookLimits,
    sheet: str | None = None,
    trusted: bytes | None = None,
    on_rows: OnRows = lambda _: None,
) -> WorkbookCells:
    """Read one sheet of a workbook, or all visible ones that may hold data.

    ``trusted`` is the content of an archive to parse in this process. ``on_rows`` receives the
    number of rows read so far of a large file, from any thread. Raises ``UsageError`` if there is
    no such file or sheet, ``WorkbookRefused`` if the file cannot be read safely.
    """
    if trusted is not None:
        from xlbridge.workbook.read.parsing import parse_file

        return assemble_workbook(parse_file(path, trusted, sheet, limits))
    with prefetch_workbook(path, limits, sheet, on_rows) as workbook:
        return workbook.result()


@contextmanager
def prefetch_workbook(
    path: Path, limits: WorkbookLimits, sheet: str | None, on_rows: OnRows = lambda _: None
) -> Iterator[Future[WorkbookCells]]:
    """Read a workbook while the block does something else; its future raises the errors."""
    workbook: Future[WorkbookCells] = Future()
    try:
        size, messages = _inspect(path, limits, sheet)
        if messages is not None:
            workbook.set_result(assemble_workbook(messages))
    except XlbridgeError as error:
        workbook.set_exception(error)
    if workbook.done():
        yield workbook
        return
    with _parse_in_child(path, sheet, limits, size, on_rows) as workbook:
        yield workbook


def _inspect(
    path: Path, limits: WorkbookLimits, sheet: str | None
) -> tuple[int, Iterator[ParserMessage] | None]:
    """Return the size of a file's unpacked content, and what it holds if that is safe to parse."""
    content = file_content(path, limits)
    if is_encrypted_package(content):
        return len(content), None
    if not is_zip(content):
        kind = kind_of_plain_file(path, content)
        if kind is not FileKind.CSV or len(content) > MAX_IN_PROCESS_SIZE:
            return len(content), None
        from xlbridge.workbook.read.parsing import parse_file

        return len(content), parse_file(path, content, sheet, limits)
    archive = WorkbookArchive(content, limits)
    if archive.declared_size <= MAX_IN_PROCESS_SIZE:
        archive.unpack()
        if kind_of_archive(archive) in {FileKind.XLSX, FileKind.XLSM}:
            # Imported here: not needed if a child process parses.
            from xlbridge.workbook.read.parsing import XlsxParser

            parser = XlsxParser(archive, limits)
            if parser.is_safe():
                return archive.declared_size, parser.parse(sheet)
    if not MEMORY_LIMITS_ENFORCED:
        archive.unpack()
    return archive.declared_size, None


_MEMORY_SHARE = 0.75
"""Share of the parser process's memory that this process gets, so that it refuses no less."""


def read_in_process(path: Path, limits: WorkbookLimits, sheet: str | None) -> WorkbookCells:
    """Read a workbook in this process, which may die of it, under limits of memory and time.

    If memory cannot be limited, or parsing fails, a child process reads it. Raises what
    ``read_workbook`` raises.
    """
    content = file_content(path, limits)
    if not MEMORY_LIMITS_ENFORCED or not is_zip(content):
        return read_workbook(path, limits, sheet)
    archive = WorkbookArchive(content, limits)
    pages = Path("/proc/self/statm").read_text("ascii").split()[0]
    memory = (int(pages) * mmap.PAGESIZE) + int(_MEMORY_SHARE * limits.memory)
    try:
        used = resource.getrusage(resource.RUSAGE_SELF)
        with (
            _resource_limit(resource.RLIMIT_AS, memory),
            _resource_limit(
                resource.RLIMIT_CPU,
                int(used.ru_utime + used.ru_stime) + limits.seconds_for(archive.declared_size),
            ),
        ):
            return read_workbook(path, limits, sheet, trusted=archive.content)
    except XlbridgeError:
        raise
    except BaseException:  # the parser's panics do not derive from Exception
        return read_workbook(path, limits, sheet)


@contextmanager
def _resource_limit(kind: int, limit: int) -> Iterator[None]:
    before, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (before, hard))


def cell_number_formats(
    path: Path, raw: RawSheet, formats: Mapping[int, str], columns: Collection[int]
) -> dict[CellPosition, str]:
    """Return the number formats of cells in the given zero-based columns of a sheet.

    ``formats`` are the formats to find, by style; cells without a style have the first one. Cells
    without an address are skipped.
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
    without_style = rb"""|(?![^<>]*?\ss=["'])""" if 0 in formats else b""
    exact = re.compile(
        rb"""<(?:\w+:)?c(?=\s)(?=[^<>]*?\sr=["'](%s)(\d{1,7})["'])"""
        rb"""(?:(?=[^<>]*?\ss=["']0*(%s)["'])%s)""" % (letters, styles, without_style)
    )
    limits = WorkbookLimits()
    archive = WorkbookArchive(plain_content(file_content(path, limits)), limits)
    return {
        (int(row), column_index(column.decode())): formats[int(style or 0)]
        for block in blocks_before(archive.pieces(raw.part), b"<")
        # The common markup: each cell starts with its address, in double quotes.
        for column, row, style in (
            quick
            if not without_style
            and block.count(b"<c ") == block.count(b'<c r="')
            and b":c " not in block
            and b"='" not in block
            else exact
        ).findall(block)
    }
