"""Quick scan of a whole part, as the parsing of a sheet in chunks goes through it.

Inside: workbook.
"""

from collections.abc import Iterable, Mapping

from xlbridge.workbook.read import RawSheet
from xlbridge.workbook.read.chunked_parsing import QuickScan
from xlbridge.workbook.read.exact_scan import blocks_before


def scan_quickly(pieces: Iterable[bytes], scaling: Mapping[int, float]) -> RawSheet | None:
    """Return what the quick scan tells of a part, None where only the exact one can tell."""
    scan = QuickScan(scaling)
    return scan.raw if all(map(scan.take, blocks_before(pieces, b"<row"))) else None
