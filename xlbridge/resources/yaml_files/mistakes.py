"""Mistakes in YAML files, found by the declarations of their formats, in plain words."""

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import inspect

from xlbridge.errors import UsageError, closest_name
from xlbridge.i18n import OR, Text, joined, untranslated
from xlbridge.report_forms import more_text
from xlbridge.resources.models.declarations import (
    KINDS,
    Alternatives,
    Block,
    choices_of,
    lengths_of,
    options_of,
    unwrapped,
)
from xlbridge.resources.yaml_files.document import Mistake, YamlDocument, YamlPath


class InvalidFile(UsageError):
    """A YAML file has ``mistakes``, which the message names with their lines."""

    def __init__(self, path: Path, mistakes: Sequence[Mistake], hint: Text) -> None:
        super().__init__(format_mistakes(path, mistakes), hint)
        self.args = (path, mistakes, hint)  # for pickle
        self.mistakes = mistakes


def document_mistake(document: YamlDocument, path: YamlPath, message: Text) -> Mistake:
    """Return the mistake in the part of a document at a path."""
    return Mistake(document.line(path), format_yaml_path(path), message)


def mistakes_of(document: YamlDocument, block: Block) -> list[Mistake]:
    """Return the mistakes in a document whose root is a block, in the order of the lines."""
    repeated = Text(pt="{key} aparece duas vezes; deixe um só.", en="{key} is repeated; keep one.")
    checker = _Checker(document)
    checker.found += [
        Mistake(line, key, repeated.format(key=key)) for line, key in document.repeated_keys()
    ]
    checker.check(block, document.content, ())
    return sorted(checker.found, key=lambda mistake: (mistake.line, mistake.place))


class _Checker:
    """Collector of the mistakes in a document."""

    def __init__(self, document: YamlDocument) -> None:
        self.found: list[Mistake] = []
        self._document = document

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
            kinds = [_TYPE_TEXTS[KINDS[type(unwrapped(one)[0])]] for one in options]
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
        choices = choices_of(node, marks)
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


def format_mistakes(path: Path, mistakes: Sequence[Mistake]) -> Text:
    """Format the mistakes of a file as lines of text, the first ten of them."""
    lines = [
        untranslated("{path}:{line}: {place}{message}").format(
            path=path,
            line=mistake.line,
            place=f"{mistake.place}: " if mistake.place else "",
            message=mistake.message,
        )
        for mistake in mistakes[:_MAX_SHOWN]
    ]
    more = len(mistakes) - len(lines)
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
_TYPE_TEXTS: Mapping[str, Text] = {
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
