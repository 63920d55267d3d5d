"""All handlers: importing this module registers what answers each operation."""

from xlbridge.sandbox import users
from xlbridge.sandbox.areas.financial import handlers as financial
from xlbridge.sandbox.areas.purchasing import handlers as purchasing
from xlbridge.sandbox.areas.registry import handlers as registry
from xlbridge.sandbox.areas.sales import handlers as sales
from xlbridge.sandbox.areas.stock import handlers as stock, warehouse_handlers as warehouse
from xlbridge.sandbox.imports import handlers as imports

__all__ = [
    "financial",
    "imports",
    "purchasing",
    "registry",
    "sales",
    "stock",
    "users",
    "warehouse",
]
