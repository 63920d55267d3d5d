"""Hostile files of the other kinds: .csv, .xls, .xlsb and .ods.

``kinds/client.xls`` and ``kinds/client.ods`` are a small good workbook saved by LibreOffice 7.4.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import xlsxwriter
from packing import GOOD_ROW, HEADER, packed, unpacked
from xlsb_writer import record, write_xlsb

_KINDS = Path(__file__).with_name("kinds")
_SECTOR = 512
_FILEPASS, _DIMENSIONS, _ROW, _NUMBER, _BOUNDSHEET = 0x2F, 0x200, 0x208, 0x203, 0x85
_CSV = f"{';'.join(HEADER)}\r\n{';'.join(GOOD_ROW)}\r\n".encode()

Maker = Callable[[Path], bytes]


def _xls(_folder: Path) -> bytes:
    return (_KINDS / "client.xls").read_bytes()


def _patched(offset: int, form: str, *values: int) -> Maker:
    def make(folder: Path) -> bytes:
        content = bytearray(_xls(folder))
        struct.pack_into(form, content, offset, *values)
        return bytes(content)

    return make


def _record_at(content: bytes, kind: int) -> int:
    """Return the offset of the first record of a kind, in a file with a contiguous stream."""
    at = content.index(struct.pack("<HHH", 0x809, 16, 0x600))
    while struct.unpack_from("<H", content, at)[0] != kind:
        at += 4 + struct.unpack_from("<H", content, at + 2)[0]
    return at


def _changed_record(kind: int, offset: int, form: str, *values: int) -> Maker:
    def make(folder: Path) -> bytes:
        content = bytearray(_xls(folder))
        struct.pack_into(form, content, _record_at(content, kind) + offset, *values)
        return bytes(content)

    return make


def _cyclic_sectors(folder: Path) -> bytes:
    content = bytearray(_xls(folder))
    (fat,) = struct.unpack_from("<I", content, 76)
    start = (fat + 1) * _SECTOR
    for index in range(_SECTOR // 4):
        struct.pack_into("<I", content, start + 4 * index, index)
    return bytes(content)


def _cut(maker: Maker, share: float) -> Maker:
    return lambda folder: (content := maker(folder))[: int(len(content) * share)]


def _ods_parts() -> dict[str, bytes]:
    return unpacked(_KINDS / "client.ods")


def _ods(_folder: Path) -> bytes:
    return packed(_ods_parts())


def _ods_with(old: bytes, new: bytes, part: str = "content.xml") -> Maker:
    def make(_folder: Path) -> bytes:
        parts = _ods_parts()
        assert old in parts[part]
        return packed(parts | {part: parts[part].replace(old, new, 1)})

    return make


def _ods_without(part: str) -> Maker:
    return lambda _: packed({name: c for name, c in _ods_parts().items() if name != part})


def _xlsb_parts(folder: Path) -> dict[str, bytes]:
    source, target = folder / "client.xlsx", folder / "client.xlsb"
    if not target.exists():
        with xlsxwriter.Workbook(source) as book:
            page = book.add_worksheet("Plan1")
            page.write_row(0, 0, HEADER)
            page.write_row(1, 0, GOOD_ROW)
        write_xlsb(source, target)
    return unpacked(target)


def _xlsb(folder: Path) -> bytes:
    return packed(_xlsb_parts(folder))


_XLSB_SHEET = "xl/worksheets/sheet1.bin"


def _xlsb_sheet(change: Callable[[bytes], bytes]) -> Maker:
    def make(folder: Path) -> bytes:
        parts = _xlsb_parts(folder)
        return packed(parts | {_XLSB_SHEET: change(parts[_XLSB_SHEET])})

    return make


def _far_cell(sheet: bytes) -> bytes:
    row = record(0, struct.pack("<II", 1_048_575, 0) + bytes(9))
    cell = record(5, struct.pack("<IId", 16_383, 0, 1.0))
    end = record(146)
    return sheet.replace(end, row + cell + end, 1)


def _bomb(make_parts: Callable[[Path], dict[str, bytes]], part: str) -> Maker:
    return lambda folder: packed(make_parts(folder) | {part: b"\0" * 2**27})


_ROW_BEGINS = b"<table:table-row "
_TEXT = b' office:value-type="string"'
_CELL_BEGINS = b"<table:table-cell" + _TEXT


def _ods_of_full_rows(_folder: Path) -> bytes:
    parts = _ods_parts()
    content = parts["content.xml"]
    content = content.replace(
        _CELL_BEGINS, b'<table:table-cell table:number-columns-repeated="1000"' + _TEXT
    )
    content = content.replace(
        _ROW_BEGINS, _ROW_BEGINS + b'table:number-rows-repeated="1000000" ', 1
    )
    return packed(parts | {"content.xml": content})


FILES: Mapping[str, tuple[str, str, Maker]] = {
    "good csv": (".csv", "good", lambda _: _CSV),
    "csv of nothing": (".csv", "not-xlsx", lambda _: b""),
    "csv of blanks": (".csv", "findings", lambda _: b"\r\n \r\n"),
    "csv with NUL": (".csv", "unreadable", lambda _: _CSV + b"a;\0;b\r\n"),
    "csv of zeros": (".csv", "unreadable", lambda _: bytes(100_000)),
    "csv of one giant line": (".csv", "too-large", lambda _: _CSV + b"x" * 2_000_000),
    "csv of one giant quoted text": (".csv", "too-large", lambda _: _CSV + b'"' + b"x\n" * 10**6),
    "csv of delimiters": (".csv", "hostile", lambda _: _CSV + b";" * 20_000_001 + b"x"),
    "csv of ragged rows": (".csv", "hostile", lambda _: _CSV * 50_000 + b";" * 16_000 + b"x"),
    "csv with an open quote": (".csv", "unreadable", lambda _: _CSV + b'"x;J;1\r\n'),
    "csv of quotes": (".csv", "unreadable", lambda _: _CSV + b'"' * 10_001),
    "csv of strange letters": (".csv", "csv-unclear", lambda _: _CSV + b"S\xc6o;J;1\r\n"),
    "csv of strange bytes": (".csv", "csv-unclear", lambda _: _CSV + b"\x81\x8d;J;1\r\n"),
    "csv of surrogates": (".csv", "unreadable", lambda _: b"\xff\xfea\0;\0\x00\xd8\x00\xd8"),
    "csv that is a page": (".csv", "html", lambda _: b"<html><table></table></html>"),
    "csv that is a document": (".csv", "not-xlsx", lambda _: b"%PDF-1.7\n"),
    "good xls": (".xls", "good", _xls),
    "xls named xlsx": (".xlsx", "good", _xls),
    "xls cut at 10 %": (".xls", "legacy-xls", _cut(_xls, 0.1)),
    "xls cut at 60 %": (".xls", "legacy-xls", _cut(_xls, 0.6)),
    "xls without its last sectors": (".xls", "unreadable", _cut(_xls, 0.95)),
    "xls with strange sectors": (".xls", "truncated", _patched(30, "<H", 31)),
    "xls with no directory": (".xls", "truncated", _patched(48, "<I", 0x7FFFFFFF)),
    "xls with a false list of sectors": (".xls", "truncated", _patched(76, "<I", 9_999)),
    "xls whose sectors go round": (".xls", "truncated", _cyclic_sectors),
    "xls with a password": (".xls", "encrypted", _changed_record(0x42, 0, "<H", _FILEPASS)),
    "xls of Excel 95": (".xls", "legacy-xls", _changed_record(0x809, 4, "<H", 0x500)),
    "xls with a record too long": (".xls", "truncated", _changed_record(_BOUNDSHEET, 2, "<H", 2)),
    "xls with a sheet elsewhere": (
        ".xls",
        "unreadable",
        _changed_record(_BOUNDSHEET, 4, "<I", 0x7FFFFFFF),
    ),
    "good ods": (".ods", "good", _ods),
    "ods cut short": (".ods", "truncated", _cut(_ods, 0.6)),
    "ods without content": (".ods", "unreadable", _ods_without("content.xml")),
    "ods with broken content": (
        ".ods",
        "unreadable",
        _ods_with(b"</office:document-content>", b"</office:other>"),
    ),
    "ods with a document type": (
        ".ods",
        "hostile",
        _ods_with(b"<office:document-content", b"<!DOCTYPE a><office:document-content"),
    ),
    "ods with a password": (
        ".ods",
        "encrypted",
        _ods_with(
            b"</manifest:manifest>",
            b"<manifest:encryption-data/></manifest:manifest>",
            "META-INF/manifest.xml",
        ),
    ),
    "ods of a billion rows": (
        ".ods",
        "hostile",
        _ods_with(_ROW_BEGINS, _ROW_BEGINS + b'table:number-rows-repeated="1000000000" '),
    ),
    "ods of 16,000 full columns": (
        ".ods",
        "findings",
        _ods_with(_CELL_BEGINS, b'<table:table-cell table:number-columns-repeated="16000"' + _TEXT),
    ),
    "ods of a billion full cells": (".ods", "hostile", _ods_of_full_rows),
    "ods bomb": (".ods", "hostile", _bomb(lambda _: _ods_parts(), "content.xml")),
    "good xlsb": (".xlsb", "good", _xlsb),
    "xlsb named xlsx": (".xlsx", "good", _xlsb),
    "xlsb cut short": (".xlsb", "truncated", _cut(_xlsb, 0.6)),
    "xlsb with an endless number": (".xlsb", "good", _xlsb_sheet(lambda s: s + b"\xff" * 9)),
    "xlsb with a far cell": (".xlsb", "hostile", _xlsb_sheet(_far_cell)),
    "xlsb with a cut sheet": (".xlsb", "unreadable", _xlsb_sheet(lambda sheet: sheet[:60])),
    "xlsb bomb": (".xlsb", "hostile", _bomb(_xlsb_parts, _XLSB_SHEET)),
}
"""Extension, expected outcome and maker of each file."""


LONG = frozenset({"csv of delimiters", "ods of 16,000 full columns"})
"""Slow cases."""


def write_kinds(folder: Path, names: Iterable[str]) -> Mapping[str, Path]:
    """Write the files; return them by name."""
    written = {}
    for number, name in enumerate(names):
        extension, _, make = FILES[name]
        content = make(folder)
        written[name] = folder / f"{number}{extension}"
        written[name].write_bytes(content)
    return written
