"""Styles of an .ods workbook's cells: number formats as Excel writes them, struck fonts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_DATA_STYLES = frozenset({
    "number:number-style", "number:percentage-style", "number:currency-style",
    "number:date-style", "number:time-style", "number:text-style", "number:boolean-style",
})  # fmt: skip
_LETTERS: Mapping[str, str] = {
    "number:year": "yyyy", "number:month": "mm", "number:day": "dd", "number:hours": "hh",
    "number:minutes": "mm", "number:seconds": "ss", "number:text-content": "@",
    "number:day-of-week": "ddd", "number:am-pm": "AM/PM", "number:quarter": "mm",
}  # fmt: skip
_SPOKEN = frozenset({"number:text", "number:currency-symbol"})
_MOST_DIGITS = 30
_MOST_PARENTS = 16
_VALUE = "value()"


@dataclass(slots=True)
class _CellStyle:
    """Style of cells: the style that it completes, its format, whether its font is struck."""

    parent: str = ""
    data: str = ""
    struck: bool = False


@dataclass(slots=True)
class _DataStyle:
    """Number format: its code, and those that stand in for it under conditions."""

    code: str = ""
    others: list[tuple[str, str]] = field(default_factory=list)


class OdsStyles:
    """Styles of a workbook, read element by element; a style's number is its place."""

    def __init__(self) -> None:
        self._cells: dict[str, _CellStyle] = {}
        self._numbers: dict[str, int] = {}
        self._data: dict[str, _DataStyle] = {}
        self._cell: _CellStyle | None = None
        self._open: _DataStyle | None = None
        self._said: list[str] | None = None

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Note the beginning of an element outside the sheets."""
        if name in _DATA_STYLES:
            self._open = self._data.setdefault(attributes.get("style:name", ""), _DataStyle())
            self._open.code, self._open.others = "", []
        elif self._open is not None:
            self._start_in_format(self._open, name, attributes)
        elif name == "style:style" and attributes.get("style:family") == "table-cell":
            own = attributes.get("style:name", "")
            self._cell = self._cells[own] = _CellStyle(
                attributes.get("style:parent-style-name", ""),
                attributes.get("style:data-style-name", ""),
            )
            self._numbers.setdefault(own, len(self._numbers))
        elif name == "style:text-properties" and self._cell is not None:
            line = attributes.get("style:text-line-through-style", "none")
            kind = attributes.get("style:text-line-through-type", "none")
            self._cell.struck = line != "none" or kind != "none"

    def end(self, name: str) -> None:
        """Note the end of an element outside the sheets."""
        if name in _DATA_STYLES:
            self._open = None
        elif name == "style:style":
            self._cell = None
        elif name in _SPOKEN and self._open is not None and self._said is not None:
            said = "".join(self._said)
            is_sign = name == "number:currency-symbol"
            self._open.code += f"[${said}]" if is_sign else _literal(said)
            self._said = None

    def take(self, text: str) -> None:
        """Take the text of an element outside the sheets."""
        if self._said is not None:
            self._said.append(text)

    def number(self, name: str) -> int:
        """Return the number of a cell style, -1 where there is none of that name."""
        return self._numbers.get(name, -1)

    def codes(self) -> Iterator[str]:
        """Yield the format of each cell style, in the order of their numbers."""
        for name in self._numbers:
            found = next((style.data for style in self._line(name) if style.data), "")
            yield self._code(found) or "General"

    def struck(self) -> frozenset[int]:
        """Return the numbers of the cell styles that are struck through."""
        return frozenset(
            number
            for name, number in self._numbers.items()
            if any(style.struck for style in self._line(name))
        )

    def _line(self, name: str) -> Iterator[_CellStyle]:
        """Yield a cell style and those that it completes."""
        for _ in range(_MOST_PARENTS):
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
            f"[{on}]{self._data[other].code}" for on, other in style.others if other in self._data
        ]
        return ";".join([*parts, style.code])

    def _start_in_format(self, style: _DataStyle, name: str, attributes: Mapping[str, str]) -> None:
        if name in _SPOKEN:
            self._said = []
        elif name == "number:number":
            style.code += _number_code(attributes)
        elif name in {"number:scientific-number", "number:fraction"}:
            style.code += "0.00E+00" if name.endswith("number") else "# ?/?"
        elif name == "style:map":
            condition = attributes.get("style:condition", "").replace(_VALUE, "")
            style.others.append((condition, attributes.get("style:apply-style-name", "")))
        else:
            style.code += _LETTERS.get(name, "")


def _literal(text: str) -> str:
    """Return a text within a format; the percent sign is one only outside quotes."""
    pieces = (piece and f'"{piece}"' for piece in text.replace('"', "").split("%"))
    return "%".join(pieces)


def _digits(text: str | None) -> int:
    known = text is not None and text.isascii() and text.isdecimal()
    return min(int(text or 0), _MOST_DIGITS) if known else 0


def _number_code(attributes: Mapping[str, str]) -> str:
    """Return the digits of a format: 0 where nothing is said of decimals is General."""
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
