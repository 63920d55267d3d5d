"""Durability: acknowledged writes survive, and queued files are applied once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from databases import TABLES, connected
from environment import without_coverage
from forked import Running, Zygote
from sandboxes import read_ready_file
from servers import Start, log_in, sandbox_on
from sqlalchemy import select
from test_import_rules import finished
from workbooks import upload

from xlbridge.sandbox import RunningSandbox

outbox = TABLES["outbox"]

INVOICE = ["codigoDaFilial", "codigoDoCliente", "codigoDoServicoPrestado", "valorDoServico"]
QUEUED = [["nomeComercial", "seuCodigo"], *(["Da fila", "FILA"] for _ in range(200))]


def queued_clients(http: httpx.Client) -> int:
    return len([c for c in http.get("/v2/cliente").json()["data"] if c["seuCodigo"] == "FILA"])


def test_state_survives_a_restart(tmp_path: Path) -> None:
    with sandbox_on(tmp_path, "--seed", "empty") as first, log_in(first) as http:
        created = http.post("/v2/cliente", json={"nomeComercial": "Fica"}).json()["data"]
        token = http.headers["Authorization"]
        waiting = http.post(
            "/v2/importacao/nota-fiscal-servico/fila",
            files=upload(
                [
                    INVOICE,
                    [1, created["codigoDoCliente"], "14.01", 10],
                ]
            ),
        ).json()["data"]
    with sandbox_on(tmp_path, "--seed", "demo") as second, log_in(second) as http:
        assert (second.email, second.password) == (first.email, first.password)
        assert [c["nomeComercial"] for c in http.get("/v2/cliente").json()["data"]] == ["Fica"]
        log = http.get(f"/v2/importacao/log-importacao/{waiting}").json()["data"]
        assert log["situacao"] == "Pendente"
        http.headers["Authorization"] = token
        assert http.get("/v2/sistema/info").status_code == 200


@pytest.mark.parametrize(
    "delay", [0.05, 0.4, *(pytest.param(delay, marks=pytest.mark.slow) for delay in (0.0, 0.15))]
)
def test_a_file_being_processed_is_applied_once_after_a_kill(start: Start, delay: float) -> None:
    first = start("--seed", "empty", "--faults", "slow-queue=0.1", own_process=True)
    with log_in(first) as http:
        log_id = http.post("/v2/importacao/cliente/fila", files=upload(QUEUED)).json()["data"]
        time.sleep(delay)
        os.kill(first.pid, signal.SIGKILL)
    with log_in(start("--seed", "empty")) as http:
        log = finished(http, log_id)
        assert (log["registrosImportados"], log["registrosRejeitados"]) == (200, 0)
        assert queued_clients(http) == 200


def test_two_sandboxes_on_one_database_apply_a_file_once(start: Start) -> None:
    first = start("--seed", "empty", "--faults", "slow-queue=0.5")
    with log_in(first) as http:
        log_id = http.post("/v2/importacao/cliente/fila", files=upload(QUEUED)).json()["data"]
        start("--seed", "empty", "--faults", "slow-queue=0.5")
        assert finished(http, log_id)["registrosImportados"] == 200
        time.sleep(1)
        assert queued_clients(http) == 200


def test_a_slow_queue_shows_the_file_running(start: Start) -> None:
    with log_in(start("--seed", "empty", "--faults", "slow-queue=600")) as http:
        log_id = http.post("/v2/importacao/cliente/fila", files=upload(QUEUED)).json()["data"]
        for _ in range(200):
            log = http.get(f"/v2/importacao/log-importacao/{log_id}").json()["data"]
            if log["situacao"] != "Pendente":
                break
            time.sleep(0.02)
        assert log["situacao"] == "Processando"
        assert queued_clients(http) == 0


def test_the_end_of_a_queued_file_is_notified_once(start: Start, tmp_path: Path) -> None:
    server = start("--seed", "empty")
    with log_in(server) as http:
        log_id = http.post("/v2/importacao/cliente/fila", files=upload(QUEUED)).json()["data"]
        finished(http, log_id)
    with connected(tmp_path) as connection:
        sent = connection.execute(select(outbox.c.log_id, outbox.c.recipient)).all()
    assert sent == [(log_id, server.email)]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_interruption_ends_the_sandbox_cleanly(
    tmp_path: Path, forks: Zygote, ending: signal.Signals
) -> None:
    ready, named = tmp_path / "ready.json", list[int]()

    def send_signal(running: Running) -> None:
        if written := read_when_written(ready):
            named.extend([written.pid, running.pid])
        os.kill(running.pid, ending)

    environment = without_coverage({**os.environ, "XLBRIDGE_HOME": str(tmp_path)})
    command = ["sandbox", "--seed", "empty", "--ready-file", str(ready)]
    ended = forks.run(tmp_path, environment, command, begun=send_signal, longest=60)
    assert len(named) == 2, ended.stderr
    assert named[0] == named[1]
    assert ended.returncode == 130
    assert "Traceback" not in ended.stderr
    assert not ready.exists()


@pytest.mark.processes
def test_sandbox_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-m", "xlbridge", "sandbox", "--seed", "empty"]
    environment = {**os.environ, "XLBRIDGE_HOME": str(tmp_path)}
    with subprocess.Popen(
        [*command, "--while-stdin-open", "--ready-file", str(ready)],
        env=environment,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for(ready)
        process.stdin.close()
        assert process.wait(20) == 130


def wait_for(ready: Path) -> RunningSandbox:
    running = read_when_written(ready)
    assert running is not None, "it never became ready"
    return running


def read_when_written(ready: Path) -> RunningSandbox | None:
    for _ in range(1000):
        running = read_ready_file(ready)
        if running is not None:
            return running
        time.sleep(0.02)
    return None
