"""Which files an export may replace: what it wrote itself, and what nobody wrote yet."""

import zipfile
import zlib
from pathlib import Path

from xlbridge.workbook.atomic import require_new
from xlbridge.workbook.signature import EXPORT_PROPERTY

_WORKBOOK = "xlsx"
_PROPERTIES = "docProps/custom.xml"
_MOST_PROPERTIES = 1_000_000
_UNREADABLE = (
    OSError, LookupError, ValueError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


def require_replaceable(output: Path, form: str) -> None:
    """Raise ``UsageError`` when an export as a workbook would replace what no export wrote.

    Of other formats nothing tells who wrote a file; those are replaced.
    """
    if form == _WORKBOOK and not _is_export(output):
        require_new(output)


def _is_export(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_PROPERTIES) as properties:
            return f'name="{EXPORT_PROPERTY}"'.encode() in properties.read(_MOST_PROPERTIES)
    except _UNREADABLE:
        # Whatever cannot be read is not what an export leaves.
        return False
