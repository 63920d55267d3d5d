"""Details, report and control totals of a job, as the page shows them."""

from dataclasses import replace
from typing import Any

from xlbridge.i18n import Text
from xlbridge.report_forms import Report, ReportForms
from xlbridge.resources.references import BRANCH
from xlbridge.ui.answers import table_json
from xlbridge.ui.environment import RegistryNames
from xlbridge.upload import Job, State, UploadContext
from xlbridge.upload.results import ControlTotals, history_table, job_json, job_report
from xlbridge.validation import ValidatedSheet

HOW_TO_CONFIRM = Text(
    pt="Abra a planilha, veja o plano e envie.", en="Open the workbook, see the plan and send."
)


def listed_job(context: UploadContext, job: Job) -> dict[str, Any]:
    """Return a job with what the page offers for it."""
    has_ended = job.state.is_final and job.state is not State.NEEDS_PERSON
    listed = job_json(context.journal, job, with_rows=False)
    resource, rows = context.catalogue.get(job.spec.resource), listed["rows"]
    change = None if resource is None else resource.change
    can_delete = change is not None and change.delete_name is not None
    return listed | {
        "final": job.state.is_final,
        "sent": not job.state.is_unsent,
        "doubtful": job.state is State.NEEDS_PERSON,
        "is_upload": not job.is_task,
        "can_undo": not (job.is_task or job.deletes or resource is None)
        and has_ended
        and (rows["updated"] > 0 or (can_delete and rows["created"] > 0)),
    }


def job_details(context: UploadContext, job: Job) -> dict[str, Any]:
    """Return a job with its history and its report as lines."""
    history = [list(map(str, line.values[:2])) for line in history_table(job).lines]
    report = titled_report(context, job)
    if not job.is_task:
        # The page has buttons for the next step, unless that is to wait.
        steps = report.next_steps if job.state is State.IN_DOUBT else []
        report = replace(
            report, next_steps=[*steps, HOW_TO_CONFIRM] if job.state.is_unsent else steps
        )
    lines = report_lines(report)
    shown = [line.strip() for line in lines] if job.is_task else lines
    return listed_job(context, job) | {"history": history, "lines": shown}


def job_totals(
    context: UploadContext, job: Job, names: RegistryNames, sheet: ValidatedSheet | None = None
) -> list[dict[str, Any]]:
    """Return the control totals of a job's rows as they are now, of its sheet if it is at hand."""
    branches = names.known(BRANCH)
    return list(map(table_json, ControlTotals.of_job(context, job, sheet, branches)))


def titled_report(context: UploadContext, job: Job) -> Report:
    """Return the report of a job, with the titles of the columns. The reasons of rejected rows are
    in the grid and the control totals."""
    resource = context.catalogue.get(job.spec.resource)
    return job_report(context.journal, job, resource, with_reasons=False)


def report_lines(report: Report) -> list[str]:
    """Return a report as lines of text."""
    return list(map(str, ReportForms.of_report(lambda: report).lines()))
