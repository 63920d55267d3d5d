"""Sheets of an editable workbook: their list, and each sheet without its cells.

The cells are kept byte for byte.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lxml import etree

from xlbridge.workbook.address import CellRange, cell_position, column_index
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.editable_package import WORKBOOK, EditablePackage
from xlbridge.workbook.read.cells import TRUE
from xlbridge.workbook.signature import SUMMARY_NAME, SUMMARY_SHEET

_SHEET_DATA = re.compile(rb"<((?:[\w.-]+:)?sheetData)\b[^<>]*?(/?)>")
_SELECTED = re.compile(
    rb"""(<(?:[\w.-]+:)?sheetView\b[^<>]*?)\s+tabSelected\s*=\s*["'][^"']*["']"""
)
SHEET_ORDER = [
    "sheetPr", "dimension", "sheetViews", "sheetFormatPr", "cols", "sheetData", "sheetCalcPr",
    "sheetProtection", "protectedRanges", "scenarios", "autoFilter", "sortState",
    "dataConsolidate", "customSheetViews", "mergeCells", "phoneticPr", "conditionalFormatting",
    "dataValidations", "hyperlinks", "printOptions", "pageMargins", "pageSetup", "headerFooter",
    "rowBreaks", "colBreaks", "customProperties", "cellWatches", "ignoredErrors", "smartTags",
    "drawing", "legacyDrawing", "legacyDrawingHF", "drawingHF", "picture", "oleObjects",
    "controls", "webPublishItems", "tableParts", "extLst",
]  # fmt: skip
"""Required order of a worksheet's elements (ECMA-376, CT_Worksheet)."""


@contextmanager
def edit_sheet_without_cells(package: EditablePackage, part: str) -> Iterator[xml.Element]:
    """Yield a worksheet as a tree without its cells, and write it with them on exit.

    Raises ``ValueError`` if the part is not a worksheet.
    """
    content = xml.in_utf8(package.read(part))
    begin, end, tag = find_sheet_data(content)
    empty = b"<" + tag + b"/>"
    worksheet = xml.parse(content[:begin] + empty + content[end:])
    yield worksheet
    head, found, tail = xml.to_bytes(worksheet).partition(empty)
    if not found:
        raise ValueError(f"{part} cannot be written")
    package.write(part, head + content[begin:end] + tail)


def find_sheet_data(content: bytes) -> tuple[int, int, bytes]:
    """Return the start, the end and the tag of the element with a worksheet's rows.

    Raises ``ValueError`` if there is none.
    """
    begin = _SHEET_DATA.search(content)
    if begin is None:
        raise ValueError("the part is not a worksheet")
    end = begin.end()
    if not begin[2]:
        end = content.index(b">", content.rindex(b"</" + begin[1])) + 1
    return begin.start(), end, begin[1]


def cells_by_column(row: xml.Element) -> Iterator[tuple[int, xml.Element]]:
    """Yield a row's cells with their zero-based columns."""
    column = -1
    for cell in row.findall("{*}c"):
        letters = (cell.get("r") or "").rstrip("0123456789")
        column = column_index(letters) if letters else column + 1
        yield column, cell


def merged_ranges(worksheet: xml.Element) -> dict[CellRange, str]:
    """Return the merged ranges, each with the address of its visible cell."""
    ranges = {}
    for item in worksheet.findall("{*}mergeCells/*"):
        first, _, last = item.get("ref", "").partition(":")
        if first and last:
            ranges[(*cell_position(first), *cell_position(last))] = first
    return ranges


_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"
_PRINT_TITLES = "_xlnm.Print_Titles"
_WORKBOOK_ORDER = [
    "fileVersion", "fileSharing", "workbookPr", "workbookProtection", "bookViews", "sheets",
    "functionGroups", "externalReferences", "definedNames", "calcPr", "oleSize",
    "customWorkbookViews", "pivotCaches", "smartTagPr", "smartTagTypes", "webPublishing",
    "fileRecoveryPr", "webPublishObjects", "extLst",
]  # fmt: skip
"""Required order of a workbook's elements (ECMA-376, CT_Workbook)."""


class SheetList:
    """List of the sheets of an editable workbook."""

    def __init__(self, package: EditablePackage) -> None:
        self._package = package
        self._root = xml.parse(package.read(WORKBOOK))
        sheets = self._root.find("{*}sheets")
        if sheets is None:
            raise ValueError("the workbook has no sheets")
        self._sheets: xml.Element = sheets

    @property
    def namespace(self) -> str:
        """Namespace of the workbook's elements."""
        return str(etree.QName(self._root).namespace)

    def part(self, name: str) -> str:
        """Return the part of a sheet. Raises ``KeyError`` if there is none of that name."""
        for sheet in self._all():
            if sheet.get("name") == name:
                return self._part_of(sheet)
        raise KeyError(name)

    @property
    def uses_1904_dates(self) -> bool:
        """True if days are counted from 1904, as in old workbooks of the Mac."""
        properties = self._root.find("{*}workbookPr")
        return properties is not None and properties.get("date1904") in TRUE

    def recalculate_on_load(self) -> None:
        """Make programs recalculate formulas on opening, as stored results may be stale."""
        calculation = self._root.find("{*}calcPr")
        if calculation is not None:
            calculation.set("fullCalcOnLoad", "1")

    def add_summary_sheet(self, title_rows: str) -> str:
        """Return the name of the summary sheet, which is appended unless it exists.

        ``title_rows`` are repeated on each printed page.
        """
        index = self._summary_index()
        if index is not None:
            return str(self._all()[index].get("name"))
        used = {str(sheet.get("name")).casefold() for sheet in self._all()}
        numbered = (f"{SUMMARY_SHEET} {number}" for number in range(2, len(used) + 3))
        candidates = (SUMMARY_SHEET, *numbered)
        unused = next(candidate for candidate in candidates if candidate.casefold() not in used)
        part = self._package.unused_name("xl/worksheets/xlbridge{}.xml")
        identity = self._package.add_part(part, _SHEET_TYPE, WORKBOOK, "worksheet")
        last = self._all()[-1]
        numbers = (int(sheet.get("sheetId", "0")) for sheet in self._all())
        sheet = xml.add_child(self._sheets, "sheet", name=unused, sheetId=str(max(numbers) + 1))
        sheet.set(next(key for key in last.attrib if key.endswith("}id")), identity)
        sheet_id = str(len(self._all()) - 1)
        self._define(_PRINT_TITLES, sheet_id, f"'{unused}'!{title_rows}")
        self._define(SUMMARY_NAME, sheet_id, f"'{unused}'!$A$1", hidden="1")
        return unused

    def activate(self, name: str) -> None:
        """Make a sheet the only selected one, visible on opening."""
        for index, sheet in enumerate(self._all()):
            part = self._part_of(sheet)
            content, selections = _SELECTED.subn(rb"\1", self._package.read(part), count=1)
            if selections:
                # Input would go into all selected sheets.
                self._package.write(part, content)
            if sheet.get("name") == name:
                active = str(index)
                sheet.attrib.pop("state", None)
        views = xml.find_or_insert(self._root, "bookViews", _WORKBOOK_ORDER)
        view = xml.find_or_insert(views, "workbookView", ("workbookView", "extLst"))
        view.set("activeTab", active)
        view.attrib.pop("firstSheet", None)

    def save(self) -> None:
        """Write the part."""
        self._package.write(WORKBOOK, xml.to_bytes(self._root))

    def _all(self) -> list[xml.Element]:
        return list(self._sheets.iterfind("{*}sheet"))

    def _part_of(self, sheet: xml.Element) -> str:
        part = self._package.relation_target(WORKBOOK, xml.relation_id(sheet))
        if part is None:
            raise KeyError(sheet.get("name"))
        return part

    def _summary_index(self) -> int | None:
        for item in self._root.findall("{*}definedNames/*"):
            if item.get("name") == SUMMARY_NAME and item.get("localSheetId", "").isdigit():
                index = int(item.get("localSheetId"))
                return index if index < len(self._all()) else None
        return None

    def _define(self, name: str, sheet_id: str, formula: str, **attributes: str) -> None:
        names = xml.find_or_insert(self._root, "definedNames", _WORKBOOK_ORDER)
        defined = xml.add_child(
            names, "definedName", name=name, localSheetId=sheet_id, **attributes
        )
        defined.text = formula
