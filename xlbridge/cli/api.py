"""``xlbridge api``: one raw, authenticated call."""

import json
from pathlib import Path

import click

from xlbridge.cli.lifecycle import ExitCode
from xlbridge.cli.options import command_settings, described_command, json_result_options, option
from xlbridge.cli.output import print_document, print_message
from xlbridge.client import Doubtful, Executed, NotExecuted, Rejected
from xlbridge.connection import connect
from xlbridge.errors import UsageError, os_error_reason
from xlbridge.i18n import Text, untranslated

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
def command(
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
