"""Layout of an export: its sheets, and the conversion of records into their lines.

In the layout of an import sheet a listing can be edited and uploaded again. The resource's schema
file declares the field of a record for each column; the default is the field of the same name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from xlbridge.client.listings import record_shape
from xlbridge.errors import UsageError
from xlbridge.export.all_listings import LISTINGS
from xlbridge.export.filters import NO_FILTERS, Filters
from xlbridge.export.flatten import (
    ImportRow,
    Rearrange,
    UnknownFieldCollector,
    import_row,
    with_unknown_fields,
)
from xlbridge.export.lines import LineFormat
from xlbridge.export.listing_model import Listing, children_of, columns_of, record_filter
from xlbridge.export.parts import LineSpec
from xlbridge.export.sheets import ExportColumn, Sheet, join_child_sheet
from xlbridge.i18n import Text
from xlbridge.resources import KEY, Resource
from xlbridge.resources.remote import SeparateList
from xlbridge.wire import WireModel


def unknown_field_collector(model: type[WireModel]) -> UnknownFieldCollector:
    """Return the collector of the fields of a record that its model does not have."""
    known = frozenset(column.name for column in columns_of(model))
    children = {name: unknown_field_collector(inner) for name, inner in children_of(model).items()}
    return UnknownFieldCollector(known, children)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Layout of records in sheets; the fields are those of ``ExportRequest``."""

    flat: str | None = None
    in_detail: bool = False
    keep_unknown: bool = False
    template: Resource | None = None
    settled: bool = False

    def check(self, listing: Listing) -> None:
        """Raise ``UsageError`` if the layout does not suit the listing."""
        if self.template is not None:
            require_records_of(listing, self.template)
            if listing.is_settled and not self.settled:
                raise UsageError(_SETTLED.format(listing=listing.name), _HOW_TO_SETTLED)
        elif self.settled:
            raise UsageError(
                Text(
                    pt="--settled só vale com --as-template.",
                    en="--settled requires --as-template.",
                )
            )
        children = [sheet.name for sheet in listing.sheets[1:]]
        if self.flat is not None and self.flat not in children:
            raise UsageError(
                Text(
                    pt="A listagem {listing} não tem a planilha {name!r}.",
                    en="The listing {listing} has no sheet {name!r}.",
                ).format(listing=listing.name, name=self.flat),
                (_CHILDREN if children else _NO_CHILDREN).format(names=", ".join(children)),
            )
        if self.in_detail and listing.details is None:
            raise UsageError(
                Text(
                    pt="A listagem {listing} não tem anexos.",
                    en="The listing {listing} has no attached files.",
                ).format(listing=listing.name)
            )

    def sheets(self, listing: Listing) -> tuple[Sheet, ...]:
        """Return the sheets that are written."""
        if self.template is not None:
            return template_sheets(listing, self.template)
        sheets = listing.sheets
        if self.keep_unknown:
            sheets = with_unknown_fields(sheets)
        return sheets if self.flat is None else join_child_sheet(sheets, self.flat)

    def rearrange(self, listing: Listing) -> Rearrange | None:
        """Return the rearrangement of records for the sheets, None if they need none."""
        if self.template is not None:
            return import_row(self.template)
        return unknown_field_collector(listing.model) if self.keep_unknown else None


_CHILDREN = Text(pt="Ela tem: {names}.", en="It has: {names}.")
_NO_CHILDREN = Text(
    pt="Ela tem uma única planilha: exporte-a sem --flat.",
    en="It has a single sheet: export it without --flat.",
)
_SETTLED = Text(
    pt="Os registros de {listing} estão baixados: enviados de uma planilha de importação, seriam "
    "títulos novos, em aberto.",
    en="The records of {listing} are settled: uploaded from an import sheet, they would be new, "
    "open titles.",
)
_HOW_TO_SETTLED = Text(
    pt="Exporte sem --as-template, ou confirme com --settled (num plano, settled: true) que a "
    "planilha deve ter títulos baixados.",
    en="Export without --as-template, or confirm with --settled (in a plan, settled: true) that "
    "the sheet is meant to hold settled titles.",
)


def require_records_of(listing: Listing, resource: Resource) -> None:
    """Raise ``UsageError`` if the records of a listing are not those of a resource."""
    declared = resource.read_back
    if declared is None:
        raise UsageError(
            Text(
                pt="{resource} não tem chave pela qual um envio encontre os registros.",
                en="{resource} has no key by which an upload could find the records.",
            ).format(resource=resource.name),
            Text(
                pt="Cada linha enviada de novo criaria mais um registro. Exporte sem "
                "--as-template.",
                en="Each row uploaded again would create another record. Export without "
                "--as-template.",
            ),
        )
    if listing.operation.name not in declared.operation_names:
        raise UsageError(
            Text(
                pt="A listagem {listing} não tem os registros de {resource}.",
                en="The listing {listing} does not hold the records of {resource}.",
            ).format(listing=listing.name, resource=resource.name),
            _HOW_TO_EXPORT_RECORDS.format(
                resource=resource.name,
                names=", ".join(
                    one.name
                    for one in LISTINGS.values()
                    if one.operation.name in declared.operation_names
                ),
            ),
        )


_HOW_TO_EXPORT_RECORDS = Text(
    pt="Listagens com os registros de {resource}: {names}. Para a planilha de importação da "
    "própria listagem, use --as-template sem recurso.",
    en="Listings with the records of {resource}: {names}. For the listing's own import sheet, use "
    "--as-template without a resource.",
)


def resource_of(listing: Listing, resources: Iterable[Resource]) -> Resource:
    """Return the resource whose import sheet fits the records of a listing.

    Raises ``UsageError`` if there is none, or more than one.
    """
    found = [
        resource
        for resource in resources
        if resource.read_back and listing.operation.name in resource.read_back.operation_names
    ]
    if len(found) == 1:
        return found[0]
    names = ", ".join(resource.name for resource in found)
    raise UsageError(
        Text(
            pt="Não há um único recurso cuja planilha de importação sirva para os registros de "
            "{listing}{names}.",
            en="There is no single resource whose import sheet fits the records of "
            "{listing}{names}.",
        ).format(listing=listing.name, names=names and f": {names}")
    )


def template_sheets(listing: Listing, resource: Resource) -> tuple[Sheet, ...]:
    """Return the sheets of a resource for the records of a listing: the main one, then its lists.

    The columns of the system's number of the record come last.
    """
    numbers = set(resource.read_back.number_columns if resource.read_back else ())
    columns = [*_columns(resource), *(c for c in columns_of(listing.model) if c.name in numbers)]
    available = children_of(listing.model).keys() | _separate_lists(resource)
    lists = (child for child in resource.children if child.sheet in available)
    return (
        Sheet(resource.name, tuple(columns), (), listing.key),
        *(Sheet(c.sheet, tuple(_columns(c)), (c.sheet,), (KEY,)) for c in lists),
    )


def _separate_lists(resource: Resource | None) -> Mapping[str, SeparateList]:
    """Return the lists that a resource's records do not contain."""
    return {} if resource is None or resource.read_back is None else resource.read_back.lists


def _columns(resource: Resource) -> list[ExportColumn]:
    return [ExportColumn(column.name, column.kind) for column in resource.columns]


def line_spec(
    listing: Listing,
    sheets: Sequence[Sheet],
    line_formats: Sequence[LineFormat],
    rearrange: Rearrange | None = None,
    *,
    keep_unknown: bool = False,
    filters: Filters = NO_FILTERS,
    template: Resource | None = None,
) -> LineSpec:
    """Return the conversion of a listing's answers into the lines of sheets."""
    # An import sheet counts the fields that it leaves out, unknown ones included.
    is_import = isinstance(rearrange, ImportRow)
    return LineSpec(
        shape=record_shape(listing.model, keep_unknown=keep_unknown or is_import),
        key=listing.key,
        sheets=sheets,
        line_formats=line_formats,
        rearrange=rearrange,
        totals=listing.totals,
        collects_update_times=listing.cap is not None,
        record_filter=record_filter(listing, filters),
        lists=_separate_lists(template),
    )


def keys_only_spec(listing: Listing, filters: Filters = NO_FILTERS) -> LineSpec:
    """Return the conversion of a listing's answers into keys alone."""
    return replace(line_spec(listing, (), (), filters=filters), totals=None)
