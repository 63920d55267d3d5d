"""Report of a job of any kind, which has a module of its own for each."""

from collections.abc import Callable
from typing import Any

from xlbridge.i18n import Text
from xlbridge.report_forms import Report
from xlbridge.resources import Mode
from xlbridge.upload.job import Job
from xlbridge.upload.journal import Journal
from xlbridge.upload.results.report import job_json, upload_report
from xlbridge.upload.results.undo_report import undo_json, undo_report


def job_report(
    journal: Journal, job: Job, show_column: Callable[[str], str | Text] = str
) -> Report:
    """Return the report of an upload, an undo or a processing.

    ``show_column`` names the columns of rejected rows.
    """
    if job.spec.mode is Mode.PROCESS:
        # The modules for processing are rarely needed, and slow to import.
        from xlbridge.upload.processing.report import process_report

        return process_report(journal, job)
    if job.undo_of is not None:
        return undo_report(journal, job)
    return upload_report(journal, job, show_column)


def job_document(journal: Journal, job: Job) -> dict[str, Any]:
    """Return the report of an upload, an undo or a processing as JSON."""
    if job.spec.mode is Mode.PROCESS:
        from xlbridge.upload.processing.report import process_json

        return process_json(journal, job)
    return job_json(journal, job) if job.undo_of is None else undo_json(journal, job)
