"""How the records of an export become sheets."""

from dataclasses import dataclass

from xlbridge.errors import UsageError
from xlbridge.export.flatten import Rearrange
from xlbridge.export.listing import Listing
from xlbridge.export.model_columns import gathering_unknown
from xlbridge.export.sheet import Sheet, flat
from xlbridge.export.template_layout import require_records_of, template_sheet
from xlbridge.export.unknown_fields import with_unknown_fields
from xlbridge.i18n import Text
from xlbridge.resources.resource import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How records become sheets.

    ``flat`` names the list within a record that is joined to it in one sheet. ``in_detail`` reads
    each record by its key, with its attached files. ``keep_unknown`` keeps the fields that the
    interface does not show. ``template`` is the resource in whose import sheet the records are.
    """

    flat: str | None = None
    in_detail: bool = False
    keep_unknown: bool = False
    template: Resource | None = None

    def check(self, listing: Listing) -> None:
        """Raise ``UsageError`` for what the records of the listing do not have, or are not."""
        if self.template is not None:
            require_records_of(listing, self.template)
        children = [sheet.name for sheet in listing.sheets[1:]]
        if self.flat is not None and self.flat not in children:
            raise UsageError(
                Text(
                    pt="A listagem {listing} não tem a planilha {name!r}.",
                    en="The listing {listing} has no sheet {name!r}.",
                ).format(listing=listing.name, name=self.flat),
                Text(pt="Ela tem: {names}.", en="It has: {names}.").format(
                    names=", ".join(children) or "–"
                ),
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
            return (template_sheet(listing, self.template),)
        sheets = listing.sheets
        if self.keep_unknown:
            sheets = with_unknown_fields(sheets)
        return sheets if self.flat is None else flat(sheets, self.flat)

    def rearrange(self, listing: Listing) -> Rearrange | None:
        """Return what puts a record's fields where the sheets expect them, if they are not."""
        if self.template is not None and self.template.read_back is not None:
            return self.template.read_back.as_row
        return gathering_unknown(listing.model) if self.keep_unknown else None
