"""Number formats of styles and cells, and what they show of a number: scale, currency, text."""

import re
import zipfile
from collections.abc import Collection, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal
from itertools import takewhile
from pathlib import Path
from xml.etree import ElementTree as ET

from xlbridge.i18n import Text
from xlbridge.workbook.address import CellPosition, column_index, column_letters

BUILT_IN: Mapping[int, str] = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00",
    5: "$#,##0;($#,##0)", 6: "$#,##0;($#,##0)", 7: "$#,##0.00;($#,##0.00)",
    8: "$#,##0.00;($#,##0.00)", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    41: "#,##0;(#,##0)", 42: "$#,##0;($#,##0)", 43: "#,##0.00;(#,##0.00)",
    44: "$#,##0.00;($#,##0.00)", 48: "##0.0E+0", 49: "@",
}  # fmt: skip
"""The formats that a file names by a number alone; that of each other such number is a date's or a
time's."""

_DATE_FORMAT = "dd/mm/yyyy"
_PLAIN_FORMATS = frozenset({"General", "@", "0", "#"})
_MAX_FORMAT_LENGTH = 255
_LITERAL = re.compile(r'"[^"]*"|\\.|[_*].|\[(?![hmsHMS]+\])[^\]]*\]', re.DOTALL)
_DATE_LETTERS = re.compile(r"[dmyhs]", re.IGNORECASE)
_SCALING_COMMAS = re.compile(r"(?<=[0#?])(,+)(?![0#?,])")


def style_number_formats(root: ET.Element) -> dict[int, str]:
    """Return the formats of the cell styles of ``xl/styles.xml`` that may show a number as more
    than its digits.

    One that is longer than Excel allows is left out, and so are those that make a date of it.
    """
    codes = {
        element.get("numFmtId", ""): element.get("formatCode", "")
        for element in root.iter()
        if _local_name(element) == "numFmt"
    }
    styles = next((element for element in root if _local_name(element) == "cellXfs"), ())
    identities = (style.get("numFmtId", "0") for style in styles)
    formats = (format_code(identity, codes.get(identity, "")) for identity in identities)
    return {
        style: code
        for style, code in enumerate(formats)
        if code not in _PLAIN_FORMATS
        and len(code) <= _MAX_FORMAT_LENGTH
        and not is_date_or_time(code)
    }


def format_code(identity: str, own: str) -> str:
    """Return the code of the format with that id; ``own`` is what the file itself says of it."""
    return own or (
        BUILT_IN.get(int(identity), _DATE_FORMAT) if identity.isdecimal() else BUILT_IN[0]
    )


def is_date_or_time(code: str) -> bool:
    """Return whether a format shows a number as a date or a time."""
    bare = _LITERAL.sub("", code).replace("General", "")
    return _DATE_LETTERS.search(bare) is not None


def scale_factor(code: str) -> float:
    """Return how many times what is stored a format shows: 100 for a percentage, else mostly 1."""
    bare = _LITERAL.sub("", code)
    scaling = _SCALING_COMMAS.search(bare.partition(";")[0])
    shown = 100.0 if "%" in bare else 1.0
    return shown / 1000 ** len(scaling[1]) if scaling else shown


def _local_name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


_CHUNK = 1 << 20
_MAX_TAG_LENGTH = 1 << 12
_STYLE_ATTRIBUTE = re.compile(rb"""\ss=["'](\d+)["']""")


def cell_number_formats(
    path: Path, part: str, formats: Mapping[int, str], columns: Collection[int]
) -> dict[CellPosition, str]:
    """Return the formats of the cells in some columns of a sheet.

    ``part`` is the sheet's, ``formats`` are those that are looked for, by the style that has them,
    ``columns`` are zero-based. Cells without an address are skipped.
    """
    if not formats or not columns:
        return {}
    letters = b"|".join(column_letters(column).encode() for column in columns)
    styles = b"|".join(str(style).encode() for style in formats)
    quick = re.compile(rb'<c r="(%s)(\d{1,7})"[^>]*? s="(%s)"' % (letters, styles))
    exact = re.compile(rb"""<(?:\w+:)?c\s([^<>]*?\br=["'](%s)(\d{1,7})["'][^<>]*)>""" % letters)
    found = {}
    for block in _part_blocks(path, part):
        cells = quick.findall(block) if _is_usual_markup(block) else _styled_cells(exact, block)
        for column, row, style in cells:
            code = formats.get(int(style))
            if code is not None:
                found[int(row), column_index(column.decode())] = code
    return found


def _is_usual_markup(block: bytes) -> bool:
    """Return whether each cell begins with its address, in double quotes, without a prefix."""
    return (
        block.count(b"<c ") == block.count(b'<c r="') and b":c " not in block and b"='" not in block
    )


def _styled_cells(exact: re.Pattern[bytes], block: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield column, row and style of cells, however they are written."""
    for attributes, column, row in exact.findall(block):
        style = _STYLE_ATTRIBUTE.search(b" " + attributes)
        if style is not None:
            yield column, row, style[1]


def _part_blocks(path: Path, part: str) -> Iterator[bytes]:
    """Yield a part in pieces that end where an element begins."""
    pending = b""
    with zipfile.ZipFile(path) as archive, archive.open(part) as content:
        while piece := content.read(_CHUNK):
            piece = pending + piece
            cut = piece.rfind(b"<")
            yield piece[:cut]
            pending = piece[cut:] if len(piece) - cut < _MAX_TAG_LENGTH else b""
    yield pending


_TAGGED_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-([^\]]*))?\]")
"""A currency as Excel's list of them writes it, with the locale that it is of."""

_NAMED_CURRENCY = re.compile(
    r"US\$|U\$S?|[€£¥]|\b(?:USD|EUR|GBP|JPY|CHF|CNY|CAD|AUD|ARS|BOB|CLP|COP|MXN|PEN|PYG|UYU)\b"
)
_REAL_SIGNS = frozenset({"", "R$", "BRL"})
_BRAZILIAN_LOCALES = frozenset({"", "416", "pt-br"})
_US_LOCALES = frozenset({"409", "en-us"})


def foreign_currency(code: str) -> str | None:
    """Return the sign of the currency that a number format shows, None where that is the real.

    A ``$`` without a locale does not count: which currency it is depends on the computer.
    """
    for sign, locale in _TAGGED_CURRENCY.findall(code):
        place = locale.lower()
        if sign == "$" and place not in _BRAZILIAN_LOCALES:
            return "US$" if place in _US_LOCALES else "$"
        if sign not in {"$", *_REAL_SIGNS}:
            return str(sign)
    named = _NAMED_CURRENCY.search(re.sub(r'\[[^\]]*\]|["\\]', "", code))
    return named[0] if named else None


_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<space>.)|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|\[(?P<bracket>[^\]]*)\]|(?P<plain>General|@)|(?P<power>E[+-])|(?P<digit>[0#?])|(?P<other>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"[<>=]")

FormatToken = tuple[str, str]
"""Piece of a number format: its kind and its text."""


def shown_number(code: str, value: int) -> Text | None:
    """Return what a cell shows of a number that is not below zero, None where that is not known.

    What is not known: fractions, and formats that depend on a condition.
    """
    section = _section(code, value)
    tokens = list(_tokens(section))
    kinds = {kind for kind, _ in tokens}
    if any(kind == "bracket" and _CONDITION.search(text) for kind, text in tokens):
        return None
    if "plain" in kinds:
        return _bilingual(
            "".join(str(value) if k == "plain" else t for k, t in tokens if k != "bracket")
        )
    if ("other", "/") in tokens:
        return None
    if "power" in kinds:
        mantissa = list(takewhile(lambda token: token[0] != "power", tokens))
        places = sum(kind == "digit" for kind, _ in _split_at_point(mantissa)[1])
        return _with_decimal_comma(f"{value:.{places}E}")
    scaled = Decimal(value) * Decimal(str(scale_factor(section)))
    return _bilingual(
        _shown_decimal(tokens, scaled, ",", "."), _shown_decimal(tokens, scaled, ".", ",")
    )


def _section(code: str, value: int) -> str:
    """Return the part of a format that is for the value."""
    sections, start = [], 0
    for match in _TOKEN.finditer(code):
        if match["other"] == ";":
            sections.append(code[start : match.start()])
            start = match.end()
    sections.append(code[start:])
    return sections[2] if value == 0 and len(sections) > 2 else sections[0]


def _tokens(section: str) -> Iterator[FormatToken]:
    for match in _TOKEN.finditer(section):
        kind = match.lastgroup or "filler"
        text = match[kind] if kind != "filler" else ""
        if kind in {"quoted", "escaped", "currency"}:
            yield "literal", text
        elif kind == "space":
            yield "literal", " "
        elif kind != "filler":
            yield kind, text


def _split_at_point(tokens: list[FormatToken]) -> tuple[list[FormatToken], list[FormatToken]]:
    """Return what stands before the decimal point, and what from there on."""
    point = ("other", ".")
    at = tokens.index(point) if point in tokens else len(tokens)
    return tokens[:at], tokens[at:]


def _shown_decimal(tokens: list[FormatToken], value: Decimal, group: str, point: str) -> str:
    whole, fraction = _split_at_point(tokens)
    places = sum(kind == "digit" for kind, _ in fraction)
    rounded = f"{value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"
    before, _, after = rounded.partition(".")
    return _shown_integer_part(whole, before, group) + _shown_fraction(fraction, after, point)


def _shown_integer_part(tokens: list[FormatToken], digits: str, group: str) -> str:
    holders = [place for place, (kind, _) in enumerate(tokens) if kind == "digit"]
    if not holders:
        return "".join(text for kind, text in tokens if _is_shown(kind, text))
    grouped = any(tokens[p] == ("other", ",") for p in range(holders[0], holders[-1]))
    zeros = [place for place in holders if tokens[place][1] == "0"]
    rest = digits.lstrip("0")
    shown, written = [], 0
    for place in range(len(tokens) - 1, -1, -1):
        kind, text = tokens[place]
        if kind != "digit":
            shown.append(text if _is_shown(kind, text) else "")
            continue
        take = len(rest) if place == holders[0] else 1
        taken = rest[len(rest) - take :] if take else ""
        rest = rest[: len(rest) - len(taken)]
        if not taken and zeros and place >= zeros[0]:
            taken = "0"
        for digit in reversed(taken):
            shown.append(group if grouped and written and written % 3 == 0 else "")
            shown.append(digit)
            written += 1
    return "".join(reversed(shown))


def _shown_fraction(tokens: list[FormatToken], digits: str, point: str) -> str:
    shown, place = [], 0
    needed = len(digits.rstrip("0"))
    for kind, text in tokens:
        if kind == "digit":
            if text == "0" or place < needed:
                shown.append(digits[place])
            place += 1
        elif (kind, text) == ("other", "."):
            shown.append(point)
        elif _is_shown(kind, text):
            shown.append(text)
    return "".join(shown)


def _is_shown(kind: str, text: str) -> bool:
    return kind == "literal" or (kind == "other" and text != ",")


def _with_decimal_comma(text: str) -> Text:
    return Text(pt=text.replace(".", ","), en=text)


def _bilingual(en: str, pt: str | None = None) -> Text:
    return Text(pt=en if pt is None else pt, en=en)
