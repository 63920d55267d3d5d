"""Digests of stored rows, to compare the tables with the rows that a workbook should produce."""

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
    """Digests of a stored row's key and content; equal if rows never replace each other."""

    key: bytes
    content: bytes


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of a table by digest. ``replaces``: a row replaces the one with the same key."""

    table: str
    rows: Counter[RowDigest]
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class _TableSpec:
    """Table of a resource's rows; ``generated`` are the columns that the system fills in."""

    table: Table
    generated: frozenset[str]
    replaces: bool = False

    @property
    def column_names(self) -> list[str]:
        return [column.name for column in self.table.columns if column.name not in self.generated]

    def row_digest(self, values: Mapping[str, Any]) -> RowDigest:
        content = _digest(_canonical_value(values[name]) for name in self.column_names)
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
    """Return the name of the table of a resource's rows."""
    model = resource.row_model
    return (
        f"{own_records.name}:{resource.name}" if model is None else _TABLE_SPECS[model].table.name
    )


def table_title(name: str) -> Text | str:
    """Return the title of a table in reports: for own resources, the resource's name."""
    return _TITLES.get(name, name.removeprefix(f"{own_records.name}:"))


def read_stored_rows(connection: Connection, resource: Resource) -> StoredRows:
    """Return all rows of the table of a resource."""
    model = resource.row_model
    if model is None:
        records = select(own_records.c.record).where(own_records.c.resource == resource.name)
        digests = Counter(_own_record_digest(record) for record in connection.scalars(records))
        return StoredRows(table_name_of(resource), digests)
    spec = _TABLE_SPECS[model]
    columns = {*spec.column_names, *(column.name for column in spec.table.primary_key)}
    rows = connection.execute(select(*(spec.table.c[name] for name in sorted(columns)))).mappings()
    digests = Counter(spec.row_digest(dict(row)) for row in rows)
    return StoredRows(spec.table.name, digests, spec.replaces)


def expected_row_digests(
    connection: Connection,
    content: bytes,
    resource: Resource,
    catalogue: Catalogue,
    limits: WorkbookLimits,
) -> list[RowDigest | None]:
    """Return the digest of each line of an uploaded workbook as it would be stored.

    Lines that cannot be stored have None. Nothing is written.
    """
    # Digests leave out generated columns, so any time will do.
    registration = new_registration(resource, connection, datetime.now())
    lines = read_upload(content, resource, catalogue, limits)
    model = resource.row_model
    digests: list[RowDigest | None] = []
    for line in lines:
        try:
            record = registration.accept(line_input(line, resource))
        except ValidationError:
            digests.append(None)
            continue
        digests.append(
            _own_record_digest(record)
            if model is None
            else _TABLE_SPECS[model].row_digest(record.model_dump())
        )
    return digests


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
    """Yield one of the resources for each table."""
    yield from {table_name_of(resource): resource for resource in resources}.values()
