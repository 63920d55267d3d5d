"""The rules of clients. Source: the spec, Client and Errors."""

import re
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, exists, insert, select
from stdnum.br import cnpj, cpf

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.clients import clients
from xlbridge.sandbox.tables.registries import client_types, sellers
from xlbridge.wire.registry import Client, ClientInput

_MASK = re.compile(r"[\s./-]")


def bare_document(document: str) -> str:
    """Return a CNPJ or CPF without its mask, in capitals."""
    return _MASK.sub("", document).upper()


class ClientIntake:
    """Takes in new clients."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._documents: set[str] = set()
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: ClientInput) -> list[Problem]:
        """Return the rules that a new client breaks."""
        known = self._known
        return [
            *_document_problems(data),
            *self._duplicate(data),
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
        document = _document(data)
        if document:
            self._documents.add(document)
        client = Client(
            codigoDoCliente=self._numbers.next("client"),
            cnpjcpf=document,
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

    def _duplicate(self, data: ClientInput) -> list[Problem]:
        document = _document(data)
        if not document:
            return []
        stored = select(exists().where(clients.c.cnpjcpf == document))
        if document not in self._documents and not self._connection.scalar(stored):
            return []
        return [("cnpjcpf", f"O número {document} já está cadastrado para outro cliente.")]


def _document(data: ClientInput) -> str | None:
    """The document of the client's nature; without it the other, which is taken as it is."""
    document = (data.cnpj or data.cpf) if data.natureza == "J" else (data.cpf or data.cnpj)
    return bare_document(document) if document else None


def _document_problems(data: ClientInput) -> list[Problem]:
    if data.natureza == "J":
        return _invalid("cnpj", data.cnpj, cnpj.is_valid, "CNPJ inválido.")
    return _invalid("cpf", data.cpf, cpf.is_valid, "CPF inválido.")


def _invalid(key: str, document: str | None, is_valid: Any, message: str) -> list[Problem]:
    wrong = document and not is_valid(bare_document(document))
    return [(key, message)] if wrong else []
