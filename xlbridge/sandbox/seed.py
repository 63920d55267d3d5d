"""Creation of the database, and its reproducible seed records.

The seed has the supporting registries; the demo also has the records of a small company, enough
to exceed the caps of listings.
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
from xlbridge.sandbox.areas.sales.seed_billing import InvoiceMaker, copy_order_items, forecast_rows
from xlbridge.sandbox.areas.sales.seed_orders import OrderMaker, OrderPlan, OrderRows, plan_orders
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
from xlbridge.sandbox.imports import queue  # noqa: F401 - adds its tables to the metadata
from xlbridge.sandbox.options import SeedKind
from xlbridge.sandbox.storage import Storage


def open_database(url: URL) -> Storage:
    """Open a database with the tables of all areas. Raises ``ConfigError`` like ``Storage``."""
    return Storage(url, metadata)


ProgressCallback = Callable[[int, int], None]
"""Callback with the number of demo sales orders written and their total."""


def seed_database(
    connection: Connection,
    kind: SeedKind,
    scale: int,
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> bool:
    """Seed a new database; ``scale`` multiplies the demo's records.

    Return False, without any change, if the database was seeded before.
    """
    if is_seeded(connection):
        return False
    seed_registries(connection)
    seed_billing_registries(connection)
    if kind is SeedKind.DEMO:
        seed_demo(connection, scale, on_progress)
    return True


CLIENTS, ORDERS, PRODUCTS = 1_300, 2_000, 120
SERVICE_INVOICES, SERVICE_FORECASTS, PAYABLES, PURCHASES = 60, 24, 60, 60
CLIENTS_WITH_CONTACTS = 40

_RANDOM_SEED = 20261031
_ORDER_BATCH = 1_000
_SPLIT_EVERY = 20


def seed_demo(connection: Connection, scale: int, on_progress: ProgressCallback) -> None:
    """Write the demo's records, multiplied by ``scale``."""
    random = Random(_RANDOM_SEED)  # noqa: S311 - made-up records, the same every time
    customers = make_customers(random, CLIENTS * scale)
    demo_products = make_products(random, PRODUCTS * scale)
    write_rows(connection, clients, client_rows(random, customers))
    write_rows(connection, products, product_rows(demo_products))
    seed_stock(connection, Random(_RANDOM_SEED), demo_products, scale)  # noqa: S311 - as above
    invoices = InvoiceMaker()
    maker = OrderMaker(random, customers, demo_products, invoices)
    _seed_orders(connection, maker, plan_orders(random, ORDERS * scale), on_progress)
    connection.execute(copy_order_items())
    last_numbers = _seed_services(connection, customers, invoices, scale)
    for scope, last in {"client": customers[-1].code, "product": demo_products[-1].code}.items():
        connection.execute(update(counters).where(counters.c.scope == scope).values(last=last))
    last_numbers |= invoices.numbers | {
        f"receivable:{year}:{branch}": last for (year, branch), last in maker.transactions.items()
    }
    last_numbers |= {"sales_order": ORDERS * scale, "product_invoice": maker.processed}
    payable_rows = make_payables(Random(_RANDOM_SEED), PAYABLES * scale)  # noqa: S311 - as above
    write_rows(connection, payables, payable_rows.titles)
    write_rows(connection, payable_allocations, payable_rows.allocations)
    write_rows(connection, payable_files, payable_rows.files)
    last_numbers |= payable_rows.numbers
    last_numbers |= seed_purchases(connection, random, demo_products, PURCHASES * scale)
    rows = list(contact_rows(Random(_RANDOM_SEED), customers[: CLIENTS_WITH_CONTACTS * scale]))  # noqa: S311 - as above
    write_rows(connection, contacts, rows)
    last_numbers |= {f"contact:{row['codigoDoCliente']}": row["seqContato"] for row in rows}
    rows = [{"scope": scope, "last": last} for scope, last in last_numbers.items()]
    write_rows(connection, counters, rows)


def _seed_orders(
    connection: Connection,
    maker: OrderMaker,
    plans: Sequence[OrderPlan],
    on_progress: ProgressCallback,
) -> None:
    """Write the sales orders with their titles and invoices, in batches."""
    count = len(plans)
    for done in range(0, count, _ORDER_BATCH):
        on_progress(done, count)
        batch = OrderRows()
        for plan in plans[done : done + _ORDER_BATCH]:
            maker.make(plan, batch)
        write_rows(connection, sales_orders, batch.orders)
        write_rows(connection, sales_order_items, batch.items)
        write_rows(connection, sales_order_installments, batch.instalments)
        write_rows(connection, receivables, batch.titles)
        split = [row for title in batch.titles[::_SPLIT_EVERY] for row in split_rows(title)]
        write_rows(connection, receivable_allocations, split)
        write_rows(connection, product_invoices, batch.invoices)
    on_progress(count, count)


def _seed_services(
    connection: Connection, customers: list[Customer], invoices: InvoiceMaker, scale: int
) -> dict[str, int]:
    """Write service invoices and forecasts; return the last number of each scope."""
    random = Random(_RANDOM_SEED)  # noqa: S311 - as above
    invoice_rows = list(invoices.service_invoices(random, customers, SERVICE_INVOICES * scale))
    write_rows(connection, service_invoices, invoice_rows)
    forecasts = list(forecast_rows(random, customers, SERVICE_FORECASTS * scale))
    write_rows(connection, service_forecasts, forecasts)
    return {"service_invoice": len(invoice_rows), "service_forecast": len(forecasts)}
