"""Reading a request by what its operation declares; whatever is wrong is told by field."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import QueryParams

from xlbridge.sandbox.annotations import plain_type
from xlbridge.sandbox.answers import Problem, invalid
from xlbridge.wire.model import WireModel, spellings

_INTEGER_LIMIT = 2**31
_NUMBER_LIMIT = 10**12

_JSON_TYPES: Mapping[Any, tuple[Any, str]] = {
    bool: ((bool,), "informe true ou false"),
    int: ((int,), "informe um número inteiro"),
    Decimal: ((int, Decimal), "informe um número"),
    str: ((str,), "informe um texto"),
    datetime: ((str,), "informe uma data ISO 8601"),
    list: ((list,), "informe uma lista"),
    dict: ((dict,), "informe um objeto"),
}

_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")

_MESSAGES: Mapping[str, str] = {
    "missing": "Campo obrigatório não informado.",
    "string_too_short": "Campo obrigatório não informado.",
    "too_short": "Informe ao menos {min_length} item(ns).",
    "literal_error": "Valor inválido: não é um dos permitidos ({expected}).",
    "greater_than": "Valor inválido: deve ser maior que {gt}.",
    "greater_than_equal": "Valor inválido: deve ser maior ou igual a {ge}.",
}


def parse_body(model: type[WireModel], raw: bytes) -> WireModel:
    """Read a JSON body.

    Raises ``RequestError`` (400): missing, not JSON, wrong types, missing or invalid fields.
    """
    if not raw.strip():
        raise invalid(("body", "O corpo da requisição não foi informado."))
    try:
        document = json.loads(raw, parse_float=Decimal, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise invalid(("body", "O corpo da requisição não é um JSON válido.")) from error
    if not isinstance(document, dict):
        raise invalid(("body", "O corpo da requisição deve ser um objeto JSON."))
    wrong_types = dict(_type_problems(model, document, ""))
    try:
        parsed = model.model_validate(document)
    except ValidationError as error:
        raise invalid(*(dict(explain(error)) | wrong_types).items()) from error
    if wrong_types:
        raise invalid(*wrong_types.items())
    return parsed


def parse_query(model: type[WireModel], query: QueryParams) -> WireModel:
    """Read the query; a blank parameter counts as not given.

    A repeated one is all of a list; of any other the last counts.

    Raises ``RequestError`` (400) naming the parameters that cannot be read.
    """
    lists = {name for name, kind in _fields(model).items() if get_origin(kind) is list}
    document: dict[str, Any] = {}
    for name in query:
        values = [value for value in query.getlist(name) if value.strip()]
        if values:
            is_list = spellings(model).get(name) in lists
            document[name] = values if is_list else values[-1]
    try:
        parsed = model.model_validate(document)
    except ValidationError as error:
        raise invalid(*explain(error)) from error
    problems = list(_storage_problems(parsed.model_dump(), ""))
    if problems:
        raise invalid(*problems)
    return parsed


def parse_path(types: Mapping[str, type], texts: Mapping[str, str]) -> dict[str, Any]:
    """Read the path's parameters.

    Raises ``RequestError`` (400) naming the first that cannot be read.
    """
    values: dict[str, Any] = {}
    for name, kind in types.items():
        try:
            values[name] = TypeAdapter(kind).validate_python(texts[name])
        except ValidationError as error:
            raise invalid((name, explain(error)[0][1])) from error
    problems = list(_storage_problems(values, ""))
    if problems:
        raise invalid(*problems)
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


def _type_problems(
    model: type[WireModel], document: Mapping[str, Any], place: str
) -> Iterator[Problem]:
    """What pydantic would bend into shape and the interface does not: "12" for 12, true for 1."""
    given = {name[:1].lower() + name[1:]: value for name, value in document.items()}
    for name, annotation in _fields(model).items():
        value = given.get(name[:1].lower() + name[1:])
        if value is not None:
            yield from _value_problems(annotation, value, place + name)


def _value_problems(annotation: Any, value: Any, place: str) -> Iterator[Problem]:
    kind = get_origin(annotation) or annotation
    if isinstance(kind, type) and issubclass(kind, WireModel):
        kind = dict
    expected, message = _JSON_TYPES.get(kind, ((object,), ""))
    if not isinstance(value, expected) or (isinstance(value, bool) and kind in (int, Decimal)):
        yield place, f"Valor inválido: {message}."
    elif kind is list:
        (item,) = get_args(annotation)
        for index, element in enumerate(value):
            yield from _value_problems(plain_type(item), element, f"{place}.{index}")
    elif kind is dict and isinstance(annotation, type):
        yield from _type_problems(annotation, value, f"{place}.")
    else:
        yield from _storage_problems({place: Decimal(value) if kind is Decimal else value}, "")


def _storage_problems(values: Mapping[str, Any] | Sequence[Any], place: str) -> Iterator[Problem]:
    """Numbers that no code, count or amount can be, and texts that are no Unicode."""
    items = values.items() if isinstance(values, Mapping) else enumerate(values)
    for name, value in items:
        if isinstance(value, (dict, list)):
            yield from _storage_problems(value, f"{place}{name}.")
        elif _is_out_of_range(value):
            yield f"{place}{name}", "Valor inválido: número fora do intervalo."
        elif _is_unwritable(value):
            yield f"{place}{name}", "Valor inválido: texto com caracteres não permitidos."


def _is_out_of_range(value: Any) -> bool:
    if isinstance(value, Decimal):
        return abs(value) >= _NUMBER_LIMIT
    return isinstance(value, int) and not -_INTEGER_LIMIT <= value < _INTEGER_LIMIT


def _is_unwritable(value: Any) -> bool:
    """Half a surrogate pair cannot be encoded, and no database but SQLite keeps a NUL."""
    return isinstance(value, str) and _UNWRITABLE.search(value) is not None
