"""Typed rows: as mappings, and as a table of columns, of which a row takes its values.

Columns of many rows are packed: what is made of them when it is asked for takes no memory.
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
"""Row as it is sent: its columns with their typed values, None where a cell is empty."""

_BLOCK = 16_384
"""Values that are packed, or worked on, at once."""

_SAMPLE = 64
"""Values of a block by which it is judged whether they come again."""

_NEAR = 1_024
"""Values that are made at once where one of them is asked for."""

_MADE_OF_TEXTS: Mapping[type, Callable[[str], Any]] = {str: str, int: int, Decimal: Decimal}
"""Types whose values come back from their texts as they were, by what makes them."""


class MadeItems(Sequence[_Item], ABC):
    """Sequence whose items are made when they are asked for, so that none takes memory."""

    @abstractmethod
    def _made(self, at: int) -> _Item:
        """Return the item of a position."""

    def __iter__(self) -> Iterator[_Item]:
        return map(self._made, range(len(self)))

    @overload
    def __getitem__(self, at: int) -> _Item: ...
    @overload
    def __getitem__(self, at: slice) -> list[_Item]: ...
    def __getitem__(self, at: int | slice) -> _Item | list[_Item]:
        if isinstance(at, slice):
            return self.at(range(len(self))[at])
        return self._made(at if at >= 0 else range(len(self))[at])

    def at(self, places: Sequence[int]) -> list[_Item]:
        """Return the items of some positions."""
        return list(map(self._made, places))


class _Texts(NamedTuple):
    """Block of values that differ: one text of them all, where each ends, what makes them."""

    text: str
    ends: "array[int]"
    make: Callable[[str], Any]

    def value(self, at: int) -> Any:
        return self.make(self.text[self.ends[at] : self.ends[at + 1]])

    def values(self, begin: int = 0, end: int = _BLOCK) -> Iterable[Any]:
        text = self.text
        texts = [text[one:other] for one, other in pairwise(self.ends[begin : end + 1])]
        return texts if self.make is str else map(self.make, texts)


class _Repeated(NamedTuple):
    """Block of values that come again: each once, and the number of that in each place."""

    once: Sequence[Any]
    numbers: "array[int]"

    def value(self, at: int) -> Any:
        return self.once[self.numbers[at]]

    def values(self, begin: int = 0, end: int = _BLOCK) -> Iterable[Any]:
        return map(self.once.__getitem__, self.numbers[begin:end])


class _Plain(NamedTuple):
    """Block of values that are kept as they are."""

    own: Sequence[Any]

    def value(self, at: int) -> Any:
        return self.own[at]

    def values(self, begin: int = 0, end: int = _BLOCK) -> Iterable[Any]:
        return self.own[begin:end]


_Block = _Texts | _Repeated | _Plain


class PackedColumn(MadeItems[Any]):
    """Values of a column, packed by blocks."""

    def __init__(self, values: Iterable[Any] = ()) -> None:
        left = iter(values)
        self._blocks: list[_Block] = []
        self._count = 0
        while block := list(islice(left, _BLOCK)):
            self._add(_packed(block) if len(block) == _BLOCK else _Plain(block), len(block))

    @classmethod
    def of_blocks(cls, blocks: Iterable[_Block], last: Sequence[Any]) -> "PackedColumn":
        """Return a column of blocks and the values after them."""
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

    def _made(self, at: int) -> Any:
        return self._blocks[at // _BLOCK].value(at % _BLOCK)

    def at(self, places: Sequence[int]) -> list[Any]:
        """Return the values of some positions: of neighbours those of a block at once."""
        if not isinstance(places, range) or places.step != 1:
            return super().at(places)
        values: list[Any] = []
        for number in range(places.start // _BLOCK, -(-places.stop // _BLOCK)):
            begin = number * _BLOCK
            block = self._blocks[number]
            values += block.values(max(places.start - begin, 0), places.stop - begin)
        return values


class PackedRows:
    """Rows of so many columns, packed by blocks as they are added."""

    def __init__(self, width: int) -> None:
        self._blocks: list[list[_Block]] = [[] for _ in range(width)]
        self._last: list[tuple[Any, ...]] = []

    def append(self, row: tuple[Any, ...]) -> None:
        """Add a row."""
        self._last.append(row)
        if len(self._last) == _BLOCK:
            for blocks, values in zip(self._blocks, zip(*self._last, strict=True), strict=True):
                blocks.append(_packed(list(values)))
            self._last = []

    def column(self, number: int) -> PackedColumn:
        """Return the values of a column, counted from zero, of the rows so far."""
        return PackedColumn.of_blocks(self._blocks[number], [row[number] for row in self._last])


def _packed(values: list[Any]) -> _Texts | _Repeated | _Plain:
    """Return a block of values; only those of one type, besides None, come back from texts."""
    types = {value.__class__ for value in values} - {type(None)}
    if not types:
        return _Repeated((None,), array("H", bytes(2 * len(values))))
    make = _MADE_OF_TEXTS.get(next(iter(types))) if len(types) == 1 else None
    if make is None:
        return _Plain(values)
    texts = values if make is str else [one if one is None else str(one) for one in values]
    if len(set(texts[:_SAMPLE])) < _SAMPLE // 2:
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        once = [None if text is None else make(text) for text in numbers]
        return _Repeated(once, array("H", map(numbers.__getitem__, texts)))
    filled = [text for text in texts if text is not None]
    if len(filled) < len(texts):
        return _Plain(values)
    return _Texts("".join(filled), array("I", accumulate(map(len, filled), initial=0)), make)


class PiecewiseColumn(MadeItems[Any]):
    """Values of a column that are made a piece at a time, the last one kept."""

    def __init__(self, count: int, piece: Callable[[slice], Sequence[Any]]) -> None:
        self._count = count
        self._made_of = piece
        self._kept: tuple[int, Sequence[Any]] = (-1, ())

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        begins = range(0, self._count, _BLOCK)
        return chain.from_iterable(self._made_of(slice(one, one + _BLOCK)) for one in begins)

    def _made(self, at: int) -> Any:
        place = at % _NEAR
        begin, piece = self._kept
        if begin != at - place:
            # At once, as threads that send records share the rows.
            begin, piece = at - place, self._made_of(slice(at - place, at - place + _NEAR))
            self._kept = begin, piece
        return piece[place]

    def __getitem__(self, at: Any) -> Any:
        return list(self._made_of(at)) if isinstance(at, slice) else super().__getitem__(at)


_NO_LISTS: Mapping[str, Sequence[Any]] = MappingProxyType({})


class ColumnsRow(Mapping[str, Any]):
    """Row that takes its values from columns: it needs a fifth of the memory of a dict."""

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
        """Return the value of a column, ``default`` where there is none."""
        column = self._columns.get(name)
        return default if column is None else column[self._at]

    def items(self) -> ItemsView[str, Any]:
        """Return the names of the columns with their values."""
        return _dict_row(self._columns, self._at).items()


class RowTable(MadeItems[RowValues]):
    """Typed rows, kept as their columns: a row is made when it is asked for.

    Dicts of all rows would take many times the memory, as most columns of most rows are empty.
    """

    def __init__(self, columns: Mapping[str, Sequence[Any]], count: int) -> None:
        self._columns = columns
        self._count = count

    @classmethod
    def of(
        cls, *frames: "pd.DataFrame", lists: Mapping[str, Sequence[Any]] = _NO_LISTS
    ) -> "RowTable":
        """Return the rows of typed frames side by side, with the ``lists`` of their records."""
        columns = {str(name): _of_series(one[name]) for one in frames for name in one}
        return cls({**columns, **lists}, len(frames[0]))

    def __len__(self) -> int:
        return self._count

    def _made(self, at: int) -> RowValues:
        return ColumnsRow(self._columns, at)

    def has(self, name: str) -> bool:
        """Tell whether the rows have a column."""
        return name in self._columns

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a column, None for each row where there is no such column."""
        column = self._columns.get(name)
        return [None] * self._count if column is None else column


class RecordTable:
    """Records of listings, kept as columns of the ``fields`` that matter.

    ``lists`` are the fields that hold lists, which may be read later; ``listings`` has the name of
    the operation that listed each record.
    """

    def __init__(self, fields: Iterable[str], lists: Iterable[str] = ()) -> None:
        self.lists: dict[str, list[Any]] = {name: [] for name in lists}
        self._numbers = {name: number for number, name in enumerate(fields)}
        self._rows = PackedRows(len(self._numbers))
        self._columns: dict[str, Sequence[Any]] = {}
        self.listings: list[str] = []

    def add(self, record: Mapping[str, Any], listing: str) -> int:
        """Keep a record; return its position."""
        self._rows.append(tuple(map(record.get, self._numbers)))
        for name, column in self.lists.items():
            column.append(record.get(name))
        self.listings.append(listing)
        return len(self.listings) - 1

    @property
    def columns(self) -> Mapping[str, Sequence[Any]]:
        """The values of all fields that are kept, of the records so far."""
        if len(next(iter(self._columns.values()), ())) < len(self.listings):
            columns = {name: self._rows.column(at) for name, at in self._numbers.items()}
            self._columns = {**columns, **self.lists}
        return self._columns

    def __getitem__(self, at: int) -> Mapping[str, Any]:
        return ColumnsRow(self.columns, at)

    def column(self, name: str) -> Sequence[Any]:
        """Return the values of a field, None for each record where it is not kept."""
        return self.columns.get(name, [None] * len(self.listings))


TypedRows = Sequence[RowValues]
"""Rows as they are sent, in order."""


def values_of(rows: TypedRows, name: str) -> Sequence[Any]:
    """Return the values of a column of rows, None where a row has none."""
    return rows.column(name) if isinstance(rows, RowTable) else [row.get(name) for row in rows]


def pieces_of(values: Iterable[_Item], size: int = _BLOCK) -> Iterator[list[_Item]]:
    """Yield values in lists of so many."""
    left = iter(values)
    while piece := list(islice(left, size)):
        yield piece


def have_column(rows: TypedRows, name: str) -> Sequence[bool]:
    """Tell of each row whether it has a column, be it empty."""
    if isinstance(rows, RowTable):
        return [rows.has(name)] * len(rows)
    return [name in row for row in rows]


def row_maker(
    rows: TypedRows,
) -> Callable[[Mapping[str, Sequence[Any]], int], Mapping[str, Any]]:
    """Return what makes a row of columns: of a table as it is kept, else a dict, as JSON has it."""
    return ColumnsRow if isinstance(rows, RowTable) else _dict_row


def _dict_row(columns: Mapping[str, Sequence[Any]], at: int) -> dict[str, Any]:
    return {name: column[at] for name, column in columns.items()}


def dict_rows(columns: Mapping[str, Sequence[Any]], piece: slice) -> list[dict[str, Any]]:
    """Return neighbouring rows of columns as dicts, in less time than one by one."""
    if not columns:
        return [{}] * (piece.stop - piece.start)
    values = [column[piece] for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def rows_of(frame: "pd.DataFrame") -> list[RowValues]:
    """Return the rows of a typed frame."""
    names = list(map(str, frame))
    columns = [column_values(frame[name]) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _of_series(series: "pd.Series") -> PiecewiseColumn:
    return PiecewiseColumn(len(series), lambda piece: column_values(series.iloc[piece]))


def column_values(series: "pd.Series") -> list[Any]:
    """Return the values of a typed column, None where a cell is empty."""
    if series.dtype.kind == "M":
        # Most dates come again, and each takes as much memory as a row of other cells.
        codes, days = series.factorize()
        once = [*days, None]
        return [once[code] for code in codes.tolist()]
    values: list[Any] = series.astype(object).where(series.notna(), None).tolist()
    return values
