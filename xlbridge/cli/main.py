"""Entry point of ``xlbridge``: language, lazily imported commands, error handling."""

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import click

from xlbridge import __version__
from xlbridge.cli.help import (
    COMMANDS,
    COMPLETION_VARIABLE,
    add_powershell_completion,
    examples_of,
    format_in_groups,
    translate_click,
)
from xlbridge.cli.output import (
    StdoutFailed,
    add_message_options,
    begin_result,
    finish_result,
    print_defect,
    print_error,
    print_failure,
    print_usage_error,
)
from xlbridge.errors import (
    ExitCode,
    XlbridgeError,
    exit_code_of,
    is_local_failure,
    local_failure,
    os_error_reason,
)
from xlbridge.i18n import (
    LANGUAGES,
    Language,
    Text,
    language_from_environment,
    parse_language,
    set_language,
)
from xlbridge.processes import (
    exit_at_once,
    heavy_imports,
    ignore_interrupts,
    treat_signals_as_interrupts,
)

_ABOUT = Text(
    pt="Valida planilhas de importação, envia-as ao sistema de gestão e exporta listagens.",
    en="Validates import sheets, uploads them to the business system, and exports listings.",
)

_MODULES = {
    "api": "doctor",
    "listings": "resources",
    "template": "resources",
    "profiles": "login",
    "ui": "sandbox",
    "retry": "upload",
    "resume": "jobs",
    "resolve": "jobs",
    "undo": "jobs",
    "whoami": "login",
}
"""Commands in the module of another one, as ``<name>_command``; any other is ``command`` in the
module of its name. They are imported on use."""

_OPTIONS = Text(pt="[OPÇÕES]", en="[OPTIONS]")
_OPTIONAL_SUBCOMMAND = Text(pt="[COMANDO] [ARGUMENTOS]...", en="[COMMAND] [ARGS]...")
_SUBCOMMAND = Text(pt="COMANDO [ARGUMENTOS]...", en="COMMAND [ARGS]...")

_WITHOUT_ENVIRONMENT = frozenset({"resources new", "listings", "sandbox", "batch rehearse"})
"""Commands without environment options."""

_BROKEN_PIPE = 141
"""The shell's exit code if the reader of the output has closed it."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        with heavy_imports():
            attribute = f"{cmd_name}_command" if cmd_name in _MODULES else "command"
            module = importlib.import_module(f"xlbridge.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, attribute)
        _complete(cmd_name, command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [str(_OPTIONS), str(_SUBCOMMAND)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(str(_ABOUT))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(str(Text(pt="Comandos", en="Commands"))):
            formatter.write_dl([(name, str(text)) for name, text in COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.epilog = examples_of("")
        super().format_epilog(ctx, formatter)


def _complete(name: str, command: click.Command) -> None:
    """Add examples, option groups and translated placeholders to a command's help, and the options
    that choose the environment to the command, or to its subcommands."""
    command.epilog = examples_of(name)
    command.options_metavar = str(_OPTIONS)
    if isinstance(command, click.Group):
        optional = command.invoke_without_command
        command.subcommand_metavar = str(_OPTIONAL_SUBCOMMAND if optional else _SUBCOMMAND)
    subcommands = getattr(command, "commands", {})
    for subname, subcommand in subcommands.items():
        _complete(f"{name} {subname}", subcommand)
    if not subcommands:
        add_message_options(command)
        if name not in _WITHOUT_ENVIRONMENT:
            from xlbridge.cli.options import add_environment_options

            add_environment_options(command)
        patched: Any = command
        patched.format_options = partial(format_in_groups, command)


class _LanguageChoice(click.Choice[Language]):
    """Choice of a language by any of its usual names."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Language:
        return parse_language(str(value)) or super().convert(value, param, ctx)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__, prog_name="xlbridge", help="Show the version and exit / mostra a versão e sai."
)
@click.option(
    "--lang",
    type=_LanguageChoice(LANGUAGES),
    callback=lambda _ctx, _parameter, language: set_language(language) if language else None,
    is_eager=True,
    expose_value=False,
    help="Language of the messages / idioma das mensagens.",
)
def root() -> None:
    """The root command."""


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    set_language(language_from_environment(os.environ))
    translate_click()
    if COMPLETION_VARIABLE in os.environ:
        add_powershell_completion()
    begin_result(arguments)
    code = _run(_language_first(arguments))
    try:
        code = finish_result(code)
    except OSError as error:
        return _report_stdout(error, code)
    failure = _stdout_failure()
    return code if failure is None else _report_stdout(failure, code)


def _language_first(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with ``--lang`` moved before the command, where click expects it."""
    moved = list(arguments)
    end = moved.index("--") if "--" in moved else len(moved)
    for position in range(end):
        width = 2 if moved[position] == "--lang" else 1
        option = moved[position : min(position + width, end)]
        name, has_value, _ = "=".join(option).partition("=")
        if name == "--lang" and has_value:
            return [*option, *moved[:position], *moved[position + width :]]
    return moved


def _run(arguments: Sequence[str]) -> int:
    try:
        code = root.main(list(arguments), prog_name="xlbridge", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        print_failure(Text(pt="Interrompido.", en="Interrupted."))
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        print_usage_error(error)
        return error.exit_code
    except XlbridgeError as error:
        return _report(error)
    except SystemExit as end:
        # click exits with 1 on a broken pipe, and with 0 after shell completion.
        return _BROKEN_PIPE if end.code else 0
    except Exception as error:
        failure = error if isinstance(error, StdoutFailed) else _stdout_failure()
        if failure is not None:
            return _report_stdout(failure)
        if is_local_failure(error):
            return _report(local_failure(error))
        return _report_crash(error)
    return int(code or 0)


def _stdout_failure() -> OSError | None:
    """Return the error that prevents writing to stdout, if any.

    click wraps ``sys.stdout`` and hides a broken pipe; the interpreter's own stream does not.
    """
    try:
        for stream in filter(None, (sys.stdout, sys.__stdout__)):
            stream.flush()
    except OSError as error:
        return error
    return None


def _report_stdout(failure: OSError, code: int = 0) -> int:
    """Report that the result cannot be written; a command that ended in doubt stays in doubt."""
    # The rest of the buffer is lost, and Python must not try again to write it at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    # Windows has no other error for a closed pipe.
    if isinstance(failure, BrokenPipeError) or (os.name == "nt" and failure.errno == errno.EINVAL):
        return _BROKEN_PIPE
    message = Text(
        pt="Erro: não foi possível escrever na saída padrão: {reason}.",
        en="Error: cannot write to standard output: {reason}.",
    )
    print_failure(message.format(reason=failure.strerror))
    in_doubt = code == ExitCode.IN_DOUBT or (isinstance(failure, StdoutFailed) and failure.in_doubt)
    if in_doubt:
        return ExitCode.IN_DOUBT
    return ExitCode.COMPUTER_FAILED if is_local_failure(failure) else ExitCode.WRONG_USAGE


def _report(error: XlbridgeError) -> int:
    print_error(error)
    return exit_code_of(error)


def _report_crash(error: Exception) -> int:
    """Write the traceback to a file and print its path; tracebacks are never printed."""
    # Imported here: rarely needed.
    import tempfile
    import traceback

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="xlbridge-", suffix=".txt", delete=False, encoding="utf-8"
        ) as report:
            report.write("".join(traceback.format_exception(error)))
    except OSError as unwritten:
        message = Text(
            pt="Defeito do xlbridge ({kind}). Nada mais será feito. O relatório dele não pôde ser "
            "gravado: {reason}.",
            en="A defect of xlbridge ({kind}). Nothing more will be done. Its report cannot be "
            "written: {reason}.",
        )
        reason = os_error_reason(unwritten)
        print_defect(message.format(kind=type(error).__name__, reason=reason))
        return ExitCode.CRASHED
    message = Text(
        pt="Defeito do xlbridge ({kind}). Nada mais será feito. Envie este arquivo ao projeto: {f}",
        en="A defect of xlbridge ({kind}). Nothing more will be done. Send this file to the "
        "project: {f}",
    )
    print_defect(message.format(kind=type(error).__name__, f=report.name))
    return ExitCode.CRASHED


def run() -> NoReturn:
    """Entry point of the ``xlbridge`` script."""
    treat_signals_as_interrupts()
    try:
        # Open the streams that Python was started without, so that no other file can get their
        # descriptors; what is written there is lost.
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            if getattr(sys, name) is None:
                flag = os.O_RDONLY if name == "stdin" else os.O_WRONLY
                setattr(sys, name, os.fdopen(os.open(os.devnull, flag), mode))
        # Buffer stdout under ``PYTHONUNBUFFERED`` too, so that a failed write is noticed. Printed
        # text is flushed immediately anyway.
        raw = getattr(sys.stdout, "buffer", None)
        if isinstance(raw, io.FileIO):
            sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw))
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        code = main(sys.argv[1:])
        ignore_interrupts()
    except KeyboardInterrupt:
        # A second interrupt, while the first was being handled.
        ignore_interrupts()
        code = ExitCode.INTERRUPTED
    exit_at_once(code)
