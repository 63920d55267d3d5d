"""Consent to what a job writes: the plans of uploads, undos and processings as they are shown, each
with its token, and non-interactive answers."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from xlbridge import titles
from xlbridge.errors import UsageError
from xlbridge.i18n import Text, count_text, joined, untranslated
from xlbridge.report_forms import (
    Heading,
    Line,
    Report,
    ReportForms,
    Table,
    Tone,
    Value,
    group_by_reason,
    list_first,
)
from xlbridge.resources import Column
from xlbridge.titles import row_text
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.planning.planned_row import (
    PlannedRow,
    RowAction,
    RowReason,
    action_counts,
)
from xlbridge.upload.results.row_ledger import RowLedger

if TYPE_CHECKING:
    from xlbridge.client import Target
    from xlbridge.upload.context import UploadContext

_SHOWN_ROWS = 5
"""Rows that the plan names for each reason."""

_SHOWN_RECORDS = 10
"""Records, or rows left, that are named for each reason."""


def token_line(token: str) -> Text:
    """Return the last line of a plan, with the token that confirms it."""
    return Text(pt="  confirmação: {token}", en="  confirmation: {token}").format(token=token)


@dataclass(frozen=True, slots=True)
class ConsentRequest:
    """Request for consent to the first write of an upload.

    ``job`` is the parent if the sheet is sent in parts. ``target`` is the remote system,
    ``planned`` the plan of all rows of the sheet, or of the records to process; ``columns`` are
    those of its resource, titled as in the sheet. An undo has the report of its ``undo_plan``
    instead.
    """

    job: Job
    target: "Target"
    planned: Sequence[PlannedRow]
    columns: Mapping[str, Column] = field(default_factory=dict)
    undo_plan: Report | None = None

    @classmethod
    def of(cls, context: "UploadContext", job: Job, target: "Target") -> Self:
        """Return the request for a job, with its stored plan."""
        journal = context.journal
        if job.spec.undo_of is not None:
            return cls(job, target, (), undo_plan=undo_plan_report(journal, job, target.label))
        if job.spec.mode.channel.of_listing:
            return cls(job, target, journal.plan_of(job))
        columns = context.catalogue.named(job.spec.resource).titled_as(job.notes.titles).by_path
        return cls(job, target, journal.plan_of(job), columns)

    @property
    def token(self) -> str:
        """Token that confirms exactly these actions: ``ROWS:DIGEST8``."""
        return self.job.token

    def lines(self, *, all_rows: bool = False) -> Iterable[Text | str]:
        """Return the lines of the plan, ending with the token.

        With ``all_rows`` every row that is not created is named.
        """
        return ReportForms.of_report(lambda: self._report(all_rows=all_rows)).lines()

    def _report(self, *, all_rows: bool) -> Report:
        job, spec, place = self.job, self.job.spec, self.target.label
        if self.undo_plan is not None:
            return self.undo_plan
        if spec.mode.channel.of_listing:
            hidden = job.notes.hidden
            return process_plan_report(spec.resource, self.target, self.planned, self.token, hidden)
        not_created = [row for row in self.planned if not row.is_created]
        faulty = sum(row.reason is RowReason.ERRORS for row in not_created)
        remark = _FAULTY.format(good=job.notes.writes or 0, faulty=faulty)
        facts: list[tuple[Text, Value]] = []
        if (previewed := job.known.previewed) is not None:
            facts.append((_PREVIEWED, count_text(previewed)))
        if (plan := job.notes.plan) is not None:
            facts.append((_ACTIONS, joined(action_counts(plan), " · ")))
            if plan[RowAction.UNREAD] and (unread := job.notes.unread):
                facts.append((_UNREAD, Text.of_json(unread)))
        return Report(
            title=_PLAN.format(
                rows=len(self.planned),
                resource=spec.resource,
                place=place,
                mode=spec.mode.channel.name,
                parts=_PARTS.format(n=job.parts) if job.parts else "",
            ),
            facts=[*facts, *titles.quirks_facts(self.target.to_json())],
            tables=[reason_table(not_created, self.columns, all_rows=all_rows, titled=True)]
            if not_created
            else [],
            remarks=[remark] if faulty else [],
            next_steps=[token_line(self.token)] if spec.rows else [],
        )


_PLAN = Text(
    pt="Plano: {resource} para {place} · linhas: {rows} · modo {mode}{parts}",
    en="Plan: {resource} to {place} · rows: {rows} · mode {mode}{parts}",
)
_PREVIEWED = Text(pt="prévia do sistema · linhas lidas", en="preview by the system · rows read")
_ACTIONS = Text(pt="ações", en="actions")
_UNREAD = Text(pt="sem conferir", en="without a look-up")
_PARTS = Text(pt=", em {n} {n:parte|partes}", en=", in {n} {n:part|parts}")
_FAULTY = Text(
    pt="  {good} {good:linha boa|linhas boas} a enviar; {faulty} com erros, que "
    "{faulty:vai|vão} para o arquivo das linhas rejeitadas",
    en="  {good} good {good:row|rows} to send; {faulty} with errors, which {faulty:goes|go} into "
    "the rejects workbook",
)


def reason_table(
    planned: Iterable[PlannedRow],
    columns: Mapping[str, Column],
    *,
    all_rows: bool = False,
    titled: bool = False,
) -> Table:
    """Return the rows of a plan, grouped by reason, with the columns that differ.

    The first rows of each group are named, with ``all_rows`` all of them. Columns
    have their names or, ``titled``, their titles.
    """
    groups = group_by_reason(((row.action, row.reason), row) for row in planned).values()
    return Table(
        sheet=Text(pt="Motivos", en="Reasons"),
        headings=(
            Heading(Text(pt="No plano", en="In the plan")),
            Heading(titles.ROW_NUMBERS),
            Heading(titles.REASON, words=True),
        ),
        lines=[
            _reason_line(rows, columns, len(rows) if all_rows else _SHOWN_ROWS, titled)
            for rows in groups
        ],
    )


def _reason_line(
    rows: Sequence[PlannedRow],
    columns: Mapping[str, Column],
    most: int,
    titled: bool,
) -> Line:
    """Return a reason with the numbers of its rows, and details of the first ones."""
    first = rows[0]
    reasons = {row.text for row in rows}
    reason = reasons.pop() if len(reasons) == 1 else None
    if first.reason is not None and reasons:
        reason = first.reason.text.format(job="…", why="…")
    if first.action.is_of_record:
        reason = _OF_RECORD[first.action]
    details = []
    for row in rows[:most]:
        if reasons:
            details.append(_DETAIL.format(row=row_text(row.row), text=row.why or row.text or "–"))
        if row.action is RowAction.DELETE:
            details.append(
                _DETAIL.format(row=row_text(row.row), text=_RECORD.format(code=row.record))
            )
        details += [
            _DIFFERENCE.format(row=row_text(row.row), text=shown.text)
            for shown in row.shown_differences(columns, titled=titled)
        ]
    is_record = first.reason is not RowReason.NO_RECORD
    action = (first.action.text if is_record else _SET_ASIDE).format(n=len(rows))
    numbers = list_first([row_text(row.row) for row in rows[:most]], most, len(rows))
    sentence = _REASON.format(action=action, n=len(rows), rows=numbers, reason=reason or "–")
    return Line((action, numbers, reason), text=sentence, below=details)


_REASON = Text(
    pt="  {action}, {n:linha|linhas} {rows}: {reason}",
    en="  {action}, {n:row|rows} {rows}: {reason}",
)
_DETAIL = Text(pt="    linha {row}: {text}", en="    row {row}: {text}")
_DIFFERENCE = Text(pt="    linha {row}, {text}", en="    row {row}, {text}")
_RECORD = Text(pt="registro {code}", en="record {code}")
_OF_RECORD: Mapping[RowAction, Text] = {
    RowAction.UPDATE: Text(
        pt="já no sistema com outros valores, que passam a ser os da planilha",
        en="in the system with other values, which become those of the sheet",
    ),
    RowAction.DELETE: Text(
        pt="saem do sistema, sem volta",
        en="leave the system; the interface cannot bring them back",
    ),
}
_SET_ASIDE = Text(
    pt="{n:deixada|deixadas} de fora",
    en="{n:set aside|set aside}",
)


_NOT_SHOWN_YET = Text(
    pt="o sistema ainda não mostra o que este envio gravou; desfaça-o de novo em alguns minutos",
    en="the system does not show yet what this upload has written; undo it again in a few minutes",
)

_BY_HAND = Text(
    pt="{reason}; confira e desfaça manualmente no sistema",
    en="{reason}; check it in the system and undo it by hand",
)


def left_text(row: PlannedRow) -> Text:
    """Return why a row is not reversed, with what to do by hand; the system's message, if it has
    refused the reversal."""
    if row.reason is RowReason.SHOWN_LATE:
        return _NOT_SHOWN_YET
    return row.why or _BY_HAND.format(reason=row.text)


def left_rows(journal: Journal, job: Job) -> list[PlannedRow]:
    """Return the rows that an undo does not reverse."""
    refused = [
        PlannedRow(rejected.row or 0, RowAction.HELD, RowReason.CHANGED, why=rejected.message)
        for rejected in journal.changes.rejections(job.id)
    ]
    return sorted([*journal.plan_of(job), *refused], key=lambda row: row.row)


def left_report(left: Iterable[PlannedRow], undone_before: Mapping[str, int]) -> Report:
    """Return the report of the rows that an undo leaves, by reason, and of those undone before."""
    groups = group_by_reason((left_text(row), row_text(row.row)) for row in left)
    sentences = [
        _LEFT.format(n=count_text(len(rows)), message=reason, rows=list_first(rows, _SHOWN_RECORDS))
        for reason, rows in groups.items()
    ]
    return Report(
        remarks=[
            _BEFORE.format(n=count_text(count), undo=undo) for undo, count in undone_before.items()
        ],
        tables=[
            Table(sheet=_LEFT_ROWS, lines=[Line(tone=Tone.OPEN, text=text) for text in sentences])
        ],
    )


_LEFT_ROWS = Text(pt="Linhas não desfeitas", en="Rows not undone")

_LEFT = Text(
    pt="  {n} {n:linha não desfeita|linhas não desfeitas}: {message} ({n:linha|linhas} {rows})",
    en="  {n} {n:row|rows} not undone: {message} ({n:row|rows} {rows})",
)

_BEFORE = Text(
    pt="  {n} {n:linha já foi desfeita|linhas já foram desfeitas} por {undo}",
    en="  {n} {n:row was|rows were} already undone by {undo}",
)


def undo_plan_report(journal: Journal, job: Job, place: str) -> Report:
    """Return the plan of an undo in the system at ``place``, before it is confirmed."""
    title = Text(
        pt="Plano: desfazer o envio {job} em {place} · linhas a desfazer: {rows}; "
        "não desfeitas: {left}",
        en="Plan: undo the upload {job} in {place} · rows to undo: {rows}; not undone: {left}",
    )
    left = left_rows(journal, job)
    return replace(
        left_report(left, RowLedger.of(journal, job).undone_before(job)),
        title=title.format(
            job=job.spec.undo_of, place=place, rows=len(job.spec.rows), left=len(left)
        ),
        next_steps=[token_line(job.token)],
    )


ALREADY = Text(pt="já processado", en="already processed")


def process_plan_report(
    listing: str, target: "Target", rows: Sequence[PlannedRow], token: str, hidden: int
) -> Report:
    """Return the plan of a processing, ending with the token.

    ``hidden`` counts the records in hidden rows.
    """
    # Imported here, since it loads operations that other commands do not need.
    from xlbridge.upload.process_kinds import RecordStatus, find_kind

    counts = Counter(row.action for row in rows)
    unknown = sum(row.action.writes and row.status == RecordStatus.UNKNOWN for row in rows)
    warnings = {_NOT_SHOWN.format(n=unknown): unknown, _IN_HIDDEN_ROWS.format(n=hidden): hidden}
    if counts[RowAction.PROCESS]:
        warnings[untranslated("  {text}").format(text=find_kind(listing).final)] = 1
    return Report(
        title=_PROCESS_PLAN.format(
            listing=listing,
            place=target.label,
            n=counts[RowAction.PROCESS],
            already=counts[RowAction.UNCHANGED],
            left=counts[RowAction.HELD],
        ),
        remarks=[warning for warning, count in warnings.items() if count],
        tables=[
            record_table((_ACTION_NAMES[row.action], row.why, int(row.record or 0)) for row in rows)
        ],
        next_steps=[token_line(token)] if counts[RowAction.PROCESS] else [],
    )


_PROCESS_PLAN = Text(
    pt="Plano: processar {listing} em {place} · a processar: {n}; já processados: {already}; "
    "não podem ser processados: {left}",
    en="Plan: process {listing} in {place} · to process: {n}; already done: {already}; cannot "
    "be processed: {left}",
)


_NOT_SHOWN = Text(
    pt="  {n:para 1 registro|para {n} registros} o sistema não informa se já "
    "{n:foi processado|foram processados}",
    en="  for {n} {n:record|records} the system does not show whether {n:it was|they were} "
    "already processed",
)


_IN_HIDDEN_ROWS = Text(
    pt="  {n} {n:está em linha oculta|estão em linhas ocultas} da planilha (um filtro?) e "
    "também {n:conta|contam}",
    en="  {n} {n:is in a hidden row|are in hidden rows} of the sheet (a filter?) and "
    "{n:is|are} included",
)


_ACTION_NAMES: Mapping[RowAction, Text] = {
    RowAction.PROCESS: Text(pt="processar", en="process"),
    RowAction.UNCHANGED: ALREADY,
    RowAction.HELD: Text(pt="fica de fora", en="left out"),
}


def record_table(records: Iterable[tuple[Text, Text | str | None, int]]) -> Table:
    """Return the action or outcome of records and the remark on it, with their numbers."""
    groups = group_by_reason(((name, remark), number) for name, remark, number in records)
    sentence, with_remark = untranslated("  • {numbers}: {name}"), untranslated("{text}; {remark}")
    lines = []
    for (name, remark), numbers in groups.items():
        shown = list_first(numbers, _SHOWN_RECORDS)
        text = sentence.format(numbers=shown, name=name)
        if remark is not None:
            text = with_remark.format(text=text, remark=remark)
        lines.append(Line((shown, name, remark), text=text))
    return Table(
        sheet=titles.RECORDS,
        headings=(
            Heading(titles.RECORD),
            Heading(titles.STATE),
            Heading(titles.REASON, words=True),
        ),
        lines=lines,
    )


Consent = Callable[[ConsentRequest], bool]
"""Answers a request for consent; False abandons the upload before anything is sent."""

_HOW_TO_CONFIRM = Text(
    pt="Nada foi enviado. Confira o plano; a confirmação deste envio é {token}.",
    en="Nothing was sent. Check the plan; the confirmation of this upload is {token}.",
)


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Consent to exactly the rows that a token confirms, even in production."""

    token: str

    def __call__(self, request: ConsentRequest) -> bool:
        """Agree. Raises ``UsageError`` if the token does not match."""
        if self.token.strip().casefold() == request.token:
            return True
        raise UsageError(
            Text(
                pt="A confirmação {token!r} não é a deste envio, que tem {rows} "
                "{rows:linha|linhas}.",
                en="The confirmation {token!r} does not match this upload, which has {rows} "
                "{rows:row|rows}.",
            ).format(token=self.token, rows=request.job.notes.writes or 0),
            _HOW_TO_CONFIRM.format(token=request.token),
        )


@dataclass(frozen=True, slots=True)
class ApproveAll:
    """Consent to any rows, except in production."""

    def __call__(self, request: ConsentRequest) -> bool:
        """Agree.

        Raises ``UsageError`` if the target is a production system, or nobody chose it.
        """
        if not request.target.production:
            request.target.require_choice()
            return True
        raise UsageError(
            Text(
                pt="{profile} é um ambiente de produção: o envio precisa do código de "
                "confirmação que o plano mostra.",
                en="{profile} is a production environment: the upload needs the confirmation "
                "that the plan shows.",
            ).format(profile=request.target.profile),
            _HOW_TO_CONFIRM.format(token=request.token),
        )
