"""Sandbox for the upload tests, behind a lossy proxy, with its database as the oracle."""

import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
import xlsxwriter
from channel_parts import Setting
from databases import database_options
from environment import Xlbridge, clean_environment, credentials
from forked import Zygote
from lossy_proxy import LossyProxy, ProxyFault, lossy_proxy
from sandboxes import logged_in, sandbox_process
from sheets import write_records
from update_parts import Run
from upload_parts import MakeClients, new_cnpj

from xlbridge.client import Client, RetryPolicy, Target
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox
from xlbridge.settings import Settings, read_settings
from xlbridge.upload import Journal, UploadContext

_DOCUMENTS = itertools.count(1)


@pytest.fixture(scope="module")
def sandbox_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the sandbox's database, one for each module: what its tests leave there makes the
    listings of later ones longer."""
    return tmp_path_factory.mktemp("upload-sandbox")


@pytest.fixture(scope="module")
def sandbox(sandbox_home: Path) -> Iterator[RunningSandbox]:
    options = ["--seed", "empty", *database_options(sandbox_home)]
    with sandbox_process(sandbox_home, options, clean_environment(sandbox_home)) as running:
        yield running


@pytest.fixture
def proxy(sandbox: RunningSandbox) -> Iterator[LossyProxy]:
    with lossy_proxy(sandbox.base_url) as running:
        yield running


@pytest.fixture
def client(proxy: LossyProxy, sandbox: RunningSandbox) -> Iterator[Client]:
    target = Target("rehearsal", proxy.base_url, sandbox.email, sandbox.password)
    without_pauses = RetryPolicy(sleep=lambda _seconds: None)
    with Client(target, timeout=20, retry_policy=without_pauses) as running:
        yield running


@pytest.fixture
def http(sandbox: RunningSandbox) -> Iterator[httpx.Client]:
    """Plain HTTP client of the remote system, logged in, past the proxy."""
    with logged_in(sandbox) as plain:
        yield plain


@pytest.fixture
def context(home: Path, catalogue: Catalogue) -> Iterator[UploadContext]:
    settings: Settings = read_settings({"XLBRIDGE_HOME": str(home), "XLBRIDGE_SETTLE": "0"})
    journal = Journal(settings.journal)
    yield UploadContext(settings, catalogue, journal)
    journal.close()


@pytest.fixture
def make_clients(tmp_path: Path) -> MakeClients:
    """Write a workbook of clients with the given documents: a title row, and a table from B3."""

    def make(*documents: str, name: str = "clientes.xlsx", label: str = "Cliente") -> Path:
        path = tmp_path / name
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet("Clientes")
            sheet.write_string(0, 0, "Clientes novos")
            sheet.write_row(2, 1, ["nomeComercial", "cnpj"])
            for row, document in enumerate(documents):
                sheet.write_row(3 + row, 1, [f"{label} {document}", document])
        return path

    return make


@pytest.fixture
def customer(client: Client) -> int:
    """New active client of the remote system."""
    created = client.registry.clients.create(nomeComercial="Ana", cnpj=new_cnpj())
    return int(created.codigoDoCliente)


@pytest.fixture
def make_receivables(tmp_path: Path) -> Callable[..., Path]:
    """Write a workbook with a receivable for each history, of one customer and document.

    They are due on consecutive days of a month, starting on ``day``.
    """

    def make(
        customer: int, document: str, *histories: str, name: str = "titulos.xlsx", day: int = 1
    ) -> Path:
        path = tmp_path / name
        row = {
            "codigoDaFilial": 1,
            "codigoDoCliente": customer,
            "codigoDoItemDeLancamento": "1.01.001",
            "codigoDoCentroDeCusto": "01.001",
            "codigoDaContaCorrente": 1,
            "numeroDoDocumento": document,
        }
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet("contasreceber")
            sheet.write_row(0, 0, [*row, "historico", "valorDoLancamento", "dataDeVencimento"])
            for number, history in enumerate(histories):
                due = f"2026-12-{day + number:02}"
                sheet.write_row(number + 1, 0, [*row.values(), history, 10.5, due])
        return path

    return make


@pytest.fixture
def proxy_environment(sandbox: RunningSandbox, proxy: LossyProxy) -> dict[str, str]:
    """Environment of commands that go through the proxy."""
    return credentials(sandbox, XLBRIDGE_SETTLE="0") | {"XLBRIDGE_BASE_URL": proxy.base_url}


@pytest.fixture
def run(xlbridge: Xlbridge, proxy_environment: dict[str, str]) -> Run:
    """Run a command that reports in JSON; return its exit code and its report."""
    return reporting(xlbridge, proxy_environment)


@pytest.fixture
def colleague(xlbridge: Xlbridge, proxy_environment: dict[str, str], tmp_path: Path) -> Run:
    """Run a command on another computer, whose journal knows none of the uploads."""
    return reporting(xlbridge, proxy_environment | {"XLBRIDGE_HOME": str(tmp_path / "colleague")})


def reporting(xlbridge: Xlbridge, environment: dict[str, str]) -> Run:
    def run(*arguments: object) -> tuple[int, dict[str, Any]]:
        ended = xlbridge(*arguments, "--format", "json", **environment)
        assert ended.stdout, ended.stderr
        return ended.returncode, json.loads(ended.stdout)

    return run


@pytest.fixture
def payables(client: Client, tmp_path: Path, run: Run) -> Path:
    """Workbook of three payables with new documents, already uploaded."""
    number = next(_DOCUMENTS)
    path = write_records(
        tmp_path / "contas.xlsx",
        "contaspagar",
        [
            {
                "numeroDoDocumento": f"FAT-{number}-{index}",
                "dataDeVencimento": date(2026, 10, 30),
                "historico": f"Energia {index}",
            }
            for index in range(3)
        ],
    )
    code, report = run("upload", path, "--yes")
    assert (code, report["rows"]["created"]) == (0, 3), report
    return path


@pytest.fixture
def setting(
    request: pytest.FixtureRequest,
    client: Client,
    run: Run,
    customer: int,
    home: Path,
    sandbox_home: Path,
    tmp_path: Path,
    make_receivables: Callable[..., Path],
) -> Setting:
    """What the channels write with; the uploaded payables are made once a channel asks for them."""
    return Setting(
        client,
        run,
        customer,
        home,
        sandbox_home,
        tmp_path,
        make_receivables,
        lambda: request.getfixturevalue("payables"),
    )


KillWhileWriting = Callable[..., None]


@pytest.fixture
def kill_while_writing(
    tmp_path: Path,
    forks: Zygote,
    home: Path,
    proxy_environment: dict[str, str],
    proxy: LossyProxy,
) -> KillWhileWriting:
    """Run a command and kill it between its first writing requests and their answers.

    Logins are ignored. ``method`` and ``path_part`` select the requests, ``at_once`` is their
    number; ``after`` others are answered first. ``committed`` forwards them after the kill and
    waits until ``is_committed``; otherwise they are lost.
    """

    def kill(
        method: str,
        command: list[str],
        *,
        committed: bool,
        is_committed: Callable[[], bool],
        at_once: int = 1,
        path_part: str = "",
        after: int = 0,
    ) -> None:
        sent, killed = threading.Semaphore(0), threading.Event()
        passed = iter(range(after))

        def decide(method_sent: str, path: str) -> ProxyFault:
            if method_sent != method or path.endswith("/autenticar") or path_part not in path:
                return "pass"
            if next(passed, None) is not None:
                return "pass"
            sent.release()
            killed.wait()
            return "lose answer" if committed else "lose request"

        proxy.decide = decide
        log = tmp_path / "stderr"
        full_command = command if command[0] == "batch" else [*command, "--at-once", str(at_once)]
        with forks.running(
            clean_environment(home, **proxy_environment), full_command, log=log
        ) as pid:
            for _ in range(at_once):
                assert sent.acquire(timeout=60), log.read_text("utf-8")
            os.kill(pid, signal.SIGKILL)
        killed.set()
        deadline = time.monotonic() + 60
        while committed and not is_committed():
            assert time.monotonic() < deadline, "the request was not carried out"
            time.sleep(0.02)
        proxy.decide = lambda _method, _path: "pass"

    return kill
