"""Fields that the interface does not show: kept on request, as JSON, in one column."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xlbridge.api.record_shape import Record
from xlbridge.export.columns import key_column
from xlbridge.export.sheet import Sheet
from xlbridge.export.values import as_json

UNKNOWN_FIELDS = "outrosCampos"
"""The column of the fields that the interface does not show, as JSON."""


def with_unknown_fields(sheets: tuple[Sheet, ...]) -> tuple[Sheet, ...]:
    """Return the sheets with a last column for the fields that the interface does not show."""
    return tuple(
        replace(sheet, columns=(*sheet.columns, key_column(UNKNOWN_FIELDS, text=True)))
        for sheet in sheets
    )


@dataclass(frozen=True, slots=True)
class GatherUnknown:
    """Moves the fields of a record that are not ``known`` into one, as JSON.

    The same in the objects within it, which ``children`` names.
    """

    known: frozenset[str]
    children: Mapping[str, "GatherUnknown"]

    def __call__(self, record: Record) -> Record:
        """Return the record so arranged."""
        kept = {name: record[name] for name in self.known if name in record}
        for name, gather_inner in self.children.items():
            kept[name] = [gather_inner(inner) for inner in record.get(name) or ()]
        others = {
            name: value
            for name, value in record.items()
            if name not in self.known and name not in self.children
        }
        if others:
            kept[UNKNOWN_FIELDS] = as_json(others)
        return kept
