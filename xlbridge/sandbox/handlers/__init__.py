"""What answers each operation, by area. Importing this package registers every handler."""

from xlbridge.sandbox.handlers import (
    authentication,
    buying_orders,
    cash,
    clients,
    imports,
    payables,
    product_invoices,
    purchase_orders,
    purchase_requisitions,
    purchasing_registries,
    receivables,
    sales,
    service_invoices,
    spending_limits,
    stock,
    system,
)

__all__ = [
    "authentication",
    "buying_orders",
    "cash",
    "clients",
    "imports",
    "payables",
    "product_invoices",
    "purchase_orders",
    "purchase_requisitions",
    "purchasing_registries",
    "receivables",
    "sales",
    "service_invoices",
    "spending_limits",
    "stock",
    "system",
]
