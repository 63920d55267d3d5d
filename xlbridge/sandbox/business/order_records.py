"""Sales orders as they are kept: read with their instalments and products."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Table, select

from xlbridge.sandbox.tables.sales import sales_order_installments, sales_order_items
from xlbridge.wire.sales import SalesOrder, SalesOrderInstallment, SalesOrderItem

_ORDERS_AT_ONCE = 500

Line = TypeVar("Line", SalesOrderInstallment, SalesOrderItem)
Lines = defaultdict[int, list[Line]]


def whole_orders(connection: Connection, headers: Sequence[Row[Any]]) -> list[SalesOrder]:
    """Return the orders that rows of their table begin."""
    orders: list[SalesOrder] = []
    for start in range(0, len(headers), _ORDERS_AT_ONCE):
        orders.extend(_loaded(connection, headers[start : start + _ORDERS_AT_ONCE]))
    return orders


def _loaded(connection: Connection, headers: Sequence[Row[Any]]) -> list[SalesOrder]:
    numbers = [header.numeroDoPedido for header in headers]
    parcelas = _lines(connection, SalesOrderInstallment, sales_order_installments, numbers)
    produtos = _lines(connection, SalesOrderItem, sales_order_items, numbers)
    return [
        SalesOrder.model_construct(
            **header._mapping,
            ultimaAtualizacao=header.updated.isoformat(),
            parcelas=parcelas[header.numeroDoPedido],
            produtos=produtos[header.numeroDoPedido],
        )
        for header in headers
    ]


def _lines(
    connection: Connection, model: type[Line], table: Table, numbers: Sequence[int]
) -> Lines[Line]:
    of_orders = table.c.numeroDoPedido.in_(numbers)
    found = select(table).where(of_orders).order_by(*table.primary_key)
    grouped: Lines[Line] = defaultdict(list)
    for row in connection.execute(found).mappings():
        # What comes from our own tables is not validated again.
        grouped[row["numeroDoPedido"]].append(model.model_construct(**row))
    return grouped
