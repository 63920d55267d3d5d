"""Work of ``xlbridge validate``: judge, fix, report and mark; it needs pandas and pandera."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, groupby, zip_longest
from pathlib import Path

from xlbridge.cli.exit_codes import ExitCode, exit_code_of
from xlbridge.cli.options import ValidateArguments
from xlbridge.cli.output import (
    ProgressDisplay,
    fit_to_terminal,
    print_error,
    print_json,
    print_pieces,
    print_result,
    remark,
    show_progress,
)
from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.files import require_distinct, require_new
from xlbridge.i18n import Text
from xlbridge.parallel import Executor, validate_workbooks
from xlbridge.resources import Catalogue, load_catalogue
from xlbridge.settings import Settings, WorkbookLimits
from xlbridge.validation import (
    ParseOptions,
    RefusedFile,
    ValidatedSheet,
    ValidatedWorkbook,
    ValidationRequest,
    ValidationResult,
    is_ok,
    warm_up,
)
from xlbridge.validation.cross_sheet import registered_codes
from xlbridge.validation.reports import FORMS, Report, report_document, report_lines
from xlbridge.workbook import ANNOTATED, require_no_archive, require_own
from xlbridge.workbook.read import PendingWorkbook


def write_report(report: Report, form: str, output: Path | None) -> None:
    """Print the report in one of the ``PRINTABLE_FORMS``, or write it to ``output``.

    Raises ``UsageError`` when the file cannot be written; the report is printed then, a page as
    text.
    """
    if output is None:
        _print_report(report, form)
        return
    try:
        FORMS[form].write(report, output)
    except UsageError:
        _print_report(report, "text" if form == "html" else form)
        raise
    remark(Text(pt="Relatório em {f}", en="Report in {f}").format(f=output))


def _print_report(report: Report, form: str) -> None:
    if form == "json" and sys.stdout.isatty():
        print_json(report_document(report))
    elif form == "text":
        for line in fit_to_terminal(report_lines(report), sys.stdout):
            print_result(line)
    else:
        print_pieces(FORMS[form].render(report))


def run_validation(
    task: ValidateArguments,
    settings: Settings,
    first: PendingWorkbook | None,
    carrier: Executor | None,
) -> ExitCode:
    """Judge, mend, report and mark as the task says.

    ``first`` waits for the cells of the first file, which is being read already; None where it
    cannot be read. ``carrier`` judges the files in place of this process; None where nothing does.
    Raises ``UsageError`` when what is asked for cannot be.
    """
    _require_possible(task)
    workbooks = list(_workbooks(task))
    catalogue = load_catalogue(settings.schemas)
    if carrier is None:
        judged = _judge_here(workbooks, catalogue, settings.limits, first)
    else:
        judged = _judge_with_executor(workbooks, settings, carrier, with_frames=task.online)
    setbacks = _WriteFailures()
    if task.fixed and (sheets := _sheets_of(judged)):
        copy = replace(workbooks[0], file=task.fixed)
        with setbacks.noted(_NOTHING_FIXED):
            left = _write_fixed_copy(
                sheets, task.fixed, partial(copy.judge, catalogue, settings.limits)
            )
            judged = [*left, *_others_of(judged)]
    failure = _ask_online(_sheets_of(judged), settings) if task.online else None
    with setbacks.noted():
        write_report(Report.of(judged, task.limit), task.form, task.output)
    if task.annotated and _sheets_of(judged):
        with setbacks.noted():
            _write_marked_copy(Report.of(judged, task.limit), task.annotated)
    gravest = setbacks.told()
    if failure is not None:
        raise failure
    return max(_exit_code(judged), gravest)


def _require_possible(task: ValidateArguments) -> None:
    """Raise ``UsageError`` when what is asked for cannot be."""
    if (task.annotated or task.fixed) and len(task.files) > 1:
        raise UsageError(
            Text(
                pt="--annotate e --fix servem para um arquivo de cada vez.",
                en="--annotate and --fix take one file at a time.",
            )
        )
    if task.all_sheets and task.sheet is not None:
        raise UsageError(
            Text(
                pt="--all-sheets e --sheet se excluem.",
                en="--all-sheets and --sheet exclude one another.",
            )
        )
    require_distinct([task.output, task.annotated, task.fixed], task.files)
    if not task.force:
        _require_replaceable(task)


def _require_replaceable(task: ValidateArguments) -> None:
    """Raise ``UsageError`` when something that was not written by such a command would be lost."""
    if task.annotated:
        require_own(task.annotated, ANNOTATED)
    if task.fixed:
        # Nothing tells a mended copy from a workbook that someone goes on working in.
        require_new(task.fixed)
    if task.output:
        require_no_archive(task.output)


_NOTHING_FIXED = Text(
    pt="Nada foi corrigido: o relatório é do arquivo como ele está.",
    en="Nothing was mended: the report is of the file as it is.",
)


class _WriteFailures:
    """What could not be written: told at the end, as no report is lost by it."""

    def __init__(self) -> None:
        self._found: list[tuple[XlbridgeError, Text | None]] = []

    @contextmanager
    def noted(self, consequence: Text | None = None) -> Iterator[None]:
        """Note that something cannot be written, and what follows from that, and go on."""
        try:
            yield
        except (UsageError, WorkbookRefused) as error:
            self._found.append((error, consequence))

    def told(self) -> ExitCode:
        """Tell all of it, below the report, and return the gravest exit code."""
        for error, consequence in self._found:
            print_error(error)
            if consequence is not None:
                remark(consequence)
        return max((exit_code_of(error) for error, _ in self._found), default=ExitCode.GOOD)


def _workbooks(task: ValidateArguments) -> Iterator[ValidationRequest]:
    for file in task.files:
        yield ValidationRequest(
            file=file,
            resource=task.resource,
            sheet=task.sheet,
            all_sheets=task.all_sheets,
            reading=ParseOptions(dates=task.dates, numbers=task.numbers),
        )


def _sheets_of(judged: Sequence[ValidationResult]) -> list[ValidatedSheet]:
    return [item for item in judged if isinstance(item, ValidatedSheet)]


def _others_of(judged: Sequence[ValidationResult]) -> list[ValidationResult]:
    return [item for item in judged if not isinstance(item, ValidatedSheet)]


def _judge_here(
    workbooks: Sequence[ValidationRequest],
    catalogue: Catalogue,
    limits: WorkbookLimits,
    first: PendingWorkbook | None,
) -> list[ValidationResult]:
    """Judge each file; one that cannot be judged is reported with the others."""
    judged: list[ValidationResult] = []
    with show_progress(Text(pt="Conferindo", en="Checking"), total=len(workbooks)) as activity:
        if first is not None and not first.is_here():
            warm_up(catalogue)
        for wanted, cells in zip_longest(workbooks, [first]):
            activity.tell(Text(pt="Conferindo {f}", en="Checking {f}").format(f=wanted.file))
            on_column = partial(_show_column, activity, wanted.file)
            judged += wanted.found(catalogue, limits, cells, on_column)
            activity.advance()
    return judged


def _judge_with_executor(
    workbooks: Sequence[ValidationRequest],
    settings: Settings,
    carrier: Executor,
    *,
    with_frames: bool,
) -> list[ValidationResult]:
    """Let the carrier judge the files: what comes is the same as if they were judged here."""
    with show_progress(Text(pt="Conferindo", en="Checking"), total=len(workbooks)) as activity:

        def tell(place: int) -> None:
            file = workbooks[place].file
            activity.tell(Text(pt="Conferido {f}", en="Checked {f}").format(f=file))
            activity.advance()

        found = validate_workbooks(
            workbooks,
            settings.schemas,
            carrier,
            limits=settings.limits,
            with_frames=with_frames,
            on_done=tell,
        )
        return list(chain.from_iterable(found))


_LOCAL_ONLY = Text(
    pt="O sistema não pôde ser consultado: o relatório tem só o que se vê neste computador.",
    en="The system could not be asked: the report has only what is seen on this computer.",
)


def _ask_online(sheets: Sequence[ValidatedSheet], settings: Settings) -> XlbridgeError | None:
    """Add what the system says; return why it could not be asked, after which nothing is lost."""
    # Most runs use no network, and its libraries take their time to import.
    from xlbridge.connection import connect
    from xlbridge.upload import OnlineCheck

    try:
        with (
            connect(settings, remark) as client,
            show_progress(Text(pt="Consultando o sistema", en="Asking the system")) as activity,
        ):
            check = OnlineCheck(client, activity.tell)
            for _, workbook in groupby(sheets, lambda sheet: sheet.file):
                together = list(workbook)
                for sheet in together:
                    check.add_findings(sheet, registered_codes(together))
    except XlbridgeError as error:
        remark(_LOCAL_ONLY)
        return error
    return None


def _exit_code(judged: Sequence[ValidationResult]) -> ExitCode:
    """Return the gravest outcome's code. Raises the first ``UsageError`` among them."""
    refusals = [item.refusal for item in judged if isinstance(item, RefusedFile)]
    for refusal in refusals:
        if isinstance(refusal, UsageError):
            raise refusal
    if refusals:
        return ExitCode.REFUSED
    return ExitCode.GOOD if all(map(is_ok, judged)) else ExitCode.DATA_ERRORS


def _show_column(
    activity: ProgressDisplay, file: Path, column: str, place: int, of: int, rows: int
) -> None:
    told = Text(
        pt="Conferindo {f} · linhas: {rows} · coluna {place} de {of}: {column}",
        en="Checking {f} · rows: {rows} · column {place} of {of}: {column}",
    )
    activity.tell(told.format(f=file, rows=rows, place=place, of=of, column=column))


def _write_fixed_copy(
    sheets: Sequence[ValidatedSheet], target: Path, judge: Callable[[], ValidatedWorkbook]
) -> list[ValidatedSheet]:
    """Write the mended copy and judge it: what is reported is what is left."""
    # What changes a copy takes its time to import, and most runs do not need it.
    from xlbridge.validation import write_fixed_copy

    with show_progress(Text(pt="Corrigindo", en="Mending")):
        mended = write_fixed_copy(sheets, target)
        left = {sheet.sheet: sheet for sheet in judge().sheets}
    return [
        replace(left[sheet.sheet], file=sheet.file, fixes=mending)
        for sheet, mending in zip(sheets, mended, strict=True)
    ]


def _write_marked_copy(report: Report, target: Path) -> None:
    with show_progress(Text(pt="Marcando as células", en="Marking the cells")):
        FORMS["workbook"].write(report, target)
    remark(Text(pt="Cópia marcada em {f}", en="Marked copy in {f}").format(f=target))
