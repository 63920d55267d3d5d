"""Scan of an .ods workbook's XML for what the parser does not tell (OpenDocument 1.3, Part 3).

Runs only where memory and time are limited.
"""

import re
import zipfile
from collections.abc import Mapping
from typing import BinaryIO
from xml.etree import ElementTree as ET
from xml.parsers import expat

from xlbridge.workbook.address import MAX_ROWS, CellPosition, column_letters
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.number_formats import scale_factor, telling_formats
from xlbridge.workbook.read.ods_styles import OdsStyles
from xlbridge.workbook.read.refusals import cells_too_far_apart, unreadable
from xlbridge.workbook.signature import TEMPLATE_PROPERTY

_CONTENT, _META, _STYLES = "content.xml", "meta.xml", "styles.xml"
_CHUNK = 1 << 20
_MAX_COLUMNS = 16_384
_HIDDEN = frozenset({"collapse", "filter"})
_ERROR = re.compile(r"#[A-ZÀ-Ú/0-9_]+[!?]?|Err:\d+|#N/[AD]")
_REFERENCE = re.compile(r"\[\.(\$?[A-Z]{1,3}\$?\d+)(?::\.(\$?[A-Z]{1,3}\$?\d+))?\]")
_BOOLEANS = frozenset({"TRUE", "FALSE", "VERDADEIRO", "FALSO"})
_CONSTANTS = frozenset({"of:=TRUE()", "of:=FALSE()"})
"""Formulas that LibreOffice writes for booleans of workbooks that it did not make."""

_PREFIX = re.compile(r"^\w+:=")


class OdsScan:
    """The XML of an .ods workbook that passed the gate."""

    def __init__(self, stream: BinaryIO, most_cells: int) -> None:
        """Raise ``WorkbookRefused`` when a part is not well-formed, or the filled cells of a sheet
        span more than ``most_cells``."""
        self._archive = zipfile.ZipFile(stream)
        self.fingerprint = self._read_fingerprint()
        handler = _ContentHandler(OdsStyles(), most_cells)
        if _STYLES in self._archive.namelist():
            self._walk(_STYLES, handler)
        self._walk(_CONTENT, handler)
        self._sheets, self._booleans = handler.sheets, handler.booleans

    def sheet(self, name: str) -> RawSheet:
        """Return the facts of a sheet."""
        return self._sheets.get(name, RawSheet())

    def booleans(self, name: str) -> Mapping[CellPosition, bool]:
        """Return the cells of a sheet that show a boolean and store a number."""
        return self._booleans.get(name, {})

    def _walk(self, part: str, handler: "_ContentHandler") -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler = handler.start
        parser.EndElementHandler = handler.end
        parser.CharacterDataHandler = handler.take
        try:
            with self._archive.open(part) as content:
                while piece := content.read(_CHUNK):
                    parser.Parse(piece, False)
            parser.Parse(b"", True)
        except (expat.ExpatError, KeyError, ValueError) as error:
            raise unreadable() from error

    def _read_fingerprint(self) -> str | None:
        if _META not in self._archive.namelist():
            return None
        try:
            # The gate refused definitions and bounded the size.
            root = ET.fromstring(self._archive.read(_META))  # noqa: S314
        except ET.ParseError as error:
            raise unreadable() from error
        for element in root.iter():
            if TEMPLATE_PROPERTY in element.attrib.values():
                return "".join(element.itertext()).strip() or None
        return None


class _ContentHandler:
    """Position of the parser in the sheets, and what is known of the present cell."""

    def __init__(self, styles: OdsStyles, most_cells: int) -> None:
        self.sheets: dict[str, RawSheet] = {}
        self.booleans: dict[str, dict[CellPosition, bool]] = {}
        self._styles = styles
        self._most_cells = most_cells
        self._width = 0
        self._scaling: Mapping[int, float] = {}
        self._raw: RawSheet | None = None
        self._shown: dict[CellPosition, bool] = {}
        self._tables = 0
        self._row, self._rows = 0, 1
        self._column = 0
        self._defaults: list[tuple[int, str]] = []
        self._cell: Mapping[str, str] | None = None
        self._paragraph = False
        self._notes = 0
        self._text: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._raw is None and name != "table:table":
            self._styles.start(name, attributes)
            return
        match name:
            case "table:table":
                self._begin_table(attributes)
            case _ if self._tables > 1:
                pass
            case "table:table-column":
                self._note_column(attributes)
            case "table:table-row":
                self._begin_row(attributes)
            case "table:table-cell" | "table:covered-table-cell":
                self._cell, self._text = attributes, []
            case "office:annotation":
                self._notes += 1
            case "text:p":
                self._paragraph = self._cell is not None and not self._notes

    def end(self, name: str) -> None:
        match name:
            case "table:table":
                self._tables -= 1
                self._raw = self._raw if self._tables else None
            case _ if self._raw is None:
                self._styles.end(name)
            case _ if self._tables > 1:
                pass
            case "office:annotation":
                self._notes -= 1
            case "text:p":
                self._paragraph = False
            case "table:table-cell" | "table:covered-table-cell" if self._cell is not None:
                self._end_cell(self._cell)
                self._cell = None
            case "table:table-row":
                self._row += self._rows

    def take(self, text: str) -> None:
        if self._raw is None:
            self._styles.take(text)
        elif self._paragraph:
            self._text.append(text)

    def _begin_table(self, attributes: Mapping[str, str]) -> None:
        self._tables += 1
        if self._tables > 1:
            return
        formats = telling_formats(self._styles.codes())
        self._scaling = {s: by for s, code in formats.items() if (by := scale_factor(code)) != 1}
        self._raw = RawSheet(formats=formats, struck=self._styles.struck())
        self._row, self._column, self._defaults, self._width = 1, 0, [], 0
        name = attributes.get("table:name", "")
        if name in self.sheets:
            # Which of the two a name stands for differs from reader to reader.
            raise unreadable()
        self.sheets[name] = self._raw
        self._shown = self.booleans[name] = {}

    def _note_column(self, attributes: Mapping[str, str]) -> None:
        last = self._column + _repeated(attributes, "table:number-columns-repeated") - 1
        if attributes.get("table:visibility") in _HIDDEN and self._raw is not None:
            self._raw.layout.hidden_columns.append((self._column, min(last, _MAX_COLUMNS - 1)))
        self._defaults.append((last, attributes.get("table:default-cell-style-name", "")))
        self._column = last + 1

    def _begin_row(self, attributes: Mapping[str, str]) -> None:
        self._rows = _repeated(attributes, "table:number-rows-repeated")
        self._column = 0
        if attributes.get("table:visibility") in _HIDDEN and self._raw is not None:
            last = min(self._row + self._rows, MAX_ROWS + 1)
            self._raw.layout.hidden_rows.update(range(self._row, last))

    def _end_cell(self, cell: Mapping[str, str]) -> None:
        columns = _repeated(cell, "table:number-columns-repeated")
        first, self._column = self._column, self._column + columns
        wide = _repeated(cell, "table:number-columns-spanned")
        high = _repeated(cell, "table:number-rows-spanned")
        if self._raw is None:
            return
        if wide > 1 or high > 1:
            corner = self._row + high - 1, first + wide - 1
            self._raw.layout.merged.append((self._row, first, *corner))
        text = "".join(self._text)
        if not (text or "office:value-type" in cell or "table:formula" in cell):
            return
        last_row, last_column = self._row + self._rows, self._column
        self._width = max(self._width, last_column)
        is_beyond = last_row > MAX_ROWS + 1 or last_column > _MAX_COLUMNS
        if is_beyond or (last_row - 1) * self._width > self._most_cells:
            raise cells_too_far_apart()
        for column in range(first, last_column):
            for row in range(self._row, last_row):
                self._note(row, column, cell, text)

    def _note(self, row: int, column: int, cell: Mapping[str, str], text: str) -> None:
        raw = self._raw
        if raw is None:
            return
        formula = cell.get("table:formula")
        if _is_error(cell, text):
            raw.errors[row, column] = text
        elif formula is not None and "office:value-type" not in cell:
            raw.unvalued.add((row, column))
        if formula is not None and text in _BOOLEANS and cell.get("office:value") in {"0", "1"}:
            self._shown[row, column] = cell["office:value"] == "1"
        if formula is not None and formula not in _CONSTANTS:
            raw.layout.note_formula(row, column)
            raw.layout.note_sum(row, column_letters(column), _excel_formula(formula))
        style = self._styles.number(cell.get("table:style-name") or self._default(column))
        if style in self._scaling:
            raw.scaled[row, column] = self._scaling[style]
        if style in raw.formats or style in raw.struck:
            raw.note_style(row, column, style)

    def _default(self, column: int) -> str:
        return next((style for last, style in self._defaults if column <= last), "")


def _repeated(attributes: Mapping[str, str], name: str) -> int:
    text = attributes.get(name, "1")
    if not (text.isascii() and text.isdecimal()) or not int(text):
        return 1
    return int(text)


def _is_error(cell: Mapping[str, str], text: str) -> bool:
    if cell.get("calcext:value-type") == "error":
        return True
    return "table:formula" in cell and _ERROR.fullmatch(text) is not None


def _excel_formula(formula: str) -> str:
    """Return a formula with its references as Excel writes them."""

    def reference(found: re.Match[str]) -> str:
        return found[1] if found[2] is None else f"{found[1]}:{found[2]}"

    return _REFERENCE.sub(reference, _PREFIX.sub("=", formula))
