"""YAML documents with the line of each part, and the parser's errors in plain words.

Safe to load: no tags, no endless or overgrown documents, keys are always texts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import yaml

from xlbridge.i18n import Text

YamlPath = Sequence[str | int]
"""The keys and indexes that lead to a part of a document."""

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast loader, where this PyYAML was built with it."""

_MAX_PARTS = 100_000
"""The most keys, values and lists of a document; those in several places count in each."""

_MAX_DEPTH = 100
"""The deepest nesting of blocks and lists."""


_INVALID_VALUE = "impossible value"
_TOO_COMPLEX = "overgrown"
"""Context and problem of the ``YAMLError`` that is raised for a document."""

_TEXT_TAG = "tag:yaml.org,2002:str"
_MERGE_TAG = "tag:yaml.org,2002:merge"


class _Loader(_BaseLoader):  # type: ignore[misc]
    """Loader that names the place of a value which cannot be what it looks like: 2026-02-31."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(
                _INVALID_VALUE, None, str(node.value), node.start_mark
            ) from error


class _DatelessLoader(_Loader):
    """Loader that leaves dates as the text that they are written as."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, form) for tag, form in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in _BaseLoader.yaml_implicit_resolvers.items()
    }


class YamlDocument:
    """A YAML document as text; without ``dates`` those are the text that they are written as.

    Keys are texts, whatever YAML takes them for: ``2026``, ``no`` and ``null`` are names, too.

    Raises ``yaml.YAMLError`` when it is none, when aliases make it endless or far larger than its
    text, when its parts stand in one another too deeply, or when a value is not of the kind that
    it is said to be.
    """

    def __init__(self, text: str, *, dates: bool = True) -> None:
        loader = (_Loader if dates else _DatelessLoader)(text)
        try:
            self._root = loader.get_single_node()
            self.content: Any = None
            if self._root is not None:
                _check_size(self._root)
                for node in _parts(self._root):
                    if isinstance(node, yaml.MappingNode):
                        for key, _ in node.value:
                            if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE_TAG:
                                key.tag = _TEXT_TAG
                self.content = loader.construct_document(self._root)
        finally:
            loader.dispose()

    def line(self, place: YamlPath) -> int:
        """Return the line, counted from 1, of a part or of the nearest one around it.

        A key's line is that of its name.
        """
        node, line = self._root, 1
        for step in place:
            found = _child(node, step)
            if found is None:
                break
            key, node = found
            line = (key or node).start_mark.line + 1
        return line

    def repeated_keys(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the name of every key that is repeated in its block."""
        for node in [] if self._root is None else _parts(self._root):
            if isinstance(node, yaml.MappingNode):
                seen = set()
                for key, _ in node.value:
                    if key.value in seen:
                        yield key.start_mark.line + 1, str(key.value)
                    seen.add(key.value)


def _parts(root: yaml.Node) -> Iterator[yaml.Node]:
    """Yield every block, list and value of a document that is not endless."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, yaml.MappingNode):
            waiting.extend(value for _, value in node.value)
        elif isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)


def _check_size(root: yaml.Node) -> None:
    waiting, parts = [(root, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        parts += 1
        if parts > _MAX_PARTS or depth > _MAX_DEPTH:
            raise yaml.composer.ComposerError(None, None, _TOO_COMPLEX, node.start_mark)
        if isinstance(node, yaml.CollectionNode):
            for item in node.value:
                inner = item if isinstance(item, tuple) else [item]
                waiting.extend((part, depth + 1) for part in inner)


def _child(node: yaml.Node | None, step: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((k, v) for k, v in node.value if k.value == str(step)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None


_MAX_VALUE_LENGTH = 40

_NOT_YAML = Text(pt="não é um YAML válido: {why}.", en="this is not valid YAML: {why}.")
_TAB = Text(
    pt="há uma tabulação; o recuo se faz só com espaços",
    en="there is a tab; only spaces indent",
)
_ODD_START = Text(
    pt="um valor não pode começar com {sign}; ponha-o entre aspas",
    en="a value cannot begin with {sign}; write it in quotes",
)
_INVALID_VALUE_TEXT = Text(
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
    _TOO_COMPLEX: Text(
        pt="tem níveis demais, é grande demais, ou os seus apelidos (*) o tornam infinito",
        en="it is nested too deeply, too large, or its aliases make it endless",
    ),
    "mapping values are not allowed": Text(
        pt="há um dois-pontos onde não cabe; ponha o texto entre aspas, ou confira o recuo",
        en="there is a colon where none is allowed; write the text in quotes, or check the "
        "indentation",
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
"""Explanations of the usual problems, by words of the parser's own messages."""


def parser_problem(error: yaml.YAMLError, text: str) -> tuple[int, Text]:
    """Return the line, counted from 1, of a parser's error in a text, and its explanation."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return line, _NOT_YAML.format(why=_CONTROL.format(code=f"{error.character:04X}"))
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return 1, _NOT_YAML.format(why=str(error))
    # Whatever was opened and not closed is corrected where it was opened.
    opened = (
        error.context_mark if "unexpected end" in str(error) or "',' or" in str(error) else None
    )
    mark = opened or error.problem_mark
    return mark.line + 1, _NOT_YAML.format(
        why=_why(error, _character_at(text, mark.line, mark.column))
    )


def _why(error: yaml.MarkedYAMLError, sign: str) -> Text | str:
    problem = error.problem or str(error)
    if error.context == _INVALID_VALUE:
        return _INVALID_VALUE_TEXT.format(value=problem[:_MAX_VALUE_LENGTH])
    if "a tab character" in problem:
        return _TAB
    if "cannot start any token" in problem:
        return _TAB if sign == "\t" else _ODD_START.format(sign=sign)
    return next((message for words, message in _PROBLEMS.items() if words in problem), problem)


def _character_at(text: str, line: int, column: int) -> str:
    lines = text.splitlines()
    return lines[line][column : column + 1] if line < len(lines) else ""
