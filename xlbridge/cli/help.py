"""Help at the prompt: texts, examples and option groups of commands, click's own texts translated,
and completion of names in the shell.

click looks up its texts in ``gettext`` by their English wording. Compiled catalogues would follow
the system's locale, but here an option may choose the language. click completes in bash, zsh and
fish; PowerShell is added here. If the names cannot be read, completion is empty and shows no
message.
"""

import gettext
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    split_arg_string,
)

from xlbridge.cli.output import visible
from xlbridge.errors import XlbridgeError
from xlbridge.i18n import Text, untranslated

COMMANDS: Mapping[str, Text] = {
    "resources": Text(pt="O que se pode importar.", en="What can be imported."),
    "template": Text(pt="Grava um modelo de planilha.", en="Writes a blank import workbook."),
    "validate": Text(pt="Confere planilhas no próprio computador.", en="Checks workbooks locally."),
    "map": Text(
        pt="Propõe como ler uma planilha com outro cabeçalho.",
        en="Proposes how to read a sheet with another header.",
    ),
    "upload": Text(pt="Confere um arquivo e o envia.", en="Validates a workbook and sends it."),
    "jobs": Text(
        pt="Os envios feitos e a situação de cada um.", en="Past uploads and their state."
    ),
    "resume": Text(pt="Continua um envio interrompido.", en="Continues an interrupted upload."),
    "retry": Text(
        pt="Envia de novo só as linhas rejeitadas e corrigidas.",
        en="Sends only the rejected rows that have been fixed.",
    ),
    "resolve": Text(pt="Decide um envio em dúvida.", en="Decides an upload in doubt."),
    "process": Text(
        pt="Processa pedidos, notas, inventários e arquivos em lote.",
        en="Processes orders, invoices, inventories and files in bulk.",
    ),
    "undo": Text(pt="Desfaz o que um envio gravou.", en="Undoes what an upload wrote."),
    "ui": Text(
        pt="O mesmo trabalho numa página do navegador.", en="The same work in a browser page."
    ),
    "batch": Text(
        pt="Muitos arquivos e exportações, descritos num plano.",
        en="Many workbooks and exports, described in a plan.",
    ),
    "listings": Text(
        pt="O que se pode exportar, com os filtros.", en="What can be exported, with the filters."
    ),
    "export": Text(pt="Exporta uma listagem.", en="Exports a listing."),
    "sandbox": Text(
        pt="Inicia o ambiente de testes neste computador.",
        en="Runs the sandbox on this computer.",
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
"""Summary of each command, one line."""

_PORTUGUESE: Mapping[str, str] = {
    "Usage:": "Uso:",
    "Options": "Opções",
    "Positional arguments": "Argumentos",
    "Commands": "Comandos",
    "Show this message and exit.": "Mostra esta mensagem e sai.",
    "default: {default}": "padrão: {default}",
    "env var: {var}": "variável de ambiente: {var}",
    "required": "obrigatório",
    "(dynamic)": "(dinâmico)",
    "deprecated": "em desuso",
    "DeprecationWarning: The command {name!r} is deprecated.{extra_message}": (
        "Aviso: o comando {name!r} está em desuso.{extra_message}"
    ),
    "DeprecationWarning: The {param_type} {name!r} is deprecated.{extra_message}": (
        "Aviso: {param_type} {name!r} está em desuso.{extra_message}"
    ),
    "Error: {message}": "Erro: {message}",
    "Try '{command} {option}' for help.": "Para ajuda: '{command} {option}'.",
    "Aborted!": "Interrompido.",
    "Missing command.": "Falta o comando.",
    "Missing argument": "Falta o argumento",
    "Missing option": "Falta a opção",
    "Missing parameter": "Falta o parâmetro",
    "Missing {param_type}": "Falta {param_type}",
    "Missing parameter: {param_name}": "Falta o parâmetro: {param_name}",
    "No such option {name!r}.": "Não há a opção {name!r}.",
    "No such command {name!r}.": "Não há o comando {name!r}.",
    "Did you mean {possibility}?": "Seria {possibility}?",
    "(Did you mean one of: {possibilities}?)": "(Seria uma destas: {possibilities}?)",
    "Got unexpected extra argument ({args})": "Há um argumento a mais ({args})",
    "Got unexpected extra arguments ({args})": "Há argumentos a mais ({args})",
    "Option {name!r} requires an argument.": "A opção {name!r} pede um valor.",
    "Option {name!r} requires {nargs} arguments.": "A opção {name!r} pede {nargs} valores.",
    "Option {name!r} does not take a value.": "A opção {name!r} não aceita um valor.",
    "Argument {name!r} takes {nargs} values.": "O argumento {name!r} pede {nargs} valores.",
    "Takes {nargs} values but 1 was given.": "Pede {nargs} valores, e um foi dado.",
    "Takes {nargs} values but {len} were given.": "Pede {nargs} valores, e {len} foram dados.",
    "{len_type} values are required, but {len_value} was given.": (
        "São pedidos {len_type} valores, e {len_value} foi dado."
    ),
    "{len_type} values are required, but {len_value} were given.": (
        "São pedidos {len_type} valores, e {len_value} foram dados."
    ),
    "Value must be an iterable.": "O valor deve ser uma lista.",
    "Invalid value: {message}": "Valor inválido: {message}",
    "Invalid value for {param_hint}: {message}": "Valor inválido em {param_hint}: {message}",
    "{value!r} is not a valid {number_type}.": "{value!r} não é um número válido ({number_type}).",
    "{value} is not in the range {range}.": "{value} está fora do intervalo {range}.",
    "{value!r} is not {choice}.": "{value!r} não é {choice}.",
    "{value!r} is not one of {choices}.": "{value!r} não é um destes: {choices}.",
    "Choose from:\n\t{choices}": "Escolha entre:\n\t{choices}",
    "{value!r} does not match the format {format}.": "{value!r} não tem a forma {format}.",
    "{value!r} does not match the formats {formats}.": (
        "{value!r} não tem nenhuma destas formas: {formats}."
    ),
    "{value!r} is not a valid boolean. Recognized values: {states}": (
        "{value!r} não é verdadeiro nem falso. Valores aceitos: {states}"
    ),
    "{value!r} is not a valid UUID.": "{value!r} não é um UUID válido.",
    "file": "arquivo",
    "directory": "pasta",
    "path": "caminho",
    "{name} {filename!r} does not exist.": "{name} {filename!r}: não existe.",
    "{name} {filename!r} is a file.": "{name} {filename!r}: é um arquivo.",
    "{name} {filename!r} is a directory.": "{name} {filename!r}: é uma pasta.",
    "{name} {filename!r} is not readable.": "{name} {filename!r}: não pode ser lido.",
    "{name} {filename!r} is not writable.": "{name} {filename!r}: não pode ser gravado.",
    "{name} {filename!r} is not executable.": "{name} {filename!r}: não pode ser executado.",
    "Could not open file {filename!r}: {message}": (
        "Não foi possível abrir o arquivo {filename!r}: {message}"
    ),
    "unknown error": "erro desconhecido",
    "Do you want to continue?": "Continuar?",
    "Confirm the action without prompting.": "Confirma sem perguntar.",
    "Repeat for confirmation": "Repita para confirmar",
    "Error: The two entered values do not match.": "Erro: os dois valores são diferentes.",
    "Error: invalid input": "Erro: resposta inválida",
    "Press any key to continue...": "Aperte uma tecla para continuar...",
}
"""Translations of click's texts for users, by English wording."""

_METAVARS = {
    value.en: value
    for value in (
        Text(en="ADDRESS", pt="ENDEREÇO"),
        Text(en="BATCH", pt="LOTE"),
        Text(en="CODE", pt="CÓDIGO"),
        Text(en="COLUMN", pt="COLUNA"),
        Text(en="FILE", pt="ARQUIVO"),
        Text(en="FILES", pt="ARQUIVOS"),
        Text(en="FOLDER", pt="PASTA"),
        Text(en="JOB", pt="ENVIO"),
        Text(en="LISTING", pt="LISTAGEM"),
        Text(en="MAPPING", pt="MAPEAMENTO"),
        Text(en="NAME", pt="NOME"),
        Text(en="OLD", pt="ANTIGO"),
        Text(en="PATH", pt="CAMINHO"),
        Text(en="PLAN", pt="PLANO"),
        Text(en="REASON", pt="MOTIVO"),
        Text(en="RESOURCE", pt="RECURSO"),
        Text(en="ROWS", pt="LINHAS"),
        Text(en="SECONDS", pt="SEGUNDOS"),
        Text(en="SHEET", pt="PLANILHA"),
        Text(en="TEXT", pt="TEXTO"),
        Text(en="VALUE", pt="VALOR"),
        Text(en="YYYY", pt="AAAA"),
    )
} | dict.fromkeys(("INTEGER", "INTEGER RANGE"), untranslated("N"))
"""Names of the values of options and arguments in help texts."""

BY_ENGLISH = {english: Text(pt=pt, en=english) for english, pt in _PORTUGUESE.items()}
"""The texts by English wording."""

_original_dgettext = gettext.dgettext


def translate_click() -> None:
    """Translate click's own texts into the active language from now on."""
    gettext.dgettext = _dgettext
    gettext.dngettext = lambda domain, msgid1, msgid2, n: _dgettext(
        domain, msgid1 if n == 1 else msgid2
    )
    _OPTION.make_metavar = _translated(_option_metavar)
    _ARGUMENT.make_metavar = _translated(_argument_metavar)


_OPTION: Any = click.Parameter
_ARGUMENT: Any = click.Argument
_Metavar = Callable[[click.Parameter, click.Context], str]
_option_metavar: _Metavar = _OPTION.make_metavar
_argument_metavar: _Metavar = _ARGUMENT.make_metavar


def _translated(metavar: _Metavar) -> _Metavar:
    def translated(parameter: click.Parameter, ctx: click.Context) -> str:
        text = metavar(parameter, ctx)
        return re.sub("[A-Z]+(?: RANGE)?", lambda word: str(_METAVARS.get(word[0], word[0])), text)

    return translated


def _dgettext(domain: str, message: str) -> str:
    text = BY_ENGLISH.get(message)
    return _original_dgettext(domain, message) if text is None else str(text)


_UNWRAPPED = "\b"
"""Start of a paragraph that click does not rewrap."""

_JOB = "20261101-093000-a1b2"
EXAMPLES: Mapping[str, Sequence[str]] = {
    "": ("ui", "validate receber.xlsx", "upload receber.xlsx"),
    "resources": ("resources", "resources --format json"),
    "resources new": ("resources new --from fornecedores.xlsx -o fornecedor.yaml",),
    "template": ("template cliente", "template contasreceber --with-lists -o receber.xlsx"),
    "validate": (
        "validate receber.xlsx",
        "validate receber.xlsx --fix receber-2.xlsx --dates dmy",
        "validate *.xlsx --format html -o achados.html",
        "validate titulos.xlsx --map titulos.yaml",
    ),
    "map": ("map titulos.xlsx", "map titulos.xlsx --online -o titulos.yaml"),
    "upload": (
        "upload receber.xlsx",
        "upload receber.xlsx --mode preview",
        "upload receber.xlsx --annotate receber-enviado.xlsx",
        "upload pagar-a-excluir.xlsx --delete",
    ),
    "jobs": ("jobs", f"jobs {_JOB}"),
    "resume": ("resume", f"resume {_JOB}"),
    "retry": (f"retry {_JOB}", f"retry {_JOB} --file receber-corrigido.xlsx"),
    "resolve": (f'resolve {_JOB} --as applied --reason "Ana conferiu"',),
    "process": (
        "process pedidos pedidos.xlsx --plan",
        "process nfe --id 1831,1833",
        "process saida-estornar movimentacoes.xlsx --plan",
    ),
    "undo": (f"undo {_JOB}",),
    "ui": ("ui",),
    "batch": ("batch plan mes.yaml --month 2026-10", "batch run mes.yaml --month 2026-10"),
    "batch plan": ("batch plan mes.yaml --month 2026-10",),
    "batch run": ("batch run mes.yaml --month 2026-10",),
    "batch resume": ("batch resume", "batch resume fechamento-2026-10"),
    "batch status": ("batch status", "batch status fechamento-2026-10"),
    "batch proof": ("batch proof", "batch proof fechamento-2026-10"),
    "batch rehearse": ("batch rehearse mes.yaml --month 2026-10",),
    "listings": ("listings", "listings --format json"),
    "export": (
        "export clientes -o clientes.xlsx",
        "export contasreceber --branch 1 -o receber.csv --csv-dialect pt-br",
    ),
    "sandbox": ("sandbox", "sandbox --port 8484"),
    "login": ("login", "login --profile prod --url https://api.empresa.com.br"),
    "profiles": ("profiles", "profiles --default homologacao"),
    "whoami": ("whoami", "whoami --profile prod"),
    "api": ("api GET /v2/sistema/info",),
    "doctor": ("doctor", "doctor --format json"),
}
"""Command lines without the program's name, by command; those of the root under an empty name."""


def examples_of(command: str) -> str | None:
    """Return the examples at the end of a command's help, None if there are none."""
    lines = EXAMPLES.get(command, ())
    if not lines:
        return None
    title = Text(pt="Exemplos:", en="Examples:") if len(lines) > 1 else _EXAMPLE
    return "\n".join((_UNWRAPPED, str(title), *(f"  xlbridge {line}" for line in lines)))


_EXAMPLE = Text(pt="Exemplo:", en="Example:")


_MAX_UNGROUPED = 8
_MAX_TERM_WIDTH = 30
"""click's limit: the help of a longer option starts below it."""

WHAT_IS_SENT = Text(pt="O que é enviado", en="What is sent")

_GROUPS: Sequence[tuple[Text, frozenset[str]]] = (
    (
        Text(pt="A planilha e como é lida", en="The sheet and how it is read"),
        frozenset(
            {
                "--resource",
                "--sheet",
                "--all-sheets",
                "--map",
                "--dates",
                "--numbers",
                "--accept",
                "--file",
            }
            | {"--delimiter", "--encoding", "--link"}
        ),
    ),
    (
        Text(pt="O que é conferido e gravado", en="What is checked and written"),
        frozenset(
            {
                "--online",
                "--fix",
                "--annotate",
                "--output",
                "--into",
                "--format",
                "--limit",
                "--force",
            }
            | {"--csv-dialect", "--manifest", "--flat", "--as-template", "--attachments"}
            | {"--with-files", "--keep", "--with-lists"}
        ),
    ),
    (
        Text(pt="Quais registros", en="Which records"),
        frozenset(
            {"--from", "--to", "--branch", "--client", "--supplier", "--product", "--account"}
            | {"--cost-centre", "--category", "--project", "--year", "--document", "--idws"}
            | {"--id", "--active", "--with-balance", "--not-emitted", "--settled", "--since-last"}
            | {"--keep-unknown", "--unfinished"}
        ),
    ),
    (
        WHAT_IS_SENT,
        frozenset({"--again", "--all-or-nothing"}),
    ),
    (
        Text(pt="Confirmação", en="Consent"),
        frozenset({"--yes", "--confirm", "--list-rows", "--plan"}),
    ),
    (
        Text(pt="Falhas e ambiente de testes", en="Faults and sandbox"),
        frozenset(
            {"--faults", "--seed", "--db", "--stand-ins", "--strict"}
            | {"--scale", "--token-lifetime"}
        ),
    ),
    (
        Text(pt="Ambiente e computador", en="Environment and computer"),
        frozenset(
            {"--profile", "--ca-bundle", "--timeout", "--schemas", "--workers", "--scheduler"}
            | {"--port", "--expose", "--host-name", "--ready-file", "--while-stdin-open"}
            | {"--at-once"}
        ),
    ),
    (Text(pt="Mensagens", en="Messages"), frozenset({"--quiet", "--verbose", "--log-file"})),
)
"""Groups of options by title, in order; other options come first, unless they have a ``group``."""

_OTHERS = Text(pt="Opções", en="Options")


def format_in_groups(
    command: click.Command, context: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command, in groups if there are many."""
    groups: dict[str, list[tuple[str, str]]] = {}
    many = len(command.params) > _MAX_UNGROUPED
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is not None and not isinstance(option, click.Argument):
            title = _OTHERS
            if many:
                fitting = (group for group, names in _GROUPS if names.intersection(option.opts))
                title = next(fitting, getattr(option, "group", _OTHERS))
            groups.setdefault(str(title), []).append(record)
    width = max(
        min(len(term), _MAX_TERM_WIDTH) for records in groups.values() for term, _ in records
    )
    for title in (_OTHERS, *(title for title, _ in _GROUPS)):
        if records := groups.get(str(title)):
            # Padding one term to the widest of all aligns the groups with one another.
            aligned = [(records[0][0].ljust(width), records[0][1]), *records[1:]]
            with formatter.section(str(title)):
                formatter.write_dl(aligned)


COMPLETION_VARIABLE = "_XLBRIDGE_COMPLETE"
"""Set by a shell that requests completions; click derives it from the program's name."""

_Names = Iterable[tuple[str, object]]
_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completion(names: Callable[[], _Names]) -> _Complete:
    """Return a completion of names, which come with a description."""

    def complete(
        _context: click.Context, _parameter: click.Parameter, prefix: str
    ) -> list[CompletionItem]:
        items: list[CompletionItem] = []
        with suppress(XlbridgeError, OSError):
            items += (
                CompletionItem(name, help=visible(description))
                for name, description in names()
                if name.startswith(prefix)
            )
        return items

    return complete


@_completion
def complete_resources() -> Iterator[tuple[str, object]]:
    from xlbridge.resources import load_catalogue
    from xlbridge.settings import read_settings

    for resource in load_catalogue(read_settings().schemas).values():
        yield resource.name, resource.title


@_completion
def complete_listings() -> Iterator[tuple[str, object]]:
    from xlbridge.export import LISTINGS

    for listing in LISTINGS.values():
        yield listing.name, listing.title


@_completion
def complete_kinds() -> Iterator[tuple[str, object]]:
    from xlbridge.upload.process_kinds import KINDS

    for kind in KINDS.values():
        yield kind.name, kind.final


@_completion
def complete_profiles() -> Iterator[tuple[str, object]]:
    from xlbridge.profiles import read_profile_file
    from xlbridge.settings import read_settings

    for name, profile in read_profile_file(read_settings()).profiles.items():
        yield name, profile.base_url


@_completion
def complete_jobs() -> Iterator[tuple[str, object]]:
    from xlbridge.profiles import choose_profile, settings_for
    from xlbridge.settings import read_settings
    from xlbridge.upload import Journal

    settings = read_settings()
    path = settings_for(settings, choose_profile(settings)).journal
    if path.exists():
        with closing(Journal(path)) as journal:
            for job in journal.jobs():
                yield job.id, f"{job.spec.resource} {job.spec.file}"


@_completion
def complete_batches() -> Iterator[tuple[str, object]]:
    from xlbridge.batch import open_ledger
    from xlbridge.settings import read_settings

    with open_ledger(read_settings(), creates=False) as ledger:
        for batch in ledger.batches():
            yield batch.id, batch.plan


_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $line, $cursor)
    $env:%(complete_var)s = "powershell_complete"
    $env:COMP_LINE = $line.ToString()
    $env:COMP_WORD = $word
    try {
        %(prog_name)s | Where-Object { $_ } | ForEach-Object {
            $kind, $value, $about = $_ -split "`t", 3
            [System.Management.Automation.CompletionResult]::new(
                $value, $value, "ParameterValue", $(if ($about) { $about } else { $value }))
        }
    } finally {
        Remove-Item Env:%(complete_var)s, Env:COMP_LINE, Env:COMP_WORD
    }
}
"""


class _PowerShellComplete(ShellComplete):
    """Completion for PowerShell, which completes paths itself if there are no names."""

    name = "powershell"
    source_template = _POWERSHELL

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words, and the incomplete one."""
        words = split_arg_string(os.environ.get("COMP_LINE", ""))[1:]
        incomplete = os.environ.get("COMP_WORD", "")
        return words[:-1] if incomplete and words else words, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """Return the output line of an item."""
        return f"{item.type}\t{item.value}\t{item.help or ''}"

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        """Return the names, without paths."""
        items = super().get_completions(args, incomplete)
        return [item for item in items if item.type == "plain"]


def add_powershell_completion() -> None:
    """Register PowerShell with click."""
    add_completion_class(_PowerShellComplete)
