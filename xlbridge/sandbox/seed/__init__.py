"""What a new database begins with; the same every time."""

from sqlalchemy import Connection

from xlbridge.sandbox.seed.billing import seed_billing_registries
from xlbridge.sandbox.seed.demo import Watch, seed_demo
from xlbridge.sandbox.seed.registries import is_seeded, seed_registries
from xlbridge.sandbox.seed_kind import Seed

__all__ = ["Watch", "seed"]


def _unwatched(_done: int, _total: int) -> None:
    """Tell nobody."""


def seed(connection: Connection, kind: Seed, scale: int, watch: Watch = _unwatched) -> bool:
    """Fill a new database; ``scale`` multiplies the demo's records.

    ``watch`` is told how many of the demo's orders are written, and of how many. Return False,
    and change nothing, when it was filled before.
    """
    if is_seeded(connection):
        return False
    seed_registries(connection)
    seed_billing_registries(connection)
    if kind is Seed.DEMO:
        seed_demo(connection, scale, watch)
    return True
