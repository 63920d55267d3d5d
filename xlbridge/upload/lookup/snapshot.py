"""Typed rows, the remote records found for them, and their matching.

Rows are mappings, or a table of columns whose rows are views; so are the records of listings. A
snapshot has the records of each row. ``Matching`` serves all who ask
what is a row's, one to one: another row, or by ``RecordMatching`` a record. Rows and records with
the same key are one group. Rows get equal records first; which record is the next best, and which
ones a row may not get, depends on the question that is asked.
"""

from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Container,
    Hashable,
    ItemsView,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from enum import StrEnum
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from xlbridge.i18n import Text
from xlbridge.resources.remote import ExistingPolicy

if TYPE_CHECKING:
    import pandas as pd

RowValues = Mapping[str, Any]
"""Row as it is sent: typed values by column, None for an empty cell."""

_NO_LISTS: Mapping[str, Sequence[Any]] = MappingProxyType({})


class ColumnsRow(Mapping[str, Any]):
    """View of the row ``at`` a position in columns; it takes a fifth of a dict's memory."""

    __slots__ = ("at", "columns")

    def __init__(self, columns: Mapping[str, Sequence[Any]], at: int) -> None:
        self.columns = columns
        self.at = at

    def __getitem__(self, name: str) -> Any:
        return self.columns[name][self.at]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a column, ``default`` if there is none."""
        column = self.columns.get(name)
        return default if column is None else column[self.at]

    def items(self) -> ItemsView[str, Any]:
        """Return the names of the columns with their values."""
        return {name: column[self.at] for name, column in self.columns.items()}.items()


@dataclass(frozen=True, slots=True, eq=False)
class RowTable(Sequence[RowValues]):
    """Typed rows, stored as columns; rows are views created on access.

    A dict for each row would take many times the memory, since most cells are empty.
    """

    columns: Mapping[str, Sequence[Any]]
    _count: int

    @classmethod
    def of(
        cls, *frames: "pd.DataFrame", lists: Mapping[str, Sequence[Any]] = _NO_LISTS
    ) -> "RowTable":
        """Return the rows of typed frames side by side, with the ``lists`` of their records."""
        series = {str(name): frame[name] for frame in frames for name in frame}
        columns = {name: column_values(values) for name, values in series.items()}
        return cls({**columns, **lists}, len(frames[0]))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> RowValues: ...
    @overload
    def __getitem__(self, at: slice) -> list[RowValues]: ...
    def __getitem__(self, at: int | slice) -> RowValues | list[RowValues]:
        positions = range(self._count)[at]
        if isinstance(positions, int):
            return ColumnsRow(self.columns, positions)
        return [ColumnsRow(self.columns, one) for one in positions]

    def dicts(self) -> list[dict[str, Any]]:
        """Return all rows as dicts, in a fraction of the time that single rows take."""
        rows = zip(*map(list, self.columns.values()), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in rows]


class RecordTable:
    """Records of listings, stored as ``columns`` of the fields that matter.

    ``lists`` are those of fields that hold lists, which may be read later; ``listings`` has the
    operation that listed each record.
    """

    def __init__(self, fields: Iterable[str], lists: Iterable[str] = ()) -> None:
        self.lists: dict[str, list[Any]] = {name: [] for name in lists}
        self.columns: dict[str, list[Any]] = {name: [] for name in fields} | self.lists
        self.listings: list[str] = []

    def add(self, records: Sequence[Mapping[str, Any]], listing: str) -> None:
        """Add records of a listing."""
        for name, column in self.columns.items():
            column += [record.get(name) for record in records]
        self.listings += [listing] * len(records)

    def __getitem__(self, at: int) -> Mapping[str, Any]:
        return ColumnsRow(self.columns, at)

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a field, all None if it is not stored."""
        return self.columns.get(name, [None] * len(self.listings))


TypedRows = Sequence[RowValues]
"""Rows as they are sent, in order."""


def values_of(rows: TypedRows, name: str) -> Sequence[Any]:
    """Return the values of a column, None for rows without it."""
    if isinstance(rows, RowTable):
        return rows.columns.get(name, [None] * len(rows))
    return [row.get(name) for row in rows]


def have_column(rows: TypedRows, name: str) -> Sequence[bool]:
    """Return for each row whether it has a column, even an empty one."""
    if isinstance(rows, RowTable):
        return [name in rows.columns] * len(rows)
    return [name in row for row in rows]


def column_values(series: "pd.Series") -> list[Any]:
    """Return the values of a typed column, None for an empty cell."""
    if series.dtype.kind == "M":
        # Dates repeat, and each object takes as much memory as a row of other cells.
        codes, days = series.factorize()
        distinct = [*days, None]
        return [distinct[code] for code in codes.tolist()]
    missing: Any = None
    values: list[Any] = series.to_numpy(dtype=object, na_value=missing).tolist()
    return values


CODE_SEPARATOR = "/"
"""Separator of the parts of a record's code."""


ItemDifference = Sequence[Any]
"""List, item, column, the row's value and the record's; a sequence, since it is stored as JSON."""


# Not frozen: one is made for each row, in a fraction of the time.
@dataclass(slots=True)
class FoundRecord:
    """Remote record: its code, its compared values, and how they differ from a row's.

    ``same``: all filled cells of the row equal the record; ``unchanged``: its empty cells, too.
    ``differing`` maps each other column to the row's and the record's value. ``final``: the
    interface no longer changes the record. ``items`` are the differences of its lists, with the
    row's items counted from zero; if the numbers of items differ, the item and the column are None
    and the values are the two numbers. ``unlisted`` are the columns of the row's items that its
    lists do not show, as ``list.column``. ``amount`` is that of its list for the control totals,
    None if an item lacks a part of it, in the record or in the row.
    """

    code: str
    values: Mapping[str, str | None]
    same: bool
    unchanged: bool = False
    differing: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    final: bool = False
    items: Sequence[ItemDifference] = ()
    unlisted: Sequence[str] = ()
    amount: str | None = None


# Not frozen: one is made for each row, in a fraction of the time.
@dataclass(slots=True)
class RowSnapshot:
    """Records found by a row's ``key``; the compared values that are ``sent`` are known only of
    rows just looked up."""

    key: Mapping[str, str]
    found: tuple[FoundRecord, ...]
    sent: Mapping[str, str | None] = field(default_factory=dict, compare=False)

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

    @property
    def why(self) -> Text | None:
        """Why some rows have no snapshot, near keys included; None if all have one."""
        near = (_ONLY_NEAR.format(near=one.text) for one in self.near.values())
        return self.reason or next(near, None)


_ONLY_NEAR = Text(
    pt="o sistema só tem quase a mesma chave: {near}",
    en="the system only has nearly the same key: {near}",
)


RecordKey = str | int
"""Code of a record, or its index among those of its row if it has no code."""

Rank = Callable[[int, FoundRecord], int | None]
"""Rank of a record for the row at a position, lowest first; None if it cannot be the row's."""


_Key = TypeVar("_Key", bound=Hashable)


class Matching(Generic[_Key]):
    """Matching of rows with what may be theirs, one to one.

    ``matched`` are the keys of what rows have got, ``free`` those of the others, in order.
    """

    def __init__(self, keys: Iterable[_Key]) -> None:
        self.free = dict.fromkeys(keys)
        self.matched: dict[int, _Key] = {}

    def give(self, row: int, keys: Iterable[_Key]) -> None:
        """Give a row that has nothing yet the first of the keys that is free."""
        if row not in self.matched:
            key = next((one for one in keys if one in self.free), None)
            if key is not None:
                self.matched[row] = key
                del self.free[key]


class RecordMatching(Matching[RecordKey]):
    """Matching of rows with the records that were found for them, by the rows' positions.

    Codes in ``taken`` belong to no row.
    """

    def __init__(
        self, found: Mapping[int, Sequence[FoundRecord]], taken: Container[str] = ()
    ) -> None:
        self._found = {
            at: {record.code or index: record for index, record in enumerate(records)}
            for at, records in found.items()
        }
        known = dict.fromkeys(key for records in self._found.values() for key in records)
        super().__init__(key for key in known if key not in taken)
        self.has_taken = len(self.free) < len(known)

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
            self.give(at, (key for _, key in sorted(ranked, key=itemgetter(0))))

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


class Moment(StrEnum):
    """Moment of a snapshot.

    Before sending, right after writing, after the settle time, or to learn remote codes.
    ``IDENTICAL`` are the records that equalled rows without a key before any was sent.
    """

    BEFORE = "before"
    WRITTEN = "written"
    AFTER = "after"
    CODES = "codes"
    IDENTICAL = "identical"


def filled_columns(name: str, items: Sequence[Mapping[str, Any]] | None) -> set[str]:
    """Return the columns in which items of a list have a value, as ``list.column``."""
    filled = (column for item in items or () for column, v in item.items() if v is not None)
    return {f"{name}.{column}" for column in filled}
