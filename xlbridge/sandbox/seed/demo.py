"""A small company's records: many enough that caps and windows matter."""

from random import Random
from typing import Any

from sqlalchemy import Connection, Table, insert, update

from xlbridge.sandbox.seed.clients import client_rows, make_customers
from xlbridge.sandbox.seed.orders import Batch, OrderMaker
from xlbridge.sandbox.seed.products import balance_rows, make_products, product_rows
from xlbridge.sandbox.tables.access import counters
from xlbridge.sandbox.tables.clients import clients
from xlbridge.sandbox.tables.financial import receivables
from xlbridge.sandbox.tables.registries import products
from xlbridge.sandbox.tables.sales import sales_order_installments, sales_order_items, sales_orders
from xlbridge.sandbox.tables.stock import balances

CLIENTS, ORDERS, PRODUCTS = 1_300, 2_000, 120

_SEED = 20261031
_ORDERS_AT_ONCE = 1_000


def seed_demo(connection: Connection, scale: int) -> None:
    """Write the demo's records, ``scale`` times as many as one company has."""
    random = Random(_SEED)  # noqa: S311 - made-up records, the same every time
    customers = make_customers(random, CLIENTS * scale)
    articles = make_products(random, PRODUCTS * scale)
    _write(connection, clients, list(client_rows(random, customers)))
    _write(connection, products, list(product_rows(articles)))
    _write(connection, balances, list(balance_rows(random, articles)))
    maker = OrderMaker(random, customers, articles)
    for first in range(1, ORDERS * scale + 1, _ORDERS_AT_ONCE):
        batch = Batch()
        for number in range(first, min(first + _ORDERS_AT_ONCE, ORDERS * scale + 1)):
            maker.make(number, batch)
        _write(connection, sales_orders, batch.orders)
        _write(connection, sales_order_items, batch.items)
        _write(connection, sales_order_installments, batch.instalments)
        _write(connection, receivables, batch.titles)
    last_client = update(counters).where(counters.c.scope == "client")
    connection.execute(last_client.values(last=customers[-1].code))
    _write(
        connection,
        counters,
        [
            {"scope": f"receivable:{year}:{branch}", "last": last}
            for (year, branch), last in maker.transactions.items()
        ],
    )


def _write(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    connection.execute(insert(table), rows)
