"""Connection to one environment: upload reports, export listings to DataFrames, call operations."""

import datetime as dt
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from os import PathLike
from pathlib import Path
from types import NoneType, TracebackType
from typing import TYPE_CHECKING, Any, Self, get_args

import pandas as pd

from xlbridge.batch.plan import with_month
from xlbridge.client import Client
from xlbridge.connection import connect as connect_client
from xlbridge.errors import UsageError, require_choice
from xlbridge.export import (
    ExportRequest,
    Filter,
    Filters,
    InvalidFilter,
    export_frames,
    find_listing,
)
from xlbridge.i18n import Text
from xlbridge.library.reports import (
    EXPECTED_NAME,
    Report,
    existing_folder,
    require_type,
    schema_file,
)
from xlbridge.library.sources import Source
from xlbridge.library.uploads import (
    HOW_TO_CONFIRM_PROCESS,
    BatchResult,
    NumberSource,
    Processing,
    UploadOutcome,
    UploadPlan,
    consent_for,
    list_jobs,
    plan_records,
    plan_report,
    process_listing,
    require_positive,
    resolve_doubt,
    resume_job,
    retry_report,
    run_plan,
    sending_options,
    undo_job,
    upload_report,
)
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.resources import load_catalogue
from xlbridge.settings import SCHEMAS_VARIABLE, Settings, read_settings

if TYPE_CHECKING:
    from xlbridge.library.reports import PanderaSchema
from xlbridge.upload import RequestedMode, UploadOptions, known_numbers
from xlbridge.upload.planning import ApproveAll

Moment = str | dt.date
"""A date or datetime, or its text (``2026-10-01``, ``01/10/2026 18:30``)."""

Code = int | str
"""The number of a record, or its text."""

Codes = Code | Iterable[Code]
"""One code or several; a text may be a range (``1-500``)."""


@dataclass(frozen=True, slots=True)
class ExportedFrames:
    """A listing exported to DataFrames.

    ``frames`` contains the records under the listing's name, and a DataFrame for each nested list
    (``parcelas``, ``produtos``), linked by its leading key columns. Money is ``Decimal`` (dtype
    ``object``), dates are ``datetime64[us]`` without a time zone, whole numbers ``Int64``, other
    numbers ``Float64``, yes or no ``boolean``, codes and other text ``str``.

    ``records`` is the number of records. ``complete`` is True if no record can be missing.
    ``manifest`` is the document that ``xlbridge export --manifest`` writes: counts, windows, holes.
    """

    listing: str
    records: int
    complete: bool
    frames: dict[str, pd.DataFrame] = field(repr=False)
    manifest: dict[str, Any] = field(repr=False)


def _filter_text(filter_: Filter, value: object) -> object:
    """Return a filter's value as the text that ``Filters.parse`` expects."""
    if value is None or filter_.type.is_flag:
        return value
    if filter_.type.is_repeatable:
        values = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        return tuple(map(str, values))
    return str(value)


def _upload_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a method that are options of an upload."""
    names = {option.name for option in fields(UploadOptions)}
    return {name: value for name, value in parameters.items() if name in names}


def _parameter(name: Filter) -> str:
    """Return the parameter of ``Connection.export`` for a filter."""
    return {Filter.FROM: "start", Filter.TO: "end"}.get(name, name.name.lower())


@contextmanager
def _parameter_names() -> Iterator[None]:
    """Name the parameters, rather than command options, in errors of filters."""
    try:
        yield
    except InvalidFilter as error:
        raise UsageError(error.message_with(_parameter), error.hint_with(_parameter)) from error


_LOGGER = logging.getLogger("xlbridge")


class Connection:
    """Connection to an environment, returned by ``connect``; use it as a context manager."""

    def __init__(self, base: Settings, client: Client, resources: ExitStack) -> None:
        self._base = base
        self._settings = settings_for(base, choose_profile(base))
        self._client = client
        self._resources = resources

    @property
    def client(self) -> Client:
        """Client for single operations of the interface: ``client.registry.clients.list(…)``.

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
        update_only: bool = False,
        delete: bool = False,
        clear: bool = False,
        again: str | None = None,
        create_unread: bool = False,
        good_rows: bool = False,
        foreign_numbers: bool = False,
        chunk_rows: int | None = None,
        at_once: int = 4,
        preview: bool = True,
        read_back: bool = True,
        wait: bool = True,
        allow_empty: bool = False,
        on_progress: Callable[[str], None] = lambda _step: None,
    ) -> UploadOutcome:
        """Upload the rows of a report, as ``xlbridge upload`` does.

        Each row is looked up first, then created, updated, left unchanged or held, as ``plan``
        previews. Writing needs consent: ``confirm`` is the ``token`` of a plan (``ROWS:DIGEST8``)
        and covers exactly its actions; ``yes=True`` covers any, and is refused for a production
        environment. ``mode`` is ``auto``, ``direct``, ``queue``, ``records`` (one call per record,
        ``at_once`` concurrent calls) or ``preview`` (the system checks the sheet, nothing is
        written).

        ``update`` changes existing records that differ, ``update_only`` creates none besides;
        ``delete`` deletes those that do not differ, and writes nothing else; ``clear`` also empties
        fields if the cell is empty. ``again`` is the reason for creating existing records again,
        ``create_unread`` creates records that could not be looked up, ``good_rows`` skips rows with
        errors, ``foreign_numbers`` ignores record numbers, which another system gave. A sheet of
        more than ``chunk_rows`` rows is sent in parts. ``preview=False`` skips the preview before
        the first write, ``read_back=False`` the look-up of records; ``wait=False`` returns once the
        system has queued the file. ``on_progress`` receives a message for each step.

        A report with errors is not sent without ``good_rows``: the outcome is ``rejected``, with
        its errors; one without rows is ``done`` with ``allow_empty``, if nothing else is wrong with
        it. Every job is in the journal before anything is sent. An unfinished one of
        exactly these rows is continued, as ``resume`` does, so a script may be run again after a
        crash; the exception's notes name the job. The workbook of a DataFrame is
        stored in ``XLBRIDGE_HOME/frames``.

        Raises ``UsageError`` without consent, for the token of another plan, for a mode that the
        resource does not support, and for record numbers of another system; ``TransportError`` or
        ``AuthenticationFailed`` if nothing was applied; ``InDoubt`` if the connection was lost
        while waiting for the outcome, or only a part was applied. Source: the spec, Importing
        files; ``docs/upload-protocol.md``.
        """
        chosen = _upload_options(locals())
        require_choice("mode", mode, get_args(RequestedMode))
        require_positive("at_once", at_once)
        require_positive("chunk_rows", 1 if chunk_rows is None else chunk_rows)
        options = UploadOptions(
            consent=consent_for(mode, confirm, yes=yes),
            look_up=read_back,
            progress=lambda step: on_progress(str(step)),
            **chosen,
        )
        return upload_report(self._settings, self._client, report, options, allow_empty=allow_empty)

    def plan(
        self,
        report: Report,
        *,
        update: bool = False,
        update_only: bool = False,
        delete: bool = False,
        clear: bool = False,
        again: str | None = None,
        create_unread: bool = False,
        good_rows: bool = False,
        foreign_numbers: bool = False,
        on_progress: Callable[[str], None] = lambda _step: None,
    ) -> UploadPlan:
        """Return the action of each row of a report, without writing anything.

        Looks up the rows' records in the system, and in the journal the rows claimed by other
        uploads. The options are those of ``upload``, which accepts the plan's ``token`` as
        ``confirm``.

        Raises ``UsageError`` for a report with errors unless ``good_rows`` is set;
        ``TransportError``, ``AuthenticationFailed`` or ``RemoteRejected`` if a look-up fails.
        Source: ``docs/upload-protocol.md``.
        """
        options = UploadOptions(
            consent=ApproveAll(),
            progress=lambda step: on_progress(str(step)),
            **_upload_options(locals()),
        )
        return plan_report(self._settings, self._client, report, options)

    def jobs(self) -> pd.DataFrame:
        """Return the jobs of the journal, newest first, as ``xlbridge jobs`` lists them.

        The columns are ``job``, ``created_at``, ``state``, ``mode``, ``resource``, ``file``,
        ``profile``, and the counts of ``UploadOutcome.rows``, as they are after retries and undos.
        """
        return list_jobs(self._settings)

    def resume(
        self,
        job: str,
        *,
        confirm: str | None = None,
        yes: bool = False,
        on_progress: Callable[[str], None] = lambda _step: None,
    ) -> UploadOutcome:
        """Continue an interrupted job, as ``xlbridge resume`` does; return the outcome of a
        finished one as it is.

        Consent works as in ``upload``, and is needed if nothing of the job was sent. Raises what
        ``upload`` raises.
        """
        return resume_job(self._settings, self._client, job, confirm, on_progress, yes=yes)

    def retry(
        self,
        source: Report | Source,
        job: str | None = None,
        *,
        confirm: str | None = None,
        yes: bool = False,
        on_progress: Callable[[str], None] = lambda _step: None,
    ) -> UploadOutcome:
        """Send the corrected rows of an earlier upload, as ``xlbridge retry`` does.

        ``source`` is its rejects workbook, its status copy or the workbook itself, corrected, or a
        report on one; in memory too, as for ``validate``. ``job`` is the upload; the first two
        carry it inside. Consent works as in ``upload``. Raises what ``upload`` raises, and
        ``UsageError`` if the upload has no rejected or held rows, or none was corrected.
        """
        options = sending_options(confirm, on_progress, yes=yes)
        return retry_report(self._settings, self._client, source, job, options)

    def undo(
        self,
        job: str,
        *,
        confirm: str | None = None,
        yes: bool = False,
        on_progress: Callable[[str], None] = lambda _step: None,
    ) -> UploadOutcome:
        """Reverse what an upload wrote, as ``xlbridge undo`` does.

        The outcome is that of the undo; its ``document["left"]`` has the rows that cannot be
        reversed. Consent works as in ``upload``. Raises what that raises, and ``UsageError`` if the
        job is not finished, or is a part or itself an undo.
        """
        options = sending_options(confirm, on_progress, yes=yes)
        return undo_job(self._settings, self._client, job, options)

    def batch(
        self,
        plan: str | PathLike[str],
        *,
        month: str | None = None,
        parameters: Mapping[str, str] | None = None,
        confirm: str | None = None,
        yes: bool = False,
        all_or_nothing: bool = False,
        on_progress: Callable[[str], None] = lambda _step: None,
    ) -> BatchResult:
        """Run a batch, or plan it without consent, as ``xlbridge batch run`` and ``plan`` do.

        ``plan`` is the plan's file; ``month`` and ``parameters`` are its parameters. Without
        consent nothing is written, and the result has the ``token`` that ``confirm`` accepts; it
        covers exactly the planned rows. ``yes=True`` covers any, also steps that process records;
        it is refused if a step writes to production. ``all_or_nothing`` sends nothing if any
        workbook has errors. Steps without a profile of their own belong to the environment of the
        connection. What is done already is not repeated.

        Raises ``PlanFileError`` for a wrong plan, ``UsageError`` for the token of another plan or
        while another process runs the batch, ``LocalFailure`` if this computer fails. Source:
        ``docs/how-to/migration-lead.md``.
        """
        consent = None if confirm is None and not yes else consent_for("auto", confirm, yes=yes)
        values = parameters or {}
        return run_plan(
            self._base,
            Path(plan),
            values if month is None else with_month(values, month),
            consent,
            lambda step: on_progress(str(step)),
            all_or_nothing=all_or_nothing,
        )

    def resolve(self, job: str, seen: str, reason: str) -> UploadOutcome:
        """Record what a person saw in the system about a job in doubt, as ``xlbridge resolve``
        does.

        ``seen`` is ``applied`` (all of its doubtful rows are there) or ``not-applied`` (none is).
        Raises ``UsageError`` if nothing is in doubt, there is no reason, or rows may still arrive.
        """
        return resolve_doubt(self._settings, job, seen, reason)

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
        on_progress: Callable[[str], None] = lambda _step: None,
    ) -> Processing:
        """Advance records to their next state, as ``xlbridge process`` does; it cannot be undone.

        ``listing`` is ``pedidos``, ``nfe``, ``nfse``, ``inventario`` or ``importacao``. The
        records' numbers are ``ids``, or a column of the workbook ``file`` (and ``sheet``) as
        written by ``xlbridge export``. Consent works as in ``upload``: ``confirm`` is the ``token``
        of ``plan_process``, ``yes=True`` covers any plan. ``again`` is the reason to process
        records that this journal has processed before; ``at_once`` is the number of concurrent
        calls. Records already processed are skipped.

        Raises ``UsageError`` without consent, for the token of another plan, and for invalid
        numbers; ``TransportError`` or ``AuthenticationFailed`` if the system cannot be reached,
        ``InDoubt`` if that leaves the outcome of a record unknown. Source: the spec, States and
        transitions; ``docs/upload-protocol.md``.
        """
        options = UploadOptions(
            consent=consent_for("auto", confirm, yes=yes, hint=HOW_TO_CONFIRM_PROCESS),
            again=again,
            progress=lambda step: on_progress(str(step)),
        )
        numbers = NumberSource(ids, file, sheet, at_once)
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
        """Return what ``process`` would do with each record, without writing anything.

        Records that would be processed have the outcome ``unknown``. The parameters are those of
        ``process``, which accepts the plan's ``token`` as ``confirm``; so are the errors.
        """
        numbers = NumberSource(ids, file, sheet, at_once)
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
        on_progress: Callable[[str], None] = lambda _step: None,
    ) -> ExportedFrames:
        """Export a listing to DataFrames, as ``xlbridge export`` does to files.

        ``listing`` is one of ``available_listings``, which describes its filters; filters that are
        None do not apply. ``start`` and ``end`` limit the time of the last update, to the minute
        and inclusive; an ``end`` without a time means the end of that day. ``branch``, ``client``,
        ``supplier``, ``product``, ``account``, ``cost_centre`` and ``id`` accept several codes.
        ``flat`` joins the nested list of that name to its records in one DataFrame; ``as_template``
        returns the columns of a resource's import sheet, ready for ``validate``, with settled
        titles only if ``settled``; ``with_files`` reads each record by its key, with its attached
        files; ``keep_unknown`` keeps fields that the spec does not document, as JSON in the column
        ``outrosCampos``. ``at_once`` is the number of concurrent calls; ``on_progress`` receives a
        message whenever records have arrived.

        Raises ``UsageError`` for an invalid listing, filter or layout, before the first call;
        ``TransportError``, ``AuthenticationFailed`` or ``RemoteRejected`` if the system does not
        answer or refuses. Source: the spec's section of each listing; ``docs/exports.md``.
        """
        require_positive("at_once", at_once)
        values = locals()
        found = find_listing(listing)
        with _parameter_names():
            filters = Filters.parse(
                {each: _filter_text(each, values[_parameter(each)]) for each in Filter}
            )
        known = None
        if found.accepts_known_ids(filters):
            known = known_numbers(self._settings, found.name, self._client)
        request = ExportRequest(
            listing=found.name,
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
        with _parameter_names():
            result, frames = export_frames(
                self._client, request, load, on_progress=lambda step: on_progress(str(step.text))
            )
        return ExportedFrames(
            listing=result.listing,
            records=result.records,
            complete=result.complete,
            frames=frames,
            manifest=result.manifest(),
        )

    def close(self) -> None:
        """Close the connections, and stop the embedded sandbox if this connection started it."""
        self._resources.close()

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


_HOW_TO_NAME = Text(
    pt="Passe uma pasta com arquivos de esquema, ou um esquema do pandera.",
    en="Pass a folder of schema files, or a pandera schema.",
)
_ALL_OR_NONE = Text(
    pt="Passe base_url, email e password, ou só o nome de um perfil.",
    en="Pass base_url, email and password, or only the name of a profile.",
)
_PROFILE_OR_ADDRESS = Text(
    pt="profile e base_url não podem ser usados juntos.",
    en="profile and base_url are mutually exclusive.",
)


def connect(
    profile: str | None = None,
    *,
    base_url: str | None = None,
    email: str | None = None,
    password: str | None = None,
    schemas: "str | PathLike[str] | PanderaSchema | None" = None,
) -> Connection:
    """Connect to an environment, chosen as for the commands.

    ``profile`` names one of ``profiles.toml`` or of the machine. Instead, ``base_url``, ``email``
    and ``password`` name an environment that is in no file; its journal is that of
    ``XLBRIDGE_HOME``, and it counts as production if its address is that of a production profile.
    The default is chosen by environment variables (``XLBRIDGE_PROFILE``, ``XLBRIDGE_BASE_URL``,
    …), else by the files; if nothing is configured it is the embedded sandbox, which runs until
    the connection is closed. Nothing is sent before the first call. ``schemas`` is a folder of
    custom schema files that replaces the one in ``XLBRIDGE_HOME``, or a pandera schema or model,
    which takes the place of all of them: its jobs need it again.

    Raises ``UsageError`` if only some of address, user and password are given, or a profile with
    them; ``ConfigError`` if there is no such profile, the machine's policy does not allow it, it
    has no credentials, or the embedded sandbox is needed and the extra ``sandbox`` is not
    installed; ``TransportError`` if the sandbox does not start. Source: the spec, What the service
    does (two environments) and Authentication; ``docs/how-to/profiles.md``.
    """
    require_type("profile", profile, str, NoneType, hint=EXPECTED_NAME.format(name="homolog"))
    given = {"base_url": base_url, "email": email, "password": password}
    with ExitStack() as stack:
        if schemas is not None and not isinstance(schemas, str | PathLike):
            schemas = stack.enter_context(schema_file("schemas", schemas, _HOW_TO_NAME)).parent
        overrides = {} if schemas is None else {SCHEMAS_VARIABLE: str(existing_folder(schemas))}
        settings = read_settings(os.environ | overrides)
        if any(value is not None for value in given.values()):
            for name, value in given.items():
                require_type(name, value, str, hint=_ALL_OR_NONE)
            if profile is not None:
                raise UsageError(_PROFILE_OR_ADDRESS, _ALL_OR_NONE)
            settings = replace(
                settings,
                profile=None,
                credentials_profile=None,
                base_url=base_url,
                email=email,
                password=password,
            )
        elif profile is not None:
            settings = settings.with_profile(profile)
        own = settings_for(settings, choose_profile(settings))
        client = stack.enter_context(connect_client(own, partial(_LOGGER.info, "%s")))
        return Connection(settings, client, stack.pop_all())
