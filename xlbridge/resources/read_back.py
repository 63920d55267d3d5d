"""How records of a resource are read back from the remote system, declared in its schema file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from xlbridge.resources.interface import operation_named

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

    The first of ``lookups`` that serves a row is taken. ``compare`` are the columns whose values
    tell whether a record is what the row says, ``codes`` the record's fields that make up its
    code in the remote system.
    """

    lookups: tuple[Lookup, ...]
    compare: tuple[str, ...]
    codes: tuple[str, ...]
    existing: Existing
