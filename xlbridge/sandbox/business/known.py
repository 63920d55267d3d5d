"""Which codes exist: each registry is read once per transaction."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Table, select

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.tables.clients import clients


class Known:
    """Looks codes up within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._entries = cache(self._read_entries)
        self._client_is_active = cache(self._read_client)

    def entry(self, registry: Table, code: object) -> Row[Any] | None:
        """Return a registry's entry, None where the code does not exist."""
        return self._entries(registry).get(code)

    def required(self, registry: Table, code: object) -> Row[Any]:
        """Return the entry of a code that was checked before."""
        return self._entries(registry)[code]

    def name(self, registry: Table, code: object) -> str | None:
        """Return what a code is called, None where it does not exist."""
        entry = self.entry(registry, code)
        return None if entry is None else entry.name

    def complaint(self, key: str, registry: Table, code: object, label: str) -> list[Problem]:
        """Return the problem of a code that is given and not in its registry, if there is one."""
        if code is None or self.entry(registry, code) is not None:
            return []
        return [(key, f"{label} {code}: código não cadastrado.")]

    def inactive_complaint(
        self, key: str, registry: Table, code: object, label: str
    ) -> list[Problem]:
        """Return the problem of a code that is given and is unknown or inactive."""
        entry = self.entry(registry, code)
        if entry is not None and not entry.active:
            return [(key, f"{label} {code} está inativo.")]
        return self.complaint(key, registry, code, label)

    def client_complaint(self, code: int) -> list[Problem]:
        """Return the problem of a client code in a body: unknown or inactive.

        A client that a body names and that does not exist breaks a rule (400); one that a path
        or query names is a resource not found (404). Source: the spec, Errors.
        """
        unknown = self.unknown_client(code)
        if unknown or self._client_is_active(code):
            return unknown
        return [("codigoDoCliente", f"Cliente {code} está inativo.")]

    def unknown_client(self, code: int) -> list[Problem]:
        """Return the problem of a client code in a body that no client has, active or not."""
        if self._client_is_active(code) is not None:
            return []
        return [("codigoDoCliente", f"Cliente {code}: código não cadastrado.")]

    def _read_entries(self, registry: Table) -> Mapping[object, Row[Any]]:
        return {row.code: row for row in self._connection.execute(select(registry))}

    def _read_client(self, code: int) -> bool | None:
        statement = select(clients.c.ativo).where(clients.c.codigoDoCliente == code)
        return self._connection.scalar(statement)
