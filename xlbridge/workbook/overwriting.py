"""Overwriting rules for workbooks: only one that xlbridge wrote may be replaced, by its marks."""

import re
import zipfile
import zlib
from enum import Enum
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.files import require_new
from xlbridge.i18n import Text
from xlbridge.workbook.signature import EXPORT_PROPERTY, PROOF_PROPERTY, SUMMARY_NAME

_MAX_READ = 1_000_000
_CORE_PROPERTIES = "docProps/core.xml"
_TIMES = re.compile(rb"<dcterms:(created|modified)[^>]*>([^<]*)<")
_UNREADABLE = (
    OSError, LookupError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


class WorkbookMark(Enum):
    """Mark of who wrote a workbook: ``text`` is a name in one of its parts, ``part``."""

    EXPORTED = "docProps/custom.xml", EXPORT_PROPERTY
    PROVEN = "docProps/custom.xml", PROOF_PROPERTY
    ANNOTATED = "xl/workbook.xml", SUMMARY_NAME

    def __init__(self, part: str, text: str) -> None:
        self.part = part
        self.text = text

    def is_on(self, path: Path) -> bool:
        """Return whether a file is a workbook with this mark."""
        try:
            with zipfile.ZipFile(path) as archive, archive.open(self.part) as content:
                return f'name="{self.text}"'.encode() in content.read(_MAX_READ)
        except _UNREADABLE:
            # Whatever cannot be read carries no mark.
            return False

    def require_own(self, path: Path, *, unedited: bool = False) -> None:
        """Raise ``UsageError`` when ``path`` exists and is no workbook with this mark.

        With ``unedited`` also when a program has saved it since xlbridge wrote it.
        """
        if not self.is_on(path):
            require_new(path)
        if unedited:
            _require_unedited(path)


def _require_unedited(path: Path) -> None:
    """Raise ``UsageError`` when a workbook that xlbridge wrote was saved by a program since.

    Every program that saves one sets the time of its last change, and keeps that of its making.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_CORE_PROPERTIES) as content:
            times = dict(_TIMES.findall(content.read(_MAX_READ)))
    except _UNREADABLE:
        return
    if times.get(b"modified", b"") != times.get(b"created", b""):
        raise UsageError(
            Text(
                pt="{path} foi alterado depois de exportado.",
                en="{path} was edited after it was exported.",
            ).format(path=path),
            Text(
                pt="Grave com outro nome, ou substitua com --force: o que foi escrito nele se "
                "perde.",
                en="Write under another name, or replace it with --force: what was written in it "
                "is lost then.",
            ),
        )
