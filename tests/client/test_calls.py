"""Calls: data, errors, retries."""

import json
import socket
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from urllib.parse import parse_qs, urlsplit

import pytest
from scripted_server import INFO, ScriptedServer, Step, answer, ok, open_client, reset

from xlbridge.client import Client, Target
from xlbridge.errors import (
    ApiError,
    AuthenticationFailed,
    ConfigError,
    ErrorDetail,
    InDoubt,
    RemoteRejected,
    TransportError,
    UsageError,
)
from xlbridge.wire import Operation
from xlbridge.wire.financial import RECEIVABLE_CREATE, AllocationInput, ReceivableInput
from xlbridge.wire.operations import SYSTEM_INFO
from xlbridge.wire.registry import CLIENT_CREATE, CLIENT_LIST, ClientInput
from xlbridge.wire.sales import SALES_ORDER_LIST, SalesOrderQuery
from xlbridge.wire.stock import STOCK_BALANCE_OF_PRODUCT

BALANCE = {"idProd": 7, "quantidadeTotal": 1.10, "valorTotal": 12345678.91}


def test_data_is_typed_and_exact(server: ScriptedServer, client: Client) -> None:
    server.steps = [ok(BALANCE)]
    balance = client.call(STOCK_BALANCE_OF_PRODUCT, path={"id": 7})
    assert balance.valorTotal == Decimal("12345678.91")
    assert server.requests[0].path == "/v2/estoque/produto/7"


def test_an_answer_to_a_write_may_lack_unspecified_fields(
    server: ScriptedServer, client: Client
) -> None:
    # The seven fields that the spec names in the answer of POST /v2/financeiro/contasreceber.
    specified = {
        "codigoDoExercicio": 2026,
        "numeroDaTransacao": 7,
        "sequenciaDaTransacao": 1,
        "codigoDoCliente": 3,
        "historico": "Venda",
        "valorDoLancamento": 10.5,
        "dataDeVencimento": "2026-12-01T00:00:00",
    }
    server.steps = [ok(specified)]
    body = ReceivableInput(
        codigoDaFilial=1,
        codigoDoCliente=3,
        codigoDoItemDeLancamento="1.01",
        codigoDoCentroDeCusto="01",
        codigoDaContaCorrente=1,
        historico="Venda",
    )
    title = client.call(RECEIVABLE_CREATE, body=body)
    assert (title.numeroDaTransacao, title.valorDoLancamento) == (7, Decimal("10.5"))
    assert title.codigoDaFilial is None


def test_a_body_is_sent_in_camel_case_at_every_level(
    server: ScriptedServer, client: Client
) -> None:
    server.steps = [ok({})]
    part = AllocationInput(CodigoDoCustoABC="A1", valor=Decimal(2))
    terms = {"codigoDoItemDeLancamento": "1.01", "codigoDoCentroDeCusto": "01"}
    client.financial.payables.create(
        codigoDaFilial=1,
        codigoDoFornecedor=3,
        codigoDaContaCorrente=1,
        historico="Compra",
        CodigoDeBarras="1" * 44,
        rateio=[part],
        **terms,
    )
    sent = json.loads(server.requests[0].body)
    assert (sent["codigoDeBarras"], sent["rateio"]) == (
        "1" * 44,
        [{"codigoDoCustoABC": "A1", "valor": 2.0}],
    )
    assert not any(name[0].isupper() for name in sent)


def test_a_query_is_sent_in_the_spelling_of_the_interface(
    server: ScriptedServer, client: Client
) -> None:
    server.steps = [ok([])]
    query = SalesOrderQuery(dataInferior=datetime(2026, 1, 31, 9, 30), codigoDaFilial=2)
    assert client.call(SALES_ORDER_LIST, query=query) == []
    assert parse_qs(urlsplit(server.requests[0].path).query) == {
        "dataInferior": ["31/01/2026 09:30"],
        "codigoDaFilial": ["2"],
        "qtde": ["0"],
    }


@pytest.mark.parametrize("fault", [reset, answer(503, b""), answer(429, b"")])
def test_a_read_is_repeated_with_growing_pauses(
    server: ScriptedServer, client: Client, pauses: list[float], fault
) -> None:
    server.steps = [fault, fault, fault, ok(INFO)]
    assert client.call(SYSTEM_INFO).nomeComercial == "Padaria São João"
    assert pauses == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("header", [{"Age": "40"}, {"Warning": '110 - "Response is Stale"'}])
@pytest.mark.parametrize("operation", [SYSTEM_INFO, CLIENT_LIST])
def test_an_answer_from_a_cache_is_no_proof(
    server: ScriptedServer, client: Client, header: dict[str, str], operation: Operation
) -> None:
    old = answer(200, {"success": True, "data": None}, **header)
    server.steps = [old, ok(INFO if operation is SYSTEM_INFO else [])]
    if operation is SYSTEM_INFO:
        assert client.call(operation).nomeComercial == "Padaria São João"
    else:
        assert list(client.records(operation)) == []
    assert len(server.requests) == 2
    assert server.requests[0].headers["cache-control"] == "no-cache"
    server.steps = [old]
    with pytest.raises(TransportError, match="cache"):
        client.call(operation)


def test_an_answer_that_never_ends_is_in_doubt(server: ScriptedServer, pauses: list[float]) -> None:
    def trickle(connection: socket.socket) -> None:
        lines = ["HTTP/1.1 200 X", "Content-Type: application/json", "Content-Length: 9999999"]
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        with suppress(OSError):
            connection.sendall(head)
            while True:
                connection.sendall(b" ")
                time.sleep(0.02)

    server.steps = [trickle]
    with open_client(server.base_url, pauses, timeout=0.1) as client, pytest.raises(InDoubt):
        client.call(CLIENT_CREATE, body=ClientInput(nomeComercial="Padaria"))


def test_a_read_fails_after_six_tries(
    server: ScriptedServer, client: Client, pauses: list[float]
) -> None:
    server.steps = [answer(500, {"success": False})]
    with pytest.raises(TransportError, match="500"):
        client.call(SYSTEM_INFO)
    assert len(server.requests) == 6
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_retry_after_is_honoured(
    server: ScriptedServer, client: Client, pauses: list[float]
) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=40), usegmt=True)
    server.steps = [
        answer(429, b"", Retry_After="7"),
        answer(503, b"", Retry_After=later),
        ok(INFO),
    ]
    client.call(SYSTEM_INFO)
    assert pauses[0] == 7
    assert 30 < pauses[1] <= 40


def test_a_retry_after_counts_by_the_clock_of_the_system(
    server: ScriptedServer, client: Client, pauses: list[float]
) -> None:
    there = datetime.now(UTC) + timedelta(days=2)
    dates = {
        "Date": format_datetime(there, usegmt=True),
        "Retry_After": format_datetime(there + timedelta(seconds=40), usegmt=True),
    }
    server.steps = [answer(503, b"", **dates), ok(INFO)]
    client.call(SYSTEM_INFO)
    assert pauses == [40]


def test_a_retry_after_beyond_the_limit_fails_at_once(
    server: ScriptedServer, client: Client, pauses: list[float]
) -> None:
    server.steps = [answer(429, b"", Retry_After="3600")]
    with pytest.raises(TransportError, match="429"):
        client.call(SYSTEM_INFO)
    assert (len(server.requests), pauses) == (1, [])


@pytest.mark.parametrize(
    ("steps", "trusted", "error"),
    [
        ([reset], False, InDoubt),
        ([answer(500, b"")], False, InDoubt),
        ([answer(200, b"<html>", "text/html")], False, InDoubt),
        ([answer(401, b""), ok(INFO)], False, InDoubt),
        ([answer(429, b"")], False, InDoubt),
        ([answer(429, b"")], True, TransportError),
        ([], False, TransportError),
    ],
    ids=["cut", "500", "HTML", "false 401", "429", "trusted 429", "connection refused"],
)
def test_a_write_is_never_repeated_and_its_outcome_raised(
    server: ScriptedServer, pauses: list[float], steps: list[Step], trusted: bool, error: type
) -> None:
    """``test_outcomes.py`` has the outcome of each answer."""
    server.steps = steps
    with open_client(server.base_url, pauses, trust_429=trusted) as client:
        client.login()
        if not steps:
            server.stop()
        with pytest.raises(ApiError) as raised:
            client.registry.clients.create(nomeComercial="Padaria")
    assert type(raised.value) is error
    assert sum(request.method == "POST" for request in server.requests) == bool(steps)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (answer(200, b"<html><h1>Portal</h1>", "text/html"), "text/html.*<h1>Portal"),
        (answer(404, b"<html>no", "text/html"), "404.*text/html"),
        (ok({"idProd": "x"}), "shape.*idProd"),
        (answer(302, b"", Location="https://sso.example/?secret=1"), "https://sso.example "),
    ],
)
def test_an_undocumented_answer_to_a_read_is_described(
    server: ScriptedServer, client: Client, step, message
) -> None:
    server.steps = [step]
    with pytest.raises(TransportError, match=message) as caught:
        client.call(STOCK_BALANCE_OF_PRODUCT, path={"id": 7})
    assert f"the environment {client.target.label}," in str(caught.value.hint)


def test_a_rejection_is_raised_with_its_details(server: ScriptedServer, client: Client) -> None:
    error = {"key": "cnpjcpf", "value": "já cadastrado"}
    server.steps = [answer(400, {"success": False, "errors": [error]})]
    with pytest.raises(RemoteRejected, match="já cadastrado") as caught:
        client.call(CLIENT_CREATE, body=ClientInput(nomeComercial="Padaria"))
    assert caught.value.status == 400
    assert caught.value.details == (ErrorDetail("cnpjcpf", "já cadastrado"),)


def test_a_rejection_with_empty_items_is_a_doubt_only_of_a_write(
    server: ScriptedServer, client: Client
) -> None:
    server.steps = [answer(400, {"success": False, "errors": [{"key": None, "value": None}]})]
    with pytest.raises(RemoteRejected):
        client.call(SYSTEM_INFO)
    server.steps = [answer(400, {"success": False, "errors": [], "message": "Fora do período"})]
    with pytest.raises(RemoteRejected, match="Fora do período"):
        client.call(SYSTEM_INFO)
    server.steps = [answer(400, {"success": False, "errors": [{"key": None, "value": None}]})]
    with pytest.raises(InDoubt, match="400"):
        client.call(CLIENT_CREATE, body=ClientInput(nomeComercial="Padaria"))


def test_a_token_is_renewed_once_and_then_the_call_fails(
    server: ScriptedServer, client: Client
) -> None:
    server.steps = [answer(401, b""), ok(INFO), answer(401, b"")]
    client.call(SYSTEM_INFO)
    with pytest.raises(AuthenticationFailed):
        client.call(SYSTEM_INFO)
    assert (len(server.requests), server.logins) == (4, 3)


@pytest.mark.parametrize("status", [200, 400, 401])
def test_a_refused_login_is_not_repeated(
    server: ScriptedServer, client: Client, pauses: list[float], status: int
) -> None:
    server.login = answer(status, {"authenticated": False, "message": "Usuário inativo"})
    with pytest.raises(AuthenticationFailed, match="Usuário inativo"):
        client.login()
    assert (server.logins, pauses) == (1, [])


@pytest.mark.parametrize(
    "login",
    [
        answer(200, b"<html>", "text/html"),
        answer(200, {"authenticated": True}),
        answer(200, {"authenticated": True, "accessToken": "two\r\nlines"}),
        answer(200, {"accessToken": "x"}),
        answer(500, b""),
        reset,
    ],
)
def test_an_unusable_login_is_a_transport_error(
    server: ScriptedServer, client: Client, login
) -> None:
    server.login = login
    with pytest.raises(TransportError):
        client.call(SYSTEM_INFO)
    assert server.requests == []


def test_the_login_is_repeated_if_the_server_is_unavailable(
    server: ScriptedServer, client: Client, pauses: list[float]
) -> None:
    server.login = answer(503, b"")
    with pytest.raises(TransportError):
        client.login()
    assert (server.logins, len(pauses)) == (6, 5)


def test_the_login_returns_no_token(server: ScriptedServer, client: Client) -> None:
    expiration = "2026-01-31 10:00:00"
    server.login = answer(
        200, {"authenticated": True, "accessToken": "abcdef", "expiration": expiration}
    )
    login = client.login()
    assert (login.expiration, login.accessToken) == (expiration, None)


def test_records_are_plain_dicts_in_the_interfaces_spelling(
    server: ScriptedServer, client: Client
) -> None:
    order = {
        "NumeroDoPedido": 9,
        "novidade": 1,
        "parcelas": [{"NumeroDaParcela": 1, "Valor": 0.1, "outra": 2}],
        "Produtos": None,
    }
    server.steps = [ok([order, {"numeroDoPedido": 10}])]
    assert list(client.records(SALES_ORDER_LIST)) == [
        {
            "numeroDoPedido": 9,
            "parcelas": [{"numeroDaParcela": 1, "valor": Decimal("0.1")}],
            "produtos": None,
        },
        {"numeroDoPedido": 10},
    ]


def test_a_raw_answer_is_returned_unchanged(server: ScriptedServer, client: Client) -> None:
    expired = answer(401, b"")
    server.steps = [expired, expired, answer(418, b"teapot", "text/plain")]
    reply = client.raw("post", "/v2/x", query={"a": "b c"}, body={"n": 1})
    assert (reply.status_code, reply.text) == (418, "teapot")
    assert [request.path for request in server.requests[:2]] == ["/v2/x?a=b+c", "/v2/sistema/info"]
    assert (server.requests[2].method, server.requests[2].body) == ("POST", b'{"n":1}')


def test_a_write_with_an_expired_token_is_sent_once_more(
    server: ScriptedServer, client: Client
) -> None:
    expired = answer(401, b"")
    server.steps = [expired, expired, ok({"codigoDoCliente": 7}), expired, expired, expired]
    assert client.registry.clients.create(nomeComercial="Padaria").codigoDoCliente == 7
    with pytest.raises(InDoubt):
        client.registry.clients.create(nomeComercial="Padaria")
    assert sum(request.method == "POST" for request in server.requests) == 4


def test_a_login_that_fails_after_a_401_leaves_a_write_in_doubt(
    server: ScriptedServer, client: Client
) -> None:
    client.login()
    server.steps = [answer(401, b"")]
    server.login = answer(200, {"authenticated": False, "message": "Senha trocada"})
    with pytest.raises(InDoubt, match="Senha trocada"):
        client.registry.clients.create(nomeComercial="Padaria")


@pytest.mark.parametrize(("method", "kind"), [("GET", TransportError), ("POST", InDoubt)])
def test_a_raw_write_whose_answer_is_lost_is_in_doubt(
    server: ScriptedServer, client: Client, method: str, kind: type[ApiError]
) -> None:
    server.steps = [reset]
    with pytest.raises(kind):
        client.raw(method, "/v2/x")
    assert len(server.requests) == 1


@pytest.mark.parametrize("path", ["@evil.example/v2", "v2/x", "", "/v2/x\n", "/v2/\x00"])
def test_an_invalid_raw_path_is_refused(server: ScriptedServer, client: Client, path: str) -> None:
    with pytest.raises(UsageError):
        client.raw("GET", path)
    assert server.logins == 0


@pytest.mark.parametrize(
    "base_url",
    [
        "http://erp.example.com",
        "http://127.0.0.1.example.com",
        "ftp://erp.example.com",
        "erp.example.com",
        "https://",
        "",
        "http://[",
        "https://user:pass@erp.example.com",
        "https://erp.example.com/?x=1",
    ],
)
def test_an_unsafe_address_is_refused(base_url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Client(Target("p", base_url, "a@b", "secret"))
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize("base_url", ["https://erp.example.com/api/", "http://localhost:1"])
def test_a_safe_address_is_accepted(base_url: str) -> None:
    with Client(Target("p", base_url, "a@b", "secret")) as client:
        assert client.target.base_url == base_url


@pytest.mark.parametrize(("email", "password"), [("", "x"), ("a@b", "")])
def test_missing_credentials_are_refused(email: str, password: str) -> None:
    with pytest.raises(ConfigError):
        Client(Target("p", "https://erp.example.com", email, password))


def test_a_base_path_is_kept(server: ScriptedServer, pauses: list[float]) -> None:
    server.steps = [ok(INFO)]
    with open_client(server.base_url + "/erp/", pauses) as client:
        client.call(SYSTEM_INFO)
    assert server.requests[0].path == "/erp/v2/sistema/info"
