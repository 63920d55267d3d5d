"""Export a listing into files: fetch, flatten, leave out what came twice, count, write."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from xlbridge.client import Client, Record
from xlbridge.errors import UsageError
from xlbridge.export.fetcher import Fetcher
from xlbridge.export.filters import Filters
from xlbridge.export.flatten import add_up_left_out
from xlbridge.export.formats.base import CoverSummary, OpenOutput, Table
from xlbridge.export.layout import Layout, line_spec
from xlbridge.export.listing import Listing, check_filters
from xlbridge.export.parts import LineSpec
from xlbridge.export.result import ExportResult
from xlbridge.export.sheets import Sheet
from xlbridge.export.spool import ResumeStore, Spool, temporary_folder
from xlbridge.export.totals import total_tables
from xlbridge.export.windows import OnProgress
from xlbridge.i18n import Text

_DEFAULT_LAYOUT = Layout()


def export_listing(
    client: Client,
    listing: Listing,
    filters: Filters,
    output: Path,
    open_book: OpenOutput,
    *,
    layout: Layout = _DEFAULT_LAYOUT,
    on_progress: OnProgress = lambda _advance: None,
    on_record: Callable[[Record], None] | None = None,
    at_once: int = 2,
    unfinished: ResumeStore | None = None,
    known: Sequence[int] | None = None,
) -> ExportResult:
    """Write what a listing holds into ``output``, and say whether anything can be missing.

    ``at_once`` is how many calls run side by side at most. ``unfinished`` keeps finished windows
    of a run that fails, and uses those of the last one. ``known`` are numbers of records that the
    interface lists nowhere. Raises ``UsageError`` for filters, a
    layout or an output folder that cannot be, before the first call; later what
    ``Client.records`` raises. Whatever is raised, an interruption included, no file is left half
    written.
    """
    check_filters(listing, filters, known)
    layout.check(listing)
    require_writable(output)
    wanted = listing.in_detail() if layout.in_detail else listing
    sheets = layout.sheets(wanted)
    begun = datetime.now()
    with (
        open_book(output, sheets) as book,
        unfinished.place(begun) if unfinished else temporary_folder() as folder,
    ):
        forms = list(map(book.form, sheets))
        arrange, keep_unknown = layout.rearrange(wanted), layout.keep_unknown
        recipe = line_spec(
            wanted, sheets, forms, arrange, keep_unknown=keep_unknown, filters=filters
        )
        with closing(Spool(folder, recipe.tables)) as spool:
            fetcher = Fetcher(
                client,
                wanted,
                filters,
                spool,
                recipe,
                on_record=on_record,
                on_progress=on_progress,
                at_once=at_once,
                now=begun,
                known=known,
            )
            fetcher.run()
            result, tables = _settled(listing, fetcher, spool, recipe)
            book.write(tables, _summary(listing, filters, result))
    return result


def _settled(
    listing: Listing, fetcher: Fetcher, spool: Spool, recipe: LineSpec
) -> tuple[ExportResult, list[Table]]:
    """Leave out what came twice; return what the export came to, and the tables to write."""
    replaced = spool.settle()
    tables = list(_tables(spool, recipe.sheets))
    result = ExportResult(
        listing=listing.name,
        records=sum(window.records for window in fetcher.fetched) - replaced,
        sheets={table.sheet.name: table.rows for table in tables},
        windows=tuple(fetcher.fetched),
        holes=tuple(fetcher.holes),
        missing=tuple(sorted(fetcher.missing, key=_key_order)),
        calls=fetcher.calls,
        replaced=replaced,
        reused=fetcher.reused,
        newest=fetcher.newest,
        totals=total_tables(listing.totals, spool.blocks(recipe.totals_place)),
        begun=fetcher.begun,
        excess=dict(fetcher.excess),
        seen=fetcher.seen,
        zones=spool.zones(),
        left_out=add_up_left_out(spool.blocks(recipe.left_out_place))
        if recipe.left_out_place
        else {},
    )
    return result, tables


def _tables(spool: Spool, sheets: Sequence[Sheet]) -> Iterator[Table]:
    for place, sheet in enumerate(sheets):
        widths = spool.widths(place, len(sheet.columns))
        yield Table(sheet, spool.rows(place), widths, spool.blocks(place))


def _key_order(key: Mapping[str, object]) -> list[tuple[int, str]]:
    texts = map(str, key.values())
    return [(int(text) if text.isdecimal() else 0, text) for text in texts]


def _summary(listing: Listing, filters: Filters, result: ExportResult) -> CoverSummary:
    return CoverSummary(
        title=listing.title,
        filters=[(f"--{name}", _filter_text(value)) for name, value in filters.given.items()],
        at=result.begun,
        records=result.records,
        sheets=result.sheets,
        complete=result.complete,
        remarks=result.remarks,
        amount=listing.totals.amount if listing.totals else "",
        totals=result.totals,
    )


def _filter_text(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%d/%m/%Y %H:%M}"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


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
