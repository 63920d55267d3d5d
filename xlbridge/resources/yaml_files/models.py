"""Models of the YAML files that people write: each format is declared once, as msgspec structures.

From a declaration follow the JSON Schema for editors, the mistakes in a file with their lines, and
its reading with ``msgspec.convert``.
"""

import json
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, inspect

from xlbridge.errors import closest_name
from xlbridge.i18n import Text

if TYPE_CHECKING:
    from xlbridge.resources.yaml_files.document import YamlDocument, YamlPath

Schema = dict[str, Any]

UNIQUE = Meta(extra={"unique": True})
"""Marks lists without repeated items."""

OR_NULL = Meta(extra={"null": True})
"""Marks values that may be null in a file; otherwise a key with null is a mistake."""

NOT_IN_FILES = Meta(extra={"absent": True})
"""Marks fields of a model that a file cannot have."""

Name = Annotated[str, Meta(min_length=1)]
Names = Annotated[tuple[Name, ...], UNIQUE]
OneOrMore = Annotated[
    tuple[str, ...],
    Meta(
        extra={
            "form": lambda: inspect.type_info(
                Name | Annotated[tuple[Name, ...], Meta(min_length=1), UNIQUE]
            )
        }
    ),
]
"""A list in which a file may write a single text, too; ``as_lists`` makes it one."""
Identifier = Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
WholeNumber = Annotated[str, Meta(pattern="^[1-9][0-9]*$")]
UnpaddedLine = Annotated[str, Meta(pattern="^\\S(.*\\S)?$")]
Bound = Annotated[float | str, Meta(extra={"dates": True})]
Value = Annotated[float | str | bool, Meta(extra={"dates": True})]
"""Values of columns, which may be dates, too."""


def one_of(names: Callable[[], Iterable[object]]) -> Meta:
    """Return the mark of values that must be among some; these are asked for when needed."""
    return Meta(extra={"choices": names})


def with_form(build: "Callable[[], Block | Alternatives]") -> Meta:
    """Return the mark of blocks whose keys are only known when needed."""
    return Meta(extra={"form": build})


@dataclass(frozen=True, slots=True)
class Block:
    """Block of a file with exactly these keys, each with the type of its value."""

    types: Mapping[str, Any]
    required: tuple[str, ...] = ()
    min_keys: int = 0

    @staticmethod
    @cache
    def of(*models: type[Any]) -> "Block":
        """Return the block with the fields of some models."""
        fields = [
            field
            for model in models
            for field in inspect.type_info(model).fields  # type: ignore[attr-defined]
            if not _unwrapped(field.type)[1].get("absent")
        ]
        return Block(
            {field.encode_name: field.type for field in fields},
            tuple(field.encode_name for field in fields if field.required),
        )

    @staticmethod
    def of_types(types: Mapping[str, Any], optional: Collection[str] = ()) -> "Block":
        """Return a block with Python's types by key, of which it needs at least one."""
        required = tuple(name for name in types if name not in optional)
        min_keys = 0 if required or not types else 1
        return Block({}, required, min_keys).with_types(types)

    def with_types(self, types: Mapping[str, Any]) -> "Block":
        """Return the block with further keys, their types in Python or as blocks."""
        added = {
            name: one if isinstance(one, Block) else inspect.type_info(one)
            for name, one in types.items()
        }
        return replace(self, types={**self.types, **added})


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Block with the keys of one of several, and the JSON Schema of the condition for each.

    ``common`` holds what decides; without a decision no other keys are checked.
    """

    common: Block
    blocks: Mapping[str, tuple[Schema, Block]]
    choose: Callable[[Mapping[str, Any]], str | None]


def json_schema(title: str, description: str, block: Block) -> Schema:
    """Return the JSON Schema (2020-12) of a file whose root is a block."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": description,
        **_schema(block),
    }


def _unwrapped(node: Any) -> tuple[Any, dict[str, Any], Schema]:
    """Return a type without its marks and None, its marks, and their additions to the schema."""
    marks: dict[str, Any] = {}
    schema: Schema = {}
    while True:
        if isinstance(node, inspect.Metadata):
            marks = (node.extra or {}) | marks
            schema = (node.extra_json_schema or {}) | schema
            node = node.type
        elif isinstance(node, inspect.UnionType) and len(options := _options(node)) == 1:
            (node,) = options
        else:
            return (marks["form"]() if "form" in marks else node), marks, schema


_KINDS: Mapping[type, str] = {
    Block: "object",
    Alternatives: "object",
    inspect.StructType: "object",
    inspect.DictType: "object",
    inspect.ListType: "array",
    inspect.VarTupleType: "array",
    inspect.StrType: "string",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
}


def _options(node: Any) -> list[Any]:
    """Return the types of a union, except that of a missing value."""
    types = node.types if isinstance(node, inspect.UnionType) else (node,)
    return [one for one in types if not isinstance(one, inspect.NoneType)]


def _choices(node: Any, marks: Mapping[str, Any]) -> tuple[object, ...] | None:
    if "choices" in marks:
        return tuple(marks["choices"]())
    if isinstance(node, inspect.LiteralType):
        return node.values
    return tuple(one.value for one in node.cls) if isinstance(node, inspect.EnumType) else None


def _schema(node: Any) -> Schema:
    node, marks, added = _unwrapped(node)
    options = _options(node)
    choices = _choices(options[0], marks) if len(options) == 1 else None
    schema: Schema = {}
    if choices is not None:
        schema = {"const": choices[0]} if len(choices) == 1 else {"enum": list(choices)}
    elif len(options) > 1:
        parts = [_schema(option) for option in options]
        for part in parts:
            schema |= part
        kinds = [part["type"] for part in parts]
        schema["type"] = [one for one in kinds if one != "integer" or "number" not in kinds]
    else:
        schema = _plain_schema(options[0])
    if marks.get("unique"):
        schema["uniqueItems"] = True
    if marks.get("null"):
        schema["type"] = [*([kind] if isinstance(kind := schema["type"], str) else kind), "null"]
    return schema | added


def _plain_schema(node: Any) -> Schema:
    match node:
        case inspect.StructType():
            return _schema(Block.of(node.cls))
        case Block():
            return {
                "type": "object",
                "required": list(node.required),
                "properties": {key: _schema(one) for key, one in node.types.items()},
                "additionalProperties": False,
            } | ({"minProperties": node.min_keys} if node.min_keys else {})
        case Alternatives():
            common = _schema(node.common)
            del common["additionalProperties"]
            cases = node.blocks.values()
            return {**common, "allOf": [{"if": when, "then": _schema(one)} for when, one in cases]}
        case inspect.AnyType():
            return {}
    schema: Schema = {"type": _KINDS[type(node)]}
    if isinstance(node, inspect.DictType):
        schema |= {f"{key[:3]}Properties": limit for key, limit in _lengths(node).items()}
        names, values = _schema(node.key_type), _schema(node.value_type)
        names.pop("type", None)
        names.pop("minLength", None)
        return schema | {
            key: part
            for key, part in (("propertyNames", names), ("additionalProperties", values))
            if part
        }
    if schema["type"] == "array":
        items = _schema(node.item_type)
        schema |= {f"{key[:3]}Items": limit for key, limit in _lengths(node).items()}
        return schema | ({"items": items} if items else {})
    limits = {f"{key[:3]}Length": limit for key, limit in _lengths(node).items()} | {
        "pattern": getattr(node, "pattern", None),
        "minimum": getattr(node, "ge", None),
        "exclusiveMinimum": getattr(node, "gt", None),
        "maximum": getattr(node, "le", None),
    }
    return schema | {key: limit for key, limit in limits.items() if limit is not None}


def _lengths(node: Any) -> dict[str, int]:
    lengths = {key: getattr(node, key, None) for key in ("min_length", "max_length")}
    return {key: length for key, length in lengths.items() if length is not None}


@dataclass(frozen=True, slots=True)
class Mistake:
    """Mistake in a file; the line is counted from 1, the place is a path of keys."""

    line: int
    place: str
    message: Text


def document_mistake(document: "YamlDocument", path: "YamlPath", message: Text) -> Mistake:
    """Return the mistake in the part of a document at a path."""
    return Mistake(document.line(path), format_yaml_path(path), message)


def mistakes_of(document: "YamlDocument", block: Block) -> list[Mistake]:
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

    def __init__(self, document: "YamlDocument") -> None:
        self.found: list[Mistake] = []
        self._document = document

    def _add(self, path: "YamlPath", message: Text) -> None:
        self.found.append(document_mistake(self._document, path, message))

    def check(self, node: Any, value: Any, path: tuple[str | int, ...]) -> None:
        """Collect the mistakes in a value."""
        node, marks, _ = _unwrapped(node)
        if (value is None and marks.get("null")) or isinstance(node, inspect.AnyType):
            return
        if isinstance(value, date) and marks.get("dates"):
            return
        options = _options(node)
        choices = _choices(options[0], marks) if len(options) == 1 else None
        if choices is not None:
            if not any(one == value and type(one) is type(value) for one in choices):
                self._add(path, unknown_value(value, choices))
            return
        fitting = next((one for one in options if _is_of_kind(value, one)), None)
        if fitting is None:
            kinds = [_TYPE_TEXTS[_KINDS[type(_unwrapped(one)[0])]] for one in options]
            self._add(path, _WRONG_TYPE.format(kind=_alternatives(kinds)))
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
                self._check_alternatives(fitting, value, path)
            case inspect.DictType():
                for key, part in value.items():
                    self._check_key(fitting.key_type, key, path)
                    self.check(fitting.value_type, part, (*path, key))
            case inspect.ListType() | inspect.VarTupleType():
                for number, part in enumerate(value):
                    self.check(fitting.item_type, part, (*path, number))

    def _check_limits(
        self, node: Any, marks: Mapping[str, Any], value: Any, path: "YamlPath"
    ) -> None:
        for key, limit in _lengths(node).items():
            too_long = key == "max_length"
            if len(value) > limit if too_long else len(value) < limit:
                message = _LENGTH_TEXTS[key, _KINDS[type(node)]]
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
        node, marks, _ = _unwrapped(node)
        choices = _choices(node, marks)
        if choices is not None and key not in choices:
            self._add((*path, key), unknown_value(key, choices))
        message = _wrong_pattern(node, key, _KEY_TEXTS)
        limit = _lengths(node).get("max_length")
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

    def _check_alternatives(
        self, node: Alternatives, value: Mapping[str, Any], path: tuple[str | int, ...]
    ) -> None:
        common = {key: part for key, part in value.items() if key in node.common.types}
        self._check_block(node.common, common, path)
        chosen = node.choose(value)
        if chosen is not None:
            self._check_block(node.blocks[chosen][1], value, path)


def _is_of_kind(value: object, node: Any) -> bool:
    if isinstance(value, bool):
        return isinstance(node, inspect.BoolType)
    match _KINDS[type(_unwrapped(node)[0])]:
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


def as_lists(body: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return a block in which each of some keys with a single text has a list."""
    single = {key for key in keys if isinstance(body.get(key), str)}
    return {key: [value] if key in single else value for key, value in body.items()}


_Read = TypeVar("_Read")


def read_as(model: type[_Read], content: object) -> _Read:
    """Return content without mistakes as an object of its model; other keys are ignored."""
    return msgspec.convert(content, model, strict=False)


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
        Text(pt="{path}:{line}: {place}{message}", en="{path}:{line}: {place}{message}").format(
            path=path,
            line=mistake.line,
            place=f"{mistake.place}: " if mistake.place else "",
            message=mistake.message,
        )
        for mistake in mistakes[:_MAX_SHOWN]
    ]
    more = len(mistakes) - len(lines)
    if more:
        lines.append(Text(pt="… e mais {n}.", en="… and {n} more.").format(n=more))
    return Text(pt="\n".join(t.pt for t in lines), en="\n".join(t.en for t in lines))


_MEANT = Text(pt="seria {name}? ", en="did you mean {name}? ")


def format_yaml_value(value: object) -> str:
    """Format a value as in a YAML file: ``true``, ``2026-12-31``, texts in quotes."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, date) else repr(value)


def format_yaml_path(path: "YamlPath") -> str:
    """Format a path: ``columns.codigo.dtype``, ``checks[0].column``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _alternatives(kinds: list[Text]) -> Text:
    first, *others = kinds
    for other in others:
        first = Text(pt="{a} ou {b}", en="{a} or {b}").format(a=first, b=other)
    return first


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
