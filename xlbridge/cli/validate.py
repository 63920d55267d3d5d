"""``xlbridge validate``: checks workbooks locally, without the network."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from xlbridge.cli.environment import asked_settings
from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.judged_report import write_report
from xlbridge.cli.options import how_to_read, own_schemas, validation_format, which_sheet
from xlbridge.cli.output import remark
from xlbridge.cli.progress import Activity, working
from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.settings import Settings
from xlbridge.validation.reading import DateOrder, NumberStyle, Reading
from xlbridge.validation.reports.judged import Judged, RefusedFile
from xlbridge.validation.validate import ValidatedSheet, validate_workbook
from xlbridge.workbook.atomic import require_apart


@click.command(
    "validate",
    help=str(
        Text(
            pt="Confere planilhas no próprio computador, sem usar a rede.",
            en="Checks workbooks on this computer, without the network.",
        )
    ),
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help=str(Text(pt="Grava o relatório num arquivo.", en="Writes the report to a file.")),
)
@click.option(
    "--annotate",
    "annotated",
    type=click.Path(path_type=Path, dir_okay=False),
    help=str(
        Text(
            pt="Grava uma cópia da pasta com as células marcadas.",
            en="Writes a copy of the workbook with its cells marked.",
        )
    ),
)
@click.option(
    "--fix",
    "fixed",
    type=click.Path(path_type=Path, dir_okay=False),
    help=str(
        Text(
            pt="Grava uma cópia em que o que é certo está corrigido, e relata o que fica.",
            en="Writes a copy in which what is certain is mended, and reports what is left.",
        )
    ),
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=str(
        Text(
            pt="Quantos achados detalhar por arquivo (em texto: por regra); as contagens são "
            "sempre de todos.",
            en="How many findings to detail for each file (in text: for each rule); the counts "
            "are always of all.",
        )
    ),
)
@click.option(
    "--online",
    is_flag=True,
    help=str(
        Text(
            pt="Confere também no sistema: códigos que existem e estão ativos, registros que já "
            "estão lá.",
            en="Also asks the system: codes that exist and are active, records that are there "
            "already.",
        )
    ),
)
@which_sheet
@own_schemas
@how_to_read
@validation_format
def command(
    files: tuple[Path, ...],
    resource: str | None,
    sheet: str | None,
    form: str,
    output: Path | None,
    annotated: Path | None,
    fixed: Path | None,
    limit: int | None,
    online: bool,
    dates: DateOrder | None,
    numbers: NumberStyle | None,
) -> ExitCode:
    if (annotated or fixed) and len(files) > 1:
        raise UsageError(
            Text(
                pt="--annotate e --fix servem para um arquivo de cada vez.",
                en="--annotate and --fix take one file at a time.",
            )
        )
    require_apart([output, annotated, fixed], files)
    settings = asked_settings()
    judge = partial(
        validate_workbook,
        catalogue=load_catalogue(settings.schemas),
        resource=resource,
        sheet=sheet,
        reading=Reading(dates=dates, numbers=numbers),
        limits=settings.limits,
    )
    judged = _judge_all(files, judge)
    if fixed and isinstance(judged[0], ValidatedSheet):
        judged[0] = _mend(judged[0], fixed, judge)
    failure = _ask_online(judged, settings) if online else None
    write_report(judged, form, output, limit)
    if annotated and isinstance(judged[0], ValidatedSheet):
        _annotate(judged[0], annotated, limit)
    if failure is not None:
        raise failure
    return _exit_code(judged)


def _judge_all(files: Sequence[Path], judge: Callable[..., ValidatedSheet]) -> list[Judged]:
    """Judge each file; one that cannot be judged is reported with the others."""
    judged: list[Judged] = []
    with working(Text(pt="Conferindo", en="Checking"), total=len(files)) as activity:
        for file in files:
            activity.tell(Text(pt="Conferindo {f}", en="Checking {f}").format(f=file))
            try:
                judged.append(judge(file, on_column=partial(_tell_column, activity, file)))
            except (WorkbookRefused, UsageError) as refusal:
                judged.append(RefusedFile(file, refusal))
            activity.advance()
    return judged


_LOCAL_ONLY = Text(
    pt="O sistema não pôde ser consultado: o relatório tem só o que se vê neste computador.",
    en="The system could not be asked: the report has only what is seen on this computer.",
)


def _ask_online(judged: Sequence[Judged], settings: Settings) -> XlbridgeError | None:
    """Add what the system says; return why it could not be asked, after which nothing is lost."""
    # Most runs use no network, and its libraries take their time to import.
    from xlbridge.cli.connection import connect
    from xlbridge.online.check import OnlineCheck

    sheets = [item for item in judged if isinstance(item, ValidatedSheet)]
    try:
        with (
            connect(settings) as client,
            working(Text(pt="Consultando o sistema", en="Asking the system")) as activity,
        ):
            check = OnlineCheck(client, activity.tell)
            for sheet in sheets:
                check.add_findings(sheet)
    except XlbridgeError as error:
        remark(_LOCAL_ONLY)
        return error
    return None


def _exit_code(judged: Sequence[Judged]) -> ExitCode:
    """Return the gravest outcome's code. Raises the first ``UsageError`` among them."""
    refusals = [item.refusal for item in judged if isinstance(item, RefusedFile)]
    for refusal in refusals:
        if isinstance(refusal, UsageError):
            raise refusal
    if refusals:
        return ExitCode.REFUSED
    good = all(isinstance(item, ValidatedSheet) and item.ok for item in judged)
    return ExitCode.GOOD if good else ExitCode.DATA_ERRORS


def _tell_column(
    activity: Activity, file: Path, column: str, place: int, of: int, rows: int
) -> None:
    told = Text(
        pt="Conferindo {f} · linhas: {rows} · coluna {place} de {of}: {column}",
        en="Checking {f} · rows: {rows} · column {place} of {of}: {column}",
    )
    activity.tell(told.format(f=file, rows=rows, place=place, of=of, column=column))


def _mend(
    judged: ValidatedSheet, target: Path, judge: Callable[..., ValidatedSheet]
) -> ValidatedSheet:
    """Write the mended copy and judge it: what is reported is what is left."""
    # What changes a copy takes its time to import, and most runs do not need it.
    from xlbridge.validation.mending import mend

    with working(Text(pt="Corrigindo", en="Mending")):
        mending = mend(judged, target)
        if judged.resource is None:
            return replace(judged, mending=mending)
        left = judge(target, resource=judged.resource.name, sheet=judged.sheet)
    return replace(left, file=judged.file, mending=mending)


def _annotate(judged: ValidatedSheet, target: Path, limit: int | None) -> None:
    # As above.
    from xlbridge.validation.annotation import annotate_sheet

    with working(Text(pt="Marcando as células", en="Marking the cells")):
        annotate_sheet(judged, target, limit)
    remark(Text(pt="Cópia marcada em {f}", en="Marked copy in {f}").format(f=target))
