"""Scan of an .xls workbook's records for what the parser does not tell ([MS-XLS], BIFF8), and of
the streams of the OLE file that holds them ([MS-CFB]).

Runs only where memory and time are limited.
"""

import struct
from collections.abc import Iterator

from xlbridge.workbook.read.binary_cells import BookStyles, SheetFacts
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.refusals import damaged, encrypted, other_ole_file

_HEADER = 512
_DIFAT_START, _DIFAT_IN_HEADER = 76, 109
_ENTRY = 128
_LAST_SECTOR = 0xFFFFFFFA
"""First number that is no sector: from it on stand marks of ends of chains and free sectors."""

_MINI_SHIFT = 6
_SECTOR_SHIFTS = (9, 12)
_STREAM, _ROOT = 2, 5
_LONGEST_NAME = 64


class OleFile:
    """An OLE file whose directory can be read."""

    def __init__(self, content: bytes) -> None:
        """Raise ``WorkbookRefused`` when the file is damaged."""
        if len(content) < _HEADER:
            raise damaged()
        self._content = content
        (shift,) = struct.unpack_from("<H", content, 30)
        if shift not in _SECTOR_SHIFTS:
            raise damaged()
        self._size = 1 << shift
        (directory,) = struct.unpack_from("<I", content, 48)
        self._mini_cutoff, mini_fat = struct.unpack_from("<II", content, 56)
        numbers = list(struct.unpack_from(f"<{_DIFAT_IN_HEADER}I", self._content, _DIFAT_START))
        (following,) = struct.unpack_from("<I", self._content, 68)
        most = len(self._content) // self._size + 1
        while following < _LAST_SECTOR and len(numbers) <= most:
            *more, following = _numbers(self._sector(following))
            numbers += more
        used = [number for number in numbers if number < _LAST_SECTOR]
        if len(used) > most:
            raise damaged()
        self._fat = _numbers(b"".join(map(self._sector, used)))
        self._entries = list(self._read_entries(self._chain(directory)))
        self._mini_fat = _numbers(self._chain(mini_fat))

    def stream(self, name: str) -> bytes:
        """Return the content of a stream. Raise ``WorkbookRefused`` when there is none."""
        roots = [place for found, kind, place in self._entries if kind == _ROOT]
        places = [
            place for found, kind, place in self._entries if kind == _STREAM and found == name
        ]
        if len(places) != 1 or not roots:
            raise damaged()
        start, size = places[0]
        if size >= self._mini_cutoff:
            return self._chain(start)[:size]
        whole = self._chain(roots[0][0])
        pieces = _linked(start, self._mini_fat)
        width = 1 << _MINI_SHIFT
        return b"".join(whole[one * width : (one + 1) * width] for one in pieces)[:size]

    def _sector(self, number: int) -> bytes:
        start = (number + 1) * self._size
        if start >= len(self._content):
            raise damaged()
        return self._content[start : start + self._size]

    def _chain(self, start: int) -> bytes:
        return b"".join(map(self._sector, _linked(start, self._fat)))

    def _read_entries(self, directory: bytes) -> Iterator[tuple[str, int, tuple[int, int]]]:
        for at in range(0, len(directory) - _ENTRY + 1, _ENTRY):
            length, kind = struct.unpack_from("<HB", directory, at + 64)
            place = struct.unpack_from("<II", directory, at + 116)
            name = directory[at : at + min(max(length - 2, 0), _LONGEST_NAME)]
            yield name.decode("utf-16-le", "replace"), kind, place


def _numbers(content: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(content) // 4}I", content[: len(content) // 4 * 4])


def _linked(start: int, fat: tuple[int, ...]) -> Iterator[int]:
    """Yield the sectors of a chain; one that comes back to itself is damaged."""
    number, count = start, 0
    while number < _LAST_SECTOR:
        if number >= len(fat) or count >= len(fat):
            raise damaged()
        yield number
        number, count = fat[number], count + 1


_BOF, _EOF = 0x809, 0x0A
_FONT, _FORMAT, _STYLE = 0x31, 0x41E, 0xE0
_FILEPASS, _DATEMODE, _BOUNDSHEET = 0x2F, 0x22, 0x85
_ROW, _COLUMNS, _MERGED, _FORMULA, _ERROR = 0x208, 0x7D, 0xE5, 0x06, 0x205
_RUNS = {0xBD: 6, 0xBE: 2}
"""Records of several cells in a row, with the size of each: numbers, blanks."""

_CELLS = frozenset({_FORMULA, _ERROR, 0x201, 0x203, 0x204, 0xFD, 0x27E})
_BIFF8 = 0x600
_STRUCK, _HIDDEN_ROW, _IS_ERROR = 0x8, 0x20, 2
_SKIPPED_FONT = 4
"""The number that no font has: those after the fourth count one on."""

_Record = tuple[int, bytes]


class XlsScan:
    """The records of an .xls workbook."""

    def __init__(self, content: bytes) -> None:
        """Raise ``WorkbookRefused`` or ``struct.error`` when the records are damaged."""
        # The format keeps the template's mark where no reader looks.
        self.fingerprint: str | None = None
        self._stream = OleFile(content).stream("Workbook")
        self._from_1904 = False
        self._places: dict[str, int] = {}
        self._styles = BookStyles()
        self._read_globals()

    def sheet(self, name: str) -> RawSheet:
        """Return the facts of a sheet."""
        facts = SheetFacts(self._styles, counts_from_1904=self._from_1904)
        for kind, data in self._records(self._places.get(name, len(self._stream))):
            _note_record(facts, kind, data)
        return facts.raw

    def _records(self, start: int) -> Iterator[_Record]:
        """Yield the records of the part that begins there, without those of parts within it."""
        at, depth = start, 0
        while at + 4 <= len(self._stream):
            kind, size = struct.unpack_from("<HH", self._stream, at)
            data = self._stream[at + 4 : at + 4 + size]
            at += 4 + size
            depth += (kind == _BOF) - (kind == _EOF)
            if depth <= 0:
                return
            if depth == 1:
                yield kind, data

    def _read_globals(self) -> None:
        codes: dict[int, str] = {}
        formats, fonts = list[int](), list[int]()
        struck = list[bool]()
        for kind, data in self._records(0):
            if kind == _FONT:
                struck.append(bool(struct.unpack_from("<H", data, 2)[0] & _STRUCK))
            elif kind == _FORMAT:
                codes[struct.unpack_from("<H", data)[0]] = _text(data, 2, "<H")
            elif kind == _STYLE:
                font, number = struct.unpack_from("<HH", data)
                fonts.append(font)
                formats.append(number)
            elif kind == _BOF and struct.unpack_from("<H", data)[0] != _BIFF8:
                raise other_ole_file()
            elif kind == _FILEPASS:
                raise encrypted()
            elif kind == _DATEMODE:
                self._from_1904 = data[:1] == b"\x01"
            elif kind == _BOUNDSHEET:
                self._places[_text(data, 6, "<B")] = struct.unpack_from("<I", data)[0]
        marked = {
            font + (font >= _SKIPPED_FONT) for font, is_struck in enumerate(struck) if is_struck
        }
        self._styles = BookStyles.of(formats, codes, fonts, marked)


def _text(data: bytes, at: int, length_format: str) -> str:
    (length,) = struct.unpack_from(length_format, data, at)
    at += struct.calcsize(length_format)
    (wide,) = struct.unpack_from("<B", data, at)
    if wide & 1:
        return data[at + 1 : at + 1 + 2 * length].decode("utf-16-le", "replace")
    return data[at + 1 : at + 1 + length].decode("latin-1")


def _note_record(facts: SheetFacts, kind: int, data: bytes) -> None:
    if kind in _CELLS:
        _note_cell(facts, kind, data)
    elif kind in _RUNS:
        row, first = struct.unpack_from("<HH", data)
        for number, at in enumerate(range(4, len(data) - 3, _RUNS[kind])):
            facts.note_style(row, first + number, struct.unpack_from("<H", data, at)[0])
    elif kind == _ROW:
        row, height, flags = struct.unpack_from("<H4xH4xH", data)
        if flags & _HIDDEN_ROW or not height:
            facts.raw.layout.hidden_rows.add(row + 1)
    elif kind == _COLUMNS:
        first, last, width, flags = struct.unpack_from("<HHH2xH", data)
        if flags & 1 or not width:
            facts.raw.layout.hidden_columns.append((first, last))
    elif kind == _MERGED:
        (count,) = struct.unpack_from("<H", data)
        for number in range(count):
            top, bottom, left, right = struct.unpack_from("<HHHH", data, 2 + 8 * number)
            facts.raw.layout.merged.append((top + 1, left, bottom + 1, right))


def _note_cell(facts: SheetFacts, kind: int, data: bytes) -> None:
    row, column, style = struct.unpack_from("<HHH", data)
    facts.note_style(row, column, style)
    if kind == _ERROR:
        number, is_error = struct.unpack_from("<BB", data, 6)
        if is_error:
            facts.note_error(row, column, number)
    elif kind == _FORMULA:
        what, number, mark = struct.unpack_from("<BxB3xH", data, 6)
        if mark == 0xFFFF and what == _IS_ERROR:
            facts.note_error(row, column, number)
        (size,) = struct.unpack_from("<H", data, 20)
        facts.note_formula(row, column, data[22 : 22 + size], "H")
