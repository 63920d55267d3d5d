"""Cells of a sheet, column by column, and the facts of its raw XML.

A cell has nine bytes, one for its kind and eight for its content: millions of cells stay small,
pass between processes unchanged, and are processed by column.
"""

import datetime as dt
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import compress, count, filterfalse, product
from operator import mul, not_
from typing import Any

from xlbridge.workbook.address import (
    MAX_ROWS,
    CellPosition,
    CellRange,
    cell_range,
    column_letters,
)
from xlbridge.workbook.formats import scale_factor

_MAX_FORMULA_RUNS = 4096
_MAX_ARRAY = 10_000
"""Maximum number of cells of an array formula that are told one by one."""
TRUE = frozenset({"1", "true", "on"})
"""Values of an attribute that is true."""

_VISIBLE_HEIGHT = 3.0
"""Minimum height, in points, of a row with visible text."""
_LAST_COLUMN = 16_383
_VISIBLE_WIDTH = 0.5
"""Minimum width, in characters, of a column with visible text."""
_DUMMIES = frozenset({"0", "0.0"})
_SIZE = re.compile(r"\d{1,9}(?:\.\d*)?", re.ASCII)
_SUM = re.compile(
    r"=?\s*(?:(?:SUBTOTAL|AGGREGATE)\s*\("
    r"|(?:SUM|AVERAGE|COUNTA?|MAX|MIN)\s*\(\s*\$?([A-Z]{1,3})\$?\d+:\$?\1\$?\d+\s*\)\s*$)",
    re.IGNORECASE,
)


@dataclass(slots=True)
class SheetLayout:
    """Hidden rows and columns, merged ranges and formulas of a sheet.

    ``formulas`` maps a column to its runs of formulas, each a first and a last row, up to a limit.
    ``totals_rows`` are the totals rows of tables, ``summed_rows`` have a formula that sums their
    column, or a subtotal. ``low_by_default``: rows without a height are too low to be visible. The
    attribute ``zeroHeight`` is ignored, as it only hides rows that are not in the file.
    """

    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)
    merged: list[CellRange] = field(default_factory=list)
    formulas: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    totals_rows: set[int] = field(default_factory=set)
    summed_rows: set[int] = field(default_factory=set)
    low_by_default: bool = False

    def add_totals_rows(self, last: int, count: int) -> None:
        """Add the totals rows of a table: the ``count`` ones that end with its ``last`` row."""
        last = min(last, MAX_ROWS)
        self.totals_rows.update(range(max(last - count, 0) + 1, last + 1))

    def add_element(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Add the layout of an element; its tag has no prefix."""
        if tag == "mergeCell":
            if (corners := cell_range(attributes.get("ref", ""))) is not None:
                self.merged.append(corners)
        elif tag == "sheetFormatPr":
            self.low_by_default = _is_below(attributes.get("defaultRowHeight"), _VISIBLE_HEIGHT)
            if _is_below(attributes.get("defaultColWidth"), _VISIBLE_WIDTH):
                self.hidden_columns.append((0, _LAST_COLUMN))
        elif (
            attributes.get("hidden") in TRUE
            or _is_below(attributes.get("ht"), _VISIBLE_HEIGHT)
            or _is_below(attributes.get("width"), _VISIBLE_WIDTH)
            or (tag == "row" and self.low_by_default and "ht" not in attributes)
        ):
            names = ("r",) if tag == "row" else ("min", "max")
            numbers = [int(attributes[n]) for n in names if attributes.get(n, "").isdecimal()]
            if tag == "row" and numbers:
                self.hidden_rows.update(numbers)
            elif tag == "col" and len(numbers) == len(names):
                self.hidden_columns.append((numbers[0] - 1, numbers[1] - 1))
        elif tag == "col" and self.hidden_columns and "width" in attributes:
            # A column with a width is visible, even if columns are hidden by default.
            first, last = attributes.get("min", ""), attributes.get("max", "")
            if first.isdecimal() and last.isdecimal():
                pieces = (
                    piece
                    for begin, end in self.hidden_columns
                    for piece in ((begin, min(end, int(first) - 2)), (max(begin, int(last)), end))
                )
                self.hidden_columns = [(begin, end) for begin, end in pieces if begin <= end]

    def add_formula(self, row: int, column: int, formula: str = "") -> None:
        """Add a cell with a formula; mark its row if it sums the cell's column."""
        found = _SUM.match(formula)
        if found and (found[1] is None or found[1].upper() == column_letters(column)):
            self.summed_rows.add(row)
        runs = self.formulas.setdefault(column, [])
        if runs and runs[-1][1] == row - 1:
            runs[-1] = runs[-1][0], row
        elif len(runs) < _MAX_FORMULA_RUNS:
            runs.append((row, row))


def is_missing_result(kind: str, value: str | None, formula: str, lacks_results: bool) -> bool:
    """Return whether a formula of an .xlsx has no result, by its cell's type and value.

    With ``lacks_results`` zero is none, and neither is the formula itself.
    """
    if not value:
        return value is None or kind != "str"
    if not lacks_results:
        return False
    return value in _DUMMIES if kind == "n" else value.removeprefix("=") == formula


def _is_below(size: str | None, limit: float) -> bool:
    return size is not None and _SIZE.fullmatch(size) is not None and float(size) < limit


@dataclass(slots=True)
class Extent:
    """Extent of a sheet's filled cells: its first column, its lowest and its rightmost cell."""

    left: int = _LAST_COLUMN
    lowest: CellPosition = (0, 0)
    rightmost: CellPosition = (0, -1)

    def add(self, row: int, column: int) -> None:
        """Add a filled cell."""
        self.left = min(self.left, column)
        if row > self.lowest[0]:
            self.lowest = (row, column)
        if column > self.rightmost[1]:
            self.rightmost = (row, column)

    @property
    def cells(self) -> int:
        """Number of cells, empty ones included, from the sheet's first row on."""
        return self.lowest[0] * (self.rightmost[1] - self.left + 1)


@dataclass(slots=True)
class RawSheet:
    """Facts of a sheet in its raw XML that a parser of its values does not return.

    ``errors`` maps a cell to its error; ``without_result`` are cells whose formula has no stored
    result; ``scaled`` maps a cell to the factor by which its format multiplies its number, 100 for
    a percentage. ``part`` is the name of the sheet's part. ``formats`` are the significant number
    formats of the workbook by style, ``struck`` its styles that strike cells through;
    ``struck_texts`` are cells with a rich text that is struck through as a whole, and
    ``partly_struck_texts`` those with one of which a part is, with the begin and the end of each
    piece, which are not known in an .xlsx. ``conditional_formats`` are the
    number formats of conditional formats, with their ranges. ``replaced`` has the values of cells
    that the parser misreads. ``extent`` is that of the filled cells.

    ``is_text_only``: the file has only texts, as a .csv. Its ``widths`` are pairs of a row's index
    and its number of cells, which holds until the next pair; ``is_unterminated``: its last row
    does not end with a line break. If the part cannot be read again, ``styles`` maps a column to
    its runs of cells with a style of ``formats`` or ``struck``: first row, last row, style.
    """

    errors: dict[CellPosition, str] = field(default_factory=dict)
    without_result: set[CellPosition] = field(default_factory=set)
    scaled: dict[CellPosition, float] = field(default_factory=dict)
    layout: SheetLayout = field(default_factory=SheetLayout)
    part: str = ""
    formats: dict[int, str] = field(default_factory=dict)
    struck: frozenset[int] = frozenset()
    struck_texts: set[CellPosition] = field(default_factory=set)
    partly_struck_texts: dict[CellPosition, list[tuple[int, int]]] = field(default_factory=dict)
    conditional_formats: list[tuple[str, CellRange]] = field(default_factory=list)
    uses_1904_dates: bool = False
    replaced: dict[CellPosition, bool | str] = field(default_factory=dict)
    extent: Extent = field(default_factory=Extent, compare=False)
    is_text_only: bool = False
    widths: Sequence[tuple[int, int]] = ()
    is_unterminated: bool = False

    def add_missing_result(self, row: int, column: int, area: str | None) -> None:
        """Add a cell whose formula has no result; ``area`` is the range of an array formula, none
        of whose cells has one."""
        cells = cell_range(area) if area and (row, column) not in self.without_result else None
        self.without_result.add((row, column))
        if cells is not None:
            top, left, bottom, right = cells
            if (bottom - top + 1) * (right - left + 1) <= _MAX_ARRAY:
                rows, columns = range(top, bottom + 1), range(left, right + 1)
                self.without_result.update(product(rows, columns))

    styles: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)

    def add_struck_text(
        self, row: int, column: int, pieces: list[tuple[int, int]], length: int
    ) -> None:
        """Add a cell with a text of some length of which pieces are struck through."""
        merged = list[tuple[int, int]]()
        for begin, end in sorted(pieces):
            if merged and merged[-1][1] >= begin:
                merged[-1] = merged[-1][0], max(merged[-1][1], end)
            elif end > begin:
                merged.append((begin, end))
        if merged == [(0, length)]:
            self.struck_texts.add((row, column))
        elif merged:
            self.partly_struck_texts[row, column] = merged

    def add_style(self, row: int, column: int, style: int) -> None:
        """Add the style of a cell, if it is significant."""
        if style not in self.formats and style not in self.struck:
            return
        factor = scale_factor(self.formats.get(style, ""))
        if factor != 1:
            self.scaled[row, column] = factor
        runs = self.styles.setdefault(column, [])
        if runs and runs[-1][1:] == (row - 1, style):
            runs[-1] = (runs[-1][0], row, style)
        else:
            runs.append((row, row, style))


class CellKind(IntEnum):
    """Type of a cell in the file."""

    EMPTY = 0
    TEXT = 1
    NUMBER = 2
    BOOLEAN = 3
    DATE = 4
    DATETIME = 5
    TIME = 6
    DURATION = 7


_ORIGIN = dt.datetime(1, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


def _datetime_to_int(value: dt.datetime) -> int:
    return (value - _ORIGIN) // _MICROSECOND


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
_CONTENTS: "Mapping[CellKind, Callable[[Iterable[Any]], array[int]]]" = {
    CellKind.NUMBER: lambda values: array("q", array("d", values).tobytes()),
    CellKind.BOOLEAN: lambda values: array("q", values),
    CellKind.DATE: lambda values: array("q", list(map(dt.date.toordinal, values))),
    CellKind.DATETIME: lambda values: array("q", list(map(_datetime_to_int, values))),
    CellKind.TIME: lambda values: array(
        "q", (_datetime_to_int(dt.datetime.combine(_ORIGIN, value)) for value in values)
    ),
    CellKind.DURATION: lambda values: array("q", (value // _MICROSECOND for value in values)),
}
_FROM_INT: Mapping[int, Callable[[int], object]] = {
    CellKind.BOOLEAN: bool,
    CellKind.DATE: dt.date.fromordinal,
    CellKind.DATETIME: lambda whole: _ORIGIN + whole * _MICROSECOND,
    CellKind.TIME: lambda whole: (_ORIGIN + whole * _MICROSECOND).time(),
    CellKind.DURATION: lambda whole: whole * _MICROSECOND,
}
_ALL_KINDS = tuple(CellKind)
_TEXT, _NUMBER = int(CellKind.TEXT), int(CellKind.NUMBER)
_IS_KIND = [bytes(byte == kind for byte in range(256)) for kind in CellKind]
"""Translation tables that map a kind's byte to 1, all others to 0."""

SHARED_MARK = "\ue000"
"""Character before the index of a shared text; no text of the same file contains it."""

_MAX_KNOWN_TEXTS = 1 << 16
_SAMPLE_SIZE = 512
_MIN_REPEAT_SHARE = 8
"""Texts are remembered if at least one in this many of a sample is a repetition."""


@dataclass(slots=True)
class CellColumn:
    """Column of cells.

    ``kinds`` has the ``CellKind`` of each. ``content`` has eight bytes for each, in native byte
    order: a number as a double; as an integer, a text's index into ``texts``, a boolean's 0 or 1,
    a date's ordinal, microseconds of other kinds (of a datetime since year 1). ``replaced`` has the
    indexes of the cells of each replacement since the column was read.
    """

    kinds: bytearray = field(default_factory=bytearray, repr=False)
    content: bytearray = field(default_factory=bytearray, repr=False)
    texts: list[str] = field(default_factory=list, repr=False)
    replaced: list[Sequence[int]] = field(default_factory=list, repr=False, compare=False)

    def extend(self, more: "CellColumn") -> None:
        """Append cells whose text indexes follow those of this column."""
        self.kinds += more.kinds
        self.content += more.content
        self.texts += more.texts

    def pad_to(self, height: int) -> None:
        """Append empty cells up to ``height``."""
        missing = max(0, height - len(self.kinds))
        self.kinds += bytes(missing)
        self.content += bytes(8 * missing)

    def select(self, indexes: Sequence[int]) -> "CellColumn":
        """Return the cells at the given indexes as a new column."""
        kinds, integers = bytearray(map(self.kinds.__getitem__, indexes)), self._integers
        content, texts = array("q", map(integers.__getitem__, indexes)), list[str]()
        for position in compress(range(len(kinds)), kinds.translate(_IS_KIND[CellKind.TEXT])):
            texts.append(self.texts[content[position]])
            content[position] = len(texts) - 1
        return CellColumn(kinds, bytearray(content), texts)

    def replace(self, indexes: Sequence[int], cells: "CellColumn") -> None:
        """Replace the cells at the given indexes by those of another column."""
        target, source, text_count = self._integers, cells._integers, len(self.texts)
        for position, index in enumerate(indexes):
            kind = self.kinds[index] = cells.kinds[position]
            target[index] = source[position] + (text_count if kind == CellKind.TEXT else 0)
        self.texts += cells.texts
        self.replaced.append(indexes)

    @property
    def edits(self) -> int:
        """Number of replacements since the column was read."""
        return len(self.replaced)

    @property
    def _integers(self) -> memoryview:
        return memoryview(self.content).cast("q")

    def kind(self, index: int) -> CellKind:
        """Return the kind of a cell; below the last one cells are empty."""
        return _ALL_KINDS[self.kinds[index]] if index < len(self.kinds) else CellKind.EMPTY

    def value(self, index: int) -> object:
        """Return a cell as a Python value, ``""`` for an empty one or below the last."""
        return next(self.values((index,)))

    def values(self, indexes: Iterable[int]) -> Iterator[object]:
        """Yield the cells at the given indexes as Python values, as ``value`` returns them."""
        kinds, texts, height = self.kinds, self.texts, len(self.kinds)
        integers, doubles = self._integers, memoryview(self.content).cast("d")
        for index in indexes:
            kind = kinds[index] if index < height else CellKind.EMPTY
            if kind == _NUMBER:
                yield doubles[index]
            elif kind == _TEXT:
                yield texts[integers[index]]
            else:
                yield _FROM_INT[kind](integers[index]) if kind else ""


class SharedTextMissing(Exception):
    """A cell refers to a missing shared text."""


class CellEncoder:
    """Encoder of one column: converts the parser's values into cells, batch by batch.

    Repeated texts are stored once, unless too many others came in between or hardly any repeat.
    ``filled`` counts the filled cells so far, ``text_length`` the characters of all texts, repeated
    ones included, ``longest`` those of the longest. With ``shared_texts``, a text that starts with
    ``SHARED_MARK`` is the index of one of them.
    """

    def __init__(self, shared_texts: Sequence[str] = ()) -> None:
        self._known: dict[str, int] = {}
        self._lengths: list[int] = []
        self._shared_texts = shared_texts
        self.filled = 0
        self.text_length = 0
        self.longest = 0

    def encode(self, values: Sequence[Any]) -> CellColumn:
        """Return the next cells of the column; an empty value is ``""``."""
        kinds = bytearray(map(_KINDS.__getitem__, map(type, values)))
        is_text = kinds.translate(_IS_KIND[CellKind.TEXT])
        new_texts, indexes, has_empty = self._index_texts(list(compress(values, is_text)))
        contents = {CellKind.TEXT: indexes}
        for kind, content_of in _CONTENTS.items():
            if kind in kinds:
                contents[kind] = content_of(list(compress(values, kinds.translate(_IS_KIND[kind]))))
        common = max(contents, key=kinds.count)
        remaining = {int(kind): iter(content) for kind, content in contents.items()}
        integers, begin = array("q"), 0
        # Copy the runs of the most common kind as a whole.
        for before, other in enumerate(re.finditer(b"\0", kinds.translate(_IS_KIND[common]))):
            integers += contents[common][begin : other.start() - before]
            integers.append(next(remaining[kinds[other.start()]]))
            begin = other.start() - before
        content = integers + contents[common][begin:]
        if has_empty:
            lengths = map(self._lengths.__getitem__, indexes)
            for index in compress(compress(range(len(kinds)), is_text), map(not_, lengths)):
                kinds[index] = CellKind.EMPTY
        self.filled += len(kinds) - kinds.count(CellKind.EMPTY)
        return CellColumn(kinds, bytearray(content), new_texts)

    def _index_texts(self, texts: list[str]) -> tuple[list[str], "array[int]", bool]:
        """Return the new texts, the index of every text, and whether any is empty.

        If hardly any repeat, looking for repetitions would cost more than it saves.
        """
        known, first = self._known, len(self._lengths)
        sample = texts[:_SAMPLE_SIZE]
        repeated = len(sample) - len(set(sample).difference(known))
        counts = Counter[str]()
        if _MIN_REPEAT_SHARE * repeated < len(sample):
            known.clear()
            new, indexes = texts, list(range(first, first + len(texts)))
        else:
            counts = Counter(texts)
            new = list(filterfalse(known.__contains__, counts))
            known.update(zip(new, count(first)))
            indexes = list(map(known.__getitem__, texts))
        new = self._resolve_shared(new) if self._shared_texts else new
        self._lengths += map(len, new)
        lengths = [self._lengths[known[text]] for text in counts] or self._lengths[first:]
        self.longest = max(self.longest, max(lengths, default=0))
        self.text_length += sum(map(mul, lengths, counts.values()) if counts else lengths)
        if len(known) > _MAX_KNOWN_TEXTS:
            known.clear()
        return new, array("q", indexes), 0 in lengths

    def _resolve_shared(self, texts: list[str]) -> list[str]:
        """Return texts with shared texts instead of their marked indexes."""
        shared = self._shared_texts
        indexes = "".join(texts).split(SHARED_MARK)[1:]
        try:
            if len(indexes) == len(texts):
                return list(map(shared.__getitem__, map(int, indexes)))
            return [shared[int(text[1:])] if text[:1] == SHARED_MARK else text for text in texts]
        except (IndexError, ValueError) as error:
            raise SharedTextMissing from error


@dataclass(frozen=True, slots=True)
class SheetCells:
    """Cells of one sheet.

    ``columns[i]`` is the zero-based column ``first_column + i``, from Excel's row 1 on. ``raw``
    has the facts that values do not show. ``titles`` are those that an exported listing has in the
    file, by the names of fields that its header has here.
    """

    name: str
    first_column: int
    columns: Sequence[CellColumn] = field(repr=False)
    raw: RawSheet = field(repr=False)
    titles: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def height(self) -> int:
        """Number of rows down to the last filled one."""
        return len(self.columns[0].kinds) if self.columns else 0

    def row(self, position: int) -> list[object]:
        """Return the values of Excel's row ``position + 1``."""
        return [column.value(position) for column in self.columns]

    def first_texts(self, count: int) -> list[list[str]]:
        """Return the texts among the cells of each of the first ``count`` rows."""
        rows: list[list[str]] = [[] for _ in range(min(count, self.height))]
        for column in self.columns:
            is_text = column.kinds[:count].translate(_IS_KIND[CellKind.TEXT])
            positions = list(compress(range(len(rows)), is_text))
            for position, text in zip(positions, column.values(positions), strict=True):
                rows[position].append(str(text))
        return rows

    def has_data(self, position: int) -> bool:
        """Return whether any cell is filled in Excel's row ``position + 1`` or below."""
        return any(any(column.kinds[position:]) for column in self.columns)
