"""Parts of an .xlsx package that describe the workbook: sheets, properties, styles.

Runs only with limited memory and time, or on parts that are known to be small.
"""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree as ET

from xlbridge.workbook.formats.number_formats import format_code, significant_styles
from xlbridge.workbook.read.archive import WorkbookArchive
from xlbridge.workbook.read.cells import TRUE
from xlbridge.workbook.read.refusals import damaged, unreadable
from xlbridge.workbook.signature import (
    LISTS_SHEET,
    SHEETS_OF_PROPERTY,
    SUMMARY_NAME,
    TEMPLATE_PROPERTY,
)

_RELATIONS = "_rels/.rels"
_WORKBOOK = "xl/workbook.xml"
_WORKBOOK_RELATIONS = "xl/_rels/workbook.xml.rels"
_CUSTOM = "docprops/custom.xml"
_STYLES = "xl/styles.xml"
_SHARED_STRINGS = "xl/sharedstrings.xml"
_CHUNK = 1 << 19
"""Bytes of a piece: with the rest of the previous one less than a megabyte, as expat splits longer
input, and values in it."""
_LAST_ROW = re.compile(r":[A-Z]{1,3}(\d{1,7})$", re.ASCII)

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_STRICT_RELATION = "{http://purl.oclc.org/ooxml/officeDocument/relationships}id"


class Package:
    """An .xlsx archive."""

    def __init__(self, archive: WorkbookArchive) -> None:
        """Raise ``WorkbookRefused`` if the archive does not hold an .xlsx workbook."""
        self._archive = archive
        if archive.stored_name(_WORKBOOK) is None:
            raise unreadable()
        targets = relation_targets(archive.read(_WORKBOOK_RELATIONS))
        self._sheet_parts = {}
        for element in self._sheet_elements():
            identity = element.get(_RELATION) or element.get(_STRICT_RELATION) or ""
            self._sheet_parts[element.get("name", "")] = part_name(targets.get(identity, ""))

    def fingerprint(self) -> str | None:
        """Return the fingerprint of the workbook's template."""
        return self._properties().get(TEMPLATE_PROPERTY)

    def added_sheets(self) -> frozenset[str]:
        """Return the names of the sheets that xlbridge added, by the marks of the workbook.

        A visible sheet of lists is not one of them: an analyst may use its name.
        """
        properties = self._properties()
        marked = (names for mark, names in SHEETS_OF_PROPERTY.items() if mark in properties)
        sheets = self._sheet_elements()
        visible = (e.get("name") for e in sheets if e.get("state", "visible") == "visible")
        summaries = [
            self.sheets[int(index) : int(index) + 1]
            for element in self._parsed(_WORKBOOK).iter()
            if element.get("name") == SUMMARY_NAME
            and (index := element.get("localSheetId", "")).isdecimal()
        ]
        added: frozenset[str] = frozenset().union(*marked, *summaries)
        return added - {LISTS_SHEET}.intersection(visible)

    def uses_1904_dates(self) -> bool:
        """Return whether days are counted from 1904 instead of 1900."""
        properties = self._parsed(_WORKBOOK).iterfind(".//{*}workbookPr")
        return any(e.get("date1904") in TRUE for e in properties)

    def cell_styles(self) -> tuple[dict[int, str], frozenset[int]]:
        """Return the significant number formats by style, and the styles struck through."""
        root = self._parsed(_STYLES)
        codes = {e.get("numFmtId"): e.get("formatCode", "") for e in root.iterfind(".//{*}numFmt")}
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

    def totals_rows(self, sheet: str) -> set[int]:
        """Return Excel's numbers of the totals rows of a sheet's tables, their last rows."""
        folder, _, file = self._sheet_parts.get(sheet, "").rpartition("/")
        relations = self._parsed(f"{folder}/_rels/{file}.rels")
        targets = (e.get("Target", "") for e in relations if e.get("Type", "").endswith("/table"))
        rows: set[int] = set()
        for table in (self._parsed(part_name(target, folder)) for target in targets):
            last = _LAST_ROW.search(table.get("ref", ""))
            count = table.get("totalsRowCount", "0")
            if last is not None and count.isdecimal():
                bottom = int(last[1])
                rows.update(range(bottom - min(int(count), bottom) + 1, bottom + 1))
        return rows

    def parser_parts(self) -> dict[str, bytes]:
        """Return the parts that a parser needs besides a sheet and the shared texts, by name."""
        needed = (_RELATIONS, _WORKBOOK, _WORKBOOK_RELATIONS, _STYLES)
        names = {name: self._archive.stored_name(name) for name in needed}
        return {stored: self._archive.read(name) for name, stored in names.items() if stored}

    def size(self, part: str | None) -> int:
        """Return the size of a part in bytes, 0 if there is none."""
        return self._archive.size((part or "").lower())

    @property
    def shared_part(self) -> str | None:
        """Name of the part of the shared texts, None if there is none."""
        return self._archive.stored_name(_SHARED_STRINGS)

    @property
    def sheets(self) -> list[str]:
        """Names of all sheets, in the workbook's order."""
        return list(self._sheet_parts)

    def sheet_part(self, sheet: str) -> str | None:
        """Return the name of a sheet's part, None if there is none."""
        return self._archive.stored_name(self._sheet_parts.get(sheet, ""))

    def sheet_pieces(self, sheet: str, size: int = _CHUNK) -> Iterator[bytes]:
        """Yield a sheet's part in pieces of ``size`` bytes."""
        if self.sheet_part(sheet) is not None:
            yield from self._archive.pieces(self._sheet_parts[sheet], size)

    def shared_texts(self) -> bytes:
        """Return the part of the shared texts, empty if there is none."""
        return self._archive.read(_SHARED_STRINGS)

    def _sheet_elements(self) -> Iterator[ET.Element]:
        return self._parsed(_WORKBOOK).iterfind(".//{*}sheet")

    def _properties(self) -> Mapping[str, str]:
        return document_properties(self._archive.read(_CUSTOM))

    def _parsed(self, name: str) -> ET.Element:
        return parse_part(self._archive.read(name))


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


def relation_targets(content: bytes) -> Mapping[str, str]:
    """Return the targets of relations by id, from their part."""
    return {relation.get("Id", ""): relation.get("Target", "") for relation in parse_part(content)}


def pack(parts: Mapping[str, bytes]) -> io.BytesIO:
    """Return an uncompressed archive of parts, by name."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    stream.seek(0)
    return stream


def part_name(target: str, folder: str = "xl") -> str:
    """Return the part, in lower case, that a relation of a part in ``folder`` points to."""
    if target.startswith("/"):
        return target.removeprefix("/").lower()
    if target.lower().startswith("xl/"):
        return target.lower()
    return posixpath.normpath(f"{folder}/{target}").lower()
