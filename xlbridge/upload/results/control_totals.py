"""Control totals of the rows of a sheet: their numbers and amounts, before and after sending, by
outcome, reason, branch and month; and the rows of an upload for its rejects workbook and its status
copy, whose first sheet has these totals.

The amount and the columns are those of the resource's control totals, as in the closing proof.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from xlbridge import titles
from xlbridge.errors import XlbridgeError
from xlbridge.files import as_arguments
from xlbridge.i18n import Text, joined, untranslated, without_values
from xlbridge.report_forms import (
    Grade,
    Heading,
    Line,
    Report,
    Table,
    Tone,
    Value,
    group_by_reason,
)
from xlbridge.report_forms.totals import Axis, Unit
from xlbridge.resources import Column, Kind, Resource
from xlbridge.resources.names import coded_title
from xlbridge.upload.context import UploadContext
from xlbridge.upload.job import Job
from xlbridge.upload.planning.planned_row import PlannedRow, RowAction
from xlbridge.upload.requests import (
    RowOutcome,
    parse_item_column,
)
from xlbridge.upload.results.row_ledger import RowChange, RowLedger

if TYPE_CHECKING:
    import pandas as pd

    from xlbridge.client import Client
    from xlbridge.validation import ValidatedSheet


_DUE = "dataDeVencimento"
_ZERO = Decimal(0)
_LABEL_WIDTH, _AMOUNT_WIDTH = 60, 30
_OUTCOMES = Text(pt="Situação das linhas", en="Status of the rows")
_REASONS = Text(pt="Por que não foram gravadas", en="Why they were not written")
_ALL = untranslated("{title}")
_WRITTEN = Text(pt="No sistema: {title}", en="In the system: {title}")
_NO_REASON = Text(pt="sem motivo informado", en="no reason given")

LedgerRow = tuple[RowLedger, RowChange]
"""Row of a sheet's ledger, which has the reasons of its outcome."""


class ControlTotals:
    """Control totals of rows of one resource, by their numbers; ``frame`` has these in order.

    ``branches`` are the names of branches by their codes, as far as they are known.
    """

    def __init__(self, resource: Resource | None, numbers: Iterable[int], frame: Any) -> None:
        self._resource = resource
        self._frame = frame
        self._positions = {number: position for position, number in enumerate(numbers)}
        self._columns: Sequence[Column] = ()
        self._amount_column: str | None = None
        self.amount: Text | None = None
        self.branches: Mapping[str, str] = {}
        if resource is None:
            return
        from xlbridge.resources.references import BRANCH  # Imported here, as slow to import.

        title, products = resource.amount_title, resource.totals.products
        name = resource.totals.amount if products is None else products.sheet
        if title is not None and name is not None and name in frame:
            self._amount_column = name
            self.amount = titles.in_reais(title)
        self._columns = [
            column
            for column in map(resource.by_name.__getitem__, resource.totals.by)
            if column.name in frame and (column.references == BRANCH or column.name == _DUE)
        ]

    @classmethod
    def of_sheet(cls, sheet: "ValidatedSheet") -> Self:
        """Return the totals of a sheet, by Excel's row numbers."""
        if sheet.resource is None or sheet.resource.totals.products is None:
            return cls(sheet.resource, sheet.record_rows, sheet.frame)
        from xlbridge.upload.payload import frame_with_lists  # Imported here, as slow to import.

        return cls(sheet.resource, sheet.record_rows, frame_with_lists(sheet))

    @classmethod
    def of_frames(cls, resource: Resource, frames: "Iterable[pd.DataFrame]") -> Self:
        """Return the totals of the rows of several frames, numbered from zero."""
        import pandas as pd  # Imported here, as slow to import.

        lists = (child.sheet for child in resource.children)
        wanted = {resource.totals.amount, *resource.totals.by, *lists}
        parts = [frame[[name for name in frame if name in wanted]] for frame in frames]
        frame = pd.concat(parts) if parts else pd.DataFrame()
        return cls(resource, range(len(frame)), frame)

    @classmethod
    def of_changes(cls, context: "UploadContext", changes: Mapping[int, LedgerRow]) -> Self:
        """Return the totals of rows that were sent or left out, with the values of the job that
        decided about each.

        Raises ``LocalFailure`` if the stored rows of a job are gone, ``UsageError`` if its resource
        is not known any more.
        """
        from xlbridge.upload.payload import (
            planned_rows,  # Imported here, as slow to import.
        )

        frames: list[pd.DataFrame] = []
        numbers: list[int] = []
        by_job: defaultdict[str, dict[int, int]] = defaultdict(dict)
        resource = None
        for number, (_, change) in changes.items():
            by_job[change.job.whole][change.row] = number
        for job_id, by_row in by_job.items():
            job = context.journal.job(job_id)
            resource = context.catalogue.named(job.spec.resource)
            _, rows, frame = planned_rows(context, job)
            kept = [position for position, row in enumerate(rows) if row in by_row]
            frames.append(frame.iloc[kept])
            numbers += [by_row[rows[position]] for position in kept]
        if resource is None:
            return cls(None, (), {})
        return cls(resource, numbers, cls.of_frames(resource, frames)._frame)

    @classmethod
    def of_job(
        cls,
        context: "UploadContext",
        job: "Job",
        sheet: "ValidatedSheet | None" = None,
        branches: Mapping[str, str] | None = None,
    ) -> Iterator[Table]:
        """Yield the totals of a job's rows as they are now: by outcome, reason, branch and month.

        Without its sheet the rows that the journal keeps are read. Raises what ``of_changes``
        raises.
        """
        ledger = RowLedger.of(context.journal, job)
        changes = {row: (ledger, change) for row, change in ledger.rows_of(job).items()}
        totals = cls.of_changes(context, changes) if sheet is None else cls.of_sheet(sheet)
        totals.branches = branches or {}
        yield from totals.by_outcome(changes)

    @cached_property
    def _amounts(self) -> Sequence[Decimal] | None:
        """Amount of each row, None if the resource has none."""
        name = self._amount_column
        if self._resource is None or name is None:
            return None
        column = self._frame[name]
        values = column.astype(object).where(column.notna(), None).tolist()
        return [self._resource.totals.amount_of({name: value}) for value in values]

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns by which rows in the system are summed."""
        return [column.name for column in self._columns]

    @property
    def rows(self) -> Collection[int]:
        """Numbers of the rows."""
        return self._positions.keys()

    def of_rows(self, rows: Iterable[int]) -> Decimal | None:
        """Return the amount of rows, None if the resource has none."""
        if self._amounts is None:
            return None
        known = (self._positions[row] for row in rows if row in self._positions)
        return sum((self._amounts[position] for position in known), _ZERO)

    def by_label(
        self,
        axis: Axis,
        rows: Iterable[tuple[int, str | None]],
        title: Text | None = None,
        *,
        sheet: Text | None = None,
        pictured: bool = True,
    ) -> Table:
        """Return the totals of rows by an axis, each row with its value; without a ``title`` the
        heading of the axis is theirs."""
        has_amounts = self.amount is not None
        sums = axis.sum_up(
            (value, (1, self.of_rows([row]) or _ZERO) if has_amounts else (1,))
            for row, value in rows
        )
        total: list[Value] = [*map(sum, zip(*sums.values(), strict=True))]
        headings = [Heading(axis.heading, _LABEL_WIDTH, words=True), Heading(titles.ROWS)]
        if self.amount is not None:
            headings.append(Heading(self.amount, _AMOUNT_WIDTH))
        return Table(
            sheet=sheet or title or axis.heading,
            title=title or axis.heading,
            headings=tuple(headings),
            lines=[
                *(axis.line(label, figures) for label, figures in sums.items()),
                Line((titles.TOTAL, *(total or [0, _ZERO][: len(headings) - 1])), Tone.SUM),
            ],
            bars=[len(headings) - 1] if pictured else (),
        )

    def by_column(
        self, rows: Iterable[int], about: Text = _ALL, sheet: Text | None = None
    ) -> Iterator[Table]:
        """Yield the totals of rows by branch and by due month, where the sheet has them; titles are
        filled into ``about``."""
        numbers = [row for row in rows if row in self._positions]
        for column in self._columns:
            values = self._frame[column.name]
            texts = [
                None if empty else str(value)
                for value, empty in zip(values.tolist(), values.isna().tolist(), strict=True)
            ]
            axis = (
                Axis(column.title, Unit.MONTH)
                if column.kind is Kind.DATE
                else Axis(coded_title(column.name), names=self.branches)
            )
            found = ((row, texts[self._positions[row]]) for row in numbers)
            yield self.by_label(axis, found, about.format(title=axis.heading), sheet=sheet)

    def by_outcome(
        self, changes: Mapping[int, LedgerRow], sheet: Text | None = None
    ) -> Iterator[Table]:
        """Yield the totals of rows by their outcome, of those that were not written by reason, and
        of those in the system by their columns."""
        rows = {row: found for row, found in sorted(changes.items()) if found[1].is_record}
        by_outcome = group_by_reason((change.outcome, row) for row, (_, change) in rows.items())
        outcomes = [
            (row, str(one.count_title)) for one in RowOutcome for row in by_outcome.get(one, ())
        ]
        by_state = Axis(titles.STATE, sorted=False)
        yield self.by_label(by_state, outcomes, _OUTCOMES, sheet=sheet)
        reasons = {
            row: joined([found.message for found in ledger.rejections(change)], " · ")
            if change.planned is None and ledger.rejections(change)
            else sentence(str(ledger.reason(change) or _NO_REASON))
            for row, (ledger, change) in rows.items()
            if change.is_refused
        }
        if reasons:
            # Reasons that differ only in numbers are one.
            texts: defaultdict[str, set[str]] = defaultdict(set)
            for text in map(str, reasons.values()):
                texts[without_values(text)].add(text)
            keys = [(row, str(text), without_values(str(text))) for row, text in reasons.items()]
            found = [(row, text if len(texts[key]) == 1 else key) for row, text, key in keys]
            if self._resource is not None:
                found = [(row, self._resource.with_titles(text)) for row, text in found]
            by_reason = Axis(titles.REASON, sorted=False)
            yield self.by_label(by_reason, found, _REASONS, sheet=sheet)
        written = [row for row, (_, change) in rows.items() if change.in_system]
        if written:
            yield from self.by_column(written, _WRITTEN, sheet)


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
    ) -> "UploadRows":
        """Return the rows of a job. Raises ``LocalFailure`` if they are gone."""
        from xlbridge.upload.payload import planned_rows  # Imported here, as slow to import.

        resource = context.catalogue.named(job.spec.resource)
        planned, numbers, frame = planned_rows(context, job)
        ledger, by_number = RowLedger.of(context.journal, job), {row.row: row for row in planned}
        wrong: defaultdict[int, set[str]] = defaultdict(set)
        reasons: dict[int, tuple[str, str]] = {}
        for change in ledger.changes_of(job):
            columns, of_row = wrong[change.row], ledger.rejections(change)
            named = (found.column or "" for found in of_row)
            columns.update(n for n in named if n in resource.by_name or parse_item_column(n))
            if (own := by_number.get(change.row)) is not None:
                columns.update(own.wrong, resource.by_name.keys() & own.differences)
            row = change.planned
            text = _CORRECT_CELLS if columns else _CORRECT_ROW
            if row is not None and row.action is RowAction.HELD and change.is_record:
                text = (row.reason and row.reason.remedy) or text
                reason = resource.with_titles(row.why_text(resource.by_path))
                what_to_do = str(text.format(job=row.job or "–"))
                reasons[change.row] = sentence(reason), sentence(what_to_do)
            elif change.is_given_up and of_row:
                messages = (
                    # After the title of its column.
                    (resource.title_at(one.column or ""), resource.with_titles(str(one.message)))
                    for one in of_row
                )
                titled = (": ".join(filter(None, map(str, parts))) for parts in messages)
                reasons[change.row] = "; ".join(titled), str(text)
            elif change.is_given_up:
                reasons[change.row] = str(ledger.reason(change) or "–"), str(_CORRECT_OTHERS)
        return cls(resource, planned, numbers, frame, wrong, reasons)


_CORRECT_CELLS = Text(pt="Corrija as células coloridas.", en="Correct the coloured cells.")
_CORRECT_ROW = Text(
    pt="Corrija a linha pelo que o motivo diz.", en="Correct the row as the reason says."
)
_CORRECT_OTHERS = Text(
    pt="Nada nesta linha: ela vai de novo junto com as outras.",
    en="Nothing in this row: it is sent again with the others.",
)


def sentence(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def upload_summary(
    context: UploadContext, job: Job, sent: UploadRows, target: Path, client: "Client | None"
) -> Report:
    """Return what became of the rows of an upload, in rows and money, and the open ones by reason.

    ``target`` is the workbook that has this report, to be corrected and sent again. Names of
    branches that were never read are read by the ``client``, if the system answers.
    """
    # Imported here, as slow to import.
    from xlbridge.client.registries import StoredNames
    from xlbridge.resources.references import BRANCH

    ledger = RowLedger.of(context.journal, job)
    totals = ControlTotals(sent.resource, sent.numbers, sent.frame)
    stored = StoredNames(context.settings, BRANCH)
    totals.branches, _ = stored.read()
    has_branches = any(sent.resource.by_name[one].references == BRANCH for one in totals.columns)
    if client is not None and has_branches and not totals.branches:
        with suppress(XlbridgeError):
            totals.branches = stored.read_from(client)
    changes = {row: (ledger, change) for row, change in ledger.rows_of(job).items()}
    records = [change for _, change in changes.values() if change.is_record]
    refused = sum(change.is_refused for change in records)
    return Report(
        verdict=_OPEN_ROWS.format(n=refused, all=len(records)) if refused else _NO_OPEN_ROW,
        grade=Grade.WARNING if refused else Grade.GOOD,
        facts=[
            (titles.FILE, Path(job.spec.file).name),
            (titles.RESOURCE, str(sent.resource.title)),
            (titles.ENVIRONMENT, job.spec.profile),
        ],
        tables=list(totals.by_outcome(changes, _ROWS_SENT)),
        next_steps=[_SEND_AGAIN.format(file=as_arguments(Path(target.name)))] if refused else [],
    )


_ROWS_SENT = Text(pt="Linhas do envio", en="Rows of the upload")
_OPEN_ROWS = Text(
    pt="{n} de {all} {all:linha|linhas} {n:ficou pendente|ficaram pendentes}.",
    en="{n} of {all} {all:row is|rows are} open.",
)
_NO_OPEN_ROW = Text(pt="Nenhuma linha ficou pendente.", en="No row is open.")
_SEND_AGAIN = Text(
    pt="Corrija as linhas na planilha ao lado, salve, e envie só elas: xlbridge retry {file}",
    en="Correct the rows in the next sheet, save, and send only these: xlbridge retry {file}",
    page=Text(
        pt="Corrija as linhas na planilha ao lado, salve, e abra este arquivo em Abrir para "
        "enviar só elas.",
        en="Correct the rows in the next sheet, save, and open this file under Open to send only "
        "these.",
    ),
)
