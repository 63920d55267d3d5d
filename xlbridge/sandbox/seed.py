"""Creation of the database, and its reproducible seed records.

The seed has the supporting registries; the demo also has the records of a small company, enough
to exceed the caps of listings.
"""

from random import Random

from sqlalchemy import URL, Connection, exists, select, update

from xlbridge.sandbox import import_lines, imports  # noqa: F401 - add tables to the metadata
from xlbridge.sandbox.areas.registries import clients, companies, counters, products
from xlbridge.sandbox.columns import metadata
from xlbridge.sandbox.demo.company import (
    client_rows,
    make_customers,
    make_products,
    seed_contacts,
    seed_registries,
    write_rows,
)
from xlbridge.sandbox.demo.purchases import seed_payables, seed_purchases
from xlbridge.sandbox.demo.sales import seed_orders, seed_services
from xlbridge.sandbox.demo.stock import seed_stock
from xlbridge.sandbox.options import ProgressCallback, SeedKind
from xlbridge.sandbox.storage import Storage

_CLIENTS, _PRODUCTS, _ORDERS, _PAYABLES, _PURCHASES = 1_300, 120, 2_000, 60, 60
_CLIENTS_WITH_CONTACTS = 40


def open_database(url: URL) -> Storage:
    """Open a database with the tables of all areas. Raises ``ConfigError`` like ``Storage``."""
    return Storage(url, metadata)


def seed_database(
    connection: Connection,
    kind: SeedKind,
    scale: int,
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> bool:
    """Seed a new database; ``scale`` multiplies the demo's records.

    Return False, without any change, if the database was seeded before.
    """
    if connection.scalar(select(exists(select(companies)))):
        return False
    seed_registries(connection)
    if kind is not SeedKind.DEMO:
        return True
    random = _new_random()
    customers = make_customers(random, _CLIENTS * scale)
    demo_products = make_products(random, _PRODUCTS * scale)
    write_rows(connection, clients, client_rows(random, customers))
    write_rows(connection, products, demo_products)
    last_codes = {
        "client": customers[-1]["codigoDoCliente"],
        "product": demo_products[-1]["idProduto"],
    }
    for scope, last in last_codes.items():
        connection.execute(update(counters).where(counters.c.scope == scope).values(last=last))
    with_contacts = customers[: _CLIENTS_WITH_CONTACTS * scale]
    last_numbers = {
        **seed_stock(connection, _new_random(), demo_products, scale),
        **seed_orders(connection, random, customers, demo_products, _ORDERS * scale, on_progress),
        **seed_services(connection, _new_random(), customers, scale),
        **seed_payables(connection, _new_random(), _PAYABLES * scale),
        **seed_contacts(connection, _new_random(), with_contacts),
    }
    seed_purchases(connection, random, demo_products, _PURCHASES * scale)
    rows = [{"scope": scope, "last": last} for scope, last in last_numbers.items()]
    write_rows(connection, counters, rows)
    return True


def _new_random() -> Random:
    """Return a generator that makes up the same records every time."""
    return Random(20261031)  # noqa: S311 - not for security
