"""What a database holds of imported rows, each in the form in which it is stored.

For whoever proves that an import did what its answers said: the tables themselves are read.
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

from xlbridge.limits import WorkbookLimits
from xlbridge.resources.catalogue import Catalogue, record_model
from xlbridge.resources.resource import Resource
from xlbridge.sandbox.imports.importing import input_of, intake_of, read_upload
from xlbridge.sandbox.tables.clients import clients
from xlbridge.sandbox.tables.financial import payables, receivables
from xlbridge.sandbox.tables.imports import own_records
from xlbridge.sandbox.tables.sales import service_invoices
from xlbridge.sandbox.tables.stock import addressings
from xlbridge.wire.financial import PayableInput, ReceivableInput
from xlbridge.wire.model import WireModel
from xlbridge.wire.registry import ClientInput
from xlbridge.wire.services import ServiceInvoiceInput
from xlbridge.wire.stock import AddressingInput

_PLACES = 6


@dataclass(frozen=True, slots=True)
class Form:
    """A row as a table holds it: the digest of all that was said of it, and that of its key.

    The key is of use where a row replaces the one with its key; elsewhere it is the same digest.
    """

    key: bytes
    content: bytes


@dataclass(frozen=True, slots=True)
class Held:
    """The rows of a table, by their forms. ``replaces`` says that each key is there once."""

    table: str
    rows: Counter[Form]
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class _Home:
    """The table of a resource's rows; ``generated`` are the columns that the system fills in."""

    table: Table
    generated: frozenset[str]
    replaces: bool = False

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.table.columns if column.name not in self.generated]

    def form(self, values: Mapping[str, Any]) -> Form:
        content = _digest(_plain(values[name]) for name in self.names)
        if not self.replaces:
            return Form(content, content)
        keys = (column.name for column in self.table.primary_key)
        return Form(_digest(_plain(values[name]) for name in keys), content)


_TITLE = frozenset({"codigoDoExercicio", "numeroDaTransacao", "sequenciaDaTransacao"})
_HOMES: Mapping[type[WireModel], _Home] = {
    ClientInput: _Home(clients, frozenset({"codigoDoCliente", "ultimaAtualizacao"})),
    ReceivableInput: _Home(receivables, _TITLE),
    PayableInput: _Home(payables, _TITLE),
    ServiceInvoiceInput: _Home(service_invoices, frozenset({"idNF", "ultimaAtualizacao"})),
    AddressingInput: _Home(addressings, frozenset({"ultimaAtualizacao"}), replaces=True),
}


def table_of(resource: Resource) -> str:
    """Return what the table of a resource's rows is called."""
    model = record_model(resource)
    return f"{own_records.name}:{resource.name}" if model is None else _HOMES[model].table.name


def held(connection: Connection, resource: Resource) -> Held:
    """Return all rows of the table that a resource's rows are in."""
    model = record_model(resource)
    if model is None:
        found = select(own_records.c.record).where(own_records.c.resource == resource.name)
        own = Counter(_own_form(record) for record in connection.scalars(found))
        return Held(table_of(resource), own)
    home = _HOMES[model]
    columns = {*home.names, *(column.name for column in home.table.primary_key)}
    rows = connection.execute(select(*(home.table.c[name] for name in sorted(columns)))).mappings()
    return Held(home.table.name, Counter(home.form(dict(row)) for row in rows), home.replaces)


def forms(
    connection: Connection,
    content: bytes,
    resource: Resource,
    catalogue: Catalogue,
    limits: WorkbookLimits,
) -> list[Form | None]:
    """Return the form in which each line of an uploaded workbook would be stored.

    None is for a line that cannot be stored at all. Nothing is written.
    """
    # What would be generated is left out of a form, so any moment will do.
    intake = intake_of(resource, connection, datetime.now())
    lines = read_upload(content, resource, catalogue, limits).lines
    model = record_model(resource)
    found: list[Form | None] = []
    for line in lines:
        try:
            record = intake.accept(input_of(line, resource))
        except ValidationError:
            found.append(None)
            continue
        stored = _own_form(record) if model is None else _HOMES[model].form(record.model_dump())
        found.append(stored)
    return found


def _own_form(record: Mapping[str, Any]) -> Form:
    content = _digest([json.dumps(record, sort_keys=True)])
    return Form(content, content)


def _digest(values: Iterable[object]) -> bytes:
    return hashlib.blake2b(repr(list(values)).encode(), digest_size=16).digest()


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return format(round(value, _PLACES).normalize(), "f")
    return value.isoformat() if isinstance(value, datetime) else value


def resources_apart(resources: Iterable[Resource]) -> Iterator[Resource]:
    """Yield one resource of each table that any of them is stored in."""
    yield from {table_of(resource): resource for resource in resources}.values()
