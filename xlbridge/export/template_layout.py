"""A listing in the layout of an import sheet, so that it can be edited and uploaded again.

Which field of a record a column comes from is what the resource's schema file says of reading
records back; a column that it does not name has the field's own name.
"""

from xlbridge.errors import UsageError
from xlbridge.export.columns import ExportColumn
from xlbridge.export.listing import Listing
from xlbridge.export.sheet import Sheet
from xlbridge.i18n import Text
from xlbridge.resources.resource import Resource


def require_records_of(listing: Listing, resource: Resource) -> None:
    """Raise ``UsageError`` when the records of a listing are not those of a resource."""
    declared = resource.read_back
    if declared is None:
        raise UsageError(
            Text(
                pt="{resource} não tem chave pela qual um envio encontre os registros.",
                en="{resource} has no key by which an upload would find the records.",
            ).format(resource=resource.name),
            Text(
                pt="Cada linha enviada de novo seria mais um registro. Sem --as-template a "
                "exportação é possível.",
                en="Each row that is uploaded again would be one more record. Without "
                "--as-template the export is possible.",
            ),
        )
    if not any(listing.operation in w.operations for w in declared.lookups):
        raise UsageError(
            Text(
                pt="A listagem {listing} não tem os registros de {resource}.",
                en="The listing {listing} does not hold the records of {resource}.",
            ).format(listing=listing.name, resource=resource.name)
        )


def template_sheet(listing: Listing, resource: Resource) -> Sheet:
    """Return the one sheet of a resource, for the records of a listing."""
    columns = tuple(ExportColumn(c.name, c.kind) for c in resource.columns)
    return Sheet(resource.name, columns, (), listing.key)
