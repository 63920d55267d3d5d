"""Helpers for tests of processing: pending records, and what the database says about them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from databases import TABLES, connected
from lossy_proxy import LossyProxy
from sheets import write_records
from sqlalchemy import func, select
from update_parts import writes
from upload_parts import new_cnpj

from xlbridge.client import Client, UploadFile
from xlbridge.upload.process_kinds import KINDS as PROCESS_KINDS
from xlbridge.wire.imports import IMPORT_QUEUE

import_logs = TABLES["import_logs"]
inventories = TABLES["inventories"]
payables = TABLES["payables"]
receivables = TABLES["receivables"]


def new_order(client: Client, customer: int, _folder: Path) -> int:
    """Register a sales order, pending."""
    order = client.sales.orders.create(
        codigoDaFilial=1,
        codigoDoCliente=customer,
        parcelas=[{"dataDeVencimento": datetime(2026, 12, 1), "valor": 10}],
    )
    return int(order.numeroDoPedido)


def new_product_invoice(client: Client, customer: int, _folder: Path) -> int:
    """Register a product invoice, pending emission."""
    invoice = client.sales.product_invoices.create(
        codigoDaFilial=1,
        codigoDaNotaFiscal=1,
        tipoDeOperacao="Saída",
        naturezaDaOperacao="Venda",
        codigoDaFormaDePagamento=1,
        codigoDoCliente=customer,
        nomeDoCliente="Cliente",
        cep="01310-100",
    )
    return int(invoice.idNF)


def new_service_invoice(client: Client, customer: int, _folder: Path) -> int:
    """Register a service invoice, pending emission."""
    invoice = client.sales.service_invoices.register(
        codigoDaFilial=1, codigoDoCliente=customer, codigoDoServicoPrestado="14.01",
        valorDoServico=100,
    )  # fmt: skip
    return int(invoice.idNF)


def new_inventory(client: Client, _customer: int, _folder: Path) -> int:
    """Open an inventory of a warehouse, count and validate it so that it can be processed."""
    number = new_counted_inventory(client, _customer, _folder)
    client.stock.inventories.validate(idInventario=number)
    return number


def new_counted_inventory(client: Client, _customer: int, _folder: Path) -> int:
    """Open an inventory of a warehouse, and count it so that it can be validated."""
    calls = client.stock.inventories
    for inventory in calls.list():
        if inventory.podeEncerrar:
            calls.close(idInventario=inventory.idInventario)
    product = client.registry.products.create(descricaoDoProduto=f"Parafuso {new_cnpj()}")
    number = calls.open(codigoDaFilial=1, codigoDoAlmoxarifado=1).idInventario
    calls.start_count(idInventario=number, contagem=1)
    counted = [{"idProd": product.idProduto, "quantidade": 7}]
    calls.count(idInventario=number, contagem=1, itens=counted)
    return int(number)


def new_queued_file(client: Client, _customer: int, folder: Path) -> int:
    """Put a workbook of one new payable into the queue, where it waits for its processing."""
    document = f"FILA-{new_cnpj()}"
    path = write_records(folder / "fila.xlsx", "contaspagar", [{"numeroDoDocumento": document}])
    file = UploadFile(f"{document}.xlsx", path.read_bytes())
    return int(client.call(IMPORT_QUEUE, path={"resource": "contaspagar"}, file=file))


@dataclass(frozen=True)
class Kind:
    """Kind of records, with a function that creates one and the path of processing requests."""

    listing: str
    create: Callable[[Client, int, Path], int]
    path: str
    processed: Callable[[Any, int], int]

    def times_processed(self, home: Path, number: int) -> int:
        """Return how many times the sandbox has processed a record, according to its database."""
        with connected(home) as connection:
            return self.processed(connection, number)


def _titles_of_order(connection: Any, number: int) -> int:
    document = receivables.c.numeroDoDocumento.like(f"PV-{number:06}/%")
    return int(connection.scalar(select(func.count()).where(document)))


def _numbers_of(table: Any) -> Callable[[Any, int], int]:
    def count_numbered(connection: Any, number: int) -> int:
        filled = (table.c.idNF == number) & table.c.numeroDaNotaFiscalEletronica.is_not(None)
        return int(connection.scalar(select(func.count()).where(filled)))

    return count_numbered


def _inventories_in(situation: str) -> Callable[[Any, int], int]:
    def count_reached(connection: Any, number: int) -> int:
        done = (inventories.c.idInventario == number) & (inventories.c.situation == situation)
        return int(connection.scalar(select(func.count()).where(done)))

    return count_reached


def _written_rows(connection: Any, number: int) -> int:
    name = connection.scalar(select(import_logs.c.filename).where(import_logs.c.id == number))
    rows = payables.c.numeroDoDocumento == name.removesuffix(".xlsx")
    return int(connection.scalar(select(func.count()).where(rows)))


ORDERS = Kind("pedidos", new_order, "/pedido/processar/", _titles_of_order)
PRODUCT_INVOICES = Kind(
    "nfe", new_product_invoice, "/nfe/processar/", _numbers_of(TABLES["product_invoices"])
)
SERVICE_INVOICES = Kind(
    "nfse",
    new_service_invoice,
    "/nfs/processar/",
    _numbers_of(TABLES["service_invoices"]),
)
INVENTORIES = Kind("inventario", new_inventory, "/processar", _inventories_in("Processado"))
VALIDATIONS = Kind(
    "inventario-validar", new_counted_inventory, "/validar", _inventories_in("Validado")
)
CLOSURES = Kind("inventario-encerrar", new_inventory, "/encerrar", _inventories_in("Encerrado"))
FILES = Kind("importacao", new_queued_file, "/processar-arquivo/", _written_rows)
KINDS = (ORDERS, PRODUCT_INVOICES, SERVICE_INVOICES, INVENTORIES, VALIDATIONS, CLOSURES, FILES)


def write_numbers(
    path: Path, header: str, numbers: Sequence[object], *, hidden: Sequence[int] = ()
) -> Path:
    """Write a sheet with columns of names and numbers, and its header in the second row."""
    with xlsxwriter.Workbook(path, {"default_date_format": "dd/mm/yyyy"}) as book:
        sheet = book.add_worksheet("Plan1")
        sheet.write_row(1, 0, ["nome", header])
        for row, number in enumerate(numbers, start=2):
            sheet.write(row, 0, f"linha {row + 1}")
            if number is not None:
                sheet.write(row, 1, number)
        for row in hidden:
            sheet.set_row(row - 1, None, None, {"hidden": True})
    return path


each_exercised_kind = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            kind,
            id=kind.listing,
            marks=pytest.mark.exercises(PROCESS_KINDS[kind.listing].process.name),
        )
        for kind in KINDS
    ],
)
"""One case for each kind; the test exercises its operation."""


def record_counts(**counts: int) -> dict[str, int]:
    """Return the counts of a report's records, 0 by default."""
    names = ("read", "processed", "already", "rejected", "unknown")
    return dict.fromkeys(names, 0) | counts


def count_processing_requests(proxy: LossyProxy, kind: Kind) -> int:
    """Return the number of requests that process a record, and clear all requests."""
    return sum(kind.path in path for method, path in writes(proxy) if method == "POST")
