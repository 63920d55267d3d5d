"""What a proof rests on: exports with their manifests, files and uploads with their digests."""

from collections.abc import Mapping
from typing import Any

from xlbridge.batch.closing.given import ProofExport
from xlbridge.batch.closing.grids import Grid, Heading, Line, Tone
from xlbridge.batch.closing.proof import Proof
from xlbridge.i18n import Text
from xlbridge.upload.journal.job import Job
from xlbridge.upload.verdict import Verdict

_DIGEST = 36  # half of one: it stands in two lines
_STEP = Heading(Text(pt="Etapa", en="Step"), 14)
_FILE = Heading(Text(pt="Arquivo", en="File"), 44, path=True)
_SHA = Heading(Text(pt="SHA-256", en="SHA-256"), _DIGEST, digest=True)
_YES = Text(pt="sim", en="yes")
_NO = Text(pt="NÃO", en="NO")
_NOT_DONE = Text(pt="não feita: {why}", en="not done: {why}")
_NO_REASON = Text(pt="sem motivo anotado", en="no reason noted")
_RETRY = Text(pt="reenvio de {job}", en="retry of {job}")
_PART = Text(pt="parte {n} de {job}", en="part {n} of {job}")
_DECIDED = Text(pt="{seen}, por {by}: {reason}", en="{seen}, by {by}: {reason}")
_AGAIN = Text(pt="enviado de novo: {reason}", en="sent again: {reason}")


def export_grid(proof: Proof) -> Grid:
    """Return the exports of the batch, as their manifests describe them."""
    return Grid(
        sheet=Text(pt="Exportações", en="Exports"),
        headings=(
            _STEP,
            Heading(Text(pt="Listagem", en="Listing"), 18),
            Heading(Text(pt="Completa", en="Complete"), 18),
            Heading(Text(pt="Registros", en="Records"), 11),
            Heading(Text(pt="Linhas por planilha", en="Rows by sheet"), 30),
            Heading(Text(pt="Lacunas", en="Holes"), 40, alarming=True),
            Heading(Text(pt="Não existem", en="Not there"), 24, alarming=True),
            _FILE,
            _SHA,
        ),
        lines=[_export(export) for export in proof.exports],
        none=Text(pt="O lote não tem exportações.", en="The batch has no exports."),
    )


def _export(export: ProofExport) -> Line:
    manifest = export.manifest
    if manifest is None:
        why = _NOT_DONE.format(why=export.problem or _NO_REASON)
        values = (export.name, export.listing, why, None, None, None, None, str(export.output))
        return Line((*values, export.sha256), Tone.OPEN)
    sheets: Mapping[str, Any] = manifest["sheets"]
    return Line(
        (
            export.name,
            export.listing,
            export.problem or (_YES if manifest["complete"] else _NO),
            int(manifest["records"]),
            ", ".join(f"{name}: {rows}" for name, rows in sheets.items()),
            "; ".join(str(hole["message"]) for hole in manifest["holes"]) or None,
            "; ".join(", ".join(map(str, key.values())) for key in manifest["missing"]) or None,
            str(export.output),
            export.sha256,
        ),
        Tone.PLAIN if manifest["complete"] and not export.problem else Tone.OPEN,
    )


def file_grid(proof: Proof) -> Grid:
    """Return the workbooks with their digests."""
    return Grid(
        sheet=Text(pt="Pastas de trabalho", en="Workbooks"),
        headings=(_STEP, _FILE, Heading(Text(pt="Linhas", en="Rows"), 10), _SHA),
        lines=[
            Line((step.name, str(file.file.path), file.file.rows_in_sheet, file.file.sha256))
            for step in proof.steps
            for file in step.files
        ],
        none=Text(pt="Nenhuma.", en="None."),
    )


def job_grid(proof: Proof) -> Grid:
    """Return the uploads: parts and retries too, each with what it sent and what became of it."""
    return Grid(
        sheet=Text(pt="Envios", en="Uploads"),
        headings=(
            Heading(Text(pt="Envio", en="Upload"), 24),
            Heading(Text(pt="Observação", en="Note"), 44),
            Heading(Text(pt="Recurso", en="Resource"), 18),
            Heading(Text(pt="Modo", en="Mode"), 9),
            Heading(Text(pt="Estado", en="State"), 11),
            Heading(Text(pt="Início", en="Begun"), 18),
            Heading(Text(pt="Log", en="Log"), 8),
            Heading(Text(pt="Linhas", en="Rows"), 9),
            Heading(Text(pt="Aceitas", en="Accepted"), 9),
            Heading(Text(pt="Rejeitadas", en="Rejected"), 10, alarming=True),
            Heading(Text(pt="Sem resultado", en="Unknown"), 9, alarming=True),
            Heading(
                Text(pt="SHA-256 do que foi enviado", en="SHA-256 of what was sent"),
                _DIGEST,
                digest=True,
            ),
            Heading(Text(pt="Digest das linhas", en="Digest of the rows"), _DIGEST, digest=True),
        ),
        lines=[
            _job(job, verdict)
            for step in proof.steps
            for file in step.files
            for job, verdict in file.jobs
        ],
        none=Text(pt="Nada foi enviado.", en="Nothing was sent."),
    )


def _job(job: Job, verdict: Verdict) -> Line:
    log = job.last("log_id")
    return Line(
        (
            job.id,
            _note(job),
            job.what.resource,
            job.what.mode.value,
            job.state.public,
            f"{job.created_at:%d/%m/%Y %H:%M:%S}",
            None if log is None else str(log),
            verdict.read,
            verdict.accepted,
            verdict.rejected,
            verdict.unknown,
            job.what.payload,
            job.what.digest,
        )
    )


def _note(job: Job) -> Text | None:
    """Say what tells an upload from the plain sending of a workbook."""
    notes = []
    begun = job.events[0].detail
    if job.parent is not None:
        notes.append(_PART.format(n=job.part, job=job.parent))
    if "retry_of" in begun:
        notes.append(_RETRY.format(job=begun["retry_of"]))
    if "again" in begun:
        notes.append(_AGAIN.format(reason=begun["again"]))
    if (resolved := job.last("resolved")) is not None:
        notes.append(
            _DECIDED.format(seen=resolved["as"], by=resolved["by"], reason=resolved["reason"])
        )
    if not notes:
        return None
    return Text(pt="; ".join(n.pt for n in notes), en="; ".join(n.en for n in notes))
