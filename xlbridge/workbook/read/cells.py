"""Cells of a sheet, column by column, and the facts of its raw XML.

A cell takes nine bytes: one for its kind, eight for its content. So millions of cells stay
small, travel between processes as they are, and can be worked on a column at a time.
"""

import datetime as dt
import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import compress, count, filterfalse
from operator import not_
from struct import Struct
from typing import Any

from xlbridge.workbook.address import CellPosition, CellRange, column_index

_MAX_FORMULA_RUNS = 4096
_TRUE = frozenset({"1", "true"})
_CORNERS = re.compile(r"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})", re.ASCII)
_LOW = rb'\bht="[0-2](?:\.\d*)?"'
_NARROW = rb'\bwidth="0(?:\.[0-4]\d*)?"'
_HIDDEN = re.compile(
    rb'<(row|col)\b([^>]*(?:\bhidden="(?:1|true)"|' + _LOW + rb"|" + _NARROW + rb")[^>]*)>"
)
_MAY_HIDE = re.compile(rb'hidden="|' + _LOW + rb"|" + _NARROW)
_UNSEEN_BY_DEFAULT = re.compile(
    rb'<sheetFormatPr\b[^>]*\bdefault(?:RowHeight="[0-2]|ColWidth="0)(?:\.\d*)?"'
)
_SEEN_HEIGHT = 3.0
"""Fewest points of height in which a text can be seen."""
_LAST_COLUMN = 16_383
_SEEN_WIDTH = 0.5
"""Fewest characters of width in which a text can be seen."""
_MERGED = re.compile(rb"<mergeCell\b([^>]*)>")
_ATTRIBUTE = re.compile(rb'\b(r|min|max|hidden|ht|width|ref)="([^"]*)"')
_SIZE = re.compile(r"\d{1,9}(?:\.\d*)?", re.ASCII)
_SUMMED = re.compile(
    rb'<c\b(?>[^>]*?\sr="([A-Z]{1,3})(\d{1,7})"[^>]*+)>\s*+<f\b[^>]*+>([^<]*+)</f>'
)
_SUM = re.compile(
    r"=?\s*(?:(?:SUBTOTAL|AGGREGATE)\s*\("
    r"|(?:SUM|AVERAGE|COUNTA?|MAX|MIN)\s*\(\s*\$?([A-Z]{1,3})\$?\d+:\$?\1\$?\d+\s*\)\s*$)",
    re.IGNORECASE,
)
_FORMULA = re.compile(rb'<c\b(?>[^>]*?\sr="([A-Z]{1,3})(\d{1,7})"[^>]*+)>\s*+<f[\s>/]')
_ANY_FORMULA = re.compile(rb"f(?<=<f)[\s>/]")


@dataclass(slots=True)
class SheetLayout:
    """The hidden rows and columns, the merged ranges and the formulas of a sheet.

    ``formulas`` maps a column to its runs of formulas, each with its first and its last row; of
    very many only the first are kept. ``totals_rows`` are the last rows of tables that say so,
    ``summed_rows`` have a formula that sums up their own column, or a subtotal. ``low_by_default``
    tells that rows without a height of their own are too low to be seen. The attribute
    ``zeroHeight`` hides only rows that are not in the file, and so no data.
    """

    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)
    merged: list[CellRange] = field(default_factory=list)
    formulas: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    totals_rows: set[int] = field(default_factory=set)
    summed_rows: set[int] = field(default_factory=set)
    low_by_default: bool = False

    def note_block(self, block: bytes, *, computed: bool) -> bool:
        """Note what a piece of XML says; False where it is not written as programs write large
        sheets.

        ``computed`` is whether there are formulas in it.
        """
        if _UNSEEN_BY_DEFAULT.search(block):
            return False
        if _MAY_HIDE.search(block):
            for tag, attributes in _HIDDEN.findall(block):
                said = _layout_attributes(attributes)
                if tag == b"row" and "r" not in said:
                    return False
                self.note(tag.decode(), said)
        if b"<mergeCell " in block:
            for attributes in _MERGED.findall(block):
                self.note("mergeCell", _layout_attributes(attributes))
        if not computed:
            return True
        for letters, number, formula in _SUMMED.findall(block):
            self.note_sum(int(number), letters.decode(), formula.decode("utf-8", "replace"))
        formulas = _FORMULA.findall(block)
        for letters, row in formulas:
            self.note_formula(int(row), column_index(letters.decode()))
        return len(formulas) == len(_ANY_FORMULA.findall(block))

    def note(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note what an element says; its tag is given without prefix."""
        if tag == "mergeCell":
            if match := _CORNERS.fullmatch(attributes.get("ref", "")):
                left, top, right, bottom = match.groups()
                self.merged.append((int(top), column_index(left), int(bottom), column_index(right)))
        elif tag == "sheetFormatPr":
            self.low_by_default = _is_below(attributes.get("defaultRowHeight"), _SEEN_HEIGHT)
            if _is_below(attributes.get("defaultColWidth"), _SEEN_WIDTH):
                self.hidden_columns.append((0, _LAST_COLUMN))
        elif _is_hidden(attributes) or (
            tag == "row" and self.low_by_default and "ht" not in attributes
        ):
            names = ("r",) if tag == "row" else ("min", "max")
            numbers = [int(attributes[n]) for n in names if attributes.get(n, "").isdecimal()]
            if tag == "row" and numbers:
                self.hidden_rows.update(numbers)
            elif tag == "col" and len(numbers) == len(names):
                self.hidden_columns.append((numbers[0] - 1, numbers[1] - 1))
        elif tag == "col" and self.hidden_columns and "width" in attributes:
            self._note_seen(attributes.get("min", ""), attributes.get("max", ""))

    def _note_seen(self, first: str, last: str) -> None:
        """Note columns with a width of their own, where the others are hidden by default."""
        if first.isdecimal() and last.isdecimal():
            pieces = (
                piece
                for begin, end in self.hidden_columns
                for piece in ((begin, min(end, int(first) - 2)), (max(begin, int(last)), end))
            )
            self.hidden_columns = [(begin, end) for begin, end in pieces if begin <= end]

    def note_sum(self, row: int, letters: str, formula: str) -> None:
        """Note a row that sums up the rows above it; ``letters`` are those of the cell."""
        found = _SUM.match(formula)
        if found and (found[1] is None or found[1].upper() == letters):
            self.summed_rows.add(row)

    def note_formula(self, row: int, column: int) -> None:
        """Note a cell that a formula computes."""
        runs = self.formulas.setdefault(column, [])
        if runs and runs[-1][1] == row - 1:
            runs[-1] = runs[-1][0], row
        elif len(runs) < _MAX_FORMULA_RUNS:
            runs.append((row, row))


def _is_hidden(attributes: Mapping[str, str]) -> bool:
    """Return whether a row or column is hidden, or cannot be seen for its size."""
    is_low = _is_below(attributes.get("ht"), _SEEN_HEIGHT)
    return (
        attributes.get("hidden") in _TRUE
        or is_low
        or _is_below(attributes.get("width"), _SEEN_WIDTH)
    )


def _is_below(size: str | None, seen: float) -> bool:
    return size is not None and _SIZE.fullmatch(size) is not None and float(size) < seen


def _layout_attributes(raw: bytes) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in _ATTRIBUTE.findall(raw)}


@dataclass(slots=True)
class RawSheet:
    """Facts of a sheet that its raw XML shows and a parser of its values would not.

    ``errors`` maps a cell to the error that it displays; ``unvalued`` are cells whose formula has
    no stored result. ``scaled`` maps a cell to how many times its number it shows: 100 times as a
    percentage. ``part`` is the name of the sheet's part, ``formats`` are the number formats of the
    workbook's styles that may show a number as something else, ``struck`` its styles that strike
    cells through, ``struck_texts`` are cells with a rich text that is struck through as a whole.
    ``counts_from_1904`` tells how the workbook counts days.

    ``booleans`` are cells that show a boolean and store a number, ``only_texts`` tells that the
    file has no other cells, as a .csv. Of such a one ``widths`` are the numbers of cells that its
    rows have, each with the place of the first row that has as many, until the next; ``is_open``
    tells that its last row does not end with a line break. Where no part can be read again,
    ``styles`` maps a column to the runs of cells that have one of the styles of ``formats`` or
    ``struck``: the first row, the last, the style.
    """

    errors: dict[CellPosition, str] = field(default_factory=dict)
    unvalued: set[CellPosition] = field(default_factory=set)
    scaled: dict[CellPosition, float] = field(default_factory=dict)
    layout: SheetLayout = field(default_factory=SheetLayout)
    part: str = ""
    formats: dict[int, str] = field(default_factory=dict)
    struck: frozenset[int] = frozenset()
    struck_texts: set[CellPosition] = field(default_factory=set)
    counts_from_1904: bool = False
    booleans: dict[CellPosition, bool] = field(default_factory=dict)
    only_texts: bool = False
    widths: Sequence[tuple[int, int]] = ()
    is_open: bool = False
    styles: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)

    def note_style(self, row: int, column: int, style: int) -> None:
        """Note the style of a cell."""
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
    CellKind.DATE: lambda values: array("q", map(dt.date.toordinal, values)),
    CellKind.DATETIME: lambda values: array("q", map(_datetime_to_int, values)),
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
_DOUBLE, _WHOLE = Struct("d"), Struct("q")
_IS_KIND = [bytes(kind == one for kind in range(256)) for one in CellKind]
SHARED_MARK = "\ue000"
"""Character before the index of a shared text; no text of the same file has it."""

_MAX_KNOWN_TEXTS = 1 << 16
_MIN_REPEAT_SHARE = 8
"""One in so many texts has to be an old one for the new ones to be remembered."""


@dataclass(slots=True)
class CellColumn:
    """Cells one below the other.

    ``kinds`` has a ``CellKind`` for each. ``content`` has eight bytes for each, in the machine's
    order: a number's as a double, a text's as an index into ``texts``; a boolean's 0 or 1, a date's
    ordinal, the others' microseconds (a datetime's since year 1), each as a whole number.
    ``edits`` counts how often cells were replaced since the column was read.
    """

    kinds: bytearray = field(default_factory=bytearray, repr=False)
    content: bytearray = field(default_factory=bytearray, repr=False)
    texts: list[str] = field(default_factory=list, repr=False)
    edits: int = field(default=0, repr=False, compare=False)

    def extend(self, more: "CellColumn") -> None:
        """Append the next cells; their indexes count the texts that are already here."""
        self.kinds += more.kinds
        self.content += more.content
        self.texts += more.texts

    def lengthen(self, height: int) -> None:
        """Append empty cells, so that there are ``height`` of them at least."""
        missing = max(0, height - len(self.kinds))
        self.kinds += bytes(missing)
        self.content += bytes(8 * missing)

    def taken(self, places: Sequence[int]) -> "CellColumn":
        """Return the cells at some places as a column of their own."""
        kinds, whole = bytearray(map(self.kinds.__getitem__, places)), self._whole
        content, texts = array("q", map(whole.__getitem__, places)), list[str]()
        for at in compress(range(len(kinds)), kinds.translate(_IS_KIND[CellKind.TEXT])):
            texts.append(self.texts[content[at]])
            content[at] = len(texts) - 1
        return CellColumn(kinds, bytearray(content), texts)

    def put(self, places: Sequence[int], cells: "CellColumn") -> None:
        """Replace the cells at some places by those of another column."""
        own, content, ahead = self._whole, cells._whole, len(self.texts)
        for at, place in enumerate(places):
            kind = self.kinds[place] = cells.kinds[at]
            own[place] = content[at] + (ahead if kind == CellKind.TEXT else 0)
        self.texts += cells.texts
        self.edits += 1

    @property
    def _whole(self) -> memoryview:
        return memoryview(self.content).cast("q")

    def kind(self, place: int) -> CellKind:
        """Return what a cell is; one below the last is empty."""
        return _ALL_KINDS[self.kinds[place]] if place < len(self.kinds) else CellKind.EMPTY

    def value(self, place: int) -> object:
        """Return a cell as a Python value; an empty cell, or one below the last, is ``""``."""
        kind = self.kind(place)
        if kind is CellKind.EMPTY:
            return ""
        if kind is CellKind.NUMBER:
            return _DOUBLE.unpack_from(self.content, 8 * place)[0]
        (whole,) = _WHOLE.unpack_from(self.content, 8 * place)
        return self.texts[whole] if kind is CellKind.TEXT else _FROM_INT[kind](whole)


class SharedTextMissing(Exception):
    """A cell refers to a shared text that is not there."""


class CellEncoder:
    """Encoder of one column: turns the values that the parser gives into cells, batch by batch.

    A text that repeats is kept once, unless too many others came in between, or hardly any repeat.
    ``filled`` counts the cells so far that are not empty, ``letters`` the characters of all texts,
    repeated or not, ``longest`` those of the longest. A text that begins with ``SHARED_MARK`` is
    the index of one of the shared texts, where there are some.
    """

    def __init__(self, shared: Sequence[str] = ()) -> None:
        self._known: dict[str, int] = {}
        self._lengths: list[int] = []
        self._shared = shared
        self.filled = 0
        self.letters = 0
        self.longest = 0

    def encode(self, values: Sequence[Any]) -> CellColumn:
        """Return the next cells of the column; an empty value is ``""``."""
        kinds = bytearray(map(_KINDS.__getitem__, map(type, values)))
        is_text = kinds.translate(_IS_KIND[CellKind.TEXT])
        learnt, indexes = self._learn(list(compress(values, is_text)))
        lengths = list(map(self._lengths.__getitem__, indexes))
        contents = {CellKind.TEXT: indexes}
        for kind, content_of in _CONTENTS.items():
            if kind in kinds:
                contents[kind] = content_of(list(compress(values, kinds.translate(_IS_KIND[kind]))))
        common = max(contents, key=kinds.count)
        rest = {int(kind): iter(content) for kind, content in contents.items()}
        whole, begin = array("q"), 0
        # Those between two cells of rarer kinds go at once.
        for before, other in enumerate(re.finditer(b"[^%c]" % common, kinds, re.DOTALL)):
            whole += contents[common][begin : other.start() - before]
            whole.append(next(rest[kinds[other.start()]]))
            begin = other.start() - before
        content = whole + contents[common][begin:]
        if 0 in lengths:
            for place in compress(compress(range(len(kinds)), is_text), map(not_, lengths)):
                kinds[place] = CellKind.EMPTY
        self.filled += len(kinds) - lengths.count(0)
        self.letters += sum(lengths)
        return CellColumn(kinds, bytearray(content), learnt)

    def _learn(self, texts: list[str]) -> tuple[list[str], "array[int]"]:
        """Return the new ones of some texts, and the index of each of them all.

        Where hardly any repeats, to look for them would cost more than it saves.
        """
        known, first = self._known, len(self._lengths)
        new = list(filterfalse(known.__contains__, dict.fromkeys(texts)))
        if _MIN_REPEAT_SHARE * (len(texts) - len(new)) < len(texts):
            known.clear()
            new, indexes = texts, array("q", range(first, first + len(texts)))
        else:
            known.update(zip(new, count(first)))
            indexes = array("q", map(known.__getitem__, texts))
        if len(known) > _MAX_KNOWN_TEXTS:
            known.clear()
        if self._shared:
            new = self._texts(new)
        lengths = list(map(len, new))
        self._lengths += lengths
        self.longest = max(self.longest, max(lengths, default=0))
        return new, indexes

    def _texts(self, found: list[str]) -> list[str]:
        """Return texts as the cells show them, shared ones in place of their marked indexes."""
        shared = self._shared
        try:
            # The mark stands nowhere but before an index.
            return [shared[int(text[1:])] if text[:1] == SHARED_MARK else text for text in found]
        except (IndexError, ValueError) as error:
            raise SharedTextMissing from error


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
        """Number of rows down to the last one that is filled."""
        return len(self.columns[0].kinds) if self.columns else 0

    def row(self, position: int) -> list[object]:
        """Return the values of Excel's row ``position + 1``."""
        return [column.value(position) for column in self.columns]

    def has_data(self, position: int) -> bool:
        """Tell whether any cell is filled in Excel's row ``position + 1`` or below."""
        return any(any(column.kinds[position:]) for column in self.columns)
