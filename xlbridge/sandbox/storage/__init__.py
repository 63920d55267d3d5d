"""The sandbox's database, SQLite or PostgreSQL: what differs between the two stands here only."""

from xlbridge.sandbox.storage.address import database_url, shown
from xlbridge.sandbox.storage.database import Storage
from xlbridge.sandbox.storage.engines import POOL_SIZE
from xlbridge.sandbox.storage.failures import TROUBLE, is_busy, reporting_trouble

__all__ = [
    "POOL_SIZE",
    "TROUBLE",
    "Storage",
    "database_url",
    "is_busy",
    "reporting_trouble",
    "shown",
]
