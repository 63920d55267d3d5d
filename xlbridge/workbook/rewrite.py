"""A copy of a workbook in which single cells hold something else, and all else is as it was.

The XML of the cells is changed in place: a library that reads and writes a workbook anew loses
pictures and the stored results of formulas.
"""

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree as ET
from xml.parsers.expat import ExpatError
from xml.sax.saxutils import escape, quoteattr

from xlbridge.errors import WorkbookRefused
from xlbridge.findings import Mended
from xlbridge.i18n import Text
from xlbridge.settings import WorkbookLimits
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.atomic import replacing
from xlbridge.workbook.package import Package
from xlbridge.workbook.raw_sheet import CellPlace
from xlbridge.workbook.safety import Gate
from xlbridge.workbook.sheet_cells_xml import CellElement, find_cells, in_utf8
from xlbridge.workbook.style_sheet import StyleSheet

_WORKBOOK, _STYLES = "xl/workbook.xml", "xl/styles.xml"
_CALCULATION = re.compile(rb"<((?:\w+:)?calcPr)\b([^>]*?)(/?)>")
_FULL_CALCULATION = re.compile(rb"""\s*\bfullCalcOnLoad\s*=\s*["'][^"']*["']""")
_FIRST_DAY = {False: date(1899, 12, 30), True: date(1904, 1, 1)}


class EditableWorkbook:
    """A workbook whose cells can be changed and whose other content stays as it is.

    Raises ``WorkbookRefused`` when the file does not pass the gate, or when the parts that would
    have to be changed cannot be understood.
    """

    def __init__(self, path: Path, limits: WorkbookLimits) -> None:
        gate = Gate(path, limits)
        gate.unpack()
        self._path = path
        with zipfile.ZipFile(io.BytesIO(gate.content)) as archive:
            self._package = Package(archive)
            self._entries = archive.infolist()
            self._parts = {entry.filename: archive.read(entry) for entry in self._entries}
        self._names = {name.lower(): name for name in self._parts}
        try:
            book = ET.fromstring(self._part(_WORKBOOK))  # noqa: S314 - passed the gate
            self._styles = StyleSheet(in_utf8(self._part(_STYLES)))
        except (ET.ParseError, ExpatError, LookupError, ValueError) as error:
            raise _not_editable(path) from error
        flags = (e.get("date1904") for e in book.iter() if e.tag.endswith("}workbookPr"))
        self._first_day = _FIRST_DAY[next(flags, None) in {"1", "true", "on"}]

    def locked(self, sheet: str, places: frozenset[CellPlace]) -> frozenset[CellPlace]:
        """Return those of a sheet's cells that cannot be changed: formulas give them their value,
        or they are not there."""
        found = find_cells(in_utf8(self._part(self._sheet_part(sheet))), places)
        return frozenset(p for p in places if p not in found or found[p].computed)

    def change(self, sheet: str, contents: Mapping[CellPlace, Mended]) -> None:
        """Let cells of a sheet hold something else; none of them may be locked."""
        part = self._sheet_part(sheet)
        content = in_utf8(self._part(part))
        found = find_cells(content, contents.keys())
        elements = sorted(found.items(), key=lambda item: item[1].start)
        self._put(part, b"".join(self._pieces(content, elements, contents)))

    def save(self, target: Path) -> None:
        """Write the copy, whole or not at all. Raises ``UsageError`` when it cannot be written."""
        self._put(_STYLES, self._styles.content())
        self._put(_WORKBOOK, _recalculated(in_utf8(self._part(_WORKBOOK))))
        with replacing(target) as temporary, zipfile.ZipFile(temporary, "w") as package:
            for entry in self._entries:
                package.writestr(_like(entry), self._parts[entry.filename])

    def _pieces(
        self,
        content: bytes,
        elements: list[tuple[CellPlace, CellElement]],
        contents: Mapping[CellPlace, Mended],
    ) -> Iterator[bytes]:
        done = 0
        for place, element in elements:
            yield content[done : element.start]
            yield self._cell(place, element, contents[place])
            done = element.end
        yield content[done:]

    def _cell(self, place: CellPlace, element: CellElement, value: Mended) -> bytes:
        style = int(element.attributes.get("s", "0"))
        prefix = element.name.rpartition("c")[0]
        match value:
            case str():
                was_text = element.attributes.get("t") in {"s", "inlineStr", "str"}
                style = style if was_text else self._styles.for_text(style)
                kind = ' t="inlineStr"'
                text = f'<{prefix}t xml:space="preserve">{escape(value)}</{prefix}t>'
                inner = f"<{prefix}is>{text}</{prefix}is>"
            case Decimal():
                style, kind = self._styles.for_number(style), ""
                inner = f"<{prefix}v>{value:f}</{prefix}v>"
            case date():
                style, kind = self._styles.for_date(style), ""
                inner = f"<{prefix}v>{(value - self._first_day).days}</{prefix}v>"
        kept = {k: v for k, v in element.attributes.items() if k not in {"r", "s", "t"}}
        others = "".join(f" {name}={quoteattr(text)}" for name, text in kept.items())
        begin = f'<{element.name} r="{cell_address(*place)}" s="{style}"{others}{kind}>'
        return f"{begin}{inner}</{element.name}>".encode("ascii", "xmlcharrefreplace")

    def _sheet_part(self, sheet: str) -> str:
        part = self._package.sheet_part(sheet)
        if part is None:
            raise _not_editable(self._path)
        return part

    def _part(self, name: str) -> bytes:
        return self._parts.get(self._names.get(name.lower(), ""), b"")

    def _put(self, name: str, content: bytes) -> None:
        self._parts[self._names[name.lower()]] = content


def _recalculated(book: bytes) -> bytes:
    """Ask for the formulas to be calculated anew: the results that are stored may be stale."""

    def asking(found: re.Match[bytes]) -> bytes:
        others = _FULL_CALCULATION.sub(b"", found[2]).rstrip()
        return b"<" + found[1] + others + b' fullCalcOnLoad="1"' + found[3] + b">"

    return _CALCULATION.sub(asking, book, count=1)


def _like(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    copy = zipfile.ZipInfo(entry.filename, entry.date_time)
    copy.compress_type = entry.compress_type
    copy.external_attr = entry.external_attr
    return copy


def _not_editable(path: Path) -> WorkbookRefused:
    return WorkbookRefused(
        "unreadable",
        Text(
            pt="{path} pode ser conferida, mas não corrigida.",
            en="{path} can be checked, but not mended.",
        ).format(path=path),
        Text(
            pt="Abra-a no Excel, salve de novo como .xlsx e tente outra vez.",
            en="Open it in Excel, save it again as .xlsx and try once more.",
        ),
    )
