"""Retry of a job: the rejected rows that were corrected since, and no others."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, State
from xlbridge.upload.payload import row_digests, row_texts, sent_frame, sheet_digest
from xlbridge.validation import ValidatedSheet, normalise_header
from xlbridge.workbook import REJECTS_COLUMNS
from xlbridge.workbook.read import read_workbook

_Values = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class CorrectedRows:
    """Rows of a job to send once more: the sheet of just these rows, and where they come from.

    ``origins`` are the row numbers that they have in the sheet of ``job``; ``left_out`` is how many
    rows of the corrected workbook stay out.
    """

    job: Job
    sheet: ValidatedSheet
    origins: tuple[int, ...]
    left_out: int


class NotRetriable(UsageError):
    """Error of a workbook without corrected rows, or with rows that are not the job's."""


def require_rejected(job: Job) -> None:
    """Raise ``UsageError`` unless rows of the job, and of the whole sheet, were rejected."""
    if job.parent is not None:
        raise UsageError(
            Text(
                pt="O envio {job} é parte de {parent}; reenvie as linhas rejeitadas a partir dele.",
                en="The upload {job} is a part of {parent}; retry its rejected rows from there.",
            ).format(job=job.id, parent=job.parent),
            Text(pt="xlbridge retry {p}", en="xlbridge retry {p}").format(p=job.parent),
        )
    if job.state not in {State.PARTIAL, State.REJECTED}:
        raise UsageError(
            Text(
                pt="O envio {job} não tem linhas rejeitadas (estado {state}).",
                en="The upload {job} has no rejected rows (state {state}).",
            ).format(job=job.id, state=job.state.public)
        )


def corrected_rows(
    context: UploadContext, job: Job, sheet: ValidatedSheet, *, in_place: bool = False
) -> CorrectedRows:
    """Return the rows of ``sheet`` that were not applied and may be sent now.

    ``sheet`` is the rejects workbook, whose column ``linha original`` has the rows' numbers, or the
    file that was sent; ``in_place`` says that it is the latter, under another path. Left out are
    rows with an error of their own that have not changed, and rows that an earlier retry has sent.
    Raises ``NotRetriable`` when a row is none of the job's, when rows of the sent file have moved,
    or nothing is left to send.
    """
    in_place = in_place or _is_sent_workbook(job, sheet)
    open_rows = _open_rows(job)
    origins = sheet.rows if in_place else _origins(context, job, sheet, open_rows)
    before = _sent_values(context, job)
    after = row_texts(sheet.frame)
    settled = _sent_by_retries(context, job)
    if in_place:
        _require_unmoved_rows(sheet, after, before, settled, open_rows)
    faulty = {row.row for row in job.verdict.rejected_rows if row.itself}
    positions = [
        position
        for position, origin in enumerate(origins)
        if origin in open_rows
        and origin not in settled
        and (origin not in faulty or after[position] != before.get(origin))
    ]
    if not positions:
        raise NotRetriable(_NOTHING_CORRECTED.format(file=sheet.file))
    return _rows_at(positions, job, sheet, origins)


def _open_rows(job: Job) -> set[int]:
    """Return the rows that were not applied: all of a rejected sheet, else the rejected ones."""
    if job.state is State.REJECTED:
        return set(job.what.rows)
    return {row.row for row in job.verdict.rejected_rows if row.row is not None}


def _rows_at(
    positions: Sequence[int], job: Job, sheet: ValidatedSheet, origins: Sequence[int]
) -> CorrectedRows:
    rows = replace(
        sheet,
        frame=sheet.frame.iloc[list(positions)].reset_index(drop=True),
        rows=[sheet.rows[position] for position in positions],
    )
    return CorrectedRows(
        job,
        rows,
        origins=tuple(origins[position] for position in positions),
        left_out=len(origins) - len(positions),
    )


_NOTHING_CORRECTED = Text(
    pt="{file} não tem linhas rejeitadas já corrigidas e ainda não reenviadas.",
    en="{file} has no rejected row that was corrected and not sent again yet.",
)


def _is_sent_workbook(job: Job, sheet: ValidatedSheet) -> bool:
    return sheet.file.resolve() == Path(job.what.file) and sheet.sheet == job.what.sheet


def _require_unmoved_rows(
    sheet: ValidatedSheet,
    after: Sequence[_Values],
    before: Mapping[int, _Values],
    settled: Mapping[int, _Values],
    open_rows: set[int],
) -> None:
    """Raise ``NotRetriable`` unless each row that needs no correction is as it was sent.

    A row is known by its number alone: where others were inserted or deleted above it, the wrong
    one would be taken for the corrected one.
    """
    for row, values in zip(sheet.rows, after, strict=True):
        correctable = row in open_rows and row not in settled
        if not correctable and values not in (before.get(row), settled.get(row)):
            raise NotRetriable(
                Text(
                    pt="{file}, linha {row}: não é a mesma linha que foi enviada.",
                    en="{file}, row {row}: this is not the row that was sent from there.",
                ).format(file=sheet.file, row=row),
                _KEEP_ACCEPTED_ROWS,
            )


_KEEP_ACCEPTED_ROWS = Text(
    pt="Não altere nem mova as linhas aceitas; inclua linhas novas em outro arquivo.",
    en="Leave accepted rows as and where they are; put new rows into another workbook.",
)


def _origins(
    context: UploadContext, job: Job, sheet: ValidatedSheet, open_rows: set[int]
) -> Sequence[int]:
    numbers = _origin_column(context, sheet)
    for row in sheet.rows:
        if numbers.get(row) not in open_rows:
            raise NotRetriable(
                Text(
                    pt="{file}, linha {row}: não é uma linha rejeitada do envio {job}.",
                    en="{file}, row {row}: this is not a rejected row of the upload {job}.",
                ).format(file=sheet.file, row=row, job=job.id),
                Text(
                    pt="Corrija o arquivo das linhas rejeitadas sem mexer na coluna {column!r}, ou "
                    "o próprio arquivo enviado. Linhas novas vão com xlbridge upload.",
                    en="Fix the rejects workbook without touching its column {column!r}, or the "
                    "workbook that was sent. Send new rows with xlbridge upload.",
                ).format(column=REJECTS_COLUMNS[0]),
            )
    return [numbers[row] for row in sheet.rows]


def _origin_column(context: UploadContext, sheet: ValidatedSheet) -> Mapping[int, int]:
    """Return the column ``linha original``, by the row numbers of the sheet."""
    cells = read_workbook(sheet.file, context.settings.limits, sheet.sheet).sheets[0]
    header = [normalise_header(cell) for cell in cells.row((sheet.header_row or 1) - 1)]
    if REJECTS_COLUMNS[0] not in header:
        return {}
    column = cells.columns[header.index(REJECTS_COLUMNS[0])]
    values = {row: column.value(row - 1) for row in sheet.rows}
    return {row: int(value) for row, value in values.items() if isinstance(value, float | int)}


def _sent_by_retries(context: UploadContext, job: Job) -> Mapping[int, _Values]:
    """Return the rows that earlier retries have sent and that were not rejected again, as sent."""
    settled: dict[int, _Values] = {}
    for retry in context.journal.retries_of(job.id):
        if retry.state.frees_rows or retry.state.is_unsent:
            continue
        rejected = {row.row for row in retry.verdict.rejected_rows}
        origins = retry.events[0].detail["origins"]
        sent = _sent_values(context, retry)
        pairs = zip(retry.what.rows, origins, strict=True)
        settled |= {origin: sent[row] for row, origin in pairs if row not in rejected}
    return settled


def _sent_values(context: UploadContext, job: Job) -> Mapping[int, _Values]:
    sent = sent_frame(context, job)
    return dict(zip(job.what.rows, row_texts(sent), strict=True))


def has_sent_rows(context: UploadContext, job: Job, sheet: ValidatedSheet) -> bool:
    """Tell whether a sheet holds the rows that a job and its retries sent, and no others.

    Rows may have moved as long as all of them are as the job sent them.
    """
    if sheet.resource is None or not sheet.ok:
        return False
    digests = row_digests(sheet.resource, sheet.frame)
    now = dict(zip(sheet.rows, digests, strict=True))
    sent = _sent_digests(context, job)
    unmoved = now.keys() == sent.keys() and all(now[row] in sent[row] for row in now)
    return unmoved or sheet_digest(digests) == job.what.digest


def _sent_digests(context: UploadContext, job: Job) -> Mapping[int, frozenset[str]]:
    """Return, for each row number of a job's sheet, the digests of the values that it went with."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    _add_digests(context, job, job.what.rows, found)
    return {row: frozenset(digests) for row, digests in found.items()}


def _add_digests(
    context: UploadContext, job: Job, rows: Sequence[int], found: defaultdict[int, set[str]]
) -> None:
    """Add what a job sent; ``rows`` are the numbers that its rows have in the first job's sheet."""
    resource = context.catalogue.named(job.what.resource)
    digests = row_digests(resource, sent_frame(context, job))
    for row, digest in zip(rows, digests, strict=True):
        found[row].add(digest)
    row_of = dict(zip(job.what.rows, rows, strict=True))
    for retry in context.journal.retries_of(job.id):
        origins = retry.events[0].detail["origins"]
        _add_digests(context, retry, [row_of[origin] for origin in origins], found)
