"""Report of a job of any kind."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from xlbridge.i18n import Text
from xlbridge.report_forms import ReportForms
from xlbridge.resources import Mode
from xlbridge.upload.job import Job, State
from xlbridge.upload.journal import Journal
from xlbridge.upload.results.left_rows import left_lines, left_rows
from xlbridge.upload.results.report import job_json, job_lines
from xlbridge.upload.results.retried_rows import later_rows


@dataclass(frozen=True, slots=True)
class JobReport:
    """Report of a job; ``has_open_rows`` returns whether rows are left for a person to handle."""

    forms: ReportForms
    has_open_rows: Callable[[], bool]


def job_report(journal: Journal, job: Job) -> JobReport:
    """Return the report of an upload, an undo or a processing."""
    # The modules for processing are rarely needed, and slow to import.
    if job.spec.mode is Mode.PROCESS:
        from xlbridge.upload.processing.report import has_rejected, process_json, process_lines

        return JobReport(
            ReportForms(lambda: process_json(journal, job), lambda: process_lines(journal, job)),
            lambda: has_rejected(journal, job),
        )
    if job.undo_of is not None:
        return JobReport(
            ReportForms(lambda: _undo_json(job), lambda: _undo_lines(job)),
            lambda: bool(_undo_counts(job)["left"]),
        )
    return JobReport(
        ReportForms(
            lambda: job_json(job, journal.plan_of(job), later_rows(journal, job)),
            lambda: job_lines(job, later_rows(journal, job)),
        ),
        lambda: bool(job.held),
    )


def _undo_counts(job: Job) -> dict[str, int]:
    """Return the counts of an undo's rows; ``read`` is the sum of the others."""
    verdict = job.verdict
    left = len(job.last("left") or ()) + verdict.rejected
    counts = {"undone": verdict.accepted, "left": left, "unknown": verdict.unknown}
    return {"read": sum(counts.values()), **counts}


def _undo_json(job: Job) -> dict[str, Any]:
    """Return an undo as JSON. See the product brief, ``undo JOB``."""
    return {
        "version": 1,
        "job": job.id,
        "undo_of": job.undo_of,
        "state": job.public_state,
        "resource": job.spec.resource,
        "rows": _undo_counts(job),
        "left": [
            {"row": row, "reason": reason, "message": message}
            for row, reason, message in left_rows(job)
        ],
        "confirm": job.token,
        "evidence_file": job.last("evidence_file"),
    }


def _undo_lines(job: Job) -> Iterator[Text]:
    """Yield the lines of the report of an undo."""
    counts = _undo_counts(job)
    headline = _HEADLINES.get(job.state, _UNFINISHED)
    if headline is _DONE and not counts["undone"]:
        nothing = _ALL_REVERSED if job.last("undone_before") else _NOTHING_WRITTEN
        headline = _NONE_REVERSED if counts["read"] else nothing
    yield headline.format(**counts, undo_of=job.undo_of, job=job.id, reason=job.reason)
    yield from left_lines(job)


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
