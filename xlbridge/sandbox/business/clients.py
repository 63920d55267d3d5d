"""The rules of clients. Source: the spec, Client and Errors."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.documents import Documents, document_of
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.clients import clients
from xlbridge.sandbox.tables.registries import client_types, sellers
from xlbridge.wire.registry import Client, ClientInput


class ClientIntake:
    """Takes in new clients."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._documents = Documents(connection, clients.c.cnpjcpf, "cliente")
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: ClientInput) -> list[Problem]:
        """Return the rules that a new client breaks."""
        known = self._known
        return [
            *self._documents.problems(data),
            *known.complaint(
                "codigoDoTipoDeCliente",
                client_types,
                data.codigoDoTipoDeCliente,
                "Tipo de cliente",
            ),
            *known.complaint("codigoDoVendedor", sellers, data.codigoDoVendedor, "Vendedor"),
        ]

    def accept(self, data: ClientInput) -> Client:
        """Take in a client without problems, under the next code."""
        document = document_of(data)
        self._documents.accept(document)
        client = Client(
            codigoDoCliente=self._numbers.next("client"),
            cnpjcpf=document,
            ativo=True,
            ultimaAtualizacao=self._now,
            **data.model_dump(exclude={"cnpj", "cpf"}),
        )
        self._rows.append(client.model_dump())
        return client

    def write(self) -> None:
        """Write all accepted clients."""
        self._numbers.write()
        if self._rows:
            self._connection.execute(insert(clients), self._rows)
            self._rows.clear()
