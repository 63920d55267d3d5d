"""Sales orders and invoices. Source: the spec, Endpoints, Sales and billing."""

from xlbridge.wire.operation import Operation
from xlbridge.wire.sales import SalesOrder, SalesOrderQuery

_SECTION = "Sales and billing"

SALES_ORDER_LIST = Operation(
    name="sales.orders.list",
    method="GET",
    path="/v2/faturamento/pedido",
    section=_SECTION,
    query=SalesOrderQuery,
    data=list[SalesOrder],
    repeatable=True,
)

OPERATIONS = (SALES_ORDER_LIST,)
