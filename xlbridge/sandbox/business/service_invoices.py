"""The rules of service invoices. Source: the spec, Service invoice (NFS-e), States."""

from typing import Any

from sqlalchemy import Connection, insert

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.entries import amount_problems
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.registries import branches, services
from xlbridge.sandbox.tables.sales import service_invoices
from xlbridge.wire.services import ServiceInvoiceInput

_AMOUNTS = tuple(
    name for name in ServiceInvoiceInput.model_fields if name.lower().startswith("valor")
)


class ServiceInvoiceIntake:
    """Takes in new service invoices, pending emission."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: ServiceInvoiceInput) -> list[Problem]:
        """Return the rules that a new invoice breaks."""
        problems = [
            *self._known.complaint("codigoDaFilial", branches, data.codigoDaFilial, "Filial"),
            *self._known.client_complaint(data.codigoDoCliente),
            *self._known.complaint(
                "codigoDoServicoPrestado", services, data.codigoDoServicoPrestado, "Serviço"
            ),
        ]
        for name in _AMOUNTS:
            problems.extend(amount_problems(name, getattr(data, name)))
        return problems

    def accept(self, data: ServiceInvoiceInput) -> ServiceInvoiceInput:
        """Take in an invoice without problems, under the next id."""
        self._rows.append({"idNF": self._numbers.next("service_invoice")} | data.model_dump())
        return data

    def write(self) -> None:
        """Write all accepted invoices."""
        self._numbers.write()
        if self._rows:
            self._connection.execute(insert(service_invoices), self._rows)
            self._rows.clear()
