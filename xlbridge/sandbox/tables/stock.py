"""Balances and product addressing."""

from sqlalchemy import Column, ForeignKey, Integer, Table, Text

from xlbridge.sandbox.columns import Amount, derived_columns
from xlbridge.sandbox.tables.schema import metadata
from xlbridge.wire.stock import AddressingInput

addressings = Table(
    "addressings",
    metadata,
    *derived_columns(
        AddressingInput, keys=("codigoDaFilial", "codigoDoAlmoxarifado", "codigoDaSecao", "idProd")
    ),
)
balances = Table(
    "balances",
    metadata,
    Column("branch", Integer, primary_key=True, autoincrement=False),
    Column("warehouse", Integer, primary_key=True, autoincrement=False),
    Column("product", ForeignKey("products.code"), primary_key=True),
    Column("serial", Text),
    Column("project", ForeignKey("projects.code")),
    Column("quantity", Amount, nullable=False),
    Column("value", Amount, nullable=False),
)
