"""The sandbox's tables, by area. What the wire shows is derived from the wire models.

Importing this package completes ``metadata``.
"""

from xlbridge.sandbox.tables import (
    access,
    clients,
    financial,
    imports,
    purchasing,
    registries,
    sales,
    stock,
)
from xlbridge.sandbox.tables.schema import metadata

__all__ = [
    "access",
    "clients",
    "financial",
    "imports",
    "metadata",
    "purchasing",
    "registries",
    "sales",
    "stock",
]
