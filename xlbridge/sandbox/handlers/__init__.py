"""What answers each operation, by area. Importing this package registers every handler."""

from xlbridge.sandbox.handlers import (
    authentication,
    clients,
    imports,
    receivables,
    sales,
    stock,
    system,
)

__all__ = ["authentication", "clients", "imports", "receivables", "sales", "stock", "system"]
