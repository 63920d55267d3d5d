"""Reading of YAML files and validation against a JSON Schema, with the line of each mistake."""

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
        pt="{found} é longo demais; são no máximo {limit} caracteres.",
        en="{found} is too long; at most {limit} characters are allowed.",
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
        pt="{found} não é aceito: cada regra tem um nome conhecido e aparece uma só vez.",
        en="{found} is not allowed: each check has a known name and occurs only once.",
    ),
    "maxProperties": Text(pt="no máximo {limit}.", en="at most {limit}."),
}
"""Messages of the keywords that limit a value."""

WHOLE_NUMBER, UNPADDED = "^[1-9][0-9]*$", "^\\S(.*\\S)?$"
"""Patterns of the names of keys."""

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
    """Mistake in a file; the line is counted from 1, the place is a path of keys."""

    line: int
    place: str
    message: Text


def document_mistake(document: YamlDocument, path: YamlPath, message: Text) -> Mistake:
    """Return the mistake in the part of a document at a path."""
    return Mistake(document.line(path), format_yaml_path(path), message)


def mistakes_of(document: YamlDocument, schema: Schema) -> list[Mistake]:
    """Return the mistakes by a JSON Schema (2020-12), in the order of the lines."""
    repeated = Text(pt="{key} aparece duas vezes; deixe um só.", en="{key} is repeated; keep one.")
    found = [Mistake(line, key, repeated.format(key=key)) for line, key in document.repeated_keys()]
    content = json.loads(json.dumps(document.content, default=str))
    for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(content):
        found.extend(_mistakes(document, error, schema))
    return sorted(found, key=lambda mistake: (mistake.line, mistake.place))


def unknown_value(found: object, allowed: "tuple[str, ...]") -> Text:
    """Return the message for an unknown value, with the allowed ones and the most similar one."""
    if not allowed:
        return Text(
            pt="{found} não é conhecido, e nenhum valor é aceito aqui.",
            en="{found} is not known, and no value is allowed here.",
        ).format(found=format_yaml_value(found))
    return Text(
        pt="{found} não é conhecido; {meant}são aceitos: {allowed}.",
        en="{found} is not known; {meant}allowed here: {allowed}.",
    ).format(
        found=format_yaml_value(found),
        meant=_MEANT.format(name=close) if (close := closest_name(str(found), allowed)) else "",
        allowed=", ".join(allowed),
    )


_MEANT = Text(pt="seria {name}? ", en="did you mean {name}? ")


def format_yaml_value(value: object) -> str:
    """Format a value as in a YAML file: ``true``, ``2026-12-31``, texts in quotes."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return str(value) if isinstance(value, date) else repr(value)


def format_yaml_path(path: YamlPath) -> str:
    """Format a path: ``columns.codigo.dtype``, ``checks[0].column``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _mistakes(
    document: YamlDocument, error: jsonschema_rs.ValidationError, schema: Schema
) -> Iterator[Mistake]:
    path = list(error.instance_path)
    if error.kind.name == "additionalProperties":
        known: Any = schema
        for step in list(error.schema_path)[:-1]:
            known = known[step]
        for key in error.kind.value:
            message = unknown_value(key, tuple(known.get("properties", {})))
            yield document_mistake(document, [*path, key], message)
    elif error.kind.name == "propertyNames":
        key = error.kind.value.instance
        message = _KEY_TEXTS[error.kind.value.kind.value].format(found=format_yaml_value(key))
        yield Mistake(document.line([*path, key]), format_yaml_path(path), message)
    else:
        yield document_mistake(document, path, _message(error))


def _message(error: jsonschema_rs.ValidationError) -> Text:
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
            return Text(pt="deve ser {kind}.", en="this must be {kind}.").format(kind=first)
        case name if name in _LIMIT_TEXTS:
            return _LIMIT_TEXTS[name].format(found=format_yaml_value(error.instance), limit=value)
        case _:
            return Text(pt="{why}.", en="{why}.").format(why=error.message)


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
    """Return a file's document, or the mistake that makes it unreadable.

    Without ``dates``, dates stay texts."""
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
    """Format the mistakes of a file as lines of text, the first ten of them."""
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
