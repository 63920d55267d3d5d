"""Texts of click itself, in both languages.

click asks ``gettext`` for each of its texts by its English wording. Its own translations would
be compiled catalogues, chosen by the system's locale; here an option may choose the language,
and each text stands beside its translation.
"""

import gettext
import re
from collections.abc import Callable
from typing import Any

import click

from xlbridge.i18n import Text

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
} | dict.fromkeys(("INTEGER", "INTEGER RANGE"), Text(pt="N", en="N"))
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
