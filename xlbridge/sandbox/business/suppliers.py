"""The rules of suppliers. Source: the spec, Registry; a supplier is registered as a client is."""

from typing import Any

from sqlalchemy import Connection, insert

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.documents import Documents, document_of
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.columns import stored
from xlbridge.sandbox.tables.registries import suppliers
from xlbridge.wire.registry import Supplier, SupplierInput

SUPPLIER_COLUMNS = {
    "codigoDoFornecedor": "code",
    "nomeComercial": "name",
    "natureza": "nature",
    "cnpjcpf": "document",
    "email": "email",
    "telefone": "telephone",
    "ativo": "active",
}
"""The column of each of a supplier's fields."""


class SupplierIntake:
    """Takes in new suppliers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers = Numbers(connection)
        self._documents = Documents(connection, suppliers.c.document, "fornecedor")
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: SupplierInput) -> list[Problem]:
        """Return the rules that a new supplier breaks."""
        return self._documents.problems(data)

    def accept(self, data: SupplierInput) -> Supplier:
        """Take in a supplier without problems, under the next code."""
        document = document_of(data)
        self._documents.accept(document)
        supplier = Supplier(
            codigoDoFornecedor=self._numbers.next("supplier"),
            cnpjcpf=document,
            **data.model_dump(exclude={"cnpj", "cpf"}),
        )
        self._rows.append(stored(supplier, SUPPLIER_COLUMNS))
        return supplier

    def write(self) -> None:
        """Write all accepted suppliers."""
        self._numbers.write()
        if self._rows:
            self._connection.execute(insert(suppliers), self._rows)
            self._rows.clear()
