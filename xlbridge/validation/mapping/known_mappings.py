"""Known mappings: those used before, remembered for each profile by resource and header, and the
layouts that come with xlbridge for exports of other systems.

A file is remembered unchanged after a sheet was read with it. It is offered for sheets with the
same header, and proposals for similar ones build on it.

A layout is a mapping with the ``title`` of the export and the ``source`` that describes it. Its
header has the columns that the system can export; a sheet may have some of them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.files import write_private
from xlbridge.validation.headers.header_row import (
    SEARCHED_ROWS,
    header_digest,
    header_key,
    header_texts,
)
from xlbridge.validation.mapping.mapping_file import Scalar, SheetMapping, read_mapping, value_key
from xlbridge.workbook.read import WorkbookCells

LAYOUTS = Path(__file__).with_name("layouts")
"""Folder of the layouts that come with xlbridge."""

_LEAST_SAME = 0.5
_LEAST_OF_SHEET, _LEAST_OF_LAYOUT, _LEAST_COLUMNS = 0.7, 0.4, 4
_LEAST_OF_FIELDS, _LEAST_FIELDS = 0.6, 3
_FIELD = re.compile(r"[A-Z][A-Z0-9_]{3,}|[A-Z]+[a-z]+[A-Z][A-Za-z0-9]*")
"""Name of a database field, such as E1_VALOR and CardCode, which has no other meaning."""


def remember_mapping(folder: Path, mapping: SheetMapping) -> Path:
    """Copy a used mapping file to ``folder``, replacing one for the same header; return the copy.

    Raises ``UsageError`` if it cannot be written.
    """
    copy = folder / f"{mapping.resource}-{header_digest(mapping.header)}.yaml"
    if copy != mapping.path:
        write_private(copy, mapping.path.read_text(encoding="utf-8-sig"))
    return copy


def remembered_mappings(folder: Path) -> list[SheetMapping]:
    """Return the remembered mappings, the latest last, without invalid files."""
    found = []
    for path in sorted(folder.glob("*.yaml"), key=lambda path: (path.stat().st_mtime, path.name)):
        with suppress(UsageError):
            found.append(read_mapping(path))
    return found


RememberedValues = Mapping[tuple[str, bool], Mapping[str, Scalar]]
"""Values of words, by their keys, for a column and whether it has a link."""


def remembered_values(mappings: Iterable[SheetMapping]) -> RememberedValues:
    """Return the values that mappings give the words of each column; of several mappings the last
    one counts."""
    found: dict[tuple[str, bool], dict[str, Scalar]] = {}
    for mapping in mappings:
        for _, column in mapping.all_columns:
            words = {value_key(text): it for text, it in (column.values or {}).items()}
            found.setdefault((column.name, column.link is not None), {}).update(words)
    return found


def mapping_for(
    workbook: WorkbookCells, mappings: Sequence[SheetMapping], resource: str | None
) -> SheetMapping | None:
    """Return the latest mapping whose header is in a sheet of a workbook."""
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


@cache
def layouts() -> Sequence[SheetMapping]:
    """Return the layouts that come with xlbridge."""
    return [read_mapping(path) for path in sorted(LAYOUTS.glob("*.yaml"))]


def similar_mapping(
    headers: Iterable[str], used: Sequence[SheetMapping], resource: str
) -> SheetMapping | None:
    """Return the mapping to a resource on which a proposal for the headers can build.

    ``used`` are the mappings used before, the latest last; a layout is only used without a similar
    one among them.
    """
    keys = set(filter(None, map(header_key, headers)))
    own = [one for one in used if one.resource == resource]
    headers_of = [set(map(header_key, one.header)) for one in own]
    same = [len(keys & its) / max(1, len(keys | its)) for its in headers_of]
    if own and max(same) >= _LEAST_SAME:
        # The latest of equals.
        return max(zip(same, range(len(own)), own, strict=True), key=lambda one: one[:2])[2]
    known = [one for one in layouts() if one.resource == resource and _has_layout(keys, one)]
    return max(known, key=lambda one: _covered(keys, one), default=None)


def best_layouts(
    headers: Iterable[str], found: Mapping[str, SheetMapping | None]
) -> dict[str, SheetMapping | None]:
    """Return the mappings by resource without the layouts that another one excels: exports of what
    is received and of what is paid may have nearly the same header."""
    keys = set(filter(None, map(header_key, headers)))
    shares = {
        name: _covered(keys, one) for name, one in found.items() if one is not None and one.title
    }
    best = max(shares.values(), default=0)
    return {name: None if shares.get(name, best) < best else one for name, one in found.items()}


def _covered(keys: set[str], layout: SheetMapping) -> float:
    """Return the share of a sheet's headers that are in a layout."""
    return len(keys.intersection(map(header_key, layout.header))) / max(1, len(keys))


def _has_layout(keys: set[str], layout: SheetMapping) -> bool:
    """Return whether a sheet has the header of a layout, or enough fields of its table."""
    own = set(map(header_key, layout.header))
    common = len(keys & own)
    if 2 * sum(_FIELD.fullmatch(text) is not None for text in layout.header) > len(layout.header):
        return common >= max(_LEAST_FIELDS, _LEAST_OF_FIELDS * len(keys))
    least = max(_LEAST_COLUMNS, _LEAST_OF_SHEET * len(keys), _LEAST_OF_LAYOUT * len(own))
    return common >= least
