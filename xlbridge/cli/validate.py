"""``xlbridge validate``: checks workbooks on this computer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, groupby, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from xlbridge.cli.options import (
    STDIN,
    WORKBOOK_OUTPUT,
    ReadingArguments,
    described_command,
    expand_patterns,
    force_option,
    option,
    page_result_options,
    parse_options,
    saved_stdin,
    schemas_option,
    settings_without_profile,
    sheet_options,
    worker_options,
)
from xlbridge.cli.output import (
    is_result_printed,
    print_error,
    print_message,
    print_report,
    show_progress,
)
from xlbridge.errors import (
    ExitCode,
    LocalFailure,
    UsageError,
    WorkbookRefused,
    XlbridgeError,
    exit_code_of,
    worst_code,
)
from xlbridge.files import require_distinct, require_new
from xlbridge.i18n import Text
from xlbridge.parallel import ValidationProgress, executor_for, validate_files
from xlbridge.processes import heavy_imports
from xlbridge.profiles import choose_profile
from xlbridge.resources import load_catalogue
from xlbridge.settings import CSV_DELIMITERS, CsvForm, Settings
from xlbridge.titles import WorkProgress
from xlbridge.workbook import WorkbookMark

if TYPE_CHECKING:
    from xlbridge.validation import ValidatedSheet, ValidationRequest, ValidationResult

# What needs pandas is imported in functions, while files are being parsed.


@dataclass(frozen=True, slots=True)
class ValidateArguments:
    """Arguments of ``validate``, by the names of its parameters."""

    files: tuple[Path, ...]
    resource: str | None
    sheet: str | None
    all_sheets: bool
    form: str
    annotated: Path | None
    fixed: Path | None
    limit: int | None
    force: bool
    online: bool
    reading: ReadingArguments
    workers: int | None
    scheduler: str | None


@described_command(
    "validate",
    pt="Confere planilhas no próprio computador, sem usar a rede.",
    en="Checks workbooks on this computer, without the network.",
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(readable=False, path_type=Path),
    callback=expand_patterns,
)
@option(
    "--annotate",
    "annotated",
    type=WORKBOOK_OUTPUT,
    pt="Grava uma cópia do arquivo com as células marcadas; com --fix, do arquivo corrigido.",
    en="Writes a copy of the workbook with marked cells; with --fix, of the fixed workbook.",
)
@option(
    "--fix",
    "fixed",
    type=WORKBOOK_OUTPUT,
    pt="Grava uma cópia com as correções que são certas, e relata os demais achados.",
    en="Writes a copy with the fixes that are certain, and reports the other findings.",
)
@option(
    "--limit",
    type=click.IntRange(min=0),
    pt="Quantos achados detalhar por arquivo (em texto: por regra); as contagens e a cópia "
    "marcada sempre incluem todos.",
    en="How many findings to show per file (in text: per rule); counts and the marked copy "
    "always include all.",
)
@option(
    "--online",
    is_flag=True,
    pt="Confere também no sistema se os códigos existem e estão ativos, e se há registros que já "
    "estão lá.",
    en="Also checks in the system that codes exist and are active, and for records that exist "
    "already.",
)
@force_option
@sheet_options
@option(
    "--all-sheets",
    is_flag=True,
    pt="Confere todas as planilhas do arquivo que têm dados de um recurso, também umas com as "
    "outras.",
    en="Checks all sheets of the workbook with data of a resource, also against one another.",
)
@schemas_option
@parse_options
@worker_options
@page_result_options
def command(**options: Any) -> ExitCode:
    arguments = ValidateArguments(reading=ReadingArguments.take(options), **options)
    _check_arguments(arguments)
    settings = settings_without_profile()
    files = [saved_stdin(file) for file in arguments.files]
    requests = arguments.reading.requests(
        files,
        settings.accepted,
        resource=arguments.resource,
        sheet=arguments.sheet,
        all_sheets=arguments.all_sheets,
    )
    first = requests[0]
    # Imported modules and findings stay in memory, so the collector need not visit them.
    with heavy_imports():
        with (
            executor_for(files, arguments.workers, arguments.scheduler) as executor,
            show_progress(Text(pt="Conferindo", en="Checking"), total=len(requests)) as display,
        ):
            by_file = validate_files(
                requests,
                settings.schemas,
                settings.limits,
                executor,
                with_frames=arguments.online or arguments.form == "html",
                on_progress=partial(_show, display),
            )
            results = list(chain.from_iterable(by_file))
        if STDIN in arguments.files and not (arguments.annotated or arguments.fixed):
            named = dict(zip(files, arguments.files, strict=True))
            results = [replace(result, file=named[result.file]) for result in results]
        from xlbridge.validation import ValidatedSheet

        sheets = (result for result in results if isinstance(result, ValidatedSheet))
        first.accepted.remember(settings.accepted, sheets)
        if first.mapping is None:
            return report_or_suggest(arguments, first, results, settings)
        try:
            return report_results(arguments, first, results, settings)
        finally:
            from xlbridge.cli.map import remember

            remember(first.mapping, results, settings)


def _show(display: WorkProgress, progress: ValidationProgress) -> None:
    if (column := progress.column) is not None:
        text = Text(
            pt="Conferindo {f} · linhas: {rows} · coluna {number} de {count}: {name}",
            en="Checking {f} · rows: {rows} · column {number} of {count}: {name}",
        ).format(**asdict(column), f=progress.file)
    elif progress.finished:
        text = Text(pt="Conferido {f}", en="Checked {f}").format(f=progress.file)
    else:
        text = Text(pt="Conferindo {f}", en="Checking {f}").format(f=progress.file)
    display.show(text)
    if progress.finished:
        display.advance()


def _check_arguments(arguments: ValidateArguments) -> None:
    """Raise ``UsageError`` for arguments that exclude each other, or would overwrite a file."""
    if (arguments.annotated or arguments.fixed) and len(arguments.files) > 1:
        raise UsageError(
            Text(
                pt="--annotate e --fix aceitam um arquivo de cada vez.",
                en="--annotate and --fix accept one file at a time.",
            )
        )
    if arguments.all_sheets and arguments.sheet is not None:
        raise UsageError(
            Text(
                pt="Use --all-sheets ou --sheet, não os dois.",
                en="--all-sheets and --sheet are mutually exclusive.",
            )
        )
    mapping = arguments.reading.mapping
    if arguments.all_sheets and mapping is not None:
        raise UsageError(
            Text(
                pt="--map lê uma planilha; escolha-a com --sheet, sem --all-sheets.",
                en="--map reads one sheet; choose it with --sheet, without --all-sheets.",
            )
        )
    inputs = [*arguments.files, *([mapping] if mapping else [])]
    require_distinct([arguments.annotated, arguments.fixed], inputs)
    if arguments.force:
        return
    if arguments.annotated:
        WorkbookMark.ANNOTATED.require_mark(arguments.annotated)
    if arguments.fixed:
        # A fixed copy cannot be distinguished from a workbook that a person works in.
        require_new(arguments.fixed)


def report_results(
    arguments: ValidateArguments,
    request: "ValidationRequest",
    results: "Sequence[ValidationResult]",
    settings: Settings,
) -> ExitCode:
    """Fix, check online, report and mark, according to the arguments.

    ``request`` is that of the first file, the only one that can be fixed. Raises ``UsageError`` if
    a file, sheet or resource does not exist, and the error of an online check that failed.
    """
    from xlbridge.validation import RefusedFile
    from xlbridge.validation.report import Report
    from xlbridge.validation.report_formats import report_forms

    failures = _WriteFailures()
    if arguments.fixed is not None:
        from xlbridge.validation import fix_workbook

        fixing = Text(pt="Corrigindo", en="Fixing")
        with failures.collect(_NOTHING_FIXED), show_progress(fixing):
            catalogue = load_catalogue(settings.schemas)
            results = fix_workbook(results, request, arguments.fixed, catalogue, settings.limits)
    to_terminal = arguments.form == "text" and is_result_printed()
    refusals = [result.refusal for result in results if isinstance(result, RefusedFile)]
    errors = [refusal for refusal in refusals if isinstance(refusal, UsageError)]
    same_error = len(errors) == len(results) and len({error.message for error in errors}) == 1
    if to_terminal and same_error:
        raise errors[0]
    only_of_validate = {"--all-sheets": arguments.all_sheets, "--online": arguments.online}
    report = Report(
        results,
        arguments.limit,
        [*reading_options(request, settings.limits.csv), *choose_profile(settings).arguments],
        [option for option, is_chosen in only_of_validate.items() if is_chosen],
        marked=arguments.annotated is not None,
    )
    online_error = _check_online(report.sheets, settings) if arguments.online else None
    marked = False
    if arguments.annotated is not None and report.sheets:
        # Before the report, whose reader may close the pipe.
        with failures.collect():
            with show_progress(Text(pt="Marcando as células", en="Marking the cells")):
                report_forms(report).write("workbook", arguments.annotated)
            marked = True
    print_report(report_forms(report), arguments.form)
    columns = (c for sheet in report.sheets if sheet.resource for c in sheet.resource.columns)
    names = list(dict.fromkeys(column.name for column in columns if column.link))
    if names and not arguments.online:
        print_message(_NOT_LOOKED_UP.format(names=", ".join(names)))
    if marked:
        text = Text(pt="Cópia marcada em {f}", en="Marked copy in {f}")
        print_message(text.format(f=arguments.annotated))
    write_code = failures.report()
    if online_error is not None:
        raise online_error
    code = ExitCode.GOOD if report.ok else ExitCode.DATA_ERRORS
    refused = [item.refusal for item in report.results if isinstance(item, RefusedFile)]
    if refused:
        code = ExitCode.REFUSED
    if usage_error := next((one for one in refused if isinstance(one, UsageError)), None):
        # The terminal already shows all of them.
        if not to_terminal:
            raise usage_error
        code = exit_code_of(usage_error)
    return worst_code([code, write_code])


def report_or_suggest(
    arguments: ValidateArguments,
    request: "ValidationRequest",
    results: "Sequence[ValidationResult]",
    settings: Settings,
) -> ExitCode:
    """Report the results, and suggest a mapping for each sheet with a foreign header.

    Raises what ``report_results`` raises.
    """
    foreign = [
        result.file for result in results if has_foreign_header(result) and result.file != STDIN
    ]
    if not foreign:
        return report_results(arguments, request, results, settings)
    from xlbridge.cli.map import suggest_mappings, with_mappings
    from xlbridge.validation.sheet_choice import NoFittingResource

    try:
        code = report_results(arguments, request, results, settings)
    except NoFittingResource as error:
        raise with_mappings(error, foreign, settings, "validate") from None
    suggest_mappings(foreign, settings, "validate")
    return code


def has_foreign_header(result: "ValidationResult") -> bool:
    """Return whether a sheet has another system's header."""
    from xlbridge.validation import RefusedFile, ValidatedSheet
    from xlbridge.validation.sheet_choice import NoFittingResource

    if isinstance(result, RefusedFile):
        return isinstance(result.refusal, NoFittingResource)
    if not isinstance(result, ValidatedSheet):
        return False
    header = result.header_row or 0
    # Findings of the layout come first; there may be very many others.
    layout = takewhile(lambda finding: (finding.row or 0) <= header, result.findings)
    codes = Counter(finding.kind.code for finding in layout)
    return "header-not-found" in codes or sum(codes[code] for code in _HEADER_FINDINGS) > 1


_HEADER_FINDINGS = ("column-missing", "column-missing-alike", "column-misspelt", "column-alike")
"""Findings of headers: several in one sheet mean foreign names rather than typing errors."""


def reading_options(request: "ValidationRequest", csv: CsvForm) -> list[str]:
    """Return the command-line options that determine how a file is read."""
    values = {
        "--resource": request.resource,
        "--sheet": request.sheet,
        "--map": None if request.mapping is None else request.mapping.path,
        "--dates": request.reading.dates,
        "--numbers": request.reading.numbers,
        "--delimiter": next(
            (name for name, sign in CSV_DELIMITERS.items() if sign == csv.delimiter), None
        ),
        "--encoding": csv.encoding,
    }
    links = [("--link", f"{column}={target}") for column, target in request.links.items()]
    pairs = [(name, str(value)) for name, value in values.items() if value]
    return [text for pair in (*pairs, *links) for text in pair]


_NOTHING_FIXED = Text(
    pt="Nada foi corrigido: o relatório é do arquivo original.",
    en="Nothing was fixed: the report is about the original file.",
)


class _WriteFailures:
    """Failures to write a file, reported at the end because the rest can still be done."""

    def __init__(self) -> None:
        self._failures: list[tuple[XlbridgeError, Text | None]] = []

    @contextmanager
    def collect(self, consequence: Text | None = None) -> Iterator[None]:
        """Collect a failure with its consequence, and continue."""
        try:
            yield
        except (UsageError, LocalFailure, WorkbookRefused) as error:
            self._failures.append((error, consequence))

    def report(self) -> ExitCode:
        """Print the failures, and return the worst exit code."""
        for error, consequence in self._failures:
            print_error(error)
            if consequence is not None:
                print_message(consequence)
        return worst_code(exit_code_of(error) for error, _ in self._failures)


_LOCAL_ONLY = Text(
    pt="O sistema não pôde ser consultado: o relatório tem só as conferências locais.",
    en="The system could not be queried: the report has only the local checks.",
)


def _check_online(sheets: "Sequence[ValidatedSheet]", settings: Settings) -> XlbridgeError | None:
    """Add the findings of the online check; return the error if the system cannot be queried."""
    from xlbridge.connection import connect
    from xlbridge.upload.lookup import OnlineCheck
    from xlbridge.validation.cross_sheet import registered_codes

    try:
        with (
            connect(settings, print_message) as client,
            show_progress(Text(pt="Consultando o sistema", en="Querying the system")) as activity,
        ):
            check = OnlineCheck(client, activity.show)
            for _, group in groupby(sheets, lambda sheet: sheet.file):
                workbook = list(group)
                for sheet in workbook:
                    check.add_findings(sheet, registered_codes(workbook))
    except XlbridgeError as error:
        print_message(_LOCAL_ONLY)
        return error
    return None


_NOT_LOOKED_UP = Text(
    pt="Os nomes em {names} só são procurados no sistema com --online, ou no envio.",
    en="The names in {names} are only looked up in the system with --online, or by an upload.",
)
