"""The list of a workbook's sheets: which part each is, and one more of our own."""

from lxml import etree

from xlbridge.workbook.changing.changed_package import (
    WORKBOOK,
    ChangedPackage,
    Element,
    beside,
    child,
    entries,
    local_name,
    parse,
    serialised,
    within,
)
from xlbridge.workbook.changing.sheet_frame import unselect
from xlbridge.workbook.signature import SUMMARY_NAME

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

    def __init__(self, package: ChangedPackage) -> None:
        self._package = package
        self._root = parse(package.read(WORKBOOK))
        sheets = child(self._root, "sheets")
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
        """Whether the workbook counts its days from 1904, as old ones of the Mac do."""
        properties = child(self._root, "workbookPr")
        return properties is not None and properties.get("date1904") in {"1", "true", "on"}

    def calculate_anew(self) -> None:
        """Ask for the formulas to be calculated when the workbook is opened: the results that are
        stored may be stale."""
        calculation = child(self._root, "calcPr")
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
        sheet = within(self._sheets, "sheet", name=chosen, sheetId=str(max(numbers) + 1))
        sheet.set(next(key for key in last.attrib if key.endswith("}id")), identity)
        place = str(len(self._all()) - 1)
        self._define(_PRINT_TITLES, place, f"'{chosen}'!{titles}")
        self._define(SUMMARY_NAME, place, f"'{chosen}'!$A$1", hidden="1")
        return chosen

    def show(self, name: str) -> None:
        """Show a sheet when the workbook is opened; of the others none is selected."""
        for place, sheet in enumerate(self._all()):
            unselect(self._package, self._part_of(sheet))
            if sheet.get("name") == name:
                active = str(place)
                sheet.attrib.pop("state", None)
        views = child(self._root, "bookViews")
        if views is None:
            views = etree.Element(beside(self._root, "bookViews"))
            self._sheets.addprevious(views)
        view = child(views, "workbookView")
        if view is None:
            view = within(views, "workbookView")
        view.set("activeTab", active)
        view.attrib.pop("firstSheet", None)

    def put_back(self) -> None:
        """Put the part back."""
        self._package.put(WORKBOOK, serialised(self._root))

    def _all(self) -> list[Element]:
        return [item for item in self._sheets if local_name(item) == "sheet"]

    def _part_of(self, sheet: Element) -> str:
        identity = next((v for k, v in sheet.attrib.items() if k.endswith("}id")), None)
        part = self._package.target(WORKBOOK, identity)
        if part is None:
            raise KeyError(identity)
        return part

    def _owned(self) -> int | None:
        for item in entries(self._root, "definedNames"):
            if item.get("name") == SUMMARY_NAME and item.get("localSheetId", "").isdigit():
                place = int(item.get("localSheetId"))
                return place if place < len(self._all()) else None
        return None

    def _define(self, name: str, place: str, formula: str, **attributes: str) -> None:
        names = child(self._root, "definedNames")
        if names is None:
            names = etree.Element(beside(self._root, "definedNames"))
            before = [item for item in self._root if local_name(item) in _BEFORE_NAMES]
            before[-1].addnext(names)
        defined = within(names, "definedName", name=name, localSheetId=place, **attributes)
        defined.text = formula
