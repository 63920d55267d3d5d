"""Rows as the database stores them, to prove that an import did what its answers said.

The tables themselves are read, and compared with the rows that a workbook should become.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection, Table, select

from xlbridge.i18n import Text
from xlbridge.resources import Catalogue, Resource
from xlbridge.sandbox.areas.financial.tables import payables, receivables
from xlbridge.sandbox.areas.registry.tables import clients
from xlbridge.sandbox.areas.sales.tables import service_invoices
from xlbridge.sandbox.areas.stock.tables import addressings
from xlbridge.sandbox.imports.handlers import line_input, new_registration, read_upload
from xlbridge.sandbox.imports.queue import own_records
from xlbridge.settings import WorkbookLimits
from xlbridge.wire import WireModel
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.registry import ClientInput
from xlbridge.wire.services import ServiceInvoiceInput
from xlbridge.wire.stock import AddressingInput

_PLACES = 6


@dataclass(frozen=True, slots=True)
class RowDigest:
    """A row as a table holds it: the digest of all that was said of it, and that of its key.

    The key is of use where a row replaces the one with its key; elsewhere it is the same digest.
    """

    key: bytes
    content: bytes


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows of a table, by their forms. ``replaces`` says that each key is there once."""

    table: str
    rows: Counter[RowDigest]
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class _TableSpec:
    """The table of a resource's rows; ``generated`` are the columns that the system fills in."""

    table: Table
    generated: frozenset[str]
    replaces: bool = False

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.table.columns if column.name not in self.generated]

    def form(self, values: Mapping[str, Any]) -> RowDigest:
        content = _digest(_canonical_value(values[name]) for name in self.names)
        if not self.replaces:
            return RowDigest(content, content)
        keys = (column.name for column in self.table.primary_key)
        return RowDigest(_digest(_canonical_value(values[name]) for name in keys), content)


_GENERATED_TITLE_COLUMNS = frozenset(
    {"codigoDoExercicio", "numeroDaTransacao", "sequenciaDaTransacao"}
)
_TABLE_SPECS: Mapping[type[WireModel], _TableSpec] = {
    ClientInput: _TableSpec(clients, frozenset({"codigoDoCliente", "ultimaAtualizacao"})),
    ReceivableInput: _TableSpec(receivables, _GENERATED_TITLE_COLUMNS),
    PayableInput: _TableSpec(payables, _GENERATED_TITLE_COLUMNS),
    ServiceInvoiceInput: _TableSpec(service_invoices, frozenset({"idNF", "ultimaAtualizacao"})),
    AddressingInput: _TableSpec(addressings, frozenset({"ultimaAtualizacao"}), replaces=True),
}

_TITLES: Mapping[str, Text] = {
    clients.name: Text(pt="clientes", en="clients"),
    receivables.name: Text(pt="contas a receber", en="receivables"),
    payables.name: Text(pt="contas a pagar", en="payables"),
    service_invoices.name: Text(pt="notas fiscais de serviço", en="service invoices"),
    addressings.name: Text(pt="endereçamentos de produtos", en="product addresses"),
}


def table_name_of(resource: Resource) -> str:
    """Return what the table of a resource's rows is called."""
    model = resource.row_model
    return (
        f"{own_records.name}:{resource.name}" if model is None else _TABLE_SPECS[model].table.name
    )


def table_title(name: str) -> Text | str:
    """Return what reports call a table; the records of an own resource by the resource's name."""
    return _TITLES.get(name, name.removeprefix(f"{own_records.name}:"))


def read_stored_rows(connection: Connection, resource: Resource) -> StoredRows:
    """Return all rows of the table that a resource's rows are in."""
    model = resource.row_model
    if model is None:
        found = select(own_records.c.record).where(own_records.c.resource == resource.name)
        own = Counter(_own_record_digest(record) for record in connection.scalars(found))
        return StoredRows(table_name_of(resource), own)
    home = _TABLE_SPECS[model]
    columns = {*home.names, *(column.name for column in home.table.primary_key)}
    rows = connection.execute(select(*(home.table.c[name] for name in sorted(columns)))).mappings()
    return StoredRows(home.table.name, Counter(home.form(dict(row)) for row in rows), home.replaces)


def expected_row_digests(
    connection: Connection,
    content: bytes,
    resource: Resource,
    catalogue: Catalogue,
    limits: WorkbookLimits,
) -> list[RowDigest | None]:
    """Return the form in which each line of an uploaded workbook would be stored.

    None is for a line that cannot be stored at all. Nothing is written.
    """
    # What would be generated is left out of a form, so any moment will do.
    registration = new_registration(resource, connection, datetime.now())
    lines = read_upload(content, resource, catalogue, limits)
    model = resource.row_model
    found: list[RowDigest | None] = []
    for line in lines:
        try:
            record = registration.accept(line_input(line, resource))
        except ValidationError:
            found.append(None)
            continue
        stored = (
            _own_record_digest(record)
            if model is None
            else _TABLE_SPECS[model].form(record.model_dump())
        )
        found.append(stored)
    return found


def _own_record_digest(record: Mapping[str, Any]) -> RowDigest:
    content = _digest([json.dumps(record, sort_keys=True)])
    return RowDigest(content, content)


def _digest(values: Iterable[object]) -> bytes:
    return hashlib.blake2b(repr(list(values)).encode(), digest_size=16).digest()


def _canonical_value(value: object) -> object:
    if isinstance(value, Decimal):
        return format(round(value, _PLACES).normalize(), "f")
    return value.isoformat() if isinstance(value, datetime) else value


def one_resource_per_table(resources: Iterable[Resource]) -> Iterator[Resource]:
    """Yield one resource of each table that any of them is stored in."""
    yield from {table_name_of(resource): resource for resource in resources}.values()
