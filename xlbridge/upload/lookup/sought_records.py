"""Records that are sought by the keys of rows: keys by their hashes, then value by value."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from operator import eq
from typing import TYPE_CHECKING

import numpy as np

from xlbridge.resources import Lookup
from xlbridge.upload.lookup.row_lookup import Key
from xlbridge.upload.lookup.row_table import PackedRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Hashes = NDArray[np.int64]

_SAMPLE = 10_000
"""Rows by which the most telling column of a key is found."""


def _hashes(values: Iterable[object]) -> "_Hashes":
    return np.fromiter(map(hash, values), np.int64)


class HashSet:
    """Hashes of values, in a tenth of a set's memory. What is not in it is none of the values."""

    def __init__(self, hashes: "_Hashes") -> None:
        self._sorted = np.unique(hashes)
        self._found = array("q", self._sorted.tobytes())

    def __len__(self) -> int:
        return len(self._sorted)

    def __contains__(self, value: object) -> bool:
        sought = hash(value)
        at = bisect_left(self._found, sought)
        return at < len(self._found) and self._found[at] == sought

    def which(self, values: Sequence[object]) -> Sequence[bool]:
        """Tell of each value whether it may be one of them."""
        of_values = _hashes(values)
        places = np.searchsorted(self._sorted, of_values)
        there: list[bool] = (self._sorted.take(places, mode="clip") == of_values).tolist()
        return there


class SoughtRecords:
    """Records that one lookup finds for the rows that it serves.

    ``fields`` maps the columns that a record is matched by to its own names of them. ``columns``
    are the comparable values of those columns, ``served`` says of each row whether the lookup
    serves it. ``proven`` says that what was not found is not there. Keys are sought by their
    hashes, and compared value by value once all records were read.
    """

    def __init__(
        self,
        lookup: Lookup,
        fields: Mapping[str, str],
        columns: Sequence[Sequence[str | None]],
        served: Sequence[bool],
    ) -> None:
        self.lookup = lookup
        self.fields = fields
        self.proven = False
        self._columns = columns
        self._rows = _hashes(zip(*columns, strict=True))
        self._served = np.fromiter(served, bool)
        self._keys = HashSet(self._rows[self._served])
        # A part of the rows shows which it is.
        most = max(range(len(columns)), key=lambda at: len(set(columns[at][:_SAMPLE])))
        (column, name), values = list(fields.items())[most], columns[most]
        self.telling = column, name, HashSet(_hashes(values)[self._served])
        """The column that tells most keys apart, a record's name of it, and the sought values.

        A record with another value of it is of no key, whatever its other columns have.
        """
        self.forget()

    def forget(self) -> None:
        """Forget what was found."""
        self._found = array("q")
        self._records = array("L")
        self._found_keys = PackedRows(len(self.fields))

    def may_seek(self, key: Key) -> bool:
        """Tell whether a key may be one that is sought."""
        return key in self._keys

    def add(self, key: Key, record: int) -> None:
        """Note the position of a record of a key."""
        self._found.append(hash(key))
        self._records.append(record)
        self._found_keys.append(key)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the rows and the records of their keys, by their positions; a row's in order."""
        found = np.asarray(self._found, np.int64)
        order = np.argsort(found, kind="stable")
        begins = np.searchsorted(found, self._rows, "left", sorter=order)
        counts = np.searchsorted(found, self._rows, "right", sorter=order) - begins
        counts[~self._served] = 0
        rows = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(rows)) - np.repeat(counts.cumsum() - counts, counts)
        places = order[np.repeat(begins, counts) + within].tolist()
        alike = np.ones(len(rows), bool)
        for number, own in enumerate(self._columns):
            mine = map(list(own).__getitem__, rows.tolist())
            theirs = map(list(self._found_keys.column(number)).__getitem__, places)
            alike &= np.fromiter(map(eq, mine, theirs), bool, len(rows))
        return (
            (at, self._records[one])
            for at, one in zip(rows[alike].tolist(), compress(places, alike), strict=True)
        )

    def all_found(self) -> bool:
        """Tell whether there is a record of each row's key."""
        return len({at for at, _ in self.pairs()}) == np.count_nonzero(self._served)
