"""Kind of a file, told by its content: a zip archive, an old workbook, or a text."""

import re
from enum import Enum
from pathlib import Path

from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.read.archive import WorkbookArchive
from xlbridge.workbook.read.refusals import (
    empty_file,
    encrypted,
    lock_file,
    no_workbook,
    no_xlsx,
    other_archive,
    other_ole_file,
    part_encrypted,
    text_with_other_name,
    web_page,
)


class FileKind(Enum):
    """Kind of a file that is read; its value is its usual extension."""

    XLSX = ".xlsx"
    XLSM = ".xlsm"
    XLSB = ".xlsb"
    ODS = ".ods"
    XLS = ".xls"
    CSV = ".csv"


LOCK_FILE_PREFIXES = ("~$", ".~lock.")
"""Beginnings of the names of files that Excel and LibreOffice leave beside an open workbook."""
TEXT_ENDINGS = frozenset({".csv", ".tsv", ".txt"})
"""Extensions of names under which a text is taken for a .csv."""

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_ZIP = b"PK\x03\x04"
_ENCRYPTED_STREAM = "EncryptedPackage".encode("utf-16-le")
_WORKBOOK_STREAM = "Workbook".encode("utf-16-le")
_MARKUP = (b"<!doctype html", b"<html", b"<table", b"<head", b"<meta")
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
    """Return whether a file begins like a zip archive."""
    return content.startswith(_ZIP)


def kind_of_plain_file(path: Path, content: bytes) -> FileKind:
    """Return the kind of a file that is no zip archive.

    Raises ``WorkbookRefused`` with a message for each of the usual other things.
    """
    if path.name.startswith(LOCK_FILE_PREFIXES):
        raise lock_file()
    if not content:
        raise empty_file()
    if content.startswith(_OLE):
        if _ENCRYPTED_STREAM in content:
            raise encrypted()
        if _WORKBOOK_STREAM not in content:
            raise other_ole_file()
        return FileKind.XLS
    if content[:_SAMPLE].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_MARKUP):
        raise web_page()
    if path.suffix.lower() in TEXT_ENDINGS and not content.startswith(b"%PDF-"):
        return FileKind.CSV
    if _TEXT.fullmatch(content[:_SAMPLE]) and not content.startswith(b"%PDF-"):
        raise text_with_other_name()
    raise no_workbook()


def kind_of_archive(archive: WorkbookArchive) -> FileKind:
    """Return the kind of the workbook in a zip archive.

    Raises ``WorkbookRefused`` when there is none in it, or it is encrypted.
    """
    names = {name.lower(): name for name in archive.names}

    def part(name: str) -> bytes:
        return archive.read(names[name]) if name in names else b""

    if part(_MIMETYPE).startswith(_OPEN_DOCUMENT):
        if _ENCRYPTED_PART in part(_MANIFEST):
            raise part_encrypted()
        return FileKind.ODS
    types = part(_CONTENT_TYPES)
    kind = next((kind for mark, kind in _MAIN_PARTS if mark in types), None)
    if kind is None:
        raise other_archive()
    return kind


def kind_of_file(path: Path) -> FileKind:
    """Return the kind of a file that was read before. Raises as the two others do."""
    content = path.read_bytes()
    if is_zip(content):
        return kind_of_archive(WorkbookArchive(content, WorkbookLimits()))
    return kind_of_plain_file(path, content)


def require_xlsx(path: Path) -> None:
    """Raise ``WorkbookRefused`` when a file that was read before is of another kind."""
    if kind_of_file(path) is not FileKind.XLSX:
        raise no_xlsx()
