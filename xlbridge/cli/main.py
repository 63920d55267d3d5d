"""Entry point of ``xlbridge``: language, lazily imported commands, and how every error ends."""

import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import click

from xlbridge import __version__
from xlbridge.cli.completion import COMPLETION_VARIABLE, know_powershell
from xlbridge.cli.help_texts import examples_of, format_in_groups, translate_click
from xlbridge.cli.lifecycle import (
    ExitCode,
    exit_at_once,
    exit_code_of,
    heavy_imports,
    ignore_interrupts,
    treat_signals_as_interrupts,
)
from xlbridge.cli.output import StdoutFailed, print_error, remark, stderr_failures_ignored
from xlbridge.errors import XlbridgeError, is_local_failure, local_failure, os_error_reason
from xlbridge.i18n import (
    LANGUAGES,
    Language,
    Text,
    language_from_environment,
    parse_language,
    set_language,
)

_ABOUT = Text(
    pt="Valida planilhas de importação, envia-as ao sistema de gestão e exporta listagens.",
    en="Validates import sheets, uploads them to the business system, and exports listings.",
)

_COMMANDS: dict[str, Text] = {
    "resources": Text(pt="O que se pode importar.", en="What can be imported."),
    "template": Text(pt="Grava um modelo de planilha.", en="Writes a blank import workbook."),
    "validate": Text(pt="Confere planilhas no próprio computador.", en="Checks workbooks locally."),
    "map": Text(
        pt="Propõe como ler uma planilha com outro cabeçalho.",
        en="Proposes how to read a sheet with another header.",
    ),
    "upload": Text(pt="Confere e envia uma planilha.", en="Validates a workbook and sends it."),
    "jobs": Text(
        pt="Os envios feitos e a situação de cada um.", en="Past uploads and their state."
    ),
    "resume": Text(pt="Continua um envio interrompido.", en="Continues an interrupted upload."),
    "retry": Text(
        pt="Envia de novo só o que foi rejeitado e corrigido.",
        en="Sends again only what was rejected and has been fixed.",
    ),
    "resolve": Text(pt="Decide um envio em dúvida.", en="Decides an upload in doubt."),
    "process": Text(
        pt="Processa pedidos, notas, inventários e arquivos em lote.",
        en="Processes orders, invoices, inventories and files in bulk.",
    ),
    "undo": Text(pt="Desfaz o que um envio gravou.", en="Reverses what an upload wrote."),
    "ui": Text(
        pt="O mesmo trabalho numa página do navegador.", en="The same work in a browser page."
    ),
    "batch": Text(
        pt="Muitos arquivos e exportações, na ordem certa, conforme um plano.",
        en="Many workbooks and exports, in the right order, by a plan.",
    ),
    "listings": Text(pt="O que se pode exportar.", en="What can be exported."),
    "export": Text(pt="Exporta uma listagem.", en="Exports a listing."),
    "sandbox": Text(
        pt="Roda o sistema de ensaio neste computador.",
        en="Runs the practice system on this computer.",
    ),
    "login": Text(pt="Confere as credenciais.", en="Checks the credentials."),
    "profiles": Text(pt="Os ambientes configurados.", en="The configured environments."),
    "whoami": Text(pt="Quem é o usuário no sistema.", en="Who the user is in the system."),
    "api": Text(pt="Uma chamada direta, autenticada.", en="One raw, authenticated call."),
    "doctor": Text(
        pt="O que está configurado, o que responde, o que está errado.",
        en="What is configured, what answers, what is wrong.",
    ),
}
"""Each command lives in the module of its name, as ``command``, and is imported when it is used."""

_MODULES = {
    "retry": "upload",
    "resume": "jobs",
    "resolve": "jobs",
    "undo": "jobs",
    "whoami": "login",
}
"""The commands that live in the module of another one, as ``<name>_command``."""

_PARTS = {"batch": ("rehearse",)}
"""Commands below a command that live in modules of their own, of both names."""

_OPTIONS = Text(pt="[OPÇÕES]", en="[OPTIONS]")
_OPTIONAL_SUBCOMMAND = Text(pt="[COMANDO] [ARGUMENTOS]...", en="[COMMAND] [ARGS]...")
_SUBCOMMAND = Text(pt="COMANDO [ARGUMENTOS]...", en="COMMAND [ARGS]...")

_WITHOUT_ENVIRONMENT = frozenset({"resources", "listings", "sandbox", "batch rehearse"})
"""The commands that are for no environment."""

_BROKEN_PIPE = 141
"""As a shell has it: whoever read the output went away."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        with heavy_imports():
            command = _command_of(cmd_name)
            for part in _PARTS.get(cmd_name, ()):
                command.add_command(_command_of(f"{cmd_name}_{part}"))
        _complete_help(cmd_name, command)
        return _with_environment(cmd_name, command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            raise click.NoSuchCommand(args[0], possibilities=_COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [str(_OPTIONS), str(_SUBCOMMAND)]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(str(_ABOUT))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(str(Text(pt="Comandos", en="Commands"))):
            formatter.write_dl([(name, str(text)) for name, text in _COMMANDS.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.epilog = examples_of("")
        super().format_epilog(ctx, formatter)


def _command_of(name: str) -> Any:
    attribute = f"{name}_command" if name in _MODULES else "command"
    return getattr(importlib.import_module(f"xlbridge.cli.{_MODULES.get(name, name)}"), attribute)


def _with_environment(name: str, command: click.Command) -> click.Command:
    """Add the options of an environment to a command, and to those below it, that are for one."""
    if name in _WITHOUT_ENVIRONMENT:
        return command
    from xlbridge.cli.environment import add_environment_options

    if not isinstance(command, click.Group):
        return add_environment_options(command)
    for below, part in command.commands.items():
        if f"{name} {below}" not in _WITHOUT_ENVIRONMENT:
            add_environment_options(part)
    return command


def _complete_help(name: str, command: click.Command) -> None:
    """Add examples to a command's help, put its options into groups, and name its arguments."""
    command.epilog = examples_of(name)
    command.options_metavar = str(_OPTIONS)
    if isinstance(command, click.Group):
        optional = command.invoke_without_command
        command.subcommand_metavar = str(_OPTIONAL_SUBCOMMAND if optional else _SUBCOMMAND)
    parts = getattr(command, "commands", {})
    for part, below in parts.items():
        _complete_help(f"{name} {part}", below)
    if not parts:
        shown: Any = command
        shown.format_options = partial(format_in_groups, command)


class _LanguageChoice(click.Choice[Language]):
    """Choice of a language by any of its usual names."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Language:
        return parse_language(str(value)) or super().convert(value, param, ctx)


def _choose_language(
    _ctx: click.Context, _parameter: click.Parameter, language: Language | None
) -> None:
    if language:
        set_language(language)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__, prog_name="xlbridge", help="Show the version and exit / mostra a versão e sai."
)
@click.option(
    "--lang",
    type=_LanguageChoice(LANGUAGES),
    callback=_choose_language,
    is_eager=True,
    expose_value=False,
    help="Language of the messages / idioma das mensagens.",
)
def root() -> None:
    """The root of all commands."""


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    set_language(language_from_environment(os.environ))
    translate_click()
    if COMPLETION_VARIABLE in os.environ:
        know_powershell()
    code = _run(_language_first(arguments))
    failure = _stdout_failure()
    return code if failure is None else _report_stdout(failure, code)


def _language_first(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with ``--lang`` before the command, wherever it was typed.

    There the languages that there are are told, where another one was asked for.
    """
    given = list(arguments)
    end = given.index("--") if "--" in given else len(given)
    for place in range(end):
        width = 2 if given[place] == "--lang" else 1
        asked = given[place : min(place + width, end)]
        name, has_value, _ = "=".join(asked).partition("=")
        if name == "--lang" and has_value:
            return [*asked, *given[:place], *given[place + width :]]
    return given


def _run(arguments: Sequence[str]) -> int:
    try:
        code = root.main(list(arguments), prog_name="xlbridge", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        remark(Text(pt="Interrompido.", en="Interrupted."))
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        with stderr_failures_ignored():
            error.show()
        return error.exit_code
    except XlbridgeError as error:
        return _report(error)
    except SystemExit as end:
        # click makes a 1 of a broken pipe; a 0 is shell completion's.
        return _BROKEN_PIPE if end.code else 0
    except Exception as error:
        failure = error if isinstance(error, StdoutFailed) else _stdout_failure()
        if failure is not None:
            return _report_stdout(failure)
        if isinstance(error, OSError) and is_local_failure(error):
            return _report(local_failure(error))
        return _report_crash(error)
    return int(code or 0)


def _stdout_failure() -> OSError | None:
    """Return why what was printed cannot be written, None where it was.

    click wraps ``sys.stdout`` and hides a broken pipe; the interpreter's own stream does not.
    """
    try:
        for stream in filter(None, (sys.stdout, sys.__stdout__)):
            stream.flush()
    except OSError as error:
        return error
    return None


def _report_stdout(failure: OSError, code: int = 0) -> int:
    """Tell that the result cannot be written; a doubt that the command ended with stays one."""
    # What is left in the buffer has nowhere to go, and is not tried again when Python ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(failure, BrokenPipeError):
        return _BROKEN_PIPE
    message = Text(
        pt="Erro: não foi possível escrever na saída padrão: {reason}.",
        en="Error: cannot write to standard output: {reason}.",
    )
    remark(message.format(reason=failure.strerror))
    in_doubt = code == ExitCode.IN_DOUBT or (isinstance(failure, StdoutFailed) and failure.in_doubt)
    if in_doubt:
        return ExitCode.IN_DOUBT
    return ExitCode.COMPUTER_FAILED if is_local_failure(failure) else ExitCode.WRONG_USAGE


def _report(error: XlbridgeError) -> int:
    print_error(error)
    return exit_code_of(error)


def _report_crash(error: Exception) -> int:
    """Keep the traceback in a file and tell the user where: none is ever printed."""
    import tempfile

    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="xlbridge-", suffix=".txt", delete=False, encoding="utf-8"
        ) as report:
            report.write("".join(traceback.format_exception(error)))
    except OSError as unwritten:
        unkept = Text(
            pt="Defeito do xlbridge ({kind}). Nada mais será feito. O relatório dele não pôde ser "
            "gravado: {reason}.",
            en="A defect of xlbridge ({kind}). Nothing more will be done. Its report cannot be "
            "written: {reason}.",
        )
        remark(unkept.format(kind=type(error).__name__, reason=os_error_reason(unwritten)))
        return ExitCode.CRASHED
    message = Text(
        pt="Defeito do xlbridge ({kind}). Nada mais será feito. Envie este arquivo ao projeto: {f}",
        en="A defect of xlbridge ({kind}). Nothing more will be done. Send this file to the "
        "project: {f}",
    )
    remark(message.format(kind=type(error).__name__, f=report.name))
    return ExitCode.CRASHED


def _reopen_closed_streams() -> None:
    """Give Python the standard streams that it was started without.

    What is printed cannot be written then; no other file takes the place of a stream either.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            mode_flag = os.O_WRONLY if name == "stderr" else os.O_RDONLY
            setattr(sys, name, os.fdopen(os.open(os.devnull, mode_flag), mode))


def _buffer_stdout() -> None:
    """Keep unwritten output in stdout's buffer, so that the failure is noticed.

    Under ``PYTHONUNBUFFERED`` it keeps nothing. What is printed is flushed at once anyway.
    """
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.FileIO):
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw))


def run() -> NoReturn:
    """Entry point of the ``xlbridge`` script."""
    treat_signals_as_interrupts()
    try:
        _reopen_closed_streams()
        _buffer_stdout()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        code = main(sys.argv[1:])
        ignore_interrupts()
    except KeyboardInterrupt:
        # Another one, while the first was dealt with.
        ignore_interrupts()
        code = ExitCode.INTERRUPTED
    exit_at_once(code)
