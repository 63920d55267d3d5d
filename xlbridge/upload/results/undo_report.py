"""Report of an undo, and the rows that it leaves with their reasons."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from xlbridge import titles
from xlbridge.i18n import Text, count_text
from xlbridge.record_rows import row_text, sheet_row
from xlbridge.report_forms import (
    Grade,
    Line,
    Report,
    ReportForms,
    Table,
    Tone,
    group_by_reason,
    list_first,
)
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.planning.planned_row import PlannedRow, RowAction, RowReason, token_line
from xlbridge.upload.requests import State
from xlbridge.upload.results.row_ledger import RowLedger, row_counts

_SHOWN_ROWS = 10


_NOT_SHOWN_YET = Text(
    pt="o sistema ainda não mostra o que este envio gravou; desfaça-o de novo em alguns minutos",
    en="the system does not show yet what this upload has written; undo it again in a few minutes",
)
_BY_HAND = Text(
    pt="{reason}; confira e desfaça manualmente no sistema",
    en="{reason}; check it in the system and undo it by hand",
)


def _left_text(row: PlannedRow) -> Text:
    """Return why a row is not reversed, with what to do by hand; the system's message, if it has
    refused the reversal."""
    if row.reason is RowReason.SHOWN_LATE:
        return _NOT_SHOWN_YET
    return row.why or _BY_HAND.format(reason=row.text)


def _left_rows(journal: Journal, job: Job) -> list[PlannedRow]:
    """Return the rows that an undo does not reverse."""
    refused = [
        PlannedRow(rejected.row or 0, RowAction.HELD, RowReason.CHANGED, why=rejected.message)
        for rejected in journal.changes.rejections(job.id)
    ]
    return sorted([*journal.plan_of(job), *refused], key=lambda row: row.row)


def left_report(left: Iterable[PlannedRow], undone_before: Mapping[str, int]) -> Report:
    """Return the report of the rows that an undo leaves, by reason, and of those undone before."""
    groups = group_by_reason((_left_text(row), row_text(row.row)) for row in left)
    sentences = [
        _LEFT.format(n=count_text(len(rows)), message=reason, rows=list_first(rows, _SHOWN_ROWS))
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
    left = _left_rows(journal, job)
    return replace(
        left_report(left, RowLedger.of(journal, job).undone_before(job)),
        title=title.format(
            job=job.spec.undo_of, place=place, rows=len(job.spec.rows), left=len(left)
        ),
        next_steps=[token_line(job.token)],
    )


def undo_counts(journal: Journal, job: Job) -> dict[str, int]:
    """Return the counts of an undo's rows; ``read`` is the sum of the others."""
    counts = row_counts(journal, job)
    return {
        "read": counts["read"],
        "undone": counts["accepted"],
        "left": counts["held"] + counts["rejected"],
        "unknown": counts["unknown"],
    }


def undo_json(journal: Journal, job: Job) -> dict[str, Any]:
    """Return an undo as JSON. See the product brief, ``undo JOB``."""
    return _json(
        job.spec.undo_of,
        job.spec.resource,
        undo_counts(journal, job),
        _left_rows(journal, job),
        job.token,
        job,
        job.notes.target,
    )


def _json(
    undo_of: str | None,
    resource: str,
    counts: Mapping[str, int],
    left: Iterable[PlannedRow],
    token: str,
    job: Job | None,
    target: Mapping[str, Any] | None,
) -> dict[str, Any]:
    return {
        "version": 1,
        "job": None if job is None else job.id,
        "undo_of": undo_of,
        "state": State.DONE.public if job is None else job.public_state,
        "target": target,
        "resource": resource,
        "rows": dict(counts),
        "left": [
            {"row": sheet_row(row.row), "reason": row.reason, "message": str(_left_text(row))}
            for row in left
        ],
        "confirm": token,
        "evidence_file": None if job is None else job.notes.evidence_file,
    }


def undo_report(journal: Journal, job: Job) -> Report:
    """Return the report of an undo."""
    counts = undo_counts(journal, job)
    undone_before = RowLedger.of(journal, job).undone_before(job)
    headline = _HEADLINES.get(job.state, _UNFINISHED)
    if headline is _DONE and not counts["undone"]:
        headline = _headline_without_rows(counts["read"], undone_before)
    texts = {name: count_text(count) for name, count in counts.items()}
    verdict = headline.format(
        **texts, undo_of=job.spec.undo_of, job=job.arguments(), reason=job.reason
    )
    grade = Grade.WARNING if counts["unknown"] else Grade.GOOD
    if counts["left"] or job.state is State.ABANDONED:
        grade = Grade.ERROR
    return replace(
        left_report(_left_rows(journal, job), undone_before),
        verdict=verdict,
        grade=grade,
        facts=titles.quirks_facts(job.notes.target),
    )


def _headline_without_rows(left: int, undone_before: Mapping[str, int]) -> Text:
    """Return the headline of an undo that has reversed no row, and leaves some or none."""
    if left:
        return _NONE_REVERSED
    return _ALL_REVERSED if undone_before else _NOTHING_WRITTEN


def empty_undo_report(
    undo_of: Job, left_rows: Collection[PlannedRow], undone_before: Mapping[str, int], token: str
) -> ReportForms:
    """Return the report of an undo with no rows to reverse, of which no job is recorded."""
    left = len(left_rows)
    counts = {"read": left, "undone": 0, "left": left, "unknown": 0}
    headline = _headline_without_rows(left, undone_before)
    verdict = headline.format(**counts, undo_of=undo_of.id)
    grade = Grade.ERROR if left_rows else Grade.GOOD
    report = replace(left_report(left_rows, undone_before), verdict=verdict, grade=grade)
    return ReportForms.of_report(
        lambda: report,
        lambda: _json(
            undo_of.id, undo_of.spec.resource, counts, left_rows, token, None, undo_of.notes.target
        ),
    )


_DONE = Text(
    pt="Desfeito o envio {undo_of}. Linhas desfeitas: {undone} de {read}; não desfeitas: {left}.",
    en="Undone: the upload {undo_of}. Rows undone: {undone} of {read}; left: {left}.",
)
_NONE_REVERSED = Text(
    pt="Nenhuma linha do envio {undo_of} foi desfeita; não desfeitas: {left} de {read}.",
    en="No row of the upload {undo_of} was undone; left: {left} of {read}.",
)
_ALL_REVERSED = Text(
    pt="Nada mais a desfazer: as linhas do envio {undo_of} já foram desfeitas.",
    en="Nothing left to undo: the rows of the upload {undo_of} were undone before.",
)
_NOTHING_WRITTEN = Text(
    pt="Nada a desfazer: o envio {undo_of} não gravou nenhuma linha.",
    en="Nothing to undo: the upload {undo_of} has written no rows.",
)
_HEADLINES = {
    State.DONE: _DONE,
    State.PARTIAL: _DONE,
    State.REJECTED: _DONE,
    State.ABANDONED: Text(pt="Nada foi desfeito ({reason}).", en="Nothing was undone ({reason})."),
}
_UNFINISHED = Text(
    pt="Linhas desfeitas: {undone} de {read}; não desfeitas: {left}; em dúvida: {unknown} "
    "({reason}). Para continuar: xlbridge resume {job}",
    en="Rows undone: {undone} of {read}; left: {left}; in doubt: {unknown} ({reason}). To "
    "continue: xlbridge resume {job}",
    page=Text(
        pt="Linhas desfeitas: {undone} de {read}; não desfeitas: {left}; em dúvida: {unknown} "
        "({reason}). Para continuar, use “Continuar” em Envios.",
        en="Rows undone: {undone} of {read}; left: {left}; in doubt: {unknown} ({reason}). To "
        "continue, use “Continue” under Uploads.",
    ),
)
