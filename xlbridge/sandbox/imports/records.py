"""Lines of an uploaded workbook, and records of resources without a wire model."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import JSON, Column, Connection, Integer, Table, Text, insert

from xlbridge.sandbox.columns import metadata
from xlbridge.sandbox.problems import Problem

own_records = Table(
    "own_records",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("resource", Text, nullable=False),
    Column("record", JSON, nullable=False),
)


@dataclass(slots=True)
class UploadedLine:
    """One line: its row as Excel counts it, its filled cells by column, what is wrong with it."""

    row: int
    record: dict[str, Any]
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class UploadedSheet:
    """All lines of a sheet; ``layout`` are the problems that concern no single line."""

    lines: list[UploadedLine]
    layout: list[Problem]

    @property
    def failed(self) -> list[UploadedLine]:
        """The lines with problems."""
        return [line for line in self.lines if line.problems]


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
