"""Snapshots of the remote records of a sheet's rows."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from xlbridge.i18n import Text
from xlbridge.upload.lookup.row_table import LazySequence

CODE_SEPARATOR = "/"
"""Separator of the parts of a record's code."""


ItemDifference = Sequence[Any]
"""List, item, column, the row's value and the record's; a sequence, since it is stored as JSON."""


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """Remote record: its code, its compared values, and how they differ from a row's.

    ``same``: all filled cells of the row equal the record; ``unchanged``: its empty cells, too.
    ``differing`` maps each other column to the row's and the record's value. ``listing`` is the
    operation that listed the record; ``final``: the interface no longer changes it. ``items`` are
    the differences of its lists, with the row's items counted from zero; if the numbers of items
    differ, the item and the column are None and the values are the two numbers. ``unlisted`` are
    the columns of the row's items that its lists do not show, as ``list.column``.
    """

    code: str
    values: Mapping[str, str | None]
    same: bool
    unchanged: bool = False
    differing: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    listing: str = ""
    final: bool = False
    items: Sequence[ItemDifference] = ()
    unlisted: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class RowSnapshot:
    """Records found by a row's ``key``, and the compared values of the row."""

    key: Mapping[str, str]
    sent: Mapping[str, str | None]
    found: tuple[FoundRecord, ...]

    @property
    def same(self) -> int:
        """Number of records that equal the row."""
        return sum(record.same for record in self.found)

    @property
    def contents(self) -> frozenset[tuple[str, tuple[tuple[str, str | None], ...]]]:
        """The records with their values, without the comparison."""
        return frozenset((one.code, tuple(sorted(one.values.items()))) for one in self.found)

    def new_since(self, earlier: "RowSnapshot", known: Collection[str] = ()) -> list[FoundRecord]:
        """Return the records that the row did not have earlier, except those with ``known`` codes.

        Records without a code are distinguished by their values.
        """
        old = Counter(map(_identity, earlier.found))
        new = []
        for record in self.found:
            identity = _identity(record)
            if old[identity]:
                old[identity] -= 1
            elif record.code not in known:
                new.append(record)
        return new


def _identity(record: FoundRecord) -> object:
    return record.code or tuple(sorted(record.values.items()))


Snapshot = Sequence[RowSnapshot | None]
"""Remote records of each row, in order; None for a row without a key."""


class SnapshotColumns(NamedTuple):
    """Snapshot as columns: comparable values of the rows, and the records of rows that have any.

    ``keys`` are the distinct keys by which rows were looked up; ``lookups`` has the index of each
    row's key, None for a row that was not looked up.
    """

    lookups: Sequence[int | None]
    keys: Sequence[Mapping[str, Sequence[str]]]
    sent: Mapping[str, Sequence[str | None]]
    found: Mapping[int, Sequence[FoundRecord]]


class ColumnarSnapshot(LazySequence[RowSnapshot | None]):
    """Snapshot that is stored as columns; its rows are created on access."""

    @abstractmethod
    def columns(self) -> SnapshotColumns:
        """Return the columns of the rows."""


@dataclass(frozen=True, slots=True)
class NearKey:
    """Record whose key is near a row's: the first column in which the keys differ, the record's
    code, and a text that names it with its key."""

    column: str
    code: str
    text: Text


@dataclass(frozen=True, slots=True)
class LookupResult:
    """Remote records of rows: ``snapshot`` has None for each row that was not looked up.

    ``reasons`` say why, by the positions of rows with a key; ``reason`` is the first of them, or
    that rows have no key. ``disputed`` names both records of each row whose number and key belong
    to different ones. The rows in ``near`` have no record of their own, and their ``snapshot`` is
    None, since the near one may be theirs.
    """

    snapshot: Snapshot
    reasons: Mapping[int, Text]
    reason: Text | None
    disputed: Mapping[int, Text] = field(default_factory=dict)
    near: Mapping[int, NearKey] = field(default_factory=dict)


def is_stable(snapshots: Sequence[Snapshot]) -> bool:
    """Return whether all snapshots are equal, so that nothing is still arriving."""
    first = list(snapshots[0])
    return all(list(snapshot) == first for snapshot in snapshots[1:])
