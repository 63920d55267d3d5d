"""Quick scan of a whole part, as in the parsing of a sheet in chunks.

Inside: workbook.
"""

from collections.abc import Iterable, Mapping

from xlbridge.workbook.read import RawSheet
from xlbridge.workbook.read.archive import blocks_before
from xlbridge.workbook.read.sheet_scans import QuickScan


def scan_quickly(pieces: Iterable[bytes], scaling: Mapping[int, float]) -> RawSheet | None:
    """Return the facts of a part, None if it needs the exact scan."""
    scan = QuickScan(scaling)
    return scan.raw if all(map(scan.scan_block, blocks_before(pieces, b"<row"))) else None
