"""OpenAPI document and documentation page.

Inside: sandbox.
"""

import asyncio
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
from databases import open_storage

from xlbridge.resources import Catalogue
from xlbridge.sandbox.app import build_app
from xlbridge.sandbox.area_declarations import Sandbox
from xlbridge.sandbox.messages import openapi_content
from xlbridge.wire import OPERATIONS


def references(document: Any) -> set[str]:
    if isinstance(document, dict):
        direct = {document["$ref"]} if isinstance(document.get("$ref"), str) else set()
        return direct.union(*(references(value) for value in document.values()))
    if isinstance(document, list):
        return set().union(*(references(value) for value in document))
    return set()


def test_the_event_loop_serves_others_while_the_description_is_built(
    tmp_path: Path, catalogue: Catalogue
) -> None:
    """The first test, as the others show what it has built."""
    openapi_content.cache_clear()
    with closing(open_storage(tmp_path)) as storage:
        turns = asyncio.run(_turns_of_others(Sandbox(storage, catalogue)))
    assert turns > 100


async def _turns_of_others(sandbox: Sandbox) -> int:
    """Count the turns of another task while two clients request the description."""
    transport = httpx.ASGITransport(build_app(sandbox))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        requests = asyncio.gather(*(client.get("/openapi.json") for _ in range(2)))
        turns = 0
        while not requests.done():
            turns += 1
            await asyncio.sleep(0)
        first, second = await requests
        assert first.content == second.content == openapi_content()
    return turns


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
