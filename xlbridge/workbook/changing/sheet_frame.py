"""Everything of a worksheet's part but its cells, which stay as they are to the byte."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lxml import etree

from xlbridge.workbook.address import column_index
from xlbridge.workbook.changing.changed_package import (
    ChangedPackage,
    Element,
    child,
    entries,
    in_utf8,
    local_name,
    parse,
    serialised,
)

_CELLS = re.compile(rb"<((?:[\w.-]+:)?sheetData)\b[^<>]*?(/?)>")
_SELECTED = re.compile(
    rb"""(<(?:[\w.-]+:)?sheetView\b[^<>]*?)\s+tabSelected\s*=\s*["'][^"']*["']"""
)
_PIXELS_PER_LETTER, _PADDING, _COLUMN_PIXELS = 7, 5, 64
_ORDER = [
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
def sheet_frame(package: ChangedPackage, part: str) -> Iterator[Element]:
    """Give a worksheet as a tree without its cells, and put it back with them at the end.

    Raises ``ValueError`` when the part has no cells' element.
    """
    content = in_utf8(package.read(part))
    begin = _CELLS.search(content)
    if begin is None:
        raise ValueError(f"{part} is no worksheet")
    end = begin.end()
    if not begin[2]:
        end = content.index(b">", content.rindex(b"</" + begin[1])) + 1
    empty = b"<" + begin[1] + b"/>"
    frame = parse(content[: begin.start()] + empty + content[end:])
    yield frame
    head, found, tail = serialised(frame).partition(empty)
    if not found:
        raise ValueError(f"{part} cannot be written")
    package.put(part, head + content[begin.start() : end] + tail)


def unselect(package: ChangedPackage, part: str) -> None:
    """Take a sheet out of the selection: with two selected sheets typing would go into both."""
    content = package.read(part)
    changed = _SELECTED.sub(rb"\1", content, count=1)
    if changed != content:
        package.put(part, changed)


def insert(frame: Element, element: Element) -> None:
    """Put an element where the format wants it, behind others of its name."""
    place = _ORDER.index(local_name(element))
    for item in frame:
        if local_name(item) in _ORDER and _ORDER.index(local_name(item)) > place:
            item.addprevious(element)
            return
    frame.append(element)


def merged_starts(frame: Element) -> dict[tuple[int, int, int, int], str]:
    """Return the merged ranges (first row and column, last row and column; zero-based columns)
    with the address of the cell that each shows."""
    ranges = {}
    for item in entries(frame, "mergeCells"):
        first, _, last = item.get("ref", "").partition(":")
        if first and last:
            ranges[(*place_of(first), *place_of(last))] = first
    return ranges


def place_of(address: str) -> tuple[int, int]:
    """Return Excel's row number and the zero-based column of a cell's address."""
    letters = address.rstrip("0123456789")
    return int(address[len(letters) :]), column_index(letters)


class ColumnWidths:
    """How wide the columns of a sheet are, in pixels."""

    def __init__(self, frame: Element) -> None:
        preset = child(frame, "sheetFormatPr")
        wide = None if preset is None else preset.get("defaultColWidth")
        self._preset = _pixels(wide) if wide else _COLUMN_PIXELS
        self._spans = [
            (int(item.get("min", "0")) - 1, int(item.get("max", "0")) - 1, item)
            for item in entries(frame, "cols")
        ]

    def of(self, column: int) -> int:
        """Return the width of a zero-based column; a hidden one has none."""
        for first, last, item in self._spans:
            if first <= column <= last:
                hidden = item.get("hidden") in {"1", "true"}
                return 0 if hidden else _pixels(item.get("width", "9"))
        return self._preset


def _pixels(letters: str) -> int:
    return int(float(letters) * _PIXELS_PER_LETTER) + _PADDING


def new_element(frame: Element, name: str, /, **attributes: str) -> Element:
    """Return an element in the namespace of a worksheet, not yet in it."""
    space = etree.QName(frame).namespace
    return etree.Element(f"{{{space}}}{name}", attributes, nsmap=frame.nsmap)
