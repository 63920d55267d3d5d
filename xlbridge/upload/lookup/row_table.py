"""Typed rows: as mappings, and as a table of columns whose rows are views.

Long columns are packed, and their values created on access, to save memory.
"""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import accumulate, chain, islice, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

if TYPE_CHECKING:
    import pandas as pd

_Item = TypeVar("_Item")

RowValues = Mapping[str, Any]
"""Row as it is sent: typed values by column, None for an empty cell."""

_BLOCK = 16_384
"""Values of a block, which are packed or read together."""

_SAMPLE = 64
"""Values of a block that are tested for repetition."""

_NEIGHBOURS = 1_024
"""Values that are read together when one of them is accessed."""

_PARSERS: Mapping[type, Callable[[str], Any]] = {str: str, int: int, Decimal: Decimal}
"""Types that survive a round trip through text, with their parsers."""


class LazySequence(Sequence[_Item], ABC):
    """Sequence whose items are created on access."""

    @abstractmethod
    def _item(self, at: int) -> _Item:
        """Return the item at a position."""

    def __iter__(self) -> Iterator[_Item]:
        return map(self._item, range(len(self)))

    @overload
    def __getitem__(self, at: int) -> _Item: ...
    @overload
    def __getitem__(self, at: slice) -> list[_Item]: ...
    def __getitem__(self, at: int | slice) -> _Item | list[_Item]:
        if isinstance(at, slice):
            return self.at(range(len(self))[at])
        return self._item(at if at >= 0 else range(len(self))[at])

    def at(self, positions: Sequence[int]) -> list[_Item]:
        """Return the items at the given positions."""
        return list(map(self._item, positions))


class _Texts(NamedTuple):
    """Block of distinct values: their concatenated text, the end of each, and the parser."""

    text: str
    ends: "array[int]"
    parse: Callable[[str], Any]

    def value(self, at: int) -> Any:
        return self.parse(self.text[self.ends[at] : self.ends[at + 1]])

    def values(self, begin: int = 0, end: int = _BLOCK) -> Iterable[Any]:
        text = self.text
        texts = [text[one:other] for one, other in pairwise(self.ends[begin : end + 1])]
        return texts if self.parse is str else map(self.parse, texts)


class _Repeated(NamedTuple):
    """Dictionary-encoded block: its distinct values, and their index at each position."""

    distinct: Sequence[Any]
    indexes: "array[int]"

    def value(self, at: int) -> Any:
        return self.distinct[self.indexes[at]]

    def values(self, begin: int = 0, end: int = _BLOCK) -> Iterable[Any]:
        return map(self.distinct.__getitem__, self.indexes[begin:end])


class _Plain(NamedTuple):
    """Block of values that are stored unpacked."""

    items: Sequence[Any]

    def value(self, at: int) -> Any:
        return self.items[at]

    def values(self, begin: int = 0, end: int = _BLOCK) -> Iterable[Any]:
        return self.items[begin:end]


_Block = _Texts | _Repeated | _Plain


class PackedColumn(LazySequence[Any]):
    """Values of a column, packed by blocks."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        left = iter(values)
        self._blocks: list[_Block] = []
        self._count = 0
        while block := list(islice(left, _BLOCK)):
            self._add(_pack(block) if len(block) == _BLOCK else _Plain(block), len(block))

    @classmethod
    def of_blocks(cls, blocks: Iterable[_Block], last: Sequence[Any]) -> "PackedColumn":
        """Return a column of full blocks and the values after them."""
        column = cls()
        for block in blocks:
            column._add(block, _BLOCK)
        column._add(_Plain(last), len(last))
        return column

    def _add(self, block: _Block, count: int) -> None:
        self._blocks.append(block)
        self._count += count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(block.values() for block in self._blocks)

    def _item(self, at: int) -> Any:
        return self._blocks[at // _BLOCK].value(at % _BLOCK)

    def at(self, positions: Sequence[int]) -> list[Any]:
        """Return the values at the given positions; a contiguous range is read by blocks."""
        if not isinstance(positions, range) or positions.step != 1:
            return super().at(positions)
        values: list[Any] = []
        for number in range(positions.start // _BLOCK, -(-positions.stop // _BLOCK)):
            begin = number * _BLOCK
            block = self._blocks[number]
            values += block.values(max(positions.start - begin, 0), positions.stop - begin)
        return values


class PackedRows:
    """Rows with ``width`` columns, packed by blocks as they are added."""

    def __init__(self, width: int) -> None:
        self._blocks: list[list[_Block]] = [[] for _ in range(width)]
        self._last: list[tuple[Any, ...]] = []

    def append(self, row: tuple[Any, ...]) -> None:
        """Add a row."""
        self._last.append(row)
        if len(self._last) == _BLOCK:
            for blocks, values in zip(self._blocks, zip(*self._last, strict=True), strict=True):
                blocks.append(_pack(list(values)))
            self._last = []

    def column(self, number: int) -> PackedColumn:
        """Return the values of a column, by its zero-based number, in the rows so far."""
        return PackedColumn.of_blocks(self._blocks[number], [row[number] for row in self._last])


def _pack(values: list[Any]) -> _Block:
    """Return a block of values, packed if all but None are of one type."""
    types = {value.__class__ for value in values} - {type(None)}
    if not types:
        return _Repeated((None,), array("H", bytes(2 * len(values))))
    parse = _PARSERS.get(next(iter(types))) if len(types) == 1 else None
    if parse is None:
        return _Plain(values)
    texts = values if parse is str else [one if one is None else str(one) for one in values]
    if len(set(texts[:_SAMPLE])) < _SAMPLE // 2:
        indexes = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        distinct = [None if text is None else parse(text) for text in indexes]
        return _Repeated(distinct, array("H", map(indexes.__getitem__, texts)))
    filled = [text for text in texts if text is not None]
    if len(filled) < len(texts):
        return _Plain(values)
    return _Texts("".join(filled), array("I", accumulate(map(len, filled), initial=0)), parse)


class PiecewiseColumn(LazySequence[Any]):
    """Values of a column that are read in slices, the last of which is cached."""

    def __init__(self, count: int, read_slice: Callable[[slice], Sequence[Any]]) -> None:
        self._count = count
        self._read_slice = read_slice
        self._cached: tuple[int, Sequence[Any]] = (-1, ())

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        begins = range(0, self._count, _BLOCK)
        return chain.from_iterable(self._read_slice(slice(one, one + _BLOCK)) for one in begins)

    def _item(self, at: int) -> Any:
        offset = at % _NEIGHBOURS
        begin, values = self._cached
        if begin != at - offset:
            begin = at - offset
            values = self._read_slice(slice(begin, begin + _NEIGHBOURS))
            # One assignment, since threads that send records share the rows.
            self._cached = begin, values
        return values[offset]

    def __getitem__(self, at: Any) -> Any:
        return list(self._read_slice(at)) if isinstance(at, slice) else super().__getitem__(at)


_NO_LISTS: Mapping[str, Sequence[Any]] = MappingProxyType({})


class ColumnsRow(Mapping[str, Any]):
    """View of a row in columns; it takes a fifth of a dict's memory."""

    __slots__ = ("_at", "_columns")

    def __init__(self, columns: Mapping[str, Sequence[Any]], at: int) -> None:
        self._columns = columns
        self._at = at

    def __getitem__(self, name: str) -> Any:
        return self._columns[name][self._at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a column, ``default`` if there is none."""
        column = self._columns.get(name)
        return default if column is None else column[self._at]

    def items(self) -> ItemsView[str, Any]:
        """Return the names of the columns with their values."""
        return _dict_row(self._columns, self._at).items()


class RowTable(LazySequence[RowValues]):
    """Typed rows, stored as columns; rows are views created on access.

    A dict for each row would take many times the memory, since most cells are empty.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], count: int) -> None:
        self._columns = columns
        self._count = count

    @classmethod
    def of(
        cls, *frames: "pd.DataFrame", lists: Mapping[str, Sequence[Any]] = _NO_LISTS
    ) -> "RowTable":
        """Return the rows of typed frames side by side, with the ``lists`` of their records."""
        columns = {str(name): _of_series(frame[name]) for frame in frames for name in frame}
        return cls({**columns, **lists}, len(frames[0]))

    def __len__(self) -> int:
        return self._count

    def _item(self, at: int) -> RowValues:
        return ColumnsRow(self._columns, at)

    def dicts(self) -> list[dict[str, Any]]:
        """Return all rows as dicts, in a fraction of the time that single rows take."""
        rows = zip(*map(list, self._columns.values()), strict=True)
        return [dict(zip(self._columns, row, strict=True)) for row in rows]

    def has(self, name: str) -> bool:
        """Return whether the rows have a column."""
        return name in self._columns

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a column, all None if there is no such column."""
        column = self._columns.get(name)
        return [None] * self._count if column is None else column


class RecordTable:
    """Records of listings, stored as columns of the ``fields`` that matter.

    ``lists`` are the fields that hold lists, which may be read later; ``listings`` has the
    operation that listed each record.
    """

    def __init__(self, fields: Iterable[str], lists: Iterable[str] = ()) -> None:
        self.lists: dict[str, list[Any]] = {name: [] for name in lists}
        self._numbers = {name: number for number, name in enumerate(fields)}
        self._rows = PackedRows(len(self._numbers))
        self._columns: dict[str, Sequence[Any]] = {}
        self.listings: list[str] = []

    def add(self, record: Mapping[str, Any], listing: str) -> int:
        """Add a record and return its position."""
        self._rows.append(tuple(map(record.get, self._numbers)))
        for name, column in self.lists.items():
            column.append(record.get(name))
        self.listings.append(listing)
        return len(self.listings) - 1

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """Values of the stored fields in the records so far."""
        if len(next(iter(self._columns.values()), ())) < len(self.listings):
            columns = {name: self._rows.column(at) for name, at in self._numbers.items()}
            self._columns = {**columns, **self.lists}
        return self._columns

    def __getitem__(self, at: int) -> Mapping[str, Any]:
        return ColumnsRow(self.columns, at)

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a field, all None if it is not stored."""
        return self.columns.get(name, [None] * len(self.listings))


TypedRows = Sequence[RowValues]
"""Rows as they are sent, in order."""


def values_of(rows: TypedRows, name: str) -> Sequence[Any]:
    """Return the values of a column, None for rows without it."""
    return rows.column(name) if isinstance(rows, RowTable) else [row.get(name) for row in rows]


def batched(values: Iterable[_Item], size: int = _BLOCK) -> Iterator[list[_Item]]:
    """Yield values in lists of ``size``."""
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch


def have_column(rows: TypedRows, name: str) -> Sequence[bool]:
    """Return for each row whether it has a column, even an empty one."""
    if isinstance(rows, RowTable):
        return [rows.has(name)] * len(rows)
    return [name in row for row in rows]


def row_maker(rows: TypedRows) -> Callable[[Mapping[str, Sequence[Any]], int], Mapping[str, Any]]:
    """Return the constructor of a row from columns: a view for a table, else a dict."""
    return ColumnsRow if isinstance(rows, RowTable) else _dict_row


def _dict_row(columns: Mapping[str, Sequence[Any]], at: int) -> dict[str, Any]:
    return {name: column[at] for name, column in columns.items()}


def _of_series(series: "pd.Series") -> PiecewiseColumn:
    return PiecewiseColumn(len(series), lambda piece: column_values(series.iloc[piece]))


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
