"""Client against the golden exchanges: it sends their requests and reads their answers."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from exchange_files import Case, example, filled, golden_cases
from golden_steps import SAVED, ClientStep, client_steps, operations_of
from pydantic import TypeAdapter
from scripted_server import ScriptedServer, answer

from xlbridge.client import Client, UploadFile
from xlbridge.errors import ApiError, AuthenticationFailed, RemoteRejected
from xlbridge.wire import OPERATIONS
from xlbridge.wire.model import UPLOAD_FIELD
from xlbridge.wire.operations import AUTHENTICATE

STEPS = list(client_steps())
LOGINS = [case for case in golden_cases() if operations_of(case) == {AUTHENTICATE.name}]
WORKBOOK = UploadFile("planilha.xlsx", b"PK the workbook")


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_the_client_sends_and_reads_the_golden_exchanges(
    step: ClientStep, server: ScriptedServer, client: Client
) -> None:
    response = step.exchange.response
    status, body = response["status"], example(filled(response["body"], SAVED))
    server.steps = [answer(status, body)]
    file = WORKBOOK if step.operation.upload else None
    try:
        data = client.call(
            step.operation, path=step.path, query=step.query, body=step.body, file=file
        )
    except ApiError as error:
        expect_rejection(error, status, body)
    else:
        assert status == 200
        assert data == TypeAdapter(step.operation.data).validate_python(body["data"])
    expect_request(server, filled(step.exchange.request, SAVED))


@pytest.mark.parametrize("case", LOGINS, ids=lambda case: case.name)
def test_the_client_reads_the_golden_logins(
    case: Case, server: ScriptedServer, client: Client
) -> None:
    (step,) = case.steps
    body = example(filled(step.response["body"], SAVED))
    server.login = answer(step.response["status"], body)
    if body["authenticated"]:
        assert client.login().expiration == body["expiration"]
        return
    with pytest.raises(AuthenticationFailed, match=body["message"]):
        client.login()


def expect_rejection(error: ApiError, status: int, body: Any) -> None:
    if status == 401:
        assert isinstance(error, AuthenticationFailed)
        return
    assert isinstance(error, RemoteRejected)
    assert error.status == status
    if isinstance(body, dict):
        reasons = body["data"]["notifications"] if body["success"] else body["errors"]
        items = [(item["key"], item["value"]) for item in reasons]
        assert [(c.key, c.value) for c in error.details] == items
    else:
        assert [c.value for c in error.details] == [body]


def expect_request(server: ScriptedServer, expected: dict[str, Any]) -> None:
    request = server.requests[-1]
    url = urlsplit(request.path)
    assert (request.method, url.path) == (expected["method"], expected["path"])
    query = parse_qs(url.query)
    for name, value in expected.get("query", {}).items():
        values = value if isinstance(value, list) else [value]
        assert len(query[name]) == len(values)
        assert all(sent.startswith(str(v)) for sent, v in zip(query[name], values, strict=True))
    if "json" in expected:
        body = json.loads(request.body)
        assert contains(body, expected["json"]), body
    if "workbook" in expected:
        assert request.headers["content-type"].startswith("multipart/form-data")
        assert f'name="{UPLOAD_FIELD}"'.encode() in request.body
        assert WORKBOOK.content in request.body


def contains(sent: Any, expected: Any) -> bool:
    """Return whether a body contains the expected fields; a date may be sent with midnight."""
    if isinstance(expected, dict):
        other = {name[0].swapcase() + name[1:]: value for name, value in sent.items()}
        return all(contains((other | sent).get(k), v) for k, v in expected.items() if v is not None)
    if isinstance(expected, list):
        return len(sent) == len(expected) and all(map(contains, sent, expected))
    return bool(sent == expected or sent == f"{expected}T00:00:00")


def test_every_operation_has_a_golden_exchange() -> None:
    covered = {step.operation.name for step in STEPS} | {AUTHENTICATE.name}
    assert [name for name in OPERATIONS if name not in covered] == []
    assert LOGINS
