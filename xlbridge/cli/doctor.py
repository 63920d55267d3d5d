"""``xlbridge doctor``: diagnosis of configuration, connection and files; ``api``: one raw,
authenticated call, for what a diagnosis leaves open."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from xlbridge import titles
from xlbridge.cli.options import (
    command_settings,
    described_command,
    json_result_options,
    option,
    result_options,
)
from xlbridge.cli.output import print_document, print_message, print_report
from xlbridge.client import DiagnosticCheck, Doubtful, Executed, NotExecuted, Rejected, RetryPolicy
from xlbridge.connection import connect, quirks_for
from xlbridge.errors import ConfigError, ExitCode, UsageError, XlbridgeError, os_error_reason
from xlbridge.files import write_private
from xlbridge.i18n import Text, untranslated
from xlbridge.profiles import Profile, choose_profile, read_profile_file
from xlbridge.report_forms import Heading, Line, Report, ReportForms, Table, Tone
from xlbridge.saved_logins import save_profile
from xlbridge.settings import Settings
from xlbridge.upload import Journal, JournalMarker, open_context
from xlbridge.wire.imports import Quirks

if TYPE_CHECKING:
    from xlbridge.upload.first_contact import FirstContact


@described_command("doctor")
@option(
    "--accept-journal",
    "accept_journal_because",
    metavar="REASON",
    pt="Aceita o diário de envios como está, depois de conferir no sistema; o motivo fica nele.",
    en="Accepts the upload journal as it is, after a check in the system; records the reason.",
)
@option(
    "--first-contact",
    is_flag=True,
    pt="Sonda o sistema, sem gravar nada nele, em busca de particularidades.",
    en="Probes the system for quirks, without writing anything there.",
)
@option(
    "--write-quirks",
    is_flag=True,
    pt="Com --first-contact: grava as que foram vistas no arquivo de particularidades do perfil.",
    en="With --first-contact: writes those that were seen to the profile's quirks file.",
)
@result_options
def command(
    accept_journal_because: str | None, first_contact: bool, write_quirks: bool, form: str
) -> ExitCode:
    if accept_journal_because is not None:
        if not accept_journal_because.strip():
            raise UsageError(
                Text(
                    pt="Informe o motivo em --accept-journal.",
                    en="--accept-journal needs a reason.",
                )
            )
        marker = JournalMarker(command_settings().journal)
        old_journal = marker.accept(accept_journal_because.strip())
        if old_journal is not None:
            print_message(_JOURNAL_MOVED.format(path=old_journal))
    if write_quirks and not first_contact:
        raise UsageError(
            Text(
                pt="--write-quirks só vale com --first-contact.",
                en="--write-quirks is only valid with --first-contact.",
            )
        )
    contact: list[FirstContact] = []
    checks = _checks(contact if first_contact else None)
    good = all(check.ok for check in checks)
    sheet = Text(pt="Conferências", en="Checks")
    table = Table(sheet=sheet, headings=_HEADINGS, lines=list(map(_line, checks)))
    document: dict[str, object] = {
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
    tables = [table]
    if contact:
        (found,) = contact
        lines = [
            Line(
                (_CERTAINTIES[one.certainty.value], one.quirk, one.message),
                Tone.OPEN if one.certainty.value == "seen" else Tone.PLAIN,
                text=f"{_CERTAINTIES[one.certainty.value]!s:22} {one.quirk:14} {one.message}",
            )
            for one in found.observations
        ]
        tables.append(Table(sheet=titles.QUIRKS, headings=_QUIRK_HEADINGS, lines=lines))
        document["quirks"] = [
            {
                "quirk": one.quirk,
                "certainty": one.certainty.value,
                "message": str(one.message),
            }
            for one in found.observations
        ]
    print_report(ReportForms.of_report(lambda: Report(tables=tables), lambda: document), form)
    if contact and write_quirks:
        _write_quirks(contact[0].quirks)
    if any(not check.ok and check.remote for check in checks):
        return ExitCode.FAILED
    if any(check.local for check in checks):
        return ExitCode.COMPUTER_FAILED
    return ExitCode.GOOD if good else ExitCode.WRONG_USAGE


def _write_quirks(quirks: Quirks) -> None:
    """Write the profile's quirks file, or its section, unless it declares the same already."""
    from msgspec import to_builtins

    from xlbridge.resources.quirks_file import format_quirks  # YAML is slow to import.

    settings = command_settings()
    profile = choose_profile(settings)
    declared, declared_in = quirks_for(replace(settings, log_words={}), profile)
    path = settings.quirks_file(profile.name)
    if quirks == declared:
        message = Text(
            pt="Nenhuma outra particularidade foi vista; nada foi gravado.",
            en="No other quirk was seen; nothing was written.",
        )
        print_message(message)
        return
    if profile.quirks is None:
        write_private(path, format_quirks(quirks))
    else:
        path = declared_in or path
        own = read_profile_file(settings).profiles[profile.name]
        save_profile(settings, replace(own, quirks=to_builtins(quirks)))
    message = Text(pt="Particularidades gravadas em {path}.", en="Quirks written to {path}.")
    print_message(message.format(path=path))


def _checks(contact: "list[FirstContact] | None") -> list[DiagnosticCheck]:
    """Make all checks; with a list, add the first contact to it if they are good."""
    try:
        settings = command_settings()
        profile = choose_profile(settings)
    except ConfigError as error:
        return [DiagnosticCheck.failed("settings", error)]
    checks = [
        *DiagnosticCheck.of_computer(settings, profile),
        *_checks_of_files(settings, profile),
    ]
    if all(check.ok for check in checks):
        try:
            with connect(settings, print_message, RetryPolicy.quick()) as client:
                checks.extend(DiagnosticCheck.of_system(client))
                if contact is not None and all(check.ok for check in checks):
                    # It loads pandas, which --help does not need.
                    from xlbridge.upload.first_contact import FirstContact

                    with open_context(settings) as context:
                        contact.append(FirstContact.make(context, client))
        except XlbridgeError as error:
            checks.append(DiagnosticCheck.failed("address", error))
    return checks


def _checks_of_files(settings: Settings, profile: Profile) -> Iterator[DiagnosticCheck]:
    """Check the upload journal, the user's own resources and the quirks, as far as there are any.

    An invalid resource stops most commands.
    """
    # YAML libraries are slow to import, and --help does not need them.
    from xlbridge.resources import load_catalogue

    def journal() -> Text | None:
        path = settings.journal
        if not (path.exists() or JournalMarker(path).is_expected):
            return None
        with closing(Journal(path)) as opened:
            opened.require_whole()
        return untranslated("{path}").format(path=path)

    def schemas() -> Text | None:
        folder = settings.schemas
        resources = load_catalogue(folder).values()
        own = [resource.name for resource in resources if resource.source.parent == folder]
        return _OWN_RESOURCES.format(names=", ".join(own)) if own else None

    def quirks() -> Text | None:
        _, path = quirks_for(settings, profile)
        return None if path is None else untranslated("{path}").format(path=path)

    for check in (journal, schemas, quirks):
        try:
            message = check()
        except XlbridgeError as error:
            yield DiagnosticCheck.failed(check.__name__, error)
        else:
            if message is not None:
                yield DiagnosticCheck(check.__name__, True, message)


_OWN_RESOURCES = Text(pt="recursos próprios: {names}", en="your own resources: {names}")
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
        Text(pt="particularidades", en="quirks"),
    )
}
"""Displayed names of checks, by their stable names."""


_JOURNAL_MOVED = Text(
    pt="O diário que não pôde ser usado foi movido para {path}; um novo foi criado.",
    en="The unusable journal was moved to {path}; a new one was created.",
)
_QUIRK_HEADINGS = (
    Heading(titles.STATE),
    Heading(Text(pt="Particularidade", en="Quirk")),
    Heading(titles.MESSAGE, words=True),
)
_CERTAINTIES = {
    "as assumed": Text(pt="como suposto", en="as assumed"),
    "seen": Text(pt="vista", en="seen"),
    "unknown": Text(pt="não se sabe ainda", en="not known yet"),
}

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


_METHODS = ["GET", "POST", "PUT", "DELETE"]


@described_command(
    "api",
    pt="Uma chamada direta, autenticada; a resposta sai em JSON.",
    en="One raw, authenticated call; prints the answer as JSON.",
)
@click.argument("method", type=click.Choice(_METHODS, case_sensitive=False))
@click.argument("path")
@option(
    "--query",
    multiple=True,
    metavar="K=V",
    pt="Um parâmetro; pode se repetir.",
    en="A parameter; may be repeated.",
)
@option(
    "--data",
    metavar="JSON|@FILE",
    pt="O corpo, em JSON ou num arquivo.",
    en="The body, as JSON or in a file.",
)
@json_result_options
def api_command(
    method: str, path: str, query: tuple[str, ...], data: str | None, form: str
) -> ExitCode:
    parameters: dict[str, list[str]] = {}
    for pair in query:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise UsageError(_NO_PAIR.format(pair=pair))
        parameters.setdefault(name, []).append(value)
    body = None if data is None else _body(data)
    with connect(command_settings(), print_message) as client:
        reply = client.raw(method, path, query=parameters, body=body)
        outcome = client.outcome_of(reply)
        text = client.json_of(reply)
    if text is not None:
        print_document(text)
    match outcome:
        case Executed():
            return ExitCode.GOOD
        case Rejected():
            return ExitCode.DATA_ERRORS
        case NotExecuted(reason):
            print_message(reason)
            return ExitCode.FAILED
        case Doubtful(reason):
            print_message(reason)
            return ExitCode.FAILED if method == "GET" else ExitCode.IN_DOUBT


_NO_PAIR = Text(
    pt="--query {pair!r}: escreva nome=valor.", en="--query {pair!r}: write name=value."
)


def _body(data: str) -> object:
    try:
        text = Path(data[1:]).read_text(encoding="utf-8-sig") if data.startswith("@") else data
        document: object = json.loads(text)
        # Python reads NaN, 1e999 and half a surrogate pair, which are not valid JSON.
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except OSError as error:
        raise UsageError(
            untranslated("--data: {file}: {reason}").format(
                file=data[1:], reason=os_error_reason(error)
            )
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            Text(pt="--data não é JSON{position}.", en="--data is not JSON{position}.").format(
                position=Text(
                    pt=" (linha {line}, coluna {column})", en=" (line {line}, column {column})"
                ).format(line=error.lineno, column=error.colno)
                if isinstance(error, json.JSONDecodeError)
                else ""
            )
        ) from error
    return document
