"""Codes and numbers that the system gives out."""

from sqlalchemy import Connection, insert, select, update

from xlbridge.sandbox.tables.access import counters


class Numbers:
    """Gives out numbers in sequence, one sequence for each scope, within one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._last: dict[str, int] = {}
        self._stored: set[str] = set()

    def next(self, scope: str) -> int:
        """Return the next number of a scope; a scope starts at 1 unless it was seeded."""
        if scope not in self._last:
            self._last[scope] = self._load(scope)
        self._last[scope] += 1
        return self._last[scope]

    def write(self) -> None:
        """Write down what was given out."""
        for scope, last in self._last.items():
            if scope in self._stored:
                statement = update(counters).where(counters.c.scope == scope).values(last=last)
                self._connection.execute(statement)
            else:
                self._connection.execute(insert(counters).values(scope=scope, last=last))
                self._stored.add(scope)

    def _load(self, scope: str) -> int:
        statement = select(counters.c.last).where(counters.c.scope == scope)
        last = self._connection.scalar(statement)
        if last is None:
            return 0
        self._stored.add(scope)
        return int(last)
