"""Output of a command: results on stdout, remarks and progress on stderr."""

import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

import click

from xlbridge import titles
from xlbridge.cli.lifecycle import ExitCode
from xlbridge.errors import LocalFailure, UsageError, XlbridgeError
from xlbridge.i18n import Text

if TYPE_CHECKING:
    from xlbridge.report_forms import ReportForms


class StdoutFailed(OSError):
    """The result cannot be written, for example because the disk is full.

    ``in_doubt`` is true if the exit code of the command is ``IN_DOUBT`` nevertheless.
    """

    in_doubt = False


@contextmanager
def keep_in_doubt(code: int) -> Iterator[None]:
    """Keep the exit code ``IN_DOUBT`` of a command whose result cannot be written."""
    try:
        yield
    except StdoutFailed as failure:
        failure.in_doubt = code == ExitCode.IN_DOUBT
        raise


_CONTROL = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)"
    r"|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)
"""What would control a terminal, or change the order of letters, rather than be displayed."""


def visible(text: object) -> str:
    """Return a text for a terminal, with its control characters escaped as in JSON.

    Names of files and answers of the remote system may contain any.
    """
    return _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", str(text))


def ask(question: Text, **options: Any) -> str:
    """Ask a question on the terminal, with the options of ``click.prompt``; return the answer."""
    answer: str = click.prompt(visible(question), err=True, **options)
    return answer


def print_usage_error(error: click.ClickException) -> None:
    """Print an error of click, which contains what the user typed."""
    message = io.StringIO()
    error.show(message)
    with ignore_stderr_failures():
        click.echo(visible(message.getvalue()), err=True, nl=False)


def print_message(text: Text | str) -> None:
    """Print a message that is not part of the result."""
    with ignore_stderr_failures():
        for line in fit_to_terminal(visible(text).splitlines() or [""], sys.stderr):
            click.echo(line, err=True)


@contextmanager
def ignore_stderr_failures() -> Iterator[None]:
    """Ignore failures to write to stderr, as the work that is done still counts.

    A broken pipe ends the command nevertheless.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        return


def print_error(error: XlbridgeError) -> None:
    """Print an error with its hint."""
    print_message(Text(pt="Erro: {e}", en="Error: {e}").format(e=error.message))
    if error.hint:
        print_message(error.hint)


def print_result(text: Text | str) -> None:
    """Print a part of the result. Raises ``StdoutFailed``, ``BrokenPipeError``."""
    _print(visible(text))


def print_document(text: str) -> None:
    """Print the result as a document, unchanged if it goes to a file or another program.

    Raises ``StdoutFailed``, ``BrokenPipeError``.
    """
    _print(visible(text) if sys.stdout.isatty() else text)


def print_report(report: "ReportForms", form: str) -> None:
    """Print a report in a form, laid out for the terminal if there is one.

    Raises ``StdoutFailed``, ``BrokenPipeError``.
    """
    if form == "text":
        for line in fit_to_terminal(map(str, report.lines()), sys.stdout):
            _print(line)
    elif form == "json" and (sys.stdout.isatty() or report.json_pieces is None):
        print_json(report.document())
    else:
        to_terminal = sys.stdout.isatty()
        for piece in report.render(form):
            _print(visible(piece) if to_terminal else piece, end="")
        _print("")


def write_report(report: "ReportForms", form: str, output: Path | None) -> None:
    """Print a report, or write it to ``output``.

    Raises ``UsageError`` if the file cannot be written, after printing the report; a page is
    printed as text.
    """
    if output is None:
        print_report(report, form)
        return
    try:
        report.write(form, output)
    except (UsageError, LocalFailure):
        print_report(report, "text" if form == "html" else form)
        raise
    print_message(Text(pt="Relatório em {f}", en="Report in {f}").format(f=output))


def display_value(value: object) -> object:
    """Return a value for display: a truth value as a word, None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return titles.YES if value else titles.NO
    return value


_LABELS = {
    text.en: text
    for text in (
        Text(pt="perfil", en="profile"),
        Text(pt="produção", en="production"),
        Text(pt="origem", en="source"),
        Text(pt="escolhido", en="chosen"),
        Text(pt="pasta", en="home"),
        Text(pt="senha", en="password"),
    )
} | {"base_url": Text(pt="endereço", en="base_url"), "email": Text(pt="e-mail", en="email")}
"""Displayed names of our own fields; those of the interface are Portuguese already."""


def display_name(name: str) -> str:
    """Return the displayed name of a field."""
    return str(_LABELS.get(name, name))


def print_json(document: Any) -> None:
    """Print the result as one JSON document, indented on a terminal.

    Raises ``StdoutFailed``, ``BrokenPipeError``.
    """
    indent = 2 if sys.stdout.isatty() else None
    print_document(json.dumps(document, ensure_ascii=False, indent=indent, default=str))


def _print(text: str, end: str = "\n") -> None:
    try:
        click.echo(text + end, nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StdoutFailed(error.errno, error.strerror) from error


_MIN_WIDTH = 40
_COLOURS: Mapping[str, str] = {
    "✗": "red",
    "•": "red",
    "◦": "yellow",
    "✓": "green",
    "✎": "cyan",
    "→": "cyan",
}
"""Colours of the marks at the start of lines."""

_MARK = re.compile(rf"( *)([{''.join(_COLOURS)}])(?= )")
_CODE = re.compile(r"\[[a-z-]+\](?: ×[0-9]+)?$")


def fit_to_terminal(lines: Iterable[str], stream: TextIO) -> Iterator[str]:
    """Yield lines without control characters, for a terminal also wrapped and coloured.

    There are no colours if ``NO_COLOR`` is set (https://no-color.org).
    """
    lines = map(visible, lines)
    if not stream.isatty():
        yield from lines
        return
    import shutil

    width = max(_MIN_WIDTH, shutil.get_terminal_size().columns)
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    for line in lines:
        wrapped = _wrap(line, width)
        yield wrapped if plain else _colour(wrapped)


def _wrap(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    content = line.lstrip(" ")
    indent = " " * (len(line) - len(content))
    return "\n".join(
        wrap(
            content,
            width,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            expand_tabs=False,
            replace_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _colour(text: str) -> str:
    text = _CODE.sub(lambda code: click.style(code[0], dim=True), text)
    return _MARK.sub(lambda mark: mark[1] + click.style(mark[2], fg=_COLOURS[mark[2]]), text, 1)
