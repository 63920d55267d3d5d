"""Sales orders and service invoices."""

from sqlalchemy import Boolean, Column, DateTime, Index, Integer, Table

from xlbridge.sandbox.columns import derived_columns
from xlbridge.sandbox.tables.schema import metadata
from xlbridge.wire.sales import SalesOrder, SalesOrderInstallment, SalesOrderItem
from xlbridge.wire.services import ServiceInvoiceInput

service_invoices = Table(
    "service_invoices",
    metadata,
    Column("idNF", Integer, primary_key=True, autoincrement=False),
    *derived_columns(ServiceInvoiceInput),
    Column("emitted", Boolean, nullable=False, default=False),
)
sales_orders = Table(
    "sales_orders",
    metadata,
    *derived_columns(
        SalesOrder,
        keys=("numeroDoPedido",),
        leave_out=("parcelas", "produtos", "ultimaAtualizacao"),
    ),
    Column("updated", DateTime, nullable=False),
    Index("sales_orders_by_update", "updated", "numeroDoPedido"),
)
sales_order_installments = Table(
    "sales_order_installments",
    metadata,
    *derived_columns(SalesOrderInstallment, keys=("numeroDoPedido", "numeroDaParcela")),
)
sales_order_items = Table(
    "sales_order_items",
    metadata,
    *derived_columns(SalesOrderItem, keys=("numeroDoPedido", "seq")),
)
