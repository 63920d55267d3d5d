"""Minimal writer of .xls workbooks with one sheet, in BIFF8 records ([MS-XLS], [MS-CFB]).

LibreOffice does not write number formats of conditional formats, nor rich texts in their cells.
Covers what tests need: numbers, texts, rich texts, number formats, conditional formats.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

STRUCK, PLAIN = 5, 6
"""Numbers of two fonts: one that strikes texts through, and another one."""

_SECTOR = 512
_MIN_SIZE = 4096
"""Size from which a stream has sectors of its own."""
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
_MAX_RECORD = 8224


@dataclass(frozen=True, slots=True)
class Rich:
    """Rich text: each run is its first character and its font. ``inline``: it is in the cell."""

    text: str
    runs: tuple[tuple[int, int], ...]
    inline: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """Number with a number format."""

    value: float
    form: str


@dataclass(frozen=True, slots=True)
class Conditional:
    """Number format of a conditional format, by code or by number, and its range: the first and the
    last row, then the columns, zero-based. ``later``: as Excel 2007 and later write it."""

    form: str | int
    area: tuple[int, int, int, int]
    later: bool = False


Cell = str | float | Rich | Shown | None


def write_xls(
    path: Path,
    rows: Sequence[Sequence[Cell]],
    conditional: Iterable[Conditional] = (),
    record_size: int = _MAX_RECORD,
    totals: int | None = None,
) -> Path:
    """Write a workbook; shared texts are continued in a new record after ``record_size`` bytes.

    ``totals``: a table has all rows, and its last ones, in this number, are totals rows.
    """
    cells = [(r, c, cell) for r, row in enumerate(rows) for c, cell in enumerate(row)]
    forms = ["General", *dict.fromkeys(cell.form for *_, cell in cells if isinstance(cell, Shown))]
    texts = [Rich(cell, ()) if isinstance(cell, str) else cell for *_, cell in cells]
    shared = list(dict.fromkeys(one for one in texts if isinstance(one, Rich) and not one.inline))
    before = b"".join(
        (
            _record(0x809, struct.pack("<HHHHII", 0x600, 5, 0x1CAF, 2005, 0, 6)),
            # The name of the user, which Excel writes.
            _record(0x5C, b" " * 112),
            *(_record(0x31, _font(struck=number == STRUCK)) for number in (0, 1, 2, 3, STRUCK, 6)),
            *(
                _record(0x41E, struct.pack("<H", 170 + number) + _text(form))
                for number, form in enumerate(forms)
            ),
            *(
                _record(0xE0, struct.pack("<HH", 0, 170 + number) + bytes(16))
                for number in range(len(forms))
            ),
        )
    )
    after = b"".join(_shared_texts(shared, record_size)) + _record(0x0A)
    name = b"\x05\0Plan1"
    start = len(before) + 4 + 6 + len(name) + len(after)
    feature = b"" if totals is None else _table(len(rows), len(rows[0]), totals)
    sheet = b"".join(_sheet(cells, shared, forms, conditional)) + feature + _record(0x0A)
    bound = _record(0x85, struct.pack("<IH", start, 0) + name)
    path.write_bytes(_compound_file(before + bound + after + sheet))
    return path


def _record(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def _text(text: str) -> bytes:
    return struct.pack("<HB", len(text), 1) + text.encode("utf-16-le")


def _font(*, struck: bool) -> bytes:
    flags = 0x8 * struck
    return struct.pack("<HHHHHBBBB", 200, flags, 8, 400, 0, 0, 0, 0, 0) + b"\x05\0Arial"


def _shared_texts(texts: Sequence[Rich], size: int) -> Iterator[bytes]:
    """Yield the record of the shared texts and its continuations, each at most ``size`` long."""
    pieces = [bytearray(struct.pack("<II", len(texts), len(texts)))]
    for text in texts:
        head = struct.pack("<HB", len(text.text), 1 | 0x8 * bool(text.runs))
        head += struct.pack("<H", len(text.runs)) if text.runs else b""
        # The start of a text stays with its first character.
        if len(pieces[-1]) + len(head) + 2 > size:
            pieces.append(bytearray())
        pieces[-1] += head
        for letter in text.text:
            if len(pieces[-1]) + 2 > size:
                pieces.append(bytearray(b"\1"))
            pieces[-1] += letter.encode("utf-16-le")
        for run in text.runs:
            if len(pieces[-1]) + 4 > size:
                pieces.append(bytearray())
            pieces[-1] += struct.pack("<HH", *run)
    for number, piece in enumerate(pieces):
        yield _record(0x3C if number else 0xFC, bytes(piece))


def _sheet(
    cells: Sequence[tuple[int, int, Cell]],
    shared: Sequence[Rich],
    forms: Sequence[str],
    conditional: Iterable[Conditional],
) -> Iterator[bytes]:
    yield _record(0x809, struct.pack("<HHHHII", 0x600, 0x10, 0x1CAF, 2005, 0, 6))
    for row, column, cell in cells:
        place = struct.pack("<HHH", row, column, 0)
        match cell:
            case None:
                pass
            case Shown(value, form):
                place = struct.pack("<HHH", row, column, forms.index(form))
                yield _record(0x203, place + struct.pack("<d", value))
            case str():
                yield _record(0xFD, place + struct.pack("<I", shared.index(Rich(cell, ()))))
            case Rich(text, runs, True):
                pairs = b"".join(struct.pack("<HH", *run) for run in runs)
                yield _record(0xD6, place + _text(text) + struct.pack("<H", len(runs)) + pairs)
            case Rich():
                yield _record(0xFD, place + struct.pack("<I", shared.index(cell)))
            case _:
                yield _record(0x203, place + struct.pack("<d", cell))
    for one in conditional:
        area = struct.pack("<HHHH", *one.area)
        ranges = struct.pack("<HH", 1, 0) + area + struct.pack("<H", 1) + area
        style = struct.pack("<IH", 1 << 25, isinstance(one.form, str))
        if isinstance(one.form, str):
            form = _text(one.form)
            style += struct.pack("<H", 2 + len(form)) + form
        else:
            style += bytes([0, one.form])
        rule = struct.pack("<BBHH", 1, 5, 3, 0)
        condition = b"\x1e\0\0"
        if one.later:
            header = struct.pack("<HH", 0x879, 0) + area
            yield _record(0x879, header + ranges)
            size = struct.pack("<I", len(style))
            yield _record(0x87A, bytes(12) + rule + size + style + condition)
        else:
            yield _record(0x1B0, ranges)
            yield _record(0x1B1, rule + style + condition)


def _table(rows: int, columns: int, totals: int) -> bytes:
    area = struct.pack("<HHHH", 0, rows - 1, 0, columns - 1)
    header = struct.pack("<HH", 0x872, 1) + area + struct.pack("<HBIHIH", 5, 0, 0, 1, 0, 0)
    return _record(0x872, header + area + struct.pack("<IIII", 0, 1, 1, totals) + bytes(48))


def _compound_file(stream: bytes) -> bytes:
    """Return a compound file with one stream, named ``Workbook``."""
    # The rest is read as empty records.
    stream = (stream + _record(0, bytes(-len(stream) % 4))).ljust(_MIN_SIZE, b"\0")
    count = -(-len(stream) // _SECTOR)
    # The table of sectors comes first, then the directory, then the stream.
    tables = -(-(count + 2) // (_SECTOR // 4 - 1))
    first = tables + 1
    chain = [_FAT] * tables + [_END]
    chain += [*range(first + 1, first + count), _END]
    chain += [_FREE] * (tables * _SECTOR // 4 - len(chain))
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16)
    header += struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIIII", 0, tables, tables, 0, _MIN_SIZE, _END, 0, _END, 0, 0)
    header = header[:76] + struct.pack(f"<{tables}I", *range(tables))
    header += struct.pack("<I", _FREE) * ((_SECTOR - len(header)) // 4)
    root = _entry("Root Entry", 5, child=1, start=_END, size=0)
    book = _entry("Workbook", 2, child=_FREE, start=first, size=len(stream))
    directory = root + book + 2 * _entry("", 0, child=_FREE, start=0, size=0)
    table = struct.pack(f"<{len(chain)}I", *chain)
    return header + table + directory + stream.ljust(count * _SECTOR, b"\0")


def _entry(name: str, kind: int, *, child: int, start: int, size: int) -> bytes:
    title = (name + "\0").encode("utf-16-le") if name else b""
    return (
        title.ljust(64, b"\0")
        + struct.pack("<HBB", len(title), kind, 1)
        + struct.pack("<III", _FREE, _FREE, child)
        + bytes(36)
        + struct.pack("<IQ", start, size)
    )
