"""Report of a job of any kind."""

from collections.abc import Callable
from dataclasses import dataclass

from xlbridge.report_forms import ReportForms
from xlbridge.resources import Mode
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.results.report import job_json, job_lines
from xlbridge.upload.results.undo_report import undo_counts, undo_json, undo_lines


@dataclass(frozen=True, slots=True)
class JobReport:
    """Report of a job; ``has_open_rows`` returns whether rows are left for a person to handle."""

    forms: ReportForms
    has_open_rows: Callable[[], bool]


def job_report(journal: Journal, job: Job) -> JobReport:
    """Return the report of an upload, an undo or a processing."""
    if job.spec.mode is Mode.PROCESS:
        # The modules for processing are rarely needed, and slow to import.
        from xlbridge.upload.processing.report import has_rejected, process_json, process_lines

        return JobReport(
            ReportForms(lambda: process_json(journal, job), lambda: process_lines(journal, job)),
            lambda: has_rejected(journal, job),
        )
    if job.undo_of is not None:
        return JobReport(
            ReportForms(lambda: undo_json(job), lambda: undo_lines(job)),
            lambda: bool(undo_counts(job)["left"]),
        )
    return JobReport(
        ReportForms(lambda: job_json(journal, job), lambda: job_lines(journal, job)),
        lambda: bool(job.held),
    )
