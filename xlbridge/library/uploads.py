"""Upload of a validated sheet and bulk processing of records: plans and outcomes as DataFrames."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.batch import (
    Batch,
    BatchConsentRequest,
    BatchOutcome,
    BatchRunOptions,
    batch_report,
    open_batch,
    plan_batch,
    run_batch,
)
from xlbridge.client import Client
from xlbridge.errors import UsageError, XlbridgeError, require_choice
from xlbridge.i18n import Text
from xlbridge.library.reports import Report, html_of, require_type, validate
from xlbridge.library.sources import FrameWorkbook, Source, as_file, read_source
from xlbridge.progress import WorkProgress
from xlbridge.record_rows import sheet_row
from xlbridge.report_forms import Grade
from xlbridge.resources import Mode
from xlbridge.settings import Settings
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
from xlbridge.upload.processing import (
    ProcessKind,
    RecordNumbers,
    create_processing,
    explicit_numbers,
    find_kind,
    numbers_in_sheet,
    plan_processing,
    process_plan_json,
)
from xlbridge.upload.results import (
    ROW_COUNTS,
    RowOutcome,
    ensure_evidence,
    job_document,
    job_json,
    job_report,
    row_counts,
)
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
HOW_TO_CONFIRM_PROCESS = Text(
    pt="Nada foi enviado. Veja o plano com plan_process e confirme com confirm=plan.token.",
    en="Nothing was sent. See the plan with plan_process, and confirm with confirm=plan.token.",
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


def plan_report(
    settings: Settings, client: Client, report: Report, options: UploadOptions
) -> UploadPlan:
    """Plan the upload of a report; see ``Connection.plan``."""
    require_type("report", report, Report, hint=_HOW_TO_REPORT)
    with open_context(settings) as context:
        planned = Uploads(context, client).plan(report.validated_sheet(settings.frames), options)
    plan = planned.plan
    rows = pd.DataFrame([row.to_json() for row in plan.rows], columns=_PLAN_COLUMNS)
    rows["row"] = report.row_labels([sheet_row(row.row) for row in plan.rows])
    return UploadPlan(planned.source.resource.name, plan.counts, plan.token, rows)


def upload_report(
    settings: Settings,
    client: Client,
    report: Report,
    options: UploadOptions,
    *,
    allow_empty: bool = False,
) -> UploadOutcome:
    """Upload a report; see ``Connection.upload``."""
    require_type("report", report, Report, hint=_HOW_TO_REPORT)
    errors = report.findings[report.findings["severity"] == "error"]
    if allow_empty and set(errors["code"]) == {"sheet-empty"}:
        nothing = errors[_REJECTED_COLUMNS][:0]
        return replace(_invalid_outcome(report, options.mode), state="done", rejected=nothing)
    if report.resource is None or not report.may_be_sent(good_rows=options.good_rows):
        return _invalid_outcome(report, options.mode)
    with open_context(settings) as context:
        sheet = report.validated_sheet(settings.frames)
        uploads = Uploads(context, client)
        try:
            interrupted = uploads.interrupted(sheet)
            if interrupted is None:
                job = uploads.submit(sheet, options)
            else:
                consent = consent_for(options.mode, interrupted.token, yes=False)
                job = uploads.run(interrupted, replace(options, consent=consent))
        except InvalidSheet as error:
            return _invalid_outcome(report.with_sheet(error.sheet), options.mode)
        return _outcome(context, job, report)


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


def list_jobs(settings: Settings) -> pd.DataFrame:
    """List the jobs of the journal; see ``Connection.jobs``."""
    with open_context(settings, creates=False) as context:
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


def resume_job(
    settings: Settings,
    client: Client,
    job_id: str,
    confirm: str | None,
    on_progress: Callable[[str], None],
    *,
    yes: bool,
) -> UploadOutcome:
    """Resume a job; see ``Connection.resume``."""
    with open_context(settings) as context:
        job = context.journal.job(job_id)
        if not job.state.is_final:
            if confirm is None and not yes and not job.state.is_unsent:
                confirm = job.token
            job = Uploads(context, client).run(job, sending_options(confirm, on_progress, yes=yes))
        return _outcome(context, ensure_evidence(context, job))


def retry_report(
    settings: Settings,
    client: Client,
    source: Report | Source,
    job_id: str | None,
    options: UploadOptions,
) -> UploadOutcome:
    """Send the corrected rows of an upload; see ``Connection.retry``."""
    with open_context(settings) as context:
        if job_id is None:
            origin = source.origin if isinstance(source, Report) else read_source(source)
            if isinstance(origin, FrameWorkbook):
                raise UsageError(_WHICH_UPLOAD)
            with as_file(origin) as file:
                job_id = WorkbookOrigin.job_of(file)
        earlier = context.journal.job(job_id)
        earlier.require_rejected()
        report = source if isinstance(source, Report) else validate(source, earlier.spec.resource)
        uploads = Uploads(context, client)
        try:
            sheet = report.validated_sheet(settings.frames)
            rows = uploads.rows_to_send(sheet, options, earlier)
        except InvalidSheet as error:
            return _invalid_outcome(report.with_sheet(error.sheet), earlier.spec.mode)
        return _outcome(context, uploads.submit(rows, options), report)


def undo_job(
    settings: Settings, client: Client, job_id: str, options: UploadOptions
) -> UploadOutcome:
    """Undo an upload; see ``Connection.undo``."""
    with open_context(settings) as context:
        uploads, job = Uploads(context, client), context.journal.job(job_id)
        plan = uploads.plan_undo(job)
        if plan.writes:
            return _outcome(context, uploads.run(uploads.create_undo(plan), options))
        return UploadOutcome(
            job=None,
            state="done",
            mode=Mode.UNDO,
            resource=job.spec.resource,
            rows=_counts_of_unsent(0),
            rejected=pd.DataFrame(columns=_REJECTED_COLUMNS),
            document=plan.report().document(),
        )


def resolve_doubt(settings: Settings, job_id: str, seen: str, reason: str) -> UploadOutcome:
    """Record what a person saw; see ``Connection.resolve``."""
    require_choice("seen", seen, [resolution.value for resolution in Resolution])
    with open_context(settings) as context:
        job = resolve_job(context, context.journal.job(job_id), Resolution(seen), reason)
        return _outcome(context, job)


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


def plan_records(
    settings: Settings, client: Client, listing: str, numbers: "NumberSource", again: str | None
) -> Processing:
    """Plan the processing of records; see ``Connection.plan_process``."""
    kind = find_kind(listing)
    with open_context(settings) as context:
        read = numbers.read(kind, settings)
        plan = plan_processing(context, client, kind, read, again=again, at_once=numbers.at_once)
    return _processing(process_plan_json(plan), ok=not plan.skipped)


def process_listing(
    settings: Settings,
    client: Client,
    listing: str,
    numbers: "NumberSource",
    options: UploadOptions,
) -> Processing:
    """Process records; see ``Connection.process``."""
    kind = find_kind(listing)
    with open_context(settings) as context:
        read = numbers.read(kind, settings)
        job = create_processing(
            *(context, client, kind, read, options.progress),
            again=options.again,
            at_once=numbers.at_once,
        )
        job = Uploads(context, client).run(job, options)
        is_open = job_report(context.journal, job).grade is Grade.ERROR
        ok = job.state.public == "done" and not is_open
        return _processing(job_document(context.journal, job), ok=ok)


@dataclass(frozen=True, slots=True)
class NumberSource:
    """Source of record numbers: the numbers themselves, or a workbook with a column of them."""

    ids: Sequence[int] | None
    file: str | PathLike[str] | None
    sheet: str | None
    at_once: int = 1

    def read(self, kind: ProcessKind, settings: Settings) -> RecordNumbers:
        """Return the numbers.

        Raises ``UsageError`` unless there is exactly one source and ``at_once`` is positive.
        """
        require_positive("at_once", self.at_once)
        if self.ids is not None and self.file is None:
            return explicit_numbers(kind, [int(number) for number in self.ids])
        if self.file is not None and self.ids is None:
            return numbers_in_sheet(Path(self.file), kind, settings.limits, self.sheet)
        raise UsageError(
            Text(
                pt="Informe os números com ids ou com file, um dos dois.",
                en="Pass the numbers as either ids or file.",
            )
        )


def _processing(document: dict[str, Any], *, ok: bool) -> Processing:
    return Processing(
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


def run_plan(
    settings: Settings,
    plan: Path,
    parameters: Mapping[str, str],
    consent: Consent | None,
    progress: Callable[[Text], None],
    *,
    all_or_nothing: bool,
) -> BatchResult:
    """Run a batch, or plan it without consent; see ``Connection.batch``."""

    @contextmanager
    def phase(title: Text, _total: int) -> Iterator[WorkProgress]:
        progress(title)
        yield WorkProgress(progress)

    with open_batch(plan, parameters, settings, progress) as batch:
        options = BatchRunOptions(
            consent=lambda asked: consent is not None and _consents(batch, consent, asked),
            upload=UploadOptions(consent=ApproveAll(), progress=progress),
            consent_to_processing=lambda asked: consent is not None and consent(asked),
            all_or_nothing=all_or_nothing,
            progress=phase,
        )
        outcome = plan_batch(batch, options) if consent is None else run_batch(batch, options)
        return _result(batch, outcome)


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
    pt="Nada foi enviado. Veja o plano com erp.batch(plan) e confirme com confirm=plano.token.",
    en="Nothing was sent. See the plan with erp.batch(plan), and confirm with confirm=plan.token.",
)


def _result(batch: Batch, outcome: BatchOutcome) -> BatchResult:
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
