"""Formats of a sheet's cells, by the names of the writer that copies them, and what it cannot copy.

Number formats, fonts and fills are copied as far as they say something about a cell: bold, italic,
underlined and struck-through text, and colours that do not depend on the theme.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, TypeVar

from lxml import etree

from xlbridge.i18n import Text
from xlbridge.workbook.edit import xml_elements as xml
from xlbridge.workbook.edit.editable_package import (
    EditablePackage,
    cells_by_column,
    find_sheet_data,
)
from xlbridge.workbook.formats.number_formats import format_code
from xlbridge.workbook.read.cells import TRUE

CellFormat = Mapping[str, Any]
"""Properties of a cell's format, by xlsxwriter's names; only filled cells have ``num_format``."""

_Entry = TypeVar("_Entry")
_LOST_ELEMENTS: Mapping[str, Text] = {
    "conditionalFormatting": Text(pt="formatação condicional", en="conditional formats"),
    "drawing": Text(pt="figuras, formas e gráficos", en="pictures, shapes and charts"),
    "picture": Text(pt="figura de fundo", en="the background picture"),
    "oleObjects": Text(pt="objetos", en="objects"),
    "controls": Text(pt="controles", en="controls"),
    "hyperlinks": Text(pt="links", en="links"),
    "tableParts": Text(pt="tabelas", en="tables"),
    "sheetProtection": Text(pt="a proteção da planilha", en="the protection of the sheet"),
}
_COLOURS = Text(pt="cores do tema", en="colours of the theme")
_PATTERNS = Text(pt="padrões e degradês", en="patterns and gradients")
_BORDERS = Text(pt="bordas", en="borders")
_RICH_TEXT = Text(pt="formatos de partes de um texto", en="formats of parts of a text")
_TEXT_COLOURS = frozenset({"000000"})
_PLAIN_THEME_COLOURS = frozenset({"0", "1"})
"""Colours of text and background in every theme."""

_FONT_MARKS = {"b": "bold", "i": "italic", "u": "underline", "strike": "font_strikeout"}


class CellFormats:
    """Formats of the cells of one sheet.

    ``formulas`` counts the formulas read so far, ``lost`` names what their formats and the sheet
    have that is not copied.
    """

    def __init__(self, package: EditablePackage, part: str) -> None:
        self.formulas = 0
        content = package.read(part)
        begin, end, tag = find_sheet_data(content)
        self._content = content
        rest = xml.parse(content[:begin] + b"<" + tag + b"/>" + content[end:])
        names = {xml.local_name(element) for element in rest}
        self.lost = {text: None for name, text in _LOST_ELEMENTS.items() if name in names}
        styles = package.related(package.workbook, "styles")
        is_there = styles is not None and styles in package
        self._styles = list(_styles(xml.parse(package.read(styles or "")))) if is_there else []
        strings = package.related(package.workbook, "sharedStrings")
        self._rich_texts = frozenset[str]()
        if strings is not None and strings in package:
            texts = enumerate(xml.parse(package.read(strings)).iterfind("{*}si"))
            self._rich_texts = frozenset(str(n) for n, it in texts if it.find("{*}r") is not None)

    def rows(self, first: int, last: int) -> Iterator[Mapping[int, CellFormat]]:
        """Yield the formats of the cells of each of Excel's rows, by zero-based column."""
        number = 0
        following = first
        for _, row in etree.iterparse(BytesIO(self._content), tag="{*}row", huge_tree=True):
            declared = row.get("r", "")
            number = int(declared) if declared.isdecimal() else number + 1
            if number > last:
                return
            if number >= first:
                yield from ({} for _ in range(following, number))
                yield dict(self._cells(row))
                following = number + 1
            row.clear()
            while row.getprevious() is not None:
                del row.getparent()[0]

    def _cells(self, row: xml.Element) -> Iterator[tuple[int, CellFormat]]:
        for column, cell in cells_by_column(row):
            self.formulas += cell.find("{*}f") is not None
            properties, lost = _entry(self._styles, cell.get("s", "0")) or ({}, ())
            if not len(cell):
                properties = {k: v for k, v in properties.items() if k != "num_format"}
            self.lost.update(dict.fromkeys(lost))
            is_shared = cell.get("t") == "s"
            if cell.find("{*}is/{*}r") is not None or (
                is_shared and cell.findtext("{*}v", "").strip() in self._rich_texts
            ):
                self.lost[_RICH_TEXT] = None
            if properties:
                yield column, properties


def _styles(root: xml.Element) -> Iterator[tuple[CellFormat, tuple[Text, ...]]]:
    """Yield the properties of each cell style, and what of it is not copied."""
    codes = {e.get("numFmtId"): e.get("formatCode", "") for e in root.iterfind("{*}numFmts/*")}
    fonts, fills, borders = (
        list(root.iterfind(f"{{*}}{name}/*")) for name in ("fonts", "fills", "borders")
    )
    for style in root.iterfind("{*}cellXfs/*"):
        properties: dict[str, Any] = {}
        lost: list[Text] = []
        number = style.get("numFmtId", "0")
        code = format_code(number, codes.get(number, ""))
        if code != "General":
            properties["num_format"] = code
        if (font := _entry(fonts, style.get("fontId"))) is not None:
            for mark, name in _FONT_MARKS.items():
                found = font.find(f"{{*}}{mark}")
                if found is not None and found.get("val", "1") in {*TRUE, "single", "double"}:
                    properties[name] = True
            _add_colour(properties, lost, "font_color", font.find("{*}color"))
        if (fill := _entry(fills, style.get("fillId"))) is not None:
            pattern = fill.find("{*}patternFill")
            kind = "none" if pattern is None else pattern.get("patternType", "none")
            if kind == "solid":
                _add_colour(properties, lost, "bg_color", pattern.find("{*}fgColor"))
            elif kind != "none" or fill.find("{*}gradientFill") is not None:
                lost.append(_PATTERNS)
        border = _entry(borders, style.get("borderId"))
        if border is not None and any(side.get("style", "none") != "none" for side in border):
            lost.append(_BORDERS)
        yield properties, tuple(lost)


def _entry(entries: Sequence[_Entry], index: str | None) -> _Entry | None:
    """Return an entry by its index in the file, None if there is none."""
    is_known = index is not None and index.isdecimal() and int(index) < len(entries)
    return entries[int(index or "0")] if is_known else None


def _add_colour(
    properties: dict[str, Any], lost: list[Text], name: str, colour: xml.Element | None
) -> None:
    """Add a colour that does not depend on the theme to a format; name any other as lost."""
    if colour is None or colour.get("auto") in TRUE:
        return
    rgb = colour.get("rgb", "")[-6:]
    if rgb:
        if name != "font_color" or rgb not in _TEXT_COLOURS:
            properties[name] = f"#{rgb}"
    elif colour.get("theme") not in _PLAIN_THEME_COLOURS or name != "font_color":
        lost.append(_COLOURS)
