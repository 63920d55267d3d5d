"""Number formats of styles, and what they tell of a number: dates, scale, currency.

Also the styles that strike cells through.
"""

import re
from collections.abc import Iterable, Mapping
from xml.etree import ElementTree as ET

BUILT_IN: Mapping[int, str] = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00",
    5: "R$#,##0;(R$#,##0)", 6: "R$#,##0;(R$#,##0)", 7: "R$#,##0.00;(R$#,##0.00)",
    8: "R$#,##0.00;(R$#,##0.00)", 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
    16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss",
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)",
    41: "#,##0;(#,##0)", 42: "R$#,##0;(R$#,##0)", 43: "#,##0.00;(#,##0.00)",
    44: "R$#,##0.00;(R$#,##0.00)", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0",
    49: "@",
}  # fmt: skip
"""The formats that a file names by a number alone; that of each other such number is a date's.
Where they show a currency, it is that of the computer."""

_CURRENCY_OF_COMPUTER = frozenset({5, 6, 7, 8, 41, 42, 43, 44})

_DATE_FORMAT = "dd/mm/yyyy"
_PLAIN_FORMATS = frozenset({"General", "@", "0", "#"})
_MAX_FORMAT_LENGTH = 255
_LITERAL = re.compile(r'"[^"]*"|\\.|[_*].|\[(?![hmsHMS]+\])[^\]]*\]', re.DOTALL)
_DATE_LETTERS = re.compile(r"[dmyhs]", re.IGNORECASE)
_SCALING_COMMAS = re.compile(r"(?<=[0#?])(,+)(?![0#?,])")


def style_number_formats(root: ET.Element) -> dict[int, str]:
    """Return the formats of the cell styles of ``xl/styles.xml`` that may show a number as more
    than its digits, or a date as less than its day, month and year.

    One that is longer than Excel allows is left out.
    """
    codes = {
        element.get("numFmtId", ""): element.get("formatCode", "")
        for element in root.iter()
        if _local_name(element) == "numFmt"
    }
    styles = next((element for element in root if _local_name(element) == "cellXfs"), ())
    identities = (style.get("numFmtId", "0") for style in styles)
    return telling_formats(
        format_code(identity, codes.get(identity, "")) for identity in identities
    )


def telling_formats(formats: Iterable[str]) -> dict[int, str]:
    """Return those formats of cell styles, given in their order, that may show a number as more
    than its digits, without those that make a date of it."""
    return {
        style: code
        for style, code in enumerate(formats)
        if code not in _PLAIN_FORMATS and len(code) <= _MAX_FORMAT_LENGTH and _tells_more(code)
    }


def _tells_more(code: str) -> bool:
    # The parser takes a number for a date where the first part of its format does.
    first = _LITERAL.sub("", code).partition(";")[0]
    return not is_date_or_time(first) or shown_date_parts(code) != DATE_PARTS


def struck_styles(root: ET.Element) -> frozenset[int]:
    """Return the cell styles of ``xl/styles.xml`` whose font is struck through."""
    fonts, styles = (
        next((element for element in root if _local_name(element) == name), ())
        for name in ("fonts", "cellXfs")
    )
    struck = {str(place) for place, font in enumerate(fonts) if _is_struck(font)}
    return frozenset(n for n, style in enumerate(styles) if style.get("fontId", "0") in struck)


def _is_struck(font: ET.Element) -> bool:
    marks = (element for element in font if _local_name(element) == "strike")
    return any(mark.get("val", "1") not in {"0", "false"} for mark in marks)


def format_code(identity: str, own: str) -> str:
    """Return the code of the format with that id; ``own`` is what the file itself says of it."""
    number = int(identity) if identity.isdecimal() else 0
    if number in _CURRENCY_OF_COMPUTER:
        return BUILT_IN[number]
    return own or BUILT_IN.get(number, _DATE_FORMAT)


def is_date_or_time(code: str) -> bool:
    """Return whether a format shows a number as a date or a time."""
    bare = _LITERAL.sub("", code).replace("General", "")
    return _DATE_LETTERS.search(bare) is not None


DATE_PARTS = frozenset("dmy")
"""Day, month and year, by their letters in formats."""

_CLOCK = re.compile(r"am/pm|a/p|h+\]?[^a-z]*m{1,2}(?!m)|m{1,2}(?=\]?[^a-z]*s)")
_DATE_PART = re.compile(r"(d+)|(m+)|[ye]+")


def shown_date_parts(code: str) -> frozenset[str]:
    """Return which parts of a date a format shows; none where it shows no date."""
    bare = _CLOCK.sub("", _LITERAL.sub("", code).partition(";")[0].lower())
    return frozenset(
        "d" if day else "m" if month else "y"
        for day, month in _DATE_PART.findall(bare)
        # Three letters and more name the day of the week.
        if len(day) <= len("dd")
    )


def scale_factor(code: str) -> float:
    """Return how many times what is stored a format shows: 100 for a percentage, else mostly 1."""
    bare = _LITERAL.sub("", code)
    scaling = _SCALING_COMMAS.search(bare.partition(";")[0])
    shown = 100.0 if "%" in bare else 1.0
    return shown / 1000 ** len(scaling[1]) if scaling else shown


def scaling_styles(formats: Mapping[int, str]) -> dict[int, float]:
    """Return the cell styles, of those with the given formats, that show a number so many times."""
    return {style: by for style, code in formats.items() if (by := scale_factor(code)) != 1}


def _local_name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


_TAGGED_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-([^\]]*))?\]")
"""A currency as Excel's list of them writes it, with the locale that it is of."""

_NAMED_CURRENCY = re.compile(
    r"US\$|U\$S?|[€£¥]|\b(?:USD|EUR|GBP|JPY|CHF|CNY|CAD|AUD|ARS|BOB|CLP|COP|MXN|PEN|PYG|UYU)\b"
)
_DOLLAR = re.compile(r"(?<![A-Za-z])\$")
_REAL_SIGNS = frozenset({"", "R$", "BRL"})
_BRAZILIAN_LOCALES = frozenset({"", "416", "pt-br"})
_US_LOCALES = frozenset({"409", "en-us"})


def foreign_currency(code: str) -> str | None:
    """Return the sign of the currency that a number format shows, None where that is the real."""
    for sign, locale in _TAGGED_CURRENCY.findall(code):
        place = locale.lower()
        if sign == "$" and place not in _BRAZILIAN_LOCALES:
            return "US$" if place in _US_LOCALES else "$"
        if sign not in {"$", *_REAL_SIGNS}:
            return str(sign)
    bare = re.sub(r'\[[^\]]*\]|["\\]', "", code)
    named = _NAMED_CURRENCY.search(bare) or _DOLLAR.search(bare)
    return named[0] if named else None
