"""How records of a resource are read back from the remote system, declared in its schema file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from xlbridge.resources.interface import operation_named, record_fields

if TYPE_CHECKING:
    from xlbridge.wire.operation import Operation


class Existing(StrEnum):
    """What an import does with a row whose record is there already."""

    REFUSED = "refused"
    REPLACED = "replaced"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Lookup:
    """One way of finding the records of a row.

    ``key`` maps the sheet's columns that identify a record to the record's fields. It serves the
    rows in which all of them are filled and ``when`` holds (column to allowed values, None for an
    empty cell). ``listed_by`` names the operations that list the
    records; ``filters`` maps their query's fields to columns.
    """

    key: Mapping[str, str]
    listed_by: tuple[str, ...]
    filters: Mapping[str, str] = field(default_factory=dict)
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    @property
    def operations(self) -> "tuple[Operation, ...]":
        """The operations that list the records."""
        return tuple(map(operation_named, self.listed_by))


@dataclass(frozen=True, slots=True)
class ReadBack:
    """How the rows of a resource are found again in the remote system.

    The first of ``lookups`` that serves a row is taken. Of ``columns``, the resource's own,
    ``apart`` are those that the remote system shows otherwise than they were sent. ``codes`` are
    the record's fields that make up its code in the remote system. ``blank`` is what an empty cell
    stands for, ``blank_as`` the column whose value it stands for.
    """

    lookups: tuple[Lookup, ...]
    columns: tuple[str, ...]
    codes: tuple[str, ...]
    existing: Existing
    apart: tuple[str, ...] = ()
    blank: Mapping[str, Any] = field(default_factory=dict)
    blank_as: Mapping[str, str] = field(default_factory=dict)

    @property
    def compare(self) -> tuple[str, ...]:
        """The columns that a record has, too: they tell whether it is what a row says."""
        lists = [record_fields(name) for way in self.lookups for name in way.listed_by]
        return tuple(
            name
            for name in self.columns
            if name not in self.apart and all(name in fields for fields in lists)
        )

    @property
    def renamed(self) -> tuple[str, ...]:
        """The columns of keys that a record has under another name."""
        keys = (pair for lookup in self.lookups for pair in lookup.key.items())
        return tuple(dict.fromkeys(column for column, of_record in keys if column != of_record))

    @property
    def as_row(self) -> "AsRow":
        """What puts the fields of a record under the sheet's columns."""
        own = tuple(name for name in self.columns if name not in self.renamed)
        return AsRow(own, self.renamed, self.lookups)


@dataclass(frozen=True, slots=True)
class AsRow:
    """Puts a record under the sheet's columns: ``own`` are those that it has under their name."""

    own: tuple[str, ...]
    renamed: tuple[str, ...]
    lookups: tuple[Lookup, ...]

    def __call__(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a record; each key's column is filled where its ``when`` holds."""
        row = {name: record.get(name) for name in self.own} | dict.fromkeys(self.renamed)
        for lookup in self.lookups:
            if all(record.get(name) in allowed for name, allowed in lookup.when.items()):
                row |= {c: record.get(f) for c, f in lookup.key.items() if c in row and c != f}
        return row
