"""Which codes exist: each registry is read once per transaction."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Table, exists, select

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.tables.clients import clients
from xlbridge.sandbox.tables.registries import sections, warehouses


class Known:
    """Looks codes up within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._entries = cache(self._read_entries)
        self._client_is_active = cache(self._read_client)
        self._is_place = cache(self._read_place)
        self._is_section = cache(self._read_section)

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

    def warehouse_complaint(self, branch: int, code: int | None) -> list[Problem]:
        """Return the problem of a warehouse that is given and that its branch does not have."""
        if code is None or self._is_place(branch, code):
            return []
        message = f"A filial {branch} não tem o almoxarifado informado."
        return [("codigoDoAlmoxarifado", message)]

    def section_complaint(
        self, branch: int, warehouse: int | None, code: str | None
    ) -> list[Problem]:
        """Return the problem of a section that is given and that is not in its warehouse.

        Without a warehouse, any of the branch's will do.
        """
        if code is None or self._is_section(branch, warehouse, code):
            return []
        return [("codigoDaSecao", f"Seção {code}: código não cadastrado no almoxarifado.")]

    def _read_entries(self, registry: Table) -> Mapping[object, Row[Any]]:
        return {row.code: row for row in self._connection.execute(select(registry))}

    def _read_client(self, code: int) -> bool | None:
        statement = select(clients.c.ativo).where(clients.c.codigoDoCliente == code)
        return self._connection.scalar(statement)

    def _read_place(self, branch: int, code: int) -> bool:
        found = (warehouses.c.branch == branch) & (warehouses.c.code == code)
        return bool(self._connection.scalar(select(exists().where(found))))

    def _read_section(self, branch: int, warehouse: int | None, code: str) -> bool:
        found = (sections.c.branch == branch) & (sections.c.code == code)
        if warehouse is not None:
            found &= sections.c.warehouse == warehouse
        return bool(self._connection.scalar(select(exists().where(found))))
