"""What two readings prove: which rows a request whose answer was lost has applied.

Source: the upload protocol, Reconcile.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum

from xlbridge.resources.read_back import Existing
from xlbridge.upload.reading import Reading, RowReading


class Action(StrEnum):
    """What sending a row would do, by what is there already."""

    CREATE = "create"
    UPDATE = "update"
    UNCHANGED = "unchanged"
    UNREAD = "unread"


def actions(reading: Reading) -> Mapping[Action, int]:
    """Count what sending the rows would do."""
    counted = Counter(_action(row) for row in reading)
    return {action: counted[action] for action in Action}


def applied(before: Reading, after: Reading, existing: Existing) -> list[bool | None]:
    """Say of each row whether it is there now and was not before; None where that has no proof.

    Rows that say the same of the same key are told apart by their number only: of three such rows
    with two new records, the first two count as applied. That a row is not there has no proof
    either where its key has a new record that is what none of the rows says: it may be the row as
    the system shows it.
    """
    if existing is Existing.REPLACED:
        # A record that is replaced by the same values is as it was wanted, whatever happened.
        return [None if row is None else row.same > 0 for row in after]
    new = _new_records(before, after)
    strange = _strange_keys(before, after)
    proven: list[bool | None] = []
    for was, now in zip(before, after, strict=True):
        if was is None or now is None:
            proven.append(None)
        else:
            proven.append(_take(new, now) or (None if _key(now) in strange else False))
    return proven


def _action(row: RowReading | None) -> Action:
    if row is None:
        return Action.UNREAD
    if not row.found:
        return Action.CREATE
    return Action.UNCHANGED if any(r.unchanged for r in row.found) else Action.UPDATE


_Identity = tuple[tuple[str, str | None], ...]


def _new_records(before: Reading, after: Reading) -> Counter[_Identity]:
    """Return how many records came to be what each kind of row says."""
    new: Counter[_Identity] = Counter()
    for was, now in zip(before, after, strict=True):
        if was is not None and now is not None:
            new[_identity(now)] = now.same - was.same
    return new


def _strange_keys(before: Reading, after: Reading) -> set[_Identity]:
    """Return the keys with a record that came to be and is what none of their rows says."""
    known = {(_key(row), record.code) for row in filter(None, before) for record in row.found}
    known |= {
        (_key(row), record.code)
        for row in filter(None, after)
        for record in row.found
        if record.same
    }
    return {
        _key(row)
        for row in filter(None, after)
        for record in row.found
        if (_key(row), record.code) not in known
    }


def _key(row: RowReading) -> _Identity:
    return tuple(sorted(row.key.items()))


def _take(new: Counter[_Identity], row: RowReading) -> bool:
    identity = _identity(row)
    new[identity] -= 1
    return new[identity] >= 0


def _identity(row: RowReading) -> _Identity:
    """Return what is equal for rows of one key that say the same."""
    return (*_key(row), *sorted(row.sent.items()))


def stable(readings: Sequence[Reading]) -> bool:
    """Whether all readings say the same: nothing is on its way any more."""
    return all(reading == readings[0] for reading in readings)
