"""Rows and cells of one sheet as they are written, styles for new ones, and changes of values.

What does not change keeps its bytes, also when rows are put in another order.
"""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import date
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from html import unescape
from io import BytesIO
from typing import NamedTuple
from xml.sax.saxutils import escape

from lxml import etree

from xlbridge.resources.findings import CorrectedValue
from xlbridge.workbook.address import (
    CellPosition,
    cell_address,
    cell_place,
    cell_position,
    cell_range,
    column_index,
    escape_text,
)
from xlbridge.workbook.edit.editable_package import (
    EditablePackage,
    Element,
    SheetList,
    find_or_insert,
    find_sheet_data,
    local_name,
    parse_xml,
    tag_like,
    without_comments,
    xml_bytes,
)
from xlbridge.workbook.formats import (
    displayed_date_parts,
    format_code,
    is_date_or_time,
    scale_factor,
)
from xlbridge.workbook.style import FONT

ROW = re.compile(rb"<((?:[\w.-]+:)?row)\b([^>]*?)(?:/>|>.*?</\1\s*>)", re.DOTALL)
"""A row; the second group has its attributes."""

_ROW_NUMBER = re.compile(rb"""(\sr=["'])(\d+)(["'])""")
_START_OF_CELL = re.compile(rb"""(<(?:[\w.-]+:)?c\b[^>]*?\sr=["'][A-Z]+)\d+""")
_CELL = re.compile(rb"<((?:[\w.-]+:)?c)\b([^>]*?)(?:/>|>(.*?)</\1\s*>)", re.DOTALL)
_PLAIN_CELL = re.compile(rb"<c\b([^>]*?)(?:/>|>(.*?)</c\s*>)", re.DOTALL)
_ATTRIBUTE = re.compile(rb"""\b([rst])=["']([^"']*)["']""")
_USUAL_ATTRIBUTES = re.compile(rb' r="([A-Z]{1,3})[0-9]+"(?: s="([0-9]+)")?(?: t="([A-Za-z]+)")?')
_ADDRESS = re.compile(rb"""\sr=["'][A-Z]+\d+["']""")
_SPANS = re.compile(rb"""\sspans=["'][^"']*["']""")
_FORMULA = re.compile(rb"<((?:[\w.-]+:)?f)\b([^>]*?)(?:/>|>([^<]*)</\1\s*>)")
_FORMULA_ATTRIBUTE = re.compile(rb"""\b(t|ref|si)=["']([^"']*)["']""")
_VALUE = re.compile(rb"<(?:[\w.-]+:)?v\b[^>]*>([^<]*)<")
_TEXT = re.compile(rb"<(?:[\w.-]+:)?t\b[^>]*>([^<]*)<")
_RUN = re.compile(rb"<(?:[\w.-]+:)?r[\s/>]")


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
    def value(self) -> str:
        """The value as it is written, empty without one."""
        found = _VALUE.search(self.content)
        return unescape(found[1].decode()) if found else ""

    @property
    def is_filled(self) -> bool:
        """True if the cell has a value or a formula."""
        if _FORMULA.search(self.content):
            return True
        value = _VALUE.search(self.content) or _TEXT.search(self.content)
        return value is not None and bool(value[1])

    def at(self, row: int) -> bytes:
        """Return the cell as it is written in a row, with its address; the formula stays as it
        is."""
        address = b' r="%s"' % cell_address(row, self.column).encode()
        if self.xml.startswith(address, len("<c")):
            return self.xml
        start, end, rest = self.xml.partition(b">")
        tag, *_ = start.rstrip(b"/").split(None, 1)
        return tag + address + _ADDRESS.sub(b"", start)[len(tag) :] + end + rest


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

    def at(self, number: int) -> bytes:
        """Return the row as it is written with another number."""
        start, end, cells = self.xml.partition(b">")
        start = _ROW_NUMBER.sub(lambda found: found[1] + b"%d" % number + found[3], start)
        return start + end + _START_OF_CELL.sub(rb"\g<1>%d" % number, cells)

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


def text_cell(prefix: bytes, address: str, style: str, text: str) -> bytes:
    """Return a cell with an inline text, which is never a formula; ``prefix`` is that of tags."""
    content = escape(escape_text(text)).encode()
    start = b'<%sc r="%s" s="%s" t="inlineStr">' % (prefix, address.encode(), style.encode())
    inline = b'<%sis><%st xml:space="preserve">%s</%st></%sis>' % (
        *(prefix, prefix, content, prefix, prefix),
    )
    return b"%s%s</%sc>" % (start, inline, prefix)


class SheetRows:
    """Rows of one sheet of an editable workbook, by number.

    ``content`` is the part, without comments; ``prefix`` that of its elements; ``start`` the tag
    that begins the rows, from ``begin`` on, and ``end`` the position where they end.
    """

    def __init__(self, package: EditablePackage, part: str) -> None:
        self._package = package
        self.part = part
        self.content = without_comments(package.read(part))
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
            number = int(declared[2]) if declared else number + 1
            self.rows[number] = RowXml(number, row[2], row[0], row.start())

    def cells(self, number: int) -> dict[int, CellXml]:
        """Return the cells of a row by column."""
        row = self.rows.get(number)
        return {} if row is None else {cell.column: cell for cell in row.cells()}

    def with_cells(self, written: Mapping[CellPosition, bytes]) -> bytes:
        """Return the part with some cells as given, without those that are empty; missing rows are
        added."""
        by_row: defaultdict[int, dict[int, bytes]] = defaultdict(dict)
        for (number, column), content in written.items():
            by_row[number][column] = content
        existing = sorted(self.rows)
        starts = [*(self.rows[number].start for number in existing), self.end]
        pieces, done = [], 0
        for number in sorted(by_row):
            old, before = self.rows.get(number), self.cells(number)
            cells = {column: cell.at(number) for column, cell in before.items()} | by_row[number]
            content = b"".join(cells[column] for column in sorted(cells))
            start = b'<%srow r="%d">' % (self.prefix, number)
            end = b"</%srow>" % self.prefix
            begin = after = starts[bisect(existing, number)]
            if old is not None:
                begin, after = old.start, old.end
                start = b"<%srow%s>" % (self.prefix, _SPANS.sub(b"", old.attributes))
                if before:
                    last = before[max(before)].xml
                    end = old.xml[old.xml.rindex(last) + len(last) :]
            pieces += [self.content[done:begin], start, content, end]
            done = after
        return b"".join((*pieces, self.content[done:]))

    def text(self, cell: CellXml) -> str:
        """Return a cell's value as a text."""
        if cell.type == "inlineStr":
            return unescape(b"".join(_TEXT.findall(cell.content)).decode())
        if cell.type == "s" and cell.value.strip().isdecimal():
            number = int(cell.value)
            return self._shared_texts[number] if number < len(self._shared_texts) else ""
        return cell.value

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
                if not local_name(text.getparent()).startswith("rPh")
            )
            for _, item in items
        ]


_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_DEFAULT_PART = "xl/styles.xml"
"""The only name under which some readers find the part."""

_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"
_EMPTY_STYLE_SHEET = f"""\
<styleSheet xmlns="{_MAIN}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font>\
</fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill>\
<patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/>\
<top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>\
<cellXfs count="1"><xf xfId="0"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" \
xfId="0" builtinId="0"/></cellStyles></styleSheet>""".encode()
_ELEMENT_ORDER = [
    "numFmts", "fonts", "fills", "borders", "cellStyleXfs", "cellXfs", "cellStyles", "dxfs",
    "tableStyles", "colors", "extLst",
]  # fmt: skip

_GENERAL, _AMOUNT, _DATE, _AS_TEXT = 0, 4, 14, 49


class WorkbookStyles:
    """Styles of a workbook, to which others are added."""

    def __init__(self, package: EditablePackage) -> None:
        self._package = package
        self._part = package.related(package.workbook, "styles")
        self._root = parse_xml(package.read(self._part) if self._part else _EMPTY_STYLE_SHEET)
        self._codes = {
            item.get("numFmtId"): item.get("formatCode", "")
            for item in self._root.findall("{*}numFmts/*")
        }
        self._with_number_format = cache(
            lambda style, number: int(
                self._derive(style, numFmtId=str(number), applyNumberFormat="1")
            )
        )
        # The first entry of each list is that of unformatted cells.
        space = etree.QName(self._root).namespace or ""
        template = _EMPTY_STYLE_SHEET.replace(_MAIN.encode(), space.encode())
        for default in list(parse_xml(template)):
            listing = find_or_insert(self._root, local_name(default), _ELEMENT_ORDER)
            if not len(listing):
                self._root.replace(listing, default)

    def highlight(self, colour: str, font: str) -> str:
        """Return the id of a differential style with a fill colour and a font colour.

        Without the latter, a header's white text would be invisible on a light fill.
        """
        return self._add_xml(
            "dxfs",
            f'<dxf><font><color rgb="FF{font}"/></font><fill><patternFill patternType="solid">'
            f'<fgColor rgb="FF{colour}"/><bgColor rgb="FF{colour}"/></patternFill></fill></dxf>',
        )

    def cell(
        self,
        font: str,
        fill: str | None = None,
        alignment: str = 'vertical="top"',
        *,
        quoted: bool = False,
    ) -> str:
        """Return the id of a cell style.

        ``font``: a font's elements as XML, without its name; ``alignment``: attributes as XML.
        A text that starts with ``=``, ``+``, ``-`` or ``@`` needs to be ``quoted``: without that,
        programs evaluate it as a formula once its cell was edited.
        """
        font_id = self._add_xml("fonts", f'<font>{font}<name val="{FONT}"/></font>')
        pattern = f'<patternFill patternType="solid"><fgColor rgb="FF{fill}"/></patternFill>'
        fill_id = self._add_xml("fills", f"<fill>{pattern}</fill>") if fill else "0"
        quote = ' quotePrefix="1"' if quoted else ""
        return self._add_xml(
            "cellXfs",
            f'<xf numFmtId="0" borderId="0" xfId="0" fontId="{font_id}" fillId="{fill_id}" '
            f'applyFont="1" applyFill="1" applyAlignment="1"{quote}><alignment {alignment}/></xf>',
        )

    def for_remark(self, style: int) -> str:
        """Return the id of a style for quoted texts, apart from a number on their left."""
        beside = {"horizontal": "left", "indent": "1"}
        return self._derive(style, beside, quotePrefix="1", applyAlignment="1")

    def for_date(self, style: int) -> int:
        """Return a style that displays dates, like ``style`` otherwise."""
        shown = displayed_date_parts(format_code(*map(str, self._number_format(style))))
        return style if {"d", "y"} <= shown else self._with_number_format(style, _DATE)

    def for_number(self, style: int) -> int:
        """Return a style that displays numbers unchanged, like ``style`` otherwise."""
        code = format_code(*map(str, self._number_format(style)))
        is_other = self._shows_text(style) or is_date_or_time(code) or scale_factor(code) != 1
        return self._with_number_format(style, _GENERAL) if is_other else style

    def for_amount(self, style: int) -> int:
        """Return a style that displays amounts, like ``style`` otherwise."""
        return self._with_number_format(style, _AMOUNT)

    def for_text(self, style: int) -> int:
        """Return a style that keeps typed digits as text, like ``style`` otherwise."""
        return style if self._shows_text(style) else self._with_number_format(style, _AS_TEXT)

    def _shows_text(self, style: int) -> bool:
        number, code = self._number_format(style)
        return number == _AS_TEXT or code == "@"

    def _number_format(self, style: int) -> tuple[int, str]:
        """Return the number format of a cell style: its id and its code, empty if built in."""
        styles = self._root.findall("{*}cellXfs/*")
        number = styles[style].get("numFmtId", "0") if style < len(styles) else "0"
        return int(number), self._codes.get(number, "")

    def _derive(
        self, style: int, alignment: Mapping[str, str] | None = None, **attributes: str
    ) -> str:
        derived = deepcopy(self._root.findall("{*}cellXfs/*")[style])
        derived.attrib.update(attributes)
        if alignment is not None:
            for own in derived.findall("{*}alignment"):
                derived.remove(own)
            derived.insert(0, etree.Element(tag_like(derived, "alignment"), alignment))
        return self._add("cellXfs", derived)

    def save(self) -> None:
        """Write the part."""
        if self._part is None:
            name = self._package.unused_name("xl/styles{}.xml")
            self._part = name if _DEFAULT_PART in self._package else _DEFAULT_PART
            self._package.add_part(self._part, _TYPE, self._package.workbook, "styles")
        self._package.write(self._part, xml_bytes(self._root))

    def _add_xml(self, name: str, content: str) -> str:
        space = etree.QName(self._root).namespace or ""
        (element,) = parse_xml(f'<{name} xmlns="{space}">{content}</{name}>'.encode())
        return self._add(name, element)

    def _add(self, name: str, element: Element) -> str:
        """Return the index of an element in a list, to which it is added unless it is there."""
        listing = find_or_insert(self._root, name, _ELEMENT_ORDER)
        content = _canonical(element)
        items = [item for item in listing if isinstance(item.tag, str)]
        for index, item in enumerate(items):
            if _canonical(item) == content:
                return str(index)
        listing.append(element)
        listing.set("count", str(len(items) + 1))
        return str(len(items))


def _canonical(element: Element) -> bytes:
    return bytes(etree.tostring(element, method="c14n", exclusive=True, with_tail=False))


_ARRAY = re.compile(
    rb"""<(?:[\w.-]+:)?f\b(?=[^>]*\st=["'](?:array|dataTable)["'])[^>]*?"""
    rb"""\sref=["']([A-Z\d:]+)["']"""
)
_FIRST_DAY = {False: date(1899, 12, 30), True: date(1904, 1, 1)}


class EditableCells:
    """Cells of one sheet of an editable workbook."""

    def __init__(self, package: EditablePackage, sheet: str) -> None:
        self._package = package
        self._sheets = SheetList(package)
        self._styles = WorkbookStyles(package)
        self._part = self._sheets.part(sheet)
        self._sheet = SheetRows(package, self._part)

    def notes(self) -> dict[CellPosition, str]:
        """Return the texts of the notes, by cell."""
        part = self._package.related(self._part, "comments")
        notes = () if part is None else parse_xml(self._package.read(part)).iter("{*}comment")
        return {
            cell_position(note.get("ref", "").replace("$", "")): "".join(
                text.text or "" for text in note.iter("{*}t")
            )
            for note in notes
        }

    def locked_cells(self, positions: Collection[CellPosition]) -> frozenset[CellPosition]:
        """Return those cells that cannot be changed, as a formula computes them."""
        computed = {p for p, cell in self._cells(positions).items() if cell.formula is not None}
        for reference in _ARRAY.findall(self._sheet.content):
            top, left, low, right = cell_range(reference.decode()) or (0, 0, 0, 0)
            computed.update(p for p in positions if top <= p[0] <= low and left <= p[1] <= right)
        return frozenset(computed)

    def rich_text_cells(self, positions: Collection[CellPosition]) -> frozenset[CellPosition]:
        """Return those cells whose text has formatted parts."""
        cells = self._cells(positions)
        package = self._package
        part = package.related(package.workbook, "sharedStrings") if cells else None
        rich_texts = set[str]()
        if part is not None and part in package:
            texts = enumerate(parse_xml(package.read(part)).iterfind("{*}si"))
            rich_texts = {str(n) for n, item in texts if item.find("{*}r") is not None}
        return frozenset(
            position
            for position, cell in cells.items()
            if (cell.type == "inlineStr" and _RUN.search(cell.content))
            or (cell.type == "s" and cell.value.strip() in rich_texts)
        )

    def write_values(self, values: Mapping[CellPosition, CorrectedValue]) -> None:
        """Replace the values of cells, none of which may be locked; missing rows are added."""
        cells = self._cells(values)
        written = {
            position: self._written(cell_address(*position), cells.get(position), value)
            for position, value in values.items()
        }
        self._package.write(self._sheet.part, self._sheet.with_cells(written))
        self._sheets.recalculate_on_load()
        self._sheets.save()
        self._styles.save()

    def write_headers(self, row: int, headers: Mapping[int, str]) -> None:
        """Replace the headers in a row by zero-based column, also those of tables, and in formulas
        that name a table's column."""
        package, renamed = self._package, dict[str, str]()
        for kind, part in package.relations(self._sheet.part) if headers else ():
            if kind != "table":
                continue
            with package.tree(part) as table:
                top, left, *_ = cell_range(table.get("ref", "")) or (0, 0)
                for column, item in enumerate(table.iterfind("{*}tableColumns/*"), left):
                    if top == row and column in headers:
                        renamed[f"[{item.get('name')}]"] = f"[{headers[column]}]"
                        item.set("name", headers[column])
        if headers:
            self.write_values({(row, column): text for column, text in headers.items()})
        for part in self._sheets.by_name().values() if renamed else ():
            with package.tree(part) as sheet:
                for formula in sheet.iter("{*}f"):
                    text = formula.text or ""
                    for old, new in renamed.items():
                        # A name alone with signs in it has two pairs of brackets.
                        alone = re.compile(rf"(?<=\w){re.escape(old)}")
                        text = alone.sub(lambda _, new=new: f"[{new}]", text).replace(old, new)
                    formula.text = text

    def _cells(self, positions: Collection[CellPosition]) -> dict[CellPosition, CellXml]:
        """Return those cells that are in the sheet."""
        return {
            (number, column): cell
            for number in {row for row, _ in positions}
            for column, cell in self._sheet.cells(number).items()
            if (number, column) in positions
        }

    def _written(self, address: str, cell: CellXml | None, value: CorrectedValue) -> bytes:
        """Return the cell of an address with another value."""
        style, prefix, number = int(cell.style) if cell else 0, self._sheet.prefix, ""
        match value:
            case str() if value:
                is_text = cell is not None and cell.type in {"s", "inlineStr", "str"}
                style = style if is_text else self._styles.for_text(style)
                return text_cell(prefix, address, str(style), value)
            case Decimal():
                style, number = self._styles.for_number(style), f"{value:f}"
            case date():
                first_day = _FIRST_DAY[self._sheets.uses_1904_dates]
                style, number = self._styles.for_date(style), str((value - first_day).days)
        content = b"<%sv>%s</%sv>" % (prefix, number.encode(), prefix) if number else b""
        start = b'<%sc r="%s" s="%d">' % (prefix, address.encode(), style)
        return b"%s%s</%sc>" % (start, content, prefix)


_ANY_FORMULA = re.compile(rb"<(?:[\w.-]+:)?f[\s/>]")
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
    rows = SheetRows(package, part)
    all_parts = map(package.read, sheets.by_name().values())
    is_numbered = all(_ROW_NUMBER.search(row.attributes) for row in rows.rows.values())
    if not is_numbered or any(map(_ANY_FORMULA.search, all_parts)):
        return False
    new = {row: number for number, row in enumerate(order, start=1)}

    def moved(number: bytes) -> bytes:
        return b"%d" % new.get(int(number), int(number))

    def move_addresses(text: bytes) -> bytes:
        return _MOVED_ADDRESS.sub(lambda found: found[1] + moved(found[2]), text)

    def move_places(text: bytes) -> bytes:
        return _PLACES.sub(lambda found: found[1] + move_addresses(found[2]), text)

    placed = sorted((new.get(number, number), number) for number in rows.rows)
    data = b"".join(rows.rows[old].at(number) for number, old in placed)
    head, tail = rows.content[: rows.begin], rows.content[rows.end :]
    package.write(part, b"".join((move_places(head), rows.start, data, move_places(tail))))
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
    own = cell_place(sheet, ""), f"{sheet}!"

    def move_name(text: str) -> str:
        place, mark, address = text.rpartition("!")
        moved_address = move_addresses(address.encode()).decode()
        return place + mark + moved_address if text.startswith(own) else text

    sheets.change_names(move_name)
    sheets.save()
    return True
