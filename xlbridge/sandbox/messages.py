"""Requests and responses by the declaration of their operation: parsing, responses in the envelope,
and the OpenAPI document that describes them.

Problems of a request are reported by field, in Portuguese like the remote system's.
Source: the spec, Response envelope, Errors, Limits.
"""

import html
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema
from starlette.datastructures import QueryParams, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope

import xlbridge
from xlbridge.sandbox.area_declarations import UploadedFile, plain_type
from xlbridge.sandbox.problems import (
    INTEGER_LIMIT,
    ISO_8601,
    NUMBER_LIMIT,
    OUT_OF_RANGE,
    REQUIRED_MESSAGE,
    SPEC_DATE,
    InvalidParameterError,
    Problem,
    RequestError,
    format_problem,
    invalid,
    is_storable,
    limit_problem,
    misspelled_names,
    validation_problems,
)
from xlbridge.wire import (
    MAX_LENGTHS,
    OPERATIONS,
    Envelope,
    ErrorItem,
    Operation,
    WireModel,
    record_model,
    spellings,
    with_spellings,
)
from xlbridge.wire.imports import NO_QUIRKS, Quirks
from xlbridge.wire.model import UPLOAD_FIELD

_JSON_TYPES: Mapping[Any, tuple[Any, str]] = {
    bool: ((bool,), "informe true ou false"),
    int: ((int,), "informe um número inteiro"),
    Decimal: ((int, Decimal), "informe um número"),
    str: ((str,), "informe um texto"),
    datetime: ((str,), "informe uma data ISO 8601"),
    list: ((list,), "informe uma lista"),
    dict: ((dict,), "informe um objeto"),
}
_JSON_MEDIA_TYPE = re.compile(r"application/([\w.-]+\+)?json\s*(;.*)?", re.IGNORECASE)
_TEXT_PATTERNS: Mapping[Any, re.Pattern[str]] = {
    int: re.compile(r"-?[0-9]{1,10}"),
    bool: re.compile(r"true|false", re.IGNORECASE),
}
"""Spelling of values in a path or query, where all are text."""


def parse_body(
    model: type[WireModel],
    raw: bytes,
    media_type: str | None,
    *,
    strict: bool,
    spelled: Mapping[str, str],
) -> WireModel:
    """Parse a JSON body; ``strict`` requires the spelling and formats of the spec's samples.

    Fields with a spelling in ``spelled`` are ignored in any other one.

    Raises ``RequestError`` (400) if the body is missing, has another media type, is not JSON, or
    has missing or invalid fields.
    """
    if not raw.strip():
        raise invalid(("body", "O corpo da requisição não foi informado."))
    if media_type is not None and not _JSON_MEDIA_TYPE.fullmatch(media_type.strip()):
        raise invalid(("Content-Type", "O corpo da requisição deve ser application/json."))
    try:
        document = json.loads(
            raw,
            parse_float=_parse_decimal,
            parse_int=lambda text: int(text) if len(text) <= _MAX_NUMBER_LENGTH else _TOO_LARGE,
            parse_constant=_reject_constant,
        )
    except (ValueError, RecursionError) as error:
        raise invalid(("body", "O corpo da requisição não é um JSON válido.")) from error
    if not isinstance(document, dict):
        raise invalid(("body", "O corpo da requisição deve ser um objeto JSON."))
    if spelled:
        document = _taken_fields(model, document, spelled)
    problems = dict(_object_problems(model, document, "", strict=strict))
    try:
        parsed = model.model_validate(document)
    except ValidationError as error:
        raise invalid(*(dict(validation_problems(error)) | problems).items()) from error
    if problems:
        raise invalid(*problems.items())
    return parsed


def _taken_fields(
    model: type[WireModel], document: Mapping[str, Any], spelled: Mapping[str, str]
) -> dict[str, Any]:
    """Return the fields that are taken, in the spelling of the spec's samples."""
    fields = model.model_fields
    exact = {
        spelled[name]: str(fields[name].serialization_alias) for name in spelled if name in fields
    }
    taken: dict[str, Any] = {}
    for key, value in document.items():
        name = spellings(model).get(key, key)
        if key not in exact and name in spelled:
            continue
        inner = record_model(fields[name].annotation) if name in fields else None
        if inner is not None and isinstance(value, list):
            value = [
                _taken_fields(inner, item, spelled) if isinstance(item, dict) else item
                for item in value
            ]
        taken[exact.get(key, key)] = value
    return taken


def parse_query(model: type[WireModel], query: QueryParams, *, strict: bool) -> WireModel:
    """Parse the query; blank parameters are ignored.

    Repeated parameters form a list if the field is one; otherwise the last one counts.
    Raises ``RequestError`` (400) with the invalid parameters.
    """
    types = _field_types(model)
    document: dict[str, Any] = {}
    misspelled = list(misspelled_names(model, query)) if strict else []
    if misspelled:
        raise invalid(*misspelled)
    for spelling, values in nonblank_parameters(query).items():
        name = spellings(model).get(spelling, spelling)
        kind = types.get(name)
        document[name] = values if get_origin(kind) is list else values[-1]
        problem = _spelling_problem(kind, document[name])
        if problem is not None:
            raise invalid((name, problem))
    try:
        parsed = model.model_validate(document)
    except ValidationError as error:
        raise invalid(*validation_problems(error)) from error
    problems = [
        (name, problem)
        for name, value in parsed
        for item in (value if isinstance(value, list) else [value])
        # Any date can bound a window, even one beyond the limits of records.
        if not isinstance(item, datetime) and (problem := limit_problem(name, item))
    ]
    if problems:
        raise invalid(*problems)
    return parsed


def nonblank_parameters(query: QueryParams) -> dict[str, list[str]]:
    """Return the values of the query's parameters that are not blank."""
    nonblank = {name: [value for value in query.getlist(name) if value.strip()] for name in query}
    return {name: values for name, values in nonblank.items() if values}


def parse_path(types: Mapping[str, type], texts: Mapping[str, str]) -> dict[str, Any]:
    """Parse the path parameters. Raises ``RequestError`` (400) with the first invalid one."""
    values: dict[str, Any] = {}
    for name, kind in types.items():
        problem = _spelling_problem(kind, texts[name])
        if problem is None:
            values[name] = kind(texts[name])
            problem = limit_problem(name, values[name])
        if problem is not None:
            raise invalid((name, problem))
    return values


_MAX_NUMBER_LENGTH, _MAX_EXPONENT = 400, 400
"""Limits of a number: an exponent of a few characters can mean millions of digits."""
_TOO_LARGE = math.inf
"""Value of numbers beyond these limits; valid in no field."""


def _parse_decimal(text: str) -> Decimal | float:
    if len(text) > _MAX_NUMBER_LENGTH:
        return _TOO_LARGE
    try:
        number = Decimal(text)
    except InvalidOperation:
        return _TOO_LARGE
    return number if abs(number.adjusted()) <= _MAX_EXPONENT else _TOO_LARGE


def _reject_constant(name: str) -> None:
    raise ValueError(name)


@cache
def _field_types(model: type[WireModel]) -> Mapping[str, Any]:
    return {name: plain_type(field.annotation) for name, field in model.model_fields.items()}


def _spelling_problem(kind: Any, text: Any) -> str | None:
    """Detect spellings that pydantic accepts and the interface does not: 1_000, yes for true."""
    pattern = _TEXT_PATTERNS.get(kind)
    if pattern is None or pattern.fullmatch(text):
        return None
    return f"Valor inválido: {_JSON_TYPES[kind][1]}."


def _object_problems(
    model: type[WireModel], document: Mapping[str, Any], path: str, *, strict: bool
) -> Iterator[Problem]:
    """Yield values that pydantic accepts and the interface does not: "12" for 12, a blank name."""
    if strict:
        yield from ((path + name, message) for name, message in misspelled_names(model, document))
    types, names = _field_types(model), spellings(model)
    fields = {names[key]: value for key, value in document.items() if key in names}
    for name, value in fields.items():
        is_blank = isinstance(value, str) and not value.strip()
        if is_blank and model.model_fields[name].is_required():
            yield path + name, REQUIRED_MESSAGE
        elif value is not None:
            yield from _value_problems(types[name], name, value, path + name, strict=strict)


def _value_problems(
    annotation: Any, name: str, value: Any, path: str, *, strict: bool
) -> Iterator[Problem]:
    kind = get_origin(annotation) or annotation
    if isinstance(kind, type) and issubclass(kind, WireModel):
        kind = dict
    expected, message = _JSON_TYPES.get(kind, ((object,), ""))
    if value is _TOO_LARGE:
        yield path, OUT_OF_RANGE
    elif not isinstance(value, expected) or (isinstance(value, bool) and kind in (int, Decimal)):
        yield path, f"Valor inválido: {message}."
    elif kind is list:
        (item,) = get_args(annotation)
        for index, element in enumerate(value):
            item_path = f"{path}.{index}"
            yield from _value_problems(plain_type(item), name, element, item_path, strict=strict)
    elif kind is dict and isinstance(annotation, type):
        yield from _object_problems(annotation, value, f"{path}.", strict=strict)
    else:
        problem = _scalar_problem(kind, name, value, strict=strict)
        if problem is not None:
            yield path, problem


def _scalar_problem(kind: Any, name: str, value: Any, *, strict: bool) -> str | None:
    if kind is Decimal:
        return limit_problem(name, Decimal(value))
    if kind is not datetime:
        wrong_format = format_problem(name, value) if strict and kind is str else None
        return limit_problem(name, value) or wrong_format
    if not re.fullmatch(ISO_8601, value) or (strict and not SPEC_DATE.fullmatch(value)):
        return f"Valor inválido: {_JSON_TYPES[datetime][1]}."
    try:
        return limit_problem(name, datetime.fromisoformat(value[: len("2026-10-31")]))
    except ValueError:
        return f"Valor inválido: {_JSON_TYPES[datetime][1]}."


_EXTENSION = ".xlsx"
_MAX_NAME_LENGTH = 255
_SEPARATORS = re.compile(r"[/\\]")


async def read_uploaded_workbook(request: Request) -> UploadedFile:
    """Read the workbook of a form. Raises ``RequestError`` (400) if there is no .xlsx file."""
    try:
        async with request.form(max_files=1, max_fields=10) as form:
            file = form.get(UPLOAD_FIELD)
            if not isinstance(file, UploadFile):
                raise _invalid_upload("O arquivo Excel não foi informado.")
            # Some clients send the path.
            name = _SEPARATORS.split(file.filename or "")[-1]
            if not name.lower().endswith(_EXTENSION):
                raise _invalid_upload("O arquivo deve ser .xlsx.")
            if not is_storable(name) or len(name) > _MAX_NAME_LENGTH:
                raise _invalid_upload("O nome do arquivo não é permitido.")
            return UploadedFile(name, await file.read())
    # An unknown encoding in the form's header raises ValueError.
    except (HTTPException, ValueError) as error:
        raise _invalid_upload("O formulário multipart não pôde ser lido.") from error


def _invalid_upload(message: str) -> RequestError:
    return invalid((UPLOAD_FIELD, message))


def bounded_request(scope: Scope, receive: Receive, limit: int) -> Request:
    """Return a request whose body may have up to ``limit`` bytes.

    Reading a larger one raises ``RequestError`` (413), before the first byte if its length is
    declared.
    """
    declared = Request(scope).headers.get("Content-Length", "0")
    received = 0

    async def receive_limited() -> Message:
        nonlocal received
        message: Message = {} if int(declared) > limit else await receive()
        received += len(message.get("body", b""))
        if max(int(declared), received) > limit:
            raise RequestError(413, [("", "O conteúdo enviado é maior que o permitido.")])
        return message

    return Request(scope, receive_limited)


JSON_TYPE = "application/json"


def success_response(operation: Operation, data: Any, quirks: Quirks = NO_QUIRKS) -> Response:
    """Return a response with an operation's data, in the envelope if the operation has one."""
    adapter, exclude_none = _data_adapter(operation.name), not operation.enveloped
    model = record_model(operation.data) if quirks.names else None
    if model is None:
        content = adapter.dump_json(data, exclude_none=exclude_none)
    else:
        answered = {name: other for other, name in quirks.names.items()}
        plain = adapter.dump_python(data, mode="json", exclude_none=exclude_none)
        named = with_spellings(model, plain, answered)
        content = json.dumps(named, ensure_ascii=False).encode()
    if operation.enveloped:
        content = b'{"success":true,"data":' + content + b"}"
    return Response(content, media_type=JSON_TYPE)


def failure_response(
    status: int,
    problems: Sequence[Problem],
    headers: Mapping[str, str] | None = None,
    separator: str | None = None,
) -> Response:
    """Return a response with the error envelope.

    With a ``separator`` the messages of a field are one text.
    """
    if separator is not None:
        texts: dict[str, list[str]] = {}
        for key, value in problems:
            texts.setdefault(key, []).append(value)
        problems = [(key, separator.join(values)) for key, values in texts.items()]
    now = datetime.now().replace(microsecond=0)
    items = [ErrorItem(key=key, value=value, dateOccurred=now) for key, value in problems]
    content = Envelope(success=False, errors=items).model_dump_json(exclude_none=True)
    return Response(content, status_code=status, headers=headers, media_type=JSON_TYPE)


def method_not_allowed(allowed: Iterable[str]) -> Response:
    """Return a 405 response with the methods that the path allows."""
    headers = {"Allow": ", ".join(sorted(allowed))}
    return failure_response(405, [("", "Método não permitido.")], headers)


def bare_message_response(error: InvalidParameterError) -> Response:
    """Return a 400 response with a bare message string.

    Source: the spec, Errors ("for some reads with an invalid parameter").
    """
    content = json.dumps(error.message, ensure_ascii=False)
    return Response(content, status_code=400, media_type=JSON_TYPE)


@cache
def _data_adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(OPERATIONS[name].data)


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
