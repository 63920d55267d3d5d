"""Records of the user's own resources, which the interface has no model for."""

from typing import Any

from sqlalchemy import Connection, insert

from xlbridge.sandbox.answers import Problem
from xlbridge.sandbox.tables.imports import own_records


class OwnRecordIntake:
    """Takes in records as they are; their resource's schema has judged them already."""

    def __init__(self, connection: Connection, resource: str) -> None:
        self._connection = connection
        self._resource = resource
        self._rows: list[dict[str, Any]] = []

    def problems(self, data: dict[str, Any]) -> list[Problem]:
        """Return nothing: there are no rules beyond the schema's."""
        return []

    def accept(self, data: dict[str, Any]) -> dict[str, Any]:
        """Take in a record."""
        self._rows.append({"resource": self._resource, "record": data})
        return data

    def write(self) -> None:
        """Write all accepted records."""
        if self._rows:
            self._connection.execute(insert(own_records), self._rows)
            self._rows.clear()
