"""The sandbox's description of itself, made from the declared operations."""

import html
import re
from functools import cache
from typing import Any

import xlbridge
from xlbridge.sandbox.web.json_schemas import (
    REFERENCE,
    WHOLE_NUMBER,
    answer_schemas,
    query_schema,
    request_schemas,
)
from xlbridge.wire.envelope import ErrorItem
from xlbridge.wire.imports import UPLOAD_FIELD
from xlbridge.wire.operation import Operation
from xlbridge.wire.operations import OPERATIONS

_TITLE = "xlbridge sandbox: Business Management Integration API"
_ERROR = {"$ref": "#/components/responses/Error"}
_MODULES = re.compile(r"\b[a-z_]+\.")
_PATH_TYPES = {int: WHOLE_NUMBER, str: {"type": "string"}}


@cache
def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document of all operations."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS.values():
        described = _describe(operation)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {"title": _TITLE, "version": xlbridge.__version__},
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "responses": {"Error": _error_response()},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


@cache
def docs_page() -> str:
    """Return a self-contained page that lists all operations, for use without a network."""
    rows = "".join(
        f"<tr><td><code>{operation.method}</code></td>"
        f"<td><code>{html.escape(operation.path)}</code></td>"
        f"<td>{html.escape(operation.section)}</td><td>{html.escape(_parameters(operation))}</td>"
        f"<td>{html.escape(_type_name(operation.data))}</td></tr>"
        for operation in OPERATIONS.values()
    )
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{_TITLE}</title>"
        "<style>body{font:1rem/1.4 sans-serif;margin:2rem}td,th{padding:.3rem .8rem;"
        "text-align:left;border-bottom:1px solid #ddd}</style>"
        f"<h1>{_TITLE}</h1><p>Described for programs in <a href=/openapi.json>openapi.json</a>."
        "</p><table><tr><th>Method<th>Path<th>Section<th>Takes<th>Data</tr>"
        f"{rows}</table></html>"
    )


def _schemas() -> dict[str, Any]:
    """All objects by name; one that is sent and answered has the limits of what is sent."""
    _, schemas = answer_schemas(ErrorItem)
    for operation in OPERATIONS.values():
        schemas |= answer_schemas(operation.data)[1]
    for operation in OPERATIONS.values():
        schemas |= request_schemas(operation.body) if operation.body else {}
    return schemas


def _describe(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.section],
        "parameters": [*_path_parameters(operation), *_query_parameters(operation)],
        "responses": {"200": _success(operation)} | _failures(operation),
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


def _success(operation: Operation) -> dict[str, Any]:
    data, _ = answer_schemas(operation.data)
    if operation.enveloped:
        properties = {"success": {"const": True}, "data": data}
        data = {"type": "object", "required": ["success", "data"], "properties": properties}
    return {"description": "Success"} | _content("application/json", data)


def _failures(operation: Operation) -> dict[str, Any]:
    """The statuses that the operation may fail with, all in the error envelope."""
    statuses = ["413", "500", "503"]
    if operation.enveloped:
        statuses.append("400")
    if operation.authenticated:
        statuses.append("401")
    if operation.path_parameters or operation.query or operation.body:
        statuses.append("404")
    return dict.fromkeys(sorted(statuses), _ERROR)


def _error_response() -> dict[str, Any]:
    items = {"type": "array", "items": {"$ref": REFERENCE.format(model=ErrorItem.__name__)}}
    envelope = {
        "type": "object",
        "required": ["success", "errors"],
        "properties": {"success": {"const": False}, "errors": items},
    }
    bare = {"type": "string", "description": "a read with an invalid parameter"}
    schema = {"anyOf": [envelope, bare]}
    return {"description": "What is wrong"} | _content("application/json", schema)


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _PATH_TYPES[kind]}
        for name, kind in operation.path_parameters.items()
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    query = query_schema(operation.query)
    required = query.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in query["properties"].items()
    ]


def _content(media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {media_type: {"schema": schema}}}


def _parameters(operation: Operation) -> str:
    query = list(operation.query.model_fields) if operation.query else []
    body = [operation.body.__name__] if operation.body else []
    upload = [f"{UPLOAD_FIELD} (.xlsx)"] if operation.upload else []
    return ", ".join([*operation.path_parameters, *query, *body, *upload])


def _type_name(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else _MODULES.sub("", str(kind))
