"""Reading of YAML files: documents with the lines of their parts, and the parser's errors in plain
words.

Loading is safe: no tags, no endless or huge documents, keys are always texts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import yaml

from xlbridge.errors import os_error_reason
from xlbridge.i18n import Text

YamlPath = Sequence[str | int]
"""Keys and indexes of the path to a part of a document."""

_BaseLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast loader, if PyYAML was built with it."""

_MAX_PARTS = 100_000
"""Maximum number of keys, values and lists in a document; aliased ones count every time."""

_MAX_DEPTH = 100
"""Maximum nesting of blocks and lists."""

_INVALID_VALUE = "impossible value"
_TOO_COMPLEX = "too complex"
"""Context and problem of our own ``YAMLError``."""

_TEXT_TAG = "tag:yaml.org,2002:str"
_MERGE_TAG = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class Mistake:
    """Mistake in a file; the line is counted from 1, the place is a path of keys."""

    line: int
    place: str
    message: Text


class _Loader(_BaseLoader):  # type: ignore[misc]
    """Loader that reports the line of a value that is invalid for its form, such as 2026-02-31."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except ValueError as error:
            raise yaml.constructor.ConstructorError(
                _INVALID_VALUE, None, str(node.value), node.start_mark
            ) from error


class _DatelessLoader(_Loader):
    """Loader that keeps dates as texts."""

    yaml_implicit_resolvers: ClassVar = {
        first: [(tag, form) for tag, form in known if tag != "tag:yaml.org,2002:timestamp"]
        for first, known in _BaseLoader.yaml_implicit_resolvers.items()
    }


class YamlDocument:
    """A YAML document; without ``dates``, dates stay texts.

    Keys are always texts: ``2026``, ``no`` and ``null`` are names, too.

    Raises ``yaml.YAMLError`` if the text is not YAML, the document is endless, too large or too
    deeply nested, or a value is invalid for its type.
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

    def line(self, path: YamlPath) -> int:
        """Return the line, counted from 1, of the part at a path, or of the nearest parent."""
        node, line = self._root, 1
        for step in path:
            children: list[tuple[yaml.Node, yaml.Node]] = []
            if isinstance(node, yaml.MappingNode):
                children = [(key, part) for key, part in node.value if key.value == str(step)]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                children = [(part, part) for part in node.value[step : step + 1]]
            if not children:
                break
            start, node = children[0]
            line = start.start_mark.line + 1
        return line

    def repeated_keys(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the name of every repeated key."""
        for node in [] if self._root is None else _parts(self._root):
            if isinstance(node, yaml.MappingNode):
                seen = set()
                for key, _ in node.value:
                    if key.value in seen:
                        yield key.start_mark.line + 1, str(key.value)
                    seen.add(key.value)


def _parts(root: yaml.Node) -> Iterator[yaml.Node]:
    """Yield every block, list and value of a finite document."""
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


_MAX_VALUE_LENGTH = 40

_NOT_YAML = Text(pt="não é um YAML válido: {why}.", en="this is not valid YAML: {why}.")
_TAB = Text(
    pt="há uma tabulação; o recuo deve ter só espaços",
    en="there is a tab; indentation must use spaces",
)
_ODD_START = Text(
    pt="um valor não pode começar com {sign}; ponha-o entre aspas",
    en="a value cannot begin with {sign}; write it in quotes",
)
_INVALID_VALUE_TEXT = Text(
    pt="{value} não é um valor válido; se é um texto, ponha-o entre aspas",
    en="{value} is not a valid value; if it is a text, write it in quotes",
)
_CONTROL = Text(
    pt="há um caractere de controle, U+{code}; apague-o",
    en="there is a control character, U+{code}; delete it",
)
_INDENTATION = Text(
    pt="o recuo não combina com o das linhas de cima, ou falta um dois-pontos",
    en="the indentation does not match the lines above, or a colon is missing",
)
_UNCLOSED = Text(
    pt="falta uma vírgula, ou o colchete ou a chave que fecha a lista ou o bloco",
    en="a comma is missing, or the closing bracket or brace of the list or block",
)

_PROBLEMS: Mapping[str, Text] = {
    _TOO_COMPLEX: Text(
        pt="tem níveis demais, é grande demais, ou os seus apelidos (*) o tornam infinito",
        en="it is too deeply nested, too large, or its aliases make it endless",
    ),
    "mapping values are not allowed": Text(
        pt="há um dois-pontos onde não é permitido; ponha o texto entre aspas, ou confira o recuo",
        en="there is a colon where none is allowed; write the text in quotes, or check the "
        "indentation",
    ),
    "block sequence entries are not allowed": Text(
        pt="o primeiro item de uma lista com - deve começar numa linha nova",
        en="the first item of a list with - must begin on a new line",
    ),
    "undefined alias": Text(
        pt="o apelido (*) não tem uma âncora (&) antes dele; se é um texto, ponha-o entre aspas",
        en="the alias (*) has no anchor (&) before it; if it is a text, write it in quotes",
    ),
    "expected ',' or": _UNCLOSED,
    "unexpected end of stream": Text(
        pt="as aspas abertas aqui não são fechadas", en="the quotes opened here are not closed"
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
        pt="uma chave não pode ser lista nem bloco; se tem colchetes ou chaves, use aspas",
        en="a key cannot be a list or a block; if it has brackets or braces, use quotes",
    ),
    "unknown escape character": Text(
        pt="entre aspas duplas a barra \\ tem outro sentido; use aspas simples",
        en="in double quotes a backslash has another meaning; use single quotes",
    ),
    "expected node content": Text(pt="falta um valor", en="a value is missing"),
    "expected key": _INDENTATION,
    "expected '-' indicator": _INDENTATION,
    "expected ':'": _INDENTATION,
}
"""Explanations of common problems, by words of the parser's messages."""


def parser_problem(error: yaml.YAMLError, text: str) -> tuple[int, Text]:
    """Return the line, counted from 1, and the explanation of a parser's error."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return line, _NOT_YAML.format(why=_CONTROL.format(code=f"{error.character:04X}"))
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return 1, _NOT_YAML.format(why=str(error))
    # An unclosed part is corrected where it was opened.
    opened = (
        error.context_mark if "unexpected end" in str(error) or "',' or" in str(error) else None
    )
    mark = opened or error.problem_mark
    problem = error.problem or str(error)
    sign = "".join(text.splitlines()[mark.line : mark.line + 1])[mark.column : mark.column + 1]
    why: Text | str
    if error.context == _INVALID_VALUE:
        why = _INVALID_VALUE_TEXT.format(value=problem[:_MAX_VALUE_LENGTH])
    elif "a tab character" in problem:
        why = _TAB
    elif "cannot start any token" in problem:
        why = _TAB if sign == "\t" else _ODD_START.format(sign=sign)
    else:
        why = next((text for words, text in _PROBLEMS.items() if words in problem), problem)
    return mark.line + 1, _NOT_YAML.format(why=why)


_MAX_BYTES = 1_000_000
_NOT_UTF_8 = Text(
    pt="o arquivo não é texto em UTF-8; salve-o como UTF-8.",
    en="the file is not UTF-8 text; save it as UTF-8.",
)
_TOO_LARGE = Text(
    pt="o arquivo tem mais de {most} bytes: é grande demais para um esquema ou plano.",
    en="the file has more than {most} bytes: too large for a schema or a plan.",
).format(most=_MAX_BYTES)
_UNREADABLE = Text(pt="não pode ser lido: {why}.", en="it cannot be read: {why}.")


def read_document(path: Path, *, dates: bool = True) -> YamlDocument | Mistake:
    """Return a file's document, or the mistake that makes it unreadable.

    Without ``dates``, dates stay texts."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            return Mistake(1, "", _TOO_LARGE)
        text = content.decode("utf-8-sig")
    except OSError as error:
        return Mistake(1, "", _UNREADABLE.format(why=os_error_reason(error)))
    except UnicodeDecodeError as error:
        return Mistake(error.object.count(b"\n", 0, error.start) + 1, "", _NOT_UTF_8)
    try:
        return YamlDocument(text, dates=dates)
    except yaml.YAMLError as error:
        line, message = parser_problem(error, text)
        return Mistake(line, "", message)
