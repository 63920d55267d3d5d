"""Our client, held to the same golden exchanges: it asks as they ask, and reads their answers."""

import json
import re
from collections import defaultdict
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from exchange_files import Step, example, filled, golden_cases, is_partial
from pydantic import TypeAdapter, ValidationError
from scripted_server import ScriptedServer, answer

from xlbridge.api.client import Client
from xlbridge.errors import ApiError, AuthenticationFailed, RemoteRejected
from xlbridge.wire.model import WireModel
from xlbridge.wire.operation import Operation
from xlbridge.wire.operations import OPERATIONS

SAVED: dict[str, Any] = defaultdict(lambda: 7, email="a@b.com", password="secret")
"""What earlier steps would have saved."""


def operation_of(request: dict[str, Any]) -> tuple[Operation, dict[str, str]] | None:
    """Return the operation that a request is for, and the values in its path."""
    found = []
    for operation in OPERATIONS.values():
        pattern = re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", operation.path)
        match = re.fullmatch(pattern, request["path"])
        if match and operation.method == request["method"]:
            found.append((len(match.groupdict()), operation, match.groupdict()))
    return min(found, key=lambda item: item[0])[1:] if found else None


def told(operation: Operation, step: Step) -> tuple[Any, WireModel | None, WireModel | None] | None:
    """Return path, query and body as our types; None where they cannot say something so wrong."""
    request = filled(step.request, SAVED)
    found = operation_of(request)
    if found is None or {"workbook", "file", "text", "token"} & request.keys():
        return None
    try:
        path = {k: operation.path_parameters[k](v) for k, v in found[1].items()}
        query = operation.query and operation.query.model_validate(request.get("query", {}))
        body = operation.body and operation.body.model_validate(request.get("json"))
    except (ValidationError, ValueError):
        return None
    if body is not None and is_mended(request["json"], body):
        return None
    return path, query, body


def is_mended(asked: dict[str, Any], body: WireModel) -> bool:
    """Tell whether our types have put right what the request was meant to have wrong."""
    said = body.model_dump(mode="json", by_alias=True)
    return any(type(said[k]) is not type(v) for k, v in asked.items() if isinstance(v, str))


def playable() -> list[Any]:
    steps = []
    for case in golden_cases():
        for number, step in enumerate(case.steps):
            found = operation_of(filled(step.request, SAVED))
            whole = step.response["status"] != 200 or not is_partial(step.response["body"])
            if found and found[0].enveloped and whole and told(found[0], step):
                steps.append(pytest.param(found[0], step, id=f"{case.name}-{number}"))
    return steps


STEPS = playable()


@pytest.mark.parametrize(("operation", "step"), STEPS)
def test_the_client_asks_and_reads_as_the_spec_says(
    operation: Operation, step: Step, server: ScriptedServer, client: Client
) -> None:
    status, body = step.response["status"], example(filled(step.response["body"], SAVED))
    server.steps = [answer(status, body)]
    path, query, sent = told(operation, step)  # type: ignore[misc]
    try:
        data = client.call(operation, path=path, query=query, body=sent)
    except ApiError as error:
        expect_refusal(error, status, body)
    else:
        assert status == 200
        assert data == TypeAdapter(operation.data).validate_python(body["data"])
    expect_request(server, filled(step.request, SAVED))


def expect_refusal(error: ApiError, status: int, body: Any) -> None:
    if status == 401:
        assert isinstance(error, AuthenticationFailed)
        return
    assert isinstance(error, RemoteRejected)
    assert error.status == status
    if isinstance(body, dict):
        told_why = body["data"]["notifications"] if body["success"] else body["errors"]
        items = [(item["key"], item["value"]) for item in told_why]
        assert [(c.key, c.value) for c in error.complaints] == items
    else:
        assert [c.value for c in error.complaints] == [body]


def expect_request(server: ScriptedServer, wanted: dict[str, Any]) -> None:
    request = server.requests[-1]
    url = urlsplit(request.path)
    assert (request.method, url.path) == (wanted["method"], wanted["path"])
    query = {name: value[-1] for name, value in parse_qs(url.query).items()}
    for name, value in wanted.get("query", {}).items():
        assert query[name].startswith(str(value))
    if "json" in wanted:
        body = json.loads(request.body)
        assert {k: v for k, v in wanted["json"].items() if body.get(k) != v and v is not None} == {}


def test_enough_exchanges_are_played() -> None:
    assert len(STEPS) > 50
