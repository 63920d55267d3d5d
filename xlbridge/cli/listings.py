"""``xlbridge listings``: listings that can be exported, with their filters."""

from xlbridge.cli.options import described_command, format_option
from xlbridge.cli.output import print_json, print_result
from xlbridge.export import LISTINGS, Listing
from xlbridge.i18n import Text


@described_command(
    "listings",
    pt="O que se pode exportar, com os filtros.",
    en="What can be exported, with the filters.",
)
@format_option
def command(form: str) -> None:
    if form == "json":
        print_json({"version": 1, "listings": list(map(_as_json, LISTINGS.values()))})
        return
    for listing in LISTINGS.values():
        print_result(f"{listing.name}  ({listing.title})")
        sheets = Text(pt="  planilhas: {names}", en="  sheets: {names}")
        print_result(sheets.format(names=", ".join(sheet.name for sheet in listing.sheets)))
        if listing.filters:
            filters = Text(pt="  filtros: {names}", en="  filters: {names}")
            print_result(filters.format(names=", ".join(f"--{name}" for name in listing.filters)))


def _as_json(listing: Listing) -> dict[str, object]:
    return {
        "listing": listing.name,
        "title": str(listing.title),
        "operation": listing.operation.name,
        "filters": list(listing.filters),
        "required": list(listing.required),
        "files": listing.details is not None,
        "key": list(listing.key),
        "cap": listing.cap,
        "sheets": [
            {"sheet": sheet.name, "columns": [column.name for column in sheet.columns]}
            for sheet in listing.sheets
        ],
    }
