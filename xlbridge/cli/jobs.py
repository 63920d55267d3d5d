"""``xlbridge jobs``: past uploads and their state; ``resume``, ``resolve`` and ``undo`` for one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from xlbridge.cli.help import complete_jobs
from xlbridge.cli.options import (
    command_settings,
    described_command,
    option,
    result_options,
    status_copy_option,
)
from xlbridge.cli.output import (
    print_error,
    print_json,
    print_message,
    print_report,
)
from xlbridge.cli.upload_run import (
    UploadArguments,
    consent_options,
    failure_exit_code,
    field_options,
    find_job,
    forbid_yes_in_production,
    print_job,
    report_job,
    run_upload,
    save_status_copy,
    upload_options,
)
from xlbridge.errors import ApiError, ConfigError, ExitCode, InDoubt, LocalFailure, UsageError
from xlbridge.files import as_arguments
from xlbridge.i18n import Text
from xlbridge.processes import heavy_imports
from xlbridge.profiles import Profile, ProfileSource, choose_profile, origin_of
from xlbridge.report_forms import Report, ReportForms, Table
from xlbridge.upload import Job, Resolution, State, UploadContext, open_context
from xlbridge.upload.results import (
    ensure_evidence,
    history_table,
    job_json,
    jobs_table,
)


@described_command("jobs")
@click.argument("job_id", metavar="[JOB]", shell_complete=complete_jobs, required=False)
@status_copy_option
@result_options
def command(job_id: str | None, annotate: Path | None, form: str) -> ExitCode:
    with open_context(command_settings(), creates=False) as context:
        if job_id is not None:
            job = find_job(context, job_id)
            if annotate is not None:
                _annotate(context, job, annotate)
            if form == "text":
                parts = context.journal.parts_of(job)
                _print_tables(history_table(job), jobs_table(context.journal, parts))
            print_job(context, job, form)
            return ExitCode.GOOD
        jobs = context.journal.jobs()
        with_parts = [j for job in jobs for j in (job, *context.journal.parts_of(job))]
        if form == "json":
            print_json(
                {
                    "version": 1,
                    "jobs": [
                        {
                            **job_json(context.journal, job, with_rows=False),
                            "file": job.spec.file,
                            "sheet": job.spec.sheet,
                            "profile": job.spec.profile,
                            "created_at": job.created_at.isoformat(timespec="seconds"),
                        }
                        for job in with_parts
                    ],
                }
            )
            return ExitCode.GOOD
        if not jobs:
            print_message(
                Text(
                    pt="Nenhum envio ainda. Para enviar: xlbridge upload ARQUIVO{profile}",
                    en="No upload yet. To send one: xlbridge upload FILE{profile}",
                ).format(profile=_profile_option(choose_profile(context.settings)))
            )
        _print_tables(jobs_table(context.journal, with_parts))
        return ExitCode.GOOD


def _annotate(context: UploadContext, job: Job, target: Path) -> None:
    """Write the status copy of a job, with the codes of its records read from the system.

    Without an answer the copy has the codes that are known.
    """
    with heavy_imports():
        from xlbridge.connection import connect

    try:
        with connect(context.settings, print_message) as client:
            job.require_system(client.identity, client.target.profile)
            save_status_copy(context, job, target, client)
    except (ApiError, ConfigError) as error:
        save_status_copy(context, job, target)
        print_message(_WITHOUT_CODES.format(reason=error.message))


_WITHOUT_CODES = Text(
    pt="Os códigos do sistema não puderam ser lidos ({reason}): a cópia tem só os conhecidos.",
    en="The system's codes could not be read ({reason}): the copy has only the known ones.",
)


def _print_tables(*tables: Table) -> None:
    print_report(ReportForms.of_report(lambda: Report(tables=tables)), "text")


@described_command("resume")
@click.argument("job_id", metavar="[JOB]", shell_complete=complete_jobs, required=False)
@upload_options("resume")
@result_options
def resume_command(job_id: str | None, **options: Any) -> ExitCode:
    arguments = UploadArguments.of(options)
    with open_context(command_settings()) as context:
        job = find_job(context, job_id) if job_id else _only_open_job(context)
        if job.state.is_final:
            try:
                job = ensure_evidence(context, job)
            except LocalFailure as error:
                print_error(error)
                return failure_exit_code(context, job, error)
            return report_job(context, job, arguments)
        with heavy_imports():
            from xlbridge.connection import connect

        with connect(context.settings, print_message) as client:
            forbid_yes_in_production(client, arguments, job.spec.mode)
            return run_upload(context, client, job, arguments)


def _only_open_job(context: UploadContext) -> Job:
    """Return the only open job of the profile's system.

    Raises ``UsageError`` if there is none, or several; ``InDoubt`` if there is none and some need
    a person's decision.
    """
    profile = choose_profile(context.settings)
    option = _profile_option(profile)
    jobs = [
        job
        for job in context.journal.jobs()
        if (
            job.spec.system.startswith("sandbox:")
            if profile.source is ProfileSource.EMBEDDED
            else origin_of(job.spec.system.rpartition("#")[0]) == profile.origin
        )
    ]
    open_jobs = [job for job in jobs if not job.state.is_final]
    undecided = [job for job in jobs if job.state is State.NEEDS_PERSON]
    if undecided:
        message = _UNDECIDED.format(n=len(undecided), jobs=_job_lines(undecided))
        if not open_jobs:
            raise InDoubt(message, _HOW_TO_DECIDE.format(profile=option))
        print_message(message)
    if len(open_jobs) == 1:
        return open_jobs[0]
    if not open_jobs:
        raise UsageError(
            Text(
                pt="Não há envio para continuar em {profile}.",
                en="There is no upload to continue in {profile}.",
            ).format(profile=profile.name),
            Text(
                pt="Os envios feitos: xlbridge jobs{profile}",
                en="Past uploads: xlbridge jobs{profile}",
            ).format(profile=option),
        )
    raise UsageError(
        Text(
            pt="Há mais de um envio para continuar em {profile}:{jobs}",
            en="There is more than one upload to continue in {profile}:{jobs}",
        ).format(profile=profile.name, jobs=_job_lines(open_jobs)),
        Text(
            pt="Informe qual: xlbridge resume ENVIO{profile}",
            en="Name one: xlbridge resume JOB{profile}",
        ).format(profile=option),
    )


def _profile_option(profile: Profile) -> str:
    """Return the option that chooses the profile again, as the end of a command."""
    return "".join(f" {as_arguments(word)}" for word in profile.arguments)


_UNDECIDED = Text(
    pt="{n} {n:envio aguarda|envios aguardam} a decisão de uma pessoa:{jobs}",
    en="{n} {n:upload waits|uploads wait} for a person to decide:{jobs}",
)
_HOW_TO_DECIDE = Text(
    pt="Detalhes de cada um: xlbridge jobs ENVIO{profile}. Depois de conferir: xlbridge resolve "
    'ENVIO{profile} --as applied --reason "…", ou --as not-applied',
    en="Details of each: xlbridge jobs JOB{profile}. After checking: xlbridge resolve "
    'JOB{profile} --as applied --reason "…", or --as not-applied',
)


def _job_lines(jobs: Sequence[Job]) -> str:
    """Return a line per job: its name, its date, and its file or resource."""
    lines = (
        f"\n  {job.id}  {job.created_at:%d/%m/%Y %H:%M}  {job.spec.file or job.spec.resource}"
        for job in jobs
    )
    return "".join(lines)


@described_command(
    "resolve",
    pt="Registra o que uma pessoa viu no sistema sobre um envio em dúvida.",
    en="Records what a person saw in the system about an upload in doubt.",
)
@click.argument("job_id", metavar="JOB", shell_complete=complete_jobs)
@option(
    "--as",
    "seen",
    type=click.Choice([resolution.value for resolution in Resolution]),
    required=True,
    pt="As linhas estão no sistema (applied), ou nenhuma está (not-applied).",
    en="All rows are in the system (applied), or none is (not-applied).",
)
@option(
    "--reason",
    metavar="TEXT",
    required=True,
    pt="O que foi visto, e onde; fica registrado com o usuário e a data.",
    en="What was seen, and where; recorded with user and time.",
)
@result_options
def resolve_command(job_id: str, seen: str, reason: str, form: str) -> ExitCode:
    with heavy_imports():
        from xlbridge.upload import resolve_job

    with open_context(command_settings()) as context:
        job = resolve_job(context, find_job(context, job_id), Resolution(seen), reason)
        print_job(context, job, form)
        return ExitCode.GOOD


@described_command(
    "undo",
    pt="Desfaz o que um envio gravou, até onde a interface permite.",
    en="Undoes what an upload wrote, as far as the interface allows.",
)
@click.argument("job_id", metavar="JOB", shell_complete=complete_jobs)
@consent_options
@field_options("undo")
@result_options
def undo_command(job_id: str, **options: Any) -> ExitCode:
    arguments = UploadArguments.of({**options, "annotate": None})
    with heavy_imports():
        from xlbridge.connection import connect
        from xlbridge.resources import Mode
        from xlbridge.upload import Uploads

    with open_context(command_settings()) as context:
        job = find_job(context, job_id)
        with connect(context.settings, print_message) as client:
            forbid_yes_in_production(client, arguments, Mode.UNDO)
            uploads = Uploads(context, client)
            plan = uploads.plan_undo(job)
            if not plan.writes:
                print_report(plan.report(), arguments.form)
                return ExitCode.DATA_ERRORS if plan.left else ExitCode.GOOD
            return run_upload(context, client, uploads.create_undo(plan), arguments)
