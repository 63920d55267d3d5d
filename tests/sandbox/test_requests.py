"""Requests that are refused before any business rule is checked.

Inside: sandbox.
"""

import itertools
import json
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from databases import connected, metadata
from servers import Start, log_in
from sqlalchemy import select
from workbooks import upload, workbook

from xlbridge.sandbox import RunningSandbox
from xlbridge.sandbox.app import HANDLER_MODULES
from xlbridge.sandbox.area_declarations import HANDLERS, handles
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import OPERATIONS
from xlbridge.wire.registry import CLIENT_LIST

CLIENT = {"nomeComercial": "X"}


def test_every_operation_has_exactly_one_handler() -> None:
    assert HANDLER_MODULES
    assert set(HANDLERS) == set(OPERATIONS)
    with pytest.raises(ValueError, match=CLIENT_LIST.name):
        handles(CLIENT_LIST)(lambda call: None)


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "abc", "Bearer x" * 100]
)
def test_a_bad_authorization_header_returns_401(server: RunningSandbox, header: str) -> None:
    headers = {"Authorization": header.strip() or "-"}
    refused = httpx.get(f"{server.base_url}/v2/sistema/info", headers=headers, verify=False)
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert refused.json()["success"] is False


def test_an_expired_token_returns_401_and_a_new_one_works(start: Start) -> None:
    server = start("--seed", "empty", "--token-lifetime", "0")
    with log_in(server) as http:
        assert http.get("/v2/sistema/info").status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_another_host_name_is_refused(http: httpx.Client, host: str) -> None:
    refused = http.get("/v2/sistema/info", headers={"Host": host})
    assert refused.status_code == 400


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1234", "127.0.0.1", "[::1]:80"])
def test_every_loopback_name_is_served(http: httpx.Client, host: str) -> None:
    assert http.get("/v2/sistema/info", headers={"Host": host}).status_code == 200


def test_a_body_beyond_the_limit_returns_413(http: httpx.Client) -> None:
    body = json.dumps({"nomeComercial": "x" * 11 * 2**20}).encode()
    refused = http.post("/v2/cliente", content=body)
    assert refused.status_code == 413
    assert refused.json()["success"] is False


def test_an_upload_beyond_the_limit_returns_413(http: httpx.Client) -> None:
    content = bytes(WorkbookLimits().file_size + 2 * 2**20)
    refused = http.post("/v2/importacao/cliente", files={"ArquivoExcel": ("x.xlsx", content)})
    assert refused.status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        b'{"nomeComercial": "\xff"}',
        b'{"nomeComercial": "X", "codigoDoVendedor": NaN}',
        b'{"nomeComercial": "X", "codigoDoVendedor": ' + b"9" * 5000 + b"}",
        b'{"nomeComercial": "X", "codigoDoVendedor": 99999999999}',
        b'{"nomeComercial": "X", "codigoDoVendedor": 1.5}',
        b'{"nomeComercial": "X", "codigoDoVendedor": true}',
        b'{"nomeComercial": "X", "codigoDoVendedor": 1e999999999}',
        b'{"nomeComercial": "X", "codigoDoVendedor": 1e-999999999}',
        b'{"nomeComercial": "X", "codigoDoVendedor": 1e9999999999999999999999}',
        b'{"nomeComercial": "X", "codigoDoVendedor": 0.' + b"1" * 100_000 + b"}",
        b'{"nomeComercial": 1e999999999}',
        b'{"nomeComercial": "X", "email": [1e999999999]}',
        b'{"nomeComercial": 1}',
        b'{"nomeComercial": ["X"]}',
        b'{"nomeComercial": ""}',
        b'{"nomeComercial": null}',
        b'{"nomeComercial": "\\ud800"}',
        b'{"nomeComercial": "X", "email": "\\udfff"}',
        b'{"nomeComercial": "X", "email": "\\u0000"}',
        b'{"a":' * 100_000,
        b"[" * 100_000,
        b"null",
        b'"X"',
        b"",
    ],
    ids=range(24),
)
def test_a_bad_body_returns_400(http: httpx.Client, body: bytes) -> None:
    refused = http.post("/v2/cliente", content=body)
    assert refused.status_code == 400, refused.text
    assert refused.json()["errors"][0]["key"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("valorDoLancamento", "12.5"),
        ("valorDoLancamento", 1e300),
        ("valorDoLancamento", -1),
        ("valorDoLancamento", 10.005),
        ("valorDoLancamento", True),
        ("dataDeVencimento", "31/10/2026"),
        ("dataDeVencimento", 20261031),
        ("dataDeVencimento", "2026-02-30"),
        ("dataDeVencimento", "2026-09-30"),
        ("codigoDaContaCorrente", "1"),
        ("historico", ""),
    ],
)
def test_a_bad_field_of_a_title_returns_400_with_its_name(
    http: httpx.Client, field: str, value: object
) -> None:
    client = http.post("/v2/cliente", json=CLIENT).json()["data"]["codigoDoCliente"]
    title = {
        "codigoDaFilial": 1,
        "codigoDoCliente": client,
        "codigoDoItemDeLancamento": "1.01.001",
        "codigoDoCentroDeCusto": "01.001",
        "codigoDaContaCorrente": 1,
        "historico": "Mensalidade",
        "dataDeEmissao": "2026-10-01",
    }
    assert http.post("/v2/financeiro/contasreceber", json=title).status_code == 200
    refused = http.post("/v2/financeiro/contasreceber", json=title | {field: value})
    assert refused.status_code == 400
    assert [error["key"] for error in refused.json()["errors"]] == [field]


@pytest.mark.parametrize("field", ["valorUnitario", "codigoDoTipoDeProduto", "descricaoDoProduto"])
@pytest.mark.parametrize(
    "number",
    ["1e999999999", "-1E+999999999", "1e-999999999", "0e999999999", "1e401", "9" * 5000,
     "1." + "0" * 5000, "1e" + "9" * 5000],
)  # fmt: skip
def test_a_number_with_a_huge_exponent_is_refused(
    http: httpx.Client, field: str, number: str
) -> None:
    product = json.dumps({"descricaoDoProduto": "X", field: "@"}).replace('"@"', number)
    refused = http.post("/v2/produto", content=product)
    assert refused.status_code == 400, refused.text
    assert [error["key"] for error in refused.json()["errors"]] == [field]
    assert http.get("/v2/sistema/info").status_code == 200


def _connected(server: RunningSandbox) -> socket.socket:
    address = urlsplit(server.base_url)
    return socket.create_connection((address.hostname, address.port), timeout=60)


HEAD = b"POST /v2/autenticar HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    "begun",
    [b"", b"POST /v2", HEAD, HEAD + b'Content-Length: 99\r\n\r\n{"email"'],
    ids=["nothing", "line", "head", "body"],
)
def test_a_stalled_connection_is_closed(start: Start, begun: bytes) -> None:
    server = start("--seed", "empty", "--request-timeout", "0.3")
    with _connected(server) as connection:
        connection.sendall(begun)
        assert connection.recv(1) == b""


def test_a_head_sent_letter_by_letter_gains_no_time(start: Start) -> None:
    server = start("--seed", "empty", "--request-timeout", "0.3")
    with _connected(server) as connection, pytest.raises(OSError, match=r"reset|[Bb]roken"):
        _send_slowly(connection, itertools.chain(HEAD, itertools.repeat(ord("x"))))


def _send_slowly(connection: socket.socket, text: Iterable[int]) -> None:
    for letter in text:
        connection.sendall(bytes([letter]))
        time.sleep(0.01)


def test_a_slow_body_is_accepted(start: Start) -> None:
    server = start("--seed", "empty", "--request-timeout", "1")
    body = json.dumps({"email": server.email, "password": server.password}).encode()
    with _connected(server) as connection:
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body))
        for place in range(0, len(body), 10):
            connection.sendall(body[place : place + 10])
            time.sleep(0.15)
        assert b"200 OK" in connection.recv(65536)


def test_a_response_that_is_not_read_closes_its_connection(start: Start) -> None:
    server = start("--request-timeout", "0.3")
    with log_in(server) as http, _connected(server) as connection:
        full_size = len(http.get("/v2/faturamento/pedido").content)
        head = "GET /v2/faturamento/pedido HTTP/1.1\r\nHost: localhost\r\nAuthorization: {}\r\n\r\n"
        connection.sendall(head.format(http.headers["Authorization"]).encode())
        received = len(connection.recv(1))
        time.sleep(2)
        with suppress(ConnectionResetError):
            while part := connection.recv(2**20):
                received += len(part)
        assert received < full_size


def test_an_inactive_client_gets_no_title(http: httpx.Client) -> None:
    listed = http.get("/v2/cliente").json()["data"]
    inactive = next(client["codigoDoCliente"] for client in listed if not client["ativo"])
    refused = http.post(
        "/v2/financeiro/contasreceber",
        json={
            "codigoDaFilial": 1,
            "codigoDoCliente": inactive,
            "codigoDoItemDeLancamento": "1.01.001",
            "codigoDoCentroDeCusto": "01.001",
            "codigoDaContaCorrente": 1,
            "historico": "x",
        },
    )
    assert refused.status_code == 400
    assert "inativo" in refused.json()["errors"][0]["value"]


@pytest.mark.parametrize(
    "form",
    [
        {"files": {"OutroCampo": ("x.xlsx", b"PK")}},
        {"data": {"ArquivoExcel": "text"}},
        {"content": b"--x\r\n", "headers": {"Content-Type": "multipart/form-data; boundary=x"}},
        {"content": b"??", "headers": {"Content-Type": "multipart/form-data"}},
        {"json": {"ArquivoExcel": "x"}},
        {"files": [("ArquivoExcel", ("a.xlsx", b"PK")), ("ArquivoExcel", ("b.xlsx", b"PK"))]},
        {"files": {"ArquivoExcel": ("x.xlsx", b"")}},
        {"files": {"ArquivoExcel": ("x.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"0" * 600)}},
        {"files": {"ArquivoExcel": ("x.xlsx", b"<html><table></table></html>")}},
    ],
    ids=["other-field", "text", "cut", "no-boundary", "json", "two", "empty", "ole", "html"],
)
@pytest.mark.parametrize("path", ["/v2/importacao/cliente", "/v2/importacao/cliente/fila"])
def test_a_form_without_a_workbook_returns_400(
    http: httpx.Client, path: str, form: dict[str, object]
) -> None:
    refused = http.post(path, **form)
    assert refused.status_code == 400, refused.text
    assert refused.json()["errors"][0]["key"] == "ArquivoExcel"


def test_an_uploaded_name_never_becomes_a_path(http: httpx.Client, tmp_path: Path) -> None:
    name = f"{tmp_path}/../escaped.xlsx"
    rows = [["nomeComercial"], ["X"]]
    log_id = http.post("/v2/importacao/cliente/fila", files=upload(rows, name)).json()["data"]
    log = http.get(f"/v2/importacao/log-importacao/{log_id}").json()["data"]
    assert log["nomeDoArquivo"].endswith("escaped.xlsx")
    assert not list(tmp_path.parent.rglob("escaped.xlsx"))


def test_uploaded_name_with_a_nul_is_not_an_internal_error(http: httpx.Client) -> None:
    form = (
        b'--x\r\nContent-Disposition: form-data; name="ArquivoExcel"; filename="a\0b.xlsx"\r\n\r\n'
        + workbook([["nomeComercial"], ["X"]])
        + b"\r\n--x--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    answer = http.post("/v2/importacao/cliente/fila", content=form, headers=headers)
    assert answer.status_code == 400, answer.text
    assert answer.json()["errors"][0]["key"] == "ArquivoExcel"


def test_neither_password_nor_token_is_stored_readable(start: Start, tmp_path: Path) -> None:
    server = start("--seed", "empty", own_process=True)
    with log_in(server) as http:
        token = http.headers["Authorization"].removeprefix("Bearer ")
        assert http.get("/v2/sistema/info").status_code == 200
        with connected(tmp_path) as connection:
            stored = [connection.execute(select(table)).all() for table in metadata.sorted_tables]
    log = (tmp_path / "sandbox.log").read_text(encoding="utf-8")
    for secret in (token, server.password):
        assert secret not in str(stored)
        assert secret not in log
    kept = [path for path in tmp_path.iterdir() if server.password in path.read_text("latin-1")]
    assert [oct(path.stat().st_mode & 0o777) for path in kept] == ["0o600"]


def test_an_invalid_login_request_says_why(server: RunningSandbox) -> None:
    login = {"email": server.email, "password": server.password}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = httpx.post(
        f"{server.base_url}/v2/autenticar", content=json.dumps(login), headers=headers
    )
    assert answer.status_code == 200
    assert answer.json()["authenticated"] is False
    assert "application/json" in answer.json()["message"]
    assert server.password not in answer.text
