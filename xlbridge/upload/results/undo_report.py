"""Report of an undo, and the rows that it leaves with their reasons."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from xlbridge.i18n import Text, count_text, untranslated
from xlbridge.report_forms import ReportForms
from xlbridge.upload.job import Job, State

_SHOWN_ROWS = 10


class LeftReason(StrEnum):
    """Reason why a row is not reversed, with a stable code."""

    CHANGED = "changed"
    SETTLED = "settled"
    NO_OPERATION = "no-operation"
    NOT_IDENTIFIED = "not-identified"

    @property
    def text(self) -> Text:
        """Explanation, with what to do by hand."""
        return _BY_HAND.format(reason=_TEXTS[self])


_TEXTS: Mapping[LeftReason, Text] = {
    LeftReason.CHANGED: Text(
        pt="o registro foi alterado ou removido depois do envio",
        en="the record was changed or removed after the upload",
    ),
    LeftReason.SETTLED: Text(
        pt="o título já foi baixado, e a baixa teria de ser estornada antes",
        en="the title is already settled, and the settlement would have to be reversed first",
    ),
    LeftReason.NO_OPERATION: Text(
        pt="a interface não tem como desfazer isto", en="the interface cannot reverse this"
    ),
    LeftReason.NOT_IDENTIFIED: Text(
        pt="não se sabe qual é o registro desta linha",
        en="the record of this row could not be identified",
    ),
}
_BY_HAND = Text(
    pt="{reason}; confira e desfaça manualmente no sistema",
    en="{reason}; check it in the system and reverse it by hand",
)


@dataclass(frozen=True, slots=True)
class LeftRow:
    """Row that is not reversed, by its number in the sheet.

    ``message`` is the system's, if it has refused the reversal.
    """

    row: int
    reason: LeftReason
    message: Text | None = None

    @property
    def text(self) -> Text:
        """Explanation for the user."""
        return self.message or self.reason.text


def _left_rows(job: Job) -> list[LeftRow]:
    """Return the rows that an undo does not reverse."""
    planned = [LeftRow(row, LeftReason(code)) for row, code in job.last("left") or ()]
    refused = [
        LeftRow(rejected.row or 0, LeftReason.CHANGED, rejected.message)
        for rejected in job.verdict.rejected_rows
    ]
    return sorted([*planned, *refused], key=lambda row: row.row)


def left_lines(job: Job) -> Iterator[Text]:
    """Yield lines about the rows undone before, and those to be undone by hand, by reason."""
    return _lines_of(_left_rows(job), job.last("undone_before") or {})


def _lines_of(left: Iterable[LeftRow], undone_before: Mapping[str, int]) -> Iterator[Text]:
    for text in (*before_texts(undone_before), *left_texts(left)):
        yield untranslated("  {text}").format(text=text)


def before_texts(undone_before: Mapping[str, int]) -> Iterator[Text]:
    """Yield a text for each earlier undo, with the number of rows that it has reversed."""
    for undo, count in undone_before.items():
        yield Text(
            pt="{n} {n:linha já foi desfeita|linhas já foram desfeitas} por {undo}",
            en="{n} {n:row was|rows were} already undone by {undo}",
        ).format(n=count_text(count), undo=undo)


def left_texts(left: Iterable[LeftRow]) -> Iterator[Text]:
    """Yield each explanation with the number of its rows and the first of them."""
    by_message: dict[str, list[int]] = {}
    for row in left:
        by_message.setdefault(str(row.text), []).append(row.row)
    for message, rows in by_message.items():
        yield Text(
            pt="{n} {n:linha não desfeita|linhas não desfeitas}: {message} ({n:linha|linhas} "
            "{rows}{more})",
            en="{n} {n:row|rows} not reversed: {message} ({n:row|rows} {rows}{more})",
        ).format(
            n=count_text(len(rows)),
            message=message,
            rows=", ".join(map(str, rows[:_SHOWN_ROWS])),
            more=", …" if len(rows) > _SHOWN_ROWS else "",
        )


def undo_counts(job: Job) -> dict[str, int]:
    """Return the counts of an undo's rows; ``read`` is the sum of the others."""
    verdict = job.verdict
    left = len(job.last("left") or ()) + verdict.rejected
    counts = {"undone": verdict.accepted, "left": left, "unknown": verdict.unknown}
    return {"read": sum(counts.values()), **counts}


def undo_json(job: Job) -> dict[str, Any]:
    """Return an undo as JSON. See the product brief, ``undo JOB``."""
    return {
        "version": 1,
        "job": job.id,
        "undo_of": job.undo_of,
        "state": job.public_state,
        "resource": job.spec.resource,
        "rows": undo_counts(job),
        "left": _left_json(_left_rows(job)),
        "confirm": job.token,
        "evidence_file": job.last("evidence_file"),
    }


def _left_json(rows: Iterable[LeftRow]) -> list[dict[str, Any]]:
    return [{"row": row.row, "reason": row.reason, "message": str(row.text)} for row in rows]


def undo_lines(job: Job) -> Iterator[Text]:
    """Yield the lines of the report of an undo."""
    counts = undo_counts(job)
    headline = _HEADLINES.get(job.state, _UNFINISHED)
    if headline is _DONE and not counts["undone"]:
        headline = _headline_without_rows(counts["read"], job.last("undone_before"))
    texts = {name: count_text(count) for name, count in counts.items()}
    yield headline.format(**texts, undo_of=job.undo_of, job=job.arguments(), reason=job.reason)
    yield from left_lines(job)


def _headline_without_rows(left: int, undone_before: Mapping[str, int] | None) -> Text:
    """Return the headline of an undo that has reversed no row, and leaves some or none."""
    if left:
        return _NONE_REVERSED
    return _ALL_REVERSED if undone_before else _NOTHING_WRITTEN


def empty_undo_report(
    undo_of: Job, left_rows: Collection[LeftRow], undone_before: Mapping[str, int], token: str
) -> ReportForms:
    """Return the report of an undo with no rows to reverse, of which no job is recorded."""
    left = len(left_rows)
    counts = {"read": left, "undone": 0, "left": left, "unknown": 0}

    def document() -> dict[str, Any]:
        return {
            "version": 1,
            "job": None,
            "undo_of": undo_of.id,
            "state": State.DONE.public,
            "resource": undo_of.spec.resource,
            "rows": counts,
            "left": _left_json(left_rows),
            "confirm": token,
            "evidence_file": None,
        }

    def lines() -> Iterator[Text]:
        headline = _headline_without_rows(left, undone_before)
        yield headline.format(**counts, undo_of=undo_of.id)
        yield from _lines_of(left_rows, undone_before)

    return ReportForms(document, lines)


_DONE = Text(
    pt="Desfeito o envio {undo_of}. Linhas desfeitas: {undone} de {read}; não desfeitas: {left}.",
    en="Undone: the upload {undo_of}. Rows reversed: {undone} of {read}; left: {left}.",
)
_NONE_REVERSED = Text(
    pt="Nenhuma linha do envio {undo_of} foi desfeita; não desfeitas: {left} de {read}.",
    en="No row of the upload {undo_of} was reversed; left: {left} of {read}.",
)
_ALL_REVERSED = Text(
    pt="Nada mais a desfazer: as linhas do envio {undo_of} já foram desfeitas.",
    en="Nothing left to reverse: the rows of the upload {undo_of} were undone before.",
)
_NOTHING_WRITTEN = Text(
    pt="Nada a desfazer: o envio {undo_of} não gravou nenhuma linha.",
    en="Nothing to reverse: the upload {undo_of} has written no rows.",
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
    en="Rows reversed: {undone} of {read}; left: {left}; in doubt: {unknown} ({reason}). To "
    "continue: xlbridge resume {job}",
)
