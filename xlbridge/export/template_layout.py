"""A listing in the layout of an import sheet, so that it can be edited and uploaded again.

Which field of a record a column comes from is what the resource's schema file says of reading
records back; a column that it does not name has the field's own name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xlbridge.api.record_shape import Record
from xlbridge.errors import UsageError
from xlbridge.export.columns import ExportColumn
from xlbridge.export.flatten import Rearrange
from xlbridge.export.listing import Listing
from xlbridge.export.sheet import Sheet
from xlbridge.i18n import Text
from xlbridge.resources.read_back import Lookup
from xlbridge.resources.resource import Resource


def template_layout(listing: Listing, resource: Resource) -> tuple[Sheet, Rearrange]:
    """Return the one sheet of a resource, and what puts a listing's record under its columns.

    Raises ``UsageError`` when the records of the listing are not the resource's.
    """
    lookups = resource.read_back.lookups if resource.read_back else ()
    if not any(listing.operation in lookup.operations for lookup in lookups):
        raise UsageError(
            Text(
                pt="A listagem {listing} não tem os registros de {resource}.",
                en="The listing {listing} does not hold the records of {resource}.",
            ).format(listing=listing.name, resource=resource.name)
        )
    columns = tuple(ExportColumn(c.name, c.kind) for c in resource.columns)
    sheet = Sheet(resource.name, columns, (), listing.key)
    return sheet, _AsRow(tuple(c.name for c in resource.columns), lookups)


@dataclass(frozen=True, slots=True)
class _AsRow:
    """Puts a record under the names of the sheet's columns."""

    columns: tuple[str, ...]
    lookups: tuple[Lookup, ...]

    def __call__(self, record: Record) -> Record:
        renamed = {name for lookup in self.lookups for name in lookup.key if name not in record}
        row = {name: record.get(name) for name in self.columns if name not in renamed}
        for lookup in self.lookups:
            if _holds(lookup.when, record):
                row |= {c: record.get(field) for c, field in lookup.key.items() if c in renamed}
        return row


def _holds(when: Mapping[str, tuple[Any, ...]], record: Record) -> bool:
    return all(record.get(column) in allowed for column, allowed in when.items())
