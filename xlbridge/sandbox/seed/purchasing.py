"""Writes the demo's purchases and what may be spent on them."""

from random import Random

from sqlalchemy import Connection

from xlbridge.sandbox.business.purchase_documents import write_documents
from xlbridge.sandbox.seed.products import Product
from xlbridge.sandbox.seed.purchases import PurchaseMaker, spending_limits_of_year
from xlbridge.sandbox.seed.writing import write
from xlbridge.sandbox.tables.purchasing import (
    buying_order_items,
    buying_orders,
    purchase_order_files,
    purchase_order_items,
    purchase_orders,
    purchase_requisition_items,
    purchase_requisitions,
    spending_limits,
)


def seed_purchases(
    connection: Connection, random: Random, articles: list[Product], count: int
) -> dict[str, int]:
    """Write so many purchases, each as far as it has come, and this year's budget.

    Return the last number of each scope.
    """
    made = PurchaseMaker(random, articles)
    for _ in range(count):
        made.make()
    limits = spending_limits_of_year(random)
    write_documents(
        connection, purchase_requisitions, purchase_requisition_items, made.requisitions
    )
    write_documents(connection, buying_orders, buying_order_items, made.orders)
    write_documents(connection, purchase_orders, purchase_order_items, made.purchase_orders)
    write(connection, purchase_order_files, made.files)
    write(connection, spending_limits, (limit.model_dump() for limit in limits))
    return {
        "purchase_requisition": len(made.requisitions),
        "buying_order": len(made.orders),
        "purchase_order": len(made.purchase_orders),
        "spending_limit": len(limits),
    }
