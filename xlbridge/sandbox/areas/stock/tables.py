"""Tables of stock movements, requisitions, inventories and product addressing.

There is no table of balances: a balance is the sum of its movements.
"""

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    DateTime,
    ForeignKey,
    FromClause,
    Index,
    Integer,
    Table,
    Text,
    Uuid,
)

from xlbridge.sandbox.areas.registry.tables import warehouses
from xlbridge.sandbox.columns import Amount, IsoDateTime, derived_columns, metadata
from xlbridge.wire.inventory import InventoryInput
from xlbridge.wire.stock import AddressingInput, StockOutputInput

movements = Table(
    "movements",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("inward", Boolean, nullable=False),
    Column("number", Integer, nullable=False),
    Column("moved", DateTime, nullable=False),
    *derived_columns(StockOutputInput),
    Column("valorUnitario", Amount, nullable=False),
    Column("valorTotal", Amount, nullable=False),
    Column("reversed", Boolean, nullable=False),
    Column("reversal", Text),
    Column("reverses", Integer),
    Column("adjustment", Boolean, nullable=False),
    Column("ultimaAtualizacao", IsoDateTime, nullable=False),
    Index("movements_by_number", "inward", "number", unique=True),
    Index("movements_by_product", "idProd", "codigoDaFilial", "codigoDoAlmoxarifado"),
    Index("movements_by_requisition", "numeroDaRequisicao"),
)
"""Entries (``inward``) and outputs, in the order of recording.

A ``reversed`` output stays; ``reverses`` of the entry that returns it is its number.
"""


def of_warehouse(rows: FromClause) -> ColumnElement[bool]:
    """Return the condition that joins the warehouses to rows with their codes."""
    return (warehouses.c.branch == rows.c.codigoDaFilial) & (
        warehouses.c.code == rows.c.codigoDoAlmoxarifado
    )


stock_requisitions = Table(
    "stock_requisitions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("requested", DateTime, nullable=False),
    Column("branch", ForeignKey("branches.code"), nullable=False),
    Column("cost_centre", ForeignKey("cost_centres.code")),
    Column("released", Boolean, nullable=False),
    Index("stock_requisitions_by_branch", "branch"),
)
stock_requisition_items = Table(
    "stock_requisition_items",
    metadata,
    Column("requisition", ForeignKey("stock_requisitions.number"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("product", ForeignKey("products.code"), nullable=False),
    Column("quantity", Amount, nullable=False),
)

inventories = Table(
    "inventories",
    metadata,
    Column("idInventario", Integer, primary_key=True, autoincrement=False),
    *derived_columns(InventoryInput),
    Column("situation", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("dataDeInicio", DateTime, nullable=False),
    Column("dataDeEncerramento", DateTime),
    Column("idProcessamento", Uuid),
    Column("logProcessamento", Text),
    Column("ultimaAtualizacao", IsoDateTime, nullable=False),
)
"""``count`` is the number of the last count started, 0 before the first."""

inventory_items = Table(
    "inventory_items",
    metadata,
    Column("inventory", ForeignKey("inventories.idInventario"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("product", ForeignKey("products.code"), nullable=False),
    Column("serial", Text),
    Column("project", ForeignKey("projects.code")),
    Column("balance", Amount, nullable=False),
    Column("count1", Amount),
    Column("count2", Amount),
    Column("count3", Amount),
)

addressings = Table(
    "addressings",
    metadata,
    *derived_columns(
        AddressingInput, keys=("codigoDaFilial", "codigoDoAlmoxarifado", "codigoDaSecao", "idProd")
    ),
    Column("ultimaAtualizacao", IsoDateTime, nullable=False),
)
