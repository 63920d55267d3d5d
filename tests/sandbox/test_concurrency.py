"""Concurrent clients, and responses to internal errors."""

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from databases import TABLES, connected
from servers import Start, log_in
from sqlalchemy import delete

companies = TABLES["companies"]


CLIENT = {"nomeComercial": "Concorrente", "cnpj": "04.252.011/0001-10"}


def test_only_one_of_many_concurrent_registrations_of_a_document_succeeds(
    http: httpx.Client,
) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: http.post("/v2/cliente", json=CLIENT), range(24)))
    assert sorted(answer.status_code for answer in answers) == [200] + [400] * 23


def test_concurrent_titles_have_unique_keys(http: httpx.Client) -> None:
    client = http.post("/v2/cliente", json={"nomeComercial": "Muitos títulos"}).json()["data"]
    title = {
        "codigoDaFilial": 2,
        "codigoDoCliente": client["codigoDoCliente"],
        "codigoDoItemDeLancamento": "1.01.001",
        "codigoDoCentroDeCusto": "01.001",
        "codigoDaContaCorrente": 1,
        "historico": "Simultâneo",
        "valorDoLancamento": 0.01,
    }

    def create(_: int) -> int:
        answer = http.post("/v2/financeiro/contasreceber", json=title)
        number: int = answer.json()["data"]["numeroDaTransacao"]
        return number

    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(create, range(40)))
    assert sorted(numbers) == list(range(min(numbers), min(numbers) + 40))
    listed = http.get(
        "/v2/financeiro/contasreceber", params={"codigoDoCliente": client["codigoDoCliente"]}
    ).json()["data"]
    assert len(listed) == 40


def test_a_client_that_disconnects_is_not_logged_as_an_error(start: Start, tmp_path: Path) -> None:
    server = start("--seed", "empty", own_process=True)
    with log_in(server) as http:
        head = (
            "POST /v2/cliente HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
            f"Authorization: {http.headers['Authorization']}\r\n\r\n{{"
        )
        with socket.create_connection(("127.0.0.1", http.base_url.port)) as connection:
            connection.sendall(head.encode())
        assert http.get("/v2/sistema/info").status_code == 200
    assert "Traceback" not in (tmp_path / "sandbox.log").read_text(encoding="utf-8")


def test_internal_error_returns_the_error_envelope_and_logs_its_traceback(
    start: Start, tmp_path: Path
) -> None:
    with log_in(start("--seed", "empty", own_process=True)) as http:
        with connected(tmp_path, writing=True) as connection:
            connection.execute(delete(companies))
        failed = http.get("/v2/sistema/info")
        assert failed.status_code == 500
        assert failed.json()["success"] is False
        assert "NoResultFound" not in failed.text
        assert http.get("/v2/cliente").status_code == 200
    assert "NoResultFound" in (tmp_path / "sandbox.log").read_text(encoding="utf-8")
