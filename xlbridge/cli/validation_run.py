"""Judging the files of ``xlbridge validate``: the part that needs pandas and pandera."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

from xlbridge.cli.exit_codes import ExitCode
from xlbridge.cli.judged_report import write_report
from xlbridge.cli.output import remark
from xlbridge.cli.progress import Activity, working
from xlbridge.cli.validation_task import ValidationTask
from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources.catalogue import load_catalogue
from xlbridge.settings import Settings
from xlbridge.validation.reading import Reading
from xlbridge.validation.reports.judged import Judged, RefusedFile
from xlbridge.validation.validate import ValidatedSheet, validate_workbook
from xlbridge.workbook.assembly import WorkbookSource
from xlbridge.workbook.atomic import require_apart


def run(task: ValidationTask, settings: Settings, first: WorkbookSource | None) -> ExitCode:
    """Judge, mend, report and mark as the task says.

    ``first`` waits for the cells of the first file, which is being read already; None where it
    cannot be read. Raises ``UsageError`` when what is asked for cannot be.
    """
    if (task.annotated or task.fixed) and len(task.files) > 1:
        raise UsageError(
            Text(
                pt="--annotate e --fix servem para um arquivo de cada vez.",
                en="--annotate and --fix take one file at a time.",
            )
        )
    require_apart([task.output, task.annotated, task.fixed], task.files)
    judge = partial(
        validate_workbook,
        catalogue=load_catalogue(settings.schemas),
        resource=task.resource,
        sheet=task.sheet,
        reading=Reading(dates=task.dates, numbers=task.numbers),
        limits=settings.limits,
    )
    judged = _judge_all(task.files, judge, first)
    if task.fixed and isinstance(judged[0], ValidatedSheet):
        judged[0] = _mend(judged[0], task.fixed, judge)
    failure = _ask_online(judged, settings) if task.online else None
    write_report(judged, task.form, task.output, task.limit)
    if task.annotated and isinstance(judged[0], ValidatedSheet):
        _annotate(judged[0], task.annotated, task.limit)
    if failure is not None:
        raise failure
    return _exit_code(judged)


def _judge_all(
    files: Sequence[Path], judge: Callable[..., ValidatedSheet], first: WorkbookSource | None
) -> list[Judged]:
    """Judge each file; one that cannot be judged is reported with the others."""
    judged: list[Judged] = []
    with working(Text(pt="Conferindo", en="Checking"), total=len(files)) as activity:
        for file, workbook in zip_longest(files, [first]):
            activity.tell(Text(pt="Conferindo {f}", en="Checking {f}").format(f=file))
            try:
                on_column = partial(_tell_column, activity, file)
                judged.append(judge(file, workbook=workbook, on_column=on_column))
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
    # Imported here for the same reason as what mends.
    from xlbridge.validation.annotation import annotate_sheet

    with working(Text(pt="Marcando as células", en="Marking the cells")):
        annotate_sheet(judged, target, limit)
    remark(Text(pt="Cópia marcada em {f}", en="Marked copy in {f}").format(f=target))
