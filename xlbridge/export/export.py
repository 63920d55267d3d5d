"""A listing into files: fetch, flatten, write, count."""

from collections.abc import Callable
from pathlib import Path

from xlbridge.api.client import Client
from xlbridge.errors import UsageError
from xlbridge.export.books.book import OpenBook
from xlbridge.export.filters import Filters
from xlbridge.export.flatten import flatten
from xlbridge.export.listings import Listing
from xlbridge.export.result import ExportResult
from xlbridge.export.windows import FetchedWindow, fetch, is_saturated, windows_of
from xlbridge.i18n import Text

Progress = Callable[[int], None]
"""Told how many records have been written so far."""


def export_listing(
    client: Client,
    listing: Listing,
    filters: Filters,
    output: Path,
    open_book: OpenBook,
    on_progress: Progress = lambda _records: None,
) -> ExportResult:
    """Write what a listing holds into ``output``, and say whether anything can be missing.

    Raises ``UsageError`` for filters or an output folder that cannot be, before the first call;
    later what ``Client.records`` raises. Whatever is raised, an interruption included, no file is
    left half written.
    """
    filters.check(listing)
    require_writable(output)
    sheets = listing.sheets
    counts = dict.fromkeys((sheet.name for sheet in sheets), 0)
    fetched: list[FetchedWindow] = []
    records = 0
    with open_book(output, sheets) as book:
        for window in windows_of(filters):
            before = records
            for record in fetch(client, listing, filters, window):
                for sheet, row in flatten(record, sheets):
                    book.write(sheet, row)
                    counts[sheet.name] += 1
                records += 1
                on_progress(records)
            count = records - before
            fetched.append(FetchedWindow(window, count, is_saturated(listing, count)))
    return ExportResult(listing.name, records, counts, tuple(fetched))


def require_writable(output: Path) -> None:
    """Raise ``UsageError`` when an output file is a folder, or its folder does not exist."""
    if not output.parent.is_dir():
        raise UsageError(
            Text(
                pt="A pasta {folder} não existe.", en="The folder {folder} does not exist."
            ).format(folder=output.parent)
        )
    if output.is_dir():
        raise UsageError(
            Text(pt="{file} é uma pasta.", en="{file} is a folder.").format(file=output)
        )
