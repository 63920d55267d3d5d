"""Declarations of the formats of YAML files, as msgspec structures with marks.

From a declaration follow the JSON Schema for editors, the reading of a file, and its mistakes
(``resources/yaml_files.py``).
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, inspect

if TYPE_CHECKING:
    from xlbridge.i18n import Text

__all__ = [
    "NOT_IN_FILES",
    "OR_NULL",
    "UNIQUE",
    "Alternatives",
    "Block",
    "Identifier",
    "Name",
    "OneOrMore",
    "Schema",
    "as_lists",
    "json_schema",
    "one_of",
    "read_as",
    "with_form",
]

Schema = dict[str, Any]

UNIQUE = Meta(extra={"unique": True})
"""Marks lists without repeated items."""

OR_NULL = Meta(extra={"null": True})
"""Marks values that may be null in a file; otherwise a key with null is a mistake."""

NOT_IN_FILES = Meta(extra={"absent": True})
"""Marks fields of a model that a file cannot have."""

Name = Annotated[str, Meta(min_length=1)]
Names = Annotated[tuple[Name, ...], UNIQUE]
_TEXT_OR_LIST = inspect.type_info(Name | Annotated[tuple[Name, ...], Meta(min_length=1), UNIQUE])
OneOrMore = Annotated[tuple[str, ...], Meta(extra={"form": lambda: _TEXT_OR_LIST})]
"""A list in which a file may write a single text, too; ``as_lists`` makes it one."""
Identifier = Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
WholeNumber = Annotated[str, Meta(pattern="^[1-9][0-9]*$")]
ColumnName = Annotated[str, Meta(min_length=1, extra={"column": True})]
"""Name of one of the columns that the same file declares; ``mistakes_of`` is told these."""
ColumnNames = Annotated[tuple[ColumnName, ...], UNIQUE]
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


def with_keys(message: "Text", *alternatives: tuple[str, ...], only_one: bool = False) -> Meta:
    """Return the mark of blocks that need all keys of an alternative, and of no other if it is to
    be the ``only_one``; the message names them."""
    required = [{"required": list(keys)} for keys in alternatives]
    return Meta(
        extra={"alternatives": (alternatives, only_one, message)},
        extra_json_schema={"oneOf" if only_one else "anyOf": required},
    )


_DESCRIPTION = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)
"""Description of a field in the docstring of its class."""


@dataclass(frozen=True, slots=True)
class Block:
    """Block of a file with exactly these keys, each with the type of its value."""

    types: Mapping[str, Any]
    required: tuple[str, ...] = ()
    min_keys: int = 0
    descriptions: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    @cache
    def of(*models: type[Any]) -> "Block":
        """Return the block with the fields of some models.

        The docstring of a model describes its fields, one ``name: description`` after the other.
        """
        fields = [
            one
            for model in models
            for one in inspect.type_info(model).fields  # type: ignore[attr-defined]
            if not unwrapped(one.type)[1].get("absent")
        ]
        texts = {
            name: " ".join(text.split())
            for model in models
            for base in reversed(model.__mro__)
            for name, text in _DESCRIPTION.findall(base.__doc__ or "")
        }
        return Block(
            {one.encode_name: one.type for one in fields},
            tuple(one.encode_name for one in fields if one.required),
            descriptions={one.encode_name: texts[one.name] for one in fields if one.name in texts},
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


def unwrapped(node: Any) -> tuple[Any, dict[str, Any], Schema]:
    """Return a type without its marks and None, its marks, and their additions to the schema."""
    marks: dict[str, Any] = {}
    schema: Schema = {}
    while True:
        if isinstance(node, inspect.Metadata):
            marks = (node.extra or {}) | marks
            schema = (node.extra_json_schema or {}) | schema
            node = node.type
        elif isinstance(node, inspect.UnionType) and len(options := options_of(node)) == 1:
            (node,) = options
        else:
            return (marks["form"]() if "form" in marks else node), marks, schema


KINDS: Mapping[type, str] = {
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


def options_of(node: Any) -> list[Any]:
    """Return the types of a union, except that of a missing value."""
    types = node.types if isinstance(node, inspect.UnionType) else (node,)
    return [one for one in types if not isinstance(one, inspect.NoneType)]


def choices_of(node: Any, marks: Mapping[str, Any]) -> tuple[object, ...] | None:
    if "choices" in marks:
        return tuple(marks["choices"]())
    if isinstance(node, inspect.LiteralType):
        return node.values
    return tuple(one.value for one in node.cls) if isinstance(node, inspect.EnumType) else None


def _schema(node: Any) -> Schema:
    node, marks, added = unwrapped(node)
    options = options_of(node)
    choices = choices_of(options[0], marks) if len(options) == 1 else None
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
                "properties": {
                    key: _schema(one)
                    | ({"description": text} if (text := node.descriptions.get(key)) else {})
                    for key, one in node.types.items()
                },
                "additionalProperties": False,
            } | ({"minProperties": node.min_keys} if node.min_keys else {})
        case Alternatives():
            common = _schema(node.common)
            del common["additionalProperties"]
            cases = node.blocks.values()
            return {**common, "allOf": [{"if": when, "then": _schema(one)} for when, one in cases]}
        case inspect.AnyType():
            return {}
    schema: Schema = {"type": KINDS[type(node)]}
    if isinstance(node, inspect.DictType):
        schema |= {f"{key[:3]}Properties": limit for key, limit in lengths_of(node).items()}
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
        schema |= {f"{key[:3]}Items": limit for key, limit in lengths_of(node).items()}
        return schema | ({"items": items} if items else {})
    limits = {f"{key[:3]}Length": limit for key, limit in lengths_of(node).items()} | {
        "pattern": getattr(node, "pattern", None),
        "minimum": getattr(node, "ge", None),
        "exclusiveMinimum": getattr(node, "gt", None),
        "maximum": getattr(node, "le", None),
    }
    return schema | {key: limit for key, limit in limits.items() if limit is not None}


def lengths_of(node: Any) -> dict[str, int]:
    lengths = {key: getattr(node, key, None) for key in ("min_length", "max_length")}
    return {key: length for key, length in lengths.items() if length is not None}


def as_lists(body: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return a block in which each of some keys with a single text has a list."""
    single = {key for key in keys if isinstance(body.get(key), str)}
    return {key: [value] if key in single else value for key, value in body.items()}


_Read = TypeVar("_Read")
_CONVERTING = Lock()


def read_as(model: type[_Read], content: object) -> _Read:
    """Return content without mistakes as an object of its model; other keys are ignored."""
    # msgspec crashes the process if two threads meet a model for the first time.
    with _CONVERTING:
        return msgspec.convert(content, model, strict=False)
