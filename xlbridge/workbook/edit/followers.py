"""Parts of a workbook that follow a table whose number of rows changes, by the references in them.

Formulas, names, charts, formats, checks, filters and pivot tables keep their bytes, but for the
addresses in them. Stored results that the change makes stale are removed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from typing import NamedTuple
from xml.sax.saxutils import escape

from xlbridge.workbook.address import MAX_ROWS, CellRange, column_index, column_letters, range_text
from xlbridge.workbook.edit.editable_cells import POSITION
from xlbridge.workbook.edit.editable_package import EditablePackage, SheetList, without_comments

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


def _references(formula: str) -> list[Reference]:
    """Return the references in a formula."""
    found = list[Reference]()
    replace_references(formula, found.append)
    return found


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


_FORMULA = re.compile(
    rb"<((?:[\w.-]+:)?(?:f|formula|formula1|formula2|calculatedColumnFormula|totalsRowFormula"
    rb"|FmlaLink|FmlaRange))(\s[^>]*)?>([^<]+)</\1\s*>"
)
_FORMULA_ATTRIBUTE = re.compile(rb"""(\s(?:location|fmlaLink|fmlaRange)=")([^"]+)\"""")
_RULE_FORMULA = re.compile(rb"<((?:[\w.-]+:)?formula[12]?)(\s[^>]*)?>([^<]+)</\1\s*>")
_OTHER_FORMULA = re.compile(rb"<([\w.-]+:f)(\s[^>]*)?>([^<]+)</\1\s*>")
_PLACES = re.compile(rb"""((?<![\w:])(?:ref|sqref)=["']|<(?:[\w.-]+:)?sqref>)([^"'<]*)""")
_BREAK = re.compile(rb"""(<(?:[\w.-]+:)?rowBreaks\b.*?</(?:[\w.-]+:)?rowBreaks\s*>)""", re.DOTALL)
_BREAK_ROW = re.compile(rb"""(\bid=["'])(\d+)""")
_COLUMN = re.compile(rb"<(?:[\w.-]+:)?col>\s*(\d+)")
_ANCHOR = re.compile(
    rb"<((?:[\w.-]+:)?(?:twoCellAnchor|oneCellAnchor|ClientData))\b.*?</\1\s*>", re.DOTALL
)
_SOURCE = re.compile(rb"<(?:[\w.-]+:)?(?:worksheetSource|rangeSet)\b[^>]*>")
_SOURCE_ATTRIBUTE = re.compile(rb"""\b(ref|sheet|name)=["']([^"']*)["']""")
_REFRESH = re.compile(rb"""\srefreshOnLoad=["'][^"']*["']""")
_CACHE = re.compile(rb"<(?:[\w.-]+:)?pivotCacheDefinition\b")

DRAWN_KINDS = frozenset({"drawing"})
"""Relations of a sheet to parts with pictures, charts and shapes at cells."""

_POSITIONED = DRAWN_KINDS | {"vmlDrawing"}
_ADDRESSED = frozenset({"table", "comments", "threadedComment", "pivotTable"})
_WITHOUT_FORMULAS = ("xl/sharedstrings.xml", "xl/styles.xml", "xl/theme/", "docprops/")


def moved_formulas(content: bytes, change: RowChange, *, own: bool) -> bytes:
    """Return a part with the formulas in it after a change; ``own``: they stand in the sheet."""
    if change.is_none:
        return content

    def moved(text: str) -> str:
        return change.formula(text, own=own, areas=not own)

    content = _FORMULA.sub(lambda found: _element(found, moved), content)
    return _FORMULA_ATTRIBUTE.sub(
        lambda found: found[1] + _changed(found[2], moved) + b'"', content
    )


def moved_attributes(content: bytes, change: RowChange) -> bytes:
    """Return a part of the sheet, but its rows, after a change: its ranges and the formulas of
    conditional formats, checks and sparklines."""
    if change.is_none:
        return content
    content = _with_places(content, change)
    content = _RULE_FORMULA.sub(
        lambda found: _element(found, lambda text: change.formula(text, own=True, rows=0)), content
    )
    content = _OTHER_FORMULA.sub(
        lambda found: _element(found, lambda text: change.formula(text, own=True)), content
    )
    return _BREAK.sub(
        lambda block: _BREAK_ROW.sub(
            lambda found: found[1] + b"%d" % change.moved(int(found[2])), block[0]
        ),
        content,
    )


def drawn_rows(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield Excel's row number and the zero-based column at which each drawing begins."""
    for anchor in _ANCHOR.finditer(content):
        row, column = POSITION.search(anchor[0]), _COLUMN.search(anchor[0])
        if row and column:
            yield int(row[2]) + 1, int(column[1])


def follow(package: EditablePackage, own: str, table: str, change: RowChange) -> None:
    """Change all parts but the sheet itself, and have programs calculate and refresh on opening.

    ``own`` is the sheet's part, ``table`` the name of its table, empty without one.
    """
    sheets = SheetList(package)
    names = sheets.change_names(lambda text: change.formula(text, own=False, areas=True))
    sheets.recalculate_on_load()
    sheets.save()
    stored = {name.lower(): name for name in package.parts()}
    related = {
        stored[target.lower()]: kind
        for kind, target in package.relations(own)
        if target.lower() in stored and kind in _ADDRESSED | _POSITIONED
    }
    for part in package.parts():
        lower = part.lower()
        if (
            not lower.endswith((".xml", ".vml"))
            or lower.startswith(_WITHOUT_FORMULAS)
            or part in {own, package.workbook}
        ):
            continue
        content = package.read(part)
        new = content
        if _CACHE.search(content):
            new = _refreshed_cache(content, table, change, names)
        elif not change.is_none and (part in related or _may_refer(content, change)):
            new = moved_formulas(without_comments(content), change, own=part in related)
            if part in related:
                new = _moved_part(new, related[part], change)
        if new != content:
            package.write(part, new)
    _forget_stale_results(package, sheets.by_name(), change.sheet, table, names)


def _may_refer(content: bytes, change: RowChange) -> bool:
    """Return whether the name of the sheet is in a part."""
    text = unescape(content.decode("utf-8", "replace")).casefold()
    names = change.sheet, change.sheet.replace("'", "''")
    return any(name.casefold() in text for name in names)


def _moved_part(content: bytes, kind: str, change: RowChange) -> bytes:
    """Return a part of the sheet's own, with the places in it after a change."""
    if kind in _ADDRESSED:
        are_cells = kind not in {"table", "pivotTable"}
        return _with_places(content, change, cells=are_cells)

    def moved(anchor: re.Match[bytes]) -> bytes:
        first = POSITION.search(anchor[0])
        if first is None or int(first[2]) + 1 <= change.last:
            return anchor[0]
        return POSITION.sub(
            lambda found: found[1] + b"%d" % (change.moved(int(found[2]) + 1) - 1), anchor[0]
        )

    return _ANCHOR.sub(moved, content)


def _refreshed_cache(content: bytes, table: str, change: RowChange, names: dict[str, str]) -> bytes:
    """Return the definition of a pivot cache, with its source; one of the table is refreshed on
    opening."""
    is_ours = False

    def moved(source: re.Match[bytes]) -> bytes:
        nonlocal is_ours
        values = {name: value.decode() for name, value in _SOURCE_ATTRIBUTE.findall(source[0])}
        name = unescape(values.get(b"name", ""))
        is_ours = (
            is_ours
            or bool(name and name.casefold() == table.casefold())
            or any(change.is_of_sheet(it, own=False) for it in _references(names.get(name, "")))
        )
        area = parse_range(values.get(b"ref", ""))
        sheet = unescape(values.get(b"sheet", ""))
        if area is None or sheet.casefold() != change.sheet.casefold():
            return source[0]
        is_ours = is_ours or (area[0] <= change.last and area[2] >= change.first - 1)
        new = change.area(area)
        if new is None or new == area:
            return source[0]
        return _PLACES.sub(lambda place: place[1] + range_text(new).encode(), source[0])

    content = _SOURCE.sub(moved, content)
    if not is_ours:
        return content
    if _REFRESH.search(content):
        return _REFRESH.sub(b' refreshOnLoad="1"', content, count=1)
    return _CACHE.sub(lambda start: start[0] + b' refreshOnLoad="1"', content, count=1)


def _with_places(content: bytes, change: RowChange, *, cells: bool = False) -> bytes:
    """Return a part with its ranges after a change; one whose rows go stays as it is.

    ``cells``: they are single cells, which are never extended.
    """

    def moved(found: re.Match[bytes]) -> bytes:
        new = list[str]()
        for one in found[2].decode().split():
            area = parse_range(one)
            if area is None or (cells and area[0] <= change.last):
                new.append(one)
            elif (after := change.area(area)) is not None:
                new.append(one if after == area else range_text(after))
        return found[1] + (" ".join(new).encode() or found[2])

    return _PLACES.sub(moved, content)


def _element(found: re.Match[bytes], moved: Callable[[str], str]) -> bytes:
    return b"<%s%s>%s</%s>" % (found[1], found[2] or b"", _changed(found[3], moved), found[1])


def _changed(escaped: bytes, moved: Callable[[str], str]) -> bytes:
    """Return an escaped formula after a change, with its bytes if it stays."""
    text = unescape(escaped.decode())
    new = moved(text)
    return escaped if new == text else escape(new, {'"': "&quot;"}).encode()


_FORMULA_CELL = re.compile(
    rb"(?P<start><(?:[\w.-]+:)?c\b[^>]*>)\s*"
    rb"(?P<formula><(?P<tag>(?:[\w.-]+:)?f)\b(?P<attributes>[^>]*?)"
    rb"(?:/>|>(?P<text>[^<]*)</(?P=tag)\s*>))"
    rb"\s*(?P<result><(?:[\w.-]+:)?v>[^<]+</(?:[\w.-]+:)?v>)?"
)
_SHARED_GROUP = re.compile(rb"""\bsi=["'](\d+)""")
_CELL_TYPE = re.compile(rb"""\st=["'][^"']*["']""")
_REFERS_ANYWHERE = re.compile(r"\b(?:INDIRECT|OFFSET)\(", re.IGNORECASE)


def _forget_stale_results(
    package: EditablePackage,
    sheets: Mapping[str, str],
    changed: str,
    table: str,
    names: Mapping[str, str],
) -> None:
    """Remove the results of formulas that depend on a changed sheet, also by way of others.

    Excel calculates them anew on opening. Programs that trust stored results, LibreOffice among
    them, would show the old ones; a formula without a result is calculated.

    ``sheets`` are the parts by the sheets' names, ``table`` is the name of the changed table, and
    ``names`` are the formulas of the defined names.
    """
    stale = {changed.casefold()}
    words = {table.casefold()} if table else set[str]()
    formulas = {
        name: {
            unescape(found["text"].decode())
            for found in _FORMULA_CELL.finditer(content)
            if found["text"]
        }
        for name, content in ((name, package.read(part)) for name, part in sheets.items())
        if b"sheetData" in content
    }
    while True:
        known = len(stale) + len(words)
        words |= {
            name.casefold() for name, text in names.items() if _depends(text, "", stale, words)
        }
        stale |= {
            name.casefold()
            for name, found in formulas.items()
            if any(_depends(text, name, stale, words) for text in found)
        }
        if len(stale) + len(words) == known:
            break
    for name in formulas:
        if name.casefold() in stale:
            content = package.read(sheets[name])
            depends = partial(_depends, own=name, sheets=stale, words=words)
            new = _without_results(content, depends)
            if new != content:
                package.write(sheets[name], new)


def _depends(formula: str, own: str, sheets: set[str], words: set[str]) -> bool:
    """Return whether a formula of the sheet ``own`` refers to sheets, or to names or tables."""
    if _REFERS_ANYWHERE.search(formula) or any(word in formula.casefold() for word in words):
        return True
    names = (reference.sheet_name or own for reference in _references(formula))
    return any(":" in name or name.casefold() in sheets for name in names)


def _without_results(content: bytes, depends: Callable[[str], bool]) -> bytes:
    shared: dict[bytes, bool] = {}

    def without(found: re.Match[bytes]) -> bytes:
        group = _SHARED_GROUP.search(found["attributes"])
        text = unescape((found["text"] or b"").decode())
        is_stale = depends(text) if text else bool(group and shared.get(group[1], True))
        if group and text:
            shared[group[1]] = is_stale
        if not is_stale or found["result"] is None:
            return found[0]
        return _CELL_TYPE.sub(b"", found["start"]) + found["formula"]

    return _FORMULA_CELL.sub(without, content)
