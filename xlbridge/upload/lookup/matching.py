"""Matching of rows and their records, one to one, for all who ask which record is a row's.

Rows and records with the same key are one group. Rows get equal records first; which record is the
next best, and which ones a row may not get, depends on the question that is asked.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Presence:
    """Presence of the record of a row among the new ones of its key, None if nothing proves it
    either way.

    ``code`` is its code, if that is certain; ``has_new`` is whether the key has new records that
    others may have written, None if that is unknown.
    """

    present: bool | None = None
    code: str = ""
    has_new: bool | None = None


def find_new(
    new: Mapping[int, Sequence[FoundRecord]],
    written: Collection[int] = (),
    taken: Container[str] = (),
    *,
    counted: bool = False,
) -> dict[int, Presence]:
    """Return the presence of the records of rows that have one key, by the rows' positions.

    ``new`` are the records that the key has since the rows were sent. The records of the rows in
    ``written`` are certainly among them, their codes unknown; those with a code in ``taken`` are
    no row's. Of three identical rows with two new records, the first two are present; but if
    records can only be ``counted``, one more than there are rows leaves all unproven. A row's
    absence is unproven if a new record equals no row, which may be the row as the system presents
    it.
    """
    matching = RecordMatching(new, taken)
    others = [at for at in new if at not in written]
    wanted = {record.code for at in others for record in new[at] if record.same}
    matching.match(_rank_equal, written)
    matching.match(lambda _at, record: int(record.code in wanted), written)
    has_new = bool(matching.free)
    matching.match(_rank_equal)
    left_equal = {
        key for key in matching.free for at in new if (one := matching.found(at, key)) and one.same
    }
    is_certain = not (counted and left_equal)
    absent = None if matching.free.keys() - left_equal or not is_certain else False
    found = {}
    for at in others:
        record = matching.record(at)
        if record is None or not is_certain:
            found[at] = Presence(absent, has_new=has_new)
        else:
            found[at] = Presence(True, "" if written else record.code, has_new)
    return found


def _rank_equal(_at: int, record: FoundRecord) -> int | None:
    return 0 if record.same else None


def applied_rows(before: Snapshot, after: Snapshot, existing: ExistingPolicy) -> list[bool | None]:
    """Return for each row whether its record is new, None if nothing proves it either way.

    See ``find_new``, and the upload protocol, Reconcile.
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
        for at, presence in find_new(new).items():
            proven[at] = presence.present
    return proven
