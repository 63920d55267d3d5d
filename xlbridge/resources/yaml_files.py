"""Reading of YAML files: documents with the lines of their parts, and mistakes in plain words.

Mistakes are the parser's errors, or are found by the declaration of the file's format.

Loading is safe: no tags, no endless or huge documents, keys are always texts.
"""

import json
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

import yaml
from msgspec import inspect

from xlbridge.errors import UsageError, closest_name, os_error_reason
from xlbridge.i18n import OR, Text, joined, untranslated
from xlbridge.report_forms import more_text
from xlbridge.resources.models import (
    KINDS,
    Alternatives,
    Block,
    choices_of,
    lengths_of,
    options_of,
    unwrapped,
)

__all__ = [
    "InvalidFile",
    "Mistake",
    "YamlDocument",
    "YamlPath",
    "document_mistake",
    "format_mistakes",
    "mistakes_of",
    "read_document",
    "unknown_value",
]

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
    """Yield every block, list, key and value of a document.

    Raises ``yaml.YAMLError`` if it is endless, too large or too deeply nested.
    """
    waiting, parts = [(root, 0)], 0
    while waiting:
        node, depth = waiting.pop()
        parts += 1
        if parts > _MAX_PARTS or depth > _MAX_DEPTH:
            raise yaml.composer.ComposerError(None, None, _TOO_COMPLEX, node.start_mark)
        yield node
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


class InvalidFile(UsageError):
    """A YAML file has ``mistakes``, which the message names with their lines."""

    def __init__(self, path: Path, mistakes: Sequence[Mistake], hint: Text) -> None:
        super().__init__(format_mistakes(path, mistakes), hint)
        self.args = (path, mistakes, hint)  # for pickle
        self.mistakes = _in_order(mistakes)


def document_mistake(document: YamlDocument, path: YamlPath, message: Text) -> Mistake:
    """Return the mistake in the part of a document at a path."""
    return Mistake(document.line(path), format_yaml_path(path), message)


def mistakes_of(
    document: YamlDocument, block: Block, columns: Collection[str] = ()
) -> list[Mistake]:
    """Return the mistakes in a document whose root is a block, in the order of the lines.

    ``columns`` are those that the document declares."""
    repeated = Text(pt="{key} aparece duas vezes; deixe um só.", en="{key} is repeated; keep one.")
    checker = _Checker(document, columns)
    checker.found += [
        Mistake(line, key, repeated.format(key=key)) for line, key in document.repeated_keys()
    ]
    checker.check(block, document.content, ())
    return sorted(checker.found, key=lambda mistake: (mistake.line, mistake.place))


class _Checker:
    """Collector of the mistakes in a document."""

    def __init__(self, document: YamlDocument, columns: Collection[str]) -> None:
        self.found: list[Mistake] = []
        self._document = document
        self._columns = tuple(columns)

    def _add(self, path: YamlPath, message: Text) -> None:
        self.found.append(document_mistake(self._document, path, message))

    def check(self, node: Any, value: Any, path: tuple[str | int, ...]) -> None:
        """Collect the mistakes in a value."""
        node, marks, _ = unwrapped(node)
        if (value is None and marks.get("null")) or isinstance(node, inspect.AnyType):
            return
        if isinstance(value, date) and marks.get("dates"):
            return
        options = options_of(node)
        choices = choices_of(options[0], marks) if len(options) == 1 else None
        if choices is not None:
            if not any(one == value and type(one) is type(value) for one in choices):
                self._add(path, unknown_value(value, choices))
            return
        fitting = next((one for one in options if _is_of_kind(value, one)), None)
        if fitting is None:
            kinds = [TYPE_TEXTS[KINDS[type(unwrapped(one)[0])]] for one in options]
            self._add(path, _WRONG_TYPE.format(kind=joined(kinds, OR)))
            return
        if fitting is not node and isinstance(fitting, inspect.Metadata):
            self.check(fitting, value, path)
            return
        self._check_limits(fitting, marks, value, path)
        match fitting:
            case inspect.StructType():
                self._check_block(Block.of(fitting.cls), value, path)
            case Block():
                self._check_block(fitting, value, path)
            case Alternatives():
                common = {k: part for k, part in value.items() if k in fitting.common.types}
                self._check_block(fitting.common, common, path)
                if (chosen := fitting.choose(value)) is not None:
                    self._check_block(fitting.blocks[chosen][1], value, path)
            case inspect.DictType():
                for key, part in value.items():
                    self._check_key(fitting.key_type, key, path)
                    self.check(fitting.value_type, part, (*path, key))
            case inspect.ListType() | inspect.VarTupleType():
                for number, part in enumerate(value):
                    self.check(fitting.item_type, part, (*path, number))

    def _check_limits(
        self, node: Any, marks: Mapping[str, Any], value: Any, path: YamlPath
    ) -> None:
        for key, limit in lengths_of(node).items():
            too_long = key == "max_length"
            if len(value) > limit if too_long else len(value) < limit:
                message = _LENGTH_TEXTS[key, KINDS[type(node)]]
                self._add(path, message.format(found=format_yaml_value(value), limit=limit))
        alternatives, only_one, wanted = marks.get("alternatives", ((), False, None))
        complete = sum(value.keys() >= {*keys} for keys in alternatives)
        if wanted is not None and (not complete or (only_one and complete > 1)):
            self._add(path, wanted)
        if marks.get("column") and value not in self._columns:
            self._add(path, unknown_value(value, self._columns))
        if marks.get("unique") and len(set(map(repr, value))) < len(value):
            self._add(path, _REPEATED_ITEMS)
        for key, (is_beyond, text) in _BOUNDS.items():
            bound = getattr(node, key, None)
            if bound is not None and is_beyond(value, bound):
                self._add(path, text.format(found=value, limit=bound))
        wrong = _wrong_pattern(node, value, _VALUE_TEXTS)
        if wrong is not None:
            self._add(path, wrong)

    def _check_key(self, node: Any, key: str, path: tuple[str | int, ...]) -> None:
        node, marks, _ = unwrapped(node)
        choices = self._columns if marks.get("column") else choices_of(node, marks)
        if choices is not None and key not in choices:
            self._add((*path, key), unknown_value(key, choices))
        message = _wrong_pattern(node, key, _KEY_TEXTS)
        limit = lengths_of(node).get("max_length")
        if limit is not None and len(key) > limit:
            message = _LENGTH_TEXTS["max_length", "string"].format(
                found=format_yaml_value(key), limit=limit
            )
        if message:
            line = self._document.line([*path, key])
            self.found.append(Mistake(line, format_yaml_path(path), message))

    def _check_block(
        self, block: Block, value: Mapping[str, Any], path: tuple[str | int, ...]
    ) -> None:
        for name in block.required:
            if name not in value:
                self._add(path, Text(pt="falta {name}.", en="{name} is missing.").format(name=name))
        if len(value) < block.min_keys:
            self._add(path, _MISSING_ITEM)
        for key, part in value.items():
            if key in block.types:
                self.check(block.types[key], part, (*path, key))
            else:
                self._add((*path, key), unknown_value(key, tuple(block.types)))


def _is_of_kind(value: object, node: Any) -> bool:
    if isinstance(value, bool):
        return isinstance(node, inspect.BoolType)
    match KINDS[type(unwrapped(node)[0])]:
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        case "number":
            return isinstance(value, int | float)
    return False


def _wrong_pattern(node: Any, value: object, texts: Mapping[str, Text]) -> Text | None:
    pattern = getattr(node, "pattern", None)
    if pattern is None or re.search(pattern, str(value)):
        return None
    return texts[pattern].format(found=format_yaml_value(value))


def unknown_value(found: object, allowed: Iterable[object]) -> Text:
    """Return the message for an unknown value, with the allowed ones and the most similar one."""
    names = [one if isinstance(one, str) else format_yaml_value(one) for one in allowed]
    if not names:
        return Text(
            pt="{found} não é conhecido, e nenhum valor é aceito aqui.",
            en="{found} is not known, and no value is allowed here.",
        ).format(found=format_yaml_value(found))
    return Text(
        pt="{found} não é conhecido; {meant}são aceitos: {allowed}.",
        en="{found} is not known; {meant}allowed here: {allowed}.",
    ).format(
        found=format_yaml_value(found),
        meant=_MEANT.format(name=close) if (close := closest_name(str(found), names)) else "",
        allowed=", ".join(names),
    )


_MAX_SHOWN = 10


def _in_order(mistakes: Iterable[Mistake]) -> list[Mistake]:
    """Return mistakes in their order in the file, each once."""
    return list(dict.fromkeys(sorted(mistakes, key=lambda m: (m.line, m.place, m.message.en))))


def format_mistakes(path: Path, mistakes: Sequence[Mistake]) -> Text:
    """Format the mistakes of a file as lines of text in their order in it, the first ten of them,
    each once."""
    distinct = _in_order(mistakes)
    lines = [
        untranslated("{path}:{line}: {place}{message}").format(
            path=path,
            line=mistake.line,
            place=f"{mistake.place}: " if mistake.place else "",
            message=mistake.message,
        )
        for mistake in distinct[:_MAX_SHOWN]
    ]
    more = len(distinct) - len(lines)
    if more:
        lines.append(untranslated("{more}.").format(more=more_text(more)))
    return joined(lines, "\n")


_MEANT = Text(pt="seria {name}? ", en="did you mean {name}? ")


def format_yaml_value(value: object) -> str:
    """Format a value as in a YAML file: ``true``, ``2026-12-31``, texts in quotes."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, date) else repr(value)


def format_yaml_path(path: YamlPath) -> str:
    """Format a path: ``columns.codigo.dtype``, ``checks[0].column``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


_WRONG_TYPE = Text(pt="deve ser {kind}.", en="this must be {kind}.")
TYPE_TEXTS: Mapping[str, Text] = {
    "object": Text(pt="um bloco de chaves e valores", en="a block of keys and values"),
    "array": Text(pt="uma lista", en="a list"),
    "string": Text(pt="um texto", en="a text"),
    "integer": Text(pt="um inteiro", en="a whole number"),
    "number": Text(pt="um número", en="a number"),
    "boolean": Text(pt="true ou false", en="true or false"),
}
_MISSING_ITEM = Text(pt="falta ao menos um item.", en="at least one item is missing.")
_REPEATED_ITEMS = Text(pt="há itens repetidos.", en="there are repeated items.")
_BOUNDS: Mapping[str, tuple[Callable[[Any, Any], bool], Text]] = {
    "gt": (
        operator.le,
        Text(pt="{found} deve ser maior que {limit}.", en="{found} must be more than {limit}."),
    ),
    "ge": (
        operator.lt,
        Text(
            pt="{found} é menor que o mínimo, {limit}.", en="{found} is below the minimum, {limit}."
        ),
    ),
    "le": (
        operator.gt,
        Text(
            pt="{found} é maior que o máximo, {limit}.", en="{found} is above the maximum, {limit}."
        ),
    ),
}
_LENGTH_TEXTS: Mapping[tuple[str, str], Text] = {
    ("min_length", "string"): Text(pt="falta o texto.", en="text is missing."),
    ("min_length", "array"): _MISSING_ITEM,
    ("min_length", "object"): _MISSING_ITEM,
    ("max_length", "string"): Text(
        pt="{found} é longo demais; são no máximo {limit} caracteres.",
        en="{found} is too long; at most {limit} characters are allowed.",
    ),
    ("max_length", "array"): Text(
        pt="{found} não é aceito: cada regra tem um nome conhecido e aparece uma só vez.",
        en="{found} is not allowed: each check has a known name and occurs only once.",
    ),
    ("max_length", "object"): Text(pt="no máximo {limit}.", en="at most {limit}."),
}
_VALUE_TEXTS: Mapping[str, Text] = {
    "^[a-z0-9]+(-[a-z0-9]+)*$": Text(
        pt="{found} não serve: só letras de a a z, algarismos e hífens.",
        en="{found} is not valid: only the letters a to z, digits and hyphens.",
    ),
}
_KEY_TEXTS: Mapping[str, Text] = {
    "^[1-9][0-9]*$": Text(
        pt="cada chave é um número inteiro, e {found} não é.",
        en="each key is a whole number, and {found} is not.",
    ),
    "^\\S(.*\\S)?$": Text(
        pt="o nome {found} não serve: fica numa só linha, sem espaços nas pontas.",
        en="the name {found} is not valid: it must be one line, without spaces at its ends.",
    ),
}
"""Messages by the patterns of values and of keys."""
