"""Rows of worksheets, numbered and compressed as they come, before all of a workbook is there."""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from pathlib import Path
from shutil import copyfileobj
from time import localtime
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo
from zlib import DEFLATED, MAX_WBITS, Z_FINISH, Z_FULL_FLUSH, crc32

from xlbridge.export.formats.xlsx_rows import number_rows
from xlbridge.export.lines import line_blocks

try:
    from isal.isal_zlib import compressobj
except ImportError:  # Some machines have none; the standard library's is slower.
    from zlib import compressobj  # type: ignore[assignment]

COMPRESSION_LEVEL = 1
"""The rows' XML is so repetitive that better compression costs much time and saves little."""

_FIRST_ROW = 2
_GZIP, _GZIP_HEADER_LENGTH = 16 + MAX_WBITS, 10
_CHECKSUM = slice(-8, -4)
_COPIED_AT_ONCE = 2**18

_POLYNOMIAL = 0xEDB88320
_ONE, _BYTE_SHIFT = 1 << 31, 1 << 23
"""The polynomials 1 and x⁸, with the bits in the order that CRC-32 has them."""


class CompressedRows:
    """Rows of one worksheet, below its header, in a file of its own."""

    def __init__(self, file: IO[bytes]) -> None:
        self.rows = 0
        self._size = 0
        self._file = file
        self._compressor = compressobj(COMPRESSION_LEVEL, DEFLATED, _GZIP)

    def add(self, lines: list[bytes]) -> None:
        """Add rows."""
        content = number_rows(lines, self.rows + _FIRST_ROW)
        self.rows += len(lines)
        self._size += len(content)
        self._file.write(self._compressor.compress(content))

    def write(
        self, archive: ZipFile, output: IO[bytes], name: str, before: bytes, after: bytes
    ) -> None:
        """Write a member of an archive in ``output``: the rows between two texts. Once only."""
        self._file.write(self._compressor.flush(Z_FULL_FLUSH))
        of_rows = int.from_bytes(self._compressor.flush()[_CHECKSUM], "little")
        self._file.seek(_GZIP_HEADER_LENGTH)
        # Archives take no compressed content: it goes in as it is, and is called so afterwards.
        member = ZipInfo(name, date_time=localtime()[:6])
        with archive.open(member, "w", force_zip64=True) as stored:
            stored.write(_deflated(before, Z_FULL_FLUSH))
            copyfileobj(self._file, stored, _COPIED_AT_ONCE)
            stored.write(_deflated(after, Z_FINISH))
        member.CRC = crc32(after, _joined_checksum(crc32(before), of_rows, self._size))
        member.file_size = len(before) + self._size + len(after)
        member.compress_type = ZIP_DEFLATED
        end = output.tell()
        output.seek(member.header_offset)
        output.write(member.FileHeader(zip64=True))
        output.seek(end)


class TableRows:
    """Rows of a table in worksheets of at most ``most`` rows, each begun when one is full.

    ``files`` are those whose lines were taken, in their order.
    """

    def __init__(self, most: int, new_file: Callable[[], IO[bytes]]) -> None:
        self._most = most
        self._new_file = new_file
        self._added: list[Future[None]] = []
        self.files: list[Path] = []
        self.sheets = [CompressedRows(new_file())]

    def take(self, lines: Path, beside: Executor) -> None:
        """Add a file of lines beside what comes next: compressing leaves other threads to run."""
        self.files.append(lines)
        self._added.append(beside.submit(self.add, line_blocks(lines)))

    def wait(self) -> None:
        """Wait until all files are added. Raises what adding them raised."""
        for added in self._added:
            added.result()

    def add(self, blocks: Iterable[bytes]) -> None:
        """Add whole lines."""
        for block in blocks:
            lines = block.splitlines()
            while lines:
                if self.sheets[-1].rows == self._most:
                    self.sheets.append(CompressedRows(self._new_file()))
                room = self._most - self.sheets[-1].rows
                self.sheets[-1].add(lines[:room])
                lines = lines[room:]


def _deflated(content: bytes, end: int) -> bytes:
    compressor = compressobj(COMPRESSION_LEVEL, DEFLATED, -MAX_WBITS)
    return compressor.compress(content) + compressor.flush(end)


def _joined_checksum(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two texts in a row; the second is so long."""
    shift, power = _ONE, _BYTE_SHIFT
    while length:
        if length & 1:
            shift = _product(shift, power)
        power = _product(power, power)
        length >>= 1
    return _product(shift, first) ^ second


def _product(a: int, b: int) -> int:
    product = 0
    while a:
        if a & _ONE:
            product ^= b
        a = a << 1 & 2**32 - 1
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
    return product
