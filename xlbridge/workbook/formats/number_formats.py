"""Number formats of styles: dates, scale and currency; and styles that strike cells through."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

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
"""Formats that files refer to by number only; other such numbers are date formats. Their currency
is that of the computer."""

_CURRENCY_OF_COMPUTER = frozenset({5, 6, 7, 8, 41, 42, 43, 44})

_DATE_FORMAT = "dd/mm/yyyy"
_PLAIN_FORMATS = frozenset({"General", "@", "0", "#"})
_MAX_FORMAT_LENGTH = 255
_LITERAL = re.compile(r'"[^"]*"|\\.|[_*].|\[(?![hmsHMS]+\])[^\]]*\]', re.DOTALL)
_DATE_LETTERS = re.compile(r"[dmyhs]", re.IGNORECASE)
_SCALING_COMMAS = re.compile(r"(?<=[0#?])(,+)(?![0#?,])")


def significant_styles(styles: Iterable[tuple[str, bool]]) -> tuple[dict[int, str], frozenset[int]]:
    """Return the significant formats by cell style, and the styles that strike cells through.

    ``styles`` are the format of each style, and whether its font is struck through. A significant
    format may display a number as more than its digits, or a date as less than day, month and year.
    Formats longer than Excel allows are left out.
    """
    formats, struck = dict[int, str](), set[int]()
    for style, (code, is_struck) in enumerate(styles):
        if is_struck:
            struck.add(style)
        if code not in _PLAIN_FORMATS and len(code) <= _MAX_FORMAT_LENGTH and _is_significant(code):
            formats[style] = code
    return formats, frozenset(struck)


def _is_significant(code: str) -> bool:
    # The parser reads a number as a date if the first part of its format is a date's.
    first = _LITERAL.sub("", code).partition(";")[0]
    return not is_date_or_time(first) or displayed_date_parts(code) != DATE_PARTS


def format_code(format_id: str, declared: str) -> str:
    """Return the code of a format by its id; ``declared`` is the code in the file, if any."""
    number = int(format_id) if format_id.isdecimal() else 0
    if number in _CURRENCY_OF_COMPUTER:
        return BUILT_IN[number]
    return declared or BUILT_IN.get(number, _DATE_FORMAT)


def is_date_or_time(code: str) -> bool:
    """Return whether a format displays a number as a date or a time."""
    bare = _LITERAL.sub("", code).replace("General", "")
    return _DATE_LETTERS.search(bare) is not None


DATE_PARTS = frozenset("dmy")
"""Day, month and year, by their letters in formats."""

_CLOCK = re.compile(r"am/pm|a/p|h+\]?[^a-z]*m{1,2}(?!m)|m{1,2}(?=\]?[^a-z]*s)")
_DATE_PART = re.compile(r"(d+)|(m+)|[ye]+")


def displayed_date_parts(code: str) -> frozenset[str]:
    """Return the parts of a date that a format displays, none if it is not a date format."""
    bare = _CLOCK.sub("", _LITERAL.sub("", code).partition(";")[0].lower())
    return frozenset(
        "d" if day else "m" if month else "y"
        for day, month in _DATE_PART.findall(bare)
        # Three or more letters display the weekday.
        if len(day) <= len("dd")
    )


@lru_cache(maxsize=1024)
def scale_factor(code: str) -> float:
    """Return the factor by which a format multiplies a number: 100 for a percentage, usually 1."""
    bare = _LITERAL.sub("", code)
    scaling = _SCALING_COMMAS.search(bare.partition(";")[0])
    factor = 100.0 if "%" in bare else 1.0
    return factor / 1000 ** len(scaling[1]) if scaling else factor


def scaling_styles(formats: Mapping[int, str]) -> dict[int, float]:
    """Return the factors of cell styles that display scaled numbers."""
    return {style: f for style, code in formats.items() if (f := scale_factor(code)) != 1}


_TAGGED_CURRENCY = re.compile(r"\[\$([^\]-]*)(?:-([^\]]*))?\]")
"""Currency from Excel's list, with its locale."""

_NAMED_CURRENCY = re.compile(
    r"US\$|U\$S?|[€£¥]|\b(?:USD|EUR|GBP|JPY|CHF|CNY|CAD|AUD|ARS|BOB|CLP|COP|MXN|PEN|PYG|UYU)\b"
)
_DOLLAR = re.compile(r"(?<![A-Za-z])\$")
_REAL_SIGNS = frozenset({"", "R$", "BRL"})
_BRAZILIAN_LOCALES = frozenset({"", "416", "pt-br"})
_US_LOCALES = frozenset({"409", "en-us"})


def foreign_currency(code: str) -> str | None:
    """Return the foreign currency of a number format, None if it has none or is the real."""
    for sign, locale in _TAGGED_CURRENCY.findall(code):
        if sign == "$" and locale.lower() not in _BRAZILIAN_LOCALES:
            return "US$" if locale.lower() in _US_LOCALES else "$"
        if sign not in {"$", *_REAL_SIGNS}:
            return str(sign)
    bare = re.sub(r'\[[^\]]*\]|["\\]', "", code)
    found = _NAMED_CURRENCY.search(bare) or _DOLLAR.search(bare)
    return found[0] if found else None
