"""What answers each operation, by area. Importing this package registers every handler."""

from xlbridge.sandbox.handlers import (
    authentication,
    cash,
    clients,
    imports,
    payables,
    product_invoices,
    receivables,
    sales,
    service_invoices,
    stock,
    system,
)

__all__ = [
    "authentication",
    "cash",
    "clients",
    "imports",
    "payables",
    "product_invoices",
    "receivables",
    "sales",
    "service_invoices",
    "stock",
    "system",
]
