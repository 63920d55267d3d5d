"""Emission of invoices: pending, then emitted once and for all.

Source: the spec, States (product invoice, service invoice).
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Table, select, update

from xlbridge.sandbox.answers import invalid, not_found
from xlbridge.sandbox.business.access_keys import (
    Issuer,
    product_invoice_key,
    service_invoice_key,
)
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.registries import invoice_models, issuers
from xlbridge.sandbox.tables.sales import product_invoices, service_invoices

Numbered = Callable[[Known, Numbers, Row[Any], datetime], tuple[int, str]]


def pending_invoice(connection: Connection, table: Table, invoice_id: int) -> Row[Any]:
    """Return an invoice that is still pending.

    Raises ``RequestError``: 404 when there is none, 400 when it was emitted.
    """
    statement = select(table).where(table.c.idNF == invoice_id)
    invoice = connection.execute(statement).one_or_none()
    if invoice is None:
        raise not_found("id", "Nota fiscal não encontrada.")
    if invoice.numeroDaNotaFiscalEletronica is not None:
        raise invalid(("id", f"A nota fiscal {invoice_id} já foi emitida."))
    return invoice


def emit_product_invoice(connection: Connection, invoice_id: int, now: datetime) -> None:
    """Emit a pending product invoice. Raises ``RequestError`` as ``pending_invoice`` does."""
    _emit(connection, product_invoices, invoice_id, now, _as_product_invoice)


def emit_service_invoice(connection: Connection, invoice_id: int, now: datetime) -> None:
    """Emit a pending service invoice. Raises ``RequestError`` as ``pending_invoice`` does."""
    _emit(connection, service_invoices, invoice_id, now, _as_service_invoice)


def _emit(
    connection: Connection, table: Table, invoice_id: int, now: datetime, numbered: Numbered
) -> None:
    invoice = pending_invoice(connection, table, invoice_id)
    numbers = Numbers(connection)
    number, key = numbered(Known(connection), numbers, invoice, now)
    numbers.write()
    connection.execute(
        update(table)
        .where(table.c.idNF == invoice_id)
        .values(
            numeroDaNotaFiscalEletronica=number,
            chaveDaNotaFiscalEletronica=key,
            dataDeEmissao=now,
            ultimaAtualizacao=now,
        )
    )


def _as_product_invoice(
    known: Known, numbers: Numbers, invoice: Row[Any], now: datetime
) -> tuple[int, str]:
    series = known.required(invoice_models, invoice.codigoDaNotaFiscal).series
    number = numbers.next(product_invoice_scope(invoice.codigoDaFilial, series))
    issuer = _issuer(known, invoice)
    return number, product_invoice_key(issuer, series, number, now)


def _as_service_invoice(
    known: Known, numbers: Numbers, invoice: Row[Any], now: datetime
) -> tuple[int, str]:
    number = numbers.next(service_invoice_scope(invoice.codigoDaFilial))
    issuer = _issuer(known, invoice)
    return number, service_invoice_key(issuer, number, now)


def _issuer(known: Known, invoice: Row[Any]) -> Issuer:
    entry = known.required(issuers, invoice.codigoDaFilial)
    return Issuer(entry.cnpj, entry.municipality)


def product_invoice_scope(branch: int, series: int) -> str:
    """Name the sequence that a branch's product invoices of a series are numbered in."""
    return f"nfe:{branch}:{series}"


def service_invoice_scope(branch: int) -> str:
    """Name the sequence that a branch's service invoices are numbered in."""
    return f"nfse:{branch}"
