"""Actions of rows: decided by what the system has, and by what the journal's jobs claim.

Rows and records of one key are grouped. Pairs with equal values match first; one row and one
record left over are a change; rows left over alone are new; anything else is held.
Source: the product brief, Row actions.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from xlbridge.client import Client
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Resource
from xlbridge.upload.claims import ClaimedRows
from xlbridge.upload.lookup.bulk_lookup import Reading, read_records
from xlbridge.upload.lookup.row_lookup import RowMatcher, lookups_of_rows
from xlbridge.upload.lookup.row_table import TypedRows
from xlbridge.upload.lookup.snapshot import FoundRecord, RowSnapshot, Snapshot
from xlbridge.upload.row_plan import (
    Difference,
    PlannedRow,
    PlanOptions,
    RowAction,
    RowPlan,
    RowReason,
    SetAside,
)

_LOOKUP_REJECTED = Text(
    pt="o sistema não permitiu a leitura: {reason}",
    en="the system did not let them be read: {reason}",
)
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NOT_ASKED = Text(pt="não foi pedido", en="it was not asked for")


@dataclass(frozen=True, slots=True)
class SheetRows:
    """Rows of a sheet to plan: Excel's numbers, values of the columns that are there, claims.

    ``values`` have the system's own number too, where a row carries it. ``set_aside`` are the
    positions of rows that are not sent in any case, and why. ``matcher`` compares the rows, and
    knows their values already.
    """

    numbers: Sequence[int]
    values: TypedRows
    digests: Sequence[str]
    keys: Sequence[tuple[str, ...]]
    set_aside: Mapping[int, SetAside]
    matcher: RowMatcher | None = None


def read_rows(client: Client, resource: Resource, rows: SheetRows, options: PlanOptions) -> Reading:
    """Return the remote records of the rows; those of rows that are set aside are not asked for.

    Raises ``TransportError`` or ``AuthenticationFailed`` when the system cannot be asked.
    """
    count = len(rows.values)
    if not options.look_up:
        return Reading((None,) * count, {}, _NOT_ASKED)
    asked = [at for at in range(count) if at not in rows.set_aside]
    values = [rows.values[at] for at in asked] if rows.set_aside else rows.values
    try:
        reading = read_records(client, resource, values, matcher=rows.matcher)
    except RemoteRejected as error:
        why = _LOOKUP_REJECTED.format(reason=error.message)
        lookups = lookups_of_rows(resource, rows.values)
        keyed = (at for at in asked if lookups[at])
        return Reading((None,) * count, dict.fromkeys(keyed, why), why)
    snapshot: list[RowSnapshot | None] = [None] * count
    for at, one in zip(asked, reading.snapshot, strict=True):
        snapshot[at] = one
    reasons = {asked[place]: why for place, why in reading.reasons.items()}
    return Reading(tuple(snapshot), reasons, reading.reason)


def plan_rows(
    resource: Resource,
    rows: SheetRows,
    reading: Reading,
    claimed: ClaimedRows,
    options: PlanOptions,
) -> RowPlan:
    """Decide the action of each row."""
    planner = _Planner(resource, rows, reading, claimed, options)
    return RowPlan(tuple(planner.planned()), tuple(rows.digests), reading.reason)


class _Planner:
    def __init__(
        self,
        resource: Resource,
        rows: SheetRows,
        reading: Reading,
        claimed: ClaimedRows,
        options: PlanOptions,
    ) -> None:
        self._resource = resource
        self._rows = rows
        self._reading = reading
        self._claimed = claimed
        self._options = options
        self._numbers = () if resource.read_back is None else resource.read_back.number_columns
        self._set_later = resource.set_by_change
        self._keys = rows.keys
        self._matched = _match(reading.snapshot, self._numbers)
        self._used: Counter[str] = Counter()

    def planned(self) -> Iterator[PlannedRow]:
        """Yield the action of each row, in order."""
        for at, (number, keys) in enumerate(zip(self._rows.numbers, self._keys, strict=True)):
            values = self._rows.values[at]
            carried = {name: values[name] for name in self._numbers if values.get(name) is not None}
            row = PlannedRow(number, RowAction.CREATE, number=carried or _NOTHING, keys=keys)
            yield self._with_all_values(at, self._decided(at, row))

    def _with_all_values(self, at: int, row: PlannedRow) -> PlannedRow:
        """Hold a new row that has values which the import does not take."""
        if not self._set_later or not row.is_created:
            return row
        values = self._rows.values[at]
        later = [name for name in self._set_later if values.get(name) is not None]
        if not later:
            return row
        return _held(row, RowReason.SET_LATER, why=untranslated(", ".join(later)))

    def _decided(self, at: int, row: PlannedRow) -> PlannedRow:
        if at in self._rows.set_aside:
            aside = self._rows.set_aside[at]
            return replace(_held(row, aside.reason, why=aside.why), own=aside.own)
        if self._options.again is not None:
            unread = self._reading.snapshot[at] is None
            return replace(row, action=RowAction.UNREAD if unread else RowAction.CREATE)
        busy = self._claimed.unfinished_job(self._rows.digests[at], self._keys[at])
        if busy is not None:
            return _held(row, RowReason.CLAIMED, job=busy)
        if self._reading.snapshot[at] is None:
            return self._not_read(at, row)
        matched = self._matched[at]
        if matched.several:
            return _held(row, RowReason.SEVERAL)
        if matched.record is not None:
            return self._existing(row, matched.record)
        return self._new(at, row)

    def _not_read(self, at: int, row: PlannedRow) -> PlannedRow:
        """Decide on a row that was not looked up, by the journal alone."""
        accepted = self._next_accepted(at)
        if accepted is not None:
            return replace(
                row, action=RowAction.UNCHANGED, reason=RowReason.SENT_BEFORE, job=accepted
            )
        why = self._reading.reasons.get(at)
        if why is not None and not self._options.create_unread:
            return _held(row, RowReason.NOT_LOOKED_UP, why=why)
        of_key = self._claimed.accepted_keys(self._keys[at])
        if of_key:
            return _held(row, RowReason.DIFFERS, job=of_key[0])
        if self._options.update:
            return _held(row, RowReason.NO_KEY)
        return replace(row, action=RowAction.UNREAD)

    def _next_accepted(self, at: int) -> str | None:
        """Return the job of an accepted row with the same values, each for one row only."""
        digest = self._rows.digests[at]
        claims = self._claimed.accepted(digest)
        taken = self._used[digest]
        self._used[digest] += 1
        return claims[taken] if taken < len(claims) else None

    def _existing(self, row: PlannedRow, record: FoundRecord) -> PlannedRow:
        """Decide on a row whose record is there."""
        if record.unchanged:
            return PlannedRow(
                row.row,
                RowAction.UNCHANGED,
                RowReason.SAME,
                record.code,
                number=row.number,
                keys=row.keys,
            )
        differences = {name: Difference(*pair) for name, pair in record.differing.items()}
        row = replace(row, record=record.code, differences=differences)
        change = self._resource.change
        if change is None or record.final:
            return _held(row, RowReason.CANNOT_CHANGE)
        if not change.covers(record.listing, record.differing):
            return _held(row, RowReason.CANNOT_CHANGE)
        if any(child.sheet in record.differing for child in self._resource.children):
            return _held(row, RowReason.CANNOT_CHANGE)
        if not self._options.update:
            return _held(row, RowReason.DIFFERS)
        emptied = [name for name, one in row.differences.items() if one.yours is None]
        if not all(map(change.can_empty, emptied)):
            return _held(row, RowReason.CANNOT_CHANGE)
        if emptied and not self._options.clear:
            return _held(row, RowReason.EMPTY_CELL)
        return replace(row, action=RowAction.UPDATE)

    def _new(self, at: int, row: PlannedRow) -> PlannedRow:
        """Decide on a row that is not in the system: one that was there is not created in silence.

        The records of its key may be other rows' that were accepted.
        """
        snapshot = self._reading.snapshot[at]
        there = 0 if snapshot is None else len(snapshot.found)
        digest = self._rows.digests[at]
        accepted = self._claimed.accepted(digest) or self._claimed.accepted_keys(self._keys[at])
        used, self._used[digest] = self._used[digest], self._used[digest] + 1
        if len(accepted) > there + used:
            return _held(row, RowReason.GONE, job=accepted[0])
        if row.number:
            return _held(row, RowReason.GONE)
        return row


@dataclass(frozen=True, slots=True)
class _Match:
    """Record of a row, None for a new one; ``several`` says that it cannot be told."""

    record: FoundRecord | None = None
    several: bool = False


def _match(snapshot: Snapshot, numbers: Sequence[str]) -> list[_Match]:
    """Match rows and records: those of the system's own numbers first, then key by key."""
    groups: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for at, row in enumerate(snapshot):
        if row is not None and row.found:
            groups[tuple(row.key.items())].append(at)
    matched = [_Match()] * len(snapshot)
    taken: set[str] = set()
    of_numbers = set(numbers)
    is_by_number = {
        key: bool(of_numbers) and of_numbers <= {name for name, _ in key} for key in groups
    }
    for key in sorted(groups, key=lambda key: not is_by_number[key]):
        _match_group(snapshot, groups[key], taken, matched)
    return matched


def _match_group(
    snapshot: Snapshot, positions: Sequence[int], taken: set[str], matched: list[_Match]
) -> None:
    """Match the rows of one key with its records; ``taken`` are codes that others have matched."""
    found = {one.code: one for at in positions for one in _found(snapshot[at])}
    elsewhere = {code for code in found if code in taken}
    left = []
    for at in positions:
        equal = next(
            (one for one in _found(snapshot[at]) if one.unchanged and one.code not in taken), None
        )
        if equal is None:
            left.append(at)
        else:
            taken.add(equal.code)
            matched[at] = _Match(equal)
    open_codes = [code for code in found if code not in taken]
    if len(left) == 1 and len(open_codes) == 1 and not elsewhere:
        (code,) = open_codes
        record = next(one for one in _found(snapshot[left[0]]) if one.code == code)
        taken.add(code)
        matched[left[0]] = _Match(record)
    elif open_codes or elsewhere:
        for at in left:
            matched[at] = _Match(several=True)


def _found(row: RowSnapshot | None) -> Sequence[FoundRecord]:
    return () if row is None else row.found


def _held(
    row: PlannedRow, reason: RowReason, *, job: str | None = None, why: Text | None = None
) -> PlannedRow:
    return replace(row, action=RowAction.HELD, reason=reason, job=job, why=why)
