"""Output of a command: results on stdout, remarks and progress on stderr."""

import io
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from textwrap import wrap
from threading import Event, Thread
from typing import IO, TYPE_CHECKING, Any, TextIO

import click

from xlbridge import titles
from xlbridge.errors import (
    ExitCode,
    LocalFailure,
    UsageError,
    XlbridgeError,
    exit_code_of,
    os_error_reason,
)
from xlbridge.files import replace_atomically
from xlbridge.i18n import Text, untranslated
from xlbridge.settings import read_progress_seconds
from xlbridge.titles import WorkProgress

if TYPE_CHECKING:
    from logging import Handler

    from xlbridge.report_forms import ReportForms, Value


class StdoutFailed(OSError):
    """The result cannot be written, for example because the disk is full.

    ``in_doubt`` is true if the exit code of the command is ``IN_DOUBT`` nevertheless.
    """

    in_doubt = False


@dataclass(slots=True)
class _Result:
    """Result of the running command, and the failure that ended it.

    ``as_json`` is true if ``--format json`` is on the command line, ``on_stdout`` once something
    was printed there. ``unsaid`` are messages that are only printed before a question or a failure,
    as the command is ``quiet``; ``verbose``: log lines are printed too. With
    ``-o`` the result is collected in ``collected`` for ``file``, and
    ``report`` is the last report of it.
    """

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False
    unsaid: list[Text | str] = field(default_factory=list)
    on_stdout: bool = False
    file: Path | None = None
    collected: IO[str] | None = None
    report: "ReportForms | None" = None
    failure: Mapping[str, str] | None = None


_result = _Result()


def begin_result(arguments: Sequence[str]) -> None:
    """Forget the result of an earlier command in this process; arguments of the next one follow.

    They are read before click does, as its errors are printed in their form, too.
    """
    global _result
    words = takewhile(lambda word: word != "--", arguments)
    forms = [
        value if separator else following
        for word, following in pairwise([*words, ""])
        for name, separator, value in [word.partition("=")]
        if name == "--format"
    ]
    _result = _Result(as_json=forms[-1:] == ["json"])


def write_result_to(file: Path) -> None:
    """Collect the result of the running command, which ``finish_result`` writes to a file."""
    _result.file = file


def is_result_printed() -> bool:
    """Return whether the result is printed rather than written to a file."""
    return _result.file is None


def finish_result(code: int) -> int:
    """Write the result to the file of ``-o``; return the exit code of the command.

    If the file cannot be written, the result is printed, a page as text. If the command failed and
    nothing was printed under ``--format json``, the failure is printed as JSON. Raises
    ``StdoutFailed``, ``BrokenPipeError``.
    """
    if _result.file is not None and _result.collected is not None:
        with _result.collected as collected:
            collected.seek(0)
            try:
                with (
                    replace_atomically(_result.file) as temporary,
                    temporary.open("w", encoding="utf-8", newline="\n") as target,
                ):
                    shutil.copyfileobj(collected, target)
                print_message(
                    Text(pt="Relatório em {f}", en="Report in {f}").format(f=_result.file)
                )
            except (UsageError, LocalFailure) as error:
                _result.file = None
                if _result.report is None:
                    collected.seek(0)
                    for piece in iter(partial(collected.read, _PIECE), ""):
                        _print(piece, end="")
                else:
                    print_report(_result.report, "text")
                print_error(error)
                code = code if code == ExitCode.IN_DOUBT else max(code, exit_code_of(error))
    if code and _result.as_json and _result.failure is not None and not _result.on_stdout:
        _result.file = None
        print_json({"version": 1, "error": _result.failure})
    return code


_PIECE = 1 << 16


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
"""Characters that control a terminal or the order of letters, and are not displayed."""


def visible(text: object) -> str:
    """Return a text for a terminal, with its control characters escaped as in JSON.

    Names of files and answers of the remote system may contain any.
    """
    return _CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", str(text))


YES = frozenset({"s", "sim", "y", "yes"})
"""Answers that agree, in both languages."""


def ask(question: Text, **options: Any) -> str:
    """Ask a question on the terminal, with the options of ``click.prompt``; return the answer."""
    _print_unsaid()
    answer: str = click.prompt(visible(question), err=True, **options)
    return answer


def print_usage_error(error: click.ClickException) -> None:
    """Print an error of click, which contains what the user typed."""
    context = getattr(error, "ctx", None)
    usage = UsageError(
        untranslated("{message}").format(message=error.format_message()),
        None
        if context is None
        else untranslated("{path} --help").format(path=context.command_path),
    )
    _result.failure = usage.to_json()
    _print_unsaid()
    message = io.StringIO()
    error.show(message)
    with ignore_stderr_failures():
        click.echo(visible(message.getvalue()), err=True, nl=False)


def add_message_options(command: click.Command) -> None:
    """Add the options that choose what a command says on stderr, and where it logs."""
    if any(parameter.name == "quiet" for parameter in command.params):
        return
    command.params += [
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_be_quiet,
            help=str(_QUIET),
        ),
        click.Option(
            ["-v", "--verbose"],
            count=True,
            expose_value=False,
            callback=_log_to_stderr,
            help=str(_VERBOSE),
        ),
        click.Option(
            ["--log-file"],
            type=click.Path(dir_okay=False),
            metavar="FILE",
            expose_value=False,
            callback=_log_to_file,
            help=str(_LOG_FILE),
        ),
    ]


def _be_quiet(_context: click.Context, _parameter: click.Parameter, quiet: bool) -> None:
    _result.quiet = _result.quiet or quiet


def _log_to_stderr(context: click.Context, _parameter: click.Parameter, count: int) -> None:
    if count:
        import logging

        _result.verbose = True
        _log(context, logging.StreamHandler(), logging.INFO if count == 1 else logging.DEBUG)


def _log_to_file(context: click.Context, parameter: click.Parameter, file: str | None) -> None:
    if file is not None:
        import logging

        try:
            _log(context, logging.FileHandler(file, encoding="utf-8"), logging.DEBUG)
        except OSError as error:
            message = f"{file}: {os_error_reason(error)}"
            raise click.BadParameter(message, context, parameter) from None


def _log(context: click.Context, handler: "Handler", level: int) -> None:
    """Send log lines of a level and above to a handler until the command ends."""
    import logging

    logger = logging.getLogger("xlbridge")
    handler.setLevel(level)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger.setLevel(min(level, logger.level or level))
    logger.addHandler(handler)

    def end() -> None:
        logger.removeHandler(handler)
        handler.close()
        if not logger.handlers:
            logger.setLevel(logging.NOTSET)

    context.find_root().call_on_close(end)


_QUIET = Text(
    pt="Mostra só o resultado; andamento e observações, só antes de perguntas e falhas.",
    en="Shows the result only; remarks only before questions and failures.",
)
_VERBOSE = Text(
    pt="Mostra também decisões, esperas e repetições; -vv, cada chamada.",
    en="Also shows decisions, waits and retries; -vv, each call.",
)
_LOG_FILE = Text(
    pt="Acrescenta tudo isso a um arquivo, sem valores das planilhas.",
    en="Appends all of this to a file, without values of sheets.",
)


def print_message(text: Text | str) -> None:
    """Print a message that is not part of the result, later or never if the command is quiet."""
    if _result.quiet:
        _result.unsaid.append(text)
    else:
        _print_to_stderr(text)


def print_failure(text: Text | str) -> None:
    """Print why the command ends, after what it has not said."""
    _print_unsaid()
    _print_to_stderr(text)


def _print_unsaid() -> None:
    unsaid, _result.unsaid = _result.unsaid, []
    for text in unsaid:
        _print_to_stderr(text)


def _print_to_stderr(text: Text | str) -> None:
    with ignore_stderr_failures():
        for line in fit_to_terminal(visible(text).splitlines() or [""], sys.stderr):
            click.echo(line, err=True, color=_forces_colours() or None)


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


def print_defect(text: Text) -> None:
    """Print that the command failed by a defect of xlbridge."""
    _result.failure = {"type": "Defect", "code": "defect", "message": str(text), "hint": ""}
    print_failure(text)


def print_error(error: XlbridgeError) -> None:
    """Print an error with its hint."""
    _result.failure = error.to_json()
    print_failure(Text(pt="Erro: {e}", en="Error: {e}").format(e=error.message))
    if error.hint:
        print_failure(error.hint)


def print_result(text: Text | str) -> None:
    """Print a part of the result. Raises ``StdoutFailed``, ``BrokenPipeError``."""
    _print(visible(text))


def print_document(text: str) -> None:
    """Print the result as a document, unchanged if it goes to a file or another program.

    Raises ``StdoutFailed``, ``BrokenPipeError``.
    """
    _print(visible(text) if _is_terminal() else text)


def print_report(report: "ReportForms", form: str) -> None:
    """Print a report in a form, laid out for the terminal if there is one.

    Raises ``StdoutFailed``, ``BrokenPipeError``.
    """
    _result.report = report if form == "html" else None
    if form == "text":
        lines = map(str, report.lines())
        for line in fit_to_terminal(lines, sys.stdout) if is_result_printed() else lines:
            _print(line)
    elif form == "json" and (_is_terminal() or report.json_pieces is None):
        print_json(report.document())
    else:
        to_terminal = _is_terminal()
        for piece in report.render(form):
            _print(visible(piece) if to_terminal else piece, end="")
        _print("")


def field_value(value: object) -> "Value":
    """Return the value of a field for a report: a truth value as a word, an empty one as None."""
    if isinstance(value, bool):
        return titles.YES if value else titles.NO
    return value if value is None or isinstance(value, Text) else str(value)


def print_json(document: Any) -> None:
    """Print the result as one JSON document, indented on a terminal.

    Raises ``StdoutFailed``, ``BrokenPipeError``.
    """
    indent = 2 if _is_terminal() else None
    print_document(json.dumps(document, ensure_ascii=False, indent=indent, default=str))


def _is_terminal() -> bool:
    return is_result_printed() and sys.stdout.isatty()


def _print(text: str, end: str = "\n") -> None:
    if not is_result_printed():
        if _result.collected is None:
            # Imported late: few commands write a report to a file.
            from tempfile import SpooledTemporaryFile

            _result.collected = SpooledTemporaryFile(  # noqa: SIM115 - it lives as the command
                _KEPT_IN_MEMORY, "w+", encoding="utf-8", newline="\n"
            )
        _result.collected.write(text + end)
        return
    _result.on_stdout = True
    try:
        click.echo(text + end, nl=False, color=_forces_colours() or None)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StdoutFailed(error.errno, error.strerror) from error


_KEPT_IN_MEMORY = 1 << 20
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

    There are no colours if ``NO_COLOR`` is set (https://no-color.org), and everywhere if
    ``FORCE_COLOR`` is (https://force-color.org).
    """
    lines = map(visible, lines)
    is_terminal = stream.isatty()
    width = max(_MIN_WIDTH, shutil.get_terminal_size().columns)
    coloured = _forces_colours() or (is_terminal and os.environ.get("TERM") != "dumb")
    coloured = coloured and not os.environ.get("NO_COLOR")
    for line in lines:
        wrapped = _wrap(line, width) if is_terminal and len(line) > width else line
        if coloured:
            wrapped = _CODE.sub(lambda code: click.style(code[0], dim=True), wrapped)
            wrapped = _MARK.sub(
                lambda mark: mark[1] + click.style(mark[2], fg=_COLOURS[mark[2]]), wrapped, 1
            )
        yield wrapped


def _forces_colours() -> bool:
    return bool(os.environ.get("FORCE_COLOR"))


def _wrap(line: str, width: int) -> str:
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


@contextmanager
def show_progress(text: Text, total: int = 1, *, counts: bool = False) -> Iterator[WorkProgress]:
    """Show ``text`` with a spinner and the elapsed time until the block ends.

    With a ``total`` of several steps, or with ``counts`` once their number is known, a bar shows
    the steps done. If stderr is not a terminal, or has log lines, lines at intervals show the same;
    nothing does if the command is quiet.
    """
    if _result.quiet:
        yield WorkProgress()
        return
    shows_bar = sys.stderr.isatty() and not _result.verbose
    opened = _bar(text, total, counts=counts) if shows_bar else _lines(text, total)
    with opened as display:
        yield display


@contextmanager
def _lines(text: Text, total: int) -> Iterator[WorkProgress]:
    lines = _ProgressLines(text, total)

    def show(new: Text) -> None:
        lines.text = new

    def advance() -> None:
        lines.done += 1

    @contextmanager
    def paused() -> Iterator[None]:
        lines.hidden = True
        try:
            yield
        finally:
            lines.hidden = False

    display = WorkProgress(show, advance, paused=paused)
    seconds = read_progress_seconds(os.environ)
    if not seconds:
        yield display
        return
    writer = Thread(target=lines.write_every, args=[seconds], daemon=True)
    writer.start()
    try:
        yield display
    finally:
        lines.ended.set()
        writer.join()


@dataclass(slots=True)
class _ProgressLines:
    """Progress as lines of a log with text, steps and elapsed time."""

    text: Text
    total: int
    done: int = 0
    started_at: float = field(default_factory=time.monotonic)
    ended: Event = field(default_factory=Event)
    hidden: bool = False

    def write_every(self, seconds: float) -> None:
        """Write a line at an interval until the work has ended, or stderr is closed."""
        while not self.ended.wait(seconds):
            if self.hidden:
                continue
            steps = _STEPS.format(done=self.done, total=self.total) if self.total > 1 else ""
            elapsed = timedelta(seconds=round(time.monotonic() - self.started_at))
            try:
                print_message(_LINE.format(text=self.text, steps=steps, elapsed=elapsed))
            except OSError:
                return


_LINE = Text(pt="… {text}{steps} (há {elapsed})", en="… {text}{steps} ({elapsed} so far)")
_STEPS = Text(pt=" · {done} de {total}", en=" · {done} of {total}")


@contextmanager
def _bar(text: Text, total: int, *, counts: bool) -> Iterator[WorkProgress]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.table import Column

    bar = [BarColumn()] if counts or total > 1 else []
    steps = [MofNCompleteColumn()] if total > 1 else []
    description = TextColumn("{task.description}", table_column=Column())
    with Progress(
        *(SpinnerColumn(), description, *bar, *steps, TimeElapsedColumn()),
        console=Console(stderr=True),
        transient=True,
    ) as progress:
        task = progress.add_task(escape(visible(text)), total=total if total > 1 else None)

        @contextmanager
        def paused() -> Iterator[None]:
            progress.stop()
            try:
                yield
            finally:
                progress.start()

        yield WorkProgress(
            show=lambda new: progress.update(task, description=escape(visible(new))),
            paused=paused,
            advance=lambda: progress.update(task, advance=1, refresh=True),
            count=lambda done, all_: progress.update(task, completed=done, total=all_),
        )
