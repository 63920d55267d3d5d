"""Changes of single cells in a workbook that otherwise stays unchanged, and its styles: styles are
added, existing ones never changed.

Only the rows of changed cells are written anew: libraries that read and write a whole workbook lose
pictures and the stored results of formulas.
"""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from datetime import date
from decimal import Decimal
from functools import cache

from lxml import etree

from xlbridge.resources.findings import CorrectedValue
from xlbridge.workbook.address import CellPosition, cell_address, cell_range
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.editable_package import (
    EditablePackage,
    SheetList,
    cells_by_column,
)
from xlbridge.workbook.edit.sheet_rows import ROW, SheetRows
from xlbridge.workbook.formats import format_code, is_date_or_time, scale_factor
from xlbridge.workbook.style import FONT

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

_GENERAL, _AMOUNT, _DATE, _TEXT = 0, 4, 14, 49
_DATE_FORMATS = frozenset({14, 15, 16, 17, 22})
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')


class WorkbookStyles:
    """Styles of a workbook, to which others are added."""

    def __init__(self, package: EditablePackage) -> None:
        self._package = package
        self._part = package.related(package.workbook, "styles")
        self._root = xml.parse(package.read(self._part) if self._part else _EMPTY_STYLE_SHEET)
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
        for default in list(xml.parse(template)):
            listing = xml.find_or_insert(self._root, xml.local_name(default), _ELEMENT_ORDER)
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
        ``quoted`` has the effect of ``with_quote_prefix``.
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

    def with_quote_prefix(self, style: int) -> str:
        """Return the id of a cell style with a quote prefix.

        Without it, programs evaluate a text that starts with ``=``, ``+``, ``-`` or ``@`` as a
        formula once its cell was edited.
        """
        return self._derive(style, quotePrefix="1")

    def for_date(self, style: int) -> int:
        """Return a style that displays dates, like ``style`` otherwise."""
        number, code = self._number_format(style)
        letters = _LITERAL.sub("", code).lower()
        shows_date = number in _DATE_FORMATS or ("d" in letters and "y" in letters)
        return style if shows_date else self._with_number_format(style, _DATE)

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
        return style if self._shows_text(style) else self._with_number_format(style, _TEXT)

    def _shows_text(self, style: int) -> bool:
        number, code = self._number_format(style)
        return number == _TEXT or code == "@"

    def _number_format(self, style: int) -> tuple[int, str]:
        """Return the number format of a cell style: its id and its code, empty if built in."""
        styles = self._root.findall("{*}cellXfs/*")
        number = styles[style].get("numFmtId", "0") if style < len(styles) else "0"
        return int(number), self._codes.get(number, "")

    def _derive(self, style: int, **attributes: str) -> str:
        derived = deepcopy(self._root.findall("{*}cellXfs/*")[style])
        derived.attrib.update(attributes)
        return self._add("cellXfs", derived)

    def save(self) -> None:
        """Write the part."""
        if self._part is None:
            name = self._package.unused_name("xl/styles{}.xml")
            self._part = name if _DEFAULT_PART in self._package else _DEFAULT_PART
            self._package.add_part(self._part, _TYPE, self._package.workbook, "styles")
        self._package.write(self._part, xml.to_bytes(self._root))

    def _add_xml(self, name: str, content: str) -> str:
        space = etree.QName(self._root).namespace or ""
        (element,) = xml.parse(f'<{name} xmlns="{space}">{content}</{name}>'.encode())
        return self._add(name, element)

    def _add(self, name: str, element: xml.Element) -> str:
        """Return the index of an element in a list, to which it is added unless it is there."""
        listing = xml.find_or_insert(self._root, name, _ELEMENT_ORDER)
        content = _canonical(element)
        items = [item for item in listing if isinstance(item.tag, str)]
        for index, item in enumerate(items):
            if _canonical(item) == content:
                return str(index)
        listing.append(element)
        listing.set("count", str(len(items) + 1))
        return str(len(items))


def _canonical(element: xml.Element) -> bytes:
    return bytes(etree.tostring(element, method="c14n", exclusive=True, with_tail=False))


_ROOT = re.compile(rb"<([\w:.-]+)[^>]*>")
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
        self._sheet = SheetRows(package, self._sheets.part(sheet))

    def locked_cells(self, positions: Collection[CellPosition]) -> frozenset[CellPosition]:
        """Return those cells that cannot be changed, as a formula computes them."""
        computed = {p for p, c in self._cells(positions).items() if c.find("{*}f") is not None}
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
            texts = enumerate(xml.parse(package.read(part)).iterfind("{*}si"))
            rich_texts = {str(n) for n, item in texts if item.find("{*}r") is not None}
        return frozenset(
            position
            for position, cell in cells.items()
            if cell.find("{*}is/{*}r") is not None
            or (cell.get("t") == "s" and cell.findtext("{*}v", "").strip() in rich_texts)
        )

    def write_values(self, values: Mapping[CellPosition, CorrectedValue]) -> None:
        """Replace the values of cells, none of which may be locked; missing rows are added."""
        by_row: defaultdict[int, dict[int, CorrectedValue]] = defaultdict(dict)
        for (row, column), value in values.items():
            by_row[row][column] = value
        numbers = sorted(by_row)
        data = self._parse_rows(numbers)
        for number, row in zip(numbers, data, strict=True):
            cells = dict(cells_by_column(row))
            for column, value in sorted(by_row[number].items()):
                cell = cells.get(column)
                if cell is None:
                    cell = etree.Element(xml.tag_like(row, "c"))
                    row.insert(sum(known < column for known in cells), cell)
                    cells[column] = cell
                cell.set("r", cell_address(number, column))
                self._write_value(cell, value)
        sheet = self._sheet
        written = ROW.finditer(etree.tostring(data.getparent(), encoding="UTF-8"))
        existing = sorted(sheet.rows)
        starts = [*(sheet.rows[number].start for number in existing), sheet.end]
        pieces, done = [], 0
        for number, new in zip(numbers, written, strict=True):
            old = sheet.rows.get(number)
            begin, end = (old.start, old.end) if old else (starts[bisect(existing, number)],) * 2
            pieces += [sheet.content[done:begin], new[0]]
            done = end
        self._package.write(sheet.part, b"".join((*pieces, sheet.content[done:])))
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
        for part in self._sheets.parts() if renamed else ():
            with package.tree(part) as sheet:
                for formula in sheet.iter("{*}f"):
                    text = formula.text or ""
                    for old, new in renamed.items():
                        # A name alone with signs in it has two pairs of brackets.
                        alone = re.compile(rf"(?<=\w){re.escape(old)}")
                        text = alone.sub(lambda _, new=new: f"[{new}]", text).replace(old, new)
                    formula.text = text

    def _cells(self, positions: Collection[CellPosition]) -> dict[CellPosition, xml.Element]:
        """Return those cells that are in the sheet."""
        numbers = sorted({row for row, _ in positions})
        return {
            (number, column): cell
            for number, row in zip(numbers, self._parse_rows(numbers), strict=True)
            for column, cell in cells_by_column(row)
            if (number, column) in positions
        }

    def _parse_rows(self, numbers: Iterable[int]) -> xml.Element:
        """Return the element of the rows with only the given ones; missing ones are empty."""
        sheet = self._sheet
        root = next(_ROOT.finditer(sheet.content))
        rows = (
            sheet.rows[n].xml if n in sheet.rows else b'<%srow r="%d"/>' % (sheet.prefix, n)
            for n in numbers
        )
        end = b"</%ssheetData></%s>" % (sheet.prefix, root[1])
        return xml.parse(b"".join((root[0], sheet.start, *rows, end)))[0]

    def _write_value(self, cell: xml.Element, value: CorrectedValue) -> None:
        style, kind = int(cell.get("s", "0")), cell.attrib.pop("t", None)
        cell[:] = []
        match value:
            case str() if value:
                style = style if kind in {"s", "inlineStr", "str"} else self._styles.for_text(style)
                cell.set("t", "inlineStr")
                xml.add_escaped_text(xml.add_child(cell, "is"), value)
            case Decimal():
                style = self._styles.for_number(style)
                xml.add_child(cell, "v").text = f"{value:f}"
            case date():
                style = self._styles.for_date(style)
                first_day = _FIRST_DAY[self._sheets.uses_1904_dates]
                xml.add_child(cell, "v").text = str((value - first_day).days)
        cell.set("s", str(style))
