"""Rows and cells of a worksheet as they are written: what does not change keeps its bytes, also
when rows are put in another order."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from html import unescape
from io import BytesIO
from typing import NamedTuple

from lxml import etree

from xlbridge.workbook.address import cell_address, column_index
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.editable_package import EditablePackage, SheetList, find_sheet_data

ROW = re.compile(rb"<((?:[\w.-]+:)?row)\b([^>]*?)(?:/>|>.*?</\1\s*>)", re.DOTALL)
"""A row; the second group has its attributes."""

_ROW_NUMBER = re.compile(rb"""\br=["'](\d+)["']""")
_CELL = re.compile(rb"<((?:[\w.-]+:)?c)\b([^>]*?)(?:/>|>(.*?)</\1\s*>)", re.DOTALL)
_PLAIN_CELL = re.compile(rb"<c\b([^>]*?)(?:/>|>(.*?)</c\s*>)", re.DOTALL)
_ATTRIBUTE = re.compile(rb"""\b([rst])=["']([^"']*)["']""")
_USUAL_ATTRIBUTES = re.compile(rb' r="([A-Z]{1,3})[0-9]+"(?: s="([0-9]+)")?(?: t="([A-Za-z]+)")?')
_ADDRESS = re.compile(rb"""(\br=["'])[A-Z]+\d+""")
_FORMULA = re.compile(rb"<((?:[\w.-]+:)?f)\b([^>]*?)(?:/>|>([^<]*)</\1\s*>)")
_FORMULA_ATTRIBUTE = re.compile(rb"""\b(t|ref|si)=["']([^"']*)["']""")
_VALUE = re.compile(rb"<(?:[\w.-]+:)?v\b[^>]*>([^<]*)<")
_TEXT = re.compile(rb"<(?:[\w.-]+:)?t\b[^>]*>([^<]*)<")


class Formula(NamedTuple):
    """Formula of a cell: its text, empty if it shares that of another one; what kind it is (empty,
    ``shared``, ``array`` or ``dataTable``), the range that it is for, and the group's number."""

    text: str
    kind: str
    range: str
    group: str


class CellXml(NamedTuple):
    """Cell as it is written: its zero-based column, its style and its type, and its content."""

    column: int
    style: str
    type: str
    content: bytes
    xml: bytes

    @property
    def formula(self) -> Formula | None:
        """The formula, None without one."""
        if b"f" not in self.content:
            return None
        found = _FORMULA.search(self.content)
        if found is None:
            return None
        parts = {name: value.decode() for name, value in _FORMULA_ATTRIBUTE.findall(found[2])}
        text = unescape((found[3] or b"").decode())
        return Formula(text, parts.get(b"t", ""), parts.get(b"ref", ""), parts.get(b"si", ""))

    @property
    def is_filled(self) -> bool:
        """True if the cell has a value or a formula."""
        if _FORMULA.search(self.content):
            return True
        value = _VALUE.search(self.content) or _TEXT.search(self.content)
        return value is not None and bool(value[1])

    def at(self, row: int) -> bytes:
        """Return the cell as it is written in another row; the formula stays as it is."""
        address = cell_address(row, self.column).encode()
        start, _, rest = self.xml.partition(b">")
        if not _ADDRESS.search(start):
            return self.xml
        return _ADDRESS.sub(lambda found: found[1] + address, start) + b">" + rest


class RowXml(NamedTuple):
    """Row as it is written: its number, its attributes and the cells in it."""

    number: int
    attributes: bytes
    xml: bytes
    start: int

    @property
    def end(self) -> int:
        """Position after the row in the worksheet."""
        return self.start + len(self.xml)

    def cells(self) -> Iterator[CellXml]:
        """Yield the cells; one without an address follows the one before."""
        column = -1
        is_plain = self.xml.startswith(b"<row")
        for match in (_PLAIN_CELL if is_plain else _CELL).finditer(self.xml, 1):
            attributes, content = match.groups()[-2:]
            if usual := _USUAL_ATTRIBUTES.fullmatch(attributes):
                letters, style, kind = usual.groups()
            else:
                found = dict(_ATTRIBUTE.findall(attributes))
                letters = found.get(b"r", b"").rstrip(b"0123456789")
                style, kind = found.get(b"s"), found.get(b"t")
            column = column_index(_decoded(letters)) if letters else column + 1
            yield CellXml(
                column, _decoded(style or b"0"), _decoded(kind or b"n"), content or b"", match[0]
            )


@lru_cache(maxsize=20_000)
def _decoded(text: bytes) -> str:
    """Return a text, the same object for the same bytes: a million cells have few styles."""
    return text.decode()


class SheetRows:
    """Rows of one sheet of an editable workbook, by number.

    ``content`` is the part, without comments; ``prefix`` that of its elements; ``start`` the tag
    that begins the rows, from ``begin`` on, and ``end`` the position where they end.
    """

    def __init__(self, package: EditablePackage, part: str) -> None:
        self._package = package
        self.part = part
        self.content = xml.without_comments(package.read(part))
        self.begin, after, tag = find_sheet_data(self.content)
        self.after = after
        self.prefix = tag.removesuffix(b"sheetData")
        self.start = self.content[self.begin : self.content.index(b">", self.begin) + 1]
        is_empty = self.start.endswith(b"/>")
        self.end = after if is_empty else self.content.rindex(b"</", self.begin, after)
        self.rows: dict[int, RowXml] = {}
        number = 0
        for row in ROW.finditer(self.content, self.begin, self.end):
            declared = _ROW_NUMBER.search(row[2])
            number = int(declared[1]) if declared else number + 1
            self.rows[number] = RowXml(number, row[2], row[0], row.start())

    def cells(self, number: int) -> dict[int, CellXml]:
        """Return the cells of a row by column."""
        row = self.rows.get(number)
        return {} if row is None else {cell.column: cell for cell in row.cells()}

    def text(self, cell: CellXml) -> str:
        """Return a cell's value as a text."""
        if cell.type == "inlineStr":
            return unescape(b"".join(_TEXT.findall(cell.content)).decode())
        value = _VALUE.search(cell.content)
        text = unescape(value[1].decode()) if value else ""
        if cell.type == "s" and text.strip().isdecimal():
            number = int(text)
            return self._shared_texts[number] if number < len(self._shared_texts) else ""
        return text

    @cached_property
    def _shared_texts(self) -> list[str]:
        package = self._package
        part = package.related(package.workbook, "sharedStrings")
        if part is None or part not in package:
            return []
        items = etree.iterparse(BytesIO(package.read(part)), tag="{*}si", huge_tree=True)
        return [
            "".join(
                text.text or ""
                for text in item.iter("{*}t")
                if not xml.local_name(text.getparent()).startswith("rPh")
            )
            for _, item in items
        ]


_ANY_FORMULA = re.compile(rb"<(?:[\w.-]+:)?f[\s/>]")
_ROW = re.compile(
    rb"""<((?:[\w.-]+:)?row)\b(?P<before>[^>]*?\sr=["'])(?P<number>\d+)(?P<after>["'][^>]*?)"""
    rb"(?:/>|>.*?</\1\s*>)",
    re.DOTALL,
)
_ANY_ROW = re.compile(rb"<(?:[\w.-]+:)?row[\s/>]")
_START_OF_CELL = re.compile(rb"""(<(?:[\w.-]+:)?c\b[^>]*?\sr=["'][A-Z]+)\d+""")
_PLACES = re.compile(
    rb"""(\b(?:ref|sqref|activeCell|topLeftCell)=["']|<(?:[\w.-]+:)?sqref>)([^"'<]*)"""
)
_MOVED_ADDRESS = re.compile(rb"(\$?[A-Z]{1,3}\$?)(\d+)")
POSITION = re.compile(rb"(<(?:[\w.-]+:)?[rR]ow>\s*)(\d+)")
"""Row of a drawing or note, counted from zero."""

_WITH_ADDRESSES = frozenset({"table", "comments", "threadedComment"})
_WITH_POSITIONS = frozenset({"drawing", "vmlDrawing"})


def place_rows(package: EditablePackage, sheet: str, order: Sequence[int]) -> bool:
    """Put the rows of a sheet in an order, a list of the numbers that they have now, and number
    them anew; ranges, notes, tables, drawings and names follow their rows.

    Returns whether it did: a workbook with formulas, or rows without numbers, stays as it is.
    """
    sheets = SheetList(package)
    part = sheets.part(sheet)
    content = package.read(part)
    begin, end, _ = find_sheet_data(content)
    data = content[begin:end]
    rows = list(_ROW.finditer(data))
    is_numbered = len(rows) == len(_ANY_ROW.findall(data))
    if not is_numbered or any(_ANY_FORMULA.search(package.read(one)) for one in sheets.parts()):
        return False
    new = {row: number for number, row in enumerate(order, start=1)}

    def moved(number: bytes) -> bytes:
        return b"%d" % new.get(int(number), int(number))

    def move_addresses(text: bytes) -> bytes:
        return _MOVED_ADDRESS.sub(lambda found: found[1] + moved(found[2]), text)

    def move_places(text: bytes) -> bytes:
        return _PLACES.sub(lambda found: found[1] + move_addresses(found[2]), text)

    if rows:
        data = b"".join(
            (
                data[: rows[0].start()],
                *_numbered(rows, moved),
                data[rows[-1].end() :],
            )
        )
    package.write(part, move_places(content[:begin]) + data + move_places(content[end:]))
    for kind, target in package.relations(part):
        if kind in _WITH_ADDRESSES:
            package.write(target, move_places(package.read(target)))
        elif kind in _WITH_POSITIONS:
            package.write(
                target,
                POSITION.sub(
                    lambda found: found[1] + b"%d" % (int(moved(b"%d" % (int(found[2]) + 1))) - 1),
                    package.read(target),
                ),
            )
    sheets.move_names(sheet, lambda text: move_addresses(text.encode()).decode())
    sheets.save()
    return True


def _numbered(rows: Sequence[re.Match[bytes]], moved: Callable[[bytes], bytes]) -> list[bytes]:
    """Return rows with their new numbers, in the order of these."""
    placed = []
    for row in rows:
        number = moved(row["number"])
        content = row[0]
        if number != row["number"]:
            start = row.end("number") - row.start()
            cells = _START_OF_CELL.sub(rb"\g<1>" + number, content[start:])
            content = content[: row.start("number") - row.start()] + number + cells
        placed.append((int(number), content))
    return [content for _, content in sorted(placed)]
