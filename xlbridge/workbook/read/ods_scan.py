"""Scan of an .ods workbook's XML for facts that the parser does not return.

Number formats are converted into Excel's notation. Runs only with limited memory and time. Source:
OpenDocument 1.3, Part 3.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any, NamedTuple

from lxml import etree

from xlbridge.workbook.address import MAX_ROWS, MAX_TEXT_LENGTH, cell_address
from xlbridge.workbook.formats.number_formats import significant_styles
from xlbridge.workbook.read.archive import WorkbookArchive
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.package import parse_part
from xlbridge.workbook.read.refusals import cells_too_far_apart, unreadable
from xlbridge.workbook.signature import TEMPLATE_PROPERTY

_Element = Any
"""Element of an XML tree; lxml has no types."""

_OPEN_DOCUMENT = "urn:oasis:names:tc:opendocument:xmlns:{}:1.0"
_NAMESPACES: Mapping[str, str] = {
    "calcext": "urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0",
    "number": _OPEN_DOCUMENT.format("datastyle"),
}


@cache
def _name(prefixed: str) -> str:
    """Return the name of an element or attribute, written with OpenDocument's usual prefix."""
    prefix, _, name = prefixed.partition(":")
    return f"{{{_NAMESPACES.get(prefix, _OPEN_DOCUMENT.format(prefix))}}}{name}"


_TABLE, _COLUMN, _ROW = _name("table:table"), _name("table:table-column"), _name("table:table-row")
_CELLS = (_name("table:table-cell"), _name("table:covered-table-cell"))
_STYLE = _name("style:style")
_DATA_STYLES = tuple(
    _name(f"number:{kind}-style")
    for kind in ("number", "percentage", "currency", "date", "time", "text", "boolean")
)
_PERCENTAGE = _name("number:percentage-style")
_LETTERS: Mapping[str, str] = {
    "year": "yyyy", "month": "mm", "day": "dd", "hours": "hh", "minutes": "mm", "seconds": "ss",
    "text-content": "@", "day-of-week": "ddd", "am-pm": "AM/PM", "quarter": "mm",
    "scientific-number": "0.00E+00", "fraction": "# ?/?",
}  # fmt: skip
_MAX_DIGITS = 30
_MAX_PARENTS = 16
_VALUE = "value()"


class _CellStyle(NamedTuple):
    """Style of cells: its parent, its number format, and whether its font is struck through."""

    parent: str
    data: str
    struck: bool


class OdsStyles:
    """Styles of a workbook; ids of cell styles follow their order."""

    def __init__(self) -> None:
        self._cells: dict[str, _CellStyle] = {}
        self._codes: dict[str, str] = {}
        self._conditions: dict[str, list[tuple[str, str]]] = {}

    def add(self, style: _Element) -> None:
        """Add a style."""
        name = style.get(_name("style:name"), "")
        if style.tag != _STYLE:
            is_percentage = style.tag == _PERCENTAGE
            self._codes[name] = "".join(_part_code(part, is_percentage) for part in style)
            self._conditions[name] = [
                (
                    part.get(_name("style:condition"), "").replace(_VALUE, ""),
                    part.get(_name("style:apply-style-name"), ""),
                )
                for part in style.iterchildren(_name("style:map"))
            ]
        elif style.get(_name("style:family")) == "table-cell":
            lines = (
                font.get(_name(f"style:text-line-through-{key}"), "none")
                for font in style.iterchildren(_name("style:text-properties"))
                for key in ("style", "type")
            )
            self._cells[name] = _CellStyle(
                style.get(_name("style:parent-style-name"), ""),
                style.get(_name("style:data-style-name"), ""),
                any(line != "none" for line in lines),
            )

    def ids(self) -> Mapping[str, int]:
        """Return the ids of the cell styles by name."""
        return {name: number for number, name in enumerate(self._cells)}

    @cached_property
    def _significant(self) -> tuple[dict[int, str], frozenset[int]]:
        styles: list[tuple[str, bool]] = []
        for cell_style in self._cells:
            name, ancestry = cell_style, list[_CellStyle]()
            while name in self._cells and len(ancestry) < _MAX_PARENTS:
                ancestry.append(self._cells[name])
                name = ancestry[-1].parent
            data = next((style.data for style in ancestry if style.data), "")
            parts = [
                f"[{condition}]{self._codes[replacement]}"
                for condition, replacement in self._conditions.get(data, ())
                if replacement in self._codes
            ]
            code = ";".join([*parts, self._codes.get(data, "")]) or "General"
            styles.append((code, any(style.struck for style in ancestry)))
        return significant_styles(styles)

    def new_sheet(self) -> RawSheet:
        """Return the facts of a sheet without cells."""
        formats, struck = self._significant
        return RawSheet(formats=formats, struck=struck)


def _part_code(part: _Element, is_percentage: bool) -> str:
    """Return the code of an element of a number format."""
    match etree.QName(part).localname:
        case "number":
            return _number_code(part)
        case "text":
            # Percent signs multiply only outside quotes.
            text = (part.text or "").replace('"', "")
            pieces = text.split("%") if is_percentage else [text]
            return "%".join(piece and f'"{piece}"' for piece in pieces)
        case "currency-symbol":
            return f"[${part.text or ''}]"
        case name:
            return _LETTERS.get(name, "")


def _digits(text: str | None) -> int:
    return min(_integer(text, 0), _MAX_DIGITS)


def _number_code(number: _Element) -> str:
    """Return the digits of a format; ``0`` without a number of decimals is General."""
    least = _digits(number.get(_name("number:min-integer-digits")))
    places = number.get(_name("number:decimal-places"))
    grouped = number.get(_name("number:grouping")) == "true"
    if places is None and least <= 1 and not grouped:
        return "General"
    whole = "0" * least or "#"
    if grouped:
        whole = whole.rjust(4, "#")
        whole = f"{whole[:-3]},{whole[-3:]}"
    decimals = "0" * _digits(places)
    factor = number.get(_name("number:display-factor"), "1").partition(".")[0]
    thousands = (len(factor) - 1) // 3
    return whole + ("." + decimals if decimals else "") + "," * min(thousands, 4)


_CONTENT, _META, _STYLES = "content.xml", "meta.xml", "styles.xml"
_MAX_COLUMNS = 16_384
_PIECE = 1 << 15
_HIDDEN = frozenset({"collapse", "filter"})
_FORMULA, _STYLE_NAME = _name("table:formula"), _name("table:style-name")
_VALUE_TYPE, _CALC_TYPE = _name("office:value-type"), _name("calcext:value-type")
_ERROR_TYPE = "error"
_ERROR = re.compile(r"#[A-ZÀ-Ú/0-9_]+[!?]?|Err:\d+|#N/[AD]")
_REFERENCE = re.compile(r"\[\.(\$?[A-Z]{1,3}\$?\d+)(?:(:)\.(\$?[A-Z]{1,3}\$?\d+))?\]")
_BOOLEANS = frozenset({"TRUE", "FALSE", "VERDADEIRO", "FALSO"})
_CONSTANTS = frozenset({"of:=TRUE()", "of:=FALSE()"})
"""Formulas that LibreOffice writes for booleans of workbooks from other programs."""

_PREFIX = re.compile(r"^\w+:=")


class OdsScan:
    """Scan of an .ods workbook."""

    def __init__(self, archive: WorkbookArchive, max_cells: int) -> None:
        """Raise ``WorkbookRefused`` for malformed XML, or if cells span over ``max_cells``."""
        self._archive = archive
        self._sheets: dict[str, RawSheet] = {}
        fingerprints = (
            "".join(element.itertext()).strip()
            for element in parse_part(archive.read(_META)).iter()
            if TEMPLATE_PROPERTY in element.attrib.values()
        )
        self.fingerprint = next(fingerprints, None) or None
        styles = OdsStyles()
        if archive.stored_name(_STYLES) is not None:
            self._read_part(_STYLES, styles, max_cells)
        self._read_part(_CONTENT, styles, max_cells)

    def sheet(self, name: str) -> RawSheet:
        """Return the facts of a sheet."""
        return self._sheets.get(name, RawSheet())

    def _read_part(self, part: str, styles: OdsStyles, max_cells: int) -> None:
        depth = 0
        for event, element in self._elements(part):
            if element.tag == _TABLE:
                depth += 1 if event == "start" else -1
                if event == "start" and depth == 1:
                    name = element.get(_name("table:name"), "")
                    sheet = _SheetBuilder(name, styles, max_cells)
                    self._sheets[name] = sheet.raw
            elif event == "end" and not depth:
                styles.add(element)
            elif event == "end" and depth == 1:
                sheet.add(element)

    def _elements(self, part: str) -> Iterator[tuple[str, _Element]]:
        """Yield the start and the end of styles, and of tables, their columns and rows.

        An element that has ended is dropped.
        """
        parser = etree.XMLPullParser(
            ("start", "end"),
            tag=(_TABLE, _COLUMN, _ROW, _STYLE, *_DATA_STYLES),
            remove_comments=True,
            remove_pis=True,
            resolve_entities=False,
            huge_tree=True,
        )
        try:
            for piece in self._archive.pieces(part, _PIECE):
                parser.feed(piece)
                for event, element in parser.read_events():
                    yield event, element
                    if event == "end":
                        element.clear()
                        while element.getprevious() is not None:
                            del element.getparent()[0]
            parser.close()
        except (etree.LxmlError, KeyError) as error:
            raise unreadable() from error


class _SheetBuilder:
    """Builder of the facts of one sheet, from its columns and rows in order."""

    def __init__(self, name: str, styles: OdsStyles, max_cells: int) -> None:
        self.raw = styles.new_sheet()
        self._name = name
        self._style_ids = styles.ids()
        self._max_cells = max_cells
        self._row = 1
        self._defaults: list[tuple[int, str]] = []

    def add(self, element: _Element) -> None:
        """Add a column or a row."""
        is_hidden = element.get(_name("table:visibility")) in _HIDDEN
        if element.tag == _ROW:
            rows = range(self._row, self._row + _count(element, "rows-repeated"))
            self._row = rows.stop
            if is_hidden:
                self.raw.layout.hidden_rows.update(range(rows.start, min(rows.stop, MAX_ROWS + 1)))
            left = 0
            for cell in element.iterchildren(*_CELLS):
                right = left + _count(cell, "columns-repeated")
                self._add_cells(cell, rows, range(left, right))
                left = right
        elif element.tag == _COLUMN:
            first = self._defaults[-1][0] + 1 if self._defaults else 0
            last = first + _count(element, "columns-repeated") - 1
            if is_hidden:
                self.raw.layout.hidden_columns.append((first, min(last, _MAX_COLUMNS - 1)))
            self._defaults.append((last, element.get(_name("table:default-cell-style-name"), "")))

    def _add_cells(self, cell: _Element, rows: range, columns: range) -> None:
        """Add a cell that is repeated over rows and columns."""
        attributes, layout = dict(cell.attrib), self.raw.layout
        width, height = _count(cell, "columns-spanned"), _count(cell, "rows-spanned")
        if width > 1 or height > 1:
            corner = rows.start + height - 1, columns.start + width - 1
            layout.merged.append((rows.start, columns.start, *corner))
        is_value = _VALUE_TYPE in attributes and _FORMULA not in attributes
        is_value &= attributes.get(_CALC_TYPE) != _ERROR_TYPE
        has_value = _has_value(attributes)
        kind = attributes.get(_VALUE_TYPE)
        text = "" if is_value and has_value and kind != "string" else _text_of(cell)
        if not (text or _VALUE_TYPE in attributes or _FORMULA in attributes):
            return
        extent = self.raw.extent
        extent.add(rows.start, columns.start)
        extent.add(rows.stop - 1, columns.stop - 1)
        is_beyond = rows.stop > MAX_ROWS + 1 or columns.stop > _MAX_COLUMNS
        if is_beyond or extent.cells > self._max_cells:
            last = cell_address(*extent.lowest), cell_address(*extent.rightmost)
            raise cells_too_far_apart(self._name, *last)
        # An empty text as result has no type, but a paragraph.
        has_result = has_value or cell.find(_PARAGRAPHS[0]) is not None
        # The parser leaves out a text without a type, or without the value of its type.
        is_misread = _FORMULA not in attributes and not has_value
        if kind == "string" and _STRING_VALUE not in attributes:
            is_misread = text != _parsed_text(cell)
        for column in columns:
            name = attributes.get(_STYLE_NAME) or next(
                (name for last, name in self._defaults if column <= last), ""
            )
            for row in rows:
                self.raw.add_style(row, column, self._style_ids.get(name, -1))
                if is_misread:
                    self.raw.replaced[row, column] = text
                if not is_value:
                    self._add_result(row, column, attributes, text, has_result)

    def _add_result(
        self, row: int, column: int, cell: Mapping[str, str], text: str, has_result: bool
    ) -> None:
        """Add a cell with an error, or a formula and its result."""
        raw, formula = self.raw, cell.get(_FORMULA)
        if cell.get(_CALC_TYPE) == _ERROR_TYPE or (formula and _ERROR.fullmatch(text)):
            raw.errors[row, column] = text
        elif formula is not None and not has_result:
            raw.without_result.add((row, column))
        value = cell.get(_name("office:value"))
        if formula is not None and text in _BOOLEANS and value in {"0", "1"}:
            raw.replaced[row, column] = value == "1"
        if formula is not None and formula not in _CONSTANTS:
            in_excel = _REFERENCE.sub(r"\1\2\3", _PREFIX.sub("=", formula))
            raw.layout.add_formula(row, column, in_excel)


_TEXT_SPACE = f"{{{_OPEN_DOCUMENT.format('text')}}}"
_PARAGRAPHS = (_name("text:p"), _name("text:h"))
_ANNOTATION, _STRING_VALUE = _name("office:annotation"), _name("office:string-value")
_WITHOUT_SHAPES = (_PARAGRAPHS[0], _ANNOTATION)
_TYPED_VALUES: Mapping[str, str] = {
    "float": "value",
    "percentage": "value",
    "currency": "value",
    "date": "date-value",
    "time": "time-value",
    "boolean": "boolean-value",
}
"""Attributes of values by the value's type."""

_WHITE_SPACE = re.compile(r"[ \t\r\n]+")
_LAST_BREAK = re.compile(r"[\r\n][ \t\r\n]*\Z")
_MARKS: Mapping[str, str] = {"s": "\0", "tab": "\1", "line-break": "\2"}
"""Marks of elements of white space, which is not collapsed."""
_MARKED_SPACE = str.maketrans("\0\1\2", " \t\n")
_NO_TEXT = frozenset({"ruby-text", "note"})


def _has_value(cell: Mapping[str, str]) -> bool:
    """Return whether a cell has a type, and the value that it requires."""
    kind = cell.get(_VALUE_TYPE)
    needed = _TYPED_VALUES.get(kind or "")
    return kind is not None and (needed is None or _name(f"office:{needed}") in cell)


def _parsed_text(cell: _Element) -> str | None:
    """Return the text that the parser reads, None if that is uncertain."""
    if any(child.tag not in _WITHOUT_SHAPES or len(child) for child in cell):
        return None
    return "\n".join(child.text or "" for child in cell if child.tag != _ANNOTATION)


def _text_of(element: _Element) -> str:
    """Return the text of a cell, without its comment and the shapes that lie on it."""
    return "\n".join(
        _paragraph_text(child) if child.tag in _PARAGRAPHS else _text_of(child)
        for child in element
        if child.tag.startswith(_TEXT_SPACE)
    )


def _paragraph_text(paragraph: _Element) -> str:
    """Return the text of a paragraph, with white space collapsed (Part 3, 6.1.2).

    LibreOffice writes a space at the end, and so reads it.
    """
    text = "".join(_pieces(paragraph)) if len(paragraph) else (paragraph.text or "")
    text = _WHITE_SPACE.sub(" ", _LAST_BREAK.sub("", text))
    return text.lstrip(" ").translate(_MARKED_SPACE)


def _pieces(element: _Element) -> Iterator[str]:
    """Yield the pieces of a text, with marks in place of elements of white space."""
    yield element.text or ""
    for child in element:
        name = child.tag.removeprefix(_TEXT_SPACE)
        if name in _MARKS:
            count = _integer(child.get(_name("text:c")), 1) if name == "s" else 1
            yield _MARKS[name] * min(count, MAX_TEXT_LENGTH + 1)
        elif name != child.tag and name not in _NO_TEXT:
            yield from _pieces(child)
        yield child.tail or ""


def _count(element: _Element, name: str) -> int:
    return max(_integer(element.get(_name(f"table:number-{name}")), 1), 1)


def _integer(text: str | None, default: int) -> int:
    return int(text) if text is not None and text.isascii() and text.isdecimal() else default
