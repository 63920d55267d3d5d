"""Uploads of validated sheets, their retries and undos: plans and outcomes as DataFrames."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args

import pandas as pd

from xlbridge.client import Client
from xlbridge.errors import UsageError, require_choice
from xlbridge.i18n import Text
from xlbridge.library.reports import Report, html_of, require_type, validate
from xlbridge.library.sources import FrameWorkbook, Source, as_file, read_source
from xlbridge.resources import Mode
from xlbridge.settings import Settings
from xlbridge.titles import sheet_row
from xlbridge.upload import (
    InvalidSheet,
    Job,
    RequestedMode,
    Resolution,
    State,
    UploadContext,
    UploadOptions,
    Uploads,
    open_context,
    resolve_job,
)
from xlbridge.upload.planning import ApproveAll, Confirmed, Consent
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results import ROW_COUNTS, ensure_evidence, job_document, job_json, row_counts
from xlbridge.workbook import WorkbookOrigin

_REJECTED_COLUMNS = ["row", "cell", "column", "message"]


@dataclass(frozen=True, slots=True)
class UploadOutcome:
    """Outcome of an upload.

    ``job`` is the id in the journal, for ``xlbridge jobs``, ``resume`` and ``retry``; None if the
    sheet has errors and nothing was sent. ``state`` is one of ``previewed``, ``queued``,
    ``processing``, ``done``, ``held``, ``partial``, ``rejected``, ``in_doubt``, ``failed``; the
    document says ``done`` of an upload that is over with ``held`` rows. ``rows`` are counts:
    ``read`` is the sum of ``accepted``, ``rejected``, ``unchanged``, ``held``, ``undone`` and
    ``unknown``; ``accepted`` the sum of ``created`` and ``updated``. ``rejected`` is a DataFrame of
    the rejected rows, with ``row``, ``cell``, ``column`` and ``message`` as in ``Report.findings``;
    ``rejects_file`` is the workbook with these rows. ``token`` (``ROWS:DIGEST8``) identifies the
    plan that was carried out. ``document`` is the JSON of ``xlbridge upload --format json``, empty
    if nothing was sent.
    """

    job: str | None
    state: str
    mode: str
    resource: str | None
    rows: Mapping[str, int]
    rejected: pd.DataFrame = field(repr=False)
    rejects_file: Path | None = None
    token: str | None = None
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def ok(self) -> bool:
        """True if no row was rejected, held or is in doubt, nor left by an undo: exit code 0 of the
        command."""
        return self.state in _GOOD_STATES and not (self.rows["held"] or self.document.get("left"))

    def _repr_html_(self) -> str:
        return html_of(self, self.rejected)


_PLAN_COLUMNS = ["row", "action", "reason", "record", "message", "differences"]


@dataclass(frozen=True, slots=True)
class UploadPlan:
    """Plan of an upload: the action of each row, before anything is written.

    ``counts`` maps ``create``, ``update``, ``unchanged``, ``held`` and ``unread`` to numbers of
    rows. ``rows`` is a DataFrame of all rows with ``row`` as in ``Report.findings``, ``action``,
    ``reason`` (a stable code), ``record`` (code of its record in the system), ``message`` and
    ``differences`` (a list of dicts: ``column``, ``yours``, ``theirs``). ``token`` confirms exactly
    these actions: ``Connection.upload(report, confirm=token)``.
    """

    resource: str
    counts: Mapping[str, int]
    token: str
    rows: pd.DataFrame = field(repr=False)

    def _repr_html_(self) -> str:
        return html_of(self, self.rows)


_GOOD_STATES = frozenset({"previewed", "queued", "processing", "done"})

_HOW_TO_CONFIRM_UPLOAD = Text(
    pt="Nada foi enviado. Veja o plano com erp.plan(report) e confirme com confirm=plan.token.",
    en="Nothing was sent. See the plan with erp.plan(report), and confirm with confirm=plan.token.",
)
_HOW_TO_AGREE = Text(
    pt="Nada foi enviado. Confirme com yes=True ou, em produção, com confirm=TOKEN.",
    en="Nothing was sent. Confirm with yes=True or, in production, with confirm=TOKEN.",
)
_WHICH_UPLOAD = Text(
    pt="Um DataFrame não diz de que envio é: informe-o com job.",
    en="A DataFrame does not say to which upload it belongs: name that by job.",
)
_HOW_TO_REPORT = Text(
    pt="Valide antes a planilha: report = xb.validate(planilha, resource).",
    en="Validate the sheet first: report = xb.validate(sheet, resource).",
)


def require_positive(name: str, count: int) -> None:
    """Raise ``UsageError`` for a count below 1."""
    if count < 1:
        message = Text(pt="{name} deve ser 1 ou mais.", en="{name} must be 1 or more.")
        raise UsageError(message.format(name=name))


def consent_for(
    mode: RequestedMode, confirm: str | None, *, yes: bool, hint: Text = _HOW_TO_CONFIRM_UPLOAD
) -> Consent:
    """Return the consent expressed by the arguments.

    Raises ``UsageError``, with ``hint``, if rows would be written without consent, and for both
    kinds of consent at once.
    """
    if yes and confirm is not None:
        raise UsageError(
            Text(
                pt="yes e confirm não podem ser usados juntos.",
                en="yes and confirm are mutually exclusive.",
            )
        )
    if confirm is not None:
        require_type("confirm", confirm, str, hint=hint)
        return Confirmed(confirm)
    if yes or mode == "preview":
        return ApproveAll()
    raise UsageError(
        Text(pt="Falta a confirmação do envio.", en="The upload is not confirmed."), hint
    )


def sending_options(
    confirm: str | None, on_progress: Callable[[str], None], *, yes: bool
) -> UploadOptions:
    """Return the options of a job that is continued, retried or undone.

    Raises ``UsageError`` without consent.
    """
    return UploadOptions(
        consent=consent_for("auto", confirm, yes=yes, hint=_HOW_TO_AGREE),
        progress=lambda step: on_progress(str(step)),
    )


def _upload_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a method that are options of an upload."""
    names = {option.name for option in fields(UploadOptions)}
    return {name: value for name, value in parameters.items() if name in names}


class SheetUploads:
    """Uploads through a connection, and the jobs of its journal."""

    def __init__(self, settings: Settings, client: Client) -> None:
        self._settings = settings
        self._client = client

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
        require_type("report", report, Report, hint=_HOW_TO_REPORT)
        errors = report.findings[report.findings["severity"] == "error"]
        if allow_empty and set(errors["code"]) == {"sheet-empty"}:
            nothing = errors[_REJECTED_COLUMNS][:0]
            return replace(_invalid_outcome(report, mode), state="done", rejected=nothing)
        if report.resource is None or not report.may_be_sent(good_rows=good_rows):
            return _invalid_outcome(report, mode)
        with open_context(self._settings) as context:
            sheet = report.validated_sheet(self._settings.frames)
            uploads = Uploads(context, self._client)
            try:
                interrupted = uploads.interrupted(sheet)
                if interrupted is None:
                    job = uploads.submit(sheet, options)
                else:
                    consent = consent_for(mode, interrupted.token, yes=False)
                    job = uploads.run(interrupted, replace(options, consent=consent))
            except InvalidSheet as error:
                return _invalid_outcome(report.with_sheet(error.sheet), mode)
            return _outcome(context, job, report)

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
        require_type("report", report, Report, hint=_HOW_TO_REPORT)
        with open_context(self._settings) as context:
            sheet = report.validated_sheet(self._settings.frames)
            planned = Uploads(context, self._client).plan(sheet, options)
        plan = planned.plan
        rows = pd.DataFrame([row.to_json() for row in plan.rows], columns=_PLAN_COLUMNS)
        rows["row"] = report.row_labels([sheet_row(row.row) for row in plan.rows])
        return UploadPlan(planned.source.resource.name, plan.counts, plan.token, rows)

    def jobs(self) -> pd.DataFrame:
        """Return the jobs of the journal, newest first, as ``xlbridge jobs`` lists them.

        The columns are ``job``, ``created_at``, ``state``, ``mode``, ``resource``, ``file``,
        ``profile``, and the counts of ``UploadOutcome.rows``, as they are after retries and undos.
        """
        with open_context(self._settings, creates=False) as context:
            names = list(ROW_COUNTS)
            jobs = context.journal.jobs()
            rows = [
                (
                    job.id,
                    job.created_at,
                    _state_of(job, counts),
                    job.spec.mode.value,
                    job.spec.resource,
                    job.spec.file,
                    job.spec.profile,
                    *map(counts.__getitem__, names),
                )
                for job in jobs
                for counts in [row_counts(context.journal, job)]
            ]
        return pd.DataFrame(rows, columns=[*_JOB_COLUMNS, *names])

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
        with open_context(self._settings) as context:
            found = context.journal.job(job)
            if not found.state.is_final:
                if confirm is None and not yes and not found.state.is_unsent:
                    confirm = found.token
                options = sending_options(confirm, on_progress, yes=yes)
                found = Uploads(context, self._client).run(found, options)
            return _outcome(context, ensure_evidence(context, found))

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
        with open_context(self._settings) as context:
            if job is None:
                origin = source.origin if isinstance(source, Report) else read_source(source)
                if isinstance(origin, FrameWorkbook):
                    raise UsageError(_WHICH_UPLOAD)
                with as_file(origin) as file:
                    job = WorkbookOrigin.job_of(file)
            earlier = context.journal.job(job)
            earlier.require_rejected()
            report = (
                source if isinstance(source, Report) else validate(source, earlier.spec.resource)
            )
            uploads = Uploads(context, self._client)
            try:
                sheet = report.validated_sheet(self._settings.frames)
                rows = uploads.rows_to_send(sheet, options, earlier)
            except InvalidSheet as error:
                return _invalid_outcome(report.with_sheet(error.sheet), earlier.spec.mode)
            return _outcome(context, uploads.submit(rows, options), report)

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
        with open_context(self._settings) as context:
            uploads, undone = Uploads(context, self._client), context.journal.job(job)
            plan = uploads.plan_undo(undone)
            if plan.writes:
                return _outcome(context, uploads.run(uploads.create_undo(plan), options))
            return UploadOutcome(
                job=None,
                state="done",
                mode=Mode.UNDO,
                resource=undone.spec.resource,
                rows=_counts_of_unsent(0),
                rejected=pd.DataFrame(columns=_REJECTED_COLUMNS),
                document=plan.report().document(),
            )

    def resolve(self, job: str, seen: str, reason: str) -> UploadOutcome:
        """Record what a person saw in the system about a job in doubt, as ``xlbridge resolve``
        does.

        ``seen`` is ``applied`` (all of its doubtful rows are there) or ``not-applied`` (none is).
        Raises ``UsageError`` if nothing is in doubt, there is no reason, or rows may still arrive.
        """
        require_choice("seen", seen, [resolution.value for resolution in Resolution])
        with open_context(self._settings) as context:
            found = resolve_job(context, context.journal.job(job), Resolution(seen), reason)
            return _outcome(context, found)


def _counts_of_unsent(rows: int) -> dict[str, int]:
    return {**dict.fromkeys(ROW_COUNTS, 0), "read": rows, "rejected": rows}


def _invalid_outcome(report: Report, mode: str) -> UploadOutcome:
    errors = report.findings[report.findings["severity"] == "error"]
    return UploadOutcome(
        job=None,
        state="rejected",
        mode=mode,
        resource=report.resource,
        rows=_counts_of_unsent(len(report.frame)),
        rejected=errors[_REJECTED_COLUMNS].reset_index(drop=True),
    )


def _outcome(context: UploadContext, job: Job, report: Report | None = None) -> UploadOutcome:
    """Return the outcome of a job, with the row labels of the ``report`` that was uploaded."""
    rejected = job_json(context.journal, job, with_rows=False)["rejected"]
    frame = pd.DataFrame(rejected, columns=_REJECTED_COLUMNS)
    frame = frame.astype(dict.fromkeys(_REJECTED_COLUMNS[1:], "str"))
    numbers = [row["row"] for row in rejected]
    labels = pd.Series(numbers, dtype="Int64") if report is None else report.row_labels(numbers)
    rejects_file = job.notes.rejects_file
    counts = row_counts(context.journal, job)
    return UploadOutcome(
        job=job.id,
        state=_state_of(job, counts),
        mode=job.spec.mode,
        resource=job.spec.resource,
        rows=counts,
        rejected=frame.assign(row=labels),
        rejects_file=None if rejects_file is None else Path(rejects_file),
        token=job.token,
        document=job_document(context.journal, job),
    )


def _state_of(job: Job, counts: Mapping[str, int]) -> str:
    """Return the state of a job, which is not ``done`` while rows are held."""
    is_held = job.public_state == State.DONE.public and counts["held"]
    return RowOutcome.HELD if is_held else job.public_state


_JOB_COLUMNS = ["job", "created_at", "state", "mode", "resource", "file", "profile"]
