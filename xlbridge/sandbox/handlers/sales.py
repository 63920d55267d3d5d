"""Sales orders. Source: the spec, Sales order (Pedido de Venda) object, Sales and billing."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

from sqlalchemy import Row, Select, Table, select

from xlbridge.sandbox.call import Call, handles
from xlbridge.sandbox.tables.sales import sales_order_installments, sales_order_items, sales_orders
from xlbridge.sandbox.windows import window
from xlbridge.wire.operations.sales import SALES_ORDER_LIST
from xlbridge.wire.sales import (
    SalesOrder,
    SalesOrderInstallment,
    SalesOrderItem,
    SalesOrderQuery,
)

_ORDERS_AT_ONCE = 500

Line = TypeVar("Line", SalesOrderInstallment, SalesOrderItem)


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
    headers = call.connection.execute(found).all()
    orders: list[SalesOrder] = []
    for start in range(0, len(headers), _ORDERS_AT_ONCE):
        orders.extend(_loaded(call, headers[start : start + _ORDERS_AT_ONCE]))
    return orders


def _loaded(call: Call, headers: Sequence[Row[Any]]) -> list[SalesOrder]:
    numbers = [header.numeroDoPedido for header in headers]
    parcelas = _by_order(
        call.read(SalesOrderInstallment, _lines(sales_order_installments, numbers))
    )
    produtos = _by_order(call.read(SalesOrderItem, _lines(sales_order_items, numbers)))
    return [
        SalesOrder.model_construct(
            **header._mapping,
            ultimaAtualizacao=header.updated.isoformat(),
            parcelas=parcelas[header.numeroDoPedido],
            produtos=produtos[header.numeroDoPedido],
        )
        for header in headers
    ]


def _lines(table: Table, numbers: Sequence[int]) -> Select[Any]:
    of_orders = table.c.numeroDoPedido.in_(numbers)
    return select(table).where(of_orders).order_by(*table.primary_key)


def _by_order(lines: Sequence[Line]) -> defaultdict[int | None, list[Line]]:
    grouped: defaultdict[int | None, list[Line]] = defaultdict(list)
    for line in lines:
        grouped[line.numeroDoPedido].append(line)
    return grouped
