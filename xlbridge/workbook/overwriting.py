"""Which workbooks a command may replace: those that it wrote itself, by what it leaves in them."""

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from xlbridge.workbook.atomic import require_new
from xlbridge.workbook.signature import EXPORT_PROPERTY, PROOF_PROPERTY, SUMMARY_NAME

_MOST_READ = 1_000_000
_UNREADABLE = (
    OSError, LookupError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """What tells who wrote a workbook: a name in one of its parts."""

    part: str
    name: str

    def is_on(self, path: Path) -> bool:
        """Whether a file is a workbook with this mark."""
        try:
            with zipfile.ZipFile(path) as archive, archive.open(self.part) as content:
                return f'name="{self.name}"'.encode() in content.read(_MOST_READ)
        except _UNREADABLE:
            # Whatever cannot be read carries no mark.
            return False


EXPORTED = Mark("docProps/custom.xml", EXPORT_PROPERTY)
PROVEN = Mark("docProps/custom.xml", PROOF_PROPERTY)
ANNOTATED = Mark("xl/workbook.xml", SUMMARY_NAME)


def require_own(path: Path, mark: Mark) -> None:
    """Raise ``UsageError`` when ``path`` exists and is no workbook with the mark."""
    if not mark.is_on(path):
        require_new(path)


def require_no_archive(path: Path) -> None:
    """Raise ``UsageError`` when ``path`` exists and may be a workbook, which no report replaces."""
    if zipfile.is_zipfile(path):
        require_new(path)
