"""Texts of click itself in both languages, and the parts of a long help: groups, examples.

click asks ``gettext`` for each of its texts by its English wording. Its own translations would
be compiled catalogues, chosen by the system's locale; here an option may choose the language,
and each text stands beside its translation.
"""

import gettext
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from xlbridge.i18n import Text, untranslated

_TEXTS = (
    Text(en="Usage:", pt="Uso:"),
    Text(en="Options", pt="Opções"),
    Text(en="Positional arguments", pt="Argumentos"),
    Text(en="Commands", pt="Comandos"),
    Text(en="Show this message and exit.", pt="Mostra esta mensagem e sai."),
    Text(en="default: {default}", pt="padrão: {default}"),
    Text(en="env var: {var}", pt="variável de ambiente: {var}"),
    Text(en="required", pt="obrigatório"),
    Text(en="(dynamic)", pt="(dinâmico)"),
    Text(en="deprecated", pt="em desuso"),
    Text(
        en="DeprecationWarning: The command {name!r} is deprecated.{extra_message}",
        pt="Aviso: o comando {name!r} está em desuso.{extra_message}",
    ),
    Text(
        en="DeprecationWarning: The {param_type} {name!r} is deprecated.{extra_message}",
        pt="Aviso: {param_type} {name!r} está em desuso.{extra_message}",
    ),
    Text(en="Error: {message}", pt="Erro: {message}"),
    Text(
        en="Try '{command} {option}' for help.",
        pt="Para ajuda: '{command} {option}'.",
    ),
    Text(en="Aborted!", pt="Interrompido."),
    Text(en="Missing command.", pt="Falta o comando."),
    Text(en="Missing argument", pt="Falta o argumento"),
    Text(en="Missing option", pt="Falta a opção"),
    Text(en="Missing parameter", pt="Falta o parâmetro"),
    Text(en="Missing {param_type}", pt="Falta {param_type}"),
    Text(en="Missing parameter: {param_name}", pt="Falta o parâmetro: {param_name}"),
    Text(en="No such option {name!r}.", pt="Não há a opção {name!r}."),
    Text(en="No such command {name!r}.", pt="Não há o comando {name!r}."),
    Text(en="Did you mean {possibility}?", pt="Seria {possibility}?"),
    Text(
        en="(Did you mean one of: {possibilities}?)",
        pt="(Seria uma destas: {possibilities}?)",
    ),
    Text(
        en="Got unexpected extra argument ({args})",
        pt="Há um argumento a mais ({args})",
    ),
    Text(
        en="Got unexpected extra arguments ({args})",
        pt="Há argumentos a mais ({args})",
    ),
    Text(
        en="Option {name!r} requires an argument.",
        pt="A opção {name!r} pede um valor.",
    ),
    Text(
        en="Option {name!r} requires {nargs} arguments.",
        pt="A opção {name!r} pede {nargs} valores.",
    ),
    Text(
        en="Option {name!r} does not take a value.",
        pt="A opção {name!r} não aceita um valor.",
    ),
    Text(
        en="Argument {name!r} takes {nargs} values.",
        pt="O argumento {name!r} pede {nargs} valores.",
    ),
    Text(
        en="Takes {nargs} values but 1 was given.",
        pt="Pede {nargs} valores, e um foi dado.",
    ),
    Text(
        en="Takes {nargs} values but {len} were given.",
        pt="Pede {nargs} valores, e {len} foram dados.",
    ),
    Text(
        en="{len_type} values are required, but {len_value} was given.",
        pt="São pedidos {len_type} valores, e {len_value} foi dado.",
    ),
    Text(
        en="{len_type} values are required, but {len_value} were given.",
        pt="São pedidos {len_type} valores, e {len_value} foram dados.",
    ),
    Text(en="Value must be an iterable.", pt="O valor deve ser uma lista."),
    Text(en="Invalid value: {message}", pt="Valor inválido: {message}"),
    Text(
        en="Invalid value for {param_hint}: {message}",
        pt="Valor inválido em {param_hint}: {message}",
    ),
    Text(
        en="{value!r} is not a valid {number_type}.",
        pt="{value!r} não é um número válido ({number_type}).",
    ),
    Text(
        en="{value} is not in the range {range}.",
        pt="{value} está fora do intervalo {range}.",
    ),
    Text(en="{value!r} is not {choice}.", pt="{value!r} não é {choice}."),
    Text(
        en="{value!r} is not one of {choices}.",
        pt="{value!r} não é um destes: {choices}.",
    ),
    Text(en="Choose from:\n\t{choices}", pt="Escolha entre:\n\t{choices}"),
    Text(
        en="{value!r} does not match the format {format}.",
        pt="{value!r} não tem a forma {format}.",
    ),
    Text(
        en="{value!r} does not match the formats {formats}.",
        pt="{value!r} não tem nenhuma destas formas: {formats}.",
    ),
    Text(
        en="{value!r} is not a valid boolean. Recognized values: {states}",
        pt="{value!r} não é verdadeiro nem falso. Valores aceitos: {states}",
    ),
    Text(en="{value!r} is not a valid UUID.", pt="{value!r} não é um UUID válido."),
    Text(en="file", pt="arquivo"),
    Text(en="directory", pt="pasta"),
    Text(en="path", pt="caminho"),
    Text(
        en="{name} {filename!r} does not exist.",
        pt="{name} {filename!r}: não existe.",
    ),
    Text(en="{name} {filename!r} is a file.", pt="{name} {filename!r}: é um arquivo."),
    Text(
        en="{name} {filename!r} is a directory.",
        pt="{name} {filename!r}: é uma pasta.",
    ),
    Text(
        en="{name} {filename!r} is not readable.",
        pt="{name} {filename!r}: não pode ser lido.",
    ),
    Text(
        en="{name} {filename!r} is not writable.",
        pt="{name} {filename!r}: não pode ser gravado.",
    ),
    Text(
        en="{name} {filename!r} is not executable.",
        pt="{name} {filename!r}: não pode ser executado.",
    ),
    Text(
        en="Could not open file {filename!r}: {message}",
        pt="Não foi possível abrir o arquivo {filename!r}: {message}",
    ),
    Text(en="unknown error", pt="erro desconhecido"),
    Text(en="Do you want to continue?", pt="Continuar?"),
    Text(
        en="Confirm the action without prompting.",
        pt="Confirma sem perguntar.",
    ),
    Text(en="Repeat for confirmation", pt="Repita para confirmar"),
    Text(
        en="Error: The two entered values do not match.",
        pt="Erro: os dois valores são diferentes.",
    ),
    Text(en="Error: invalid input", pt="Erro: resposta inválida"),
    Text(en="Press any key to continue...", pt="Aperte uma tecla para continuar..."),
)
"""click's texts for users; those for programmers stay as they are."""

_METAVARS = {
    value.en: value
    for value in (
        Text(en="ADDRESS", pt="ENDEREÇO"),
        Text(en="BATCH", pt="LOTE"),
        Text(en="CODE", pt="CÓDIGO"),
        Text(en="COLUMN", pt="COLUNA"),
        Text(en="DIR", pt="PASTA"),
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

BY_ENGLISH = {text.en: text for text in _TEXTS}
"""The texts by click's own wording."""

_original_dgettext = gettext.dgettext


def translate_click() -> None:
    """Translate click's own texts into the active language from here on."""
    gettext.dgettext = _dgettext
    gettext.dngettext = _dngettext
    _OPTION.make_metavar = _translated(_option_metavar)
    _ARGUMENT.make_metavar = _translated(_argument_metavar)


_OPTION: Any = click.Parameter
_ARGUMENT: Any = click.Argument
_Metavar = Callable[[click.Parameter, click.Context], str]
_option_metavar: _Metavar = _OPTION.make_metavar
_argument_metavar: _Metavar = _ARGUMENT.make_metavar


def _translated(metavar: _Metavar) -> _Metavar:
    def translated(parameter: click.Parameter, ctx: click.Context) -> str:
        words = metavar(parameter, ctx)
        return re.sub("[A-Z]+(?: RANGE)?", lambda word: str(_METAVARS.get(word[0], word[0])), words)

    return translated


def _dgettext(domain: str, message: str) -> str:
    text = BY_ENGLISH.get(message)
    return _original_dgettext(domain, message) if text is None else str(text)


def _dngettext(domain: str, msgid1: str, msgid2: str, n: int) -> str:
    return _dgettext(domain, msgid1 if n == 1 else msgid2)


_UNWRAPPED = "\b"
"""As click knows paragraphs whose lines stay."""

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
    "map": ("map titulos.xlsx", "map titulos.xlsx -o titulos.yaml"),
    "upload": (
        "upload receber.xlsx",
        "upload receber.xlsx --mode preview",
        "upload receber.xlsx --annotate receber-enviado.xlsx",
    ),
    "jobs": ("jobs", f"jobs {_JOB}"),
    "resume": ("resume", f"resume {_JOB}"),
    "retry": (f"retry {_JOB}", f"retry {_JOB} --file receber-corrigido.xlsx"),
    "resolve": (f'resolve {_JOB} --as applied --reason "Ana conferiu"',),
    "process": (
        "process pedidos pedidos.xlsx --plan",
        "process nfe --id 1831,1833",
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
"""Command lines without the program's name, by command; of the program itself by no name."""


def examples_of(command: str) -> str | None:
    """Return the end of the help of a command, None where it has no example."""
    lines = EXAMPLES.get(command, ())
    title = Text(pt="Exemplos:", en="Examples:") if len(lines) > 1 else _ONE
    shown = (f"  xlbridge {line}" for line in lines)
    return "\n".join((_UNWRAPPED, str(title), *shown)) if lines else None


_ONE = Text(pt="Exemplo:", en="Example:")


_MOST_UNGROUPED = 8
_WIDEST = 30
"""As click has it: a longer option has its help below."""

_GROUPS: Sequence[tuple[Text, frozenset[str]]] = (
    (
        Text(pt="A planilha e como é lida", en="The sheet and how it is read"),
        frozenset(
            {"--resource", "--sheet", "--all-sheets", "--map", "--dates", "--numbers", "--file"}
            | {"--delimiter", "--encoding", "--link"}
        ),
    ),
    (
        Text(pt="O que é conferido e gravado", en="What is checked and written"),
        frozenset(
            {"--online", "--fix", "--annotate", "--output", "--format", "--limit", "--force"}
            | {"--csv-dialect", "--manifest", "--flat", "--as-template", "--attachments"}
            | {"--with-files", "--keep", "--compare", "--with-lists"}
        ),
    ),
    (
        Text(pt="Quais registros", en="Which records"),
        frozenset(
            {"--from", "--to", "--branch", "--client", "--supplier", "--product", "--account"}
            | {"--cost-centre", "--category", "--project", "--year", "--document", "--idws"}
            | {"--id", "--active", "--with-balance", "--not-emitted", "--settled", "--since-last"}
            | {"--keep-unknown"}
        ),
    ),
    (
        Text(pt="O que é enviado", en="What is sent"),
        frozenset(
            {"--mode", "--update", "--clear", "--create-unread", "--good-rows", "--again"}
            | {"--chunk-rows", "--read-back", "--preview", "--wait"}
            | {"--all-or-nothing"}
        ),
    ),
    (
        Text(pt="Confirmação", en="Consent"),
        frozenset({"--yes", "--confirm", "--list-rows", "--plan"}),
    ),
    (
        Text(pt="Falhas e sistema de ensaio", en="Faults and practice system"),
        frozenset(
            {"--faults", "--seed", "--seed-number", "--kill", "--db", "--stand-ins", "--strict"}
            | {"--scale", "--token-lifetime", "--request-timeout"}
        ),
    ),
    (
        Text(pt="Ambiente e computador", en="Environment and computer"),
        frozenset(
            {"--profile", "--ca-bundle", "--timeout", "--schemas", "--workers", "--scheduler"}
            | {
                "--port",
                "--expose",
                "--host-name",
                "--ready-file",
                "--while-stdin-open",
                "--at-once",
            }
        ),
    ),
)
"""Groups of options by title, in the order of a help; an option of none comes before them."""

_OTHERS = Text(pt="Opções", en="Options")


def format_in_groups(
    command: click.Command, context: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command in groups, where there are many."""
    groups: dict[str, list[tuple[str, str]]] = {}
    many = len(command.params) > _MOST_UNGROUPED
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is not None and not isinstance(option, click.Argument):
            title = _title_of(option) if many else _OTHERS
            groups.setdefault(str(title), []).append(record)
    widest = max(min(len(term), _WIDEST) for records in groups.values() for term, _ in records)
    for title in (_OTHERS, *(title for title, _ in _GROUPS)):
        if records := groups.get(str(title)):
            # One term as wide as the widest of all lines the groups up with one another.
            aligned = [(records[0][0].ljust(widest), records[0][1]), *records[1:]]
            with formatter.section(str(title)):
                formatter.write_dl(aligned)


def _title_of(option: click.Parameter) -> Text:
    for title, names in _GROUPS:
        if names.intersection(option.opts):
            return title
    return _OTHERS
