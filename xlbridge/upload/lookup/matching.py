"""Matching of rows and their records, one to one, for plans, undos, status copies and proofs.

Rows and records with the same key are one group. Rows get equal records first; which record is the
next best, and which ones a row may not get, depends on the question that is asked.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from operator import itemgetter

from xlbridge.upload.lookup.snapshot import FoundRecord

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
