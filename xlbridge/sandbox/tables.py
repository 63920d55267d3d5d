"""All tables: importing this module completes ``metadata``."""

from xlbridge.sandbox.areas.financial import tables as financial
from xlbridge.sandbox.areas.purchasing import tables as purchasing
from xlbridge.sandbox.areas.registry import codes, tables as registry
from xlbridge.sandbox.areas.sales import tables as sales
from xlbridge.sandbox.areas.stock import tables as stock
from xlbridge.sandbox.columns import metadata
from xlbridge.sandbox.imports import queue, records

__all__ = [
    "codes",
    "financial",
    "metadata",
    "purchasing",
    "queue",
    "records",
    "registry",
    "sales",
    "stock",
]
