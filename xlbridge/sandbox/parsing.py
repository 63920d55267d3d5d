"""Reading a request by what its operation declares; whatever is wrong is told by field."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from starlette.datastructures import QueryParams

from xlbridge.sandbox.annotations import plain_type
from xlbridge.sandbox.answers import Problem, invalid
from xlbridge.sandbox.limits import ISO_8601, limit_problem
from xlbridge.wire.model import WireModel, spellings

_REQUIRED = "Campo obrigatório não informado."
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
_WRITTEN: Mapping[Any, re.Pattern[str]] = {
    int: re.compile(r"-?[0-9]{1,10}"),
    bool: re.compile(r"true|false", re.IGNORECASE),
}
"""How values are written in a path or a query, where all are text."""

_MESSAGES: Mapping[str, str] = {
    "missing": _REQUIRED,
    "string_too_short": _REQUIRED,
    "too_short": "Informe ao menos {min_length} item(ns).",
    "literal_error": "Valor inválido: não é um dos permitidos ({expected}).",
    "greater_than": "Valor inválido: deve ser maior que {gt}.",
    "greater_than_equal": "Valor inválido: deve ser maior ou igual a {ge}.",
}


def parse_body(model: type[WireModel], raw: bytes, media_type: str | None) -> WireModel:
    """Read a JSON body.

    Raises ``RequestError`` (400): missing, declared as something else, not JSON, wrong types,
    missing or invalid fields.
    """
    if not raw.strip():
        raise invalid(("body", "O corpo da requisição não foi informado."))
    if media_type is not None and not _JSON_MEDIA_TYPE.fullmatch(media_type.strip()):
        raise invalid(("Content-Type", "O corpo da requisição deve ser application/json."))
    try:
        document = json.loads(raw, parse_float=Decimal, parse_constant=_refuse_constant)
    except (ValueError, RecursionError, InvalidOperation) as error:
        raise invalid(("body", "O corpo da requisição não é um JSON válido.")) from error
    if not isinstance(document, dict):
        raise invalid(("body", "O corpo da requisição deve ser um objeto JSON."))
    wrong = dict(_object_problems(model, document, ""))
    try:
        parsed = model.model_validate(document)
    except ValidationError as error:
        raise invalid(*(dict(explain(error)) | wrong).items()) from error
    if wrong:
        raise invalid(*wrong.items())
    return parsed


def parse_query(model: type[WireModel], query: QueryParams) -> WireModel:
    """Read the query; a blank parameter counts as not given.

    A repeated one is all of a list; of any other the last counts.

    Raises ``RequestError`` (400) naming the parameters that cannot be read.
    """
    kinds = _fields(model)
    document: dict[str, Any] = {}
    for spelling, values in given_parameters(query).items():
        name = spellings(model).get(spelling, spelling)
        kind = kinds.get(name)
        document[name] = values if get_origin(kind) is list else values[-1]
        problem = _written_problem(kind, document[name])
        if problem is not None:
            raise invalid((name, problem))
    try:
        parsed = model.model_validate(document)
    except ValidationError as error:
        raise invalid(*explain(error)) from error
    problems = list(_parameter_problems(parsed))
    if problems:
        raise invalid(*problems)
    return parsed


def given_parameters(query: QueryParams) -> dict[str, list[str]]:
    """Return the values of each parameter of the query that are not blank."""
    given = {name: [value for value in query.getlist(name) if value.strip()] for name in query}
    return {name: values for name, values in given.items() if values}


def parse_path(types: Mapping[str, type], texts: Mapping[str, str]) -> dict[str, Any]:
    """Read the path's parameters.

    Raises ``RequestError`` (400) naming the first that cannot be read.
    """
    values: dict[str, Any] = {}
    for name, kind in types.items():
        problem = _written_problem(kind, texts[name])
        if problem is None:
            values[name] = kind(texts[name])
            problem = limit_problem(name, values[name])
        if problem is not None:
            raise invalid((name, problem))
    return values


def explain(error: ValidationError) -> list[Problem]:
    """Return the problems of a failed validation: each field's path, and a message."""
    return [
        (
            ".".join(str(part) for part in item["loc"]) or "body",
            _MESSAGES.get(item["type"], "Valor inválido.").format(**item.get("ctx", {})),
        )
        for item in error.errors()
    ]


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _fields(model: type[WireModel]) -> dict[str, Any]:
    """The fields' names and plain types; a list of models stays as it is annotated."""
    return {name: plain_type(field.annotation) for name, field in model.model_fields.items()}


def _written_problem(kind: Any, text: Any) -> str | None:
    """What pydantic would read and the interface does not: 1_000 for 1000, yes for true."""
    pattern = _WRITTEN.get(kind)
    if pattern is None or pattern.fullmatch(text):
        return None
    return f"Valor inválido: {_JSON_TYPES[kind][1]}."


def _parameter_problems(query: WireModel) -> Iterator[Problem]:
    for name, value in query:
        for item in value if isinstance(value, list) else [value]:
            # A day that lies beyond all records bounds a window as well as any other.
            problem = None if isinstance(item, datetime) else limit_problem(name, item)
            if problem is not None:
                yield name, problem


def _object_problems(
    model: type[WireModel], document: Mapping[str, Any], place: str
) -> Iterator[Problem]:
    """What pydantic would let pass and the interface does not: "12" for 12, blanks for a name."""
    given = {name[:1].lower() + name[1:]: value for name, value in document.items()}
    for name, annotation in _fields(model).items():
        value = given.get(name[:1].lower() + name[1:])
        is_blank = isinstance(value, str) and not value.strip()
        if is_blank and model.model_fields[name].is_required():
            yield place + name, _REQUIRED
        elif value is not None:
            yield from _value_problems(annotation, name, value, place + name)


def _value_problems(annotation: Any, name: str, value: Any, place: str) -> Iterator[Problem]:
    kind = get_origin(annotation) or annotation
    if isinstance(kind, type) and issubclass(kind, WireModel):
        kind = dict
    expected, message = _JSON_TYPES.get(kind, ((object,), ""))
    if not isinstance(value, expected) or (isinstance(value, bool) and kind in (int, Decimal)):
        yield place, f"Valor inválido: {message}."
    elif kind is list:
        (item,) = get_args(annotation)
        for index, element in enumerate(value):
            yield from _value_problems(plain_type(item), name, element, f"{place}.{index}")
    elif kind is dict and isinstance(annotation, type):
        yield from _object_problems(annotation, value, f"{place}.")
    else:
        problem = _leaf_problem(kind, name, value)
        if problem is not None:
            yield place, problem


def _leaf_problem(kind: Any, name: str, value: Any) -> str | None:
    if kind is Decimal:
        return limit_problem(name, Decimal(value))
    if kind is not datetime:
        return limit_problem(name, value)
    if not re.fullmatch(ISO_8601, value):
        return f"Valor inválido: {_JSON_TYPES[datetime][1]}."
    try:
        return limit_problem(name, datetime.fromisoformat(value[: len("2026-10-31")]))
    except ValueError:
        return f"Valor inválido: {_JSON_TYPES[datetime][1]}."
