"""Shapes of answers that the interface's description allows or leaves open."""

import codecs
import json
from collections.abc import Callable, Mapping
from typing import Any

Shape = Callable[[Any], Any]


def respelled(value: Any, spell: Callable[[str], str]) -> Any:
    """Return a document with the names of all objects spelled otherwise."""
    if isinstance(value, list):
        return [respelled(item, spell) for item in value]
    if not isinstance(value, dict):
        return value
    return {spell(name): respelled(item, spell) for name, item in value.items()}


def pascal(value: Any) -> Any:
    """Return a document with the names of all objects in PascalCase."""
    return respelled(value, lambda name: name[:1].upper() + name[1:])


def camel(value: Any) -> Any:
    """Return a document with the names of all objects in camelCase."""
    return respelled(value, lambda name: name[:1].lower() + name[1:])


def as_texts(value: Any) -> Any:
    """Return a document with its numbers as texts."""
    if isinstance(value, dict):
        return {name: as_texts(item) for name, item in value.items()}
    if isinstance(value, list):
        return [as_texts(item) for item in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else value


def with_more_fields(value: Any) -> Any:
    """Return a document whose objects have fields that nobody knows."""
    if isinstance(value, list):
        return [with_more_fields(item) for item in value]
    if not isinstance(value, dict):
        return value
    known = {name: with_more_fields(item) for name, item in value.items()}
    return {"novidadeDaVersao": {"campo": 1}, **known, "outra": ["x"]}


def encoded(document: Any) -> bytes:
    """Return a document as JSON that escapes no letter."""
    return json.dumps(document, ensure_ascii=False).encode()


def kind_of(content: bytes) -> str:
    """Return the content type of a body that is given as bytes."""
    if content.startswith(b"<"):
        return "text/html; charset=utf-8"
    return "text/plain; charset=utf-8" if content[:1].isalpha() else "application/json"


def failure(errors: Any, **others: Any) -> dict[str, Any]:
    """Return the envelope of a refusal."""
    return {"success": False, "data": None, "errors": errors, **others}


SPELLINGS: Mapping[str, Shape] = {
    "as the spec": lambda document: document,
    "PascalCase": pascal,
    "camelCase": camel,
}
TYPES: Mapping[str, Shape] = {
    "as the spec": lambda document: document,
    "numbers as texts": as_texts,
    "more fields": with_more_fields,
}
STATUSES = (200, 201, 202, 207)
REFUSALS: Mapping[str, Callable[[list[dict[str, str]]], tuple[int, Any]]] = {
    "as the spec": lambda items: (400, failure(items)),
    "200": lambda items: (200, failure(items)),
    "422": lambda items: (422, failure(items)),
    "PascalCase": lambda items: (400, pascal(failure(items))),
    "texts": lambda items: (400, failure([item["value"] for item in items])),
    "one text": lambda items: (400, failure("; ".join(item["value"] for item in items))),
    "by field": lambda items: (400, failure({item["key"]: [item["value"]] for item in items})),
    "other names": lambda items: (
        400,
        failure([{"campo": item["key"], "mensagem": item["value"]} for item in items]),
    ),
    "notifications": lambda items: (400, failure(None, notifications=items)),
    "notifications in data": lambda items: (
        200,
        {"success": False, "data": {"notifications": items}},
    ),
    "success with notifications": lambda items: (
        200,
        {"success": True, "data": {"notifications": items, "payload": None}},
    ),
    "JSON string": lambda items: (400, "; ".join(item["value"] for item in items)),
    "list": lambda items: (400, [item["value"] for item in items]),
    "object": lambda items: (400, {"title": "Bad Request", "message": items[0]["value"]}),
    "plain text": lambda items: (400, "; ".join(item["value"] for item in items).encode()),
    "message of a failure": lambda items: (200, {"success": False, "message": items[0]["value"]}),
    "text as data": lambda items: (200, {"success": False, "data": items[0]["value"]}),
    "success with errors": lambda items: (200, {"success": True, "data": None, "errors": items}),
    "within a success": lambda items: (200, {"success": True, "data": failure(items)}),
    "within another object": lambda items: (400, {"result": failure(items)}),
    "within a list": lambda items: (400, [failure(items)]),
    "no errors but a message": lambda items: (
        400,
        failure([], message="; ".join(item["value"] for item in items)),
    ),
    "success as text": lambda items: (400, {**failure(items), "success": "false"}),
    "byte order mark": lambda items: (400, codecs.BOM_UTF8 + encoded(failure(items))),
    "UTF-16": lambda items: (400, encoded(failure(items)).decode().encode("utf-16")),
    "Latin-1": lambda items: (400, encoded(failure(items)).decode().encode("latin-1")),
    "207": lambda items: (207, failure(items)),
    "upper case": lambda items: (400, respelled(failure(items), str.upper)),
}
WORDLESS: Mapping[str, tuple[int, Any]] = {
    "no errors": (400, failure([])),
    "no errors of a success's status": (200, failure([])),
    "errors by field, none": (400, failure({})),
    "errors of a field, none": (400, failure({"cep": []})),
    "an empty error": (400, failure([{}])),
    "an error without a text": (400, failure([{"key": "", "value": " "}])),
    "a null error": (400, failure([None])),
    "no notifications": (400, failure(None, notifications=[])),
    "nothing but the failure": (400, {"success": False}),
    "no body": (400, b""),
    "an empty object": (400, {}),
    "an empty text": (400, ""),
    "204": (204, b""),
    "a gateway's page": (502, b"<html><body>Bad Gateway</body></html>"),
    "a gateway's page as 400": (400, b"<html><body>Bad Request</body></html>"),
}
"""Answers from which nobody knows what became of a request."""
SUCCESSES: Mapping[str, Shape] = {
    "as the sandbox": lambda document: document,
    "PascalCase": pascal,
    "no data": lambda document: {**document, "data": None},
    "nothing but success": lambda _document: {"success": True},
    "in a list": lambda document: {**document, "data": [document["data"]]},
    "more fields": lambda document: {**document, "novo": 1, "mensagem": "ok"},
    "codes as texts": lambda document: {**document, "data": as_texts(document["data"])},
    "true": lambda document: {**document, "data": True},
    "success as text": lambda document: {**document, "success": "true"},
    "in an object": lambda document: {**document, "data": {"registro": document["data"]}},
    "empty errors": lambda document: {**document, "errors": [], "notifications": []},
    "a page": lambda _document: b"<html><body>OK</body></html>",
    "no body": lambda _document: b"",
    "byte order mark": lambda document: codecs.BOM_UTF8 + encoded(document),
    "upper case": lambda document: respelled(document, str.upper),
}
IDS: Mapping[str, Shape] = {
    "number": lambda log_id: log_id,
    "text": str,
    "id": lambda log_id: {"id": log_id, "usuario": 7},
    "codigo": lambda log_id: {"codigoDaImportacao": log_id, "quantidadeDeRegistros": 3},
    "log": lambda log_id: {"logDeImportacao": {"id": log_id}},
    "unreadable": lambda _log_id: {"quantidadeDeRegistros": 3},
}
LINES: Mapping[str, Shape] = {
    "objects": lambda line: line,
    "PascalCase": pascal,
    "texts": lambda line: f"Linha {line['linha']}: {line['mensagem']}",
    "errors": lambda line: {
        "key": line["coluna"],
        "value": f"Linha {line['linha']}: {line['mensagem']}",
    },
    "numbers as texts": lambda line: {**line, "linha": str(line["linha"])},
}
