"""Tables of sales orders, product invoices, service invoices and service forecasts."""

from sqlalchemy import Column, Index, Table

from xlbridge.sandbox.columns import IsoDateTime, derived_columns, metadata
from xlbridge.wire.product_invoices import ProductInvoice, ProductInvoiceItem
from xlbridge.wire.sales import SalesOrder, SalesOrderInstallment, SalesOrderItem
from xlbridge.wire.services import ServiceForecast, ServiceInvoice

service_invoices = Table(
    "service_invoices",
    metadata,
    *derived_columns(ServiceInvoice, keys=("idNF",)),
    Index("service_invoices_by_update", "ultimaAtualizacao", "idNF"),
)
product_invoices = Table(
    "product_invoices",
    metadata,
    *derived_columns(ProductInvoice, keys=("idNF",), exclude=("produtos",)),
)
product_invoice_items = Table(
    "product_invoice_items",
    metadata,
    *derived_columns(ProductInvoiceItem, keys=("idNF", "seq")),
)
sales_orders = Table(
    "sales_orders",
    metadata,
    *derived_columns(
        SalesOrder,
        keys=("numeroDoPedido",),
        exclude=("parcelas", "produtos", "ultimaAtualizacao"),
    ),
    Column("ultimaAtualizacao", IsoDateTime, nullable=False),
    Index("sales_orders_by_update", "ultimaAtualizacao", "numeroDoPedido"),
)
sales_order_installments = Table(
    "sales_order_installments",
    metadata,
    *derived_columns(SalesOrderInstallment, keys=("numeroDoPedido", "numeroDaParcela")),
)
TITLE_COLUMNS = {
    "codigoDoExercicio": "codigoDoExercicioCR",
    "codigoDaFilial": "codigoDaFilialCR",
    "numeroDaTransacao": "numeroDaMovimentacaoCR",
    "sequenciaDaTransacao": "sequenciaDaMovimentacaoCR",
}
"""Columns of an instalment with the key of its title, by the fields of that key."""

sales_order_items = Table(
    "sales_order_items",
    metadata,
    *derived_columns(SalesOrderItem, keys=("numeroDoPedido", "seq")),
)
service_forecasts = Table(
    "service_forecasts",
    metadata,
    *derived_columns(ServiceForecast, keys=("codigoDaPrevisao",)),
)
