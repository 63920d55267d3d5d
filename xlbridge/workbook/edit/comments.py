"""Comments of a sheet: remarks of xlbridge are added below the analyst's comments, or removed.

A comment has its text in one part and its box in another, a VML drawing.
"""

import math
import re
from collections.abc import Mapping
from functools import cache, partial

from lxml import etree

from xlbridge.workbook.address import CellPosition, cell_position
from xlbridge.workbook.edit.editable_package import (
    RELATIONS,
    SHEET_ORDER,
    EditablePackage,
    Element,
    add_child,
    add_text,
    find_or_insert,
    parse_xml,
    relation_id,
    xml_bytes,
)
from xlbridge.workbook.read.cells import TRUE

_SEPARATOR = "——— xlbridge ———"
_AUTHOR = "xlbridge"
_THREAD_AUTHOR = "tc="
"""Prefix of the author of a comment that is the placeholder of a thread."""

_WIDTH, _LINE_HEIGHT, _LINE_LENGTH, _ROW_HEIGHT = 340, 18, 50, 20
_PIXELS_PER_LETTER, _PADDING, _COLUMN_PIXELS = 7, 5, 64
_FIRST_SHAPE = 1025
_SHAPES_PER_BLOCK = 1024
_SHAPE_NUMBER = re.compile(r"_s(\d+)$")
_COMMENTS_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.comments+xml"
_DRAWING_TYPE = "application/vnd.openxmlformats-officedocument.vmlDrawing"
_STRICT_RELATIONS = "http://purl.oclc.org/ooxml/officeDocument/relationships"
_V, _O, _X = (
    "urn:schemas-microsoft-com:vml",
    "urn:schemas-microsoft-com:office:office",
    "urn:schemas-microsoft-com:office:excel",
)
_NEW_COMMENTS = '<comments xmlns="{}"><authors/><commentList/></comments>'
_NEW_DRAWING = f"""\
<xml xmlns:v="{_V}" xmlns:o="{_O}" xmlns:x="{_X}"><o:shapelayout v:ext="edit">\
<o:idmap v:ext="edit" data="1"/></o:shapelayout></xml>""".encode()
_SHAPE_TYPE = f"""\
<v:shapetype xmlns:v="{_V}" xmlns:o="{_O}" id="_x0000_t202" coordsize="21600,21600" o:spt="202" \
path="m,l,21600r21600,l21600,xe"><v:stroke joinstyle="miter"/>\
<v:path gradientshapeok="t" o:connecttype="rect"/></v:shapetype>"""
_SHAPE = f"""\
<v:shape xmlns:v="{_V}" xmlns:o="{_O}" xmlns:x="{_X}" id="_x0000_s{{number}}" \
type="#_x0000_t202" style="position:absolute;width:{_WIDTH * 0.75:g}pt;z-index:1;\
visibility:hidden" fillcolor="#ffffe1" o:insetmode="auto"><v:fill color2="#ffffe1"/>\
<v:shadow on="t" color="black" obscured="t"/><v:path o:connecttype="none"/>\
<v:textbox style="mso-direction-alt:auto"><div style="text-align:left"/></v:textbox>\
<x:ClientData ObjectType="Note"><x:MoveWithCells/><x:SizeWithCells/><x:Anchor/>\
<x:AutoFill>False</x:AutoFill><x:Row>{{row}}</x:Row><x:Column>{{column}}</x:Column>\
</x:ClientData></v:shape>"""


def replace_comments(
    package: EditablePackage, part: str, worksheet: Element, remarks: Mapping[str, str]
) -> None:
    """Replace earlier remarks by new ones, by cell address. Threads of comments are not changed.

    ``worksheet`` is the tree of ``part``.
    """
    comments = _SheetComments(package, part, worksheet)
    comments.remove_remarks()
    for address, remark in remarks.items():
        comments.add(address, remark)
    comments.save()


class _SheetComments:
    """Comments of one sheet, and their boxes."""

    def __init__(self, package: EditablePackage, part: str, worksheet: Element) -> None:
        self._package, self._part, self._worksheet = package, part, worksheet
        self._texts_part = package.related(part, "comments")
        drawing = worksheet.find("{*}legacyDrawing")
        self._boxes_part = (
            None if drawing is None else package.relation_target(part, relation_id(drawing))
        )
        self._texts = parse_xml(
            package.read(self._texts_part)
            if self._texts_part
            else _NEW_COMMENTS.format(etree.QName(worksheet).namespace).encode()
        )
        # VML drawings may be malformed XML.
        self._boxes = parse_xml(
            package.read(self._boxes_part) if self._boxes_part else _NEW_DRAWING, recover=True
        )
        self._column_width = cache(partial(_column_width, worksheet))
        self._shapes: dict[CellPosition, Element] = {}
        numbers = []
        for shape in self._boxes.iter(f"{{{_V}}}shape"):
            if found := _SHAPE_NUMBER.search(shape.get("id") or ""):
                numbers.append(int(found[1]))
            row, column = (shape.find(f".//{{{_X}}}{name}") for name in ("Row", "Column"))
            if row is not None and column is not None:
                self._shapes[int(row.text) + 1, int(column.text)] = shape
        self._next = max(numbers, default=_FIRST_SHAPE - 1) + 1
        listed = self._texts.iterfind("{*}commentList/*")
        self._by_cell = {item.get("ref", "").replace("$", ""): item for item in listed}

    def remove_remarks(self) -> None:
        """Remove the remarks, and comments that have nothing else."""
        for address, comment in list(self._by_cell.items()):
            before, separator, _ = _plain_text(comment).partition(_SEPARATOR)
            if not separator:
                continue
            remaining = len(before.rstrip())
            for item in comment.iter("{*}t"):
                item.text = (item.text or "")[:remaining]
                remaining -= len(item.text)
            for run in comment.findall("{*}text/{*}r"):
                if not _plain_text(run):
                    run.getparent().remove(run)
            if before.strip():
                continue
            comment.getparent().remove(comment)
            del self._by_cell[address]
            shape = self._shapes.pop(cell_position(address), None)
            if shape is not None:
                shape.getparent().remove(shape)

    def add(self, address: str, remark: str) -> None:
        """Add a remark to a cell, below its comment."""
        comment = self._by_cell.get(address)
        if comment is None:
            comment = self._new_comment(address)
        else:
            authors = self._texts.findall("{*}authors/*")
            number = int(comment.get("authorId", "0"))
            author = str(authors[number].text or "") if number < len(authors) else ""
            if author.startswith(_THREAD_AUTHOR):
                return
        text: Element = comment.find("{*}text")
        before = "\n" if _plain_text(text) else ""
        plain = text.find("{*}t")
        if plain is not None:
            # Programs display either a plain text or runs, not both.
            run = add_child(text, "r")
            text.replace(plain, run)
            run.append(plain)
        add_text(add_child(text, "r"), f"{before}{_SEPARATOR}\n{remark}")
        self._fit(address, _plain_text(text))

    def save(self) -> None:
        """Write the parts, with relations to new ones."""
        has_texts, has_boxes = self._texts_part or self._by_cell, self._boxes_part or self._shapes
        if not (has_texts and has_boxes):
            return
        # Reserve the blocks of shape numbers in use.
        for item in self._boxes.iter(f"{{{_O}}}idmap"):
            blocks = {int(b) for b in item.get("data", "").split(",") if b.strip().isdigit()}
            blocks |= {number // _SHAPES_PER_BLOCK for number in range(_FIRST_SHAPE, self._next)}
            item.set("data", ",".join(map(str, sorted(blocks))))
        if self._texts_part is None:
            self._texts_part = self._package.unused_name("xl/comments{}.xml")
            self._package.add_part(self._texts_part, _COMMENTS_TYPE, self._part, "comments")
        if self._boxes_part is None:
            self._boxes_part = self._package.unused_name("xl/drawings/vmlDrawing{}.vml")
            self._package.declare_extension("vml", _DRAWING_TYPE)
            identity = self._package.add_relation(self._part, self._boxes_part, "vmlDrawing")
            drawing = find_or_insert(self._worksheet, "legacyDrawing", SHEET_ORDER)
            is_strict = "purl.oclc.org" in str(etree.QName(self._worksheet).namespace)
            drawing.set(f"{{{_STRICT_RELATIONS if is_strict else RELATIONS}}}id", identity)
        self._package.write(self._texts_part, xml_bytes(self._texts))
        self._package.write(self._boxes_part, etree.tostring(self._boxes, encoding="UTF-8"))

    def _new_comment(self, address: str) -> Element:
        if not any(item.get("id") == "_x0000_t202" for item in self._boxes):
            self._boxes.append(etree.fromstring(_SHAPE_TYPE))
        listing = self._texts.find("{*}commentList")
        names = [item.text for item in self._texts.findall("{*}authors/*")]
        if _AUTHOR not in names:
            add_child(self._texts.find("{*}authors"), "author").text = _AUTHOR
            names.append(_AUTHOR)
        comment = add_child(listing, "comment", ref=address, authorId=str(names.index(_AUTHOR)))
        add_child(comment, "text")
        self._by_cell[address] = comment
        row, column = cell_position(address)
        shape = etree.fromstring(_SHAPE.format(number=self._next, row=row - 1, column=column))
        self._next += 1
        self._boxes.append(shape)
        self._shapes[row, column] = shape
        return comment

    def _fit(self, address: str, text: str) -> None:
        """Fit the height of a box to its text: programs do not do it on opening."""
        row, column = cell_position(address)
        shape = self._shapes.get((row, column))
        data = None if shape is None else shape.find(f".//{{{_X}}}ClientData")
        if data is None:
            return
        anchor = find_or_insert(data, "Anchor", ("Anchor",))
        lines = sum(max(1, math.ceil(len(line) / _LINE_LENGTH)) for line in text.splitlines())
        rows, pixels = divmod((lines + 1) * _LINE_HEIGHT, _ROW_HEIGHT)
        last, rest = column + 1, _WIDTH
        while rest > self._column_width(last):
            rest -= self._column_width(last)
            last += 1
        top = max(row - 2, 0)
        edges = (column + 1, 15, top, 2, last, rest, top + rows, pixels)
        anchor.text = ", ".join(map(str, edges))


def _column_width(worksheet: Element, column: int) -> int:
    """Return the width of a zero-based column in pixels, 0 if it is hidden."""
    for item in worksheet.iterfind("{*}cols/*"):
        if int(item.get("min", "0")) <= column + 1 <= int(item.get("max", "0")):
            return 0 if item.get("hidden") in TRUE else _to_pixels(item.get("width", "9"))
    defaults = worksheet.find("{*}sheetFormatPr")
    width = None if defaults is None else defaults.get("defaultColWidth")
    return _to_pixels(width) if width else _COLUMN_PIXELS


def _to_pixels(letters: str) -> int:
    return int(float(letters) * _PIXELS_PER_LETTER) + _PADDING


def _plain_text(element: Element) -> str:
    return "".join(item.text or "" for item in element.iter("{*}t"))
