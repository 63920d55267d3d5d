"""Connection to one environment: upload reports, export listings into frames, call operations."""

import datetime as dt
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from types import NoneType, TracebackType
from typing import Any, Self, get_args

import pandas as pd

from xlbridge.client import Client
from xlbridge.connection import connect as connect_client
from xlbridge.errors import require_choice
from xlbridge.export import (
    ExportProgress,
    ExportRequest,
    Filter,
    Filters,
    export_frames,
    find_listing,
)
from xlbridge.library.reports import HOW_TO_NAME, Report, existing_folder, require_type
from xlbridge.library.uploads import (
    HOW_TO_CONFIRM,
    Numbers,
    Processing,
    UploadOutcome,
    UploadPlan,
    consent_of,
    plan_records,
    plan_report,
    process_listing,
    require_positive,
    upload_report,
)
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.resources import load_catalogue
from xlbridge.settings import SCHEMAS_VARIABLE, Settings, read_settings
from xlbridge.upload import (
    RequestedMode,
    UploadOptions,
    known_numbers,
)
from xlbridge.upload.planning import ApproveAll

Moment = str | dt.date
"""A date or a datetime, or the text of one (``2026-10-01``, ``01/10/2026 18:30``)."""

Code = int | str
"""The number of a record, or the text of one."""

Codes = Code | Iterable[Code]
"""One code or several; a text may be a range of them (``1-500``)."""


@dataclass(frozen=True, slots=True)
class ExportedFrames:
    """A listing as DataFrames.

    ``frames`` has the records under the listing's own name, and a DataFrame for each list within
    a record (``parcelas``, ``produtos``), joined by the key columns in front. Money is ``Decimal``
    (dtype ``object``), dates are ``datetime64[us]`` without a time zone, whole numbers ``Int64``,
    other numbers ``Float64``, yes or no ``boolean``, codes and other text ``str``.

    ``manifest`` is what ``xlbridge export --manifest`` writes: counts, windows, holes, what is
    missing. ``complete`` tells whether nothing can be missing.
    """

    listing: str
    records: int
    complete: bool
    frames: dict[str, pd.DataFrame] = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)


def _filter_text(name: Filter, value: object) -> object:
    """Return a filter's value as users write it, which is how it is read."""
    if value is None or name.type.is_flag:
        return value
    if name.type.is_repeatable:
        values = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        return tuple(map(str, values))
    return str(value)


_LOGGER = logging.getLogger("xlbridge")


class Connection:
    """An environment of the business system. Made by ``connect``; use it as a context manager."""

    def __init__(self, settings: Settings, client: Client, closing: ExitStack) -> None:
        self._settings = settings
        self._client = client
        self._closing = closing

    @property
    def client(self) -> Client:
        """Operations of the interface by their names: ``client.registry.clients.list(…)``.

        See ``docs/reference/interface.md`` and ``xlbridge.client.Client``.
        """
        return self._client

    @property
    def profile(self) -> str:
        """The name of the environment; ``sandbox`` for the embedded one."""
        return self._client.target.profile

    def upload(
        self,
        report: Report,
        *,
        mode: RequestedMode = "auto",
        confirm: str | None = None,
        yes: bool = False,
        update: bool = False,
        clear: bool = False,
        again: str | None = None,
        create_unread: bool = False,
        good_rows: bool = False,
        chunk_rows: int | None = None,
        at_once: int = 4,
        preview: bool = True,
        snapshot: bool = True,
        wait: bool = True,
        on_progress: Callable[[str], None] = lambda _told: None,
    ) -> UploadOutcome:
        """Send the rows of a report without errors, as ``xlbridge upload`` does.

        Each row is looked up first and created, updated, left unchanged or held, as ``plan`` says
        beforehand. Writing needs consent: ``confirm`` is a token (``ROWS:DIGEST8``) for just these
        actions, which ``plan`` gives; ``yes=True`` agrees to any, and is refused for a production
        environment. ``mode`` is ``auto``, ``direct``, ``queue``, ``records`` (one call per record,
        ``at_once`` of them at the same time) or ``preview`` (the system reads the sheet, nothing is
        written). ``update`` changes records that are there with other
        values, ``clear`` empties their fields where cells are empty; ``again`` is the reason for
        creating what exists, ``create_unread`` creates what could not be looked up, ``good_rows``
        leaves out the rows that have errors. A sheet of more
        than ``chunk_rows`` rows is sent in parts. ``preview=False`` leaves out the preview before
        the first write, ``snapshot=False`` the look-up of the rows' records, ``wait=False`` returns
        once the system has the file in its queue. ``on_progress`` is told each step in words.

        A report with errors is not sent without ``good_rows``: the outcome is ``rejected``, with
        its errors. Every job is in the journal before anything is sent, so ``xlbridge resume``
        continues one that was interrupted; the exception's notes name it. The workbook of a
        DataFrame is kept in ``XLBRIDGE_HOME``, in ``frames``.

        Raises ``UsageError`` without consent, for a token of another plan and for a mode that the
        resource does not take; ``TransportError`` or ``AuthenticationFailed`` when nothing was
        applied, ``InDoubt`` when the connection was lost while the outcome was awaited or when only
        a part was applied. Source: the spec, Importing files; ``docs/upload-protocol.md``.
        """
        require_choice("mode", mode, get_args(RequestedMode))
        require_positive("at_once", at_once)
        require_positive("chunk_rows", 1 if chunk_rows is None else chunk_rows)
        options = UploadOptions(
            consent=consent_of(mode, confirm, yes=yes),
            mode=mode,
            update=update,
            clear=clear,
            again=again,
            create_unread=create_unread,
            good_rows=good_rows,
            chunk_rows=chunk_rows,
            at_once=at_once,
            look_up=snapshot,
            preview=preview,
            wait=wait,
            progress=lambda step: on_progress(str(step)),
        )
        return upload_report(self._settings, self._client, report, options)

    def plan(
        self,
        report: Report,
        *,
        update: bool = False,
        clear: bool = False,
        again: str | None = None,
        create_unread: bool = False,
        good_rows: bool = False,
        on_progress: Callable[[str], None] = lambda _told: None,
    ) -> UploadPlan:
        """Return the action of each row of a report, without writing anything.

        The system is asked for the rows' records, and the journal for the rows that other uploads
        claim. The options are those of ``upload``, which takes the plan's ``token`` as ``confirm``.

        Raises ``UsageError`` for a report with errors, without ``good_rows``; ``TransportError``,
        ``AuthenticationFailed`` or ``RemoteRejected`` when the system cannot be asked. Source:
        ``docs/upload-protocol.md``.
        """
        options = UploadOptions(
            consent=ApproveAll(),
            update=update,
            clear=clear,
            again=again,
            create_unread=create_unread,
            good_rows=good_rows,
            progress=lambda step: on_progress(str(step)),
        )
        return plan_report(self._settings, self._client, report, options)

    def process(
        self,
        listing: str,
        ids: Sequence[int] | None = None,
        *,
        file: str | PathLike[str] | None = None,
        sheet: str | None = None,
        confirm: str | None = None,
        yes: bool = False,
        again: str | None = None,
        at_once: int = 1,
        on_progress: Callable[[str], None] = lambda _told: None,
    ) -> Processing:
        """Take records to their next state, as ``xlbridge process`` does; this is final.

        ``listing`` is ``pedidos``, ``nfe``, ``nfse``, ``inventario`` or ``importacao``. ``ids`` are
        the records' numbers; ``file`` is a workbook with a column of them, as ``export`` writes it.
        Consent is given as for ``upload``: ``confirm`` is the token of ``plan_process``,
        ``yes=True`` agrees to any. ``again`` is the reason to process what this journal has
        processed before; ``at_once`` records are processed side by side. What is done already is
        left as it is, and no record is processed twice.

        Raises ``UsageError`` without consent, for a token of another plan and for numbers that
        cannot be; ``TransportError`` or ``AuthenticationFailed`` when the system cannot be asked,
        ``InDoubt`` when the outcome of a record is open then. Source: the spec, States and
        transitions; ``docs/upload-protocol.md``.
        """
        options = UploadOptions(
            consent=consent_of("auto", confirm, yes=yes, hint=HOW_TO_CONFIRM),
            again=again,
            progress=lambda step: on_progress(str(step)),
        )
        numbers = Numbers(ids, file, sheet, at_once)
        return process_listing(self._settings, self._client, listing, numbers, options)

    def plan_process(
        self,
        listing: str,
        ids: Sequence[int] | None = None,
        *,
        file: str | PathLike[str] | None = None,
        sheet: str | None = None,
        again: str | None = None,
        at_once: int = 1,
    ) -> Processing:
        """Return what ``process`` would do with each record; nothing is sent.

        Records that would be processed have the outcome ``unknown``. The parameters are those of
        ``process``, which takes the plan's ``token`` as ``confirm``. Raises as ``process`` does.
        """
        numbers = Numbers(ids, file, sheet, at_once)
        return plan_records(self._settings, self._client, listing, numbers, again)

    def export(
        self,
        listing: str,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        branch: Codes | None = None,
        client: Codes | None = None,
        supplier: Codes | None = None,
        product: Codes | None = None,
        account: Codes | None = None,
        cost_centre: Codes | None = None,
        category: str | None = None,
        project: Code | None = None,
        year: Code | None = None,
        month: Code | None = None,
        document: str | None = None,
        idws: str | None = None,
        id: Codes | None = None,  # noqa: A002 - the filter's name
        active: bool = False,
        with_balance: bool = False,
        not_emitted: bool = False,
        unfinished: bool = False,
        limit: int | None = None,
        flat: str | None = None,
        as_template: str | None = None,
        settled: bool = False,
        with_files: bool = False,
        keep_unknown: bool = False,
        at_once: int = 2,
        on_progress: Callable[[ExportProgress], None] = lambda _progress: None,
    ) -> ExportedFrames:
        """Export a listing into DataFrames, as ``xlbridge export`` does into files.

        ``listing`` is one of ``available_listings``, which names the filters that it takes; a
        filter that is None does not narrow. ``start`` and ``end`` bound the last update, to the
        minute, both included; a day without a time as ``end`` means all of that day. ``branch``,
        ``client``, ``supplier``, ``product``, ``account``, ``cost_centre`` and ``id`` may be
        several. ``flat`` joins the list of that name to its records in one DataFrame;
        ``as_template`` gives the columns of a resource's import sheet, ready for ``validate``,
        settled titles only with ``settled``; ``with_files``
        reads each record by its key, with its attached files; ``keep_unknown`` keeps fields that
        the interface does not show, as JSON in the column ``outrosCampos``. ``at_once`` is how many
        calls run side by side.

        Raises ``UsageError`` for a listing, filter or layout that cannot be, before the first
        call; ``TransportError``, ``AuthenticationFailed`` or ``RemoteRejected`` when the system
        does not answer or refuses. Source: the spec's section of each listing;
        ``docs/exports.md``.
        """
        require_positive("at_once", at_once)
        # A parameter is called as its filter is, but for these two.
        given = {name.upper(): one for name, one in locals().items()} | {"FROM": start, "TO": end}
        wanted = find_listing(listing)
        filters = Filters.parse({one: _filter_text(one, given[one.name]) for one in Filter})
        known = None
        if wanted.accepts_known_ids(filters):
            known = known_numbers(self._settings, wanted.name, self._client)
        request = ExportRequest(
            listing=wanted.name,
            filters=filters,
            flat=flat,
            as_template=as_template,
            settled=settled,
            in_detail=with_files,
            keep_unknown=keep_unknown,
            at_once=at_once,
            known_ids=known,
        )
        load = partial(load_catalogue, self._settings.schemas)
        exported, frames = export_frames(self._client, request, load, on_progress=on_progress)
        return ExportedFrames(
            listing=exported.listing,
            records=exported.records,
            complete=exported.complete,
            frames=frames,
            manifest=exported.manifest(),
        )

    def close(self) -> None:
        """Close the connections, and end the embedded sandbox where this started it."""
        self._closing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Connection {self.profile}: {self._client.target.base_url}>"


def connect(
    profile: str | None = None, *, schemas: str | PathLike[str] | None = None
) -> Connection:
    """Connect to an environment, chosen as the commands choose it.

    ``profile`` names one of ``profiles.toml``. Without it the environment variables
    (``XLBRIDGE_PROFILE``, ``XLBRIDGE_BASE_URL``, …) or the file's default tell; where nothing is
    configured it is the embedded sandbox, which runs until the connection is closed. Nothing is
    sent before the first call. ``schemas`` is a folder of own schema files in place of the one in
    ``XLBRIDGE_HOME``.

    Raises ``ConfigError`` when there is no such profile, it has no credentials, or the embedded
    sandbox is needed and the extra ``sandbox`` is not installed; ``TransportError`` when the
    sandbox does not come up. Source: the spec, What the service does (two environments) and
    Authentication; ``docs/how-to/profiles.md``.
    """
    require_type("profile", profile, str, NoneType, hint=HOW_TO_NAME.format(name="homolog"))
    given = {} if schemas is None else {SCHEMAS_VARIABLE: str(existing_folder(schemas))}
    settings = read_settings(os.environ | given)
    settings = settings if profile is None else settings.with_profile(profile)
    settings = settings_for(settings, choose_profile(settings))
    with ExitStack() as opened:
        client = opened.enter_context(connect_client(settings, partial(_LOGGER.info, "%s")))
        return Connection(settings, client, opened.pop_all())
