"""Streams of an OLE file, in which Excel 97 to 2003 keep a workbook ([MS-CFB]).

Runs only where memory and time are limited.
"""

import struct
from collections.abc import Iterator

from xlbridge.workbook.read.refusals import damaged

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
        self._fat = self._read_fat()
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

    def _read_fat(self) -> tuple[int, ...]:
        numbers = list(struct.unpack_from(f"<{_DIFAT_IN_HEADER}I", self._content, _DIFAT_START))
        (following,) = struct.unpack_from("<I", self._content, 68)
        most = len(self._content) // self._size + 1
        while following < _LAST_SECTOR and len(numbers) <= most:
            *more, following = _numbers(self._sector(following))
            numbers += more
        used = [number for number in numbers if number < _LAST_SECTOR]
        if len(used) > most:
            raise damaged()
        return _numbers(b"".join(map(self._sector, used)))

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
