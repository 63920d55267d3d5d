"""Shapes of answers that the interface's description allows or leaves open."""

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
STATUSES = (200, 201, 202)
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
}
SUCCESSES: Mapping[str, Shape] = {
    "as the sandbox": lambda document: document,
    "PascalCase": pascal,
    "no data": lambda document: {**document, "data": None},
    "nothing but success": lambda _document: {"success": True},
    "in a list": lambda document: {**document, "data": [document["data"]]},
    "more fields": lambda document: {**document, "novo": 1, "mensagem": "ok"},
    "codes as texts": lambda document: {**document, "data": as_texts(document["data"])},
    "true": lambda document: {**document, "data": True},
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
