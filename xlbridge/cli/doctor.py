"""``xlbridge doctor``: diagnosis of configuration, connection and files."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from xlbridge.cli.environment import command_settings
from xlbridge.cli.lifecycle import ExitCode
from xlbridge.cli.options import described_command, format_option, option
from xlbridge.cli.output import print_json, print_result, remark
from xlbridge.client import DiagnosticCheck, RetryPolicy
from xlbridge.connection import connect
from xlbridge.errors import ConfigError, UsageError, XlbridgeError
from xlbridge.i18n import Text, untranslated
from xlbridge.profiles import choose_profile
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
    en="Accepts the journal of uploads as it is, after a look in the system; records the reason.",
)
@format_option
def command(accept_journal_because: str | None, form: str) -> ExitCode:
    if accept_journal_because is not None:
        _take_journal(accept_journal_because)
    checks = _checks()
    if form == "json":
        print_json(
            {
                "version": 1,
                "ok": all(check.ok for check in checks),
                "checks": [_as_json(check) for check in checks],
            }
        )
    else:
        for check in checks:
            _print(check)
    return _exit_code(checks)


def _take_journal(reason: str) -> None:
    """Take the journal as it is. Raises ``UsageError`` for an empty reason."""
    if not reason.strip():
        raise UsageError(
            Text(pt="Informe o motivo em --accept-journal.", en="--accept-journal needs a reason.")
        )
    aside = JournalMarker(command_settings().journal).accept(reason.strip())
    if aside is not None:
        remark(
            Text(
                pt="O diário que não pôde ser usado está em {path}; começa um novo.",
                en="The journal that could not be used is at {path}; a new one begins.",
            ).format(path=aside)
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
            with connect(settings, remark, RetryPolicy.quick()) as client:
                checks.extend(DiagnosticCheck.of_system(client))
        except XlbridgeError as error:
            checks.append(DiagnosticCheck.failed("address", error))
    return checks


def _journal(path: Path) -> Iterator[DiagnosticCheck]:
    """Check the journal of uploads, where there is one."""
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
    """Check the user's own resources, where there are any: a broken file stops most commands."""
    # Reading YAML takes its time to import, which a help need not wait for.
    from xlbridge.resources import load_catalogue

    try:
        resources = load_catalogue(folder).values()
    except XlbridgeError as error:
        yield DiagnosticCheck.failed("schemas", error)
        return
    if own := [resource.name for resource in resources if resource.source.parent == folder]:
        message = Text(pt="recursos seus: {names}", en="resources of your own: {names}")
        yield DiagnosticCheck("schemas", True, message.format(names=", ".join(own)))


def _exit_code(checks: list[DiagnosticCheck]) -> ExitCode:
    if any(not check.ok and check.remote for check in checks):
        return ExitCode.FAILED
    if any(check.local for check in checks):
        return ExitCode.COMPUTER_FAILED
    return ExitCode.GOOD if all(check.ok for check in checks) else ExitCode.WRONG_USAGE


def _as_json(check: DiagnosticCheck) -> dict[str, object]:
    return {
        "check": check.name,
        "ok": check.ok,
        "message": str(check.message),
        "advice": None if check.ok or check.advice is None else str(check.advice),
    }


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
"""Names of checks by the stable ones."""


def _print(check: DiagnosticCheck) -> None:
    verdict = untranslated("ok") if check.ok else Text(pt="PROBLEMA", en="PROBLEM")
    name = _NAMES.get(check.name, check.name)
    print_result(f"{verdict!s:9} {name!s:14} {check.message}")
    if not check.ok and check.advice:
        print_result(f"{'':9} {'':14} → {check.advice}")
