"""The sandbox's description of itself."""

import re
from typing import Any

import httpx

from xlbridge.wire import OPERATIONS


def references(document: Any) -> set[str]:
    if isinstance(document, dict):
        own = {document["$ref"]} if isinstance(document.get("$ref"), str) else set()
        return own.union(*(references(value) for value in document.values()))
    if isinstance(document, list):
        return set().union(*(references(value) for value in document))
    return set()


def test_openapi_names_every_operation_and_nothing_undefined(http: httpx.Client) -> None:
    document = http.get("/openapi.json", headers={"Authorization": ""}).json()
    assert document["openapi"].startswith("3.1")
    described = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert described == {o.name: (o.method, o.path) for o in OPERATIONS.values()}
    for reference in references(document):
        place = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]


def test_openapi_declares_every_path_parameter(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    for path, methods in document["paths"].items():
        for operation in methods.values():
            declared = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
            assert declared == set(re.findall(r"{(\w+)}", path))


def test_docs_list_every_operation_and_load_nothing_from_elsewhere(http: httpx.Client) -> None:
    page = http.get("/docs", headers={"Authorization": ""})
    assert page.headers["content-type"].startswith("text/html")
    for operation in OPERATIONS.values():
        assert f"<code>{operation.path}</code>" in page.text
    assert "http://" not in page.text
    assert "https://" not in page.text
