"""Scan of an .ods workbook's XML for facts that the parser does not return.

Number formats are converted into Excel's notation. Runs only with limited memory and time. Source:
OpenDocument 1.3, Part 3.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from lxml import etree

from xlbridge.workbook.address import (
    MAX_ROWS,
    MAX_TEXT_LENGTH,
    CellRange,
    cell_address,
    column_index,
)
from xlbridge.workbook.formats import significant_styles
from xlbridge.workbook.read.archive import WorkbookArchive
from xlbridge.workbook.read.cells import RawSheet
from xlbridge.workbook.read.package import parse_part
from xlbridge.workbook.read.refusals import cells_too_far_apart, unreadable
from xlbridge.workbook.signature import TEMPLATE_PROPERTY, exported_resource

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
_GROUPS = (_name("table:table-row-group"), _name("table:table-column-group"))
_STYLE, _DEFAULT_STYLE = _name("style:style"), _name("style:default-style")
_CONDITIONAL_FORMAT = _name("calcext:conditional-format")
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
_MAX_CURRENCY = 3
_VALUE = "value()"


class _CellStyle(NamedTuple):
    """Style of cells: its parent, its number format, whether its font is struck through, and the
    styles that replace it under conditions."""

    parent: str
    data: str
    struck: bool
    conditional: Sequence[str]


_NO_STYLE = ""
"""Name of the style of cells that have none."""
_USUAL_STYLE = "Default"


class OdsStyles:
    """Styles of a workbook; ids of cell styles follow their order."""

    def __init__(self) -> None:
        self._cells: dict[str, _CellStyle] = {}
        self._codes: dict[str, str] = {}
        self._conditions: dict[str, list[tuple[str, str]]] = {}
        self._texts: dict[str, tuple[str, bool]] = {}
        self._names: dict[str, str] = {}

    def add(self, style: _Element) -> None:
        """Add a style."""
        name = style.get(_name("style:name"), "")
        if style.tag not in (_STYLE, _DEFAULT_STYLE):
            is_percentage = style.tag == _PERCENTAGE
            self._codes[name] = "".join(_part_code(part, is_percentage) for part in style)
            self._conditions[name] = [
                (
                    part.get(_name("style:condition"), "").replace(_VALUE, ""),
                    part.get(_name("style:apply-style-name"), ""),
                )
                for part in style.iterchildren(_name("style:map"))
            ]
            return
        family, parent = style.get(_name("style:family")), _name("style:parent-style-name")
        lines = (
            font.get(_name(f"style:text-line-through-{key}"), "none")
            for font in style.iterchildren(_name("style:text-properties"))
            for key in ("style", "type")
        )
        is_struck = any(line != "none" for line in lines)
        if family == "text":
            self._texts[name] = style.get(parent, ""), is_struck
        elif family == "table-cell":
            self._names[style.get(_name("style:display-name"), name)] = name
            self._cells[name] = _CellStyle(
                style.get(parent, _NO_STYLE),
                style.get(_name("style:data-style-name"), ""),
                is_struck,
                [
                    part.get(_name("style:apply-style-name"), "")
                    for part in style.iterchildren(_name("style:map"))
                ],
            )

    def ids(self) -> Mapping[str, int]:
        """Return the ids of the cell styles by name."""
        return {name: number for number, name in enumerate(self._cells)}

    def format_of_displayed(self, name: str) -> str:
        """Return the number format of a cell style, by the name that users see or its own."""
        return self.format_code(self._names.get(name, name))

    def strikes(self, name: str) -> bool:
        """Return whether a style of texts strikes them through."""
        for _ in range(_MAX_PARENTS):
            name, is_struck = self._texts.get(name, ("", False))
            if is_struck:
                return True
        return False

    def _ancestry(self, name: str) -> list[_CellStyle]:
        """Return a cell style and those that it inherits from."""
        ancestry = list[_CellStyle]()
        while name in self._cells and len(ancestry) < _MAX_PARENTS:
            ancestry.append(self._cells[name])
            name = ancestry[-1].parent if name != _NO_STYLE else "\0"
        return ancestry

    def format_code(self, name: str) -> str:
        """Return the number format of a cell style."""
        data = next((style.data for style in self._ancestry(name) if style.data), "")
        parts = [
            f"[{condition}]{self._codes[replacement]}"
            for condition, replacement in self._conditions.get(data, ())
            if replacement in self._codes
        ]
        return ";".join([*parts, self._codes.get(data, "")]) or "General"

    @cached_property
    def conditional_codes(self) -> Mapping[str, Sequence[str]]:
        """Number formats that may replace those of a cell style, by its name."""
        return {
            name: codes
            for name in self._cells
            if (
                codes := [
                    self.format_code(other)
                    for style in self._ancestry(name)
                    for other in style.conditional
                ]
            )
        }

    @cached_property
    def _significant(self) -> tuple[dict[int, str], frozenset[int]]:
        return significant_styles(
            (self.format_code(name), any(style.struck for style in self._ancestry(name)))
            for name in self._cells
        )

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
_DEFAULT_STYLE_NAME = _name("table:default-cell-style-name")
_VALUE_TYPE, _CALC_TYPE = _name("office:value-type"), _name("calcext:value-type")
_ERROR_TYPE = "error"
_ERROR = re.compile(r"#[A-ZÀ-Ú/0-9_]+[!?]?|Err:\d+|#N/[AD]")
_RANGE = re.compile(
    r"(?:'(?:[^']|'')*'|[^\s:'.]*)\.\$?([A-Z]{1,3})\$?(\d{1,7})"
    r"(?::(?:'(?:[^']|'')*'|[^\s:'.]*)\.\$?([A-Z]{1,3})\$?(\d{1,7}))?",
    re.ASCII,
)
"""Range of cells with the names of their sheets."""
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
        properties = {
            value: "".join(element.itertext()).strip()
            for element in parse_part(archive.read(_META)).iter()
            for value in element.attrib.values()
        }
        self.fingerprint = properties.get(TEMPLATE_PROPERTY) or None
        self.exported = exported_resource(properties)
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
                elif not depth:
                    sheet.end()
            elif element.tag in _GROUPS:
                if depth == 1 and element.get(_name("table:display")) == "false":
                    sheet.hiding_groups += 1 if event == "start" else -1
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
            tag=(
                _TABLE,
                *_GROUPS,
                _COLUMN,
                _ROW,
                _STYLE,
                _DEFAULT_STYLE,
                _CONDITIONAL_FORMAT,
                *_DATA_STYLES,
            ),
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
    """Builder of the facts of one sheet, from its columns and rows in order.

    ``hiding_groups`` counts the collapsed groups that contain the next column or row.
    """

    def __init__(self, name: str, styles: OdsStyles, max_cells: int) -> None:
        self.raw = styles.new_sheet()
        self.hiding_groups = 0
        self._name = name
        self._styles = styles
        self._style_ids = styles.ids()
        self._typed_ids: dict[tuple[str, str], int] = {}
        self._areas: dict[tuple[int, str], CellRange] = {}
        self._max_cells = max_cells
        self._row = 1
        self._defaults: list[tuple[int, str]] = []

    def add(self, element: _Element) -> None:
        """Add a column, a row or a conditional format."""
        is_hidden = self.hiding_groups > 0 or element.get(_name("table:visibility")) in _HIDDEN
        if element.tag == _ROW:
            rows = range(self._row, self._row + _count(element, "rows-repeated"))
            self._row = rows.stop
            if is_hidden:
                self.raw.layout.hidden_rows.update(range(rows.start, min(rows.stop, MAX_ROWS + 1)))
            left, style = 0, element.get(_DEFAULT_STYLE_NAME)
            for cell in element.iterchildren(*_CELLS):
                right = left + _count(cell, "columns-repeated")
                self._add_cells(cell, rows, range(left, right), style)
                left = right
        elif element.tag == _COLUMN:
            first = self._defaults[-1][0] + 1 if self._defaults else 0
            last = first + _count(element, "columns-repeated") - 1
            if is_hidden:
                self.raw.layout.hidden_columns.append((first, min(last, _MAX_COLUMNS - 1)))
            self._defaults.append((last, element.get(_DEFAULT_STYLE_NAME, "")))
        else:
            addresses = element.get(_name("calcext:target-range-address"), "")
            ranges = [
                (int(top), column_index(left), int(bottom or top), column_index(right or left))
                for left, top, right, bottom in _RANGE.findall(addresses)
            ]
            for rule in element:
                names = map(rule.get, (_name("calcext:apply-style-name"), _name("calcext:style")))
                for code in map(self._styles.format_of_displayed, filter(None, names)):
                    self.raw.conditional_formats += ((code, one) for one in ranges)

    def end(self) -> None:
        """Add the areas of conditional formats that end with the sheet."""
        self.raw.conditional_formats += ((code, area) for (_, code), area in self._areas.items())

    def _add_cells(
        self, cell: _Element, rows: range, columns: range, row_style: str | None
    ) -> None:
        """Add a cell that is repeated over rows and columns; ``row_style`` is that of cells of its
        row that have none."""
        attributes, layout = dict(cell.attrib), self.raw.layout
        width, height = _count(cell, "columns-spanned"), _count(cell, "rows-spanned")
        if width > 1 or height > 1:
            corner = rows.start + height - 1, columns.start + width - 1
            layout.merged.append((rows.start, columns.start, *corner))
        is_value = _VALUE_TYPE in attributes and _FORMULA not in attributes
        is_value &= attributes.get(_CALC_TYPE) != _ERROR_TYPE
        kind = attributes.get(_VALUE_TYPE)
        # It has a type, and the value that this requires.
        needed = _TYPED_VALUES.get(kind or _VOID)
        has_value = kind not in (None, _VOID) and (
            needed is None or _name(f"office:{needed}") in attributes
        )
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
        struck = self._struck_pieces(cell, text) if kind == "string" and len(cell) else []
        for column in columns:
            name = attributes.get(_STYLE_NAME) or row_style
            name = name or next((name for last, name in self._defaults if column <= last), "")
            name = name or (_USUAL_STYLE if _USUAL_STYLE in self._style_ids else _NO_STYLE)
            style = self._style_id(name, attributes)
            # Number formats that may replace that of the cells of a style.
            for code in self._styles.conditional_codes.get(name, ()):
                area, top = self._areas.get((column, code)), rows.start
                if area is not None and area[2] == rows.start - 1:
                    top = area[0]
                elif area is not None:
                    self.raw.conditional_formats.append((code, area))
                self._areas[column, code] = top, column, rows.stop - 1, column
            for row in rows:
                self.raw.add_style(row, column, style)
                self.raw.add_struck_text(row, column, struck, len(text))
                if is_misread:
                    self.raw.replaced[row, column] = text
                if not is_value:
                    self._add_result(row, column, attributes, text, has_result)

    def _style_id(self, name: str, cell: Mapping[str, str]) -> int:
        """Return the id of a cell's style, -1 if it has none.

        A percentage, or an amount in a currency, is displayed as one even if its style has no
        number format; a percentage even if that of its style is another one.
        """
        currency, code = cell.get(_name("office:currency")), ""
        if cell.get(_VALUE_TYPE) == "percentage":
            code = "0.00%"
        elif cell.get(_VALUE_TYPE) == "currency" and currency is not None:
            code = f"[${currency[:_MAX_CURRENCY]}] #,##0.00"
        if not code:
            return self._style_ids.get(name, -1)
        key = name, code
        if key not in self._typed_ids:
            style = self._style_ids.get(name, -1)
            own = self._styles.format_code(name)
            if own == "General" or ("%" in code and "%" not in own):
                number = len(self._style_ids) + len(self._typed_ids)
                self.raw.formats[number] = code
                if style in self.raw.struck:
                    self.raw.struck |= {number}
                style = number
            self._typed_ids[key] = style
        return self._typed_ids[key]

    def _struck_pieces(self, cell: _Element, text: str) -> list[tuple[int, int]]:
        """Return the begins and the ends of the struck pieces of a cell's text."""
        pieces = [
            piece
            for paragraph in cell.iterchildren(*_PARAGRAPHS)
            for piece in self._strikes(paragraph, is_struck=False)
        ]
        if all(is_struck for _, is_struck in pieces):
            return [(0, len(text))] if pieces else []
        struck, end = list[tuple[int, int]](), 0
        for piece, is_struck in pieces:
            begin = max(text.find(piece, end), end)
            end = min(begin + len(piece), len(text))
            if is_struck:
                struck.append((begin, end))
        return struck

    def _strikes(self, element: _Element, *, is_struck: bool) -> Iterator[tuple[str, bool]]:
        """Yield the pieces of a text that are not blank, each with whether it is struck through."""
        if piece := _WHITE_SPACE.sub(" ", element.text or "").strip():
            yield piece, is_struck
        for child in element.iterchildren(f"{_TEXT_SPACE}*"):
            own = is_struck or self._styles.strikes(child.get(_name("text:style-name"), ""))
            yield from self._strikes(child, is_struck=own)
            if piece := _WHITE_SPACE.sub(" ", child.tail or "").strip():
                yield piece, is_struck

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
_VOID = "void"
"""Type of a cell without a value, which may have a text."""

_WHITE_SPACE = re.compile(r"[ \t\r\n]+")
_LAST_BREAK = re.compile(r"[\r\n][ \t\r\n]*\Z")
_MARKS: Mapping[str, str] = {"s": "\0", "tab": "\1", "line-break": "\2"}
"""Marks of elements of white space, which is not collapsed."""
_MARKED_SPACE = str.maketrans("\0\1\2", " \t\n")
_NO_TEXT = frozenset({"ruby-text", "note"})


def _parsed_text(cell: _Element) -> str | None:
    """Return the text that the parser reads, None if that is uncertain.

    It also reads the white space around paragraphs, by which a program indents its XML.
    """
    if cell.text or any(
        child.tag not in _WITHOUT_SHAPES or len(child) or child.tail for child in cell
    ):
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
