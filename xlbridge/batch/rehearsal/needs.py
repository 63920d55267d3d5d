"""The codes that a month's workbooks name, and stand-ins for those that nobody knows there."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from xlbridge.batch.codes import comparable
from xlbridge.resources.column import Column
from xlbridge.resources.resource import Resource
from xlbridge.sandbox.rehearsing.stand_ins import NEEDED, StandIns
from xlbridge.sandbox.storage import Storage
from xlbridge.validation.validate import ValidatedSheet


@dataclass(slots=True)
class Needs:
    """What the rows of sheets name, each once; records that a sheet brings itself are no need."""

    _rows: list[tuple[Resource, list[dict[str, Any]]]] = field(default_factory=list)
    _named: set[tuple[str, str, str, str]] = field(default_factory=set)
    _brought: set[tuple[str, str, str]] = field(default_factory=set)

    def add(self, sheet: ValidatedSheet) -> None:
        """Take note of a sheet."""
        if sheet.resource is None:
            return
        self._rows.append((sheet.resource, list(_rows(sheet, sheet.resource))))
        for column in sheet.resource.columns:
            if (link := column.link) is not None:
                for value in _values(sheet, column):
                    self._named.add((link.registry, link.column, link.field, value))
            elif column.name in sheet.resource.natural_keys:
                for value in _values(sheet, column):
                    self._brought.add((sheet.resource.name, column.name, value))

    def make(self, storage: Storage) -> Counter[str]:
        """Make what a database lacks of it; return how many records, by their tables."""
        with storage.transaction(writing=True) as connection:
            stand_ins = StandIns(connection, datetime.now().replace(microsecond=0))
            for resource, rows in self._rows:
                for row in rows:
                    stand_ins.for_row(resource, row)
            for registry, by, listed, value in sorted(self._named):
                if (registry, by, value) not in self._brought:
                    stand_ins.named(registry, listed, value)
            stand_ins.finish()
        return stand_ins.made


def _rows(sheet: ValidatedSheet, resource: Resource) -> Iterator[dict[str, Any]]:
    """Yield the different rows of the columns whose values must exist somewhere."""
    names = [
        column.name
        for column in resource.columns
        if column.references is not None or (column.name in NEEDED and column.link is None)
    ]
    for _, row in sheet.frame[names].drop_duplicates().iterrows():
        yield {str(name): _plain(value) for name, value in row.dropna().items()}


def _values(sheet: ValidatedSheet, column: Column) -> set[str]:
    return {comparable(column.kind, value) for value in sheet.frame[column.name].dropna()}


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
