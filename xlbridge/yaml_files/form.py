"""Holding a document to its form: what is wrong, on which line, and what is allowed there."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import jsonschema_rs

from xlbridge.i18n import Text
from xlbridge.yaml_files.places import Place, YamlText

Form = dict[str, Any]

_TYPES: Mapping[str, Text] = {
    "object": Text(pt="um bloco de chaves e valores", en="a block of keys and values"),
    "array": Text(pt="uma lista", en="a list"),
    "string": Text(pt="um texto", en="a text"),
    "integer": Text(pt="um inteiro", en="a whole number"),
    "number": Text(pt="um número", en="a number"),
    "boolean": Text(pt="true ou false", en="true or false"),
}


_FEW = Text(pt="falta ao menos um item.", en="at least one item is missing.")
_TOLD: Mapping[str, Text] = {
    "minLength": Text(pt="falta o texto.", en="text is missing."),
    "maxLength": Text(
        pt="{found} é longo demais; cabem {limit} caracteres.",
        en="{found} is too long; {limit} characters fit.",
    ),
    "minimum": Text(
        pt="{found} é menor que o mínimo, {limit}.", en="{found} is below the minimum, {limit}."
    ),
    "minItems": _FEW,
    "minProperties": _FEW,
    "uniqueItems": Text(pt="há itens repetidos.", en="there are repeated items."),
    "pattern": Text(
        pt="{found} não serve: só letras de a a z, algarismos e hífens.",
        en="{found} will not do: only the letters a to z, digits and hyphens.",
    ),
    "maxProperties": Text(pt="cabem no máximo {limit}.", en="{limit} fit at most."),
}
"""What is said of the keywords that limit a value."""

WHOLE_NUMBER, UNPADDED = "^[1-9][0-9]*$", "^\\S(.*\\S)?$"
"""The patterns that names of keys may have to fit."""

_KEYS: Mapping[str, Text] = {
    WHOLE_NUMBER: Text(
        pt="cada chave é um número inteiro, e {found} não é.",
        en="each key is a whole number, and {found} is none.",
    ),
    UNPADDED: Text(
        pt="o nome {found} não serve: fica numa só linha, sem espaços nas pontas.",
        en="the name {found} will not do: it is one line, without spaces at its ends.",
    ),
}


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something wrong in a file. ``place`` is where it is, ``line`` counts from 1."""

    line: int
    place: str
    what: Text


def mistakes_of(document: YamlText, form: Form) -> list[Mistake]:
    """Return what breaks ``form``, a JSON Schema (2020-12), in the order of the lines."""
    found = [_repeated(line, key) for line, key in document.repeated_keys()]
    content = json.loads(json.dumps(document.content, default=str))
    for error in jsonschema_rs.Draft202012Validator(form).iter_errors(content):
        found.extend(_mistakes(document, error, form))
    return sorted(found, key=lambda mistake: (mistake.line, mistake.place))


def unknown(found: object, allowed: "tuple[str, ...]") -> Text:
    """Say that something is not known, and what is."""
    return Text(
        pt="{found} não é conhecido; aqui cabem: {allowed}.",
        en="{found} is not known; allowed here: {allowed}.",
    ).format(found=as_written(found), allowed=", ".join(allowed))


def as_written(value: object) -> str:
    """Return a value much as a YAML file has it: ``true``, ``2026-12-31``, texts in quotes."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, date) else repr(value)


def dotted(place: Place) -> str:
    """Return a place as a person writes it: ``columns.codigo.dtype``, ``checks[0].column``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).removeprefix(".")


def _repeated(line: int, key: str) -> Mistake:
    what = Text(
        pt="{key} aparece duas vezes; deixe um só.", en="{key} stands there twice; keep one."
    )
    return Mistake(line, key, what.format(key=key))


def _mistakes(
    document: YamlText, error: jsonschema_rs.ValidationError, form: Form
) -> Iterator[Mistake]:
    place = list(error.instance_path)
    schema = _schema_around(form, list(error.schema_path))
    if error.kind.name == "additionalProperties":
        for key in error.kind.value:
            what = unknown(key, tuple(schema.get("properties", {})))
            yield _mistake(document, [*place, key], what)
        return
    if error.kind.name == "propertyNames":
        key = error.kind.value.instance
        what = _KEYS[error.kind.value.kind.value].format(found=as_written(key))
        yield Mistake(document.line([*place, key]), dotted(place), what)
        return
    yield _mistake(document, place, _what(error, schema))


def _mistake(document: YamlText, place: list[str | int], what: Text) -> Mistake:
    return Mistake(document.line(place), dotted(place), what)


def _what(error: jsonschema_rs.ValidationError, schema: Mapping[str, Any]) -> Text:
    value = error.kind.value
    match error.kind.name:
        case "required":
            return Text(pt="falta {name}.", en="{name} is missing.").format(name=value)
        case "enum":
            return unknown(error.instance, tuple(map(str, value)))
        case "const":
            return unknown(error.instance, (json.dumps(value),))
        case "type":
            return _expected([_TYPES[name] for name in value if name in _TYPES])
        case name if name in _TOLD:
            return _TOLD[name].format(found=as_written(error.instance), limit=value)
        case _:
            return Text(pt="{why}.", en="{why}.").format(why=error.message)


def _expected(kinds: list[Text]) -> Text:
    first, *others = kinds
    for other in others:
        first = Text(pt="{a} ou {b}", en="{a} or {b}").format(a=first, b=other)
    return Text(pt="aqui se espera {kind}.", en="{kind} is expected here.").format(kind=first)


def _schema_around(form: Form, steps: list[str | int]) -> Form:
    """Return the schema that holds the keyword which a value broke."""
    schema: Any = form
    for step in steps[:-1]:
        schema = schema[step]
    return schema if isinstance(schema, dict) else {}
