"""``xlbridge jobs``: past uploads and their state; nothing is sent."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from xlbridge.cli.completion import complete_jobs
from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.options import described_command, report_format_option, status_copy_option
from xlbridge.cli.output import print_json, print_result, remark
from xlbridge.cli.upload_run import print_job, save_status_copy
from xlbridge.files import short_path
from xlbridge.i18n import Text
from xlbridge.upload import Job, Journal, open_context
from xlbridge.upload.results import ensure_evidence, job_json, mode_name, settled_rows


@described_command(
    "jobs",
    pt="Os envios feitos e o estado de cada um.",
    en="Past uploads and their state.",
)
@click.argument("job_id", metavar="[JOB]", shell_complete=complete_jobs, required=False)
@status_copy_option
@report_format_option
def command(job_id: str | None, annotate: Path | None, form: str) -> ExitCode:
    with open_context(command_settings()) as context:
        if job_id is not None:
            job = context.journal.job(job_id)
            if form == "text":
                _print_history(job)
                _print_table(context.journal.parts_of(job))
            print_job(context, ensure_evidence(context, job), form)
            if annotate is not None:
                save_status_copy(context, context.journal.job(job.id), annotate)
            return ExitCode.GOOD
        jobs = context.journal.jobs()
        if form == "json":
            listed = (one for job in jobs for one in (job, *context.journal.parts_of(job)))
            print_json(
                {"version": 1, "jobs": [_listed_json(context.journal, job) for job in listed]}
            )
            return ExitCode.GOOD
        if not jobs:
            remark(
                Text(
                    pt="Nenhum envio ainda. Para enviar: xlbridge upload ARQUIVO",
                    en="No upload yet. To send one: xlbridge upload FILE",
                )
            )
        _print_table([one for job in jobs for one in (job, *context.journal.parts_of(job))])
        return ExitCode.GOOD


def _listed_json(journal: Journal, job: Job) -> dict[str, Any]:
    """Return the report of a job with what tells it from others: file, environment and time."""
    described = {"file": job.spec.file, "sheet": job.spec.sheet, "profile": job.spec.profile}
    listed = job_json(job, settled=settled_rows(journal, job))
    return listed | described | {"created_at": job.created_at.isoformat(timespec="seconds")}


def _print_history(job: Job) -> None:
    for event in job.events:
        note = event.detail.get("rejects_file") or event.detail.get("log_id") or ""
        state = str(event.state.text)
        print_result(f"{event.at:%d/%m/%Y %H:%M:%S}  {state:18}  {note}".rstrip())


_HEADER = (
    Text(pt="envio", en="upload"),
    Text(pt="data", en="date"),
    Text(pt="situação", en="state"),
    Text(pt="modo", en="mode"),
    Text(pt="recurso", en="resource"),
    Text(pt="linhas", en="rows"),
    Text(pt="aceitas", en="accepted"),
    Text(pt="rejeitadas", en="rejected"),
    Text(pt="sem alteração", en="unchanged"),
    Text(pt="retidas", en="held"),
    Text(pt="sem resultado", en="unknown"),
    Text(pt="ambiente", en="profile"),
    Text(pt="arquivo", en="file"),
)
_COUNTS = ("read", "accepted", "rejected", "unchanged", "held", "unknown")
_FIRST_COUNT = 5
_RARE = range(_FIRST_COUNT + 3, _FIRST_COUNT + len(_COUNTS))
"""Columns of counts that are left out where they are all zero, for a line that fits the screen."""


def _print_table(jobs: Sequence[Job]) -> None:
    """Print a header and a line for each job; counts stand to the right."""
    if not jobs:
        return
    counts = range(_FIRST_COUNT, _FIRST_COUNT + len(_COUNTS))
    columns = zip(*([str(title) for title in _HEADER], *map(_cells, jobs)), strict=True)
    padded = [
        [cell.rjust(width) if place in counts else cell.ljust(width) for cell in cells]
        for place, cells in enumerate(columns)
        if place not in _RARE or {*cells[1:]} != {"0"}
        for width in [max(map(len, cells))]
    ]
    for line in zip(*padded, strict=True):
        print_result("  ".join(line).rstrip())


def _cells(job: Job) -> list[str]:
    spec, counted = job.spec, job.counted
    return [
        job.id if job.parent is None else f"  {job.id}",
        f"{job.created_at:%d/%m/%Y %H:%M}",
        str(job.state.text),
        str(mode_name(spec.mode)),
        spec.resource,
        *(str(counted[name]) for name in _COUNTS),
        spec.profile,
        str(short_path(Path(spec.file))) if spec.file else "",
    ]
