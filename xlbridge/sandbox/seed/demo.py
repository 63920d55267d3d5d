"""A small company's records."""

from sqlalchemy import Connection


def seed_demo(connection: Connection, scale: int) -> None:
    """Write the demo's records."""
