"""A small company's records: many enough that caps and windows matter."""

from collections.abc import Callable
from random import Random

from sqlalchemy import Connection, update

from xlbridge.sandbox.seed.clients import Customer, client_rows, make_customers
from xlbridge.sandbox.seed.contacts import contact_rows
from xlbridge.sandbox.seed.forecasts import forecast_rows
from xlbridge.sandbox.seed.invoices import InvoiceMaker, items_of_orders
from xlbridge.sandbox.seed.orders import Batch, OrderMaker
from xlbridge.sandbox.seed.payables import make_payables, split_rows
from xlbridge.sandbox.seed.products import make_products, product_rows
from xlbridge.sandbox.seed.purchasing import seed_purchases
from xlbridge.sandbox.seed.stock import seed_stock
from xlbridge.sandbox.seed.writing import write
from xlbridge.sandbox.tables.access import counters
from xlbridge.sandbox.tables.clients import clients, contacts
from xlbridge.sandbox.tables.financial import (
    payable_allocations,
    payable_files,
    payables,
    receivable_allocations,
    receivables,
)
from xlbridge.sandbox.tables.registries import products
from xlbridge.sandbox.tables.sales import (
    product_invoices,
    sales_order_installments,
    sales_order_items,
    sales_orders,
    service_forecasts,
    service_invoices,
)

CLIENTS, ORDERS, PRODUCTS = 1_300, 2_000, 120
SERVICE_INVOICES, SERVICE_FORECASTS, PAYABLES, PURCHASES = 60, 24, 60, 60
CLIENTS_WITH_CONTACTS = 40

_SEED = 20261031
_ORDERS_AT_ONCE = 1_000
_SPLIT_EACH = 20

Watch = Callable[[int, int], None]
"""Is told how many of the sales orders are written, and how many there will be."""


def seed_demo(connection: Connection, scale: int, watch: Watch) -> None:
    """Write the demo's records, ``scale`` times as many as one company has."""
    random = Random(_SEED)  # noqa: S311 - made-up records, the same every time
    customers = make_customers(random, CLIENTS * scale)
    articles = make_products(random, PRODUCTS * scale)
    write(connection, clients, client_rows(random, customers))
    write(connection, products, product_rows(articles))
    seed_stock(connection, Random(_SEED), articles, scale)  # noqa: S311 - as above
    invoices = InvoiceMaker()
    maker = OrderMaker(random, customers, articles, invoices)
    _seed_orders(connection, maker, ORDERS * scale, watch)
    connection.execute(items_of_orders())
    last_numbers = _seed_services(connection, customers, invoices, scale)
    _move_on(connection, {"client": customers[-1].code, "product": articles[-1].code})
    last_numbers |= invoices.numbers | {
        f"receivable:{year}:{branch}": last for (year, branch), last in maker.transactions.items()
    }
    last_numbers |= {"sales_order": ORDERS * scale, "product_invoice": ORDERS * scale}
    last_numbers |= _seed_payables(connection, PAYABLES * scale)
    last_numbers |= seed_purchases(connection, random, articles, PURCHASES * scale)
    last_numbers |= _seed_contacts(connection, customers[: CLIENTS_WITH_CONTACTS * scale])
    rows = [{"scope": scope, "last": last} for scope, last in last_numbers.items()]
    write(connection, counters, rows)


def _seed_orders(connection: Connection, maker: OrderMaker, count: int, watch: Watch) -> None:
    """Write the sales orders and what comes of them, batch by batch."""
    for done in range(0, count, _ORDERS_AT_ONCE):
        watch(done, count)
        batch = Batch()
        for number in range(done, min(done + _ORDERS_AT_ONCE, count)):
            maker.make(number + 1, batch)
        write(connection, sales_orders, batch.orders)
        write(connection, sales_order_items, batch.items)
        write(connection, sales_order_installments, batch.instalments)
        write(connection, receivables, batch.titles)
        split = [row for title in batch.titles[::_SPLIT_EACH] for row in split_rows(title)]
        write(connection, receivable_allocations, split)
        write(connection, product_invoices, batch.invoices)
    watch(count, count)


def _seed_services(
    connection: Connection, customers: list[Customer], invoices: InvoiceMaker, scale: int
) -> dict[str, int]:
    """Write what is billed for services; return the last number of each scope."""
    random = Random(_SEED)  # noqa: S311 - as above
    billed = list(invoices.of_services(random, customers, SERVICE_INVOICES * scale))
    write(connection, service_invoices, billed)
    forecasts = list(forecast_rows(random, customers, SERVICE_FORECASTS * scale))
    write(connection, service_forecasts, forecasts)
    return {"service_invoice": len(billed), "service_forecast": len(forecasts)}


def _seed_payables(connection: Connection, count: int) -> dict[str, int]:
    """Write the payable titles; return the last number of each scope."""
    made = make_payables(Random(_SEED), count)  # noqa: S311 - as above
    write(connection, payables, made.titles)
    write(connection, payable_allocations, made.allocations)
    write(connection, payable_files, made.files)
    return made.numbers


def _seed_contacts(connection: Connection, customers: list[Customer]) -> dict[str, int]:
    """Write the contacts of some clients; return the last number of each scope."""
    rows = list(contact_rows(Random(_SEED), customers))  # noqa: S311 - as above
    write(connection, contacts, rows)
    return {f"contact:{row['codigoDoCliente']}": row["seqContato"] for row in rows}


def _move_on(connection: Connection, last_numbers: dict[str, int]) -> None:
    """Have scopes that begin with the registries go on after the demo's records."""
    for scope, last in last_numbers.items():
        connection.execute(update(counters).where(counters.c.scope == scope).values(last=last))
