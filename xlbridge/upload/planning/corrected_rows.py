"""Corrected rows of a job, which ``retry`` sends: rows that are not in the system, and added rows.

They are planned like any sheet. This module adds what only a retry needs: the row of the job that
each row corresponds to, and the rows to leave out because they were rejected unchanged.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from xlbridge.errors import UsageError
from xlbridge.i18n import Text
from xlbridge.titles import read_row_text
from xlbridge.upload.claims import RowClaims
from xlbridge.upload.job import Job
from xlbridge.upload.lookup.snapshot import Matching
from xlbridge.upload.payload import SheetSource
from xlbridge.upload.planning.corrected_keys import sent_with_other_key
from xlbridge.upload.planning.planned_row import PlannedRow, RowAction, RowPlan, RowReason
from xlbridge.upload.requests import RowOutcome, reasons_by_row
from xlbridge.upload.results.row_ledger import RowLedger
from xlbridge.upload.row_changes import RowChanges
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.header_row import header_key
from xlbridge.workbook import REJECTS_COLUMNS, WorkbookOrigin
from xlbridge.workbook.read import read_workbook

if TYPE_CHECKING:
    from xlbridge.upload.context import UploadContext


@dataclass(frozen=True, slots=True)
class CorrectedRows:
    """Sheet with rows of a job, and their origins.

    ``origins`` maps each row number to the one in the sheet of the first job; added rows get unused
    numbers. ``set_aside`` are the rows to leave out, by position.
    """

    job: Job
    sheet: ValidatedSheet
    origins: Mapping[int, int]
    set_aside: Mapping[int, PlannedRow]

    def require_changes(self, context: "UploadContext", plan: RowPlan) -> None:
        """Raise ``NotRetriable`` if a plan of corrected rows makes no progress.

        That is, if every row is held for the same reason as before, was rejected unchanged, or is
        in the system according to the job and its retries.
        """
        ledger = RowLedger.of(context.journal, self.job)
        for row in plan.rows:
            origin = self.origins[row.row]
            changes = ledger.changes.get(origin, ())
            if row.action is RowAction.UNCHANGED and any(change.in_system for change in changes):
                continue
            held_before = row.action is RowAction.HELD and any(
                earlier is not None
                and (row.reason, row.job, row.differences)
                == (earlier.reason, earlier.job, earlier.differences)
                for earlier in (change.planned for change in changes)
            )
            if row.reason is not RowReason.REJECTED and not held_before:
                return
        raise NotRetriable(_NOTHING_CORRECTED.format(file=self.sheet.file), _HOW_TO_RETRY)


class NotRetriable(UsageError):
    """The workbook has no corrected rows, or none that belongs to the job."""


_NOTHING_CORRECTED = Text(
    pt="{file} não tem linhas rejeitadas já corrigidas e ainda não reenviadas.",
    en="{file} has no rejected row that was corrected and not yet sent again.",
)
_HOW_TO_RETRY = Text(
    pt="Corrija as linhas rejeitadas e envie de novo.",
    en="Correct the rejected rows and send them again.",
)


def corrected_rows(
    context: "UploadContext", job: Job, sheet: ValidatedSheet, *, in_place: bool = False
) -> CorrectedRows:
    """Return the rows of ``sheet`` as corrections of the job's rows.

    ``sheet`` is the rejects workbook, one of whose columns has the row numbers, or the
    file that was sent, in which rows may have moved or been added; ``in_place`` means the latter
    under another path. Of two rows with the same original one the second is new, as is a row
    without one. Rows that were rejected for an error of their own and have not changed are left
    out. Raises ``NotRetriable`` if no row belongs to the job or nothing is left to send,
    ``UsageError`` if the workbook carries another upload inside.
    """
    resource = context.catalogue.named(job.spec.resource)
    ledger = RowLedger.of(context.journal, job)
    carried = WorkbookOrigin.of(sheet.file) or WorkbookOrigin()
    if carried.job and carried.job not in {attempt.id for attempt in ledger.attempts}:
        raise UsageError(
            _OF_OTHER_JOB.format(file=sheet.file, theirs=carried.job, job=job.id),
            _RETRY_FILE.format(file=job.arguments(sheet.file)),
        )
    in_place = (
        in_place
        or (sheet.file.resolve() == Path(job.spec.file) and sheet.sheet == job.spec.sheet)
        or carried.copy
    )
    stated = _origin_column(context, sheet)
    if stated:
        sheet = _with_job_columns(context, job, sheet, stated)
    source = SheetSource.of_sheet(sheet, resource)
    numbers, claims = source.rows, source.claims()
    lookups = () if resource.read_back is None else resource.read_back.lookups
    key_columns = {column for lookup in lookups for column in lookup.key}
    attempts = {attempt.id: _SentSheet.of(context, attempt) for attempt in ledger.sent_attempts}
    sent_numbers = [number for attempt in attempts.values() for number in attempt.origins]
    matching = Matching(sent_numbers)
    for row, origin in stated.items():
        matching.give(row, [origin])
    _match_contents(matching, numbers, claims, list(attempts.values()))
    if not matching.matched and not in_place:
        raise NotRetriable(_NO_ROW_OF_JOB.format(file=sheet.file, job=job.id), _CORRECT_WHICH)
    first = next(iter(attempts.values())).positions
    for row in () if stated else numbers:
        matching.give(row, [row] if row in first else [])
    origins, highest = matching.matched, max(sent_numbers, default=0)
    for row in numbers:
        if row not in origins:
            # A new row.
            highest = max(highest + 1, row)
            origins[row] = highest
    rejected = _rejection_messages(context.journal.changes, attempts)
    aside: dict[int, PlannedRow] = {}
    settled = 0
    for at, (number, digest) in enumerate(zip(numbers, claims.digests, strict=True)):
        changes = ledger.changes.get(origins[number], ())
        may_be_there = [
            change
            for change in changes
            if change.outcome in _MAY_BE_IN_SYSTEM
            or not attempts[change.job.whole].job.state.is_final
        ]
        sent_digest, sent_keys = None, None
        if may_be_there:
            last = may_be_there[-1]
            sent = attempts[last.job.whole]
            position = sent.positions[last.row]
            sent_digest = sent.claims.digests[position]
            sent_keys = frozenset(sent.claims.keys[position])
        if sent_digest == digest:
            settled += 1
        elif digest in rejected:
            aside[at] = PlannedRow(number, RowAction.HELD, RowReason.REJECTED, why=rejected[digest])
        elif sent_keys is not None and stated and sent_keys.isdisjoint(claims.keys[at]):
            # It is certainly the same row, but its new key does not find the record.
            aside[at] = sent_with_other_key(
                number, resource, key_columns, may_be_there[-1].job.whole
            )
    if len(aside) + settled == len(numbers):
        raise NotRetriable(_NOTHING_CORRECTED.format(file=sheet.file), _HOW_TO_RETRY)
    return CorrectedRows(job, sheet, origins, aside)


_OF_OTHER_JOB = Text(
    pt="{file} é do envio {theirs}, não do envio {job}; nada foi enviado.",
    en="{file} belongs to the upload {theirs}, not to {job}; nothing was sent.",
)
_RETRY_FILE = Text(
    pt="Para enviar as linhas dele: xlbridge retry {file}",
    en="To send its rows: xlbridge retry {file}",
    page=Text(
        pt="Para enviar as linhas dele, abra {file} em Abrir.",
        en="To send its rows, open {file} under Open.",
    ),
)
_NO_ROW_OF_JOB = Text(
    pt="{file} não tem nenhuma linha do envio {job}.", en="{file} has no row of the upload {job}."
)
_CORRECT_WHICH = Text(
    pt="Corrija o arquivo das linhas rejeitadas, ou o próprio arquivo enviado. Envie outras "
    "planilhas com xlbridge upload.",
    en="Fix the rejects workbook, or the workbook that was sent. Send other sheets with xlbridge "
    "upload.",
    page=Text(
        pt="Corrija o arquivo das linhas rejeitadas, ou o próprio arquivo enviado. Envie outras "
        "planilhas por Abrir.",
        en="Fix the rejects workbook, or the workbook that was sent. Send other sheets by Open.",
    ),
)
_MAY_BE_IN_SYSTEM = frozenset({RowOutcome.ACCEPTED, RowOutcome.UNCHANGED, RowOutcome.UNKNOWN})


def _origin_column(context: "UploadContext", sheet: ValidatedSheet) -> Mapping[int, int]:
    """Return the numbers in the rejects workbook's first column by row number, empty without it."""
    cells = read_workbook(sheet.file, sheet.limits, sheet.sheet).sheets[0]
    header = [header_key(cell) for cell in cells.row((sheet.header_row or 1) - 1)]
    names = {header_key(REJECTS_COLUMNS[0].pt), header_key(REJECTS_COLUMNS[0].en)}
    index = next((index for index, key in enumerate(header) if key in names), None)
    if index is None:
        return {}
    column = cells.columns[index]
    values = {row: column.value(row - 1) for row in sheet.rows}
    found = {
        row: read_row_text(value) if isinstance(value, str) else int(value)
        for row, value in values.items()
        if isinstance(value, float | int | str)
    }
    return {row: origin for row, origin in found.items() if origin is not None}


def _with_job_columns(
    context: "UploadContext", job: Job, sheet: ValidatedSheet, origins: Mapping[int, int]
) -> ValidatedSheet:
    """Return a rejects workbook's sheet with the columns and system numbers of the job's sheet.

    The workbook has every column of the resource. Empty ones that the job's sheet lacked count as
    absent, since an empty cell would mean that the field is to be empty.
    """
    filled = {name for name in sheet.frame if sheet.frame[name].notna().any()}
    kept = filled | job.spec.columns.keys()
    job_origins = context.journal.changes.origins(job.id)
    numbers = {
        job_origins.get(row.row, row.row): row.number
        for row in context.journal.plan_of(job)
        if row.number
    }
    row_numbers = [numbers.get(origins.get(row, 0), {}) for row in sheet.rows]
    return replace(
        sheet,
        columns={name: position for name, position in sheet.columns.items() if name in kept},
        numbers=(
            pd.DataFrame(row_numbers, index=sheet.frame.index)
            if any(row_numbers)
            else sheet.numbers
        ),
    )


def _match_contents(
    matching: Matching[int],
    rows: Sequence[int],
    claims: RowClaims,
    attempts: "Sequence[_SentSheet]",
) -> None:
    """Match rows that have equal values with those of a job and its retries, then those with equal
    keys.

    ``attempts`` are the first job and its retries, oldest first.
    """
    digests: defaultdict[str, list[int]] = defaultdict(list)
    by_key: defaultdict[str, list[int]] = defaultdict(list)
    for attempt in attempts:
        for number, digest, keys in zip(attempt.origins, *attempt.claims, strict=True):
            digests[digest].append(number)
            for key in keys:
                by_key[key].append(number)
    most = max(map(len, claims.keys), default=0)
    keys_in_turn = (
        [keys[at] if at < len(keys) else "" for keys in claims.keys] for at in range(most)
    )
    sought = chain([(digests, claims.digests)], ((by_key, keys) for keys in keys_in_turn))
    for known, values in sought:
        for row, value in zip(rows, values, strict=True):
            # Prefer the row that has not moved.
            found = known.get(value, [])
            matching.give(row, [row, *found] if row in found else found)


@dataclass(frozen=True, slots=True)
class _SentSheet:
    """Rows of a job by number, with their numbers in the sheet of the first job, and the digests of
    their values and keys."""

    job: Job
    positions: Mapping[int, int]
    origins: Sequence[int]
    claims: RowClaims

    @classmethod
    def of(cls, context: "UploadContext", job: Job) -> "_SentSheet":
        """Return the rows of a job from its stored workbook."""
        source = SheetSource.of_job(context, job)
        positions = {number: position for position, number in enumerate(source.rows)}
        origins = context.journal.changes.origins(job.id)
        first_rows = [origins.get(row, row) for row in positions]
        return cls(job, positions, first_rows, source.claims())


def _rejection_messages(changes: RowChanges, attempts: Mapping[str, _SentSheet]) -> dict[str, Text]:
    """Return the messages on rows that were rejected for an error of their own, by the digests of
    their values."""
    messages: dict[str, Text] = {}
    for sent in attempts.values():
        rejections = changes.rejections(sent.job.id)
        own_errors = {row.row for row in rejections if row.itself}
        for number, reason in reasons_by_row(rejections).items():
            if number in own_errors and number in sent.positions:
                messages[sent.claims.digests[sent.positions[number]]] = reason
    return messages
