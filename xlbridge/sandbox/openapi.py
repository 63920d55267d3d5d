"""OpenAPI document of the sandbox, generated from the declared operations and wire models."""

import html
import json
import re
from collections.abc import Collection
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

import xlbridge
from xlbridge.sandbox.problems import INTEGER_LIMIT, ISO_8601, NUMBER_LIMIT
from xlbridge.wire import MAX_LENGTHS, OPERATIONS, ErrorItem, Operation, WireModel
from xlbridge.wire.model import UPLOAD_FIELD

_TITLE = "xlbridge sandbox: Business Management Integration API"
_ERROR = {"$ref": "#/components/responses/Error"}
_MODULES = re.compile(r"\b[a-z_]+\.")

Schema = dict[str, Any]
INTEGER: Schema = {
    "type": "integer",
    "minimum": -INTEGER_LIMIT,
    "maximum": INTEGER_LIMIT - 1,
}
_PATH_TYPES = {int: INTEGER, str: {"type": "string"}}


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document of all operations."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS.values():
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe(operation)
    # An object used in both requests and responses has the limits of requests.
    _, schemas = response_schemas(ErrorItem)
    for operation in OPERATIONS.values():
        schemas |= response_schemas(operation.data)[1]
    for operation in OPERATIONS.values():
        schemas |= request_schemas(operation.body) if operation.body else {}
    items = {"type": "array", "items": {"$ref": REFERENCE.format(model=ErrorItem.__name__)}}
    envelope = {
        "type": "object",
        "required": ["success", "errors"],
        "properties": {"success": {"const": False}, "errors": items},
    }
    bare = {"type": "string", "description": "a read with an invalid parameter"}
    schema = {"anyOf": [envelope, bare]}
    return {
        "openapi": "3.1.0",
        "info": {"title": _TITLE, "version": xlbridge.__version__},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": {
                "Error": ({"description": "What is wrong"} | _content("application/json", schema))
            },
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


@cache
def openapi_content() -> bytes:
    """Return the OpenAPI document as JSON."""
    return json.dumps(openapi_document(), ensure_ascii=False).encode()


@cache
def docs_page() -> str:
    """Return a self-contained page that lists all operations, for use without a network."""
    rows = ""
    for operation in OPERATIONS.values():
        query = operation.query.model_fields if operation.query else ()
        body = [operation.body.__name__] if operation.body else []
        upload = [f"{UPLOAD_FIELD} (.xlsx)"] if operation.upload else []
        names = ", ".join([*operation.path_parameters, *query, *body, *upload])
        data = operation.data
        type_name = data.__name__ if isinstance(data, type) else _MODULES.sub("", str(data))
        rows += (
            f"<tr><td><code>{operation.method}</code></td>"
            f"<td><code>{html.escape(operation.path)}</code></td>"
            f"<td>{html.escape(operation.section)}</td><td>{html.escape(names)}</td>"
            f"<td>{html.escape(type_name)}</td></tr>"
        )
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{_TITLE}</title>"
        "<style>body{font:1rem/1.4 sans-serif;margin:2rem}td,th{padding:.3rem .8rem;"
        "text-align:left;border-bottom:1px solid #ddd}</style>"
        f"<h1>{_TITLE}</h1><p>OpenAPI document: <a href=/openapi.json>openapi.json</a>."
        "</p><table><tr><th>Method<th>Path<th>Section<th>Parameters<th>Data</tr>"
        f"{rows}</table></html>"
    )


def _describe(operation: Operation) -> dict[str, Any]:
    data, _ = response_schemas(operation.data)
    if operation.enveloped:
        properties = {"success": {"const": True}, "data": data}
        data = {"type": "object", "required": ["success", "data"], "properties": properties}
    statuses = ["413", "500", "503"]
    if operation.enveloped:
        statuses.append("400")
    if operation.authenticated:
        statuses.append("401")
    if operation.path_parameters or operation.query or operation.body:
        statuses.append("404")
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": _PATH_TYPES[kind]}
        for name, kind in operation.path_parameters.items()
    ]
    if operation.query is not None:
        query = query_schema(operation.query)
        parameters += [
            {"name": n, "in": "query", "required": n in query.get("required", ()), "schema": schema}
            for n, schema in query["properties"].items()
        ]
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.section],
        "parameters": parameters,
        "responses": {"200": ({"description": "Success"} | _content("application/json", data))}
        | dict.fromkeys(sorted(statuses), _ERROR),
    }
    if operation.authenticated:
        described["security"] = [{"bearer": []}]
    if operation.body is not None:
        described["requestBody"] = _content(
            "application/json", {"$ref": REFERENCE.format(model=operation.body.__name__)}
        ) | {"required": True}
    if operation.upload:
        file = {"type": "string", "format": "binary"}
        form = {"type": "object", "required": [UPLOAD_FIELD], "properties": {UPLOAD_FIELD: file}}
        described["requestBody"] = _content("multipart/form-data", form) | {"required": True}
    return described


def _content(media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {media_type: {"schema": schema}}}


REFERENCE = "#/components/schemas/{model}"

_NOT_BLANK = r"\S"
_BLANK: Schema = {"const": ""}
"""An empty parameter, which is ignored."""


class _Generator(GenerateJsonSchema):
    """Generates JSON numbers for decimals, and a pattern for datetimes, which have no zone."""

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
    """Return the schemas of a body and its nested objects, by name, with all limits."""
    generated = TypeAdapter(list[model]).json_schema(  # type: ignore[valid-type]
        ref_template=REFERENCE, mode="validation", schema_generator=_Generator
    )
    schemas: Schema = generated["$defs"]
    for schema in schemas.values():
        _add_limits(schema.get("properties", {}), schema.get("required", ()))
    return schemas


def query_schema(model: type[WireModel]) -> Schema:
    """Return the schema of a query as one object, with all limits."""
    schema = model.model_json_schema(
        by_alias=False, mode="serialization", schema_generator=_Generator
    )
    required = schema.get("required", ())
    properties: Schema = {}
    for name, described in schema["properties"].items():
        kind, *_ = described.get("anyOf", [described])  # a parameter cannot be null
        without_null = (entry for entry in kind.items() if entry != ("default", None))
        properties[name] = dict(without_null)
    _add_limits(properties, required)
    for name in properties.keys() - set(required):
        if (
            properties[name].keys() & {"pattern", "minimum"}
            or "boolean" in properties[name].values()
        ):
            properties[name] = {"anyOf": [properties[name], _BLANK]}
    return schema | {"properties": properties}


def response_schemas(data: Any) -> tuple[Schema, Schema]:
    """Return the schema of an operation's data, and those of its nested objects by name."""
    schema = TypeAdapter(data).json_schema(
        ref_template=REFERENCE, mode="serialization", schema_generator=_Generator
    )
    schemas: Schema = schema.pop("$defs", {})
    if "title" in schema:
        schemas[schema["title"]] = schema
        schema = {"$ref": REFERENCE.format(model=schema["title"])}
    return schema, schemas


def _add_limits(properties: Schema, required: Collection[str]) -> None:
    for name, schema in properties.items():
        for kind in schema.get("anyOf", [schema]):
            value = kind.get("items", kind)
            if value.get("type") == "integer":
                value.update(INTEGER | value)
            elif value.get("type") == "number":
                limits = {"exclusiveMinimum": -NUMBER_LIMIT, "exclusiveMaximum": NUMBER_LIMIT}
                value.update(limits | value)
            elif value.get("type") == "string" and name in MAX_LENGTHS:
                value["maxLength"] = MAX_LENGTHS[name]
                if name in required:
                    value["pattern"] = _NOT_BLANK
