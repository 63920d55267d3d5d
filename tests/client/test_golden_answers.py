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
from xlbridge.wire.authentication import AUTHENTICATE
from xlbridge.wire.model import UPLOAD_FIELD

STEPS = list(client_steps())
LOGINS = [case for case in golden_cases() if operations_of(case) == {AUTHENTICATE.name}]
WORKBOOK = UploadFile("planilha.xlsx", b"PK the workbook")


@pytest.mark.parametrize("made", STEPS, ids=lambda made: made.name)
def test_the_client_asks_and_reads_as_the_spec_says(
    made: ClientStep, server: ScriptedServer, client: Client
) -> None:
    response = made.step.response
    status, body = response["status"], example(filled(response["body"], SAVED))
    server.steps = [answer(status, body)]
    file = WORKBOOK if made.operation.upload else None
    try:
        data = client.call(
            made.operation, path=made.path, query=made.query, body=made.body, file=file
        )
    except ApiError as error:
        expect_refusal(error, status, body)
    else:
        assert status == 200
        assert data == TypeAdapter(made.operation.data).validate_python(body["data"])
    expect_request(server, filled(made.step.request, SAVED))


@pytest.mark.parametrize("case", LOGINS, ids=lambda case: case.name)
def test_the_client_reads_logins_as_the_spec_says(
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


def expect_refusal(error: ApiError, status: int, body: Any) -> None:
    if status == 401:
        assert isinstance(error, AuthenticationFailed)
        return
    assert isinstance(error, RemoteRejected)
    assert error.status == status
    if isinstance(body, dict):
        told_why = body["data"]["notifications"] if body["success"] else body["errors"]
        items = [(item["key"], item["value"]) for item in told_why]
        assert [(c.key, c.value) for c in error.details] == items
    else:
        assert [c.value for c in error.details] == [body]


def expect_request(server: ScriptedServer, wanted: dict[str, Any]) -> None:
    request = server.requests[-1]
    url = urlsplit(request.path)
    assert (request.method, url.path) == (wanted["method"], wanted["path"])
    query = parse_qs(url.query)
    for name, value in wanted.get("query", {}).items():
        values = value if isinstance(value, list) else [value]
        assert len(query[name]) == len(values)
        assert all(said.startswith(str(v)) for said, v in zip(query[name], values, strict=True))
    if "json" in wanted:
        body = json.loads(request.body)
        assert says(body, wanted["json"]), body
    if "workbook" in wanted:
        assert request.headers["content-type"].startswith("multipart/form-data")
        assert f'name="{UPLOAD_FIELD}"'.encode() in request.body
        assert WORKBOOK.content in request.body


def says(sent: Any, wanted: Any) -> bool:
    """Return whether a body contains the expected fields; a date may be sent with midnight."""
    if isinstance(wanted, dict):
        other = {name[0].swapcase() + name[1:]: value for name, value in sent.items()}
        return all(says((other | sent).get(k), v) for k, v in wanted.items() if v is not None)
    if isinstance(wanted, list):
        return len(sent) == len(wanted) and all(map(says, sent, wanted))
    return bool(sent == wanted or sent == f"{wanted}T00:00:00")


def test_every_operation_is_played() -> None:
    played = {made.operation.name for made in STEPS} | {AUTHENTICATE.name}
    assert [name for name in OPERATIONS if name not in played] == []
    assert LOGINS
