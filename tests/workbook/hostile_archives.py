"""Archives that are not workbooks, damaged, or malicious."""

import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable, Mapping

from packing import RELATIONS, SHEET, STYLES, TYPES, WORKBOOK, Parts, packed

OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_CENTRAL = b"PK\x01\x02"
_END = b"PK\x05\x06"

Maker = Callable[[Parts], bytes]


def _truncated(share: float) -> Maker:
    return lambda parts: packed(parts)[: int(len(packed(parts)) * share)]


def _with(name: str, content: bytes = b"<a/>") -> Maker:
    return lambda parts: packed({**parts, name: content})


def _without(name: str) -> Maker:
    return lambda parts: packed({k: v for k, v in parts.items() if k != name})


def _replaced(part: str, old: bytes, new: bytes) -> Maker:
    def make(parts: Parts) -> bytes:
        assert old in parts[part]
        return packed({**parts, part: parts[part].replace(old, new)})

    return make


def _twice(name: str) -> Maker:
    def make(parts: Parts) -> bytes:
        stream = io.BytesIO(packed(parts))
        with warnings.catch_warnings(), zipfile.ZipFile(stream, "a") as package:
            warnings.simplefilter("ignore")
            package.writestr(name, b"<a/>")
        return stream.getvalue()

    return make


def _directory_changed(offset: int, form: str, value: int, entry: str = SHEET) -> Maker:
    """Change a field of an entry of the directory at the archive's end."""

    def make(parts: Parts) -> bytes:
        content = bytearray(packed(parts))
        start = content.rfind(entry.encode()) - 46
        assert content[start : start + 4] == _CENTRAL
        struct.pack_into(form, content, start + offset, value)
        return bytes(content)

    return make


def _end_changed(offset: int, value: int) -> Maker:
    def make(parts: Parts) -> bytes:
        content = bytearray(packed(parts))
        struct.pack_into("<H", content, content.rfind(_END) + offset, value)
        return bytes(content)

    return make


def _bomb(name: str, filling: bytes = b" ", megabytes: int = 150) -> Maker:
    """Part that unpacks to a thousand times its size."""

    def make(parts: Parts) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as package:
            for other, content in parts.items():
                if other != name:
                    package.writestr(other, content)
            with package.open(name, "w") as part:
                for _ in range(megabytes):
                    part.write(filling * (2**20 // len(filling)))
        return stream.getvalue()

    return make


def _many_parts(parts: Parts) -> bytes:
    return packed(parts | {f"xl/media/{number}.bin": b"" for number in range(1_001)})


def _many_bombs(parts: Parts) -> bytes:
    return packed(parts | {f"xl/media/{number}.bin": bytes(2**20) for number in range(150)})


def _link(parts: Parts) -> bytes:
    stream = io.BytesIO(packed(parts))
    entry = zipfile.ZipInfo("xl/link.xml")
    entry.create_system = 3
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(stream, "a") as package:
        package.writestr(entry, "/etc/passwd")
    return stream.getvalue()


def _overlapping(parts: Parts) -> bytes:
    """Two entries of the directory share the packed bytes of one part."""
    content = packed(parts | {"xl/worksheets/sheet0.xml": parts[SHEET]})
    with zipfile.ZipFile(io.BytesIO(content)) as package:
        offset = package.getinfo(SHEET).header_offset
    changed = bytearray(content)
    start = changed.rfind(b"xl/worksheets/sheet0.xml") - 46
    struct.pack_into("<L", changed, start + 42, offset)
    return bytes(changed)


def _method(method: int) -> Maker:
    return lambda parts: packed(parts, method)


class _Unseekable(io.RawIOBase):
    """Stream that cannot seek, so that sizes are written after the parts."""

    def __init__(self) -> None:
        self.written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.written += bytes(data)  # type: ignore[call-overload]
        return len(bytes(data))  # type: ignore[call-overload]


def _streamed(parts: Parts) -> bytes:
    stream = _Unseekable()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return bytes(stream.written)


def _zip64(parts: Parts) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in parts.items():
            with package.open(name, "w", force_zip64=True) as part:
                part.write(content)
    return stream.getvalue()


def _comment(parts: Parts) -> bytes:
    stream = io.BytesIO(packed(parts))
    with zipfile.ZipFile(stream, "a") as package:
        package.comment = b"x" * 60_000
    return stream.getvalue()


def _nested(parts: Parts) -> bytes:
    inner = _bomb("xl/media/a.bin", b"\0", 20)({})
    return packed(parts | {"xl/embeddings/inner.xlsx": inner})


_XLSX_TYPE = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"

ARCHIVES: Mapping[str, tuple[str, Maker]] = {
    "empty": ("not-xlsx", lambda _: b""),
    "end of an archive only": ("not-xlsx", lambda _: _END + bytes(18)),
    "csv": ("not-xlsx", lambda _: b"nome;cnpj\nPadaria;1\n"),
    "pdf": ("not-xlsx", lambda _: b"%PDF-1.7\n"),
    "html": ("html", lambda _: b"\xef\xbb\xbf <html><table></table></html>"),
    "xls": ("legacy-xls", lambda _: OLE + bytes(4096)),
    "encrypted": ("encrypted", lambda _: OLE + bytes(99) + "EncryptedPackage".encode("utf-16-le")),
    "zip's first bytes only": ("truncated", lambda _: b"PK\x03\x04"),
    "truncated at 5 %": ("truncated", _truncated(0.05)),
    "truncated at 30 %": ("truncated", _truncated(0.3)),
    "truncated at 60 %": ("truncated", _truncated(0.6)),
    "truncated at 90 %": ("truncated", _truncated(0.9)),
    "truncated by one byte": ("truncated", lambda parts: packed(parts)[:-1]),
    "junk before": ("not-xlsx", lambda parts: b"MZ" + packed(parts)),
    "junk after": ("good", lambda parts: packed(parts) + b"\0" * 100),
    "long comment": ("good", _comment),
    "stored": ("good", _method(zipfile.ZIP_STORED)),
    "streamed with data descriptors": ("good", _streamed),
    "zip64": ("good", _zip64),
    "archive in the archive": ("good", _nested),
    "bzip2": ("hostile", _method(zipfile.ZIP_BZIP2)),
    "lzma": ("hostile", _method(zipfile.ZIP_LZMA)),
    "second disk": ("unreadable", _end_changed(4, 1)),
    "fewer entries than there are": ("unreadable", _end_changed(10, 1)),
    "name twice": ("hostile", _twice(WORKBOOK)),
    "name twice in other case": ("hostile", _with("XL/Workbook.XML")),
    "climbing name": ("hostile", _with("xl/../../evil.xml")),
    "absolute name": ("hostile", _with("/etc/evil.xml")),
    "name of another system": ("hostile", _with("C:\\evil.xml")),
    "link": ("hostile", _link),
    "overlapping parts": ("hostile", _overlapping),
    "too many parts": ("hostile", _many_parts),
    "part with a password": ("encrypted", _directory_changed(8, "<H", 1)),
    "false checksum": ("truncated", _directory_changed(16, "<L", 1)),
    "smaller than it says": ("hostile", _directory_changed(24, "<L", 100_000)),
    "larger than it says": ("truncated", _directory_changed(24, "<L", 10)),
    "says to have 3 GB": ("too-large", _directory_changed(24, "<L", 3 * 2**30)),
    "says to be packed into 3 GB": ("hostile", _directory_changed(20, "<L", 3 * 2**30)),
    "another name inside": ("hostile", _directory_changed(42, "<L", 0)),
    "begins beyond the end": ("truncated", _directory_changed(42, "<L", 2**31)),
    "bomb in the sheet": ("hostile", _bomb(SHEET)),
    "bomb in the styles": ("hostile", _bomb(STYLES, b"<xf/>")),
    "bomb in a picture": ("hostile", _bomb("xl/media/image1.png", b"\0")),
    "bomb of many parts": ("hostile", _many_bombs),
    "no content types": ("not-xlsx", _without(TYPES)),
    "no workbook": ("unreadable", _without(WORKBOOK)),
    "no relations": ("unreadable", _without(RELATIONS)),
    "no sheet": ("unreadable", _without(SHEET)),
    "no styles": ("good", _without(STYLES)),
    "document of another program": ("not-xlsx", lambda _: packed({"word/document.xml": b"<w/>"})),
    "macros": (
        "good",
        _replaced(TYPES, _XLSX_TYPE, b"application/vnd.ms-excel.sheet.macroEnabled.main+xml"),
    ),
    "other content type": ("not-xlsx", _replaced(TYPES, _XLSX_TYPE, b"text/xml")),
    "workbook cut short": ("truncated", lambda parts: packed({**parts, WORKBOOK: b"<workbook"})),
    "relation to itself": (
        "findings",
        _replaced(RELATIONS, b"worksheets/sheet1.xml", b"_rels/workbook.xml.rels"),
    ),
    "relation to the workbook": (
        "findings",
        _replaced(RELATIONS, b"worksheets/sheet1.xml", b"workbook.xml"),
    ),
    "relation to the network": (
        "unreadable",
        _replaced(RELATIONS, b"worksheets/sheet1.xml", b"http://127.0.0.1/sheet1.xml"),
    ),
    "relation that climbs": (
        "unreadable",
        _replaced(RELATIONS, b"worksheets/sheet1.xml", b"../../../../etc/passwd"),
    ),
    "no sheets": ("usage", _replaced(WORKBOOK, b"<sheet ", b"<none ")),
    "only a hidden sheet": ("usage", _replaced(WORKBOOK, b"<sheet ", b'<sheet state="hidden" ')),
}
"""Expected outcome and maker of each archive; it is made from the parts of a good workbook."""
