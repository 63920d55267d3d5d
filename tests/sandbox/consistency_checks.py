"""Tables of a sandbox, and registration of consistency checks."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from databases import metadata
from sqlalchemy import Connection, select

Row = Mapping[str, Any]
Finding = str | None
"""Description of an inconsistency, None for a consistent record."""

CENT = Decimal("0.01")
ZERO = Decimal(0)


class Tables:
    """All tables of one database, each read once."""

    def __init__(self, connection: Connection) -> None:
        self._rows = {
            table.name: [
                dict(row)
                for row in connection.execute(select(table).order_by(*table.primary_key)).mappings()
            ]
            for table in metadata.sorted_tables
        }

    def __getitem__(self, name: str) -> list[dict[str, Any]]:
        return self._rows[name]

    def __iter__(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        return iter(self._rows.items())

    def by(self, name: str, *key: str) -> dict[Any, list[dict[str, Any]]]:
        """Group a table's rows by some of its columns."""
        grouped: defaultdict[Any, list[dict[str, Any]]] = defaultdict(list)
        for row in self[name]:
            values = tuple(row[column] for column in key)
            grouped[values if len(values) > 1 else values[0]].append(row)
        return grouped


@dataclass(slots=True)
class Report:
    """Number of records examined by each check, and inconsistencies found."""

    examined: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)


CHECKS: dict[str, Callable[[Tables], Iterator[Finding]]] = {}


def check(function: Callable[[Tables], Iterator[Finding]]) -> Callable[[Tables], Iterator[Finding]]:
    """Register a check, which yields a finding for each record."""
    CHECKS[function.__name__] = function
    return function


def verify(is_consistent: bool, location: object, *values: object) -> Finding:
    """Return the finding for one record."""
    return None if is_consistent else f"{location}: {', '.join(map(str, values))}"
