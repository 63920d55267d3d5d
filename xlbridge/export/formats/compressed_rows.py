"""Rows of worksheets, numbered and compressed while others are being fetched."""

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
except ImportError:  # Not available on every platform; the standard library is slower.
    from zlib import compressobj  # type: ignore[assignment]

COMPRESSION_LEVEL = 1
"""The XML is so repetitive that better compression would take long and save little."""

_FIRST_ROW = 2
_GZIP, _GZIP_HEADER_LENGTH = 16 + MAX_WBITS, 10
_CHECKSUM = slice(-8, -4)
_COPIED_AT_ONCE = 2**18

_POLYNOMIAL = 0xEDB88320
_ONE, _BYTE_SHIFT = 1 << 31, 1 << 23
"""The polynomials 1 and x⁸, in the bit order of CRC-32."""


class CompressedRows:
    """Rows of one worksheet, below its header, in a temporary file."""

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
        """Write the rows as a member of ``archive`` in ``output``, between two texts; only once."""
        self._file.write(self._compressor.flush(Z_FULL_FLUSH))
        rows_checksum = int.from_bytes(self._compressor.flush()[_CHECKSUM], "little")
        self._file.seek(_GZIP_HEADER_LENGTH)
        # ZipFile accepts no compressed content: store it, and correct the header afterwards.
        member = ZipInfo(name, date_time=localtime()[:6])
        with archive.open(member, "w", force_zip64=True) as stored:
            stored.write(_deflated(before, Z_FULL_FLUSH))
            copyfileobj(self._file, stored, _COPIED_AT_ONCE)
            stored.write(_deflated(after, Z_FINISH))
        member.CRC = crc32(after, _joined_checksum(crc32(before), rows_checksum, self._size))
        member.file_size = len(before) + self._size + len(after)
        member.compress_type = ZIP_DEFLATED
        end = output.tell()
        output.seek(member.header_offset)
        output.write(member.FileHeader(zip64=True))
        output.seek(end)


class TableRows:
    """Rows of a table, in worksheets of at most ``max_rows`` rows.

    ``files`` are those added, in order.
    """

    def __init__(self, max_rows: int, new_file: Callable[[], IO[bytes]]) -> None:
        self._max_rows = max_rows
        self._new_file = new_file
        self._pending: list[Future[None]] = []
        self.files: list[Path] = []
        self.sheets = [CompressedRows(new_file())]

    def add_file(self, lines: Path, executor: Executor) -> None:
        """Add a file of lines in the background: compression releases the GIL."""
        self.files.append(lines)
        self._pending.append(executor.submit(self.add, line_blocks(lines)))

    def wait(self) -> None:
        """Wait until all files are added, and raise what adding them raised."""
        for pending in self._pending:
            pending.result()

    def add(self, blocks: Iterable[bytes]) -> None:
        """Add whole lines."""
        for block in blocks:
            lines = block.splitlines()
            while lines:
                if self.sheets[-1].rows == self._max_rows:
                    self.sheets.append(CompressedRows(self._new_file()))
                room = self._max_rows - self.sheets[-1].rows
                self.sheets[-1].add(lines[:room])
                lines = lines[room:]


def _deflated(content: bytes, end: int) -> bytes:
    compressor = compressobj(COMPRESSION_LEVEL, DEFLATED, -MAX_WBITS)
    return compressor.compress(content) + compressor.flush(end)


def _joined_checksum(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two concatenated texts, from theirs and the second's length."""
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
