"""The same work against three servers: the tolerant sandbox, the strict one, and a proxy that
varies whatever the interface does not specify.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from databases import database_options
from environment import Xlbridge, clean_environment
from golden_steps import ClientStep, client_steps
from other_shapes import LOG_WORDS, other_shapes
from sampling import across
from sandboxes import sandbox_process
from sheets import write_rows
from upload_parts import new_cnpj

from xlbridge.client import Client, Target, UploadFile
from xlbridge.errors import ErrorDetail, RemoteRejected
from xlbridge.wire import OPERATIONS

MISSPELLED = "Grafia do nome: escreva"
"""Rejection by the strict sandbox of a name that is not spelled as in the spec."""
SERVERS = ("tolerant", "strict", "other shapes")
STEPS = {
    name: [step for step in client_steps() if step.operation.name == name]
    for name in sorted({step.operation.name for step in client_steps()})
    if OPERATIONS[name].method != "GET"
}
"""Request of the client for each operation that writes."""
LISTINGS = (
    "clientes",
    "pedidos",
    "contasreceber",
    "contaspagar",
    "estoque",
    "requisicoes",
    "mapeamento",
)


@dataclass(frozen=True)
class Server:
    base_url: str
    email: str
    password: str
    words: str

    def environment(self) -> dict[str, str]:
        return {
            "XLBRIDGE_BASE_URL": self.base_url,
            "XLBRIDGE_EMAIL": self.email,
            "XLBRIDGE_PASSWORD": self.password,
            "XLBRIDGE_LOG_WORDS": self.words,
            "XLBRIDGE_SETTLE": "0",
        }

    def client(self) -> Client:
        return Client(Target("server", self.base_url, self.email, self.password))


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Server]]:
    """Function that returns a server by name and starts it on first use."""
    with ExitStack() as stack:

        @cache
        def started(name: str) -> Server:
            folder = tmp_path_factory.mktemp("server")
            options = ["--seed", "demo", *database_options(folder)]
            options += ["--strict"] if name == "strict" else []
            running = stack.enter_context(
                sandbox_process(
                    folder, options, clean_environment(folder), ignore_run_options=True, few=True
                )
            )
            address, words = running.base_url, ""
            if name == "other shapes":
                address, words = stack.enter_context(other_shapes(running.base_url)), LOG_WORDS
            return Server(address, running.email, running.password, words)

        yield started


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, servers: Callable[[str], Server]) -> Server:
    return servers(request.param)


@pytest.fixture
def opened(server: Server) -> Iterator[Client]:
    with server.client() as client:
        yield client


def write_titles(folder: Path, customer: int, *documents: str) -> Path:
    row = {
        "codigoDaFilial": 1,
        "codigoDoItemDeLancamento": "1.01.001",
        "codigoDoCentroDeCusto": "01.001",
        "codigoDaContaCorrente": 1,
        "historico": "Mensalidade",
        "valorDoLancamento": 10.5,
        "dataDeVencimento": "2026-12-31",
    }
    rows = [[*row.values(), customer, document] for document in documents]
    header = [*row, "codigoDoCliente", "numeroDoDocumento"]
    return write_rows(folder / "titulos.xlsx", header, rows, sheet="contasreceber")


@pytest.mark.parametrize(
    ("server", "case"),
    across(SERVERS, [*product(("direct", "preview", "queue"), ("cliente", "contasreceber"))]),
    indirect=["server"],
)
def test_a_sheet_is_sent_once(
    server: Server, xlbridge: Xlbridge, tmp_path: Path, case: tuple[str, str]
) -> None:
    mode, resource = case
    with server.client() as client:
        customer = client.registry.clients.create(nomeComercial="Devedora").codigoDoCliente
        assert customer is not None
        if resource == "cliente":
            rows = [["Padaria", new_cnpj()], ["Mercado", new_cnpj()]]
            path = write_rows(tmp_path / "c.xlsx", ["nomeComercial", "cnpj"], rows, sheet="cliente")
        else:
            path = write_titles(tmp_path, customer, new_cnpj(), new_cnpj())
        done = xlbridge(
            "upload", path, "--mode", mode, "--yes", "--format", "json", **server.environment()
        )
        report = json.loads(done.stdout)
        assert (done.returncode, report["state"]) == (
            0,
            "previewed" if mode == "preview" else "done",
        )
        expected = 0 if mode == "preview" else 2
        assert report["rows"]["accepted"] == expected
        if resource == "cliente":
            found = sum(client.registry.clients.list(cnpjcpf=row[1]) is not None for row in rows)
        else:
            found = len(client.financial.receivables.list_open(codigoDoCliente=customer))
        assert found == expected


def test_rejected_lines_are_reported_by_row(
    server: Server, xlbridge: Xlbridge, tmp_path: Path
) -> None:
    path = write_titles(tmp_path, 999_999, "a")
    done = xlbridge(
        "upload", path, "--mode", "queue", "--yes", "--format", "json", **server.environment()
    )
    report = json.loads(done.stdout)
    assert (done.returncode, report["state"]) == (1, "rejected")
    assert [row["row"] for row in report["rejected"]] == [2]


@pytest.mark.parametrize(("server", "listing"), across(SERVERS, LISTINGS), indirect=["server"])
def test_a_listing_is_exported_completely(
    server: Server, xlbridge: Xlbridge, tmp_path: Path, listing: str
) -> None:
    manifest = tmp_path / "manifest.json"
    done = xlbridge(
        "export",
        listing,
        "-o",
        tmp_path / "out.jsonl",
        "--manifest",
        manifest,
        *_filters(listing),
        **server.environment(),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(manifest.read_text("utf-8"))
    assert document["complete"]
    assert document["records"] > 0


def _filters(listing: str) -> list[str]:
    return ["--branch", "1"] if listing == "requisicoes" else []


@pytest.mark.parametrize(("server", "operation"), across(SERVERS, [*STEPS]), indirect=["server"])
def test_a_write_returns_a_record_or_reasons(opened: Client, operation: str) -> None:
    """No specified write is in doubt due to the shape of its answer, and no name is misspelled."""
    for step in STEPS[operation]:
        reasons = rejection_reasons(opened, step)
        assert reasons is None or reasons, step.name
        messages = [f"{step.name}: {detail.value}" for detail in reasons or ()]
        assert [text for text in messages if MISSPELLED in text or "data ISO 8601" in text] == []


def rejection_reasons(client: Client, step: ClientStep) -> tuple[ErrorDetail, ...] | None:
    """Send a step; return the reasons if it is refused, None if it succeeds."""
    file = UploadFile("planilha.xlsx", b"no workbook") if step.operation.upload else None
    try:
        client.call(step.operation, path=step.path, query=step.query, body=step.body, file=file)
    except RemoteRejected as error:
        return error.details
    return None
