"""Matching of sent rows with the records of the system."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from xlbridge.batch.proof.model import ReadBackStatus
from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload.lookup import FoundRecord, RecordMatching, RowSnapshot


@dataclass(frozen=True, slots=True)
class RecordMatch:
    """The record of a row, None if it has none, and its duplicates in ``extra_records``.

    ``same_key`` are surplus records of the row's key, from any source. ``replaced`` is true if a
    later row with the same key has overwritten the record.
    """

    record: FoundRecord | None = None
    extra_records: tuple[FoundRecord, ...] = ()
    same_key: tuple[FoundRecord, ...] = ()
    replaced: bool = False

    @property
    def own_records(self) -> tuple[FoundRecord, ...]:
        """The records that belong to this row only."""
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


def match_rows(
    rows: Sequence[RowSnapshot],
    before: Mapping[str, Collection[str]],
    existing: ExistingPolicy,
    ranks: Mapping[int, int] = MappingProxyType({}),
) -> list[RecordMatch]:
    """Assign each row its record; ``rows`` are in the order in which they were written.

    No record is assigned twice: each row first gets an equal record, then the one with the fewest
    differences. Rows that may not have been written come last, by their ``ranks``, and only get
    equal records. ``before`` are the codes of the records that each ``key_text`` had before
    anything was sent; under ``ExistingPolicy.ADDED`` these are not assigned. Remaining records
    duplicate a row: if they are equal, and under ``ExistingPolicy.REFUSED`` in any case.
    """
    groups: dict[str, list[int]] = {}
    for position, row in enumerate(rows):
        groups.setdefault(key_text(row.key), []).append(position)
    if existing is ExistingPolicy.REPLACED:
        return _match_replaced(rows, groups, ranks)
    matchings = []
    for key, positions in groups.items():
        old = before.get(key, ()) if existing is ExistingPolicy.ADDED else ()
        matchings.append(_match_group(rows, positions, old, ranks))
    assigned = {code for matching in matchings for code in matching.matched.values()}
    matches: dict[int, RecordMatch] = {}
    for matching, positions in zip(matchings, groups.values(), strict=True):
        matches |= _with_duplicates(matching, positions, assigned, existing)
    return [matches[position] for position in range(len(rows))]


def key_text(key: Mapping[str, str]) -> str:
    """Return a row's key as one text."""
    return "\n".join(f"{name}={value}" for name, value in sorted(key.items()))


def different_cells(row: RowSnapshot, record: FoundRecord) -> Iterator[str]:
    """Yield the compared columns in which a record differs; empty cells are not compared."""
    for name, value in row.sent.items():
        if value is not None and record.values.get(name) != value:
            yield name


def _match_group(
    rows: Sequence[RowSnapshot],
    positions: Sequence[int],
    old: Collection[str],
    ranks: Mapping[int, int],
) -> RecordMatching:
    """Match the rows of one key; ``old`` are the codes of records that are not assigned."""

    def fullest_first(position: int) -> tuple[int, int]:
        filled = sum(value is not None for value in rows[position].sent.values())
        return ranks.get(position, 0), -filled

    matching = RecordMatching({at: rows[at].found for at in positions}, old)
    matching.match(
        lambda at, record: _extra_values(rows[at], record) if record.same else None,
        sorted(positions, key=fullest_first),
    )
    matching.match(
        lambda at, record: len([*different_cells(rows[at], record)]),
        [at for at in positions if at not in ranks],
    )
    return matching


def _extra_values(row: RowSnapshot, record: FoundRecord) -> int:
    """Count the values of a record in columns that the row leaves empty, and different items."""
    extra = sum(row.sent[n] is None and value is not None for n, value in record.values.items())
    return extra + len(record.items)


def _with_duplicates(
    matching: RecordMatching,
    positions: Sequence[int],
    assigned: Collection[str | int],
    existing: ExistingPolicy,
) -> dict[int, RecordMatch]:
    duplicates: dict[int, list[FoundRecord]] = {position: [] for position in positions}
    with_record = [position for position in positions if position in matching.matched]
    for code in matching.free:
        if isinstance(code, str) and code in assigned:
            continue
        for position in with_record:
            record = matching.found(position, code)
            if record and (record.same or existing is ExistingPolicy.REFUSED):
                duplicates[position].append(record)
                break
    return {at: RecordMatch(matching.record(at), tuple(duplicates[at])) for at in positions}


def _match_replaced(
    rows: Sequence[RowSnapshot], groups: Mapping[str, Sequence[int]], ranks: Mapping[int, int]
) -> list[RecordMatch]:
    """Match rows that replace each other: only the last one of a key has a record."""
    matches = [RecordMatch(replaced=True)] * len(rows)
    for positions in groups.values():
        remaining = list(positions)
        while remaining and remaining[-1] in ranks and not rows[remaining[-1]].same:
            matches[remaining.pop()] = RecordMatch()
        if remaining:
            found = rows[remaining[-1]].found
            record = next((r for r in found if r.same), found[0] if found else None)
            others = tuple(other for other in found if other is not record)
            matches[remaining[-1]] = RecordMatch(record, others)
    return matches
