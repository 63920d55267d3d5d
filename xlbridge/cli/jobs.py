"""``xlbridge jobs``: past uploads and their state; nothing is sent."""

from pathlib import Path
from typing import Any

import click

from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import format_option, status_copy_option
from xlbridge.cli.output import print_json, print_result, remark
from xlbridge.cli.upload_common import print_job, save_status_copy
from xlbridge.i18n import Text
from xlbridge.upload import Job, ensure_evidence, job_json, open_context


@click.command(
    "jobs",
    help=str(
        Text(pt="Os envios feitos e o estado de cada um.", en="Past uploads and their state.")
    ),
)
@click.argument("job_id", metavar="[JOB]", required=False)
@status_copy_option
@format_option
def command(job_id: str | None, annotate: Path | None, form: str) -> ExitCode:
    with open_context(command_settings()) as context:
        if job_id is not None:
            job = context.journal.job(job_id)
            if form == "text":
                for event in job.events:
                    note = event.detail.get("rejects_file") or event.detail.get("log_id") or ""
                    print_result(f"{event.at:%d/%m/%Y %H:%M:%S}  {event.state:10}  {note}".rstrip())
                for part in context.journal.parts_of(job):
                    print_result(f"  {_line(part)}")
            print_job(context, ensure_evidence(context, job), form)
            if annotate is not None:
                save_status_copy(context, context.journal.job(job.id), annotate)
            return ExitCode.GOOD
        jobs = context.journal.jobs()
        if form == "json":
            listed = (one for job in jobs for one in (job, *context.journal.parts_of(job)))
            print_json({"version": 1, "jobs": [_listed_json(job) for job in listed]})
            return ExitCode.GOOD
        if not jobs:
            remark(Text(pt="Nenhum envio ainda.", en="No upload yet."))
        for job in jobs:
            print_result(_line(job))
            for part in context.journal.parts_of(job):
                print_result(f"  {_line(part)}")
        return ExitCode.GOOD


def _listed_json(job: Job) -> dict[str, Any]:
    """Return the report of a job with what tells it from others: file, environment and time."""
    what = {"file": job.what.file, "sheet": job.what.sheet, "profile": job.what.profile}
    return job_json(job) | what | {"created_at": job.created_at.isoformat(timespec="seconds")}


def _line(job: Job) -> str:
    what = job.what
    return (
        f"{job.id}  {job.state.public:10}  {what.mode:7}  {what.resource}  "
        f"{len(what.rows)}  {what.profile}  {what.file}"
    )
