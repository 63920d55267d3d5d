"""Export of a listing from a request to files or DataFrames, without a terminal.

Commands, batches and the Python API share it: a request is checked before the first
call, then run with a progress callback.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from xlbridge import __version__
from xlbridge.client import Client, Target
from xlbridge.client.registries import Registries
from xlbridge.client.time_windows import CLOCK_TOLERANCE, UPDATE_FIELD, update_time
from xlbridge.errors import RemoteRejected, UsageError, XlbridgeError
from xlbridge.export.all_listings import LISTINGS, find_listing
from xlbridge.export.attachments import AttachmentDownloads
from xlbridge.export.fetcher import Fetcher, OnProgress
from xlbridge.export.filters import NO_FILTERS, Filter, Filters
from xlbridge.export.formats.all_formats import (
    WORKBOOK_FORMATS,
    OutputFile,
    output_format,
    output_opener,
)
from xlbridge.export.formats.base import OpenOutput, Table, sheet_paths
from xlbridge.export.formats.data import FrameOutput
from xlbridge.export.layout import Layout, resource_of, resources_with, sum_left_out
from xlbridge.export.listing_model import Listing
from xlbridge.export.part_reader import LineSpec
from xlbridge.export.part_store import PartStore, ResumeStore, temporary_folder
from xlbridge.export.result import SHOWN_KEYS, ExportResult
from xlbridge.export.sheets import RecordNames, total_tables
from xlbridge.files import make_private_folder, replace_atomically, require_new
from xlbridge.i18n import Text
from xlbridge.resources import Catalogue
from xlbridge.resources.references import REFERENCES
from xlbridge.workbook import WorkbookMark

if TYPE_CHECKING:
    import pandas as pd


LoadCatalogue = Callable[[], Catalogue]
"""Loads the resources, which only an export in the layout of an import sheet needs."""

ReadKnownIds = Callable[[str], tuple[int, ...]]
"""Function that returns the numbers of a listing's records that are known from elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """Listing to export, with its layout.

    ``flat`` names the list within a record that is joined to it in one sheet; ``as_template`` the
    resource whose import sheet is written, empty for the listing's own. ``in_detail`` reads each
    record by its key, with its attached files; ``keep_unknown`` keeps undocumented fields;
    ``settled`` accepts settled titles in an import sheet. ``known_ids`` are numbers of records
    that no listing names, None if unknown. ``at_once`` is the maximum number of concurrent calls.
    """

    listing: str
    filters: Filters = NO_FILTERS
    flat: str | None = None
    as_template: str | None = None
    settled: bool = False
    in_detail: bool = False
    keep_unknown: bool = False
    at_once: int = 2
    known_ids: tuple[int, ...] | None = None

    def prepare(self, output: OutputFile, load_catalogue: LoadCatalogue) -> "PreparedExport":
        """Check the request before the first call.

        Raises ``UsageError`` for an invalid listing, filter, layout or format; does not check
        whether the files can be written.
        """
        file_format = output_format(output.path, output.format)
        is_workbook = file_format in WORKBOOK_FORMATS
        for_people = is_workbook and output.headers != "names"
        named = for_people and not output.codes_only
        layout = self.layout(load_catalogue, for_people=for_people, named=named)
        # A row for each item is no row of a record.
        fitting = self.flat is None and resources_with(layout.listing, load_catalogue().values())
        return PreparedExport(
            request=self,
            output=output,
            filters=self.filters,
            layout=layout,
            format=file_format,
            files=[output.path] if is_workbook else sheet_paths(output.path, layout.sheets),
            open_output=output_opener(
                file_format,
                output.csv_dialect,
                layout.template,
                output.headers,
                fitting[0].name if fitting and len(fitting) == 1 else "",
            ),
            registries=layout.registries(),
        )

    def layout(
        self, load_catalogue: LoadCatalogue, *, for_people: bool = False, named: bool = False
    ) -> Layout:
        """Return the layout: ``for_people``, with names beside codes if ``named``.

        Raises ``UsageError`` for an invalid listing, filter or layout.
        """
        listing = find_listing(self.listing)
        listing.check(self.filters, self.known_ids)
        template = None
        if self.as_template is not None:
            catalogue, name = load_catalogue(), self.as_template
            template = catalogue.named(name) if name else resource_of(listing, catalogue.values())
        return Layout(
            listing=listing,
            flat=self.flat,
            in_detail=self.in_detail,
            keep_unknown=self.keep_unknown,
            template=template,
            settled=self.settled,
            for_people=for_people and template is None,
            named=named and template is None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedExport:
    """Checked request, and the files that it will write.

    ``filters`` are those of the request, possibly narrowed by ``since``; ``registries`` are those
    whose names the files have.
    """

    request: ExportRequest
    output: OutputFile
    filters: Filters
    layout: Layout
    format: str
    files: Sequence[Path]
    open_output: OpenOutput
    registries: Collection[str]

    @property
    def listing(self) -> Listing:
        """Listing to export."""
        return self.layout.listing

    def require_replaceable(self) -> None:
        """Raise ``UsageError`` if an existing file is not an unedited export.

        Only workbooks carry the mark of an export: other formats never replace a file.
        """
        for path in self.files:
            if self.format == "xlsx":
                WorkbookMark.EXPORTED.require_mark(path, unedited=True)
            else:
                require_new(path)

    def leftover_files(self) -> list[Path]:
        """Return existing files of other exports that look like further sheets of this one."""
        path = self.output.path
        beside = path.parent.glob(f"{escape(path.stem)}.*{escape(path.suffix)}")
        found = set(beside).difference(self.files)
        if not found:  # The sheets of all listings take long to name.
            return []
        names = {sheet.name for one in LISTINGS.values() for sheet in one.in_detail().sheets[1:]}
        return sorted(found & {path.with_name(f"{path.stem}.{n}{path.suffix}") for n in names})

    def require_chainable(self) -> None:
        """Raise ``UsageError`` if the listing cannot be filtered by the last update, or is."""
        if Filter.FROM in self.filters.values:
            raise UsageError(_FROM_IN_CHAIN)
        if not self.listing.is_windowed:
            raise UsageError(_NOT_CHAINABLE.format(listing=self.listing.name))

    def chain(self, folder: Path, client: Client, name: str | None) -> "Chain":
        """Return the chain that the export continues: that of a name, or its own.

        ``folder`` holds the state. Raises ``UsageError`` if the name is that of a chain of another
        system or listing.
        """
        system = f"{client.target.base_url}#{client.target.email.casefold()}"
        with suppress(RemoteRejected):
            system = client.identity
        return Chain.open(folder, system, self.listing, self.request.filters, name)

    def since(self, chain: "Chain") -> "PreparedExport":
        """Return the export starting where the last complete run of a chain ended."""
        if chain.reached is None:
            return self
        return replace(self, filters=self.filters.within(chain.reached, self.filters.end))

    def with_known_ids(self, read: ReadKnownIds) -> "PreparedExport":
        """Return the same export, with the numbers that ``read`` returns if they are part of it."""
        if not self.listing.accepts_known_ids(self.request.filters):
            return self
        return replace(self, request=replace(self.request, known_ids=read(self.listing.name)))

    def resume_store(self, folder: Path, target: Target, *, fresh: bool) -> ResumeStore:
        """Return the store of this request's windows, for the next run after a failure.

        ``fresh`` discards those of an earlier run.
        """
        layout = self.layout
        request = [
            __version__,
            *(target.profile, target.base_url, target.email),
            self.listing.name,
            {name.value: str(value) for name, value in sorted(self.filters.values.items())},
            *(layout.flat, layout.in_detail, layout.keep_unknown),
            [[sheet.name, *(column.name for column in sheet.columns)] for sheet in layout.sheets],
            *(self.format, self.output.csv_dialect, self.request.as_template),
        ]
        return ResumeStore(folder / "unfinished", request, fresh)

    def run(
        self,
        client: Client,
        *,
        on_progress: OnProgress = lambda _progress: None,
        attachments: Path | None = None,
        resume: ResumeStore | None = None,
        registries: Registries | None = None,
    ) -> ExportResult:
        """Fetch the records and write the files atomically, also after an interruption.

        ``attachments`` is the folder for attached files, which are not downloaded without one;
        ``resume`` stores finished windows of a failed run, and provides those of the last one;
        ``registries`` are those that other exports from the same system have read.
        A workbook carries the system's identity. Raises ``UsageError`` if a file cannot be
        written, and what ``Client.records`` raises.
        """
        downloads = None
        if attachments is not None:
            downloads = AttachmentDownloads(attachments, self.listing, client.target.base_url)
        self.output.require_writable()
        sheets = self.layout.sheets
        system = ""
        # A system that does not tell what it is leaves no mark.
        with suppress(RemoteRejected):
            system = client.identity if self.format in WORKBOOK_FORMATS else ""
        started = datetime.now()
        names, unnamed = self._read_names(registries or Registries(client))
        client.unknown_fields.pop(self.listing.operation.name, None)
        with (
            resume.open(started) if resume else temporary_folder() as folder,
            self.open_output(self.output.path, sheets) as writer,
        ):
            spec = self.layout.line_spec(self.filters, list(map(writer.line_format, sheets)), names)
            with closing(PartStore(folder, spec.line_files)) as store:
                fetcher = Fetcher(
                    client,
                    self.layout.fetched,
                    self.filters,
                    store,
                    spec,
                    on_record=downloads.download if downloads else None,
                    on_progress=on_progress,
                    at_once=self.request.at_once,
                    now=started,
                    known_ids=self.request.known_ids,
                )
                fetcher.run()
                unknown = client.unknown_fields.pop(self.listing.operation.name, ())
                result = replace(
                    self._result(fetcher, store, spec, client.target),
                    unknown=tuple(unknown),
                    unnamed=unnamed,
                )
                widths = store.notes().widths or [[0] * len(sheet.columns) for sheet in sheets]
                tables = [
                    Table(
                        sheet.with_text_columns(result.as_text),
                        result.sheets[sheet.name],
                        widths[index],
                        partial(store.lines, index),
                        store.sums(index),
                    )
                    for index, sheet in enumerate(sheets)
                ]
                cover = result.cover(self.output.path.name, self.listing, self.filters)
                writer.write(tables, cover, system)
        if downloads is None:
            return result
        problems = tuple(downloads.problems)
        return replace(result, attachments=downloads.files, attachment_problems=problems)

    def _read_names(self, registries: Registries) -> tuple[RecordNames, tuple[Text, ...]]:
        """Return the names for the sheets, and what to say of registries that cannot be read."""
        names: dict[str, Mapping[str, str]] = {}
        problems = []
        for name in self.registries:
            reference = REFERENCES[name]
            try:
                names[name] = registries.names(reference)
            except XlbridgeError as error:
                problems.append(_UNNAMED.format(registry=reference.title, reason=error.message))
        return names, tuple(problems)

    def _result(
        self, fetcher: Fetcher, store: PartStore, spec: LineSpec, target: Target
    ) -> ExportResult:
        replaced, notes = store.find_replaced(), store.notes()

        def key_order(key: Mapping[str, object]) -> list[tuple[int, str]]:
            texts = map(str, key.values())
            return [(int(text) if text.isdecimal() else 0, text) for text in texts]

        return ExportResult(
            listing=self.listing.name,
            target=target.to_json(),
            records=sum(window.records for window in fetcher.fetched) - replaced,
            sheets={sheet.name: store.rows(index) for index, sheet in enumerate(spec.sheets)},
            windows=tuple(fetcher.fetched),
            holes=tuple(fetcher.holes),
            missing=tuple(sorted(fetcher.reader.missing, key=key_order)),
            calls=fetcher.reader.calls,
            replaced=replaced,
            repeated=store.repeated_keys(SHOWN_KEYS),
            clock=fetcher.reader.clock,
            future=tuple(store.future()),
            lost=store.lost_keys(SHOWN_KEYS),
            ends=fetcher.ends,
            reused=fetcher.reused,
            last_update=fetcher.last_update,
            totals=total_tables(
                self.listing.totals,
                store.lines(spec.totals_index),
                fetcher.started.date(),
                spec.names,
            ),
            started=fetcher.started,
            excess=dict(fetcher.excess),
            inferred_values=fetcher.inferred_values,
            zones=notes.zones,
            as_text=notes.odd_values,
            formulas=notes.risky_texts,
            left_out=sum_left_out(store.lines(spec.left_out_index)),
        )


_UNNAMED = Text(
    pt="Códigos sem nomes ao lado, pois {registry} não puderam ser lidos: {reason}",
    en="Codes have no names beside them, as {registry} could not be read: {reason}",
)
_FROM_IN_CHAIN = Text(
    pt="--since-last substitui --from; use um dos dois.",
    en="--since-last replaces --from; use one of the two.",
)
_NOT_CHAINABLE = Text(
    pt="A listagem {listing} não serve para --since-last: ela não é filtrada pela última "
    "atualização dos seus próprios registros.",
    en="The listing {listing} cannot be used with --since-last: it is not filtered by the last "
    "update of its own records.",
)


_OVERLAP = timedelta(minutes=5)
"""Maximum delay before a change shows up in a listing; this much is requested again."""

_STATE_VERSION = 2


@dataclass(frozen=True, slots=True)
class Chain:
    """Chain of exports: each run of ``--since-last`` continues where the last complete one ended.

    A chain belongs to a system, a listing and its filters, or to a name; its state is in the file
    ``path``. Only its own runs move it, and never beyond the system's own clock: a record from the
    future would silence it.

    ``reached`` is the time up to which its exports are complete, None before the first run.
    """

    path: Path
    system: str
    listing: str
    reached: datetime | None

    @classmethod
    def open(
        cls, folder: Path, system: str, listing: Listing, filters: Filters, name: str | None
    ) -> Self:
        """Return the chain of a name, or that of the system, the listing and the filters.

        Raises ``UsageError`` for a name that is a chain of another system or listing.
        """
        others = {str(n): str(v) for n, v in filters.values.items() if n is not Filter.TO}
        identity = [system, listing.name, others] if name is None else ["", name]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
        path = folder / f"chain-{digest}.json"
        if not path.exists():
            return cls(path, system, listing.name, None)
        state = json.loads(path.read_text(encoding="utf-8"))
        if (state["system"], state["listing"]) != (system, listing.name):
            raise UsageError(
                Text(
                    pt="A sequência {name!r} é da listagem {listing} de {system}.",
                    en="The chain {name!r} is of the listing {listing} of {system}.",
                ).format(name=name, listing=state["listing"], system=state["system"]),
                Text(pt="Dê outro nome em --chain.", en="Give another name with --chain."),
            )
        return cls(path, system, listing.name, datetime.fromisoformat(state["reached"]))

    def save(self, filters: Filters, result: ExportResult) -> None:
        """Store the end of a complete export; one with a gap or an end date changes nothing."""
        if not result.complete or filters.end is not None:
            return
        # By the remote clock, the time up to which the export is certain to be complete.
        reached = result.started - CLOCK_TOLERANCE
        if (last := update_time({UPDATE_FIELD: result.last_update})) is not None:
            reached = min(last, result.clock or last) - _OVERLAP
        reached = reached.replace(second=0, microsecond=0)
        if self.reached is not None:
            reached = max(reached, self.reached)
        make_private_folder(self.path.parent)
        state: dict[str, Any] = {
            "version": _STATE_VERSION,
            "system": self.system,
            "listing": self.listing,
            "reached": reached.isoformat(),
        }
        with replace_atomically(self.path) as temporary:
            temporary.write_text(json.dumps(state) + "\n", encoding="utf-8")


def export_frames(
    client: Client,
    request: ExportRequest,
    load_catalogue: LoadCatalogue,
    *,
    on_progress: OnProgress = lambda _progress: None,
) -> "tuple[ExportResult, dict[str, pd.DataFrame]]":
    """Export a listing into DataFrames by sheet name; ``FrameOutput`` has their types.

    Raises ``UsageError`` for an invalid request, before the first call; later what
    ``Client.records`` raises.
    """
    output = FrameOutput()
    layout = request.layout(load_catalogue)
    with temporary_folder() as folder:
        prepared = PreparedExport(
            request=request,
            output=OutputFile(folder / layout.listing.name),
            filters=request.filters,
            layout=layout,
            format="",
            files=(),
            open_output=output.open,
            registries=(),
        )
        result = prepared.run(client, on_progress=on_progress)
    return result, output.frames
