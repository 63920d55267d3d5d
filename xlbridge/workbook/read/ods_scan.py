"""Scan of an .ods workbook's XML for facts that the parser does not return.

Number formats are converted into Excel's notation. Runs only with limited memory and time. Source:
OpenDocument 1.3, Part 3.
"""

import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from xml.parsers import expat

from xlbridge.workbook.address import MAX_ROWS, column_letters
from xlbridge.workbook.formats.number_formats import scaling_styles, significant_formats
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.package import parse_part
from xlbridge.workbook.read.refusals import cells_too_far_apart, unreadable
from xlbridge.workbook.signature import TEMPLATE_PROPERTY

_DATA_STYLES = frozenset({
    "number:number-style", "number:percentage-style", "number:currency-style",
    "number:date-style", "number:time-style", "number:text-style", "number:boolean-style",
})  # fmt: skip
_LETTERS: Mapping[str, str] = {
    "number:year": "yyyy", "number:month": "mm", "number:day": "dd", "number:hours": "hh",
    "number:minutes": "mm", "number:seconds": "ss", "number:text-content": "@",
    "number:day-of-week": "ddd", "number:am-pm": "AM/PM", "number:quarter": "mm",
}  # fmt: skip
_LITERAL_ELEMENTS = frozenset({"number:text", "number:currency-symbol"})
_MAX_DIGITS = 30
_MAX_PARENTS = 16
_VALUE = "value()"


@dataclass(slots=True)
class _CellStyle:
    """Style of cells: its parent, its number format, and whether its font is struck through."""

    parent: str = ""
    data: str = ""
    struck: bool = False


@dataclass(slots=True)
class _DataStyle:
    """Number format: its code, and pairs of a condition and the format that it applies."""

    code: str = ""
    conditions: list[tuple[str, str]] = field(default_factory=list)


class OdsStyles:
    """Styles of a workbook, read element by element; ids follow their order."""

    def __init__(self) -> None:
        self._cells: dict[str, _CellStyle] = {}
        self._ids: dict[str, int] = {}
        self._data: dict[str, _DataStyle] = {}
        self._cell: _CellStyle | None = None
        self._data_style: _DataStyle | None = None
        self._literal_parts: list[str] | None = None

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Handle the start of an element outside the sheets."""
        data_style = self._data_style
        if name in _DATA_STYLES:
            data_style = self._data.setdefault(attributes.get("style:name", ""), _DataStyle())
            data_style.code, data_style.conditions = "", []
            self._data_style = data_style
        elif data_style is not None:
            if name in _LITERAL_ELEMENTS:
                self._literal_parts = []
            elif name == "number:number":
                data_style.code += _number_code(attributes)
            elif name in {"number:scientific-number", "number:fraction"}:
                data_style.code += "0.00E+00" if name.endswith("number") else "# ?/?"
            elif name == "style:map":
                condition = attributes.get("style:condition", "").replace(_VALUE, "")
                replacement = attributes.get("style:apply-style-name", "")
                data_style.conditions.append((condition, replacement))
            else:
                data_style.code += _LETTERS.get(name, "")
        elif name == "style:style" and attributes.get("style:family") == "table-cell":
            style_name = attributes.get("style:name", "")
            self._cell = self._cells[style_name] = _CellStyle(
                attributes.get("style:parent-style-name", ""),
                attributes.get("style:data-style-name", ""),
            )
            self._ids.setdefault(style_name, len(self._ids))
        elif name == "style:text-properties" and self._cell is not None:
            line = attributes.get("style:text-line-through-style", "none")
            kind = attributes.get("style:text-line-through-type", "none")
            self._cell.struck = line != "none" or kind != "none"

    def end(self, name: str) -> None:
        """Handle the end of an element outside the sheets."""
        data_style, parts = self._data_style, self._literal_parts
        if name in _DATA_STYLES:
            self._data_style = None
        elif name == "style:style":
            self._cell = None
        elif name in _LITERAL_ELEMENTS and data_style is not None and parts is not None:
            text = "".join(parts)
            is_currency = name == "number:currency-symbol"
            data_style.code += f"[${text}]" if is_currency else _quote(text)
            self._literal_parts = None

    def add_text(self, text: str) -> None:
        """Handle text outside the sheets."""
        if self._literal_parts is not None:
            self._literal_parts.append(text)

    def style_id(self, name: str) -> int:
        """Return the id of a cell style, -1 if there is none of that name."""
        return self._ids.get(name, -1)

    def codes(self) -> Iterator[str]:
        """Yield the format of each cell style, in the order of their ids."""
        for name in self._ids:
            found = next((style.data for style in self._with_parents(name) if style.data), "")
            yield self._code(found) or "General"

    def struck(self) -> frozenset[int]:
        """Return the ids of the cell styles that are struck through."""
        return frozenset(
            style_id
            for name, style_id in self._ids.items()
            if any(style.struck for style in self._with_parents(name))
        )

    def _with_parents(self, name: str) -> Iterator[_CellStyle]:
        """Yield a cell style and its parents."""
        for _ in range(_MAX_PARENTS):
            style = self._cells.get(name)
            if style is None:
                return
            yield style
            name = style.parent

    def _code(self, name: str) -> str:
        style = self._data.get(name)
        if style is None:
            return ""
        parts = [
            f"[{condition}]{self._data[replacement].code}"
            for condition, replacement in style.conditions
            if replacement in self._data
        ]
        return ";".join([*parts, style.code])


def _quote(text: str) -> str:
    """Return a literal text of a format; percent signs count only outside quotes."""
    pieces = (piece and f'"{piece}"' for piece in text.replace('"', "").split("%"))
    return "%".join(pieces)


def _digits(text: str | None) -> int:
    known = text is not None and text.isascii() and text.isdecimal()
    return min(int(text or 0), _MAX_DIGITS) if known else 0


def _number_code(attributes: Mapping[str, str]) -> str:
    """Return the digits of a format; ``0`` without a number of decimals is General."""
    least = _digits(attributes.get("number:min-integer-digits"))
    places = attributes.get("number:decimal-places")
    grouped = attributes.get("number:grouping") == "true"
    if places is None and least <= 1 and not grouped:
        return "General"
    whole = "0" * least or "#"
    if grouped:
        whole = whole.rjust(4, "#")
        whole = f"{whole[:-3]},{whole[-3:]}"
    decimals = "0" * _digits(places)
    thousands = (len(attributes.get("number:display-factor", "1").partition(".")[0]) - 1) // 3
    return whole + ("." + decimals if decimals else "") + "," * min(thousands, 4)


_CONTENT, _META, _STYLES = "content.xml", "meta.xml", "styles.xml"
_CHUNK = 1 << 20
_MAX_COLUMNS = 16_384
_HIDDEN = frozenset({"collapse", "filter"})
_ERROR = re.compile(r"#[A-ZÀ-Ú/0-9_]+[!?]?|Err:\d+|#N/[AD]")
_REFERENCE = re.compile(r"\[\.(\$?[A-Z]{1,3}\$?\d+)(?::\.(\$?[A-Z]{1,3}\$?\d+))?\]")
_BOOLEANS = frozenset({"TRUE", "FALSE", "VERDADEIRO", "FALSO"})
_CONSTANTS = frozenset({"of:=TRUE()", "of:=FALSE()"})
"""Formulas that LibreOffice writes for booleans of workbooks from other programs."""

_PREFIX = re.compile(r"^\w+:=")


class OdsScan:
    """Scan of an .ods workbook that passed the safety checks."""

    def __init__(self, content: bytes, max_cells: int) -> None:
        """Raise ``WorkbookRefused`` for malformed XML, or if cells span over ``max_cells``."""
        self._archive = zipfile.ZipFile(BytesIO(content))
        self.fingerprint = self._read_fingerprint()
        handler = _ContentHandler(OdsStyles(), max_cells)
        if _STYLES in self._archive.namelist():
            self._walk(_STYLES, handler)
        self._walk(_CONTENT, handler)
        self._sheets = handler.sheets

    def sheet(self, name: str) -> RawSheet:
        """Return the facts of a sheet."""
        return self._sheets.get(name, RawSheet())

    def _walk(self, part: str, handler: "_ContentHandler") -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler = handler.start
        parser.EndElementHandler = handler.end
        parser.CharacterDataHandler = handler.add_text
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
        for element in parse_part(self._archive.read(_META)).iter():
            if TEMPLATE_PROPERTY in element.attrib.values():
                return "".join(element.itertext()).strip() or None
        return None


class _ContentHandler:
    """Handler of XML events, with the state of the current sheet and cell."""

    def __init__(self, styles: OdsStyles, max_cells: int) -> None:
        self.sheets: dict[str, RawSheet] = {}
        self._styles = styles
        self._most_cells = max_cells
        self._width = 0
        self._scaling: Mapping[int, float] = {}
        self._raw: RawSheet | None = None
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
                self._start_table(attributes)
            case _ if self._tables > 1:
                pass
            case "table:table-column":
                self._add_column(attributes)
            case "table:table-row":
                self._rows = _count(attributes, "table:number-rows-repeated")
                self._column = 0
                if attributes.get("table:visibility") in _HIDDEN and self._raw is not None:
                    last = min(self._row + self._rows, MAX_ROWS + 1)
                    self._raw.layout.hidden_rows.update(range(self._row, last))
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

    def add_text(self, text: str) -> None:
        if self._raw is None:
            self._styles.add_text(text)
        elif self._paragraph:
            self._text.append(text)

    def _start_table(self, attributes: Mapping[str, str]) -> None:
        self._tables += 1
        if self._tables > 1:
            return
        formats = significant_formats(self._styles.codes())
        self._scaling = scaling_styles(formats)
        self._raw = RawSheet(formats=formats, struck=self._styles.struck())
        self._row, self._column, self._defaults, self._width = 1, 0, [], 0
        name = attributes.get("table:name", "")
        if name in self.sheets:
            # Readers differ in which of the two sheets the name refers to.
            raise unreadable()
        self.sheets[name] = self._raw

    def _add_column(self, attributes: Mapping[str, str]) -> None:
        last = self._column + _count(attributes, "table:number-columns-repeated") - 1
        if attributes.get("table:visibility") in _HIDDEN and self._raw is not None:
            self._raw.layout.hidden_columns.append((self._column, min(last, _MAX_COLUMNS - 1)))
        self._defaults.append((last, attributes.get("table:default-cell-style-name", "")))
        self._column = last + 1

    def _end_cell(self, cell: Mapping[str, str]) -> None:
        columns = _count(cell, "table:number-columns-repeated")
        first, self._column = self._column, self._column + columns
        width = _count(cell, "table:number-columns-spanned")
        height = _count(cell, "table:number-rows-spanned")
        if self._raw is None:
            return
        if width > 1 or height > 1:
            corner = self._row + height - 1, first + width - 1
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
                self._add_cell(row, column, cell, text)

    def _add_cell(self, row: int, column: int, cell: Mapping[str, str], text: str) -> None:
        raw = self._raw
        if raw is None:
            return
        formula = cell.get("table:formula")
        if _is_error(cell, text):
            raw.errors[row, column] = text
        elif formula is not None and "office:value-type" not in cell:
            raw.without_result.add((row, column))
        if formula is not None and text in _BOOLEANS and cell.get("office:value") in {"0", "1"}:
            raw.booleans[row, column] = cell["office:value"] == "1"
        if formula is not None and formula not in _CONSTANTS:
            raw.layout.add_formula(row, column)
            raw.layout.add_sum(row, column_letters(column), _excel_formula(formula))
        default = next((style for last, style in self._defaults if column <= last), "")
        style = self._styles.style_id(cell.get("table:style-name") or default)
        if style in self._scaling:
            raw.scaled[row, column] = self._scaling[style]
        if style in raw.formats or style in raw.struck:
            raw.add_style(row, column, style)


def _count(attributes: Mapping[str, str], name: str) -> int:
    text = attributes.get(name, "1")
    if not (text.isascii() and text.isdecimal()) or not int(text):
        return 1
    return int(text)


def _is_error(cell: Mapping[str, str], text: str) -> bool:
    if cell.get("calcext:value-type") == "error":
        return True
    return "table:formula" in cell and _ERROR.fullmatch(text) is not None


def _excel_formula(formula: str) -> str:
    """Return a formula in Excel's notation of references."""

    def reference(found: re.Match[str]) -> str:
        return found[1] if found[2] is None else f"{found[1]}:{found[2]}"

    return _REFERENCE.sub(reference, _PREFIX.sub("=", formula))
