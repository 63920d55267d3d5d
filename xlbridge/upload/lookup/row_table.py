"""Typed rows: as mappings, and as a table of columns, of which a row takes its values."""

from abc import ABC, abstractmethod
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    import pandas as pd

_Item = TypeVar("_Item")

RowValues = Mapping[str, Any]
"""Row as it is sent: its columns with their typed values, None where a cell is empty."""


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
        positions = range(len(self))[at]
        if isinstance(positions, range):
            return [self._made(one) for one in positions]
        return self._made(positions)


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
        blank: Sequence[Any] = [None] * len(frames[0])
        columns = {
            str(name): column_values(one[name]) if one[name].notna().any() else blank
            for one in frames
            for name in one
        }
        return cls({**columns, **lists}, len(blank))

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

    ``listings`` has the name of the operation that listed each.
    """

    def __init__(self, fields: Iterable[str]) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in fields}
        self.listings: list[str] = []

    def add(self, record: Mapping[str, Any], listing: str) -> int:
        """Keep a record; return its position."""
        for name, column in self.columns.items():
            column.append(record.get(name))
        self.listings.append(listing)
        return len(self.listings) - 1

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


def column_values(series: "pd.Series") -> list[Any]:
    """Return the values of a typed column, None where a cell is empty."""
    if series.dtype.kind == "M":
        # Most dates come again, and each takes as much memory as a row of other cells.
        codes, days = series.factorize()
        once = [*days, None]
        return [once[code] for code in codes.tolist()]
    values: list[Any] = series.astype(object).where(series.notna(), None).tolist()
    return values
