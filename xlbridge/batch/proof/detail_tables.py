"""Detail tables of a proof: differences, open and rejected rows, exports, files, uploads."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from xlbridge import titles
from xlbridge.batch.proof.model import (
    OpenReason,
    OpenRow,
    Proof,
    ProofExport,
    RowLocation,
)
from xlbridge.i18n import Text, joined, untranslated
from xlbridge.report_forms import Heading, Line, Table, Tone, Value, value_text
from xlbridge.resources import Kind
from xlbridge.upload import Job, UploadOptions
from xlbridge.upload.results import RowOutcome, mode_name

_STEP = Heading(titles.STEP, 14)
_WORKBOOK = Heading(titles.WORKBOOK, 34)
_SHEET = Heading(titles.SHEET, 16)
_LOCATION = (_STEP, _WORKBOOK, _SHEET)
_ROW = Heading(titles.ROW, 8)
_CELL = Heading(titles.CELL, 9)
_COLUMN = Heading(titles.COLUMN, 22)
_CODE = Heading(Text(pt="Código no sistema", en="Code in the system"), 24, words=True)
_FIXED_ELSEWHERE = Text(
    pt="{file} (linha {row} de {workbook})", en="{file} (row {row} of {workbook})"
)
_OTHER_SHEET = untranslated("{file} ({workbook})")

_STATES = {
    OpenReason.MISSING: Text(pt="não está no sistema", en="not in the system"),
    OpenReason.DOUBLED: Text(pt="mais de uma vez no sistema", en="more than once in the system"),
    OpenReason.WRITTEN: Text(
        pt="rejeitada; está no sistema mesmo assim", en="rejected; in the system nevertheless"
    ),
}
_UNKNOWN_FOUND = Text(pt="em dúvida; encontrada no sistema", en="in doubt; found in the system")
_UNKNOWN_NOT_FOUND = Text(
    pt="em dúvida; não encontrada no sistema", en="in doubt; not found in the system"
)
_UNKNOWN_NO_KEY = Text(pt="em dúvida; não pode ser procurada", en="in doubt; cannot be looked up")


_YES_NO = {"True": titles.YES, "False": titles.NO}


def typed_value(kind: Kind, plain: str | None) -> Value:
    """Return a ``comparable_value`` converted to its kind."""
    if plain is None:
        return None
    try:
        if kind is Kind.MONEY:
            return Decimal(plain)
        if kind is Kind.DATE:
            return date.fromisoformat(plain)
    except (InvalidOperation, ValueError):
        return plain
    if kind is Kind.NUMBER:
        return Text(pt=plain.replace(".", ","), en=plain)
    return _YES_NO.get(plain, plain) if kind is Kind.BOOLEAN else plain


def difference_table(proof: Proof) -> Table:
    """Return the cells whose value in the system differs from the one sent."""
    return Table(
        sheet=titles.DIFFERENCES,
        headings=(
            *_LOCATION,
            _CELL,
            _COLUMN,
            Heading(Text(pt="Enviado", en="Sent"), 24),
            Heading(titles.IN_SYSTEM, 24),
            _CODE,
        ),
        lines=[
            Line(
                (
                    *_location_values(cell.location),
                    cell.cell or str(cell.location.row),
                    cell.column,
                    value_text(typed_value(cell.kind, cell.sent)),
                    value_text(typed_value(cell.kind, cell.found)),
                    cell.code,
                ),
            )
            for cell in proof.cells
        ],
        none=Text(pt="Nenhuma célula difere.", en="No cell differs."),
        about=Text(
            pt="Cada valor de uma linha aceita que está diferente no sistema, com o endereço da "
            "célula na planilha enviada. Células vazias não são comparadas.",
            en="Each value of an accepted row that differs in the system, with the address of the "
            "cell in the sheet that was sent. Empty cells are not compared.",
        ),
    )


def open_row_table(proof: Proof) -> Table:
    """Return the rows that are open."""
    return Table(
        sheet=Text(pt="Linhas em aberto", en="Open rows"),
        headings=(
            *_LOCATION,
            _ROW,
            Heading(titles.STATE, 30),
            Heading(Text(pt="Chave procurada", en="Key looked up"), 40),
            Heading(Text(pt="Códigos no sistema", en="Codes in the system"), 30),
        ),
        lines=[
            Line(
                (
                    *_location_values(row.location),
                    str(row.location.row),
                    _open_state(row),
                    " · ".join(f"{name}: {value}" for name, value in row.key.items()) or None,
                    ", ".join(row.codes) or None,
                )
            )
            for row in proof.rows
        ],
        none=Text(
            pt="Nenhuma linha falta, se repete, está em dúvida ou foi gravada apesar de rejeitada.",
            en="No row is missing, repeated, in doubt, or written although it was rejected.",
        ),
    )


def refused_table(proof: Proof) -> Table:
    """Return the rows that were not written, with the system's answer or the reason of the plan."""
    return Table(
        sheet=Text(pt="Rejeitadas e retidas", en="Rejected and held rows"),
        headings=(
            *_LOCATION,
            _ROW,
            _CELL,
            _COLUMN,
            Heading(titles.REASON, 60),
        ),
        lines=[
            Line(
                (
                    *_location_values(row.location),
                    str(row.location.row or "") or None,
                    row.cell,
                    row.column,
                    row.message,
                )
            )
            for row in proof.refused
        ],
        none=Text(pt="Nenhuma linha foi rejeitada ou retida.", en="No row was rejected or held."),
        about=Text(
            pt="O motivo de cada linha não gravada: a resposta do sistema ou, se a linha foi "
            "retida, por que não foi enviada.",
            en="The reason why each row was not written: the system's answer or, for a held row, "
            "why it was not sent.",
        ),
    )


def _location_values(location: RowLocation) -> tuple[Value, ...]:
    """Return the step, the file and the sheet of a row; of a corrected row also the original."""
    name: Value = location.file.name
    if location.file.name != location.workbook.name:
        text = _FIXED_ELSEWHERE if location.row else _OTHER_SHEET
        name = text.format(file=name, row=location.origin, workbook=location.workbook.name)
    return location.step, name, location.sheet


def _open_state(row: OpenRow) -> Text:
    if row.state is not OpenReason.UNKNOWN:
        return _STATES[row.state]
    if not row.key:
        return _UNKNOWN_NO_KEY
    return _UNKNOWN_FOUND if row.codes else _UNKNOWN_NOT_FOUND


_DIGEST_WIDTH = 36  # a digest wraps to two lines
_FILE = Heading(titles.FILE, 44, path=True)
_SHA = Heading(untranslated("SHA-256"), _DIGEST_WIDTH, digest=True)
_NOT_DONE = Text(pt="não feita: {why}", en="not done: {why}")
_RETRY = Text(pt="reenvio de {job}", en="retry of {job}")
_PART = Text(pt="parte {n} de {job}", en="part {n} of {job}")
_DECIDED = Text(pt="{seen}, por {by}: {reason}", en="{seen}, by {by}: {reason}")
_AGAIN = Text(pt="enviado de novo: {reason}", en="sent again: {reason}")


def export_table(proof: Proof) -> Table:
    """Return the exports of the batch, as their manifests describe them."""
    return Table(
        sheet=Text(pt="Exportações", en="Exports"),
        headings=(
            _STEP,
            Heading(titles.LISTING, 18),
            Heading(Text(pt="Completa", en="Complete"), 18),
            Heading(titles.RECORDS, 11),
            Heading(Text(pt="Linhas por planilha", en="Rows by sheet"), 30),
            Heading(Text(pt="Lacunas", en="Gaps"), 40, alarming=True),
            Heading(Text(pt="Não existem", en="Not found"), 24, alarming=True),
            _FILE,
            _SHA,
        ),
        lines=[_export_line(export) for export in proof.exports],
        none=Text(pt="O lote não tem exportações.", en="The batch has no exports."),
    )


def _export_line(export: ProofExport) -> Line:
    manifest = export.manifest
    if manifest is None:
        state = _NOT_DONE.format(why=export.not_done_because)
        values = (export.name, export.listing, state, None, None, None, None, str(export.output))
        return Line((*values, export.sha256), Tone.OPEN)
    sheets: Mapping[str, Any] = manifest["sheets"]
    return Line(
        (
            export.name,
            export.listing,
            export.problem or (titles.YES if manifest["complete"] else titles.EMPHATIC_NO),
            int(manifest["records"]),
            ", ".join(f"{name}: {rows}" for name, rows in sheets.items()),
            "; ".join(str(Text.of_json(hole["message"])) for hole in manifest["holes"]) or None,
            "; ".join(", ".join(map(str, key.values())) for key in manifest["missing"]) or None,
            str(export.output),
            export.sha256,
        ),
        Tone.PLAIN if manifest["complete"] and not export.problem else Tone.OPEN,
    )


def file_table(proof: Proof) -> Table:
    """Return the workbooks with their digests."""
    return Table(
        sheet=titles.WORKBOOKS,
        headings=(_STEP, _FILE, Heading(titles.ROWS, 10), _SHA),
        lines=[
            Line((step, str(file.file.path), file.file.rows_in_sheet, file.file.sha256))
            for step, files in proof.steps.items()
            for file in files
        ],
        none=Text(pt="Nenhum.", en="None."),
    )


def job_table(proof: Proof) -> Table:
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
            _job_line(job) for files in proof.steps.values() for file in files for job in file.jobs
        ],
        none=Text(pt="Nada foi enviado.", en="Nothing was sent."),
    )


def _job_line(job: Job) -> Line:
    log, verdict = job.last("log_id"), job.verdict
    return Line(
        (
            job.id,
            _job_note(job),
            job.spec.resource,
            mode_name(job.spec.mode),
            job.state.text,
            f"{job.created_at:%d/%m/%Y %H:%M:%S}",
            None if log is None else str(log),
            verdict.read,
            verdict.accepted,
            verdict.rejected,
            verdict.unknown,
            job.spec.payload,
            job.spec.digest,
        )
    )


def _job_note(job: Job) -> Text | None:
    """Return how an upload differs from the plain upload of a workbook, None if it does not."""
    notes = []
    if job.parent is not None:
        notes.append(_PART.format(n=job.part, job=job.parent))
    if job.retry_of is not None:
        notes.append(_RETRY.format(job=job.retry_of))
    if (reason := UploadOptions.of_job(job).again) is not None:
        notes.append(_AGAIN.format(reason=reason))
    if (resolved := job.last("resolved")) is not None:
        notes.append(
            _DECIDED.format(seen=resolved["as"], by=resolved["by"], reason=resolved["reason"])
        )
    return joined(notes) if notes else None
