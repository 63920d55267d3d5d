"""Cells of a sheet that are to hold something else, in a workbook that else stays as it is.

The XML of the cells is changed in place: a library that reads and writes a workbook anew loses
pictures and the stored results of formulas.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from xml.sax.saxutils import escape, quoteattr

from xlbridge.findings import Mended
from xlbridge.workbook.address import cell_address
from xlbridge.workbook.changing.cell_formats import CellFormats
from xlbridge.workbook.changing.changed_package import ChangedPackage, in_utf8
from xlbridge.workbook.changing.looks import Looks
from xlbridge.workbook.changing.shared_texts import rich_texts
from xlbridge.workbook.changing.sheet_cells_xml import CellElement, find_cells
from xlbridge.workbook.changing.sheet_list import SheetList
from xlbridge.workbook.reading.raw_sheet import CellPlace

_RUN = re.compile(rb"<(?:\w+:)?r[\s>]")
_NUMBER = re.compile(rb"<(?:\w+:)?v[^>]*>\s*(\d+)\s*<")
_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}[_\r])")
_FIRST_DAY = {False: date(1899, 12, 30), True: date(1904, 1, 1)}


class ChangedCells:
    """The cells of one sheet of a workbook that is open for a changed copy."""

    def __init__(self, package: ChangedPackage, sheet: str) -> None:
        self._package = package
        self._sheets = SheetList(package)
        self._looks = Looks(package)
        self._formats = CellFormats(self._looks)
        self._part = self._sheets.part(sheet)
        self._content = in_utf8(package.read(self._part))
        self._first_day = _FIRST_DAY[self._sheets.begins_in_1904]

    def locked(self, places: frozenset[CellPlace]) -> frozenset[CellPlace]:
        """Return those cells that cannot be changed: formulas give them their value, or they are
        not there."""
        found = find_cells(self._content, places)
        return frozenset(p for p in places if p not in found or found[p].computed)

    def rich(self, places: frozenset[CellPlace]) -> frozenset[CellPlace]:
        """Return those cells whose text has parts in formats of their own."""
        found = find_cells(self._content, places)
        shared = rich_texts(self._package) if found else frozenset()
        return frozenset(p for p, cell in found.items() if self._is_rich(cell, shared))

    def _is_rich(self, cell: CellElement, shared: frozenset[int]) -> bool:
        inner = self._content[cell.start : cell.end]
        if cell.attributes.get("t") != "s":
            return _RUN.search(inner) is not None
        number = _NUMBER.search(inner)
        return number is not None and int(number[1]) in shared

    def change(self, contents: Mapping[CellPlace, Mended]) -> None:
        """Let cells hold something else; none of them may be locked."""
        found = find_cells(self._content, contents.keys())
        elements = sorted(found.items(), key=lambda item: item[1].start)
        self._package.put(self._part, b"".join(self._pieces(elements, contents)))
        self._sheets.calculate_anew()
        self._sheets.put_back()
        self._looks.put_back()

    def _pieces(
        self,
        elements: list[tuple[CellPlace, CellElement]],
        contents: Mapping[CellPlace, Mended],
    ) -> Iterator[bytes]:
        done = 0
        for place, element in elements:
            yield self._content[done : element.start]
            yield self._cell(place, element, contents[place])
            done = element.end
        yield self._content[done:]

    def _cell(self, place: CellPlace, element: CellElement, value: Mended) -> bytes:
        style = int(element.attributes.get("s", "0"))
        prefix = element.name.rpartition("c")[0]
        match value:
            case str():
                was_text = element.attributes.get("t") in {"s", "inlineStr", "str"}
                style = style if was_text else self._formats.for_text(style)
                kind = ' t="inlineStr"'
                text = f'<{prefix}t xml:space="preserve">{_written(value)}</{prefix}t>'
                inner = f"<{prefix}is>{text}</{prefix}is>"
            case Decimal():
                style, kind = self._formats.for_number(style), ""
                inner = f"<{prefix}v>{value:f}</{prefix}v>"
            case date():
                style, kind = self._formats.for_date(style), ""
                inner = f"<{prefix}v>{(value - self._first_day).days}</{prefix}v>"
        kept = {k: v for k, v in element.attributes.items() if k not in {"r", "s", "t"}}
        others = "".join(f" {name}={quoteattr(text)}" for name, text in kept.items())
        begin = f'<{element.name} r="{cell_address(*place)}" s="{style}"{others}{kind}>'
        return f"{begin}{inner}</{element.name}>".encode("ascii", "xmlcharrefreplace")


def _written(text: str) -> str:
    """Return a text as a workbook writes it, where an escape and a carriage return are escaped."""
    return escape(_ESCAPE.sub("_x005F_", text)).replace("\r", "_x000D_")
