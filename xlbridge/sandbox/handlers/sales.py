"""Sales orders. Source: the spec, Sales order (Pedido de Venda) object, Sales and billing."""

from sqlalchemy import select

from xlbridge.sandbox.business.order_processing import process_order
from xlbridge.sandbox.business.order_records import whole_orders
from xlbridge.sandbox.business.orders import register_order
from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.sales import sales_orders
from xlbridge.sandbox.windows import window
from xlbridge.wire.operations.sales import (
    SALES_ORDER_CREATE,
    SALES_ORDER_LIST,
    SALES_ORDER_PROCESS,
)
from xlbridge.wire.sales import SalesOrder, SalesOrderInput, SalesOrderQuery


@handles(SALES_ORDER_CREATE)
def create(call: Call) -> SalesOrder:
    return _order(call, register_order(call.connection, call.sent(SalesOrderInput), call.now))


@handles(SALES_ORDER_PROCESS)
def process(call: Call) -> SalesOrder:
    number = call.path["numeroPedido"]
    process_order(call.connection, number, call.now)
    return _order(call, number)


@handles(SALES_ORDER_LIST)
def list_orders(call: Call) -> list[SalesOrder]:
    query = call.queried(SalesOrderQuery)
    found = (
        select(sales_orders)
        .where(*window(call, sales_orders.c.updated, query.dataInferior, query.dataSuperior))
        .order_by(sales_orders.c.updated, sales_orders.c.numeroDoPedido)
    )
    if query.codigoDaFilial is not None:
        found = found.where(sales_orders.c.codigoDaFilial == query.codigoDaFilial)
    if query.qtde:
        found = found.limit(query.qtde)
    return whole_orders(call.connection, call.connection.execute(found).all())


def _order(call: Call, number: int) -> SalesOrder:
    found = select(sales_orders).where(sales_orders.c.numeroDoPedido == number)
    (order,) = whole_orders(call.connection, call.connection.execute(found).all())
    return order
