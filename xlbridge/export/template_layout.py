"""A listing in the layout of an import sheet, so that it can be edited and uploaded again.

Which field of a record a column comes from is what the resource's schema file says of reading
records back; a column that it does not name has the field's own name.
"""

from collections.abc import Callable, Mapping
from typing import Any

from xlbridge.api.records import Record
from xlbridge.errors import UsageError
from xlbridge.export.columns import ExportColumn
from xlbridge.export.listing import Listing, Sheet
from xlbridge.i18n import Text
from xlbridge.resources.read_back import Lookup
from xlbridge.resources.resource import Resource

Rearrange = Callable[[Record], Record]
"""Makes of a record another that has its fields elsewhere."""


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
    return sheet, lambda record: _as_row(record, resource, lookups)


def _as_row(record: Record, resource: Resource, lookups: tuple[Lookup, ...]) -> Record:
    """Return a record under the names of the sheet's columns."""
    renamed = {column for lookup in lookups for column in lookup.key if column not in record}
    row = {c.name: record.get(c.name) for c in resource.columns if c.name not in renamed}
    for lookup in lookups:
        if _holds(lookup.when, record):
            row |= {c: record.get(field) for c, field in lookup.key.items() if c in renamed}
    return row


def _holds(when: Mapping[str, tuple[Any, ...]], record: Record) -> bool:
    return all(record.get(column) in allowed for column, allowed in when.items())
