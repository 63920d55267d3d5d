"""Outcomes of writes: each kind of answer is classified, and none causes a second request."""

import json
import socket

import pytest
from answer_shapes import WORDLESS
from scripted_server import ScriptedServer, Step, answer, ok, open_client, reset

from xlbridge.client import (
    Client,
    Declined,
    Doubtful,
    Executed,
    NotExecuted,
    Rejected,
    UploadFile,
)
from xlbridge.errors import ErrorDetail
from xlbridge.wire.imports import IMPORT, ImportQuery, ImportRecords
from xlbridge.wire.model import XLSX_TYPE

CLIENTE = {"resource": "cliente"}
FILE = UploadFile("clientes.xlsx", b"PK\x03\x04 the workbook")
ENVELOPE = {
    "success": False,
    "errors": [{"key": "cnpjcpf", "value": "já cadastrado", "dateOccurred": "2026-01-31T10:00:00"}],
}


def send_half_a_body(connection: socket.socket) -> None:
    complete = ok({"totalDeRegistros": 3})
    connection.sendall(complete[:-5])


DOUBTFUL = {
    "500": answer(500, ENVELOPE),
    "504 of a proxy": answer(504, b"<html>Gateway Timeout</html>", "text/html"),
    "200 with HTML": answer(200, b"<html>Login</html>", "text/html"),
    "200 with half a JSON": answer(200, b'{"success": tr'),
    "200 with NaN": answer(200, b'{"success": true, "data": {"totalDeRegistros": NaN}}'),
    "200 nested too deeply": answer(200, b"[" * 100_000),
    "200 without an envelope": answer(200, {"totalDeRegistros": 3}),
    "200 that fails without errors": answer(200, {"success": False, "data": None}),
    "204": answer(204, b""),
    "307": answer(307, b"", Location="https://elsewhere.example/x?token=1"),
    "308": answer(308, b"", Location="/v3"),
    "413 of a gateway": answer(413, b"<html>too large</html>", "text/html"),
    **{name: answer(*one) for name, one in WORDLESS.items()},
    "400 that fails without errors": answer(400, {"success": False}),
    "a success with errors": answer(200, {**ENVELOPE, "success": True}),
    "a success with notifications, without data": answer(
        200, {"success": True, "data": None, "notifications": [{"key": "cep", "value": "ruim"}]}
    ),
    "a failure within a success": ok(ENVELOPE),
    "400 with text": answer(400, "Parâmetro inválido".encode(), "text/plain; charset=utf-8"),
    "404 with text": answer(404, b"Not Found", "text/plain"),
    "400 with a quoted text": answer(400, b'"Bad Request"', "text/plain"),
    "409 with a bare string": answer(409, "Conflito"),
    "302": answer(302, b"", Location="/elsewhere"),
    "303": answer(303, b"", Location="/done"),
    "302 to nowhere": answer(302, b"", Location="http://["),
    "304": answer(304, b""),
    "403 with HTML": answer(403, b"<html>Forbidden</html>", "text/html"),
    "400 whose envelope claims success": answer(400, {"success": True, "data": None}),
    "404 with HTML": answer(404, b"<html>no such page</html>", "text/html"),
    "cut before the answer": reset,
    "cut in the status line": b"HTTP/1.1 2",
    "cut in the body": send_half_a_body,
    "not HTTP": b"220 mail.example.com ESMTP\r\n",
}

REJECTED = {
    "400": (answer(400, ENVELOPE), 400, (ErrorDetail("cnpjcpf", "já cadastrado"),)),
    "404": (answer(404, ENVELOPE), 404, (ErrorDetail("cnpjcpf", "já cadastrado"),)),
    "Latin-1": (
        answer(
            400,
            json.dumps(ENVELOPE, ensure_ascii=False).encode("latin-1"),
            "application/json; charset=iso-8859-1",
        ),
        400,
        (ErrorDetail("cnpjcpf", "já cadastrado"),),
    ),
    "byte order mark": (
        answer(400, b"\xef\xbb\xbf" + json.dumps(ENVELOPE).encode()),
        400,
        (ErrorDetail("cnpjcpf", "já cadastrado"),),
    ),
    "an error that names only its field": (
        answer(400, {"success": False, "errors": [{"key": "cep", "value": ""}]}),
        400,
        (ErrorDetail("cep", '{"key": "cep", "value": ""}'),),
    ),
    "422, PascalCase": (
        answer(422, {"Success": False, "Errors": [{"Key": "cep", "Value": "inválido"}]}),
        422,
        (ErrorDetail("cep", "inválido"),),
    ),
    "400 with notifications": (
        answer(400, {"success": False, "notifications": [{"key": "linha", "value": "2"}]}),
        400,
        (ErrorDetail("linha", "2"),),
    ),
    "200 with the notifications of data": (
        answer(
            200,
            {
                "success": False,
                "data": {"notifications": [{"key": "idProd", "value": "inativo"}], "payload": None},
            },
        ),
        200,
        (ErrorDetail("idProd", "inativo"),),
    ),
    "notifications alone in the data of a success": (
        ok({"notifications": [{"key": "idProd", "value": "inativo"}], "payload": None}),
        200,
        (ErrorDetail("idProd", "inativo"),),
    ),
    "errors as texts": (
        answer(400, {"success": False, "errors": ["CEP inválido"]}),
        400,
        (ErrorDetail("", "CEP inválido"),),
    ),
    "errors as one text": (
        answer(400, {"success": False, "errors": "CEP inválido"}),
        400,
        (ErrorDetail("", "CEP inválido"),),
    ),
    "errors by field": (
        answer(400, {"success": False, "errors": {"cep": ["inválido", "curto"], "uf": "falta"}}),
        400,
        (ErrorDetail("cep", "inválido"), ErrorDetail("cep", "curto"), ErrorDetail("uf", "falta")),
    ),
    "one error as an object": (
        answer(400, {"success": False, "errors": {"key": "cep", "value": "inválido"}}),
        400,
        (ErrorDetail("cep", "inválido"),),
    ),
    "errors with other names": (
        answer(
            400, {"success": False, "errors": [{"propertyName": "cep", "errorMessage": "ruim"}]}
        ),
        400,
        (ErrorDetail("cep", "ruim"),),
    ),
    "an error without any known name": (
        answer(400, {"success": False, "errors": [{"motivo": "CEP ruim"}]}),
        400,
        (ErrorDetail("", '{"motivo": "CEP ruim"}'),),
    ),
    "200 without success": (answer(200, ENVELOPE), 200, (ErrorDetail("cnpjcpf", "já cadastrado"),)),
    "bare JSON string": (
        answer(400, "Parâmetro inválido"),
        400,
        (ErrorDetail("", "Parâmetro inválido"),),
    ),
    "an invalid date": (
        answer(
            400, {"success": False, "errors": [{"key": "a", "value": "b", "dateOccurred": "x"}]}
        ),
        400,
        (ErrorDetail("a", "b"),),
    ),
    "413 with errors": (answer(413, ENVELOPE), 413, (ErrorDetail("cnpjcpf", "já cadastrado"),)),
}

EXECUTED = {
    "201": (answer(201, {"success": True, "data": {"totalDeRegistros": 3}}), 3),
    "no data": (ok(None), None),
    "nothing but success": (answer(200, {"success": True}), None),
    "the records": (ok([{"nomeComercial": "A"}, {"nomeComercial": "B"}]), 2),
    "the only record": (ok([{"nomeComercial": "A"}]), 1),
    "their number": (ok(7), 7),
    "another shape": (ok({"registros": [{"nomeComercial": "A"}], "totalDeRegistros": "muitos"}), 1),
    "notifications that are none of this operation's": (
        ok({"totalDeRegistros": 3, "notifications": [{"key": "x", "value": "um aviso"}]}),
        3,
    ),
}

DECLINED = {
    "429": (answer(429, b"", Retry_After="17"), 17.0),
    "429 without a time": (answer(429, b""), None),
    "429 with errors": (answer(429, ENVELOPE), None),
}


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("step", DOUBTFUL.values(), ids=DOUBTFUL)
def test_an_answer_that_proves_nothing_is_in_doubt(
    server: ScriptedServer, client: Client, step
) -> None:
    server.steps = [step]
    outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, Doubtful)
    assert not isinstance(outcome, Declined)
    assert sum("importacao" in request.path for request in server.requests) == 1


@pytest.mark.parametrize(
    "document",
    [
        {"success": False, "errors": []},
        {"success": False},
        {**ENVELOPE, "success": True},
        {"success": True, "data": ENVELOPE},
        {"success": False, "errors": [], "message": "já cadastrado"},
    ],
)
def test_a_doubtful_refusal_has_its_reason(
    server: ScriptedServer, client: Client, document: object
) -> None:
    server.steps = [answer(400 if document["success"] is False else 200, document)]
    outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, Doubtful)
    assert outcome.refusal
    assert ("já cadastrado" if "cadastrado" in str(document) else "400") in outcome.reason.pt


@pytest.mark.parametrize(("step", "status", "details"), REJECTED.values(), ids=REJECTED)
def test_a_rejection_has_its_details(
    server: ScriptedServer, client: Client, step, status, details
) -> None:
    server.steps = [step]
    assert client.send(IMPORT, path=CLIENTE, file=FILE) == Rejected(status, details)
    assert len(server.requests) == 1


@pytest.mark.parametrize(("step", "count"), EXECUTED.values(), ids=EXECUTED)
def test_a_success_may_have_any_data(server: ScriptedServer, client: Client, step, count) -> None:
    server.steps = [step]
    outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, Executed)
    assert outcome.data.count == count


@pytest.mark.parametrize(("step", "retry_after"), DECLINED.values(), ids=DECLINED)
@pytest.mark.parametrize("trusted", [False, True])
def test_a_429_is_trusted_only_if_the_profile_says_so(
    server: ScriptedServer, pauses: list[float], step, retry_after, trusted: bool
) -> None:
    server.steps = [step]
    with open_client(server.base_url, pauses, trust_429=trusted) as client:
        outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, Declined)
    assert (outcome.retry_after, outcome.trusted) == (retry_after, trusted)
    assert len(server.requests) == 1


def test_the_query_of_a_redirect_is_not_shown(server: ScriptedServer, client: Client) -> None:
    server.steps = [answer(307, b"", Location="https://elsewhere.example/x?token=1")]
    outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, Doubtful)
    assert "token" not in outcome.reason.en


def test_a_doubtful_outcome_has_the_pause_of_retry_after(
    server: ScriptedServer, client: Client
) -> None:
    server.steps = [answer(503, b"", Retry_After="17")]
    outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, Doubtful)
    assert outcome.retry_after == 17.0


def test_a_success_has_its_typed_data(server: ScriptedServer, client: Client) -> None:
    server.steps = [ok({"TotalDeRegistros": 3, "novidade": 1})]
    outcome = client.send(IMPORT, path=CLIENTE, query=ImportQuery(preview=True), file=FILE)
    assert outcome == Executed(ImportRecords(totalDeRegistros=3))
    (request,) = server.requests
    assert request.path == "/v2/importacao/cliente?preview=true"
    assert request.headers["authorization"] == "Bearer canary-token-1"
    assert request.headers["user-agent"].startswith("xlbridge/")
    assert b'name="ArquivoExcel"; filename="clientes.xlsx"' in request.body
    assert f"Content-Type: {XLSX_TYPE}".encode() in request.body
    assert FILE.content in request.body


def test_a_refused_connection_executes_nothing(server: ScriptedServer, client: Client) -> None:
    client.login()
    server.stop()
    outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, NotExecuted)
    assert not outcome.permanent


def test_an_unreachable_server_executes_nothing(pauses: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with open_client(base_url, pauses) as client:
        outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, NotExecuted)
    assert base_url in outcome.reason.pt
    assert len(pauses) == 5
    assert outcome.permanent, "the login has been repeated already"


def test_a_timeout_is_in_doubt(server: ScriptedServer, pauses: list[float]) -> None:
    server.steps = [lambda connection: connection.recv(1)]
    with open_client(server.base_url, pauses, timeout=0.2) as client:
        client.login()
        assert isinstance(client.send(IMPORT, path=CLIENTE, file=FILE), Doubtful)


def test_an_expired_token_is_confirmed_by_another_request_and_not_used_again(
    server: ScriptedServer, client: Client
) -> None:
    server.steps = [answer(401, b""), answer(401, b""), ok({"totalDeRegistros": 1})]
    outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, Declined)
    assert (outcome.status, outcome.trusted) == (401, False)
    assert isinstance(client.send(IMPORT, path=CLIENTE, file=FILE), Executed)
    assert [r.path for r in server.requests] == [
        "/v2/importacao/cliente",
        "/v2/sistema/info",
        "/v2/importacao/cliente",
    ]
    assert [r.headers["authorization"][-1] for r in server.requests] == ["1", "1", "2"]


@pytest.mark.parametrize("failure", [reset, answer(503, b"", "text/html")])
def test_the_check_for_an_expired_token_is_repeated_if_its_answer_is_lost(
    server: ScriptedServer, client: Client, pauses: list[float], failure: Step
) -> None:
    client.login()
    server.steps = [answer(401, b""), failure, failure, answer(401, b"")]
    outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, Declined)
    assert not outcome.trusted
    assert [request.method for request in server.requests] == ["POST", "GET", "GET", "GET"]
    assert len(pauses) == 2


def test_a_401_with_a_valid_token_is_in_doubt(server: ScriptedServer, client: Client) -> None:
    server.steps = [answer(401, b""), ok({"codigoDaEmpresa": 1})]
    outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, Doubtful)
    assert not isinstance(outcome, Declined)
    assert (len(server.requests), server.logins) == (2, 1)


def test_wrong_credentials_execute_nothing(server: ScriptedServer, client: Client) -> None:
    server.login = answer(200, {"authenticated": False, "message": "Senha incorreta"})
    outcome = client.send(IMPORT, path=CLIENTE, file=FILE)
    assert isinstance(outcome, NotExecuted)
    assert outcome.permanent
    assert "Senha incorreta" in str(outcome.reason)
    assert (server.requests, server.logins) == ([], 1)


def test_a_path_value_is_escaped(server: ScriptedServer, client: Client) -> None:
    server.steps = [answer(404, json.dumps("não existe").encode())]
    client.send(IMPORT, path={"resource": "../cliente?x=1"}, file=FILE)
    assert server.requests[0].path == "/v2/importacao/..%2Fcliente%3Fx%3D1"
