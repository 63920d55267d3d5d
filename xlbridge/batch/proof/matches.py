"""Matching of rows and records of one key: which record of the system belongs to which row."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from xlbridge.batch.proof.model import ReadBackStatus
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload.lookup import FoundRecord, RowSnapshot

_RecordKey = str | int


@dataclass(frozen=True, slots=True)
class RecordMatch:
    """The record of a row, None where it has none, and ``extra_records`` beside it.

    ``same_key`` are other records of the row's key, whoever brought them: more than there may be.
    ``replaced`` says that a later row of the same key was written over the row's record.
    """

    record: FoundRecord | None = None
    extra_records: tuple[FoundRecord, ...] = ()
    same_key: tuple[FoundRecord, ...] = ()
    replaced: bool = False

    @property
    def own_records(self) -> tuple[FoundRecord, ...]:
        """The records that no other row has."""
        return (*(() if self.record is None else (self.record,)), *self.extra_records)

    @property
    def all_records(self) -> tuple[FoundRecord, ...]:
        """The records of the row's key."""
        return (*self.own_records, *self.same_key)

    @property
    def status(self) -> ReadBackStatus:
        """The read-back status of the row."""
        if self.replaced:
            return ReadBackStatus.UNREAD
        if self.record is None:
            return ReadBackStatus.MISSING
        if self.extra_records or self.same_key:
            return ReadBackStatus.DOUBLED
        is_same = self.record.same and not self.record.items
        return ReadBackStatus.SAME if is_same else ReadBackStatus.DIFFERS


@dataclass(slots=True)
class _Group:
    """The rows of one key, by their positions, and the records that are theirs to take."""

    positions: list[int]
    free: list[_RecordKey] = field(default_factory=list)
    taken: dict[int, _RecordKey] = field(default_factory=dict)


def match_rows(
    rows: Sequence[RowSnapshot],
    before: Mapping[str, Collection[str]],
    existing: ExistingPolicy,
    ranks: Mapping[int, int] = MappingProxyType({}),
) -> list[RecordMatch]:
    """Give each row the record that is its own; ``rows`` are in the order of their writing.

    No record is given to two rows: first each row takes one that says the same, then the one that
    differs least. Rows that may not have been written come last, by their ``ranks``, and take only
    what says the same. ``before`` are the codes of the records that each key (as ``key_text``
    writes it) had before anything was sent; where rows are added, those are nobody's. What is left
    over doubles a row: where rows are added only if it says the same, else whatever it says.
    """
    groups: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        groups.setdefault(key_text(row.key), []).append(position)
    if existing is ExistingPolicy.REPLACED:
        return _match_replaced(rows, groups, ranks)
    matched: dict[int, RecordMatch] = {}
    taken: set[_RecordKey] = set()
    assigned = []
    for key, positions in groups.items():
        old = before.get(key, ()) if existing is ExistingPolicy.ADDED else ()
        group = _match_group(rows, _Group(positions), old, ranks)
        taken |= {code for code in group.taken.values() if isinstance(code, str)}
        assigned.append(group)
    for group in assigned:
        matched |= _with_leftovers(rows, group, taken, existing)
    return [matched[position] for position in range(len(rows))]


def key_text(key: Mapping[str, str]) -> str:
    """Return a row's key as one text."""
    return "\n".join(f"{name}={value}" for name, value in sorted(key.items()))


def different_cells(row: RowSnapshot, record: FoundRecord) -> Iterator[str]:
    """Yield the compared columns in which a record differs; an empty cell says nothing."""
    for name, value in row.sent.items():
        if value is not None and record.values.get(name) != value:
            yield name


def _records(row: RowSnapshot) -> dict[_RecordKey, FoundRecord]:
    """Return a row's records by their codes, or by their places where they have none."""
    return {record.code or index: record for index, record in enumerate(row.found)}


def _match_group(
    rows: Sequence[RowSnapshot], group: _Group, old: Collection[str], ranks: Mapping[int, int]
) -> _Group:
    found = {at: _records(rows[at]) for at in group.positions}
    known = dict.fromkeys(code for records in found.values() for code in records)
    free = dict.fromkeys(code for code in known if code not in old)
    for at in sorted(group.positions, key=lambda at: (ranks.get(at, 0), -_filled_cells(rows[at]))):
        same = [code for code in free if code in found[at] and found[at][code].same]
        if same:
            own = min(same, key=lambda code: _extra_values(rows[at], found[at][code]))
            group.taken[at] = own
            del free[own]
    for at in group.positions:
        bare = at not in group.taken and at not in ranks
        if rest := [code for code in free if bare and code in found[at]]:
            row, records = rows[at], found[at]
            nearest = min(rest, key=lambda code: len([*different_cells(row, records[code])]))
            group.taken[at] = nearest
            del free[nearest]
    group.free = list(free)
    return group


def _filled_cells(row: RowSnapshot) -> int:
    return sum(value is not None for value in row.sent.values())


def _extra_values(row: RowSnapshot, record: FoundRecord) -> int:
    """Return in how many columns a record says something where the row is empty, or has another
    item in a list."""
    more = sum(row.sent[n] is None and value is not None for n, value in record.values.items())
    return more + len(record.items)


def _with_leftovers(
    rows: Sequence[RowSnapshot], group: _Group, taken: set[_RecordKey], existing: ExistingPolicy
) -> dict[int, RecordMatch]:
    extra_records: dict[int, list[FoundRecord]] = {at: [] for at in group.positions}
    for code in group.free:
        if code in taken:
            continue
        for at in group.positions:
            record = _records(rows[at]).get(code)
            if record and at in group.taken and (record.same or existing is ExistingPolicy.REFUSED):
                extra_records[at].append(record)
                break
    return {
        at: RecordMatch(
            _records(rows[at])[group.taken[at]] if at in group.taken else None,
            tuple(extra_records[at]),
        )
        for at in group.positions
    }


def _match_replaced(
    rows: Sequence[RowSnapshot], groups: Mapping[str, Sequence[int]], ranks: Mapping[int, int]
) -> list[RecordMatch]:
    """Match rows that replace each other: only the last one of a key has a record."""
    matches = [RecordMatch(replaced=True)] * len(rows)
    for positions in groups.values():
        left = list(positions)
        while left and left[-1] in ranks and not rows[left[-1]].same:
            matches[left.pop()] = RecordMatch()
        if left:
            found = rows[left[-1]].found
            record = next((r for r in found if r.same), found[0] if found else None)
            others = tuple(other for other in found if other is not record)
            matches[left[-1]] = RecordMatch(record, others)
    return matches
