"""Clients and their contacts."""

from sqlalchemy import ForeignKeyConstraint, Index, Table

from xlbridge.sandbox.columns import derived_columns
from xlbridge.sandbox.tables.schema import metadata
from xlbridge.wire.registry import Client, Contact

clients = Table(
    "clients",
    metadata,
    *derived_columns(Client, keys=("codigoDoCliente",)),
    Index("clients_by_document", "cnpjcpf"),
    Index("clients_by_idws", "idws"),
    Index("clients_by_update", "ultimaAtualizacao"),
)
contacts = Table(
    "contacts",
    metadata,
    *derived_columns(Contact, keys=("codigoDoCliente", "seqContato")),
    ForeignKeyConstraint(["codigoDoCliente"], [clients.c.codigoDoCliente]),
)
