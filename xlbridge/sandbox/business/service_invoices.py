"""The rules of service invoices. Source: the spec, Service invoice (NFS-e), States."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, update

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.emission import pending_invoice
from xlbridge.sandbox.business.entries import amount_problems
from xlbridge.sandbox.business.intake import refuse
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.money import rate_problems
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.registries import issuers, services
from xlbridge.sandbox.tables.sales import service_invoices
from xlbridge.wire.services import ServiceInvoice, ServiceInvoiceInput

_AMOUNTS = tuple(
    name for name in ServiceInvoiceInput.model_fields if name.lower().startswith("valor")
)
_RATES = tuple(
    name for name in ServiceInvoiceInput.model_fields if name.lower().startswith("aliquota")
)


class ServiceInvoiceIntake:
    """Takes in new service invoices, pending emission."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: ServiceInvoiceInput) -> list[Problem]:
        """Return the rules that a new invoice breaks."""
        return _problems(self._known, data)

    def accept(self, data: ServiceInvoiceInput) -> ServiceInvoice:
        """Take in an invoice without problems, under the next id."""
        invoice = ServiceInvoice(
            idNF=self._numbers.next("service_invoice"),
            ultimaAtualizacao=self._now,
            **data.model_dump(),
        )
        self._rows.append(invoice.model_dump())
        return invoice

    def write(self) -> None:
        """Write all accepted invoices."""
        self._numbers.write()
        if self._rows:
            self._connection.execute(insert(service_invoices), self._rows)
            self._rows.clear()


def change_service_invoice(
    connection: Connection, invoice_id: int, data: ServiceInvoiceInput, now: datetime
) -> None:
    """Give a pending invoice new content, the whole of it.

    Raises ``RequestError``: 404 when there is none, 400 when it was emitted or breaks a rule.
    """
    pending_invoice(connection, service_invoices, invoice_id)
    refuse(_problems(Known(connection), data))
    content = data.model_dump(include=set(ServiceInvoiceInput.model_fields))
    connection.execute(
        update(service_invoices)
        .where(service_invoices.c.idNF == invoice_id)
        .values(**content, ultimaAtualizacao=now)
    )


def _problems(known: Known, data: ServiceInvoiceInput) -> list[Problem]:
    problems = [
        *known.complaint("codigoDaFilial", issuers, data.codigoDaFilial, "Filial"),
        *known.client_complaint(data.codigoDoCliente),
        *known.complaint(
            "codigoDoServicoPrestado", services, data.codigoDoServicoPrestado, "Serviço"
        ),
    ]
    for name in _AMOUNTS:
        problems.extend(amount_problems(name, getattr(data, name)))
    for name in _RATES:
        problems.extend(rate_problems(name, getattr(data, name)))
    return problems
