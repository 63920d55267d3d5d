"""Matching of rows and their records, one to one, for all who ask which record is a row's.

Rows and records with the same key are one group. Rows get equal records first; which record is the
next best, and which ones a row may not get, depends on the question that is asked.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from operator import itemgetter

from xlbridge.resources.remote import ExistingPolicy
from xlbridge.upload.lookup.snapshot import FoundRecord, Snapshot

RecordKey = str | int
"""Code of a record, or its index among those of its row if it has no code."""

Rank = Callable[[int, FoundRecord], int | None]
"""Rank of a record for the row at a position, lowest first; None if it cannot be the row's."""


class RecordMatching:
    """Matching of rows with the records that were found for them, by the rows' positions.

    ``matched`` are the keys of the records that rows have got, ``free`` those of the others in
    order; codes in ``taken`` belong to no row.
    """

    def __init__(
        self, found: Mapping[int, Sequence[FoundRecord]], taken: Container[str] = ()
    ) -> None:
        self._found = {
            at: {record.code or index: record for index, record in enumerate(records)}
            for at, records in found.items()
        }
        known = dict.fromkeys(key for records in self._found.values() for key in records)
        self.free = dict.fromkeys(key for key in known if key not in taken)
        self.has_taken = len(self.free) < len(known)
        self.matched: dict[int, RecordKey] = {}

    def match(self, rank: Rank, order: Iterable[int] | None = None) -> None:
        """Give each row without a record the free one of the lowest rank, by default in order."""
        for at in self._found if order is None else order:
            if at in self.matched:
                continue
            ranked = [
                (value, key)
                for key, record in self._found[at].items()
                if key in self.free and (value := rank(at, record)) is not None
            ]
            if ranked:
                _, best = min(ranked, key=itemgetter(0))
                self.matched[at] = best
                del self.free[best]

    def match_last(self) -> None:
        """Match the only row with the only record left over, unless other records are taken."""
        if len(self.left) == len(self.free) == 1 and not self.has_taken:
            self.match(lambda _at, _record: 0)

    @property
    def left(self) -> list[int]:
        """Positions of the rows without a record."""
        return [at for at in self._found if at not in self.matched]

    def record(self, at: int) -> FoundRecord | None:
        """Return the record of a row, None if it has none."""
        return self._found[at][self.matched[at]] if at in self.matched else None

    def found(self, at: int, key: RecordKey) -> FoundRecord | None:
        """Return a record that was found for a row by its key, None if it was not."""
        return self._found[at].get(key)


def applied_rows(before: Snapshot, after: Snapshot, existing: ExistingPolicy) -> list[bool | None]:
    """Return for each row whether its record is new, None if nothing proves it either way.

    Of three identical rows with two new records, the first two count as applied. A row's absence is
    unproven if its key has a new record that equals no row, which may be the row as the system
    presents it. See the upload protocol, Reconcile.
    """
    if existing is ExistingPolicy.REPLACED:
        # A record replaced by equal values is as wanted, whether or not the request arrived.
        return [None if row is None else row.same > 0 for row in after]
    proven: list[bool | None] = [None] * len(after)
    groups: defaultdict[frozenset[tuple[str, str]], dict[int, Sequence[FoundRecord]]]
    groups = defaultdict(dict)
    for at, (was, now) in enumerate(zip(before, after, strict=True)):
        if was is not None and now is not None:
            groups[frozenset(now.key.items())][at] = now.new_since(was)
    for new in groups.values():
        matching = RecordMatching(new)
        matching.match(lambda _at, record: 0 if record.same else None)
        like_a_row = {
            key
            for key in matching.free
            for at in new
            if (one := matching.found(at, key)) and one.same
        }
        absent = None if matching.free.keys() - like_a_row else False
        for at in new:
            proven[at] = at in matching.matched or absent
    return proven
