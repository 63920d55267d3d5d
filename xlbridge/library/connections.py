"""Connection to one environment: uploads, processing, batches, exports to DataFrames, and calls of
operations."""

import datetime as dt
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike
from pathlib import Path
from types import NoneType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from xlbridge.batch import (
    Batch,
    BatchConsentRequest,
    BatchRunOptions,
    batch_report,
    open_batch,
    plan_batch,
    run_batch,
)
from xlbridge.batch.plan_reader import with_month
from xlbridge.client import Client
from xlbridge.connection import connect as connect_client
from xlbridge.errors import UsageError, XlbridgeError
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
    existing_folder,
    html_of,
    require_type,
    schema_file,
)
from xlbridge.library.uploads import SheetUploads, consent_for, require_positive
from xlbridge.profiles import choose_profile, settings_for
from xlbridge.report_forms import Grade
from xlbridge.resources import load_catalogue
from xlbridge.settings import SCHEMAS_VARIABLE, Settings, read_settings
from xlbridge.titles import WorkProgress
from xlbridge.upload import UploadOptions, Uploads, known_numbers, open_context
from xlbridge.upload.planning import ApproveAll, Confirmed, Consent
from xlbridge.upload.process_kinds import ProcessKind, RecordNumbers, explicit_numbers, find_kind
from xlbridge.upload.process_plan import create_processing, numbers_in_sheet, plan_processing
from xlbridge.upload.results import job_document, job_report
from xlbridge.upload.results.task_report import process_plan_json

if TYPE_CHECKING:
    from xlbridge.library.reports import PanderaSchema

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


_RECORD_DTYPES = {
    "id": "Int64",
    "row": "Int64",
    "outcome": "str",
    "reason": "str",
    "message": "str",
    "assigned": "object",
}


@dataclass(frozen=True, slots=True)
class Processing:
    """Outcome of processing records, or its plan.

    ``job`` is the id in the journal, for ``xlbridge jobs`` and ``resume``; None for a plan.
    ``state`` is the job's; ``ok`` is True if no record was rejected or is in doubt. ``rows`` are
    counts: ``read`` is the sum of ``processed``, ``already``, ``rejected`` and ``unknown``.
    ``records`` is a DataFrame with ``id``, ``row`` (in the sheet, if any), ``outcome``, ``reason``,
    ``message`` and ``assigned``, a dict of the values that the system has given. ``token``
    (``RECORDS:DIGEST8``) confirms exactly these records. ``document`` is the JSON of
    ``xlbridge process --format json``.
    """

    job: str | None
    state: str
    listing: str
    rows: Mapping[str, int]
    records: pd.DataFrame = field(repr=False)
    token: str
    ok: bool
    document: Mapping[str, Any] = field(repr=False)

    def _repr_html_(self) -> str:
        return html_of(self, self.records)

    @classmethod
    def of(cls, document: dict[str, Any], *, ok: bool) -> Self:
        """Return the processing that a document describes."""
        return cls(
            job=document["job"],
            state=document["state"],
            listing=document["listing"],
            rows=document["rows"],
            records=pd.DataFrame(document["records"], columns=list(_RECORD_DTYPES)).astype(
                _RECORD_DTYPES
            ),
            token=document["confirm"],
            ok=ok,
            document=document,
        )


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Outcome of a batch, or its plan.

    ``batch`` is its id, for ``xlbridge batch status`` and ``resume``. ``ok`` is true if all steps
    are done and their proofs leave nothing open. ``steps`` is a DataFrame with ``step``, ``kind``,
    ``state``, ``problem``, and the counts of ``UploadOutcome.rows``. ``token`` (``ROWS:DIGEST8``)
    confirms exactly the writes of a plan; None if there are none, or after a run. ``errors`` are
    those after which the run went on: a proof or page that could not be written, a failure of this
    computer. ``document`` is the JSON of ``xlbridge batch … --format json``.
    """

    batch: str
    ok: bool
    steps: pd.DataFrame = field(repr=False)
    token: str | None
    errors: tuple[XlbridgeError, ...]
    document: Mapping[str, Any] = field(repr=False)

    def _repr_html_(self) -> str:
        return html_of(self, self.steps)


def _filter_text(filter_: Filter, value: object) -> object:
    """Return a filter's value as the text that ``Filters.parse`` expects."""
    if value is None or filter_.type.is_flag:
        return value
    if filter_.type.is_repeatable:
        values = value if isinstance(value, Iterable) and not isinstance(value, str) else [value]
        return tuple(map(str, values))
    return str(value)


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


class Connection(SheetUploads):
    """Connection to an environment, returned by ``connect``; use it as a context manager."""

    def __init__(self, base: Settings, client: Client, resources: ExitStack) -> None:
        super().__init__(settings_for(base, choose_profile(base)), client)
        self._base = base
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
        values = values if month is None else with_month(values, month)

        def progress(step: Text) -> None:
            on_progress(str(step))

        @contextmanager
        def phase(title: Text, _total: int) -> Iterator[WorkProgress]:
            progress(title)
            yield WorkProgress(progress)

        with open_batch(Path(plan), values, self._base, progress) as batch:
            options = BatchRunOptions(
                consent=lambda asked: consent is not None and _consents(batch, consent, asked),
                upload=UploadOptions(consent=ApproveAll(), progress=progress),
                consent_to_processing=lambda asked: consent is not None and consent(asked),
                all_or_nothing=all_or_nothing,
                progress=phase,
            )
            outcome = plan_batch(batch, options) if consent is None else run_batch(batch, options)
            document = batch_report(batch, outcome).document()
        names = ("step", "kind", "state", "problem")
        steps = [{name: step[name] for name in names} | step["rows"] for step in document["steps"]]
        return BatchResult(
            batch=document["batch"],
            ok=document["done"] and outcome.proofs_settled and not outcome.errors,
            steps=pd.DataFrame(steps),
            token=outcome.confirm,
            errors=outcome.errors,
            document=document,
        )

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
            consent=consent_for("auto", confirm, yes=yes, hint=_HOW_TO_CONFIRM_PROCESS),
            again=again,
            progress=lambda step: on_progress(str(step)),
        )
        kind = find_kind(listing)
        with open_context(self._settings) as context:
            numbers = self._numbers(kind, ids, file, sheet, at_once)
            job = create_processing(
                *(context, self._client, kind, numbers, options.progress),
                again=again,
                at_once=at_once,
            )
            job = Uploads(context, self._client).run(job, options)
            is_open = job_report(context.journal, job).grade is Grade.ERROR
            ok = job.state.public == "done" and not is_open
            return Processing.of(job_document(context.journal, job), ok=ok)

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
        kind = find_kind(listing)
        with open_context(self._settings) as context:
            numbers = self._numbers(kind, ids, file, sheet, at_once)
            plan = plan_processing(
                context, self._client, kind, numbers, again=again, at_once=at_once
            )
        return Processing.of(process_plan_json(plan), ok=not plan.skipped)

    def _numbers(
        self,
        kind: ProcessKind,
        ids: Sequence[int] | None,
        file: str | PathLike[str] | None,
        sheet: str | None,
        at_once: int,
    ) -> RecordNumbers:
        """Return record numbers. Raises ``UsageError`` unless there is exactly one source and
        ``at_once`` is positive."""
        require_positive("at_once", at_once)
        if ids is not None and file is None:
            return explicit_numbers(kind, [int(number) for number in ids])
        if file is not None and ids is None:
            return numbers_in_sheet(Path(file), kind, self._settings.limits, sheet)
        raise UsageError(_ONE_SOURCE)

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


_HOW_TO_CONFIRM_PROCESS = Text(
    pt="Nada foi enviado. Veja o plano com plan_process e confirme com confirm=plan.token.",
    en="Nothing was sent. See the plan with plan_process, and confirm with confirm=plan.token.",
)
_ONE_SOURCE = Text(
    pt="Informe os números com ids ou com file, um dos dois.",
    en="Pass the numbers as either ids or file.",
)


def _consents(batch: Batch, consent: Consent, asked: BatchConsentRequest) -> bool:
    """Return True. Raises ``UsageError`` if the consent does not cover the writes."""
    if isinstance(consent, Confirmed):
        return asked.require(consent.token, _HOW_TO_CONFIRM)
    profiles = {writes.step.profile for writes in asked.steps}
    targets = [batch.environments.client(profile).target for profile in profiles]
    if asked.undone or any(target.production for target in targets):
        raise UsageError(_NEEDS_TOKEN, _HOW_TO_CONFIRM)
    for target in targets:
        target.require_choice()
    return True


_NEEDS_TOKEN = Text(
    pt="yes=True não vale para produção nem para linhas desfeitas.",
    en="yes=True covers neither production nor rows that were undone.",
)
_HOW_TO_CONFIRM = Text(
    pt="Nada foi enviado. Veja o plano com erp.batch(plan) e confirme com confirm=plan.token.",
    en="Nothing was sent. See the plan with erp.batch(plan), and confirm with confirm=plan.token.",
)


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
