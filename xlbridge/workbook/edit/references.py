"""References in formulas and the ranges that follow a table whose number of rows changes."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from xlbridge.workbook.address import (
    MAX_ROWS,
    CellRange,
    column_index,
    column_letters,
    range_text,
)

_CORNER = r"\$?[A-Z]{1,3}\$?[1-9][0-9]{0,6}"
_ROW_NUMBER = r"\$?[1-9][0-9]{0,6}"
_TOKEN = re.compile(
    r'"(?:[^"]|"")*"'
    r"|(?P<sheet>(?:'(?:[^']|'')+'|(?:\[[^\]]*\])?[^\W\d][\w.]*(?::[^\W\d][\w.]*)?)!)?"
    rf"(?:(?P<first>{_CORNER})(?::(?P<last>{_CORNER}))?"
    rf"|(?P<top>{_ROW_NUMBER}):(?P<bottom>{_ROW_NUMBER}))(?![\w.(\[])"
    r"|\[(?:[^\[\]]|\[[^\[\]]*\])*\]"
    r"|[\w.\\]+",
    re.IGNORECASE,
)
"""Texts, references, structured references, and names or functions, which stay."""

_SPLIT = re.compile(r"(\$?)([A-Z]*)(\$?)([0-9]+)", re.IGNORECASE)
_BROKEN = "#REF!"
_LAST_COLUMN = 16_383


class Corner(NamedTuple):
    """Corner of a reference: its column as written, empty in a reference to whole rows."""

    column: str
    is_row_fixed: bool
    row: int

    @classmethod
    def parse(cls, text: str) -> "Corner":
        """Read a corner such as ``$B$7`` or ``7``."""
        match = _SPLIT.fullmatch(text)
        if match is None:
            raise ValueError(text)
        dollar, letters, row_dollar, number = match.groups()
        # A row without a column has its only dollar in front.
        is_fixed = bool(row_dollar) if letters else bool(dollar or row_dollar)
        return cls(f"{dollar}{letters}" if letters else "", is_fixed, int(number))

    @property
    def column_index(self) -> int | None:
        """Zero-based column, None for whole rows."""
        letters = self.column.lstrip("$").upper()
        return column_index(letters) if letters else None

    def at(self, row: int) -> str:
        """Return the corner as written, in another row."""
        return f"{self.column}{'$' * self.is_row_fixed}{row}"


class Reference(NamedTuple):
    """Reference in a formula. ``sheet`` is its prefix as written, with the exclamation mark."""

    sheet: str
    first: Corner
    last: Corner | None

    @property
    def sheet_name(self) -> str:
        """Name of the sheet, empty without one; with a colon for several sheets."""
        name = self.sheet.removesuffix("!")
        return name[1:-1].replace("''", "'") if name.startswith("'") else name

    @property
    def area(self) -> CellRange:
        """The range."""
        last = self.last or self.first
        left, right = self.first.column_index, last.column_index
        rows = sorted((self.first.row, last.row))
        if left is None or right is None:
            return rows[0], 0, rows[1], _LAST_COLUMN
        return rows[0], min(left, right), rows[1], max(left, right)


def replace_references(formula: str, change: Callable[[Reference], str | None]) -> str:
    """Return a formula with other references; ``change`` returns None for those that stay."""

    def replaced(match: re.Match[str]) -> str:
        first, last = match["first"] or match["top"], match["last"] or match["bottom"]
        if first is None:
            return match[0]
        corner = Corner.parse(first)
        reference = Reference(
            match["sheet"] or "", corner, None if last is None else Corner.parse(last)
        )
        new = change(reference)
        return match[0] if new is None else f"{reference.sheet}{new}"

    return _TOKEN.sub(replaced, formula)


def filled_down(formula: str, rows: int, columns: int = 0) -> str:
    """Return a formula as it is after filling it down or to the right: relative parts move."""

    def moved(corner: Corner) -> str | None:
        row = corner.row if corner.is_row_fixed else corner.row + rows
        column = corner.column
        if column and columns and not column.startswith("$"):
            index = (corner.column_index or 0) + columns
            if index < 0:
                return None
            column = column_letters(index)
        return corner._replace(column=column).at(row) if 0 < row <= MAX_ROWS else None

    def change(reference: Reference) -> str:
        corners = [moved(one) for one in (reference.first, reference.last) if one is not None]
        return _BROKEN if None in corners else ":".join(filter(None, corners))

    return replace_references(formula, change)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange:
    """Change of the number of rows of a table: rows ``first`` to ``last`` become ``first`` to
    ``new_last``.

    With ``moves`` the rows below move too. ``broken`` collects references to rows that go.
    """

    sheet: str
    first: int
    last: int
    new_last: int
    left: int
    right: int
    moves: bool
    broken: list[str] = field(default_factory=list)

    @property
    def is_none(self) -> bool:
        """True if the table keeps its rows."""
        return self.last == self.new_last

    def moved(self, row: int) -> int:
        """Return the new number of a row; one that goes becomes the first one below."""
        if not self.moves or row == MAX_ROWS:
            return row
        if row > self.last:
            return min(row + self.new_last - self.last, MAX_ROWS)
        return min(row, self.new_last + 1) if row > self.first else row

    def area(self, area: CellRange) -> CellRange | None:
        """Return a range after the change, None if its rows go.

        A range that ends with the table, and begins with its rows or above, ends with it again.
        """
        top, left, bottom, right = area
        overlaps = left <= self.right and right >= self.left
        if bottom == self.last and top <= self.first and overlaps:
            return top, left, self.new_last, right
        if not self.moves:
            return area
        if self.new_last < top <= self.last and bottom <= self.last:
            return None
        if bottom > self.last:
            return self.moved(top), left, self.moved(bottom), right
        return top, left, min(bottom, max(self.new_last, top)), right

    def is_of_sheet(self, reference: Reference, own: bool) -> bool:
        """Return whether a reference leads to the sheet; ``own``: it stands in that sheet."""
        name = reference.sheet_name
        return name.casefold() == self.sheet.casefold() if name else own

    def formula(
        self, formula: str, *, own: bool, areas: bool = False, rows: int | None = None
    ) -> str:
        """Return a formula after the change.

        ``own``: it stands in the sheet. ``areas``: a single cell is a range too, as in charts.
        With ``rows`` it belongs to the table's rows and is filled down by so many: what is relative
        in it refers to the same rows, as seen from its own.
        """

        def change(reference: Reference) -> str | None:
            first, last = reference.first, reference.last
            if rows is not None and not (first.is_row_fixed and (last or first).is_row_fixed):
                return self._relative(reference, rows, own=own)
            if not self.is_of_sheet(reference, own):
                return None
            top, _, bottom, _ = reference.area
            if last is None and (not areas or top != self.first):
                if self.moves and self.new_last < top <= self.last:
                    self.broken.append(formula)
                    return _BROKEN
                return first.at(self.moved(top)) if top > self.last else None
            new = self.area(reference.area)
            if new is None:
                self.broken.append(formula)
                return _BROKEN
            if (new[0], new[2]) == (top, bottom):
                return None
            low, high = first.at(new[0]), (last or first).at(new[2])
            if last is not None and first.row > last.row:
                low, high = first.at(new[2]), last.at(new[0])
            return f"{low}:{high}"

        return replace_references(formula, change)

    def _relative(self, reference: Reference, rows: int, *, own: bool) -> str | None:
        new: CellRange | None = None
        if self.is_of_sheet(reference, own):
            new = self.area(reference.area)
        is_ours = new is not None
        top, _, bottom, _ = new or reference.area
        texts = []
        for corner, fixed_row in ((reference.first, top), (reference.last, bottom)):
            if corner is None:
                continue
            row = fixed_row
            if not corner.is_row_fixed:
                row = (self.moved(corner.row) if is_ours else corner.row) + rows
            if not 0 < row <= MAX_ROWS:
                return _BROKEN
            texts.append(corner.at(row))
        return ":".join(texts)


def parse_range(text: str) -> CellRange | None:
    """Return the range of an address such as ``A1:B7``, None for another text."""
    first, _, last = text.replace("$", "").partition(":")
    try:
        corners = Corner.parse(first), Corner.parse(last or first)
    except ValueError:
        return None
    return Reference("", *corners).area


def moved_ranges(text: str, change: RowChange, *, cells: bool = False) -> str:
    """Return several addresses with spaces between them after a change, without those that go.

    ``cells``: they are single cells, which are never extended.
    """
    moved = []
    for one in text.split():
        area = parse_range(one)
        if area is None or (cells and area[0] <= change.last):
            moved.append(one)
        elif (new := change.area(area)) is not None:
            moved.append(one if new == area else range_text(new))
    return " ".join(moved)
