"""All handlers: importing this module completes ``HANDLERS``."""

from xlbridge.sandbox import users
from xlbridge.sandbox.areas.financial import handlers as financial
from xlbridge.sandbox.areas.purchasing import handlers as purchasing
from xlbridge.sandbox.areas.registry import handlers as registry
from xlbridge.sandbox.areas.sales import handlers as sales
from xlbridge.sandbox.areas.stock import addresses, handlers as stock, inventories
from xlbridge.sandbox.call import HANDLERS
from xlbridge.sandbox.imports import handlers as imports

__all__ = [
    "HANDLERS",
    "addresses",
    "financial",
    "imports",
    "inventories",
    "purchasing",
    "registry",
    "sales",
    "stock",
    "users",
]
