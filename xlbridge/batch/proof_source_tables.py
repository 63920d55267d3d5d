"""Tables of what a proof rests on: exports, workbooks, uploads, the system and the plan."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xlbridge import __version__, titles
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.report_forms import Heading, Line, Table, Tone
from xlbridge.upload import Job, UploadOptions
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results import RowLedger

if TYPE_CHECKING:
    from xlbridge.batch.proof_model import Proof

STEP = Heading(titles.STEP, 14)
"""Heading of the step of a batch."""

_DIGEST_WIDTH = 36  # a digest wraps to two lines
_FILE = Heading(titles.FILE, 44, path=True)
_SHA = Heading(untranslated("SHA-256"), _DIGEST_WIDTH, digest=True)
_NOT_DONE = Text(pt="não feita: {why}", en="not done: {why}")
_RETRY = Text(pt="reenvio de {job}", en="retry of {job}")
_PART = Text(pt="parte {n} de {job}", en="part {n} of {job}")
_DECIDED = Text(pt="{seen}, por {by}: {reason}", en="{seen}, by {by}: {reason}")
_AGAIN = Text(pt="enviado de novo: {reason}", en="sent again: {reason}")


def export_table(proof: "Proof") -> Table:
    """Return the exports of the batch, as their manifests describe them."""
    lines = []
    for export in proof.exports:
        manifest, output = export.manifest, str(export.output)
        if manifest is None:
            state = _NOT_DONE.format(why=export.not_done_because)
            empty = (None, None, None, None)
            values = (export.name, export.listing, state, *empty, output, export.sha256)
            lines.append(Line(values, Tone.OPEN))
            continue
        sheets: Mapping[str, Any] = manifest["sheets"]
        holes = (str(Text.of_json(hole["message"])) for hole in manifest["holes"])
        missing = (", ".join(map(str, key.values())) for key in manifest["missing"])
        lines.append(
            Line(
                (
                    export.name,
                    export.listing,
                    export.problem or (titles.YES if manifest["complete"] else titles.EMPHATIC_NO),
                    int(manifest["records"]),
                    ", ".join(f"{name}: {rows}" for name, rows in sheets.items()),
                    "; ".join(holes) or None,
                    "; ".join(missing) or None,
                    output,
                    export.sha256,
                ),
                Tone.PLAIN if manifest["complete"] and not export.problem else Tone.OPEN,
            )
        )
    return Table(
        sheet=Text(pt="Exportações", en="Exports"),
        headings=(
            STEP,
            Heading(titles.LISTING, 18),
            Heading(Text(pt="Completa", en="Complete"), 18),
            Heading(titles.RECORDS, 11),
            Heading(Text(pt="Linhas por planilha", en="Rows by sheet"), 30),
            Heading(Text(pt="Lacunas", en="Gaps"), 40, alarming=True),
            Heading(Text(pt="Não existem", en="Not found"), 24, alarming=True),
            _FILE,
            _SHA,
        ),
        lines=lines,
        none=Text(pt="O lote não tem exportações.", en="The batch has no exports."),
    )


def file_table(proof: "Proof") -> Table:
    """Return the workbooks with their digests."""
    return Table(
        sheet=titles.WORKBOOKS,
        headings=(STEP, _FILE, Heading(titles.ROWS, 10), _SHA),
        lines=[
            Line((step, str(file.file.path), file.file.rows_in_sheet, file.file.sha256))
            for step, files in proof.steps.items()
            for file in files
        ],
        none=Text(pt="Nenhum.", en="None."),
    )


def job_table(proof: "Proof") -> Table:
    """Return the uploads with their outcomes, including parts and retries."""
    return Table(
        sheet=titles.UPLOADS,
        headings=(
            Heading(titles.UPLOAD, 24),
            Heading(titles.NOTE, 44),
            Heading(titles.RESOURCE, 18),
            Heading(titles.MODE, 9),
            Heading(titles.STATE, 11),
            Heading(Text(pt="Início", en="Started"), 18),
            Heading(untranslated("Log"), 8),
            Heading(titles.ROWS, 9),
            Heading(RowOutcome.ACCEPTED.count_title, 9),
            Heading(RowOutcome.REJECTED.count_title, 10, alarming=True),
            Heading(RowOutcome.UNKNOWN.count_title, 9, alarming=True),
            Heading(
                Text(pt="SHA-256 do conteúdo enviado", en="SHA-256 of the content sent"),
                _DIGEST_WIDTH,
                digest=True,
            ),
            Heading(
                Text(pt="Digest das linhas", en="Digest of the rows"), _DIGEST_WIDTH, digest=True
            ),
        ),
        lines=[
            _job_line(file.ledger, job)
            for files in proof.steps.values()
            for file in files
            if file.ledger is not None
            for job in file.jobs
        ],
        none=Text(pt="Nada foi enviado.", en="Nothing was sent."),
    )


def _job_line(ledger: RowLedger, job: Job) -> Line:
    """Return an upload, with how it differs from the plain upload of a workbook."""
    log, outcomes = job.known.log_id, ledger.sent_outcomes(job)
    notes = []
    if job.parent is not None:
        notes.append(_PART.format(n=job.requests[0].number, job=job.parent))
    if job.spec.retry_of is not None:
        notes.append(_RETRY.format(job=job.spec.retry_of))
    if (reason := UploadOptions.of_job(job).again) is not None:
        notes.append(_AGAIN.format(reason=reason))
    if (resolved := job.notes.resolved) is not None:
        notes.append(
            _DECIDED.format(seen=resolved["as"], by=resolved["by"], reason=resolved["reason"])
        )
    return Line(
        (
            job.id,
            joined(notes) if notes else None,
            job.spec.resource,
            job.spec.mode.channel.name,
            job.state.text,
            f"{job.created_at:%d/%m/%Y %H:%M:%S}",
            None if log is None else str(log),
            outcomes.total(),
            outcomes[RowOutcome.ACCEPTED],
            outcomes[RowOutcome.REJECTED],
            outcomes[RowOutcome.UNKNOWN],
            job.spec.payload,
            job.spec.digest,
        )
    )


def source_table(proof: "Proof") -> Table:
    """Return what the proof rests on, for those who repeat it."""
    return Table(
        sheet=Text(pt="Origem", en="Source"),
        headings=(Heading(titles.NOTE, 30), Heading(titles.VALUE, _DIGEST_WIDTH, path=True)),
        lines=[
            Line((Text(pt="Sistema", en="System"), proof.base_url)),
            *(Line(fact) for fact in titles.quirks_facts({"quirks": proof.quirks})),
            Line((titles.PLAN, str(proof.title.plan))),
            Line((Text(pt="SHA-256 do plano", en="SHA-256 of the plan"), proof.title.plan_sha256)),
            Line((Text(pt="Feita com", en="Made with"), f"xlbridge {__version__}")),
        ],
    )
