"""Mappings that a person used, kept for each profile by resource and header.

A mapping is kept when a sheet was read by it, whole as the person wrote it. The next proposal goes
by what is kept, and a sheet with the same header is offered the same mapping.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.files import write_private
from xlbridge.validation.headers.header_row import SEARCHED_ROWS
from xlbridge.validation.mapping.header_places import header_texts
from xlbridge.validation.mapping.mapping_file import read_mapping
from xlbridge.validation.mapping.model import SheetMapping, header_key
from xlbridge.workbook.read import WorkbookCells


def remember_mapping(folder: Path, mapping: SheetMapping) -> Path:
    """Keep a mapping that a sheet was read by, in place of one for the same header.

    Return the kept file. Raises ``UsageError`` when it cannot be written.
    """
    keys = sorted(map(header_key, mapping.header))
    digest = hashlib.blake2b("\0".join(keys).encode(), digest_size=6).hexdigest()
    kept = folder / f"{mapping.resource}-{digest}.yaml"
    if kept != mapping.path:
        write_private(kept, mapping.path.read_text(encoding="utf-8-sig"))
    return kept


def remembered_mappings(folder: Path) -> list[SheetMapping]:
    """Return the mappings that are kept, the latest last; files that are mistaken are left out."""
    found = []
    for path in sorted(folder.glob("*.yaml"), key=lambda path: (path.stat().st_mtime, path.name)):
        try:
            found.append(read_mapping(path))
        except UsageError:
            continue
    return found


def mapping_for(
    workbook: WorkbookCells, mappings: Sequence[SheetMapping], resource: str | None = None
) -> SheetMapping | None:
    """Return the latest mapping whose header stands in a sheet of a workbook."""
    headers = [
        Counter(key for text in header_texts(cells, position) if (key := header_key(text)))
        for cells in workbook.sheets
        for position in range(min(cells.height, SEARCHED_ROWS))
    ]
    fitting = (
        mapping
        for mapping in reversed(mappings)
        if resource in (None, mapping.resource)
        and Counter(map(header_key, mapping.header)) in headers
    )
    return next(fitting, None)
