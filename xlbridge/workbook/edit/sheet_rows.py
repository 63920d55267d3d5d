"""Rows and cells of a worksheet as they are written: what does not change keeps its bytes."""

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from html import unescape
from io import BytesIO
from typing import NamedTuple

from lxml import etree

from xlbridge.workbook.address import cell_address, column_index
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.editable_package import EditablePackage, find_sheet_data

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
