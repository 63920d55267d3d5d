"""What YAML itself finds wrong in a file, said as a person who writes one understands it."""

from collections.abc import Mapping

import yaml

from xlbridge.i18n import Text
from xlbridge.yaml_files.places import IMPOSSIBLE_VALUE, OVERGROWN

_LONGEST_VALUE = 40

_NOT_YAML = Text(pt="não é YAML: {why}.", en="this is no YAML: {why}.")
_TAB = Text(
    pt="há uma tabulação; o recuo se faz só com espaços",
    en="there is a tab; only spaces indent",
)
_ODD_START = Text(
    pt="um valor não pode começar com {sign}; ponha-o entre aspas",
    en="a value cannot begin with {sign}; write it in quotes",
)
_IMPOSSIBLE = Text(
    pt="{value} não pode ser o que parece; se é um texto, ponha-o entre aspas",
    en="{value} cannot be what it looks like; if it is a text, write it in quotes",
)
_CONTROL = Text(
    pt="há um caractere de controle, U+{code}; apague-o",
    en="there is a control character, U+{code}; delete it",
)
_INDENTATION = Text(
    pt="o recuo não combina com o das linhas de cima, ou falta um dois-pontos",
    en="the indentation does not go with the lines above, or a colon is missing",
)
_UNCLOSED = Text(
    pt="falta uma vírgula, ou o que fecha a lista ou o bloco que se abriu com colchete ou chave",
    en="a comma is missing, or what closes the list or the block that a bracket or brace opened",
)

_PROBLEMS: Mapping[str, Text] = {
    OVERGROWN: Text(
        pt="é fundo demais, grande demais, ou seus apelidos (*) o fazem sem fim",
        en="it is too deep, too large, or its aliases make it endless",
    ),
    "mapping values are not allowed": Text(
        pt="há um dois-pontos onde não cabe; ponha o texto entre aspas, ou confira o recuo",
        en="a colon stands where none fits; write the text in quotes, or check the indentation",
    ),
    "block sequence entries are not allowed": Text(
        pt="o primeiro item de uma lista com - começa numa linha própria",
        en="the first item of a list with - begins on a line of its own",
    ),
    "undefined alias": Text(
        pt="o apelido (*) não tem antes dele o seu &; se é um texto, ponha-o entre aspas",
        en="the alias (*) has no & before it; if it is a text, write it in quotes",
    ),
    "expected ',' or": _UNCLOSED,
    "unexpected end of stream": Text(
        pt="as aspas que se abriram aqui não se fecham", en="the quotes opened here are not closed"
    ),
    "could not determine a constructor": Text(
        pt="marcas com ! não são aceitas; se é um texto, ponha-o entre aspas",
        en="tags with ! are not accepted; if it is a text, write it in quotes",
    ),
    "found another document": Text(
        pt="há um segundo documento; apague a linha ---",
        en="there is a second document; delete the line ---",
    ),
    "unhashable key": Text(
        pt="uma chave não é lista nem bloco; o que tem colchetes ou chaves vai entre aspas",
        en="a key cannot be a list or a block; what has brackets or braces goes in quotes",
    ),
    "unknown escape character": Text(
        pt="entre aspas duplas a barra \\ tem outro sentido; use aspas simples",
        en="between double quotes a backslash means something else; use single ones",
    ),
    "expected node content": Text(pt="falta um valor", en="a value is missing"),
    "expected key": _INDENTATION,
    "expected '-' indicator": _INDENTATION,
    "expected ':'": _INDENTATION,
}
"""What is said of the usual problems, by words that the parser tells them with."""


def problem_of(error: yaml.YAMLError, text: str) -> tuple[int, Text]:
    """Return the line, counted from 1, of what the parser found in a text, and what it is."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return line, _NOT_YAML.format(why=_CONTROL.format(code=f"{error.character:04X}"))
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return 1, _NOT_YAML.format(why=str(error))
    # What was opened and not closed is mended where it was opened.
    opened = (
        error.context_mark if "unexpected end" in str(error) or "',' or" in str(error) else None
    )
    mark = opened or error.problem_mark
    return mark.line + 1, _NOT_YAML.format(why=_why(error, _sign(text, mark.line, mark.column)))


def _why(error: yaml.MarkedYAMLError, sign: str) -> Text | str:
    problem = error.problem or str(error)
    if error.context == IMPOSSIBLE_VALUE:
        return _IMPOSSIBLE.format(value=problem[:_LONGEST_VALUE])
    if "a tab character" in problem:
        return _TAB
    if "cannot start any token" in problem:
        return _TAB if sign == "\t" else _ODD_START.format(sign=sign)
    return next((what for words, what in _PROBLEMS.items() if words in problem), problem)


def _sign(text: str, line: int, column: int) -> str:
    lines = text.splitlines()
    return lines[line][column : column + 1] if line < len(lines) else ""
