"""Which small workbooks cannot harm the process that parses them."""

import io
import zipfile

from xlbridge.errors import WorkbookRefused
from xlbridge.workbook.reading.exact_scan import scan_exactly
from xlbridge.workbook.reading.package import Package

_CELLS = 1_000_000
_LETTERS = 64 * 2**20


def is_harmless(content: bytes) -> bool:
    """Tell whether every sheet's cells are in order and near one another, and all in them bounded.

    ``content`` is an .xlsx archive that passed the gate and is small when unpacked. Raises
    ``WorkbookRefused`` when it is no workbook at all.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        package = Package(archive)
        try:
            return all(_is_harmless(package, sheet) for sheet in package.sheets)
        except WorkbookRefused:
            return False


def _is_harmless(package: Package, sheet: str) -> bool:
    scan = scan_exactly(package.sheet_pieces(sheet), {})
    near = scan.last_row * (scan.last_column + 1) <= _CELLS
    return scan.orderly and scan.modest and near and scan.cells * package.shared_size() <= _LETTERS
