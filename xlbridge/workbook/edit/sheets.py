"""Sheets of an editable workbook: their list, and each sheet's part without its cells.

The cells stay as they are, to the byte.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lxml import etree

from xlbridge.workbook.address import cell_position
from xlbridge.workbook.edit.editable_package import (
    WORKBOOK,
    EditablePackage,
    Element,
    add_child,
    find_child,
    in_utf8,
    list_entries,
    local_name,
    parse_xml,
    relation_id,
    tag_like,
    to_xml,
)
from xlbridge.workbook.signature import SUMMARY_NAME

_SHEET_DATA = re.compile(rb"<((?:[\w.-]+:)?sheetData)\b[^<>]*?(/?)>")
_SELECTED = re.compile(
    rb"""(<(?:[\w.-]+:)?sheetView\b[^<>]*?)\s+tabSelected\s*=\s*["'][^"']*["']"""
)
_PIXELS_PER_LETTER, _PADDING, _COLUMN_PIXELS = 7, 5, 64
_ELEMENT_ORDER = [
    "sheetPr",
    "dimension",
    "sheetViews",
    "sheetFormatPr",
    "cols",
    "sheetData",
    "sheetCalcPr",
    "sheetProtection",
    "protectedRanges",
    "scenarios",
    "autoFilter",
    "sortState",
    "dataConsolidate",
    "customSheetViews",
    "mergeCells",
    "phoneticPr",
    "conditionalFormatting",
    "dataValidations",
    "hyperlinks",
    "printOptions",
    "pageMargins",
    "pageSetup",
    "headerFooter",
    "rowBreaks",
    "colBreaks",
    "customProperties",
    "cellWatches",
    "ignoredErrors",
    "smartTags",
    "drawing",
    "legacyDrawing",
    "legacyDrawingHF",
    "drawingHF",
    "picture",
    "oleObjects",
    "controls",
    "webPublishItems",
    "tableParts",
    "extLst",
]
"""The order that the format asks of a worksheet's elements (ECMA-376, CT_Worksheet)."""


@contextmanager
def edit_sheet_without_cells(package: EditablePackage, part: str) -> Iterator[Element]:
    """Give a worksheet as a tree without its cells, and put it back with them at the end.

    Raises ``ValueError`` when the part has no cells' element.
    """
    content = in_utf8(package.read(part))
    begin = _SHEET_DATA.search(content)
    if begin is None:
        raise ValueError(f"{part} is no worksheet")
    end = begin.end()
    if not begin[2]:
        end = content.index(b">", content.rindex(b"</" + begin[1])) + 1
    empty = b"<" + begin[1] + b"/>"
    frame = parse_xml(content[: begin.start()] + empty + content[end:])
    yield frame
    head, found, tail = to_xml(frame).partition(empty)
    if not found:
        raise ValueError(f"{part} cannot be written")
    package.put(part, head + content[begin.start() : end] + tail)


def insert_in_order(frame: Element, element: Element) -> None:
    """Put an element where the format wants it, behind others of its name."""
    place = _ELEMENT_ORDER.index(local_name(element))
    for item in frame:
        if local_name(item) in _ELEMENT_ORDER and _ELEMENT_ORDER.index(local_name(item)) > place:
            item.addprevious(element)
            return
    frame.append(element)


def merged_ranges(frame: Element) -> dict[tuple[int, int, int, int], str]:
    """Return the merged ranges (first row and column, last row and column; zero-based columns)
    with the address of the cell that each shows."""
    ranges = {}
    for item in list_entries(frame, "mergeCells"):
        first, _, last = item.get("ref", "").partition(":")
        if first and last:
            ranges[(*cell_position(first), *cell_position(last))] = first
    return ranges


class ColumnWidths:
    """Widths of the columns of a sheet, in pixels."""

    def __init__(self, frame: Element) -> None:
        preset = find_child(frame, "sheetFormatPr")
        wide = None if preset is None else preset.get("defaultColWidth")
        self._preset = _to_pixels(wide) if wide else _COLUMN_PIXELS
        self._spans = [
            (int(item.get("min", "0")) - 1, int(item.get("max", "0")) - 1, item)
            for item in list_entries(frame, "cols")
        ]

    def of(self, column: int) -> int:
        """Return the width of a zero-based column; a hidden one has none."""
        for first, last, item in self._spans:
            if first <= column <= last:
                hidden = item.get("hidden") in {"1", "true"}
                return 0 if hidden else _to_pixels(item.get("width", "9"))
        return self._preset


def _to_pixels(letters: str) -> int:
    return int(float(letters) * _PIXELS_PER_LETTER) + _PADDING


def new_element(frame: Element, name: str, /, **attributes: str) -> Element:
    """Return an element in the namespace of a worksheet, not yet in it."""
    space = etree.QName(frame).namespace
    return etree.Element(f"{{{space}}}{name}", attributes, nsmap=frame.nsmap)


_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"
_PRINT_TITLES = "_xlnm.Print_Titles"
_BEFORE_NAMES = [
    "fileVersion",
    "fileSharing",
    "workbookPr",
    "workbookProtection",
    "bookViews",
    "sheets",
    "functionGroups",
    "externalReferences",
]


class SheetList:
    """The sheets of a workbook that is open for a changed copy."""

    def __init__(self, package: EditablePackage) -> None:
        self._package = package
        self._root = parse_xml(package.read(WORKBOOK))
        sheets = find_child(self._root, "sheets")
        if sheets is None:
            raise ValueError("a workbook without sheets")
        self._sheets: Element = sheets

    @property
    def space(self) -> str:
        """The namespace of the workbook's elements."""
        return str(etree.QName(self._root).namespace)

    @property
    def names(self) -> list[str]:
        """The names of all sheets, in their order."""
        return [str(sheet.get("name")) for sheet in self._all()]

    def part(self, name: str) -> str:
        """Return the part of the sheet of that name. Raises ``KeyError`` when there is none."""
        for sheet in self._all():
            if sheet.get("name") == name:
                return self._part_of(sheet)
        raise KeyError(name)

    @property
    def begins_in_1904(self) -> bool:
        """True when the workbook counts its days from 1904, as old ones of the Mac do."""
        properties = find_child(self._root, "workbookPr")
        return properties is not None and properties.get("date1904") in {"1", "true", "on"}

    def calculate_anew(self) -> None:
        """Ask for the formulas to be calculated when the workbook is opened: the results that are
        stored may be stale."""
        calculation = find_child(self._root, "calcPr")
        if calculation is not None:
            calculation.set("fullCalcOnLoad", "1")

    def own(self, name: str, titles: str) -> str:
        """Return the name of our own sheet, made at the end of the list unless it is there.

        ``titles`` are the rows that are repeated on each printed page.
        """
        there = self._owned()
        if there is not None:
            return str(self._all()[there].get("name"))
        taken = {str(sheet.get("name")).casefold() for sheet in self._all()}
        free = (name, *(f"{name} {number}" for number in range(2, len(taken) + 3)))
        chosen = next(candidate for candidate in free if candidate.casefold() not in taken)
        part = self._package.unused("xl/worksheets/xlbridge{}.xml")
        self._package.declare(part, _SHEET_TYPE)
        identity = self._package.relate(WORKBOOK, part, "worksheet")
        last = self._all()[-1]
        numbers = (int(sheet.get("sheetId", "0")) for sheet in self._all())
        sheet = add_child(self._sheets, "sheet", name=chosen, sheetId=str(max(numbers) + 1))
        sheet.set(next(key for key in last.attrib if key.endswith("}id")), identity)
        place = str(len(self._all()) - 1)
        self._define(_PRINT_TITLES, place, f"'{chosen}'!{titles}")
        self._define(SUMMARY_NAME, place, f"'{chosen}'!$A$1", hidden="1")
        return chosen

    def show(self, name: str) -> None:
        """Show a sheet when the workbook is opened; of the others none is selected."""
        for place, sheet in enumerate(self._all()):
            part = self._part_of(sheet)
            content, selections = _SELECTED.subn(rb"\1", self._package.read(part), count=1)
            if selections:
                # With two selected sheets typing would go into both.
                self._package.put(part, content)
            if sheet.get("name") == name:
                active = str(place)
                sheet.attrib.pop("state", None)
        views = find_child(self._root, "bookViews")
        if views is None:
            views = etree.Element(tag_like(self._root, "bookViews"))
            self._sheets.addprevious(views)
        view = find_child(views, "workbookView")
        if view is None:
            view = add_child(views, "workbookView")
        view.set("activeTab", active)
        view.attrib.pop("firstSheet", None)

    def put_back(self) -> None:
        """Put the part back."""
        self._package.put(WORKBOOK, to_xml(self._root))

    def _all(self) -> list[Element]:
        return [item for item in self._sheets if local_name(item) == "sheet"]

    def _part_of(self, sheet: Element) -> str:
        part = self._package.target(WORKBOOK, relation_id(sheet))
        if part is None:
            raise KeyError(sheet.get("name"))
        return part

    def _owned(self) -> int | None:
        for item in list_entries(self._root, "definedNames"):
            if item.get("name") == SUMMARY_NAME and item.get("localSheetId", "").isdigit():
                place = int(item.get("localSheetId"))
                return place if place < len(self._all()) else None
        return None

    def _define(self, name: str, place: str, formula: str, **attributes: str) -> None:
        names = find_child(self._root, "definedNames")
        if names is None:
            names = etree.Element(tag_like(self._root, "definedNames"))
            before = [item for item in self._root if local_name(item) in _BEFORE_NAMES]
            before[-1].addnext(names)
        defined = add_child(names, "definedName", name=name, localSheetId=place, **attributes)
        defined.text = formula
