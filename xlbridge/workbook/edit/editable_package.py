"""Parts of an .xlsx file: some are changed, all others kept byte for byte; their elements, and the
sheets.

Only for files that passed the safety checks (``read/archive.py``): there are no limits here.
"""

import posixpath
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, unescape

from lxml import etree

from xlbridge.files import replace_atomically
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook import style
from xlbridge.workbook.address import (
    MAX_TEXT_LENGTH,
    CellRange,
    cell_address,
    cell_range,
    escape_text,
)
from xlbridge.workbook.read.archive import XML_ENDINGS, in_utf8, require_open_xml
from xlbridge.workbook.read.cells import TRUE
from xlbridge.workbook.read.package import related_part
from xlbridge.workbook.read.refusals import not_editable
from xlbridge.workbook.signature import SUMMARY_NAME, SUMMARY_SHEET

_USUAL_WORKBOOK = "xl/workbook.xml"
_TYPES = "[Content_Types].xml"
_NO_RELATIONS = (
    b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"/>'
)
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PARSE_ERRORS = (zipfile.BadZipFile, zlib.error, etree.LxmlError, LookupError, ValueError)


_FORBIDDEN_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Element = Any
"""Element of an XML tree; lxml has no types."""


def parse_xml(content: bytes, *, recover: bool = False) -> Element:
    """Parse an XML part; ``recover`` accepts malformed XML."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, huge_tree=True, recover=recover
    )
    return etree.fromstring(content, parser)


def without_comments(content: bytes) -> bytes:
    """Return an XML part in UTF-8 without comments, CDATA sections and processing instructions."""
    if b"<!" not in content and content.rfind(b"<?") <= 0:
        return content
    root = parse_xml(content)
    etree.strip_tags(root, etree.Comment, etree.ProcessingInstruction)
    return xml_bytes(root)


def xml_bytes(root: Element) -> bytes:
    """Return a tree as an XML part, with its original prefixes."""
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True))


def local_name(element: Element) -> str:
    """Return an element's name without its namespace, empty for comments."""
    tag = element.tag
    return str(tag).rpartition("}")[2] if isinstance(tag, str) else ""


def add_child(parent: Element, name: str, /, **attributes: str) -> Element:
    """Append a child in the parent's namespace and return it."""
    return etree.SubElement(parent, tag_like(parent, name), attributes)


def allowed_text(text: str) -> str:
    """Return a text with characters that XML forbids replaced; too long a text is cut."""
    return _FORBIDDEN_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text)[:MAX_TEXT_LENGTH]


def add_text(parent: Element, text: str) -> None:
    """Append a text, as ``allowed_text`` returns it."""
    child = add_child(parent, "t")
    child.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    child.text = escape_text(allowed_text(text))


def relation_id(element: Element) -> str | None:
    """Return the id of an element's relation, in any namespace."""
    return next((v for k, v in element.attrib.items() if k.endswith("}id")), None)


def tag_like(element: Element, name: str) -> str:
    """Return a tag in an element's namespace, which differs between strict and other files."""
    space = etree.QName(element).namespace
    return f"{{{space}}}{name}" if space else name


def insert_in_order(parent: Element, element: Element, order: Sequence[str]) -> None:
    """Insert a child in the required ``order``, after others of its name."""
    later = order[order.index(local_name(element)) + 1 :]
    following = next((item for item in parent if local_name(item) in later), None)
    if following is None:
        parent.append(element)
    else:
        following.addprevious(element)


def find_or_insert(parent: Element, name: str, order: Sequence[str]) -> Element:
    """Return the first child of a local name; a missing one is inserted in the required order."""
    found = parent.find(f"{{*}}{name}")
    if found is None:
        found = etree.Element(tag_like(parent, name))
        insert_in_order(parent, found, order)
    return found


@contextmanager
def edit_package(path: Path, limits: WorkbookLimits | None = None) -> Iterator["EditablePackage"]:
    """Open an .xlsx file for a changed copy; with ``limits`` one that was not read before, or an
    .xlsm.

    Raises ``WorkbookRefused`` if the parts to change cannot be parsed.
    """
    if limits is not None:
        require_open_xml(path, limits)
    try:
        with zipfile.ZipFile(path) as source:
            yield EditablePackage(source)
    except _PARSE_ERRORS as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            # A second Ctrl-C, while the copy was being closed because of the first.
            raise error.__context__ from None
        raise not_editable(path) from error


_CUSTOM = "{D5CDD505-2E9C-101B-9397-08002B2CF9AE}"
"""Format of custom properties."""

_VALUE_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/docPropsVTypes"
_PROPERTIES_TYPE = "application/vnd.openxmlformats-officedocument.custom-properties+xml"
_NO_PROPERTIES = (
    b'<Properties xmlns="http://schemas.openxmlformats.org/officeDocument/2006/custom-properties" '
    b'xmlns:vt="' + _VALUE_TYPES.encode() + b'"/>'
)


class EditablePackage:
    """An .xlsx file opened for a changed copy."""

    def __init__(self, source: zipfile.ZipFile) -> None:
        self._source = source
        self._names = {_plain_name(name).lower(): name for name in source.namelist()}
        self._changed: dict[str, bytes] = {}
        self._removed: set[str] = set()
        self.workbook = self.related("", "officeDocument") or _USUAL_WORKBOOK

    def __contains__(self, part: str) -> bool:
        return part in self._changed or part.lower() in self._names

    def read(self, part: str) -> bytes:
        """Return a part's content, XML in UTF-8. Raises ``KeyError`` if there is none."""
        stored = self._names.get(part.lower(), part)
        if stored in self._changed:
            return self._changed[stored]
        content = self._source.read(stored)
        return in_utf8(content) if part.lower().endswith(XML_ENDINGS) else content

    def write(self, part: str, content: bytes) -> None:
        """Replace a part, or add one."""
        self._changed[self._names.get(part.lower(), part)] = content

    @contextmanager
    def tree(self, part: str) -> Iterator[Element]:
        """Yield a part as a tree, and write it on exit."""
        root = parse_xml(self.read(part))
        yield root
        self.write(part, xml_bytes(root))

    def parts(self) -> list[str]:
        """Return the names of all parts."""
        names = dict.fromkeys((*self._names.values(), *self._changed))
        return [name for name in names if name not in self._removed]

    def remove(self, part: str, owner: str) -> None:
        """Remove a part, its content type, and the relation of its owner to it."""
        stored = self._names.pop(part.lower(), part)
        self._changed.pop(stored, None)
        self._removed.add(stored)
        with self.tree(_TYPES) as types:
            for item in types.findall("{*}Override"):
                if item.get("PartName", "").lower() == f"/{part}".lower():
                    types.remove(item)
        relations, folder = self._relations(owner), posixpath.dirname(owner)
        for item in list(relations):
            if related_part(item.get("Target", ""), folder).lower() == part.lower():
                relations.remove(item)
        self.write(_relations_part(owner), xml_bytes(relations))

    def unused_name(self, pattern: str) -> str:
        """Return the first unused part name of a pattern such as ``xl/comments{}.xml``."""
        return next(name for name in map(pattern.format, count(1)) if name not in self)

    def add_part(self, part: str, content_type: str, owner: str, kind: str) -> str:
        """Declare a new part, add the relation of its owner to it and return the relation's id."""
        with self.tree(_TYPES) as types:
            add_child(types, "Override", PartName=f"/{part}", ContentType=content_type)
        return self.add_relation(owner, part, kind)

    def declare_extension(self, extension: str, content_type: str) -> None:
        """Declare the content type of an extension, unless it is declared."""
        with self.tree(_TYPES) as types:
            if any(item.get("Extension", "").lower() == extension for item in types):
                return
            default = etree.Element(tag_like(types, "Default"), Extension=extension)
            default.set("ContentType", content_type)
            types.insert(0, default)

    def related(self, part: str, kind: str) -> str | None:
        """Return the related part of a kind such as ``comments``, None if there is none."""
        return next((target for found, target in self.relations(part) if found == kind), None)

    def relations(self, part: str) -> Iterator[tuple[str, str]]:
        """Yield the kind and the target of each part that is related to a part."""
        for item in self._relations(part):
            if item.get("TargetMode") != "External":
                target = related_part(item.get("Target", ""), posixpath.dirname(part))
                yield item.get("Type", "").rpartition("/")[2], target

    def relation_target(self, part: str, identity: str | None) -> str | None:
        """Return the target of a part's relation, None if there is none of that id."""
        for item in self._relations(part):
            if item.get("Id") == identity:
                return related_part(item.get("Target", ""), posixpath.dirname(part))
        return None

    def add_relation(self, part: str, target: str, kind: str) -> str:
        """Add a relation between two parts and return its id."""
        relations = self._relations(part)
        used = {item.get("Id") for item in relations}
        identity = next(i for i in (f"rXb{n}" for n in range(1, len(used) + 2)) if i not in used)
        types = (item.get("Type", "").rpartition("/")[0] for item in relations)
        kinds = next((base for base in types if "officeDocument" in base), RELATIONS)
        added = add_child(relations, "Relationship", Id=identity, Type=f"{kinds}/{kind}")
        added.set("Target", f"/{target}")
        self.write(_relations_part(part), xml_bytes(relations))
        return identity

    def set_properties(self, values: Mapping[str, str]) -> None:
        """Set custom properties of the document."""
        part = self.related("", "custom-properties")
        if part is None or part not in self:
            part = "docProps/custom.xml"
            self.write(part, _NO_PROPERTIES)
            self.add_part(part, _PROPERTIES_TYPE, "", "custom-properties")
        with self.tree(part) as root:
            for item in [item for item in root if item.get("name") in values]:
                root.remove(item)
            used = [int(item.get("pid", "1")) for item in root]
            for pid, (name, value) in enumerate(values.items(), max(used, default=1) + 1):
                item = add_child(root, "property", fmtid=_CUSTOM, pid=str(pid), name=name)
                etree.SubElement(item, f"{{{_VALUE_TYPES}}}lpwstr").text = value

    def save(self, target: Path) -> None:
        """Write the copy atomically, readable by its owner only.

        Raises ``UsageError`` if it cannot be written.
        """
        with replace_atomically(target) as temporary:
            self.write_copy(temporary)

    def write_copy(self, target: Path) -> None:
        """Write the copy into a file."""
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as copy:
            for entry in self._source.infolist():
                if entry.filename in self._removed:
                    continue
                member = zipfile.ZipInfo(_plain_name(entry.filename), entry.date_time)
                member.compress_type = zipfile.ZIP_DEFLATED
                member.external_attr = entry.external_attr
                changed = self._changed.get(entry.filename)
                content = self._source.open(entry) if changed is None else BytesIO(changed)
                with content, copy.open(member, "w") as output:
                    shutil.copyfileobj(content, output, 1 << 20)
            for name, added in self._changed.items():
                if name not in self._source.NameToInfo:
                    # Without the current time: the same change writes the same bytes.
                    copy.writestr(zipfile.ZipInfo(name), added, zipfile.ZIP_DEFLATED)

    def _relations(self, part: str) -> Element:
        name = _relations_part(part)
        return parse_xml(self.read(name) if name in self else _NO_RELATIONS)


def _plain_name(stored: str) -> str:
    """Return the name of a part; some programs on Windows write backslashes."""
    return stored.replace("\\", "/")


def _relations_part(part: str) -> str:
    folder, name = posixpath.split(part)
    return f"{folder}/_rels/{name}.rels".lstrip("/")


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
def edit_sheet_without_cells(package: EditablePackage, part: str) -> Iterator[Element]:
    """Yield a worksheet as a tree without its cells, and write it with them on exit.

    Raises ``ValueError`` if the part is not a worksheet.
    """
    content = package.read(part)
    begin, end, tag = find_sheet_data(content)
    empty = b"<" + tag + b"/>"
    worksheet = parse_xml(content[:begin] + empty + content[end:])
    yield worksheet
    head, found, tail = xml_bytes(worksheet).partition(empty)
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


def merged_ranges(worksheet: Element) -> dict[CellRange, str]:
    """Return the merged ranges, each with the address of its visible cell."""
    references = [item.get("ref", "") for item in worksheet.findall("{*}mergeCells/*")]
    areas = [area for reference in references if (area := cell_range(reference)) is not None]
    return {area: cell_address(*area[:2]) for area in areas}


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
        self._root = parse_xml(package.read(package.workbook))
        sheets = self._root.find("{*}sheets")
        if sheets is None:
            raise ValueError("the workbook has no sheets")
        self._sheets: Element = sheets

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

    def by_name(self) -> dict[str, str]:
        """Return the parts of all sheets by the sheets' names."""
        return {str(sheet.get("name")): self._part_of(sheet) for sheet in self._all()}

    def change_names(self, change: Callable[[str], str]) -> dict[str, str]:
        """Change the formulas of the defined names; return them by name, as they were."""
        formulas = {}
        for item in self._root.findall("{*}definedNames/*"):
            formulas[str(item.get("name"))] = item.text or ""
            item.text = change(item.text or "")
        return formulas

    @property
    def uses_1904_dates(self) -> bool:
        """True if days are counted from 1904, as in old workbooks of the Mac."""
        properties = self._root.find("{*}workbookPr")
        return properties is not None and properties.get("date1904") in TRUE

    def recalculate_on_load(self) -> None:
        """Make programs recalculate formulas on opening, as stored results may be stale."""
        find_or_insert(self._root, "calcPr", _WORKBOOK_ORDER).set("fullCalcOnLoad", "1")

    def add_summary_sheet(
        self, title_rows: str, wanted: str = SUMMARY_SHEET, *, first: bool = False
    ) -> str:
        """Return the name of the summary sheet, which is added unless it exists: as the last, or
        the ``first`` one.

        ``title_rows`` are repeated on each printed page. A new one is called as ``wanted``.
        """
        for item in self._root.findall("{*}definedNames/*"):
            if item.get("name") == SUMMARY_NAME and item.get("localSheetId", "").isdigit():
                if (index := int(item.get("localSheetId"))) < len(self._all()):
                    return str(self._all()[index].get("name"))
                break
        used = {str(sheet.get("name")).casefold() for sheet in self._all()}
        numbered = (f"{wanted} {number}" for number in range(2, len(used) + 3))
        candidates = (wanted, *numbered)
        unused = next(candidate for candidate in candidates if candidate.casefold() not in used)
        part = self._package.unused_name("xl/worksheets/xlbridge{}.xml")
        identity = self._package.add_part(part, _SHEET_TYPE, self._package.workbook, "worksheet")
        last = self._all()[-1]
        numbers = (int(sheet.get("sheetId", "0")) for sheet in self._all())
        sheet = add_child(self._sheets, "sheet", name=unused, sheetId=str(max(numbers) + 1))
        sheet.set(next(key for key in last.attrib if key.endswith("}id")), identity)
        sheet_id = "0" if first else str(len(self._all()) - 1)
        if first:
            self._sheets.insert(0, sheet)
            for item in self._root.findall("{*}definedNames/*"):
                if (index := item.get("localSheetId", "")).isdigit():
                    item.set("localSheetId", str(int(index) + 1))
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
        views = find_or_insert(self._root, "bookViews", _WORKBOOK_ORDER)
        view = find_or_insert(views, "workbookView", ("workbookView", "extLst"))
        view.set("activeTab", active)
        view.attrib.pop("firstSheet", None)

    def save(self) -> None:
        """Write the part."""
        self._package.write(self._package.workbook, xml_bytes(self._root))

    def _all(self) -> list[Element]:
        return list(self._sheets.iterfind("{*}sheet"))

    def _part_of(self, sheet: Element) -> str:
        part = self._package.relation_target(self._package.workbook, relation_id(sheet))
        if part is None:
            raise KeyError(sheet.get("name"))
        return part

    def _define(self, name: str, sheet_id: str, formula: str, **attributes: str) -> None:
        names = find_or_insert(self._root, "definedNames", _WORKBOOK_ORDER)
        defined = add_child(names, "definedName", name=name, localSheetId=sheet_id, **attributes)
        defined.text = formula


_SHARED_TEXTS = "xl/sharedStrings.xml"
_SHARED_TEXT = re.compile(r"(<t(?: [^>]*)?>)([^<]*)")


def with_headers(content: bytes, spelling: Callable[[str], str]) -> bytes:
    """Return a payload whose headers have another spelling.

    They are its only shared texts. Raises ``BadZipFile`` if it is not a workbook.
    """
    changed = BytesIO()
    with (
        zipfile.ZipFile(BytesIO(content)) as source,
        zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for entry in source.infolist():
            part = source.read(entry)
            if entry.filename == _SHARED_TEXTS:
                text = _SHARED_TEXT.sub(
                    lambda found: found[1] + escape(spelling(unescape(found[2]))), part.decode()
                )
                part = text.encode()
            target.writestr(entry, part)
    return changed.getvalue()


_USUAL_WIDTH = 9
_MOST_ROWS_IN_VIEW, _WIDTH_IN_VIEW = 5, 36


def keep_in_view(root: Element, header_row: int, columns: int) -> None:
    """Keep the header and the first of the analyst's ``columns`` in view, unless the sheet has
    panes or the header is too far down."""
    views = find_or_insert(root, "sheetViews", SHEET_ORDER)
    view = views.find("{*}sheetView")
    if view is None:
        view = add_child(views, "sheetView", workbookViewId="0")
    is_page = view.get("view", "normal") == "pageLayout"
    if is_page or view.find("{*}pane") is not None or header_row > _MOST_ROWS_IN_VIEW:
        return
    widths = _widths(root, columns)
    across = max((n for n in range(columns) if sum(widths[:n]) <= _WIDTH_IN_VIEW), default=0)
    view.attrib.pop("topLeftCell", None)
    for selection in view.findall("{*}selection"):
        view.remove(selection)
    below = cell_address(header_row + 1, across)
    corner = "bottomRight" if across else "bottomLeft"
    pane = etree.Element(tag_like(root, "pane"))
    if across:
        pane.set("xSplit", str(across))
    for name, value in (("ySplit", header_row), ("topLeftCell", below), ("activePane", corner)):
        pane.set(name, str(value))
    pane.set("state", "frozen")
    selection = etree.Element(tag_like(root, "selection"), pane=corner)
    selection.attrib.update({"activeCell": below, "sqref": below})
    view[:0] = [pane, selection]


def _widths(root: Element, columns: int) -> list[int]:
    """Return the widths of the first columns in characters."""
    widths = [_USUAL_WIDTH] * columns
    for item in root.findall("{*}cols/*"):
        high = min(int(item.get("max", "1")), columns)
        for number in range(int(item.get("min", "1")), high + 1):
            widths[number - 1] = round(float(item.get("width", _USUAL_WIDTH)))
    return widths


def set_widths(root: Element, first: int, widths: Sequence[int]) -> None:
    """Give columns from a zero-based one on their widths, whatever these were."""
    last = first + len(widths) - 1
    columns = find_or_insert(root, "cols", SHEET_ORDER)
    for item in root.findall("{*}cols/*"):
        low, high = int(item.get("min", "1")), int(item.get("max", "1"))
        if high <= first or low > last + 1:
            continue
        columns.remove(item)
        for begin, end in ((low, first), (last + 2, high)):
            if begin <= end:
                part = deepcopy(item)
                part.set("min", str(begin))
                part.set("max", str(end))
                columns.append(part)
    for number, width in enumerate(widths, start=first + 1):
        index = str(number)
        add_child(columns, "col", min=index, max=index, width=str(width), customWidth="1")
    columns[:] = sorted(columns, key=lambda item: int(item.get("min", "1")))


def print_on_two_pages(root: Element, last: int) -> None:
    """Print a sheet on two pages beside each other, if it is made to fit one that it outgrew."""
    pages = root.find("{*}pageSetup")
    if root.find("{*}sheetPr/{*}pageSetUpPr[@fitToPage='1']") is None or pages is None:
        return
    is_one = pages.get("fitToWidth", "1") == "1"
    if is_one and not style.fits_page(_widths(root, last + 1)):
        pages.set("fitToWidth", "2")
        pages.set("pageOrder", "overThenDown")
