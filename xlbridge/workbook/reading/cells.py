"""The cells of a sheet, column by column, each with the type that it has in the file.

A cell takes nine bytes: one for its kind, eight for its content. So millions of cells stay small,
travel between processes as they are, and can be worked on a column at a time.
"""

import datetime as dt
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import compress, count, islice
from operator import not_
from typing import Any

from xlbridge.workbook.reading.raw_sheet import RawSheet


class CellKind(IntEnum):
    """What a cell is in the file."""

    EMPTY = 0
    TEXT = 1
    NUMBER = 2
    BOOLEAN = 3
    DATE = 4
    DATETIME = 5
    TIME = 6
    DURATION = 7


_MIDNIGHT = dt.datetime(1, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


def _moment(value: dt.datetime) -> int:
    return (value - _MIDNIGHT) // _MICROSECOND


def _time_of_day(value: dt.time) -> int:
    return _moment(dt.datetime.combine(_MIDNIGHT, value))


_KINDS: Mapping[type, CellKind] = {
    str: CellKind.TEXT,
    float: CellKind.NUMBER,
    int: CellKind.NUMBER,
    bool: CellKind.BOOLEAN,
    dt.date: CellKind.DATE,
    dt.datetime: CellKind.DATETIME,
    dt.time: CellKind.TIME,
    dt.timedelta: CellKind.DURATION,
}
_WHOLE: Mapping[CellKind, Callable[[Any], int]] = {
    CellKind.BOOLEAN: int,
    CellKind.DATE: dt.date.toordinal,
    CellKind.DATETIME: _moment,
    CellKind.TIME: _time_of_day,
    CellKind.DURATION: lambda value: value // _MICROSECOND,
}
_VALUES: Mapping[int, Callable[[int], object]] = {
    CellKind.BOOLEAN: bool,
    CellKind.DATE: dt.date.fromordinal,
    CellKind.DATETIME: lambda whole: _MIDNIGHT + whole * _MICROSECOND,
    CellKind.TIME: lambda whole: (_MIDNIGHT + whole * _MICROSECOND).time(),
    CellKind.DURATION: lambda whole: whole * _MICROSECOND,
}
_OTHERS: Mapping[CellKind, re.Pattern[bytes]] = {
    kind: re.compile(b"[^%c]" % kind, re.DOTALL) for kind in CellKind if kind is not CellKind.EMPTY
}
_MOST_REMEMBERED = 1 << 16
_OLD_PART = 8
"""One in so many texts has to be an old one for the new ones to be remembered."""


@dataclass(slots=True)
class CellColumn:
    """Cells one below the other.

    ``kinds`` has a ``CellKind`` for each. ``content`` has eight bytes for each, in the machine's
    order: a number's as a double, a text's as an index into ``texts``; a boolean's 0 or 1, a date's
    ordinal, the others' microseconds (a datetime's since year 1), each as a whole number.
    """

    kinds: bytearray = field(default_factory=bytearray, repr=False)
    content: bytearray = field(default_factory=bytearray, repr=False)
    texts: list[str] = field(default_factory=list, repr=False)

    def extend(self, more: "CellColumn") -> None:
        """Append the next cells; their indexes count the texts that are already here."""
        self.kinds += more.kinds
        self.content += more.content
        self.texts += more.texts

    def kind(self, place: int) -> CellKind:
        """Return what a cell is; one below the last is empty."""
        return CellKind(self.kinds[place]) if place < len(self.kinds) else CellKind.EMPTY

    def value(self, place: int) -> object:
        """Return a cell as a Python value; an empty cell, or one below the last, is ``""``."""
        kind = self.kinds[place] if place < len(self.kinds) else CellKind.EMPTY
        if kind == CellKind.EMPTY:
            return ""
        if kind == CellKind.NUMBER:
            return memoryview(self.content).cast("d")[place]
        whole = memoryview(self.content).cast("q")[place]
        return self.texts[whole] if kind == CellKind.TEXT else _VALUES[kind](whole)


class CellEncoder:
    """Turns the values of one column, as the parser gives them, into cells, stretch by stretch.

    A text that repeats is kept once, unless too many others came in between, or hardly any repeat.
    ``filled`` counts the cells so far that are not empty, ``letters`` the characters of all texts,
    repeated or not, ``longest`` those of the longest.
    """

    def __init__(self) -> None:
        # A text that is not known yet takes the next index.
        self._known = defaultdict[str, int](count().__next__)
        self._forgets = False
        self.filled = 0
        self.letters = 0
        self.longest = 0

    def encode(self, values: Sequence[Any]) -> CellColumn:
        """Return the next cells of the column; an empty value is ``""``."""
        if self._forgets:
            self._known.clear()
        before = len(self._known)
        kinds = bytearray(map(_KINDS.__getitem__, map(type, values)))
        common = CellKind(max(_OTHERS, key=kinds.count))
        # What the stretch has little of is set apart, so that the rest goes at once.
        rest = [match.start() for match in _OTHERS[common].finditer(kinds)]
        alike = list(values)
        example = values[kinds.index(common)] if rest else None
        for place in rest:
            alike[place] = example
        content = self._content(common, alike)
        whole, floats = content.cast("q"), content.cast("d")
        for place in rest:
            kind, value = CellKind(kinds[place]), values[place]
            if kind is CellKind.NUMBER:
                floats[place] = value
            else:
                whole[place] = self._whole_of(kind)(value)
        is_text = common is CellKind.TEXT
        texts = alike if is_text else [values[p] for p in rest if kinds[p] == CellKind.TEXT]
        for place in compress(count(), map(not_, values)) if is_text else rest:
            if values[place] == "":
                kinds[place] = CellKind.EMPTY
        self.filled += len(kinds) - kinds.count(CellKind.EMPTY)
        self.letters += sum(map(len, texts))
        return CellColumn(kinds, bytearray(content), self._learnt_since(before, len(texts)))

    def _learnt_since(self, before: int, of: int) -> list[str]:
        """Return the texts that came to the first ``before`` known ones, in their order.

        Where hardly any ``of`` so many texts was known, to remember them would cost more than it
        saves.
        """
        new = list(islice(reversed(self._known), len(self._known) - before))
        self.longest = max(self.longest, *map(len, new), 0)
        hardly_any = _OLD_PART * (of - len(new)) < of
        self._forgets = hardly_any or len(self._known) > _MOST_REMEMBERED
        return new[::-1]

    def _content(self, kind: CellKind, values: Sequence[Any]) -> memoryview:
        """Return the eight bytes of each of ``values``, which are all of one kind."""
        if kind is CellKind.NUMBER:
            return memoryview(array("d", values)).cast("B")
        return memoryview(array("q", map(self._whole_of(kind), values))).cast("B")

    def _whole_of(self, kind: CellKind) -> Callable[[Any], int]:
        return self._known.__getitem__ if kind is CellKind.TEXT else _WHOLE[kind]


@dataclass(frozen=True, slots=True)
class SheetCells:
    """The cells of one sheet.

    ``columns[i]`` stands in the zero-based column ``first_column + i`` and begins with Excel's row
    1. ``raw`` holds what their values cannot show.
    """

    name: str
    first_column: int
    columns: Sequence[CellColumn] = field(repr=False)
    raw: RawSheet = field(repr=False)

    @property
    def height(self) -> int:
        """How many rows there are down to the last one that is filled."""
        return len(self.columns[0].kinds) if self.columns else 0

    def row(self, position: int) -> list[object]:
        """Return the values of Excel's row ``position + 1``."""
        return [column.value(position) for column in self.columns]

    def has_data(self, position: int) -> bool:
        """Tell whether any cell is filled in Excel's row ``position + 1`` or below."""
        return any(any(column.kinds[position:]) for column in self.columns)
