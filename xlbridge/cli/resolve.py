"""``xlbridge resolve``: a person's decision about a doubtful upload."""

import click

from xlbridge.cli.completion import complete_jobs
from xlbridge.cli.environment import command_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.lifecycle import heavy_imports
from xlbridge.cli.options import described_command, option, report_format_option
from xlbridge.cli.upload_run import print_job
from xlbridge.upload import Resolution, open_context


@described_command(
    "resolve",
    pt="Registra o que uma pessoa viu no sistema sobre um envio em dúvida.",
    en="Records what a person saw in the system of an upload in doubt.",
)
@click.argument("job_id", metavar="JOB", shell_complete=complete_jobs)
@option(
    "--as",
    "seen",
    type=click.Choice([resolution.value for resolution in Resolution]),
    required=True,
    pt="As linhas estão no sistema (applied), ou nenhuma está (not-applied).",
    en="The rows are in the system (applied), or none of them is (not-applied).",
)
@option(
    "--reason",
    metavar="TEXT",
    required=True,
    pt="O que foi visto, e onde; fica registrado com quem e quando.",
    en="What was seen, and where; it is recorded with who and when.",
)
@report_format_option
def command(job_id: str, seen: str, reason: str, form: str) -> ExitCode:
    # It leaves evidence behind, with what reads and writes workbooks.
    with heavy_imports():
        from xlbridge.upload import resolve_job

    with open_context(command_settings()) as context:
        job = resolve_job(context, context.journal.job(job_id), Resolution(seen), reason)
        print_job(context, job, form)
        return ExitCode.GOOD
