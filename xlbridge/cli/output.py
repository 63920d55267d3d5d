"""Output of a command: results on stdout, remarks and progress on stderr."""

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

from xlbridge.cli.lifecycle import ExitCode
from xlbridge.errors import LocalFailure, UsageError, XlbridgeError
from xlbridge.i18n import Text

if TYPE_CHECKING:
    from xlbridge.report_forms import ReportForms


class StdoutFailed(OSError):
    """The result cannot be written: the disk is full, the device failed.

    ``in_doubt`` says that the command would have ended with a doubt, which it still does.
    """

    in_doubt = False


@contextmanager
def doubt_kept(code: int) -> Iterator[None]:
    """Let a result that cannot be written end the command as it would have ended: in doubt."""
    try:
        yield
    except StdoutFailed as failure:
        failure.in_doubt = code == ExitCode.IN_DOUBT
        raise


def remark(text: Text | str) -> None:
    """Tell the user something that is not the result."""
    with stderr_failures_ignored():
        for line in fit_to_terminal(str(text).splitlines() or [""], sys.stderr):
            click.echo(line, err=True)


@contextmanager
def stderr_failures_ignored() -> Iterator[None]:
    """Ignore failures to write to stderr: the work that is done still counts.

    Whoever reads it and goes away ends the command all the same.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        return


def print_error(error: XlbridgeError) -> None:
    """Tell the user of an error, and what to do about it."""
    remark(Text(pt="Erro: {e}", en="Error: {e}").format(e=error.message))
    if error.hint:
        remark(error.hint)


def print_result(text: Text | str) -> None:
    """Print (part of) the result. Raises ``StdoutFailed``, ``BrokenPipeError``."""
    _print(str(text))


def print_report(report: "ReportForms", form: str) -> None:
    """Print a report in the form asked for; people get its text and JSON as a terminal shows it.

    Raises ``StdoutFailed``, ``BrokenPipeError``.
    """
    if form == "text":
        for line in fit_to_terminal(map(str, report.lines()), sys.stdout):
            print_result(line)
    elif form == "json" and (sys.stdout.isatty() or report.json_pieces is None):
        print_json(report.document())
    else:
        for piece in report.render(form):
            _print(piece, end="")
        _print("")


def write_report(report: "ReportForms", form: str, output: Path | None) -> None:
    """Print a report, or write it to ``output``.

    Raises ``UsageError`` when the file cannot be written; the report is printed then, a page as
    text.
    """
    if output is None:
        print_report(report, form)
        return
    try:
        report.write(form, output)
    except (UsageError, LocalFailure):
        print_report(report, "text" if form == "html" else form)
        raise
    remark(Text(pt="Relatório em {f}", en="Report in {f}").format(f=output))


def readable(value: object) -> object:
    """Return a value as a person reads it: what is true or not in words, nothing as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return Text(pt="sim", en="yes") if value else Text(pt="não", en="no")
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
"""Names of fields that are ours; those of the interface are Portuguese as they are."""


def label(name: str) -> str:
    """Return the name of a field as a person reads it."""
    return str(_LABELS.get(name, name))


def print_json(document: Any) -> None:
    """Print the result as one JSON document, indented where a person reads it.

    Raises ``StdoutFailed``, ``BrokenPipeError``.
    """
    indent = 2 if sys.stdout.isatty() else None
    _print(json.dumps(document, ensure_ascii=False, indent=indent, default=str))


def _print(text: str, end: str = "\n") -> None:
    try:
        click.echo(text + end, nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StdoutFailed(error.errno, error.strerror) from error


_NARROWEST = 40
_COLOURS: Mapping[str, str] = {
    "✗": "red",
    "•": "red",
    "◦": "yellow",
    "✓": "green",
    "✎": "cyan",
    "→": "cyan",
}
"""The colours of the marks that lines begin with."""

_MARK = re.compile(rf"( *)([{''.join(_COLOURS)}])(?= )")
_CODE = re.compile(r"\[[a-z-]+\](?: ×[0-9]+)?$")


def fit_to_terminal(lines: Iterable[str], stream: TextIO) -> Iterator[str]:
    """Yield lines as a stream should have them: unchanged unless it is a terminal.

    Colours are left out where ``NO_COLOR`` is set, as https://no-color.org asks.
    """
    if not stream.isatty():
        yield from lines
        return
    import shutil

    width = max(_NARROWEST, shutil.get_terminal_size().columns)
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    for line in lines:
        wrapped = _wrapped(line, width)
        yield wrapped if plain else _coloured(wrapped)


def _wrapped(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    bare = line.lstrip(" ")
    indent = " " * (len(line) - len(bare))
    return "\n".join(
        wrap(
            bare,
            width,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            expand_tabs=False,
            replace_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _coloured(text: str) -> str:
    text = _CODE.sub(lambda code: click.style(code[0], dim=True), text)
    return _MARK.sub(lambda mark: mark[1] + click.style(mark[2], fg=_COLOURS[mark[2]]), text, 1)
