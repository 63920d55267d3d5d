"""Number formats: dates, scale and currency; the display of a cell's value by its format, and its
difference from the value; styles that strike cells through.

A format has up to four parts, for positive numbers, negative numbers, zero and texts, or parts
with conditions. Source: ECMA-376, Part 1, 18.8.30 and 18.8.31.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from enum import Enum
from functools import lru_cache
from itertools import takewhile
from operator import eq, ge, gt, le, lt, ne

from xlbridge.i18n import Text, localized_number, untranslated

__all__ = [
    "DATE_PARTS",
    "Display",
    "alters_texts",
    "can_display_differently",
    "compare_display",
    "displayed_date_parts",
    "displayed_number",
    "displayed_text",
    "foreign_currency",
    "scale_factor",
]

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

_THAI: Mapping[int, str] = {
    59: "0", 60: "0.00", 61: "#,##0", 62: "#,##0.00", 67: "0%", 68: "0.00%", 69: "# ?/?",
    70: "# ??/??",
}  # fmt: skip
"""Formats of numbers among those that only a Thai Excel offers; the other ones are of dates."""

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
        if code in _PLAIN_FORMATS or len(code) > _MAX_FORMAT_LENGTH:
            continue
        # The parser reads a number as a date if the first part of its format is a date's.
        first = _LITERAL.sub("", code).partition(";")[0]
        if not is_date_or_time(first) or displayed_date_parts(code) != DATE_PARTS:
            formats[style] = code
    return formats, frozenset(struck)


def format_code(format_id: str, declared: str) -> str:
    """Return the code of a format by its id; ``declared`` is the code in the file, if any."""
    number = int(format_id) if format_id.isdecimal() else 0
    if number in _CURRENCY_OF_COMPUTER:
        return BUILT_IN[number]
    return declared or BUILT_IN.get(number) or _THAI.get(number, _DATE_FORMAT)


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
    for written, locale in _TAGGED_CURRENCY.findall(code):
        # Google Sheets writes a space after the sign.
        sign = written.strip()
        if sign == "$" and locale.lower() not in _BRAZILIAN_LOCALES:
            return "US$" if locale.lower() in _US_LOCALES else "$"
        if sign not in {"$", *_REAL_SIGNS}:
            return str(sign)
    bare = re.sub(r'\[[^\]]*\]|["\\]', "", code)
    found = _NAMED_CURRENCY.search(bare) or _DOLLAR.search(bare)
    return found[0] if found else None


_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<space>.)|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|\[(?P<bracket>[^\]]*)\]|(?P<plain>General|@)|(?P<power>E[+-])|(?P<digit>[0#?])|(?P<other>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)", re.ASCII)
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lt, "<=": le, ">": gt, ">=": ge, "=": eq, "<>": ne,
}  # fmt: skip
_NUMBER_PARTS = 3
_HALF = Decimal("0.5")
_ROUNDING = Context(prec=400, rounding=ROUND_HALF_UP)
"""Enough digits for the largest number and the thirty decimal places that Excel allows."""
_POWER = re.compile(r"(?<=[a-z])[23]$", re.IGNORECASE)
"""Power at the end of a unit, such as m2."""
_COLOUR = re.compile(r"[A-Za-zÀ-ÿ]+ ?\d*")

FormatToken = tuple[str, str]
"""Token of a number format: its kind and its text."""


@dataclass(frozen=True, slots=True)
class FormatPart:
    """Part of a number format: its code, and whether a minus sign precedes it."""

    code: str
    minus: bool


class Display(Enum):
    """Display of a cell compared with its number."""

    SAME = "the number, apart from separators and rounding"
    WITH_TEXT = "the number with words or symbols"
    DIFFERENT = "something other than the number"


def displayed_number(code: str, value: float) -> Text | None:
    """Return the display of a number, None if it is a date or a time."""
    part = _part_for(code, value)
    if part is None:
        return untranslated("####")
    if is_date_or_time(part.code):
        return None
    tokens = list(_tokens(part.code))
    digits = _display_digits(part.code, tokens, abs(Decimal(repr(value))))
    sign = "-" if part.minus else ""
    return Text(pt=sign + digits.pt, en=sign + digits.en)


def displayed_text(code: str, text: str) -> str:
    """Return the display of a text."""
    parts = _parts(code)
    # Texts have the last part, or are displayed unchanged.
    if len(parts) <= _NUMBER_PARTS and not _is_for_texts(parts[-1]):
        return text
    part = parts[_NUMBER_PARTS] if len(parts) > _NUMBER_PARTS else parts[-1]
    tokens = (("literal", text) if it == ("plain", "@") else it for it in _tokens(part))
    return "".join(token for kind, token in tokens if _is_displayed(kind, token))


def compare_display(code: str, value: float, *, percents: bool) -> Display:
    """Compare the display of a number with the number.

    With ``percents``, a percent sign is no difference. The scale of a format is ignored.
    """
    part = _part_for(code, value)
    if part is None:
        return Display.DIFFERENT
    display = _compare_part(part, (value > 0) - (value < 0), percents)
    tokens = list(_tokens(part.code)) if display is Display.SAME else []
    if any(kind == "power" for kind, _ in tokens):
        # Scientific notation may drop digits before the decimal point.
        size = abs(Decimal(repr(value)))
        mantissa, power = _mantissa(tokens, size)
        if abs(mantissa.scaleb(power) - size) > _HALF:
            return Display.DIFFERENT
    return display


def can_display_differently(code: str, *, percents: bool) -> bool:
    """Return whether a format may display some number differently."""
    parts = _parts(code)
    if any(_condition(part) for part in parts):
        return True
    if any(kind == "power" for part in parts for kind, _ in _tokens(part)):
        return True
    examples = (1.0, -1.0, 0.0)
    return any(compare_display(code, it, percents=percents) is not Display.SAME for it in examples)


def alters_texts(code: str) -> bool:
    """Return whether a format displays texts differently."""
    return displayed_text(code, "a").strip() != "a"


@lru_cache(maxsize=1024)
def _compare_part(part: FormatPart, sign: int, percents: bool) -> Display:
    tokens = list(_tokens(part.code))
    if is_date_or_time(part.code):
        return Display.DIFFERENT
    digits = [index for index, (kind, _) in enumerate(tokens) if kind in {"digit", "plain"}]
    others = _texts_of(tokens)
    if not digits:
        is_blank = not others.strip(" -–—_")
        return Display.SAME if sign == 0 and is_blank else Display.DIFFERENT
    negative = "-" in others or "(" in others
    coloured = any(kind == "bracket" and _COLOUR.fullmatch(text) for kind, text in tokens)
    if (sign > 0 and negative) or (sign < 0 and not (negative or part.minus or coloured)):
        return Display.DIFFERENT
    around = _texts_of(tokens[: digits[0]]) + _POWER.sub("", _texts_of(tokens[digits[-1] :]))
    if _is_broken_up(tokens[digits[0] : digits[-1]]) or any(map(str.isdecimal, around)):
        return Display.DIFFERENT
    words = re.sub(r"R\$|\bBRL\b|[\s.,'()+/-]" + ("|%" if percents else ""), "", others)
    is_scaled = scale_factor(part.code) != 1
    return Display.WITH_TEXT if words.strip("%" if is_scaled else "") else Display.SAME


def _texts_of(tokens: Iterable[FormatToken]) -> str:
    return "".join(text for kind, text in tokens if kind in {"literal", "other"})


def _is_broken_up(tokens: list[FormatToken]) -> bool:
    """Return whether tokens between digits make them another number, a date or a time.

    A literal thousands separator, which three digits follow, does not.
    """
    for index, (kind, text) in enumerate(tokens):
        if kind != "literal" or not text.strip():
            continue
        group = [following for following, _ in tokens[index + 1 : index + 3]]
        if text not in {".", ",", "'"} or group != ["digit", "digit"]:
            return True
    return any(kind == "other" and text not in ".,/ %" for kind, text in tokens)


def _parts(code: str) -> list[str]:
    parts, start = [], 0
    for match in _TOKEN.finditer(code):
        if match["other"] == ";":
            parts.append(code[start : match.start()])
            start = match.end()
    return [*parts, code[start:]]


def _is_for_texts(part: str) -> bool:
    kinds = list(_tokens(part))
    return ("plain", "@") in kinds and all(kind != "digit" for kind, _ in kinds)


def _condition(part: str) -> tuple[str, float] | None:
    """Return the condition of a part: a comparison and a number."""
    for kind, text in _tokens(part):
        if kind == "bracket" and (found := _CONDITION.fullmatch(text.strip())):
            return found[1], float(found[2])
    return None


def _part_for(code: str, value: float) -> FormatPart | None:
    """Return the part of a format for a number, None if there is none."""
    parts = _parts(code)[:_NUMBER_PARTS]
    if len(parts) > 1 and _is_for_texts(parts[-1]):
        parts.pop()
    conditions = list(map(_condition, parts))
    if len(parts) > 1 and not any(conditions):
        is_zero = value == 0 and len(parts) == _NUMBER_PARTS
        return FormatPart(parts[2] if is_zero else parts[value < 0], minus=False)
    for index, (part, condition) in enumerate(zip(parts, conditions, strict=True)):
        if condition is None:
            is_last, only_negative = index == len(parts) - 1, False
            applies = is_last or (value > 0 if index == 0 else value < 0)
        else:
            comparison, bound = condition
            only_negative = comparison in {"<", "<=", "="} and bound <= 0
            applies = _COMPARISONS[comparison](value, bound)
        if applies:
            return FormatPart(part, minus=value < 0 and not only_negative)
    return None


def _display_digits(code: str, tokens: list[FormatToken], value: Decimal) -> Text:
    """Return the display of a number that is not negative by a part of a format."""
    kinds = {kind for kind, _ in tokens}
    if "plain" in kinds:
        number = f"{value:f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"
        text = "".join(number if k == "plain" else t for k, t in tokens if k != "bracket")
        return localized_number(text)
    if ("other", "/") in tokens:
        # Fractions are only supported for whole numbers.
        text = "".join(text for kind, text in tokens if _is_displayed(kind, text) and text != "/")
        return untranslated(f"{value:f}{text}".strip())
    if "power" in kinds:
        mantissa, power = _mantissa(tokens, value)
        return localized_number(f"{mantissa:f}E{'-' if power < 0 else '+'}{abs(power):02}")
    scaled = value * Decimal(str(scale_factor(code)))
    pt, en = (_display_decimal(tokens, scaled, *signs) for signs in (".,", ",."))
    return Text(pt=pt, en=en)


def _mantissa(tokens: list[FormatToken], value: Decimal) -> tuple[Decimal, int]:
    """Return the mantissa and the exponent of a number in scientific notation.

    The exponent is a multiple of the number of digits before the decimal point.
    """
    mantissa = list(takewhile(lambda token: token[0] != "power", tokens))
    whole, fraction = (sum(k == "digit" for k, _ in part) for part in _split_at_point(mantissa))
    power = 0 if value == 0 else value.adjusted() // max(whole, 1) * max(whole, 1)
    smallest = Decimal(1).scaleb(-fraction)
    return value.scaleb(-power).quantize(smallest, context=_ROUNDING), power


def _tokens(section: str) -> Iterator[FormatToken]:
    for match in _TOKEN.finditer(section):
        kind = match.lastgroup
        if kind in {"quoted", "escaped", "currency"}:
            yield "literal", match[kind]
        elif kind == "space":
            yield "literal", " "
        elif kind is not None:
            yield kind, match[kind]


def _split_at_point(tokens: list[FormatToken]) -> tuple[list[FormatToken], list[FormatToken]]:
    """Return the tokens before the decimal point, and those from there on."""
    point = ("other", ".")
    index = tokens.index(point) if point in tokens else len(tokens)
    return tokens[:index], tokens[index:]


def _display_decimal(tokens: list[FormatToken], value: Decimal, group: str, point: str) -> str:
    whole, fraction = _split_at_point(tokens)
    decimals = sum(kind == "digit" for kind, _ in fraction)
    rounded = f"{value.quantize(Decimal(1).scaleb(-decimals), context=_ROUNDING):f}"
    before, _, after = rounded.partition(".")
    needed = len(after.rstrip("0"))
    placeholders = (text for kind, text in fraction if kind == "digit")
    digits = (
        digit if text == "0" or position < needed else ""
        for position, (digit, text) in enumerate(zip(after, placeholders, strict=True))
    )
    shown = [("literal", point) if token == ("other", ".") else token for token in fraction]
    return _display_integer(whole, before, group) + _fill(shown, digits)


def _display_integer(tokens: list[FormatToken], digits: str, group: str) -> str:
    holders = [index for index, (kind, _) in enumerate(tokens) if kind == "digit"]
    if not holders:
        return _fill(tokens, iter(()))
    grouped = any(tokens[i] == ("other", ",") for i in range(holders[0], holders[-1]))
    first_zero = next((n for n, i in enumerate(holders) if tokens[i][1] == "0"), len(holders))
    least = len(holders) - first_zero
    units = [
        digit + (group if grouped and below and below % 3 == 0 else "")
        for below, digit in enumerate(reversed(digits.lstrip("0").rjust(least, "0")))
    ]
    units += [""] * (len(holders) - len(units))
    # The first placeholder displays all digits that exceed the others.
    others = units[: len(holders) - 1]
    return _fill(tokens, iter(["".join(reversed(units[len(others) :])), *reversed(others)]))


def _fill(tokens: list[FormatToken], digits: Iterator[str]) -> str:
    """Return the display of a format's tokens with digits in its placeholders."""
    return "".join(
        next(digits) if kind == "digit" else text if _is_displayed(kind, text) else ""
        for kind, text in tokens
    )


def _is_displayed(kind: str, text: str) -> bool:
    return kind == "literal" or (kind == "other" and text != ",")
