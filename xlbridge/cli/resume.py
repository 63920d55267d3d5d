"""``xlbridge resume``: continue an interrupted upload."""

from collections.abc import Sequence
from typing import Any

import click

from xlbridge.cli.completion import complete_jobs
from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.lifecycle import heavy_imports
from xlbridge.cli.options import described_command, report_format_option
from xlbridge.cli.output import print_error, remark
from xlbridge.cli.upload_options import UploadArguments, upload_options
from xlbridge.cli.upload_run import (
    code_of_failure,
    end_with_job,
    forbid_yes_in_production,
    run_upload,
)
from xlbridge.errors import InDoubt, LocalFailure, UsageError
from xlbridge.i18n import Text
from xlbridge.profiles import Profile, ProfileSource, choose_profile, origin_of
from xlbridge.upload import Job, Journal, State, open_context
from xlbridge.upload.results import ensure_evidence


@described_command(
    "resume",
    pt="Continua um envio interrompido.",
    en="Continues an upload.",
)
@click.argument("job_id", metavar="[JOB]", shell_complete=complete_jobs, required=False)
@upload_options
@report_format_option
def command(job_id: str | None, **given: Any) -> ExitCode:
    arguments = UploadArguments.of(given)
    with open_context(command_settings()) as context:
        if job_id:
            job = context.journal.job(job_id)
        else:
            job = _only_open_job(context.journal, choose_profile(context.settings))
        if job.state.is_final:
            try:
                job = ensure_evidence(context, job)
            except LocalFailure as error:
                print_error(error)
                return code_of_failure(context, job, error)
            return end_with_job(context, job, arguments.form, arguments.annotate)
        # What talks to the system and reads what was sent takes its time to import.
        with heavy_imports():
            from xlbridge.connection import connect

        with connect(context.settings, remark) as client:
            forbid_yes_in_production(client.target.production, arguments, job.spec.mode)
            return run_upload(context, client, job, arguments)


def _only_open_job(journal: Journal, profile: Profile) -> Job:
    """Return the one job of the profile's system that is not over.

    Raises ``UsageError`` when there is none, or several; ``InDoubt`` when there is none and some
    wait for a person.
    """
    jobs = [job for job in journal.jobs() if _is_of(job, profile)]
    waiting = [job for job in jobs if not job.state.is_final]
    undecided = [job for job in jobs if job.state is State.NEEDS_PERSON]
    if not waiting and undecided:
        raise InDoubt(_UNDECIDED.format(n=len(undecided), jobs=_listed(undecided)), _HOW_TO_DECIDE)
    if undecided:
        remark(_UNDECIDED.format(n=len(undecided), jobs=_listed(undecided)))
    if len(waiting) == 1:
        return waiting[0]
    if not waiting:
        raise UsageError(
            Text(
                pt="Não há envio para continuar em {profile}.",
                en="There is no upload to continue in {profile}.",
            ).format(profile=profile.name),
            Text(pt="Os envios feitos: xlbridge jobs", en="Past uploads: xlbridge jobs"),
        )
    raise UsageError(
        Text(
            pt="Há mais de um envio para continuar em {profile}:{jobs}",
            en="There is more than one upload to continue in {profile}:{jobs}",
        ).format(profile=profile.name, jobs=_listed(waiting)),
        Text(pt="Informe qual: xlbridge resume ENVIO", en="Say which: xlbridge resume JOB"),
    )


_UNDECIDED = Text(
    pt="{n} {n:envio aguarda|envios aguardam} a decisão de uma pessoa:{jobs}",
    en="{n} {n:upload waits|uploads wait} for a person to decide:{jobs}",
)
_HOW_TO_DECIDE = Text(
    pt="O que se sabe de cada um: xlbridge jobs ENVIO. Depois de conferir: xlbridge resolve ENVIO "
    '--as applied|not-applied --reason "…"',
    en="What is known of each: xlbridge jobs JOB. After looking: xlbridge resolve JOB "
    '--as applied|not-applied --reason "…"',
)


def _listed(jobs: Sequence[Job]) -> str:
    """Return a line for each job: its name, its date, and its file or else what it is of."""
    lines = (
        f"\n  {job.id}  {job.created_at:%d/%m/%Y %H:%M}  {job.spec.file or job.spec.resource}"
        for job in jobs
    )
    return "".join(lines)


def _is_of(job: Job, profile: Profile) -> bool:
    """Tell whether a job belongs to a profile's system, as far as its address tells.

    Jobs of earlier versions know the profile's name only.
    """
    system = job.spec.system
    if not system:
        return job.spec.profile == profile.name
    if profile.source is ProfileSource.EMBEDDED:
        return system.startswith("sandbox:")
    return origin_of(system.rpartition("#")[0]) == profile.origin
