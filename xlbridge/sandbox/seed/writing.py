"""How the seed writes rows: so many at once, so that memory does not grow with their number."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, insert

_AT_ONCE = 2_000


def write(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows, all with the same columns."""
    waiting = iter(rows)
    while batch := list(islice(waiting, _AT_ONCE)):
        connection.execute(insert(table), batch)
