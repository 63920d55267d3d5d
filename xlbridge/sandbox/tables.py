"""All tables, and a database that has them. Importing this module completes ``metadata``."""

from sqlalchemy import URL

from xlbridge.sandbox.areas.financial import tables as financial
from xlbridge.sandbox.areas.purchasing import tables as purchasing
from xlbridge.sandbox.areas.registry import codes, tables as registry
from xlbridge.sandbox.areas.sales import tables as sales
from xlbridge.sandbox.areas.stock import tables as stock
from xlbridge.sandbox.columns import metadata
from xlbridge.sandbox.imports import queue, records
from xlbridge.sandbox.storage import Storage

__all__ = [
    "codes",
    "financial",
    "metadata",
    "open_database",
    "purchasing",
    "queue",
    "records",
    "registry",
    "sales",
    "stock",
]


def open_database(url: URL) -> Storage:
    """Open a database with the tables of all areas. Raises ``ConfigError`` as ``Storage`` does."""
    return Storage(url, metadata)
