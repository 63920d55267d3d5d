"""Parts of an .xlsx or .xlsb package, found by their relations, and what those of an .xlsx say
about the workbook: sheets, properties, styles.

Runs only with limited memory and time, or on parts that are known to be small.
"""

import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from io import BytesIO
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from xlbridge.workbook.address import CellRange, cell_range
from xlbridge.workbook.formats import format_code, significant_styles
from xlbridge.workbook.read.archive import WorkbookArchive
from xlbridge.workbook.read.cells import TRUE, SheetLayout
from xlbridge.workbook.read.refusals import damaged, unreadable
from xlbridge.workbook.signature import (
    LISTS_SHEET,
    SHEETS_OF_PROPERTY,
    SUMMARY_NAME,
    TEMPLATE_PROPERTY,
    exported_resource,
)

_RELATIONS = "_rels/.rels"
_RELATED_PARTS = ("styles", "sharedStrings")
_USUAL_WORKBOOKS = ("xl/workbook.xml", "xl/workbook.bin")
_APPLICATION, _CUSTOM = "docprops/app.xml", "docprops/custom.xml"
_CHUNK = 1 << 19
"""Bytes of a piece: with the rest of the previous one less than a megabyte, as expat splits longer
input, and values in it."""
_PROGRAMS_WITHOUT_RESULTS = frozenset({"Apache POI", "NPOI"})
_IDS_WITHOUT_RESULTS = frozenset({"0", "124519", "999999"})
_CONDITIONAL = re.compile(
    rb"<(?:\w+:)?conditionalFormatting\b[^>]*?"
    rb"""\bsqref\s*=\s*["'](?P<ranges>[A-Z0-9: ]*)["'][^>]*>"""
    rb"(?P<rules>.*?)</(?:\w+:)?conditionalFormatting\s*>",
    re.DOTALL,
)
_LATER_CONDITIONAL = re.compile(
    rb"<(?P<prefix>\w+:)conditionalFormatting\b(?P<rules>[^>]*>.*?)"
    rb"<\w+:sqref\s*>(?P<ranges>[A-Z0-9: ]*)</\w+:sqref\s*>"
    rb".*?</(?P=prefix)conditionalFormatting\s*>",
    re.DOTALL,
)
"""Conditional formats of Excel 2010 and later, with styles of their own, which may refer to other
sheets."""
_OWN_FORMAT = re.compile(rb"<(?:\w+:)?numFmt\b[^>]*>")
_START = re.compile(rb"^<(?:\w+:)?numFmt")
_RULE_STYLE = re.compile(rb"""<(?:\w+:)?cfRule\b[^>]*?\bdxfId\s*=\s*["'](\d+)["']""")
_LAST_ROW = re.compile(r":[A-Z]{1,3}(\d{1,7})$", re.ASCII)

_PACKAGE_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATION = f"{{{_OFFICE_RELATIONS}}}id"
_STRICT_RELATION = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"


_SHEET_FOLDERS: Mapping[str, str] = {
    "worksheet": "worksheets",
    "chartsheet": "chartsheets",
    "dialogsheet": "dialogsheets",
    "xlMacrosheet": "macrosheets",
    "xlIntlMacrosheet": "macrosheets",
}
"""Folders from which the parser tells the kind of a sheet, by the kind of its relation."""


class _Relation(NamedTuple):
    """Relation of a part: its type, its target as written, and the part that this is, in lower
    case."""

    type: str
    target: str
    part: str

    @property
    def kind(self) -> str:
        """Kind, such as ``styles``: strict and other files have different types."""
        return self.type.rpartition("/")[2]


class PackageParts:
    """Parts of a package, found by relations as in Excel: their names do not matter.

    ``workbook``, ``styles`` and ``texts`` are those of the workbook, the styles and the shared
    texts: their names in lower case, None for one that is missing.
    """

    def __init__(self, archive: WorkbookArchive) -> None:
        """Raise ``WorkbookRefused`` if the archive does not hold a workbook."""
        self._archive = archive
        related = (one.part for one in self.relations("").values() if one.kind == "officeDocument")
        workbook = next((part for part in (*related, *_USUAL_WORKBOOKS) if part in archive), None)
        if workbook is None:
            raise unreadable()
        self.workbook = workbook
        self._relations = self.relations(workbook)
        # The first relation of a kind counts.
        relations = reversed(self._relations.values())
        related_parts = {one.kind: one.part for one in relations if one.part in archive}
        self.styles, self.texts = map(related_parts.get, _RELATED_PARTS)
        self._main_parts = {"workbook": workbook} | {
            kind: related_parts[kind] for kind in _RELATED_PARTS if kind in related_parts
        }

    def relations(self, part: str) -> dict[str, _Relation]:
        """Return the relations of a part by id; those of the package for an empty name."""
        folder, _, file = part.rpartition("/")
        content = self._archive.read(f"{folder}/_rels/{file}.rels".lstrip("/"))
        return {
            element.get("Id", ""): _Relation(
                element.get("Type", ""),
                target := element.get("Target", ""),
                related_part(target, folder).lower(),
            )
            for element in parse_part(content)
        }

    def sheet(self, identity: str | None) -> str:
        """Return the part of a sheet by the id of its relation, empty if there is none."""
        relation = self._relations.get(identity or "")
        return "" if relation is None else relation.part

    def tables(self, sheet: str) -> list[str]:
        """Return the parts of the tables in the sheet of a part."""
        return [one.part for one in self.relations(sheet).values() if one.kind == "table"]

    @cached_property
    def parser_names(self) -> Mapping[str, str]:
        """Names by which the parser finds parts: those of the workbook and its relations."""
        names: dict[str, str] = {}
        sheets = (one for one in self._relations.values() if one.kind in _SHEET_FOLDERS)
        for number, sheet in enumerate(sheets, start=1):
            folder = _SHEET_FOLDERS[sheet.kind]
            names[sheet.part] = self._parser_name(f"{folder}/sheet{number}")
        return names | {part: self._parser_name(name) for name, part in self._main_parts.items()}

    def _parser_name(self, name: str) -> str:
        return f"xl/{name}.bin" if self.workbook.endswith(".bin") else f"xl/{name}.xml"

    def parser_parts(self, parts: Iterable[str | None]) -> dict[str, bytes]:
        """Return the workbook, other parts and the relations between them, by parser names."""
        names = self.parser_names
        wanted = [part for part in (self.workbook, *parts) if part and part in self._archive]
        folder, _, file = names[self.workbook].rpartition("/")
        root = {"rId1": _Relation(f"{_OFFICE_RELATIONS}/officeDocument", "", self.workbook)}
        return {
            _RELATIONS: _relations_part(root, names),
            f"{folder}/_rels/{file}.rels": _relations_part(self._relations, names, f"{folder}/"),
            **{names[part]: self._archive.read(part) for part in wanted},
        }

    def parser_content(self) -> BytesIO:
        """Return the archive, or one in which the parser finds all parts and can read them."""
        if self._archive.is_plain and self._is_usual():
            return BytesIO(self._archive.content)
        return pack(self.parser_parts(self.parser_names))

    def _is_usual(self) -> bool:
        """Return whether the parser finds the parts in the archive, and no others instead."""
        main_parts = ("workbook", *_RELATED_PARTS)
        by_name = {name: self._parser_name(name).lower() for name in main_parts}
        found = {name: part for name, part in by_name.items() if part in self._archive}
        return found == self._main_parts and all(
            one.part.startswith(f"xl/{_SHEET_FOLDERS[one.kind]}/")
            and one.target.lower() in {f"/{one.part}", one.part.removeprefix("xl/")}
            for one in self._relations.values()
            if one.kind in _SHEET_FOLDERS
        )


def _relations_part(
    relations: Mapping[str, _Relation], names: Mapping[str, str], folder: str = ""
) -> bytes:
    """Return the part of the relations of a part in ``folder`` to others of the given names."""
    root = ET.Element("Relationships", xmlns=_PACKAGE_RELATIONS)
    for identity, one in relations.items():
        if one.part in names:
            target = names[one.part].removeprefix(folder)
            ET.SubElement(root, "Relationship", Id=identity, Type=one.type, Target=target)
    content: bytes = ET.tostring(root)
    return content


class Package(PackageParts):
    """An .xlsx archive.

    ``fingerprint`` is that of the workbook's template; ``exported`` as in ``WorkbookStarted``;
    ``uses_1904_dates``: days are counted from 1904 instead of 1900.
    """

    def __init__(self, archive: WorkbookArchive) -> None:
        """Raise ``WorkbookRefused`` if the archive does not hold an .xlsx workbook."""
        super().__init__(archive)
        self._root = self._parsed(self.workbook)
        self._sheet_parts = {
            element.get("name", ""): self.sheet(
                element.get(_RELATION) or element.get(_STRICT_RELATION)
            )
            for element in self._root.iterfind(".//{*}sheet")
        }
        self._properties = document_properties(archive.read(_CUSTOM))
        self.fingerprint = self._properties.get(TEMPLATE_PROPERTY)
        self.exported = exported_resource(self._properties)
        properties = self._root.iterfind(".//{*}workbookPr")
        self.uses_1904_dates = any(e.get("date1904") in TRUE for e in properties)

    def added_sheets(self) -> frozenset[str]:
        """Return the names of the sheets that xlbridge added, by the marks of the workbook.

        A visible sheet of lists is not one of them: an analyst may use its name.
        """
        marks = SHEETS_OF_PROPERTY.items()
        marked = (names for mark, names in marks if mark in self._properties)
        sheets = self._root.iterfind(".//{*}sheet")
        visible = (e.get("name") for e in sheets if e.get("state", "visible") == "visible")
        summaries = [
            self.sheets[int(index) : int(index) + 1]
            for element in self._root.iter()
            if element.get("name") == SUMMARY_NAME
            and (index := element.get("localSheetId", "")).isdecimal()
        ]
        added: frozenset[str] = frozenset().union(*marked, *summaries)
        return added - {LISTS_SHEET}.intersection(visible)

    def lacks_results(self) -> bool:
        """Return whether a program that cannot calculate wrote the workbook.

        It has zeros instead of results, to be calculated on opening. Programs that calculate have
        a number of their own, or other settings. Some that calculate only when asked have none.
        """
        settings = list(self._root.iterfind(".//{*}calcPr"))
        if not settings:
            program = self._parsed(_APPLICATION).findtext("{*}Application", "")
            return program in _PROGRAMS_WITHOUT_RESULTS
        return any(
            element.get("fullCalcOnLoad") in TRUE
            and (element.get("calcId") in _IDS_WITHOUT_RESULTS or len(element.keys()) == 1)
            for element in settings
        )

    def cell_styles(self) -> tuple[dict[int, str], frozenset[int]]:
        """Return the significant number formats by style, and the styles struck through."""
        root = self._parsed(self.styles or "")
        # Conditional formats have formats of their own, elsewhere.
        declared = root.iterfind("{*}numFmts/*")
        codes = {e.get("numFmtId"): e.get("formatCode", "") for e in declared}
        struck = {
            str(index)
            for index, font in enumerate(root.iterfind("{*}fonts/*"))
            for mark in font.iterfind("{*}strike")
            if mark.get("val", "1") not in {"0", "false"}
        }
        styles = list(root.iterfind("{*}cellXfs/*"))
        numbers = (style.get("numFmtId", "0") for style in styles)
        formats = (format_code(number, codes.get(number, "")) for number in numbers)
        is_struck = (style.get("fontId", "0") in struck for style in styles)
        return significant_styles(zip(formats, is_struck, strict=True))

    def conditional_formats(self, below_rows: bytes) -> list[tuple[str, CellRange]]:
        """Return the number formats of a sheet's conditional formats, with their ranges.

        ``below_rows`` is the part of the sheet's XML after its rows.
        """
        if b"conditionalFormatting" not in below_rows:
            return []
        styles = enumerate(self._parsed(self.styles or "").iterfind("{*}dxfs/{*}dxf"))
        shared = {
            str(index).encode(): _code_of_format(form.attrib)
            for index, style in styles
            for form in style.iterfind("{*}numFmt")
        }
        found = list[tuple[str, CellRange]]()
        for pattern in (_CONDITIONAL, _LATER_CONDITIONAL):
            for block in pattern.finditer(below_rows):
                ranges = [cell_range(one) for one in block["ranges"].decode().split()]
                codes = [shared.get(rule, "") for rule in _RULE_STYLE.findall(block["rules"])]
                for form in _OWN_FORMAT.findall(block["rules"]):
                    # The element is closed, and its prefix, of a namespace, left out.
                    element = _START.sub(b"<numFmt", form.rstrip(b"/>")) + b"/>"
                    codes.append(_code_of_format(parse_part(element).attrib))
                found += [(code, one) for code in filter(None, codes) for one in ranges if one]
        return found

    def add_totals_rows(self, sheet: str, layout: SheetLayout) -> None:
        """Add the totals rows of a sheet's tables to its layout."""
        for table in map(self._parsed, self.tables(self._sheet_parts.get(sheet, ""))):
            last = _LAST_ROW.search(table.get("ref", ""))
            count = table.get("totalsRowCount", "0")
            if last is not None and count.isdecimal():
                layout.add_totals_rows(int(last[1]), int(count))

    def parser_name(self, sheet: str) -> str | None:
        """Return the name by which the parser finds a sheet's part, None if there is none."""
        return self.parser_names.get(self.sheet_part(sheet))

    @property
    def sheets(self) -> list[str]:
        """Names of all sheets, in the workbook's order."""
        return list(self._sheet_parts)

    def sheet_part(self, sheet: str) -> str:
        """Return a sheet's part, empty if there is none."""
        part = self._sheet_parts.get(sheet, "")
        return part if part in self._archive else ""

    def sheet_pieces(self, sheet: str, size: int = _CHUNK) -> Iterator[bytes]:
        """Yield a sheet's part in pieces of ``size`` bytes."""
        if part := self.sheet_part(sheet):
            yield from self._archive.pieces(part, size)

    def shared_texts(self) -> bytes:
        """Return the part of the shared texts, empty if there is none."""
        return self._archive.read(self.texts or "")

    def _parsed(self, name: str) -> ET.Element:
        return parse_part(self._archive.read(name))


def _code_of_format(form: Mapping[str, str]) -> str:
    """Return the code of a number format by its attributes."""
    return format_code(form.get("numFmtId", "0"), form.get("formatCode", ""))


def parse_part(content: bytes) -> ET.Element:
    """Return a part's tree, an empty one for an empty part. Raises ``WorkbookRefused``."""
    try:
        # The archive refuses document type definitions and limits the size.
        return ET.fromstring(content or b"<none/>")  # noqa: S314
    except ET.ParseError as error:
        raise damaged() from error


def document_properties(content: bytes) -> Mapping[str, str]:
    """Return the custom properties that have a value, from their part."""
    return {
        element.get("name", ""): text
        for element in parse_part(content)
        if (text := "".join(element.itertext()).strip())
    }


def related_part(target: str, folder: str) -> str:
    """Return the name of the part that a relation of a part in ``folder`` points to."""
    path = unquote(target).replace("\\", "/")
    # Some programs write paths from the root without a slash.
    is_absolute = path.lower().startswith(("/", "xl/"))
    return posixpath.normpath(path if is_absolute else f"{folder}/{path}").lstrip("/")


def pack(parts: Mapping[str, bytes]) -> BytesIO:
    """Return an uncompressed archive of parts, by name."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    stream.seek(0)
    return stream
