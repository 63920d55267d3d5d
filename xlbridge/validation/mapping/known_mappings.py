"""Mappings of sheets with similar headers, on which a proposal can build: the one used for a sheet
before its header changed, and the layouts that come with xlbridge for exports of other systems.

A layout is a mapping with the ``title`` of the export and the ``source`` that describes it. Its
header has the columns that the system can export; a sheet may have some of them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from xlbridge.validation.headers.header_row import header_key
from xlbridge.validation.mapping.mapping_file import SheetMapping, read_mapping

LAYOUTS = Path(__file__).with_name("layouts")
"""Folder of the layouts that come with xlbridge."""

_LEAST_SAME = 0.5
_LEAST_OF_SHEET, _LEAST_OF_LAYOUT, _LEAST_COLUMNS = 0.7, 0.4, 4
_LEAST_OF_FIELDS, _LEAST_FIELDS = 0.6, 3
_FIELD = re.compile(r"[A-Z][A-Z0-9_]{3,}|[A-Z]+[a-z]+[A-Z][A-Za-z0-9]*")
"""Name of a database field, such as E1_VALOR and CardCode, which has no other meaning."""


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
    own = [(_same(keys, one), at, one) for at, one in enumerate(used) if one.resource == resource]
    if own and (best := max(own, key=lambda found: found[:2]))[0] >= _LEAST_SAME:
        return best[2]
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


def _same(keys: set[str], mapping: SheetMapping) -> float:
    """Return the share of headers that a sheet and a mapping have in common."""
    own = set(map(header_key, mapping.header))
    return len(keys & own) / max(1, len(keys | own))


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
