"""The wire models as JSON schemas: what a request may carry, what an answer carries."""

from collections.abc import Collection
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from xlbridge.sandbox.limits import INTEGER_LIMIT, ISO_8601, NUMBER_LIMIT
from xlbridge.wire.lengths import LONGEST
from xlbridge.wire.model import WireModel

Schema = dict[str, Any]

REFERENCE = "#/components/schemas/{model}"
WHOLE_NUMBER: Schema = {
    "type": "integer",
    "minimum": -INTEGER_LIMIT,
    "maximum": INTEGER_LIMIT - 1,
}

_NOT_BLANK = r"\S"
_BLANK: Schema = {"const": ""}
"""A parameter that is there and empty: it counts as not given."""


class _Generator(GenerateJsonSchema):
    """Numbers are JSON numbers, never texts; moments have no zone, so they are no ``date-time``."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> Schema:
        generated = super().decimal_schema(schema)
        return next(
            (kind for kind in generated.get("anyOf", ()) if "pattern" not in kind), generated
        )

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> Schema:
        return {"type": "string", "pattern": f"^{ISO_8601}$"}


def request_schemas(model: type[BaseModel]) -> Schema:
    """Return the schemas of a body and of the objects in it, by name, with all limits."""
    generated = TypeAdapter(list[model]).json_schema(  # type: ignore[valid-type]
        ref_template=REFERENCE, mode="validation", schema_generator=_Generator
    )
    schemas: Schema = generated["$defs"]
    for schema in schemas.values():
        _limit(schema.get("properties", {}), schema.get("required", ()))
    return schemas


def query_schema(model: type[WireModel]) -> Schema:
    """Return the schema of a query, as one object, with all limits."""
    schema = model.model_json_schema(mode="serialization", schema_generator=_Generator)
    required = schema.get("required", ())
    properties = {name: _given(kind) for name, kind in schema["properties"].items()}
    _limit(properties, required)
    for name in properties.keys() - set(required):
        if (
            properties[name].keys() & {"pattern", "minimum"}
            or "boolean" in properties[name].values()
        ):
            properties[name] = {"anyOf": [properties[name], _BLANK]}
    return schema | {"properties": properties}


def answer_schemas(data: Any) -> tuple[Schema, Schema]:
    """Return the schema of an operation's data, and of the objects in it, by name."""
    schema = TypeAdapter(data).json_schema(
        ref_template=REFERENCE, mode="serialization", schema_generator=_Generator
    )
    schemas: Schema = schema.pop("$defs", {})
    if "title" in schema:
        schemas[schema["title"]] = schema
        schema = {"$ref": REFERENCE.format(model=schema["title"])}
    return schema, schemas


def _given(schema: Schema) -> Schema:
    """The schema of a parameter when it is given: a query has no null."""
    kind, *_ = schema.get("anyOf", [schema])
    return {name: value for name, value in kind.items() if (name, value) != ("default", None)}


def _limit(properties: Schema, required: Collection[str]) -> None:
    for name, schema in properties.items():
        for kind in schema.get("anyOf", [schema]):
            _limit_kind(kind.get("items", kind), name, is_required=name in required)


def _limit_kind(kind: Schema, name: str, *, is_required: bool) -> None:
    if kind.get("type") == "integer":
        kind.update(WHOLE_NUMBER | kind)
    elif kind.get("type") == "number":
        kind.update({"exclusiveMinimum": -NUMBER_LIMIT, "exclusiveMaximum": NUMBER_LIMIT} | kind)
    elif kind.get("type") == "string" and name in LONGEST:
        kind["maxLength"] = LONGEST[name]
        if is_required:
            kind["pattern"] = _NOT_BLANK
