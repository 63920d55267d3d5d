"""Kind of a file, detected by its content, and safety checks of a zip archive.

Every part is unpacked here piece by piece under limits, so that a zip bomb, a false size or a
document type definition is refused with its own message. Parsing happens elsewhere, with limited
memory and time.
"""

import codecs
import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from enum import Enum
from functools import partial
from pathlib import Path
from typing import cast

try:
    from isal import isal_zlib as inflating
except ImportError:  # Not available on every platform; the standard library is slower.
    import zlib as inflating  # type: ignore[no-redef]

from xlbridge.errors import NO_FILE, UsageError, os_error_reason
from xlbridge.i18n import Text
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.encryption import OLE_START, decrypted, is_encrypted_package
from xlbridge.workbook.read import refusals

_CHUNK = 1 << 20
XML_ENDINGS = (".xml", ".rels", ".vml")
"""Ends of the names of parts that are XML."""

_PICTURES = "xl/media/"
_ENCRYPTED_FLAG = 0x1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_LOCAL_HEADER, _LENGTHS = 30, 26
"""Size of the header before a part, and the position there of the lengths of what follows it."""
_DIRECTORY_ENTRY = b"PK\x01\x02"

_DOCTYPE = re.compile(rb"<![dD][oO][cC][tT][yY][pP][eE]")
_UTF16_DOCTYPES = tuple("<!DOCTYPE".encode(encoding) for encoding in ("utf-16-le", "utf-16-be"))
_UTF32_STARTS = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff", b"<\x00\x00\x00", b"\x00\x00\x00<")
_DECLARED_ENCODING = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([^"']*)""")
_DECLARATION = re.compile(r"^\ufeff?\s*(?:<\?xml[^>]*\?>)?")
_UTF16_STARTS = {
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
    b"<\x00": "utf-16-le",
    b"\x00<": "utf-16-be",
}
_UTF8_NAMES = frozenset({"utf-8", "ascii"})
_PLAIN_ENCODING = re.compile(
    rb"utf-?8|utf-?16(?:le|be)?|us-ascii|ascii|latin-?1|(?:iso-8859|windows-125)[-\w]*",
    re.IGNORECASE,
)
_MAX_MARK_LENGTH = 32

_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    cast("type[Exception]", inflating.error),  # declared as an instance
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
)
"""Exceptions of reading damaged archives."""


class WorkbookArchive:
    """Zip archive with a checked directory, whose parts are checked while they are unpacked.

    Their names are in lower case here, with slashes between folders, and XML is in UTF-8:
    ``is_plain`` as long as no part was stored otherwise. ``declared_size`` is the total size of the
    parts in bytes, as the directory declares it.
    """

    def __init__(self, content: bytes, limits: WorkbookLimits) -> None:
        """Check the directory of an archive. Raises ``WorkbookRefused``."""
        self.content = content
        self._limits = limits
        if self.content.count(_DIRECTORY_ENTRY) > limits.entries:
            raise refusals.hostile(Text(pt="partes demais", en="too many parts"))
        try:
            self._package = zipfile.ZipFile(io.BytesIO(self.content))
        except _ZIP_ERRORS as error:
            raise refusals.damaged() from error
        entries = self._package.infolist()
        # Some programs on Windows write backslashes.
        names = [entry.filename.replace("\\", "/").lower() for entry in entries]
        self._entries = dict(zip(names, entries, strict=True))
        self.is_plain = not any("\\" in entry.filename for entry in entries)
        if len(self._entries) < len(entries):
            raise refusals.hostile(Text(pt="partes com o mesmo nome", en="parts of the same name"))
        end = 0
        # A colon there follows a drive of Windows.
        if any(name[:1] == "/" or name[1:2] == ":" or ".." in name.split("/") for name in names):
            raise refusals.hostile(Text(pt="nome de parte inválido", en="an invalid part name"))
        for entry in sorted(entries, key=lambda entry: entry.header_offset):
            if entry.flag_bits & _ENCRYPTED_FLAG:
                raise refusals.encrypted()
            if entry.compress_type not in _METHODS:
                raise refusals.hostile(_UNCOMMON_COMPRESSION)
            if stat.S_ISLNK(entry.external_attr >> 16):
                link = Text(pt="atalho em vez de parte", en="a link instead of a part")
                raise refusals.hostile(link)
            if entry.header_offset < end:
                raise refusals.hostile(Text(pt="partes sobrepostas", en="overlapping parts"))
            end = entry.header_offset + _LOCAL_HEADER + entry.compress_size
        self._unpacked: dict[str, int] = {}
        self.declared_size = sum(entry.file_size for entry in entries)
        if self.declared_size > limits.total_size:
            raise refusals.too_large(_CONTENT, limits.total_size)

    def stored_name(self, name: str) -> str | None:
        """Return the name of a part as it is in the archive, None if there is no such part."""
        return self._entries[name].filename if name in self._entries else None

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def size(self, name: str) -> int:
        """Return the declared size of a part in bytes, 0 if there is none."""
        return self._entries[name].file_size if name in self._entries else 0

    def read(self, name: str) -> bytes:
        """Return a part, empty if there is none. Raises what ``pieces`` raises."""
        return b"".join(self.pieces(name)) if name in self._entries else b""

    def pieces(self, name: str, size: int = _CHUNK) -> Iterator[bytes]:
        """Yield a part in checked pieces of ``size`` bytes, which differs in other encodings.

        Raises ``WorkbookRefused`` if a limit is exceeded or the part is damaged or suspicious.
        """
        entry, unpacked, tail, limits = self._entries[name], 0, b"", self._limits
        decoder: codecs.IncrementalDecoder | None = None
        others = sum(size for other, size in self._unpacked.items() if other != name)
        try:
            for piece in self._inflate(entry, size):
                if not unpacked and name.endswith(XML_ENDINGS):
                    decoder = _decoder_of(piece)
                    self.is_plain &= decoder is None
                unpacked += len(piece)
                total = unpacked + others
                if unpacked > limits.part_size:
                    raise refusals.too_large(Text(pt="uma parte", en="a part"), limits.part_size)
                if total > limits.total_size:
                    raise refusals.too_large(_CONTENT, limits.total_size)
                if total > limits.ratio_from and total > limits.ratio * len(self.content):
                    raise refusals.hostile(_UNCOMMON_COMPRESSION)
                if decoder is not None:
                    text = decoder.decode(piece)
                    piece = (text if tail else _DECLARATION.sub("", text, count=1)).encode()
                # Only pictures may be SVG documents with a document type.
                if not name.startswith(_PICTURES):
                    _refuse_document_type(tail + piece[:_MAX_MARK_LENGTH])
                    _refuse_document_type(piece)
                yield piece
                tail = piece[-_MAX_MARK_LENGTH:]
            if decoder is not None:
                decoder.decode(b"", final=True)
        except _ZIP_ERRORS as error:
            raise refusals.damaged() from error
        if unpacked > entry.file_size:
            raise refusals.damaged()
        if unpacked < entry.file_size:
            raise refusals.hostile(Text(pt="tamanho de parte falso", en="a false part size"))
        self._unpacked[name] = unpacked

    def _inflate(self, entry: zipfile.ZipInfo, size: int) -> Iterator[bytes]:
        """Yield a part in pieces, in half the time that ``zipfile`` takes."""
        # Opening a part checks its header.
        with self._package.open(entry) as part:
            if entry.compress_type == zipfile.ZIP_STORED:
                yield from iter(partial(part.read, size), b"")
                return
        lengths = struct.unpack_from("<HH", self.content, entry.header_offset + _LENGTHS)
        begin = entry.header_offset + _LOCAL_HEADER + sum(lengths)
        packed = memoryview(self.content)[begin : begin + entry.compress_size]
        decompressor, checksum = inflating.decompressobj(-zlib.MAX_WBITS), 0
        while not decompressor.eof:
            rest = decompressor.unconsumed_tail
            more, packed = packed[: size - len(rest)], packed[size - len(rest) :]
            piece = decompressor.decompress(rest + more, size)
            if not piece and not more:
                raise EOFError
            checksum = inflating.crc32(piece, checksum)
            if piece:
                yield piece
        if checksum != entry.CRC:
            raise zipfile.BadZipFile

    def parts(self) -> dict[str, bytes]:
        """Return all parts by their plain names. Raises what ``pieces`` raises."""
        return {
            entry.filename.replace("\\", "/"): self.read(name)
            for name, entry in self._entries.items()
        }

    def unpack(self) -> None:
        """Check every part that was not unpacked yet. Raises what ``pieces`` raises."""
        for name in self._entries:
            if name not in self._unpacked:
                for _ in self.pieces(name):
                    pass


def blocks_before(pieces: Iterable[bytes], mark: bytes) -> Iterator[bytes]:
    """Yield a part in blocks that end before ``mark``, so that no element is split."""
    pending: list[bytes] = []
    for piece in pieces:
        cut = piece.rfind(mark)
        if cut < 0:
            pending.append(piece)
            continue
        yield b"".join((*pending, piece[:cut]))
        pending = [piece[cut:]]
    yield b"".join(pending)


_CONTENT = Text(pt="o conteúdo", en="the content")
_UNCOMMON_COMPRESSION = Text(pt="compressão fora do comum", en="uncommon compression")


_ADDRESS = re.compile(r"(https?|ftp|file|s3):[/\\]", re.IGNORECASE)
_HOW_TO_DOWNLOAD = Text(
    pt="Baixe o arquivo e indique o caminho dele neste computador.",
    en="Download the file, and name its path on this computer.",
)


def file_content(path: Path, limits: WorkbookLimits) -> bytes:
    """Return the content of a file. Raises ``UsageError`` or ``WorkbookRefused``."""
    if not path.exists():
        is_address = _ADDRESS.match(str(path))
        raise UsageError(NO_FILE.format(path=path), _HOW_TO_DOWNLOAD if is_address else None)
    if not path.is_file():
        raise UsageError(Text(pt="{p} não é um arquivo.", en="{p} is not a file.").format(p=path))
    if path.stat().st_size > limits.file_size:
        raise refusals.too_large(Text(pt="o arquivo", en="the file"), limits.file_size)
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            Text(
                pt="O arquivo {p} não pôde ser lido: {e}", en="The file {p} cannot be read: {e}"
            ).format(p=path, e=os_error_reason(error))
        ) from error


def in_utf8(content: bytes) -> bytes:
    """Return an XML part in UTF-8.

    Raises ``WorkbookRefused`` for an uncommon encoding, ``ValueError`` if it is another one.
    """
    if (decoder := _decoder_of(content)) is None:
        return content
    return _DECLARATION.sub("", decoder.decode(content, final=True), count=1).encode()


def _decoder_of(start: bytes) -> codecs.IncrementalDecoder | None:
    """Return the decoder of an XML part by its first bytes, None if it is in UTF-8.

    Raises ``WorkbookRefused`` for encodings that no program uses: a document type definition would
    not be detected.
    """
    found = _DECLARED_ENCODING.search(start[:256])
    declared = found[1] if found else b"utf-8"
    name = None
    if _PLAIN_ENCODING.fullmatch(declared) and not start.startswith(_UTF32_STARTS):
        with suppress(LookupError):
            name = codecs.lookup(declared.decode()).name
    if name is None:
        raise refusals.hostile(Text(pt="codificação fora do comum", en="an uncommon encoding"))
    wide = _UTF16_STARTS.get(start[:2])
    if wide is None and (name in _UTF8_NAMES or name.startswith("utf-16")):
        return None
    return codecs.getincrementaldecoder(wide or name)()


def _refuse_document_type(chunk: bytes) -> None:
    # Searching for the rare single character is many times faster than for the pattern.
    if b"!" in chunk and (_DOCTYPE.search(chunk) or any(wide in chunk for wide in _UTF16_DOCTYPES)):
        raise refusals.document_type()


class FileKind(Enum):
    """Kind of a file; the value is its usual extension."""

    XLSX = ".xlsx"
    XLSM = ".xlsm"
    XLSB = ".xlsb"
    ODS = ".ods"
    XLS = ".xls"
    CSV = ".csv"


LOCK_FILE_PREFIXES = ("~$", ".~lock.")
"""Name prefixes of the lock files that Excel and LibreOffice create for an open workbook."""
TEXT_ENDINGS = frozenset({".csv", ".tsv", ".txt"})
"""Extensions of text files that are read as .csv."""

_ZIP = b"PK\x03\x04"
_WORKBOOK_STREAM = "Workbook".encode("utf-16-le")
_XML_SPREADSHEET = b"urn:schemas-microsoft-com:office:spreadsheet"
_FLAT_OPEN_DOCUMENT = b"urn:oasis:names:tc:opendocument:xmlns:office"
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|meta|body|style|div|span|table|tr|td|p)\b")
_MIME = re.compile(rb"(?:[\w-]+:[^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*)*?content-type:\s*multipart/")
_OTHER_TEXT = re.compile(
    rb"""<[?!a-z]|\{\\rtf|\{\s*["}]|\[\s*[\[{"]|id;p[^\r\n]*\r?\n[a-z];|table\r?\n0,1\r?\n"""
)
"""Start of XML, RTF, JSON, SYLK or DIF, in lower case."""

_TEXT = re.compile(rb"[^\x00-\x08\x0e-\x1a\x1c-\x1f]*+")
_SAMPLE = 4096

_CONTENT_TYPES = "[content_types].xml"
_MIMETYPE = "mimetype"
_MANIFEST = "meta-inf/manifest.xml"
_OPEN_DOCUMENT = b"application/vnd.oasis.opendocument.spreadsheet"
_MAIN_PARTS = (
    (b"spreadsheetml.sheet.main+xml", FileKind.XLSX),
    (b"sheet.binary.macroEnabled.main", FileKind.XLSB),
    (b"sheet.macroEnabled.main+xml", FileKind.XLSM),
)
_ENCRYPTED_PART = b"encryption-data"


def is_zip(content: bytes) -> bool:
    """Return whether a file starts like a zip archive."""
    return content.startswith(_ZIP)


def plain_content(content: bytes) -> bytes:
    """Return the content of a workbook as it is without Excel's default password.

    Raises ``WorkbookRefused`` if it has another password.
    """
    if not is_encrypted_package(content):
        return content
    if (plain := decrypted(content)) is None:
        raise refusals.encrypted()
    return plain


def kind_of_plain_file(path: Path, content: bytes) -> FileKind:
    """Return the kind of a file that is not a zip archive.

    Raises ``WorkbookRefused``, with messages for common kinds of other files.
    """
    if path.name.startswith(LOCK_FILE_PREFIXES):
        raise refusals.lock_file()
    if not content:
        raise refusals.empty_file()
    if content.startswith(OLE_START):
        if is_encrypted_package(content):
            raise refusals.encrypted()
        if _WORKBOOK_STREAM not in content:
            raise refusals.other_ole_file()
        return FileKind.XLS
    _refuse_other_text(content, path.suffix.lower() in TEXT_ENDINGS)
    if path.suffix.lower() in TEXT_ENDINGS and not content.startswith(b"%PDF-"):
        return FileKind.CSV
    if _TEXT.fullmatch(content[:_SAMPLE]) and not content.startswith(b"%PDF-"):
        raise refusals.text_with_other_name()
    raise refusals.no_workbook()


def _refuse_other_text(content: bytes, is_named_as_text: bool) -> None:
    """Raise ``WorkbookRefused`` for text that is neither a workbook nor the rows of a .csv."""
    start = content[:_SAMPLE]
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        start = start.decode("utf-16", "ignore").encode()
    start = start.removeprefix(codecs.BOM_UTF8).lstrip(b" \t\r\n").lower()
    is_markup = re.match(rb"<[?!a-z]", start) is not None
    if is_markup and _XML_SPREADSHEET in start:
        raise refusals.xml_spreadsheet()
    if is_markup and _FLAT_OPEN_DOCUMENT in start:
        raise refusals.flat_open_document()
    if (is_markup and _HTML.search(start)) or _MIME.match(start):
        raise refusals.web_page()
    # The header of a .csv may start alike.
    if _OTHER_TEXT.match(start) and (start.startswith(b"<?xml") or not is_named_as_text):
        raise refusals.other_text_format()


def kind_of_archive(archive: WorkbookArchive) -> FileKind:
    """Return the kind of the workbook in a zip archive.

    Raises ``WorkbookRefused`` if it is not a workbook, or encrypted.
    """
    if archive.read(_MIMETYPE).startswith(_OPEN_DOCUMENT):
        if _ENCRYPTED_PART in archive.read(_MANIFEST):
            raise refusals.encrypted()
        return FileKind.ODS
    types = archive.read(_CONTENT_TYPES)
    kind = next((kind for mark, kind in _MAIN_PARTS if mark in types), None)
    if kind is None:
        raise refusals.other_archive()
    return kind


def kind_of_file(path: Path) -> FileKind:
    """Return the kind of a file that was read before. Raises ``WorkbookRefused``."""
    content = path.read_bytes()
    if is_zip(content):
        return kind_of_archive(WorkbookArchive(content, WorkbookLimits()))
    return kind_of_plain_file(path, content)


def require_open_xml(path: Path, limits: WorkbookLimits) -> None:
    """Check a file and all its parts under limits.

    Raises ``UsageError`` if there is no such file, ``WorkbookRefused`` if it is neither an .xlsx
    nor an .xlsm, or not safe.
    """
    content = file_content(path, limits)
    if not is_zip(content):
        kind_of_plain_file(path, content)
        raise refusals.no_xlsx()
    archive = WorkbookArchive(content, limits)
    if kind_of_archive(archive) not in {FileKind.XLSX, FileKind.XLSM}:
        raise refusals.no_xlsx()
    archive.parts()


def require_xlsx(path: Path) -> None:
    """Raise ``WorkbookRefused`` if a file that was read before is not an .xlsx."""
    if kind_of_file(path) is not FileKind.XLSX:
        raise refusals.no_xlsx()
