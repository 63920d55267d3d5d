"""Parsing of requests by the declaration of their operation, and responses in the envelope.

Problems of a request are reported by field, in Portuguese like the remote system's.
Source: the spec, Response envelope, Errors, Limits.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import QueryParams, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from xlbridge.sandbox.columns import plain_type
from xlbridge.sandbox.handler_registry import UploadedFile
from xlbridge.sandbox.problems import (
    ISO_8601,
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
