"""``xlbridge batch rehearse``: run of the month in a private workspace, under faults."""

from functools import partial
from pathlib import Path

import click

from xlbridge.batch.plan import local_date, read_plan
from xlbridge.cli.batch_common import parameter_options, parameters_from_options
from xlbridge.cli.environment import settings_without_profile
from xlbridge.cli.lifecycle import ExitCode
from xlbridge.cli.options import (
    described_command,
    option,
    page_result_options,
    schemas_option,
)
from xlbridge.cli.output import is_result_printed, print_message, print_report
from xlbridge.cli.progress import show_progress
from xlbridge.i18n import Text
from xlbridge.resources import load_catalogue
from xlbridge.sandbox import SeedKind, require_extra

_EXIT_CODES = {
    "passed": ExitCode.GOOD,
    "not_ready": ExitCode.DATA_ERRORS,
    "in_doubt": ExitCode.IN_DOUBT,
    "broken": ExitCode.IN_DOUBT,
}


@described_command(
    "rehearse",
    pt="Ensaia o plano com os mesmos arquivos num sistema isolado. Provoca falhas de propósito "
    "e confere: nenhuma linha duas vezes, nenhuma perdida, um resultado para cada uma.",
    en="Rehearses the plan with its own workbooks in a private system. Injects faults, and "
    "asserts: no row twice, none lost, a verdict for every one.",
)
@click.argument("plan", type=click.Path(path_type=Path))
@parameter_options
@option(
    "--faults",
    metavar="SPEC",
    default="",
    pt="Por exemplo cut-after@0.05,error-before@0.1 (como em sandbox --faults).",
    en="For example cut-after@0.05,error-before@0.1 (like sandbox --faults).",
)
@option(
    "--seed-number",
    type=click.IntRange(min=0),
    metavar="N",
    pt="A semente das falhas; a mesma semente as repete.",
    en="The seed of the faults; the same seed repeats them.",
)
@option(
    "--db",
    "database",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    pt="Um banco SQLite do ambiente de testes, que é copiado.",
    en="An SQLite database of the practice system, which is copied.",
)
@option(
    "--seed",
    "kind",
    type=click.Choice([kind.value for kind in SeedKind]),
    default=SeedKind.DEMO.value,
    show_default=True,
    pt="O conteúdo inicial de um banco novo.",
    en="The initial content of a new database.",
)
@option(
    "--stand-ins",
    is_flag=True,
    pt="Cria no ensaio os códigos dos arquivos que faltam lá: clientes, filiais, …",
    en="Creates codes of the workbooks that are missing there: clients, branches, …",
)
@option(
    "--compare",
    is_flag=True,
    pt="Ensaia antes sem falhas, e mostra as diferenças.",
    en="Rehearses without faults first, and shows the differences.",
)
@option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    pt="Uma pasta nova para os arquivos do ensaio: banco, diário, rejeitadas.",
    en="A new folder for the files of the rehearsal: database, journal, rejects.",
)
@schemas_option
@page_result_options
def command(
    plan: Path,
    month: str | None,
    assignments: tuple[str, ...],
    faults: str,
    seed_number: int | None,
    database: Path | None,
    kind: str,
    stand_ins: bool,
    compare: bool,
    keep: Path | None,
    form: str,
) -> ExitCode:
    require_extra()
    from xlbridge.batch.rehearsal import (
        RehearsalOptions,
        rehearsal_report,
        run_rehearsal,
        verdict_lines,
    )

    settings = settings_without_profile()
    parameters = parameters_from_options(month, assignments)
    catalogue = load_catalogue(settings.schemas)
    options = RehearsalOptions(
        plan=read_plan(plan, catalogue, parameters, partial(local_date, settings)),
        faults=faults,
        settings=settings,
        seed_number=seed_number,
        database=database,
        kind=SeedKind(kind),
        stand_ins=stand_ins,
        compare=compare,
        keep=keep,
    )
    title = Text(pt="Ensaio do lote {id}", en="Rehearsal of the batch {id}")
    with show_progress(title.format(id=options.plan.batch)) as progress:
        result = run_rehearsal(options, progress.show)
    if options.keep is not None:
        kept = Text(pt="Os arquivos do ensaio estão em {f}", en="Its files are in {f}")
        print_message(kept.format(f=options.keep))
    if not is_result_printed():
        for line in verdict_lines(result):
            print_message(line)
    print_report(rehearsal_report(result), form)
    return _EXIT_CODES[result.state]
