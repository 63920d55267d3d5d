"""Upload a validated sheet, and what became of its rows."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from xlbridge.client import Client
from xlbridge.errors import UsageError, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.library.reports import Report
from xlbridge.resources import Mode, load_catalogue
from xlbridge.settings import Settings
from xlbridge.upload import (
    Job,
    Journal,
    ModeChoice,
    RequestedMode,
    RunOptions,
    UploadContext,
    choose_mode,
    confirmation_token,
    create_job,
    invalid_sheet_json,
    job_json,
    require_confirmation,
    run_job,
)
from xlbridge.validation import ValidatedSheet

_REJECTED_COLUMNS = ["row", "cell", "column", "message"]


@dataclass(frozen=True, slots=True)
class UploadOutcome:
    """What became of an upload.

    ``job`` is its id in the journal, for ``xlbridge jobs``, ``resume`` and ``retry``; None where
    the sheet has errors and nothing was sent. ``state`` is one of ``previewed``, ``queued``,
    ``processing``, ``done``, ``partial``, ``rejected``, ``in_doubt``, ``failed``. ``rows`` counts
    rows: ``read`` is the sum of ``accepted``, ``rejected`` and ``unknown``. ``rejected`` is a
    DataFrame of the rejected rows, with ``row``, ``cell``, ``column`` and ``message`` as in
    ``Report.findings``. ``rejects_file`` is the workbook of those rows.
    ``token`` confirms just these rows: ``ROWS:DIGEST8``. ``document`` is what
    ``xlbridge upload --format json`` prints.
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
        """Whether no row was rejected and none is in doubt, as exit code 0 of the command."""
        return self.state in _GOOD_STATES


_GOOD_STATES = frozenset({"previewed", "queued", "processing", "done"})


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadRequest:
    """How a report is uploaded: see ``Connection.upload``."""

    mode: RequestedMode
    confirm: str | None
    yes: bool
    again: str | None
    chunk_rows: int | None
    preview: bool
    read_back: bool
    wait: bool
    on_progress: Callable[[str], None]

    def require_consent(self, mode: Mode, *, production: bool) -> None:
        """Raise ``UsageError`` where rows would be written without consent, or with two kinds."""
        if self.yes and self.confirm is not None:
            raise UsageError(
                Text(
                    pt="yes e confirm não podem ser usados juntos.",
                    en="yes and confirm are mutually exclusive.",
                )
            )
        if mode is Mode.PREVIEW or self.confirm is not None:
            return
        if production and self.yes:
            raise UsageError(
                Text(
                    pt="yes=True não vale para um ambiente de produção.",
                    en="yes=True is not for a production environment.",
                ),
                _HOW_TO_CONFIRM,
            )
        if not self.yes:
            raise UsageError(
                Text(pt="Falta a confirmação do envio.", en="The upload is not confirmed."),
                _HOW_TO_CONFIRM,
            )

    def consent(self, job: Job, _previewed: int | None) -> bool:
        """Agree to the rows of a job. Raises ``UsageError`` when other rows were confirmed."""
        if self.confirm is not None:
            require_confirmation(job, self.confirm)
        return True


_HOW_TO_CONFIRM = Text(
    pt='Nada foi enviado. Envie com mode="preview", e confirme as linhas com confirm=token.',
    en='Nothing was sent. Upload with mode="preview", and confirm the rows with confirm=token.',
)


def upload_report(
    settings: Settings, client: Client, report: Report, request: UploadRequest
) -> UploadOutcome:
    """Send the rows of a report; see ``Connection.upload``."""
    with _upload_context(settings) as context:
        sheet = report.validated_sheet(settings.frames)
        if not sheet.ok or sheet.resource is None:
            return _outcome(report, invalid_sheet_json(sheet, request.mode))
        choice = choose_mode(sheet.resource, request.mode)
        request.require_consent(choice.mode, production=client.target.production)
        job = _create_job(context, client, sheet, choice, request)
        options = RunOptions(
            consent=request.consent,
            tell=lambda text: request.on_progress(str(text)),
            read_back=request.read_back,
            preview=request.preview,
            wait=request.wait,
            settle_seconds=settings.settle_seconds,
        )
        try:
            job = run_job(context, client, job, options)
        except XlbridgeError as error:
            error.add_note(f"xlbridge resume {job.id}")
            raise
        return _outcome(report, job_json(job), confirmation_token(job))


@contextmanager
def _upload_context(settings: Settings) -> Iterator[UploadContext]:
    journal = Journal(settings.journal)
    try:
        yield UploadContext(settings, load_catalogue(settings.schemas), journal)
    finally:
        journal.close()


def _create_job(
    context: UploadContext,
    client: Client,
    sheet: ValidatedSheet,
    choice: ModeChoice,
    request: UploadRequest,
) -> Job:
    if sheet.resource is None:
        raise AssertionError("a sheet without a resource has errors")
    return create_job(
        context,
        sheet,
        sheet.resource,
        choice,
        client.target.profile,
        again=request.again,
        chunk_rows=request.chunk_rows,
    )


def _outcome(report: Report, document: dict[str, Any], token: str | None = None) -> UploadOutcome:
    rejected = pd.DataFrame(document["rejected"], columns=_REJECTED_COLUMNS)
    rejected = rejected.astype(dict.fromkeys(_REJECTED_COLUMNS[1:], "str"))
    rejected["row"] = report.row_labels([row["row"] for row in document["rejected"]])
    rejects_file = document["rejects_file"]
    return UploadOutcome(
        job=document["job"],
        state=document["state"],
        mode=document["mode"],
        resource=document["resource"],
        rows=document["rows"],
        rejected=rejected,
        rejects_file=None if rejects_file is None else Path(rejects_file),
        token=token,
        document=document,
    )
