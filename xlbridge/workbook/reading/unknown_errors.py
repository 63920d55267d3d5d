"""Errors in cells that are newer than the parser, which would refuse the whole sheet for one."""

import io
import re
import zipfile

from xlbridge.workbook.reading.quick_scan import ERROR_CELL

_KNOWN = (b"#DIV/0!", b"#N/A", b"#NAME?", b"#NULL!", b"#NUM!", b"#REF!", b"#VALUE!")
_OTHER_SHEETS = "xl/worksheets/"


def with_known_errors(archive: zipfile.ZipFile, part: str) -> bytes | None:
    """Return a workbook for the parser in which a sheet's unknown errors are ``#N/A``.

    Which error each cell shows, the scan of the raw XML tells. The workbook has no other sheet than
    that of ``part``; None where the sheet has no such error.
    """
    sheet = archive.read(part)
    # What looks like a cell in a comment is none.
    mended = sheet if b"<!" in sheet else ERROR_CELL.sub(_known, sheet)
    if mended == sheet:
        return None
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
        for entry in archive.infolist():
            if entry.filename == part:
                copy.writestr(entry.filename, mended)
            elif _is_needed(entry.filename.lower()):
                copy.writestr(entry.filename, archive.read(entry))
    return stream.getvalue()


def _known(found: re.Match[bytes]) -> bytes:
    known = found[3] in _KNOWN or not found[3].startswith(b"#")
    return found[1] + (found[3] if known else b"#N/A")


def _is_needed(name: str) -> bool:
    return name.endswith((".xml", ".rels")) and not name.startswith(_OTHER_SHEETS)
