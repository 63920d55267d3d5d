"""``xlbridge doctor``: diagnosis of configuration, connection and files."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from xlbridge import titles
from xlbridge.cli.environment import command_settings
from xlbridge.cli.lifecycle import ExitCode
from xlbridge.cli.options import described_command, option, result_options
from xlbridge.cli.output import print_message, print_report
from xlbridge.client import DiagnosticCheck, RetryPolicy
from xlbridge.connection import connect
from xlbridge.errors import ConfigError, UsageError, XlbridgeError
from xlbridge.i18n import Text, untranslated
from xlbridge.profiles import choose_profile
from xlbridge.report_forms import Heading, Line, Report, ReportForms, Table, Tone
from xlbridge.upload import Journal, JournalMarker


@described_command(
    "doctor",
    pt="O que está configurado, o que responde, o que está errado.",
    en="What is configured, what answers, what is wrong.",
)
@option(
    "--accept-journal",
    "accept_journal_because",
    metavar="REASON",
    pt="Aceita o diário de envios como está, depois de conferir no sistema; o motivo fica nele.",
    en="Accepts the upload journal as it is, after a check in the system; records the reason.",
)
@result_options
def command(accept_journal_because: str | None, form: str) -> ExitCode:
    if accept_journal_because is not None:
        _accept_journal(accept_journal_because)
    checks = _checks()
    good = all(check.ok for check in checks)
    sheet = Text(pt="Conferências", en="Checks")
    table = Table(sheet=sheet, headings=_HEADINGS, lines=list(map(_line, checks)))
    document = {
        "version": 1,
        "ok": good,
        "checks": [
            {
                "check": check.name,
                "ok": check.ok,
                "message": str(check.message),
                "advice": None if check.ok or check.advice is None else str(check.advice),
            }
            for check in checks
        ],
    }
    print_report(ReportForms.of_report(lambda: Report(tables=[table]), lambda: document), form)
    if any(not check.ok and check.remote for check in checks):
        return ExitCode.FAILED
    if any(check.local for check in checks):
        return ExitCode.COMPUTER_FAILED
    return ExitCode.GOOD if good else ExitCode.WRONG_USAGE


def _accept_journal(reason: str) -> None:
    """Accept the journal as it is. Raises ``UsageError`` for an empty reason."""
    if not reason.strip():
        raise UsageError(
            Text(pt="Informe o motivo em --accept-journal.", en="--accept-journal needs a reason.")
        )
    old_journal = JournalMarker(command_settings().journal).accept(reason.strip())
    if old_journal is not None:
        print_message(
            Text(
                pt="O diário que não pôde ser usado foi movido para {path}; um novo foi criado.",
                en="The unusable journal was moved to {path}; a new one was created.",
            ).format(path=old_journal)
        )


def _checks() -> list[DiagnosticCheck]:
    try:
        settings = command_settings()
        profile = choose_profile(settings)
    except ConfigError as error:
        return [DiagnosticCheck.failed("settings", error)]
    checks = [
        *DiagnosticCheck.of_computer(settings, profile),
        *_journal(settings.journal),
        *_schemas(settings.schemas),
    ]
    if all(check.ok for check in checks):
        try:
            with connect(settings, print_message, RetryPolicy.quick()) as client:
                checks.extend(DiagnosticCheck.of_system(client))
        except XlbridgeError as error:
            checks.append(DiagnosticCheck.failed("address", error))
    return checks


def _journal(path: Path) -> Iterator[DiagnosticCheck]:
    """Check the upload journal, if there is one."""
    if not (path.exists() or JournalMarker(path).is_expected):
        return
    try:
        with closing(Journal(path)) as journal:
            journal.require_whole()
    except XlbridgeError as error:
        yield DiagnosticCheck.failed("journal", error)
    else:
        yield DiagnosticCheck("journal", True, untranslated("{path}").format(path=path))


def _schemas(folder: Path) -> Iterator[DiagnosticCheck]:
    """Check the user's own resources, if any: an invalid file stops most commands."""
    # YAML libraries are slow to import, and --help does not need them.
    from xlbridge.resources import load_catalogue

    try:
        resources = load_catalogue(folder).values()
    except XlbridgeError as error:
        yield DiagnosticCheck.failed("schemas", error)
        return
    if own := [resource.name for resource in resources if resource.source.parent == folder]:
        message = Text(pt="recursos próprios: {names}", en="your own resources: {names}")
        yield DiagnosticCheck("schemas", True, message.format(names=", ".join(own)))


_NAMES = {
    text.en: text
    for text in (
        Text(pt="versões", en="versions"),
        Text(pt="configuração", en="settings"),
        Text(pt="pasta", en="home"),
        Text(pt="rede", en="network"),
        Text(pt="extra sandbox", en="sandbox-extra"),
        Text(pt="senha", en="password"),
        Text(pt="endereço", en="address"),
        Text(pt="acesso", en="login"),
        Text(pt="resposta", en="answers"),
        Text(pt="relógio", en="clock"),
        Text(pt="diário", en="journal"),
        Text(pt="recursos", en="schemas"),
    )
}
"""Displayed names of checks, by their stable names."""


_HEADINGS = (
    Heading(titles.STATE),
    Heading(Text(pt="O que", en="What")),
    Heading(titles.MESSAGE, words=True),
    Heading(titles.WHAT_TO_DO, words=True),
)


def _line(check: DiagnosticCheck) -> Line:
    verdict = untranslated("ok") if check.ok else Text(pt="PROBLEMA", en="PROBLEM")
    name = _NAMES.get(check.name, check.name)
    advice = None if check.ok else check.advice
    return Line(
        (verdict, name, check.message, advice),
        Tone.PLAIN if check.ok else Tone.OPEN,
        text=f"{verdict!s:9} {name!s:14} {check.message}",
        below=[f"{'':9} {'':14} → {advice}"] if advice else [],
    )
