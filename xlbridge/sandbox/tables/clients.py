"""Clients."""

from sqlalchemy import Index, Table

from xlbridge.sandbox.columns import derived_columns
from xlbridge.sandbox.tables.schema import metadata
from xlbridge.wire.registry import Client

clients = Table(
    "clients",
    metadata,
    *derived_columns(Client, keys=("codigoDoCliente",)),
    Index("clients_by_document", "cnpjcpf"),
    Index("clients_by_idws", "idws"),
    Index("clients_by_update", "ultimaAtualizacao"),
)
