"""The rules of clients' contacts. Source: the spec, Client contact."""

from typing import Any

from sqlalchemy import Connection, insert

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.business.known import Known
from xlbridge.sandbox.business.numbers import Numbers
from xlbridge.sandbox.tables.clients import contacts
from xlbridge.wire.registry import Contact, ContactInput


class ContactIntake:
    """Takes in new contacts."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known = Known(connection)
        self._numbers = Numbers(connection)
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: ContactInput) -> list[Problem]:
        """Return the rules that a new contact breaks; its client may be inactive."""
        return self._known.unknown_client(data.codigoDoCliente)

    def accept(self, data: ContactInput) -> Contact:
        """Take in a contact without problems, as the next of its client."""
        contact = Contact(
            seqContato=self._numbers.next(f"contact:{data.codigoDoCliente}"),
            nomeDoContato=data.nome,
            ativo=True,
            **data.model_dump(exclude={"nome"}),
        )
        self._rows.append(contact.model_dump())
        return contact

    def write(self) -> None:
        """Write all accepted contacts."""
        self._numbers.write()
        if self._rows:
            self._connection.execute(insert(contacts), self._rows)
            self._rows.clear()
