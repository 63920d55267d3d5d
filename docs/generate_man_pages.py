"""Write a manual page for each command from its declaration.

Run from the project's folder::

    .venv/bin/python docs/generate_man_pages.py en|pt-BR FOLDER

The pages go to ``FOLDER/man1``, in Portuguese to ``FOLDER/pt_BR/man1``.
"""

import sys
from collections.abc import Iterator, Sequence
from inspect import cleandoc
from pathlib import Path

import click

from xlbridge import __version__
from xlbridge.cli.help import translate_click
from xlbridge.cli.main import root
from xlbridge.errors import ExitCode
from xlbridge.i18n import Text, parse_language, set_language

_NAME = Text(pt="NOME", en="NAME")
_SYNOPSIS = Text(pt="SINOPSE", en="SYNOPSIS")
_DESCRIPTION = Text(pt="DESCRIÇÃO", en="DESCRIPTION")
_OPTIONS = Text(pt="OPÇÕES", en="OPTIONS")
_EXAMPLES = Text(pt="EXEMPLOS", en="EXAMPLES")
_EXIT_STATUS = Text(pt="CÓDIGO DE SAÍDA", en="EXIT STATUS")
_SEE_ALSO = Text(pt="VEJA TAMBÉM", en="SEE ALSO")
_ABOUT = Text(
    pt="valida planilhas, envia-as ao sistema de gestão e exporta listagens",
    en="validate sheets, upload them to the business system, and export listings",
)
_EXIT_CODES = {
    ExitCode.GOOD: Text(pt="tudo certo", en="all good"),
    ExitCode.DATA_ERRORS: Text(pt="os dados têm erros", en="the data has errors"),
    ExitCode.WRONG_USAGE: Text(pt="uso errado", en="wrong usage"),
    ExitCode.REFUSED: Text(pt="arquivo recusado", en="the workbook was refused"),
    ExitCode.FAILED: Text(
        pt="o sistema ou a rede falhou, nada foi gravado",
        en="the system or the network failed, nothing was applied",
    ),
    ExitCode.IN_DOUBT: Text(
        pt="em dúvida, alguém precisa conferir", en="in doubt, a person must look"
    ),
    ExitCode.COMPUTER_FAILED: Text(pt="este computador falhou", en="this computer failed"),
    ExitCode.CRASHED: Text(pt="defeito do xlbridge", en="defect of xlbridge"),
    ExitCode.INTERRUPTED: Text(pt="interrompido", en="interrupted"),
}
_OF_SEVERAL = Text(
    pt="Se vários valem, em dúvida vem primeiro, depois o maior.",
    en="Of several, in doubt comes first, then the highest.",
)


def _page(context: click.Context, parts: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the page of a command, which has subcommands named ``parts``."""
    command, name = context.command, context.command_path.replace(" ", "-")
    about = cleandoc(command.help or str(_ABOUT)) if context.parent else str(_ABOUT)
    yield f'.TH "{name.upper()}" "1" "" "xlbridge {__version__}"'
    summary = about.partition("\n\n")[0].partition(". ")[0].rstrip(".")
    yield from (f".SH {_NAME}", rf"{name} \- {_escaped(summary)}")
    pieces = " ".join(command.collect_usage_pieces(context))
    yield from (f".SH {_SYNOPSIS}", rf"\fB{context.command_path}\fR {_escaped(pieces)}")
    yield from (f".SH {_DESCRIPTION}", _escaped(about))
    yield f".SH {_OPTIONS}"
    for option in command.get_params(context):
        if isinstance(option, click.Argument) or not (record := option.get_help_record(context)):
            continue
        term, text = record
        yield from (".TP", rf"\fB{_escaped(term)}\fR", _escaped(text))
    if command.epilog:
        _, *lines = command.epilog.removeprefix("\b\n").splitlines()
        yield from (f".SH {_EXAMPLES}", ".nf", *map(_escaped, map(str.strip, lines)), ".fi")
    yield f".SH {_EXIT_STATUS}"
    for code in ExitCode:
        yield from (".TP", str(code.value), _escaped(str(_EXIT_CODES[code])))
    yield from (".PP", _escaped(str(_OF_SEVERAL)))
    if parts or context.parent:
        above = [context.parent.command_path] if context.parent else []
        names = [*above, *(f"{context.command_path} {part}" for part in parts)]
        also = (rf"\fB{other.replace(' ', '-')}\fR(1)" for other in names)
        yield from (f".SH {_SEE_ALSO}", ", ".join(also))


def _escaped(text: str) -> str:
    """Return a text as troff reads it: hyphens that can be copied, and no line that commands."""
    plain = text.replace("\\", r"\e").replace("-", r"\-")
    return "\n".join(rf"\&{line}" if line[:1] in {".", "'"} else line for line in plain.split("\n"))


def write_pages(context: click.Context, folder: Path) -> None:
    """Write the pages of a command and of its subcommands."""
    command = context.command
    parts = command.list_commands(context) if isinstance(command, click.Group) else []
    if isinstance(command, click.Group):
        command.format_epilog(context, context.make_formatter())
        for part in parts:
            below = command.get_command(context, part)
            if below is not None:
                write_pages(
                    below.make_context(part, [], parent=context, resilient_parsing=True), folder
                )
    file = folder / f"{context.command_path.replace(' ', '-')}.1"
    file.write_text("\n".join([*_page(context, parts), ""]), encoding="utf-8")


def main(language: str, folder: str) -> None:
    """Write all pages in a language."""
    set_language(parse_language(language) or "en")
    translate_click()
    pages = Path(folder, *(["pt_BR"] if language != "en" else []), "man1")
    pages.mkdir(parents=True, exist_ok=True)
    write_pages(root.make_context("xlbridge", [], resilient_parsing=True), pages)


if __name__ == "__main__":
    main(*sys.argv[1:])
