"""Work of ``xlbridge validate`` once files are validated: fix, ask the system, report, mark."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, takewhile
from pathlib import Path

from xlbridge.cli.lifecycle import ExitCode, exit_code_of, gravest
from xlbridge.cli.options import ValidateArguments
from xlbridge.cli.output import print_error, remark, write_report
from xlbridge.cli.progress import show_progress
from xlbridge.errors import LocalFailure, UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.resources import load_catalogue
from xlbridge.settings import CSV_DELIMITERS, CsvForm, Settings
from xlbridge.validation import RefusedFile, ValidatedSheet, ValidationRequest, ValidationResult
from xlbridge.validation.cross_sheet import registered_codes
from xlbridge.validation.headers import NoFittingResource
from xlbridge.validation.reports import (
    Report,
    report_forms,
)


def report_results(
    task: ValidateArguments,
    request: ValidationRequest,
    results: Sequence[ValidationResult],
    settings: Settings,
) -> ExitCode:
    """Fix, ask the system, report and mark as the task says.

    ``request`` is that of the first file, the only one where it is to be fixed. Raises
    ``UsageError`` when a file, sheet or resource does not exist; what the system answers where it
    cannot be asked.
    """
    failures = _WriteFailures()
    if task.fixed is not None:
        with failures.noted(_NOTHING_FIXED):
            results = _fix(task.fixed, request, results, settings)
    told = task.form == "text" and task.output is None
    if told:
        _require_any(results)
    report = Report.of(results, task.limit, reading_options(request, settings.limits.csv))
    unasked = _ask_online(report.sheets, settings) if task.online else None
    with failures.noted():
        write_report(report_forms(report), task.form, task.output)
    if not task.online:
        _mention_names(report.sheets)
    if task.annotated is not None and report.sheets:
        with failures.noted():
            with show_progress(Text(pt="Marcando as células", en="Marking the cells")):
                report_forms(report).write("workbook", task.annotated)
            marked = Text(pt="Cópia marcada em {f}", en="Marked copy in {f}")
            remark(marked.format(f=task.annotated))
    unwritten = failures.report()
    if unasked is not None:
        raise unasked
    return gravest([_exit_code(report, told), unwritten])


def _require_any(results: Sequence[ValidationResult]) -> None:
    """Raise ``UsageError`` where nothing was validated, for one and the same reason."""
    told = [item.refusal for item in results if isinstance(item, RefusedFile)]
    wrong = [error for error in told if isinstance(error, UsageError)]
    if len(wrong) == len(results) and len({error.message for error in wrong}) == 1:
        raise wrong[0]


def has_foreign_header(item: ValidationResult) -> bool:
    """Return whether a result tells that a sheet has another header than those of resources."""
    if isinstance(item, RefusedFile):
        return isinstance(item.refusal, NoFittingResource)
    if not isinstance(item, ValidatedSheet):
        return False
    header = item.header_row or 0
    # They come first: in a bad sheet there are as many others as cells.
    layout = takewhile(lambda finding: (finding.row or 0) <= header, item.findings)
    codes = Counter(finding.kind.code for finding in layout)
    return "header-not-found" in codes or sum(codes[code] for code in _OTHER_NAMES) > 1


_OTHER_NAMES = ("column-missing", "column-missing-alike", "column-misspelt", "column-alike")
"""Findings of headers: several in one sheet are names of its own rather than slips."""


def reading_options(request: ValidationRequest, csv: CsvForm) -> list[str]:
    """Return the options that say how a file is read, as they were given."""
    given = {
        "--resource": request.resource,
        "--sheet": request.sheet,
        "--map": None if request.mapping is None else request.mapping.path,
        "--dates": request.reading.dates,
        "--numbers": request.reading.numbers,
        "--delimiter": next(
            (w for w, sign in CSV_DELIMITERS.items() if sign == csv.delimiter), None
        ),
        "--encoding": csv.encoding,
    }
    links = [("--link", f"{column}={by}") for column, by in request.links.items()]
    pairs = [(name, str(value)) for name, value in given.items() if value]
    return [text for pair in (*pairs, *links) for text in pair]


_NOTHING_FIXED = Text(
    pt="Nada foi corrigido: o relatório é do arquivo como ele está.",
    en="Nothing was fixed: the report is of the file as it is.",
)


class _WriteFailures:
    """Failures to write a file: reported at the end, as nothing else is lost by them."""

    def __init__(self) -> None:
        self._found: list[tuple[XlbridgeError, Text | None]] = []

    @contextmanager
    def noted(self, consequence: Text | None = None) -> Iterator[None]:
        """Note that something cannot be written, and what follows from that, and go on."""
        try:
            yield
        except (UsageError, LocalFailure, WorkbookRefused) as error:
            self._found.append((error, consequence))

    def report(self) -> ExitCode:
        """Print the failures below the report, and return the gravest exit code."""
        for error, consequence in self._found:
            print_error(error)
            if consequence is not None:
                remark(consequence)
        return gravest(exit_code_of(error) for error, _ in self._found)


_LOCAL_ONLY = Text(
    pt="O sistema não pôde ser consultado: o relatório tem só o que se vê neste computador.",
    en="The system could not be asked: the report has only what is seen on this computer.",
)


def _ask_online(sheets: Sequence[ValidatedSheet], settings: Settings) -> XlbridgeError | None:
    """Add what the system says; return why it could not be asked, after which nothing is lost."""
    # Most runs use no network, and its libraries take their time to import.
    from xlbridge.connection import connect
    from xlbridge.upload.lookup import OnlineCheck

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


def _mention_names(sheets: Sequence[ValidatedSheet]) -> None:
    """Say which columns have names that were not looked up."""
    columns = (c for sheet in sheets if sheet.resource for c in sheet.resource.columns if c.link)
    if names := list(dict.fromkeys(column.name for column in columns)):
        remark(_NOT_LOOKED_UP.format(names=", ".join(names)))


_NOT_LOOKED_UP = Text(
    pt="Os nomes em {names} só são procurados no sistema com --online, ou no envio.",
    en="The names in {names} are only looked up in the system with --online, or by an upload.",
)


def _exit_code(report: Report, told: bool) -> ExitCode:
    """Return the gravest outcome's code.

    Raises the first ``UsageError`` among the refusals, unless a person was told of all.
    """
    for refused in report.refused:
        if isinstance(refused.refusal, UsageError):
            if told:
                return exit_code_of(refused.refusal)
            raise refused.refusal
    if report.refused:
        return ExitCode.REFUSED
    return ExitCode.GOOD if report.ok else ExitCode.DATA_ERRORS


def _fix(
    target: Path,
    request: ValidationRequest,
    results: Sequence[ValidationResult],
    settings: Settings,
) -> list[ValidationResult]:
    # What changes a copy takes its time to import, and most runs do not need it.
    from xlbridge.validation import fix_workbook

    with show_progress(Text(pt="Corrigindo", en="Fixing")):
        catalogue = load_catalogue(settings.schemas)
        return fix_workbook(results, request, target, catalogue, settings.limits)
