"""Plan of an upload: the action of each row, by what the system has and what other jobs claim.

Rows and records of one key are grouped. Pairs with equal values match first; one row and one
record left over are a change; rows left over alone are new; anything else is held.
Source: the product brief, Row actions.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import repeat
from types import MappingProxyType
from typing import Any

from xlbridge.client import Client
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text, untranslated
from xlbridge.resources import Resource
from xlbridge.upload.claims import ClaimedRows
from xlbridge.upload.lookup.bulk_lookup import read_records
from xlbridge.upload.lookup.comparison import equal_records, rows_by_key, unread_rows
from xlbridge.upload.lookup.row_lookup import RowMatcher, lookups_of_rows
from xlbridge.upload.lookup.row_table import TypedRows, values_of
from xlbridge.upload.lookup.snapshot import FoundRecord, LookupResult, RowSnapshot, Snapshot
from xlbridge.upload.options import PlanOptions
from xlbridge.upload.planning.planned_row import (
    Difference,
    PlannedRow,
    PlannedRows,
    RowAction,
    RowReason,
    SetAside,
    StoredAction,
    plan_token,
)

_LOOKUP_REJECTED = Text(
    pt="o sistema não permitiu a leitura: {reason}",
    en="the system did not let them be read: {reason}",
)
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NOT_ASKED = Text(pt="não foi pedido", en="it was not asked for")


@dataclass(frozen=True)
class RowPlan:
    """Actions of the rows of a sheet, in order; ``digests`` are those of the rows' values.

    ``keys`` are the digests of each row's business keys. ``unread_reason`` says why some rows could
    not be looked up.
    """

    rows: PlannedRows
    digests: Sequence[str]
    unread_reason: Text | None = None
    keys: Sequence[Sequence[str]] = ()

    def to_journal(self) -> Iterator[StoredAction]:
        """Yield the rows as the journal keeps them."""
        keys = self.keys or repeat(())
        for row, of_row in zip(self.rows, keys, strict=bool(self.keys)):
            yield row.to_journal(of_row)

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows by action."""
        counted = self.rows.count_actions()
        return {action.value: counted[action] for action in RowAction}

    @property
    def note(self) -> dict[str, Any]:
        """Record of the plan in an event."""
        note = {
            "plan": self.counts,
            "plan_digest": self.digest,
            "writes": len(self.positions),
            "not_records": self.not_records,
        }
        why = self.unread_reason
        return note if why is None else {**note, "unread": asdict(why)}

    @property
    def positions(self) -> list[int]:
        """Positions of the rows that are sent."""
        return self.rows.chosen(lambda action, _: action.writes)

    @property
    def not_records(self) -> int:
        """Number of rows that are no records."""
        return len(self.rows.chosen(lambda _, reason: reason is RowReason.NO_RECORD))

    @cached_property
    def digest(self) -> str:
        """Digest of the actions and of the values that records have before."""
        lines = sorted(self.rows.decided_lines(self.digests))
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    @property
    def token(self) -> str:
        """Confirmation of just these actions: ``ROWS:DIGEST8``."""
        return plan_token(len(self.positions), self.digest)


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


def read_rows(
    client: Client, resource: Resource, rows: SheetRows, options: PlanOptions
) -> LookupResult:
    """Return the remote records of the rows; those of rows that are set aside are not asked for.

    Raises ``TransportError`` or ``AuthenticationFailed`` when the system cannot be asked.
    """
    count = len(rows.values)
    if not options.look_up:
        return LookupResult((None,) * count, {}, _NOT_ASKED)
    asked = [at for at in range(count) if at not in rows.set_aside]
    values = [rows.values[at] for at in asked] if rows.set_aside else rows.values
    try:
        reading = read_records(client, resource, values, matcher=rows.matcher)
    except RemoteRejected as error:
        why = _LOOKUP_REJECTED.format(reason=error.message)
        lookups = lookups_of_rows(resource, rows.values)
        keyed = (at for at in asked if lookups[at])
        return LookupResult((None,) * count, dict.fromkeys(keyed, why), why)
    if not rows.set_aside:
        return reading
    snapshot: list[RowSnapshot | None] = [None] * count
    for at, one in zip(asked, reading.snapshot, strict=True):
        snapshot[at] = one
    reasons = {asked[place]: why for place, why in reading.reasons.items()}
    return LookupResult(tuple(snapshot), reasons, reading.reason)


def plan_rows(
    resource: Resource,
    rows: SheetRows,
    reading: LookupResult,
    claimed: ClaimedRows,
    options: PlanOptions,
) -> RowPlan:
    """Decide the action of each row."""
    planner = _Planner(resource, rows, reading, claimed, options)
    planned = PlannedRows(planner.planned(), planner.numbers)
    return RowPlan(planned, rows.digests, reading.reason, rows.keys)


class _Planner:
    def __init__(
        self,
        resource: Resource,
        rows: SheetRows,
        reading: LookupResult,
        claimed: ClaimedRows,
        options: PlanOptions,
    ) -> None:
        self._resource = resource
        self._rows = rows
        self._reading = reading
        self._claimed = claimed
        self._options = options
        numbers = () if resource.read_back is None else resource.read_back.number_columns
        self.numbers = self._filled(numbers)
        self._set_later = resource.set_by_change
        self._keys = rows.keys
        self._unread = unread_rows(reading.snapshot)
        self._matched = _match(reading.snapshot, numbers)
        self._used: Counter[str] = Counter()
        self._claimed_rows = self._rows_claimed()

    def _rows_claimed(self) -> Collection[int]:
        """Return the positions of rows that jobs claim: those of most sheets are none's."""
        digests, keys = self._claimed.digests, self._claimed.keys
        if not digests and not keys:
            return ()
        rows = zip(self._rows.digests, self._keys, strict=True)
        return {
            at
            for at, (digest, own) in enumerate(rows)
            if digest in digests or not keys.keys().isdisjoint(own)
        }

    def planned(self) -> Iterator[PlannedRow]:
        """Yield the action of each row, in order."""
        carried = list(self.numbers.items())
        later = list(self._filled(self._set_later).items())
        for at, number in enumerate(self._rows.numbers):
            own = {name: column[at] for name, column in carried if column[at] is not None}
            row = PlannedRow(number, RowAction.CREATE, number=own or _NOTHING)
            row = self._decided(at, row)
            # The import does not take them.
            unset = [name for name, column in later if column[at] is not None]
            if unset and row.is_created:
                row = _held(row, RowReason.SET_LATER, why=untranslated(", ".join(unset)))
            yield row

    def _filled(self, names: Iterable[str]) -> Mapping[str, Sequence[Any]]:
        """Return the columns that any row has a value of."""
        columns = {name: values_of(self._rows.values, name) for name in names}
        return {
            name: values
            for name, values in columns.items()
            if any(value is not None for value in values)
        }

    def _decided(self, at: int, row: PlannedRow) -> PlannedRow:
        if at in self._rows.set_aside:
            aside = self._rows.set_aside[at]
            return _held(row, aside.reason, why=aside.why)._replace(own=aside.own)
        if self._options.again is not None:
            unread = at in self._unread
            return row._replace(action=RowAction.UNREAD if unread else RowAction.CREATE)
        if at in self._claimed_rows and self._claimed.unfinished:
            busy = self._claimed.unfinished_job(self._rows.digests[at], self._keys[at])
            if busy is not None:
                return _held(row, RowReason.CLAIMED, job=busy)
        if at in self._unread:
            return self._not_read(at, row)
        if at not in self._matched:
            return self._new(at, row)
        record = self._matched[at]
        if record is None:
            return _held(row, RowReason.SEVERAL)
        return self._existing(row, record)

    def _not_read(self, at: int, row: PlannedRow) -> PlannedRow:
        """Decide on a row that was not looked up, by the journal alone."""
        digest = self._rows.digests[at]
        claims = self._claimed.accepted(digest)
        taken = self._used[digest]
        self._used[digest] += 1
        accepted = claims[taken] if taken < len(claims) else None
        if accepted is not None:
            return row._replace(
                action=RowAction.UNCHANGED, reason=RowReason.SENT_BEFORE, job=accepted
            )
        why = self._reading.reasons.get(at)
        if why is not None and not self._options.create_unread:
            return _held(row, RowReason.NOT_LOOKED_UP, why=why)
        of_key = self._claimed.accepted_by_key(self._keys[at])
        if of_key:
            return _held(row, RowReason.DIFFERS, job=of_key[0])
        if self._options.update:
            return _held(row, RowReason.NO_KEY)
        return row._replace(action=RowAction.UNREAD)

    def _existing(self, row: PlannedRow, record: FoundRecord | str) -> PlannedRow:
        """Decide on a row whose record is there."""
        if isinstance(record, str):
            return PlannedRow(
                row.row, RowAction.UNCHANGED, RowReason.SAME, record, number=row.number
            )
        differences = {name: Difference(*pair) for name, pair in record.differing.items()}
        row = row._replace(record=record.code, differences=differences)
        change = self._resource.change
        children = {child.sheet for child in self._resource.children}
        if (
            change is None
            or record.final
            or not change.covers(record.listing, record.differing)
            or not children.isdisjoint(record.differing)
        ):
            return _held(row, RowReason.CANNOT_CHANGE)
        if not self._options.update:
            return _held(row, RowReason.DIFFERS)
        emptied = [name for name, one in row.differences.items() if one.yours is None]
        if not all(map(change.can_empty, emptied)):
            return _held(row, RowReason.CANNOT_CHANGE)
        if emptied and not self._options.clear:
            return _held(row, RowReason.EMPTY_CELL)
        return row._replace(action=RowAction.UPDATE)

    def _new(self, at: int, row: PlannedRow) -> PlannedRow:
        """Decide on a row that is not in the system: one that was there is not created in silence.

        The records of its key may be other rows' that were accepted.
        """
        if at in self._claimed_rows:
            digest = self._rows.digests[at]
            accepted = self._claimed.accepted(digest) or self._claimed.accepted_by_key(
                self._keys[at]
            )
            there = len(_found(self._reading.snapshot[at]))
            used, self._used[digest] = self._used[digest], self._used[digest] + 1
            if len(accepted) > there + used:
                return _held(row, RowReason.GONE, job=accepted[0])
        if row.number:
            return _held(row, RowReason.GONE)
        return row


_Matched = dict[int, FoundRecord | str | None]
"""Records of rows: the code of one that the row does not change, the one that it changes, None
where it cannot be told."""


def _match(snapshot: Snapshot, numbers: Sequence[str]) -> _Matched:
    """Match rows and records: those of the system's own numbers first, then key by key."""
    # Most rows that have a record leave it as it is, and it concerns no other row.
    equal = equal_records(snapshot)
    matched: _Matched = dict(equal)
    taken: set[str] = set()
    of_numbers = set(numbers)
    for by_number in (True, False) if of_numbers else (False,):
        for columns, positions in rows_by_key(snapshot, equal):
            if by_number == (bool(of_numbers) and of_numbers.issubset(columns)):
                _match_group({at: _found(snapshot[at]) for at in positions}, taken, matched)
    return matched


def _match_group(
    records: Mapping[int, Sequence[FoundRecord]], taken: set[str], matched: _Matched
) -> None:
    """Match the rows of one key with their records; ``taken`` are codes of other rows'."""
    found = {one.code: one for ones in records.values() for one in ones}
    elsewhere = taken.intersection(found)
    left = []
    for at, ones in records.items():
        equal = next((one for one in ones if one.unchanged and one.code not in taken), None)
        if equal is None:
            left.append(at)
        else:
            taken.add(equal.code)
            matched[at] = equal.code
    open_codes = [code for code in found if code not in taken]
    if len(left) == 1 and len(open_codes) == 1 and not elsewhere:
        (code,) = open_codes
        record = next(one for one in records[left[0]] if one.code == code)
        taken.add(code)
        matched[left[0]] = record.code if record.unchanged else record
    elif open_codes or elsewhere:
        for at in left:
            matched[at] = None


def _found(row: RowSnapshot | None) -> Sequence[FoundRecord]:
    return () if row is None else row.found


def _held(
    row: PlannedRow, reason: RowReason, *, job: str | None = None, why: Text | None = None
) -> PlannedRow:
    return row._replace(action=RowAction.HELD, reason=reason, job=job, why=why)
