"""Overwriting rules for workbooks: only one that xlbridge wrote may be replaced, by its marks."""

import re
import zipfile
import zlib
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class WorkbookMark:
    """Mark of who wrote a workbook: a name in one of its parts."""

    part: str
    name: str

    def is_on(self, path: Path) -> bool:
        """Return whether a file is a workbook with this mark."""
        try:
            with zipfile.ZipFile(path) as archive, archive.open(self.part) as content:
                return f'name="{self.name}"'.encode() in content.read(_MAX_READ)
        except _UNREADABLE:
            # Whatever cannot be read carries no mark.
            return False


EXPORTED = WorkbookMark("docProps/custom.xml", EXPORT_PROPERTY)
PROVEN = WorkbookMark("docProps/custom.xml", PROOF_PROPERTY)
ANNOTATED = WorkbookMark("xl/workbook.xml", SUMMARY_NAME)


def require_unedited(path: Path) -> None:
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


def require_own(path: Path, mark: WorkbookMark) -> None:
    """Raise ``UsageError`` when ``path`` exists and is no workbook with the mark."""
    if not mark.is_on(path):
        require_new(path)


def require_no_archive(path: Path) -> None:
    """Raise ``UsageError`` when ``path`` exists and may be a workbook, which no report replaces."""
    if zipfile.is_zipfile(path):
        require_new(path)
