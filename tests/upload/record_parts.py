"""Helpers for tests of records sent one by one: sheets, and their records in the system."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lossy_proxy import LossyProxy
from sheets import write_records

from xlbridge.client import Client
from xlbridge.wire.registry import PRODUCT_TYPE_LIST
from xlbridge.wire.sales import SERVICE_INVOICE_LIST, ServiceInvoiceQuery

TYPES = "/v2/tipo-de-produto"
INVOICES = "/v2/faturamento/nfse"
CONTACTS = "/v2/clientecontato"
PAYABLES = "/v2/financeiro/contaspagar"
RECEIVABLES = "/v2/financeiro/contasreceber"

_numbers = itertools.count(1)


def new_descriptions(count: int) -> list[str]:
    """Return descriptions that no other test has used."""
    return [f"Tipo {next(_numbers):05}" for _ in range(count)]


def make_types(path: Path, descriptions: Sequence[str]) -> Path:
    """Write a workbook of product types."""
    rows: list[dict[str, Any]] = [
        {"codigoDoTipoDeProduto": None, "descricaoDoTipoDeProduto": description}
        for description in descriptions
    ]
    return write_records(path, "tipo-de-produto", rows)


def codes_of(client: Client, descriptions: Sequence[str]) -> list[str]:
    """Return the codes of the system's types with the given descriptions, in order."""
    return [
        str(one["codigoDoTipoDeProduto"])
        for one in client.records(PRODUCT_TYPE_LIST)
        if one["descricaoDoTipoDeProduto"] in descriptions
    ]


def make_invoices(path: Path, customer: int, amounts: Sequence[float]) -> Path:
    """Write a workbook of service invoices of one customer; such rows have no key."""
    rows = [{"codigoDoCliente": customer, "valorDoServico": amount} for amount in amounts]
    return write_records(path, "nota-fiscal-servico", rows)


def amounts_of(client: Client, customer: int) -> list[float]:
    """Return the amounts of a customer's service invoices in the system, sorted."""
    query = ServiceInvoiceQuery(codigoDoCliente=customer)
    found = client.records(SERVICE_INVOICE_LIST, query=query)
    return sorted(float(one["valorDoServico"]) for one in found)


def count_posts(proxy: LossyProxy, path: str) -> int:
    """Return the number of records sent to a path."""
    return sum(method == "POST" and sent.endswith(path) for method, sent in proxy.seen)
