"""A database with all tables, and the records that a new one begins with; the same every time.

The supporting registries always; with the demo a small company's records too, many enough that
caps and windows of listings matter.
"""

from collections.abc import Callable, Sequence
from random import Random

from sqlalchemy import URL, Connection, update

from xlbridge.sandbox.areas.financial.seed import make_payables, split_rows
from xlbridge.sandbox.areas.financial.tables import (
    payable_allocations,
    payable_files,
    payables,
    receivable_allocations,
    receivables,
)
from xlbridge.sandbox.areas.purchasing.seed import seed_purchases
from xlbridge.sandbox.areas.registry.codes import counters
from xlbridge.sandbox.areas.registry.seed import (
    is_seeded,
    seed_billing_registries,
    seed_registries,
    write_rows,
)
from xlbridge.sandbox.areas.registry.seed_demo import (
    Customer,
    client_rows,
    contact_rows,
    make_customers,
    make_products,
    product_rows,
)
from xlbridge.sandbox.areas.registry.tables import clients, contacts, products
from xlbridge.sandbox.areas.sales.seed_billing import InvoiceMaker, forecast_rows, items_of_orders
from xlbridge.sandbox.areas.sales.seed_orders import OrderCourse, OrderMaker, OrderRows, plan_orders
from xlbridge.sandbox.areas.sales.tables import (
    product_invoices,
    sales_order_installments,
    sales_order_items,
    sales_orders,
    service_forecasts,
    service_invoices,
)
from xlbridge.sandbox.areas.stock.seed import seed_stock
from xlbridge.sandbox.columns import metadata
from xlbridge.sandbox.imports import queue  # noqa: F401 - its tables are among those of metadata
from xlbridge.sandbox.options import SeedKind
from xlbridge.sandbox.storage import Storage


def open_database(url: URL) -> Storage:
    """Open a database with the tables of all areas. Raises ``ConfigError`` as ``Storage`` does."""
    return Storage(url, metadata)


def _ignore_progress(_done: int, _total: int) -> None:
    """Tell nobody."""


ProgressCallback = Callable[[int, int], None]
"""Callback with the number of sales orders written, and of all to write."""


def seed_database(
    connection: Connection, kind: SeedKind, scale: int, watch: ProgressCallback = _ignore_progress
) -> bool:
    """Fill a new database; ``scale`` multiplies the demo's records.

    ``watch`` is called with the number of demo orders written so far and their total. Return False,
    and change nothing, when it was filled before.
    """
    if is_seeded(connection):
        return False
    seed_registries(connection)
    seed_billing_registries(connection)
    if kind is SeedKind.DEMO:
        seed_demo(connection, scale, watch)
    return True


CLIENTS, ORDERS, PRODUCTS = 1_300, 2_000, 120
SERVICE_INVOICES, SERVICE_FORECASTS, PAYABLES, PURCHASES = 60, 24, 60, 60
CLIENTS_WITH_CONTACTS = 40

_RANDOM_SEED = 20261031
_ORDERS_AT_ONCE = 1_000
_SPLIT_EACH = 20


def seed_demo(connection: Connection, scale: int, watch: ProgressCallback) -> None:
    """Write the demo's records, ``scale`` times as many as one company has."""
    random = Random(_RANDOM_SEED)  # noqa: S311 - made-up records, the same every time
    customers = make_customers(random, CLIENTS * scale)
    articles = make_products(random, PRODUCTS * scale)
    write_rows(connection, clients, client_rows(random, customers))
    write_rows(connection, products, product_rows(articles))
    seed_stock(connection, Random(_RANDOM_SEED), articles, scale)  # noqa: S311 - as above
    invoices = InvoiceMaker()
    maker = OrderMaker(random, customers, articles, invoices)
    _seed_orders(connection, maker, plan_orders(random, ORDERS * scale), watch)
    connection.execute(items_of_orders())
    last_numbers = _seed_services(connection, customers, invoices, scale)
    for scope, last in {"client": customers[-1].code, "product": articles[-1].code}.items():
        connection.execute(update(counters).where(counters.c.scope == scope).values(last=last))
    last_numbers |= invoices.numbers | {
        f"receivable:{year}:{branch}": last for (year, branch), last in maker.transactions.items()
    }
    last_numbers |= {"sales_order": ORDERS * scale, "product_invoice": maker.processed}
    made = make_payables(Random(_RANDOM_SEED), PAYABLES * scale)  # noqa: S311 - as above
    write_rows(connection, payables, made.titles)
    write_rows(connection, payable_allocations, made.allocations)
    write_rows(connection, payable_files, made.files)
    last_numbers |= made.numbers
    last_numbers |= seed_purchases(connection, random, articles, PURCHASES * scale)
    rows = list(contact_rows(Random(_RANDOM_SEED), customers[: CLIENTS_WITH_CONTACTS * scale]))  # noqa: S311 - as above
    write_rows(connection, contacts, rows)
    last_numbers |= {f"contact:{row['codigoDoCliente']}": row["seqContato"] for row in rows}
    rows = [{"scope": scope, "last": last} for scope, last in last_numbers.items()]
    write_rows(connection, counters, rows)


def _seed_orders(
    connection: Connection,
    maker: OrderMaker,
    courses: Sequence[OrderCourse],
    watch: ProgressCallback,
) -> None:
    """Write the sales orders and what comes of them, batch by batch."""
    count = len(courses)
    for done in range(0, count, _ORDERS_AT_ONCE):
        watch(done, count)
        batch = OrderRows()
        for course in courses[done : done + _ORDERS_AT_ONCE]:
            maker.make(course, batch)
        write_rows(connection, sales_orders, batch.orders)
        write_rows(connection, sales_order_items, batch.items)
        write_rows(connection, sales_order_installments, batch.instalments)
        write_rows(connection, receivables, batch.titles)
        split = [row for title in batch.titles[::_SPLIT_EACH] for row in split_rows(title)]
        write_rows(connection, receivable_allocations, split)
        write_rows(connection, product_invoices, batch.invoices)
    watch(count, count)


def _seed_services(
    connection: Connection, customers: list[Customer], invoices: InvoiceMaker, scale: int
) -> dict[str, int]:
    """Write what is billed for services; return the last number of each scope."""
    random = Random(_RANDOM_SEED)  # noqa: S311 - as above
    billed = list(invoices.of_services(random, customers, SERVICE_INVOICES * scale))
    write_rows(connection, service_invoices, billed)
    forecasts = list(forecast_rows(random, customers, SERVICE_FORECASTS * scale))
    write_rows(connection, service_forecasts, forecasts)
    return {"service_invoice": len(billed), "service_forecast": len(forecasts)}
