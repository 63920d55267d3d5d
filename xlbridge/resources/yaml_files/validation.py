"""Read YAML files and validate them against a JSON Schema.

Each mistake comes with its line, its place and what is allowed there.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema_rs
import yaml

from xlbridge.errors import closest_name, os_error_reason
from xlbridge.i18n import Text
from xlbridge.resources.yaml_files.document import YamlDocument, YamlPath, parser_problem

Schema = dict[str, Any]


def block_schema(properties: Schema, /, *, needed: tuple[str, ...] = ()) -> Schema:
    """Return the schema of a block with exactly these keys."""
    return {
        "type": "object",
        "required": list(needed),
        "properties": properties,
        "additionalProperties": False,
    }


def described(schema: Schema, description: str) -> Schema:
    """Return a schema with the description that editors show."""
    return {**schema, "description": description}


JsonSchema = dict[str, Any]

_TYPE_TEXTS: Mapping[str, Text] = {
    "object": Text(pt="um bloco de chaves e valores", en="a block of keys and values"),
    "array": Text(pt="uma lista", en="a list"),
    "string": Text(pt="um texto", en="a text"),
    "integer": Text(pt="um inteiro", en="a whole number"),
    "number": Text(pt="um número", en="a number"),
    "boolean": Text(pt="true ou false", en="true or false"),
}


_MISSING_ITEM = Text(pt="falta ao menos um item.", en="at least one item is missing.")
_LIMIT_TEXTS: Mapping[str, Text] = {
    "minLength": Text(pt="falta o texto.", en="text is missing."),
    "maxLength": Text(
        pt="{found} é longo demais; cabem {limit} caracteres.",
        en="{found} is too long; {limit} characters fit.",
    ),
    "minimum": Text(
        pt="{found} é menor que o mínimo, {limit}.", en="{found} is below the minimum, {limit}."
    ),
    "minItems": _MISSING_ITEM,
    "minProperties": _MISSING_ITEM,
    "uniqueItems": Text(pt="há itens repetidos.", en="there are repeated items."),
    "pattern": Text(
        pt="{found} não serve: só letras de a a z, algarismos e hífens.",
        en="{found} is not valid: only the letters a to z, digits and hyphens.",
    ),
    "maxItems": Text(
        pt="{found} não cabe aqui: cada regra tem um nome conhecido e aparece uma só vez.",
        en="{found} does not fit here: each check has a known name and is there only once.",
    ),
    "maxProperties": Text(pt="cabem no máximo {limit}.", en="{limit} fit at most."),
}
"""Messages of the keywords that limit a value."""

WHOLE_NUMBER, UNPADDED = "^[1-9][0-9]*$", "^\\S(.*\\S)?$"
"""The patterns that names of keys may have to fit."""

_KEY_TEXTS: Mapping[str, Text] = {
    WHOLE_NUMBER: Text(
        pt="cada chave é um número inteiro, e {found} não é.",
        en="each key is a whole number, and {found} is not.",
    ),
    UNPADDED: Text(
        pt="o nome {found} não serve: fica numa só linha, sem espaços nas pontas.",
        en="the name {found} is not valid: it must be one line, without spaces at its ends.",
    ),
}


@dataclass(frozen=True, slots=True)
class Mistake:
    """Mistake in a file, its line counted from 1 and its place as a path of keys."""

    line: int
    place: str
    message: Text


def mistakes_of(document: YamlDocument, form: JsonSchema) -> list[Mistake]:
    """Return the mistakes by ``form``, a JSON Schema (2020-12), in the order of the lines."""
    found = [_repeated(line, key) for line, key in document.repeated_keys()]
    content = json.loads(json.dumps(document.content, default=str))
    for error in jsonschema_rs.Draft202012Validator(form).iter_errors(content):
        found.extend(_mistakes(document, error, form))
    return sorted(found, key=lambda mistake: (mistake.line, mistake.place))


def unknown_value(found: object, allowed: "tuple[str, ...]") -> Text:
    """Return the message that a value is not known, with those that are, and the one meant."""
    if not allowed:
        return Text(
            pt="{found} não é conhecido, e não há nenhum que caiba aqui.",
            en="{found} is not known, and there is none that is allowed here.",
        ).format(found=format_yaml_value(found))
    return Text(
        pt="{found} não é conhecido; {meant}aqui cabem: {allowed}.",
        en="{found} is not known; {meant}allowed here: {allowed}.",
    ).format(
        found=format_yaml_value(found),
        meant=_MEANT.format(name=close) if (close := closest_name(str(found), allowed)) else "",
        allowed=", ".join(allowed),
    )


_MEANT = Text(pt="seria {name}? ", en="did you mean {name}? ")


def format_yaml_value(value: object) -> str:
    """Return a value much as a YAML file has it: ``true``, ``2026-12-31``, texts in quotes."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, date) else repr(value)


def format_yaml_path(place: YamlPath) -> str:
    """Return a place as a person writes it: ``columns.codigo.dtype``, ``checks[0].column``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).removeprefix(".")


def _repeated(line: int, key: str) -> Mistake:
    message = Text(pt="{key} aparece duas vezes; deixe um só.", en="{key} is repeated; keep one.")
    return Mistake(line, key, message.format(key=key))


def _mistakes(
    document: YamlDocument, error: jsonschema_rs.ValidationError, form: JsonSchema
) -> Iterator[Mistake]:
    place = list(error.instance_path)
    schema = _schema_around(form, list(error.schema_path))
    if error.kind.name == "additionalProperties":
        for key in error.kind.value:
            message = unknown_value(key, tuple(schema.get("properties", {})))
            yield _mistake(document, [*place, key], message)
        return
    if error.kind.name == "propertyNames":
        key = error.kind.value.instance
        message = _KEY_TEXTS[error.kind.value.kind.value].format(found=format_yaml_value(key))
        yield Mistake(document.line([*place, key]), format_yaml_path(place), message)
        return
    yield _mistake(document, place, _what(error, schema))


def _mistake(document: YamlDocument, place: list[str | int], message: Text) -> Mistake:
    return Mistake(document.line(place), format_yaml_path(place), message)


def _what(error: jsonschema_rs.ValidationError, schema: Mapping[str, Any]) -> Text:
    value = error.kind.value
    match error.kind.name:
        case "required":
            return Text(pt="falta {name}.", en="{name} is missing.").format(name=value)
        case "enum":
            return unknown_value(error.instance, tuple(map(str, value)))
        case "const":
            return unknown_value(error.instance, (json.dumps(value),))
        case "type":
            first, *others = [_TYPE_TEXTS[name] for name in value if name in _TYPE_TEXTS]
            for other in others:
                first = Text(pt="{a} ou {b}", en="{a} or {b}").format(a=first, b=other)
            return Text(pt="aqui se espera {kind}.", en="{kind} is expected here.").format(
                kind=first
            )
        case name if name in _LIMIT_TEXTS:
            return _LIMIT_TEXTS[name].format(found=format_yaml_value(error.instance), limit=value)
        case _:
            return Text(pt="{why}.", en="{why}.").format(why=error.message)


def _schema_around(form: JsonSchema, steps: list[str | int]) -> JsonSchema:
    """Return the schema that holds the keyword which a value broke."""
    schema: Any = form
    for step in steps[:-1]:
        schema = schema[step]
    return schema if isinstance(schema, dict) else {}


_MAX_SHOWN = 10
_MAX_BYTES = 1_000_000
_NOT_UTF_8 = Text(
    pt="o arquivo não é texto em UTF-8; salve-o como UTF-8.",
    en="the file is not UTF-8 text; save it as UTF-8.",
)
_TOO_LARGE = Text(
    pt="o arquivo tem mais de {most} bytes: é grande demais para um esquema ou plano.",
    en="the file has more than {most} bytes: too large for a schema or a plan.",
).format(most=_MAX_BYTES)
_UNREADABLE = Text(pt="não pode ser lido: {why}.", en="it cannot be read: {why}.")


def read_document(path: Path, *, dates: bool = True) -> YamlDocument | Mistake:
    """Return a file's document, or the mistake that makes it none; without ``dates`` as texts."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            return Mistake(1, "", _TOO_LARGE)
        text = content.decode("utf-8-sig")
    except OSError as error:
        return Mistake(1, "", _UNREADABLE.format(why=os_error_reason(error)))
    except UnicodeDecodeError as error:
        return Mistake(error.object.count(b"\n", 0, error.start) + 1, "", _NOT_UTF_8)
    try:
        return YamlDocument(text, dates=dates)
    except yaml.YAMLError as error:
        line, message = parser_problem(error, text)
        return Mistake(line, "", message)


def format_mistakes(path: Path, mistakes: Sequence[Mistake]) -> Text:
    """Return the mistakes of a file as lines of text, the first ten of them."""
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
