"""Export of a listing from a request to files or DataFrames, without a terminal.

Commands, batches, workers and the Python API share it: a request is checked before the first
call, then run with a callback that is told the progress.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge import __version__
from xlbridge.client import Client, Record, Target
from xlbridge.errors import UsageError
from xlbridge.export.all_listings import LISTINGS, find_listing
from xlbridge.export.attachments import AttachmentDownloads
from xlbridge.export.fetcher import Fetcher
from xlbridge.export.filters import NO_FILTERS, Filters
from xlbridge.export.flatten import add_up_left_out
from xlbridge.export.formats.all_formats import output_format, output_opener, output_paths
from xlbridge.export.formats.base import CoverSummary, OpenOutput, Table
from xlbridge.export.layout import Layout, line_spec, resource_of
from xlbridge.export.listing_model import Listing
from xlbridge.export.part_store import PartStore, ResumeStore, temporary_folder
from xlbridge.export.parts import LineSpec, Part
from xlbridge.export.result import SHOWN_KEYS, ExportResult, LastRuns
from xlbridge.export.sheets import Sheet
from xlbridge.export.totals import total_tables
from xlbridge.export.windows import OnProgress
from xlbridge.files import require_new
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue
from xlbridge.workbook import WorkbookMark

if TYPE_CHECKING:
    import pandas as pd


_WORKBOOK = "xlsx"

LoadCatalogue = Callable[[], Catalogue]
"""Loads the resources, of which only an export in the layout of an import sheet needs one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """Listing that is to be exported, and its layout; it can be sent to another process.

    ``flat`` names the list within a record that is joined to it in one sheet; ``as_template`` the
    resource in whose import sheet the records go, empty for the listing's own. ``in_detail`` reads
    each record by its key, with its attached files; ``keep_unknown`` keeps the fields that the
    interface does not show.
    ``settled`` lets settled titles into an import sheet. ``known`` are the numbers of records that
    the interface lists nowhere, as far as somebody knows them.
    ``at_once`` is how many calls run side by side at most.
    """

    listing: str
    filters: Filters = NO_FILTERS
    flat: str | None = None
    as_template: str | None = None
    settled: bool = False
    in_detail: bool = False
    keep_unknown: bool = False
    at_once: int = 2
    known: tuple[int, ...] | None = None

    def prepare(self, output: "OutputFile", load_catalogue: LoadCatalogue) -> "PreparedExport":
        """Check the request before the first call.

        Raises ``UsageError`` for a listing, filters, a layout or a format that cannot be; whether
        the files can be written is not looked at yet.
        """
        listing, layout = _checked(self, load_catalogue)
        form = output_format(output.path, output.format)
        return PreparedExport(
            request=self,
            output=output,
            listing=listing,
            filters=self.filters,
            layout=layout,
            format=form,
            files=output_paths(output.path, form, layout.sheets(listing)),
            open_output=output_opener(form, output.csv_dialect, layout.template),
        )


@dataclass(frozen=True, slots=True)
class OutputFile:
    """File that an export writes; without a format the extension tells."""

    path: Path
    format: str | None = None
    csv_dialect: str | None = None

    def require_writable(self) -> None:
        """Raise ``UsageError`` when the file is a folder, or its folder does not exist."""
        path = self.path
        if not path.parent.is_dir():
            raise UsageError(
                Text(
                    pt="A pasta {folder} não existe.", en="The folder {folder} does not exist."
                ).format(folder=path.parent)
            )
        if path.is_dir():
            raise UsageError(
                Text(pt="{file} é uma pasta.", en="{file} is a folder.").format(file=path)
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedExport:
    """Request that can be fulfilled, and the files that it will write.

    ``filters`` are those of the request, or narrower ones (``since_last``).
    """

    request: ExportRequest
    output: OutputFile
    listing: Listing
    filters: Filters
    layout: Layout
    format: str
    files: Sequence[Path]
    open_output: OpenOutput

    def require_replaceable(self) -> None:
        """Raise ``UsageError`` when a file would be replaced that no export wrote so.

        Workbooks carry a mark; in other formats nothing does, and no file is replaced.
        """
        for path in self.files:
            if self.format == _WORKBOOK:
                WorkbookMark.EXPORTED.require_own(path, unedited=True)
            else:
                require_new(path)

    def leftover_files(self) -> list[Path]:
        """Return files of other exports that look like further sheets of this one."""
        every = {sheet.name for one in LISTINGS.values() for sheet in one.in_detail().sheets[1:]}
        path = self.output.path
        named = {path.with_name(f"{path.stem}.{name}{path.suffix}") for name in every}
        return sorted(found for found in named.difference(self.files) if found.exists())

    def since_last(self, folder: Path, profile: str) -> "PreparedExport":
        """Return the export from where the last complete one with the same filters ended.

        ``folder`` keeps the state. Raises ``UsageError`` for a listing that has no such moment,
        or when a start is given too.
        """
        filters = LastRuns(folder, profile).continued(self.listing, self.filters)
        return replace(self, filters=filters)

    @property
    def takes_known(self) -> bool:
        """True when records whose numbers are known from elsewhere belong to it."""
        return self.listing.takes_known(self.request.filters)

    def with_known(self, known: tuple[int, ...]) -> "PreparedExport":
        """Return the same export, of records whose numbers are known."""
        return replace(self, request=replace(self.request, known=known))

    def remember(self, folder: Path, profile: str, result: ExportResult) -> None:
        """Remember for ``since_last`` how far the export came, if it is complete."""
        LastRuns(folder, profile).record(self.listing, self.request.filters, result)

    def resume_store(self, folder: Path, target: Target, *, fresh: bool) -> ResumeStore:
        """Return where this request keeps fetched windows, for the next run after a failure.

        ``fresh`` leaves those of an earlier run unused.
        """
        request, layout = self.request, self.layout
        sheets = layout.sheets(self.listing)
        columns = [[s.name, *(column.name for column in s.columns)] for s in sheets]
        given = {name.value: str(value) for name, value in sorted(self.filters.given.items())}
        form = [self.format, self.output.csv_dialect, request.as_template]
        how = [layout.flat, layout.in_detail, layout.keep_unknown, columns, *form]
        whom = [target.profile, target.base_url, target.email]
        asked = [__version__, *whom, self.listing.name, given, *how]
        return ResumeStore(folder / "unfinished", asked, fresh)

    def run(
        self,
        client: Client,
        *,
        on_progress: OnProgress = lambda _progress: None,
        attachments: Path | None = None,
        resume: ResumeStore | None = None,
    ) -> ExportResult:
        """Fetch the records and write the files, each whole or not at all.

        ``attachments`` is the folder for the attached files, which are not downloaded without
        one; ``resume`` keeps finished windows of a run that fails, and uses those of the last
        one. Raises ``UsageError`` when a file cannot be written, and what ``Client.records``
        raises.
        """
        downloads = None
        if attachments is not None:
            downloads = AttachmentDownloads(attachments, self.listing, client.target.base_url)
        result = export_listing(
            client,
            self.listing,
            self.filters,
            self.output.path,
            self.open_output,
            layout=self.layout,
            on_progress=on_progress,
            on_record=downloads.take if downloads else None,
            at_once=self.request.at_once,
            unfinished=resume,
            known=self.request.known,
        )
        if downloads is None:
            return result
        problems = tuple(downloads.problems)
        return replace(result, attachments=downloads.files, attachment_problems=problems)


def export_frames(
    client: Client,
    request: ExportRequest,
    load_catalogue: LoadCatalogue,
    *,
    on_progress: OnProgress = lambda _progress: None,
) -> "tuple[ExportResult, dict[str, pd.DataFrame]]":
    """Export a listing into DataFrames: the records under its name, each list within by its own.

    Money is ``Decimal`` (dtype ``object``), dates are ``datetime64[us]``, whole numbers ``Int64``,
    other numbers ``Float64``, yes or no ``boolean``, codes and other text ``str``. Raises
    ``UsageError`` for a request that cannot be, before the first call; later what
    ``Client.records`` raises.
    """
    # Here, not above: pandas takes its time to import, and files do not need it.
    from xlbridge.export.formats.frames import FrameOutput

    listing, layout = _checked(request, load_catalogue)
    output = FrameOutput()
    with temporary_folder() as folder:
        result = export_listing(
            client,
            listing,
            request.filters,
            folder / listing.name,
            output.open,
            layout=layout,
            on_progress=on_progress,
            at_once=request.at_once,
            known=request.known,
        )
    return result, output.frames


def _checked(request: ExportRequest, load_catalogue: LoadCatalogue) -> tuple[Listing, Layout]:
    listing = find_listing(request.listing)
    listing.check(request.filters, request.known)
    template = None
    if request.as_template is not None:
        catalogue, name = load_catalogue(), request.as_template
        template = catalogue.named(name) if name else resource_of(listing, catalogue.values())
    layout = Layout(
        flat=request.flat,
        in_detail=request.in_detail,
        keep_unknown=request.keep_unknown,
        template=template,
        settled=request.settled,
    )
    layout.check(listing)
    return listing, layout


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
    listing.check(filters, known)
    layout.check(listing)
    OutputFile(output).require_writable()
    wanted = listing.in_detail() if layout.in_detail else listing
    sheets = layout.sheets(wanted)
    begun = datetime.now()
    with (
        unfinished.place(begun) if unfinished else temporary_folder() as folder,
        open_book(output, sheets) as book,
    ):
        forms = list(map(book.form, sheets))
        arrange, keep_unknown = layout.rearrange(wanted), layout.keep_unknown
        recipe = line_spec(
            wanted,
            sheets,
            forms,
            arrange,
            keep_unknown=keep_unknown,
            filters=filters,
            template=layout.template,
        )

        def take(part: Part) -> None:
            for place in range(len(sheets)):
                book.take(place, part.lines(place))

        with closing(PartStore(folder, recipe.tables, take)) as store:
            fetcher = Fetcher(
                client,
                wanted,
                filters,
                store,
                recipe,
                on_record=on_record,
                on_progress=on_progress,
                at_once=at_once,
                now=begun,
                known=known,
            )
            fetcher.run()
            result, tables = _settled(listing, fetcher, store, recipe)
            book.write(tables, _summary(listing, filters, result))
    return result


def _settled(
    listing: Listing, fetcher: Fetcher, store: PartStore, recipe: LineSpec
) -> tuple[ExportResult, list[Table]]:
    """Leave out what came twice; return what the export came to, and the tables to write."""
    replaced = store.settle()
    tables = list(_tables(store, recipe.sheets))
    result = ExportResult(
        listing=listing.name,
        records=sum(window.records for window in fetcher.fetched) - replaced,
        sheets={table.sheet.name: table.rows for table in tables},
        windows=tuple(fetcher.fetched),
        holes=tuple(fetcher.holes),
        missing=tuple(sorted(fetcher.missing, key=_key_order)),
        calls=fetcher.calls,
        replaced=replaced,
        repeated=store.repeated_keys(SHOWN_KEYS),
        reused=fetcher.reused,
        newest=fetcher.newest,
        totals=total_tables(listing.totals, store.blocks(recipe.totals_place)),
        begun=fetcher.begun,
        excess=dict(fetcher.excess),
        seen=fetcher.seen,
        zones=store.zones(),
        left_out=add_up_left_out(store.blocks(recipe.left_out_place))
        if recipe.left_out_place
        else {},
    )
    return result, tables


def _tables(store: PartStore, sheets: Sequence[Sheet]) -> Iterator[Table]:
    for place, sheet in enumerate(sheets):
        widths = store.widths(place, len(sheet.columns))
        yield Table(sheet, store.rows(place), widths, store.blocks(place), store.files(place))


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
