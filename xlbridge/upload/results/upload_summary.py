"""Rows of an upload for its rejects workbook and its status copy: why each was rejected or held and
what to do, and the summary on their first sheet."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from xlbridge import titles
from xlbridge.files import as_arguments
from xlbridge.i18n import Text
from xlbridge.report_forms import Grade, Heading, Line, Report, Table, Tone, Value, group_by_reason
from xlbridge.resources import Resource
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job
from xlbridge.upload.planning.planned_row import PlannedRow
from xlbridge.upload.planning.row_reasons import RowAction, RowReason
from xlbridge.upload.requests import State
from xlbridge.upload.results.row_ledger import RowLedger, messages_of
from xlbridge.upload.results.verdict import (
    REJECTED_AS_A_WHOLE,
    RejectedRow,
    RowOutcome,
    parse_item_column,
    without_values,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class UploadRows:
    """Rows of an upload, by their numbers in its sheet.

    ``wrong`` are the columns that were rejected, could not be parsed or differ from the system, by
    rows; ``reasons`` the reason and what to do of each row that was rejected or held.
    """

    resource: Resource
    planned: Sequence[PlannedRow]
    numbers: Sequence[int]
    frame: "pd.DataFrame"
    wrong: Mapping[int, Collection[str]]
    reasons: Mapping[int, tuple[str, str]]

    @classmethod
    def of(
        cls,
        context: UploadContext,
        job: Job,
        read: Callable[
            [UploadContext, Job], "tuple[Sequence[PlannedRow], Sequence[int], pd.DataFrame]"
        ],
    ) -> "UploadRows":
        """Return the rows of a job; ``read`` is ``planned_rows``."""
        resource = context.catalogue.named(job.spec.resource)
        planned, numbers, frame = read(context, job)
        rejections = messages_of(context.journal, job)
        wrong = _wrong_columns(resource, rejections, planned)
        reasons = _reasons(resource, job, rejections, planned, wrong)
        return cls(resource, planned, numbers, frame, wrong, reasons)

    def amounts(self) -> dict[int, Decimal] | None:
        """Return the amount of each row, None if the resource has no amounts."""
        name = self.resource.totals.amount
        if name is None or name not in self.frame:
            return None
        values = self.frame[name].astype(object).where(self.frame[name].notna(), 0)
        amounts = (Decimal(str(round(value, 2))) for value in values)
        return dict(zip(self.numbers, amounts, strict=True))


def _wrong_columns(
    resource: Resource, rejections: Sequence[RejectedRow], planned: Sequence[PlannedRow]
) -> dict[int, set[str]]:
    """Return the columns that were rejected, could not be parsed, or differ from the system, by
    rows."""
    wrong: defaultdict[int, set[str]] = defaultdict(set)
    for rejected in rejections:
        column = rejected.column
        if rejected.row is None or column is None:
            continue
        if column in resource.by_name or parse_item_column(column):
            wrong[rejected.row].add(column)
    for row in planned:
        wrong[row.row].update(row.raw_cells, resource.by_name.keys() & row.differences)
    return wrong


def _reasons(
    resource: Resource,
    job: Job,
    rejections: Sequence[RejectedRow],
    planned: Sequence[PlannedRow],
    wrong: Mapping[int, Collection[str]],
) -> dict[int, tuple[str, str]]:
    """Return the reason and what to do of each row that was rejected or held, except rows that are
    not records."""
    reasons: dict[int, tuple[str, str]] = {}
    for row in planned:
        if row.action is RowAction.HELD and row.reason not in {None, RowReason.NO_RECORD}:
            remedy = None if row.reason is None else row.reason.remedy
            coloured = _CORRECT_CELLS if wrong.get(row.row) else _CORRECT_ROW
            text = (remedy or coloured).format(job=row.job or "–")
            reason = resource.with_titles(row.full_text(resource.by_path, None))
            reasons[row.row] = _sentence(reason), _sentence(str(text))
    found: defaultdict[int, list[str]] = defaultdict(list)
    for rejected in rejections:
        if rejected.row is not None:
            label = str(resource.title_at(rejected.column or ""))
            message = resource.with_titles(str(rejected.message))
            found[rejected.row].append(": ".join(filter(None, (label, message))))
    for number, messages in found.items():
        coloured = _CORRECT_CELLS if wrong.get(number) else _CORRECT_ROW
        reasons[number] = "; ".join(messages), str(coloured)
    if job.state is State.REJECTED:
        whole = str(REJECTED_AS_A_WHOLE), str(_CORRECT_OTHERS)
        sent = {row: reasons.get(row, whole) for row in job.spec.rows}
        held = {row: text for row, text in reasons.items() if row not in found}
        reasons = {**held, **sent}
    return reasons


_CORRECT_CELLS = Text(pt="Corrija as células coloridas.", en="Correct the coloured cells.")
_CORRECT_ROW = Text(
    pt="Corrija a linha pelo que o motivo diz.", en="Correct the row as the reason says."
)
_CORRECT_OTHERS = Text(
    pt="Nada nesta linha: ela vai de novo junto com as outras.",
    en="Nothing in this row: it is sent again with the others.",
)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def upload_summary(context: UploadContext, job: Job, sent: UploadRows, target: Path) -> Report:
    """Return what became of the rows of an upload, in rows and money, and the open ones by reason.

    ``target`` is the workbook that has this report, to be corrected and sent again.
    """
    resource, amounts = sent.resource, sent.amounts()
    changes = RowLedger.of(context.journal, job).rows_of(job)
    outcomes = {row: one.outcome for row, one in changes.items() if one.is_record}
    reasons = {row: text for row, text in sent.reasons.items() if outcomes.get(row) not in _SETTLED}

    def line(label: Text | str, rows: Collection[int], tone: Tone = Tone.PLAIN) -> Line:
        money: tuple[Value, ...] = ()
        if amounts is not None:
            money = (sum((amounts.get(row, _ZERO) for row in rows), _ZERO),)
        return Line((label, len(rows), *money), tone)

    headings = [Heading(titles.ROWS)]
    if amounts is not None:
        headings.append(Heading(_AMOUNT, 18))
    by_outcome = group_by_reason((outcome, row) for row, outcome in outcomes.items())
    # Reasons that differ only in values are one.
    held = {row.row: str(row.text_at(None)) for row in sent.planned if row.differences}
    by_reason = group_by_reason(
        (_sentence(without_values(held.get(row, text))), row) for row, (text, _) in reasons.items()
    )
    refused = [
        line(reasons[rows[0]][0] if len(rows) == 1 else reason, rows, Tone.OPEN)
        for reason, rows in sorted(by_reason.items(), key=lambda one: -len(one[1]))
    ]
    return Report(
        verdict=_OPEN_ROWS.format(n=len(reasons), all=len(outcomes)),
        grade=Grade.WARNING if reasons else Grade.GOOD,
        facts=[
            (titles.FILE, Path(job.spec.file).name),
            (titles.RESOURCE, str(resource.title)),
            (titles.ENVIRONMENT, job.spec.profile),
        ],
        tables=[
            Table(
                sheet=_ROWS_SENT,
                headings=(Heading(titles.STATE, _REASON_WIDTH), *headings),
                lines=[
                    *(
                        line(outcome.count_title, by_outcome[outcome])
                        for outcome in RowOutcome
                        if outcome in by_outcome
                    ),
                    line(titles.TOTAL, list(outcomes), Tone.SUM),
                ],
            ),
            *(
                [
                    Table(
                        sheet=_ROWS_SENT,
                        headings=(Heading(titles.REASON, _REASON_WIDTH), *headings),
                        lines=[*refused, line(titles.TOTAL, list(reasons), Tone.SUM)],
                    )
                ]
                if reasons
                else []
            ),
        ],
        next_steps=[_SEND_AGAIN.format(file=as_arguments(Path(target.name)))] if reasons else [],
    )


_SETTLED = frozenset({RowOutcome.ACCEPTED, RowOutcome.UNCHANGED})
_ZERO = Decimal(0)
_REASON_WIDTH = 60
_AMOUNT = Text(pt="Valor (R$)", en="Amount (R$)")
_ROWS_SENT = Text(pt="Linhas do envio", en="Rows of the upload")
_OPEN_ROWS = Text(
    pt="{n} de {all} {all:linha ficou|linhas ficaram} por resolver.",
    en="{n} of {all} {all:row is|rows are} open.",
)
_SEND_AGAIN = Text(
    pt="Corrija as linhas na planilha ao lado, salve, e envie só elas: xlbridge retry {file}",
    en="Correct the rows in the next sheet, save, and send only these: xlbridge retry {file}",
)
