"""Corrected rows of a job, which ``retry`` sends: those not in the system, and rows added to them.

The rows go by their actions, as those of any sheet do. What only a retry knows is told here: which
row of the job each row is, and which rows stay out because they were rejected as they are.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from xlbridge.errors import UsageError
from xlbridge.files import as_argument
from xlbridge.i18n import Text
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job, State
from xlbridge.upload.payload import frame_with_lists, row_digests, sheet_digest
from xlbridge.upload.planning.plan_builder import SheetSource
from xlbridge.upload.planning.planned_row import PlannedRow, RowAction, RowReason, SetAside
from xlbridge.upload.planning.row_actions import RowPlan, SheetRows
from xlbridge.upload.results.retried_rows import (
    doubtful_rows,
    outcomes_with_retries,
    rows_in_system,
    with_retries,
)
from xlbridge.upload.results.verdict import RowOutcome
from xlbridge.validation import ValidatedSheet
from xlbridge.validation.headers import header_key
from xlbridge.workbook import REJECTS_COLUMNS
from xlbridge.workbook.read import read_workbook


@dataclass(frozen=True, slots=True)
class CorrectedRows:
    """Sheet with rows of a job, and where they come from.

    ``origins`` maps each row number to that in the sheet of ``job``; a row that was added has one
    that no row of the job has. ``set_aside`` are the positions of rows that stay out, and why.
    """

    job: Job
    sheet: ValidatedSheet
    origins: Mapping[int, int]
    set_aside: Mapping[int, SetAside]


class NotRetriable(UsageError):
    """Error of a workbook without corrected rows, or with none that is the job's."""


_NOTHING_CORRECTED = Text(
    pt="{file} não tem linhas rejeitadas já corrigidas e ainda não reenviadas.",
    en="{file} has no rejected row that was corrected and not sent again yet.",
)
_SENT_BY = Text(pt="envio {job}", en="upload {job}")


def require_rejected(job: Job) -> None:
    """Raise ``UsageError`` unless rows of the job, and of the whole sheet, were not applied."""
    job.require_upload()
    if job.parent is not None:
        raise UsageError(
            Text(
                pt="O envio {job} é parte de {parent}; reenvie as linhas rejeitadas a partir dele.",
                en="The upload {job} is a part of {parent}; retry its rejected rows from there.",
            ).format(job=job.id, parent=job.parent),
            Text(pt="xlbridge retry {p}", en="xlbridge retry {p}").format(p=job.parent),
        )
    held = job.state is State.DONE and job.held
    if job.state not in {State.PARTIAL, State.REJECTED} and not held:
        raise UsageError(
            Text(
                pt="O envio {job} não tem linhas rejeitadas nem retidas (situação: {state}).",
                en="The upload {job} has no rejected or held rows (state {state}).",
            ).format(job=job.id, state=job.state.text),
            Text(
                pt="Linhas novas ou alteradas vão com: xlbridge upload {file}",
                en="Rows that are new or were changed go with: xlbridge upload {file}",
            ).format(file=as_argument(Path(job.spec.file))),
        )


def corrected_rows(
    context: UploadContext, job: Job, sheet: ValidatedSheet, *, in_place: bool = False
) -> CorrectedRows:
    """Return the rows of ``sheet`` as rows of the job.

    ``sheet`` is the rejects workbook, whose column ``linha original`` has the rows' numbers, or the
    file that was sent, in which rows may have moved and may have been added; ``in_place`` says
    that it is the latter, under another path. Rows that were rejected for an error of their own and
    are as they were stay out. Raises ``NotRetriable`` when no row is the job's, or nothing is left
    to send.
    """
    resource = context.catalogue.named(job.spec.resource)
    in_place = in_place or (
        sheet.file.resolve() == Path(job.spec.file) and sheet.sheet == job.spec.sheet
    )
    told = {} if in_place else _origin_column(context, sheet)
    if told:
        sheet = _as_the_job_had_it(context, job, sheet, told)
    sent = SheetSource.of_job(context, job).to_plan()
    rows = SheetSource.of_sheet(sheet, resource).to_plan()
    matcher = _RowMatcher(sent, rows)
    matcher.match_told(told)
    matcher.match_alike()
    if not matcher.origins and not in_place:
        raise _not_the_jobs(job, sheet)
    origins = matcher.all_origins()
    rejected, applied = _outcomes(context, job)
    aside: dict[int, SetAside] = {}
    settled = 0
    for at, (number, digest) in enumerate(zip(rows.numbers, rows.digests, strict=True)):
        known = applied.get(origins[number])
        if known is not None and known.digest == digest:
            settled += 1
        elif digest in rejected:
            aside[at] = SetAside(RowReason.REJECTED, rejected[digest])
        elif known is not None and told and known.keys.isdisjoint(rows.keys[at]):
            # It is the same row for certain, and nothing would find its record.
            aside[at] = SetAside(RowReason.SENT_OTHERWISE, _SENT_BY.format(job=known.job))
    if len(aside) + settled == len(rows.numbers):
        raise NotRetriable(_NOTHING_CORRECTED.format(file=sheet.file))
    return CorrectedRows(job, sheet, origins, aside)


def _not_the_jobs(job: Job, sheet: ValidatedSheet) -> NotRetriable:
    return NotRetriable(
        Text(
            pt="{file} não tem nenhuma linha do envio {job}.",
            en="{file} has no row of the upload {job}.",
        ).format(file=sheet.file, job=job.id),
        Text(
            pt="Corrija o arquivo das linhas rejeitadas, ou o próprio arquivo enviado. Outras "
            "planilhas vão com xlbridge upload.",
            en="Fix the rejects workbook, or the workbook that was sent. Send other sheets with "
            "xlbridge upload.",
        ),
    )


def _origin_column(context: UploadContext, sheet: ValidatedSheet) -> Mapping[int, int]:
    """Return the column ``linha original``, by the row numbers of the sheet."""
    cells = read_workbook(sheet.file, context.settings.limits, sheet.sheet).sheets[0]
    header = [header_key(cell) for cell in cells.row((sheet.header_row or 1) - 1)]
    if REJECTS_COLUMNS[0] not in header:
        return {}
    column = cells.columns[header.index(REJECTS_COLUMNS[0])]
    values = {row: column.value(row - 1) for row in sheet.rows}
    return {row: int(value) for row, value in values.items() if isinstance(value, float | int)}


def _as_the_job_had_it(
    context: UploadContext, job: Job, sheet: ValidatedSheet, told: Mapping[int, int]
) -> ValidatedSheet:
    """Return a rejects workbook's sheet with the columns and system numbers of the job's sheet.

    The workbook has every column of the resource: those that the job's sheet lacked and that are
    empty count as absent, since an empty cell would say that the field is to be empty.
    """
    filled = {name for name in sheet.frame if sheet.frame[name].notna().any()}
    kept = filled | job.spec.columns.keys()
    numbers = {row.row: row.number for row in context.journal.plan_of(job) if row.number}
    carried = [numbers.get(told.get(row, 0), {}) for row in sheet.rows]
    return replace(
        sheet,
        columns={name: place for name, place in sheet.columns.items() if name in kept},
        numbers=pd.DataFrame(carried, index=sheet.frame.index) if any(carried) else sheet.numbers,
    )


class _RowMatcher:
    """Matcher of the rows of a sheet with those of a job's, each with one at most."""

    def __init__(self, sent: SheetRows, rows: SheetRows) -> None:
        self._sent, self._rows = sent, rows
        self._free = dict.fromkeys(sent.numbers)
        self.origins: dict[int, int] = {}

    def match_told(self, told: Mapping[int, int]) -> None:
        """Match rows that tell their number in the job's sheet."""
        for row, origin in told.items():
            self._match(row, [origin])

    def match_alike(self) -> None:
        """Match rows of the same values, then those of a key; others may be so by chance."""
        self._match_by([[digest] for digest in self._sent.digests], self._rows.digests)
        for place in range(max(map(len, self._rows.keys), default=0)):
            keys = [own[place] if place < len(own) else "" for own in self._rows.keys]
            self._match_by(self._sent.keys, keys)

    def all_origins(self) -> dict[int, int]:
        """Match what is left by its number; return all matches, with new numbers for new rows."""
        for row in self._rows.numbers:
            self._match(row, [row])
        highest = max(self._sent.numbers, default=0)
        for row in self._rows.numbers:
            if row not in self.origins:
                highest = max(highest + 1, row)
                self.origins[row] = highest
        return self.origins

    def _match_by(self, sent: Sequence[Sequence[str]], rows: Sequence[str]) -> None:
        by_value: defaultdict[str, list[int]] = defaultdict(list)
        for number, values in zip(self._sent.numbers, sent, strict=True):
            for value in values:
                by_value[value].append(number)
        for row, value in zip(self._rows.numbers, rows, strict=True):
            # A row that stays where it was is taken for itself.
            found = by_value.get(value, [])
            self._match(row, [row, *found] if row in found else found)

    def _match(self, row: int, origins: Iterable[int]) -> None:
        origin = next((one for one in origins if one in self._free), None)
        if origin is not None and row not in self.origins:
            del self._free[origin]
            self.origins[row] = origin


@dataclass(frozen=True, slots=True)
class _AppliedRow:
    """Row that is in the system: the job that says so, the digest of its values and its keys."""

    job: str
    digest: str
    keys: frozenset[str]


def _outcomes(context: UploadContext, job: Job) -> tuple[dict[str, Text], dict[int, _AppliedRow]]:
    """Return what became of a job's rows, by its and its retries' word.

    First the messages on rows that were rejected for an error of their own, by the digests of their
    values; then the rows that are in the system or may be, by their numbers in the job's sheet.
    """
    rejected: dict[str, Text] = {}
    applied: dict[int, _AppliedRow] = {}
    for one, origins in with_retries(context.journal, job):
        rows = SheetSource.of_job(context, one).to_plan()
        at = {number: place for place, number in enumerate(rows.numbers)}
        own_errors = {row.row for row in one.verdict.rejected_rows if row.itself}
        for number, reason in one.verdict.reasons.items():
            if number in own_errors and number in at:
                rejected[rows.digests[at[number]]] = reason
        there = rows_in_system(context.journal, one) | doubtful_rows(context.journal, one)
        for number in there:
            place = at[number]
            keys = frozenset(rows.keys[place])
            applied[origins[number]] = _AppliedRow(one.id, rows.digests[place], keys)
    return rejected, applied


def require_changed_rows(context: UploadContext, corrected: CorrectedRows, plan: RowPlan) -> None:
    """Raise ``NotRetriable`` where a plan of corrected rows brings none of them further.

    That is so where each is held as it is already, was rejected as it is, or is in the system by
    the job's and its retries' word.
    """
    journal, job = context.journal, corrected.job
    before: defaultdict[int, list[PlannedRow]] = defaultdict(list)
    for one, origins in with_retries(journal, job):
        for row in journal.plan_of(one):
            before[origins[row.row]].append(row)
    outcomes = outcomes_with_retries(journal, job)
    there = {row for row, outcome in outcomes.items() if outcome in _IN_SYSTEM}
    for row in plan.rows:
        origin = corrected.origins[row.row]
        if row.action is RowAction.UNCHANGED and origin in there:
            continue
        if row.reason is not RowReason.REJECTED and not _is_held_alike(row, before[origin]):
            return
    raise NotRetriable(_NOTHING_CORRECTED.format(file=corrected.sheet.file))


_IN_SYSTEM = frozenset({RowOutcome.ACCEPTED, RowOutcome.UNCHANGED})


def _is_held_alike(row: PlannedRow, before: Iterable[PlannedRow]) -> bool:
    """Tell whether a row is held for a reason for which it was held before."""
    return row.action is RowAction.HELD and any(
        (row.reason, row.job, row.differences) == (one.reason, one.job, one.differences)
        for one in before
    )


def has_sent_rows(context: UploadContext, job: Job, sheet: ValidatedSheet) -> bool:
    """Tell whether a sheet holds the rows that a job and its retries were made from, and no others.

    Rows may have moved as long as all of them are as the job had them.
    """
    if sheet.resource is None or not sheet.ok:
        return False
    digests = row_digests(sheet.resource, frame_with_lists(sheet))
    if sheet_digest(digests) == job.spec.digest:
        return True
    known: defaultdict[int, set[str]] = defaultdict(set)
    for one, origins in with_retries(context.journal, job):
        rows = SheetSource.of_job(context, one).to_plan()
        for number, digest in zip(rows.numbers, rows.digests, strict=True):
            known[origins[number]].add(digest)
    now = dict(zip(sheet.rows, digests, strict=True))
    return now.keys() == known.keys() and all(now[row] in known[row] for row in now)
