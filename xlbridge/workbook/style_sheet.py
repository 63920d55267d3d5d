"""The styles of a workbook, and the same styles with another number format."""

import re
from xml.etree import ElementTree as ET
from xml.parsers import expat

from xlbridge.workbook.sheet_cells_xml import element_end

_GENERAL, _DATE, _TEXT = 0, 14, 49
_DATES = frozenset({14, 15, 16, 17, 22})
_LITERAL = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_FORMAT_ID = re.compile(rb"""\bnumFmtId\s*=\s*["']\d*["']""")
_APPLIED = re.compile(rb"""\bapplyNumberFormat\s*=\s*["'][^"']*["']""")
_COUNT = re.compile(rb"""\bcount\s*=\s*["']\d+["']""")


class StyleSheet:
    """The part ``xl/styles.xml``, to which styles are added.

    A style is an index, as cells carry it. ``part`` is the part's XML, with ASCII as ASCII.
    """

    def __init__(self, part: bytes) -> None:
        self._part = part
        self._added: list[bytes] = []
        self._made: dict[tuple[int, int], int] = {}
        root = ET.fromstring(part)  # noqa: S314 - the gate refused DTDs and bounded the size
        self._codes = {
            int(element.get("numFmtId", "0")): element.get("formatCode", "")
            for element in root.iter()
            if element.tag.rpartition("}")[2] == "numFmt"
        }
        self._spans, self._open, self._close = _cell_styles(part)
        self._formats = [_format_of(part[start:end]) for start, end in self._spans]

    def for_date(self, style: int) -> int:
        """Return the style in which a date is shown as one."""
        return style if self._shows_date(style) else self._with(style, _DATE)

    def for_number(self, style: int) -> int:
        """Return the style in which a number is not taken for text."""
        return self._with(style, _GENERAL) if self._shows_text(style) else style

    def for_text(self, style: int) -> int:
        """Return the style in which digits stay text when they are typed again."""
        return style if self._shows_text(style) else self._with(style, _TEXT)

    def content(self) -> bytes:
        """Return the part with the added styles."""
        if not self._added:
            return self._part
        head, tag = self._part[: self._open[0]], self._part[slice(*self._open)]
        count = str(len(self._spans) + len(self._added)).encode()
        tag = _COUNT.sub(b'count="' + count + b'"', tag)
        body = self._part[self._open[1] : self._close]
        return b"".join((head, tag, body, *self._added, self._part[self._close :]))

    def _format(self, style: int) -> int:
        return self._formats[style] if style < len(self._formats) else _GENERAL

    def _shows_date(self, style: int) -> bool:
        number = self._format(style)
        code = _LITERAL.sub("", self._codes.get(number, "")).lower()
        return number in _DATES or ("d" in code and "y" in code)

    def _shows_text(self, style: int) -> bool:
        number = self._format(style)
        return number == _TEXT or self._codes.get(number) == "@"

    def _with(self, style: int, number: int) -> int:
        key = style, number
        if key not in self._made:
            start, end = self._spans[style]
            self._added.append(_with_format(self._part[start:end], number))
            self._made[key] = len(self._spans) + len(self._added) - 1
        return self._made[key]


def _format_of(xf: bytes) -> int:
    found = _FORMAT_ID.search(xf[: xf.index(b">")])
    digits = b"".join(re.findall(rb"\d", found[0])) if found else b""
    return int(digits or b"0")


def _with_format(xf: bytes, number: int) -> bytes:
    end = xf.index(b">")
    if xf[end - 1 : end] == b"/":
        end -= 1
    head = _APPLIED.sub(b"", _FORMAT_ID.sub(b"", xf[:end])).rstrip()
    return head + f' numFmtId="{number}" applyNumberFormat="1"'.encode() + xf[end:]


def _cell_styles(part: bytes) -> tuple[list[tuple[int, int]], tuple[int, int], int]:
    """Return where each cell style stands, the opening tag of their list, and the list's end.

    Raises ``ExpatError`` when the part is no XML, ``LookupError`` when it has no such list.
    """
    spans: list[tuple[int, int]] = []
    opened: list[tuple[int, int]] = []
    closed: list[int] = []
    begun: list[int] = []
    parser = expat.ParserCreate()

    def start(name: str, _attributes: object) -> None:
        at = parser.CurrentByteIndex
        match name.rpartition(":")[2]:
            case "cellXfs":
                opened.append((at, part.index(b">", at) + 1))
            case "xf" if len(opened) > len(closed):
                begun.append(at)

    def end(name: str) -> None:
        at = parser.CurrentByteIndex
        match name.rpartition(":")[2]:
            case "cellXfs":
                closed.append(at)
            case "xf" if begun:
                spans.append((begun.pop(), element_end(part, name, at)))

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(part, True)
    if not spans:
        raise LookupError("cellXfs")
    return spans, opened[0], closed[0]
