"""A sandbox of its own for the uploads, a lossy way to it, and its database as the oracle."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import xlsxwriter
from databases import database_options
from environment import clean_environment
from lossy_proxy import LossyProxy, lossy_proxy
from sandboxes import sandbox_process
from upload_parts import MakeClients, new_cnpj

from xlbridge.client import Client, Target
from xlbridge.resources import Catalogue
from xlbridge.sandbox import RunningSandbox
from xlbridge.settings import Settings, read_settings
from xlbridge.upload import Journal, UploadContext


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningSandbox]:
    folder = tmp_path_factory.mktemp("upload-sandbox")
    options = ["--seed", "empty", *database_options(folder)]
    with sandbox_process(folder, options, clean_environment(folder)) as running:
        yield running


@pytest.fixture
def proxy(sandbox: RunningSandbox) -> Iterator[LossyProxy]:
    with lossy_proxy(sandbox.base_url) as running:
        yield running


@pytest.fixture
def client(proxy: LossyProxy, sandbox: RunningSandbox) -> Iterator[Client]:
    target = Target("rehearsal", proxy.base_url, sandbox.email, sandbox.password)
    with Client(target, timeout=20) as running:
        yield running


@pytest.fixture
def context(home: Path, catalogue: Catalogue) -> Iterator[UploadContext]:
    settings: Settings = read_settings({"XLBRIDGE_HOME": str(home), "XLBRIDGE_SETTLE": "0"})
    journal = Journal(settings.journal)
    yield UploadContext(settings, catalogue, journal)
    journal.close()


@pytest.fixture
def make_clients(tmp_path: Path) -> MakeClients:
    """Write a workbook of clients with given documents under a title, from B4 on."""

    def make(*documents: str, name: str = "clientes.xlsx", called: str = "Cliente") -> Path:
        path = tmp_path / name
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet("Clientes")
            sheet.write_string(0, 0, "Clientes novos")
            sheet.write_row(2, 1, ["nomeComercial", "cnpj"])
            for row, document in enumerate(documents):
                sheet.write_row(3 + row, 1, [f"{called} {document}", document])
        return path

    return make


@pytest.fixture
def customer(client: Client) -> int:
    """A new active client of the remote system."""
    created = client.registry.clients.create(nomeComercial="Ana", cnpj=new_cnpj())
    return int(created.codigoDoCliente)


@pytest.fixture
def make_receivables(tmp_path: Path) -> Callable[..., Path]:
    """Write a workbook of receivables of one customer and document, one for each history.

    They are due on the days of a month from ``day`` on.
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
