"""``xlbridge listings``: listings that can be exported, with their filters."""

from xlbridge import titles
from xlbridge.cli.options import described_command, result_options
from xlbridge.cli.output import print_report
from xlbridge.export import LISTINGS, Listing
from xlbridge.i18n import Text
from xlbridge.report_forms import Heading, Line, Report, ReportForms, Table


@described_command(
    "listings",
    pt="O que se pode exportar, com os filtros.",
    en="What can be exported, with the filters.",
)
@result_options
def command(form: str) -> None:
    print_report(ReportForms.of_report(_report, _document), form)


def _report() -> Report:
    lines = [
        Line(
            (
                f"{listing.name}  ({listing.title})",
                ", ".join(sheet.name for sheet in listing.sheets),
                ", ".join(f"--{name}" for name in listing.filters) or None,
            )
        )
        for listing in LISTINGS.values()
    ]
    return Report(tables=[Table(sheet=titles.LISTINGS, headings=_HEADINGS, lines=lines)])


_HEADINGS = (
    Heading(Text(pt="listagem", en="listing")),
    Heading(Text(pt="planilhas", en="sheets")),
    Heading(Text(pt="filtros", en="filters")),
)


def _document() -> dict[str, object]:
    return {"version": 1, "listings": list(map(_as_json, LISTINGS.values()))}


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
