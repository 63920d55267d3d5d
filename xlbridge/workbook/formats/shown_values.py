"""Display of a cell's value by its number format, and how far that differs from the value.

A format has up to four parts: for numbers above zero, below zero, zero, and texts; conditions may
decide instead. Source: ECMA-376, Part 1, 18.8.30 and 18.8.31.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import Enum
from functools import lru_cache
from itertools import takewhile
from operator import eq, ge, gt, le, lt, ne

from xlbridge.i18n import Text, untranslated
from xlbridge.workbook.formats.number_formats import is_date_or_time, scale_factor

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
_COLOUR = re.compile(r"[A-Za-zÀ-ÿ]+ ?\d*")

FormatToken = tuple[str, str]
"""Piece of a number format: its kind and its text."""


@dataclass(frozen=True, slots=True)
class FormatPart:
    """Part of a number format: its code, and whether a minus sign is shown before it."""

    code: str
    minus: bool


class Shown(Enum):
    """Difference of what a cell shows from its number."""

    SAME = "the number, but for separators and rounding"
    WITH_WORDS = "the number, with words or signs beside it"
    OTHERWISE = "something else than the number"


def shown_number(code: str, value: float) -> Text | None:
    """Return what a cell shows of a number, None where that is a date or a time."""
    part = _part_for(code, value)
    if part is None:
        return untranslated("####")
    if is_date_or_time(part.code):
        return None
    tokens = list(_tokens(part.code))
    shown = _shown_digits(part.code, tokens, abs(Decimal(repr(value))))
    sign = "-" if part.minus else ""
    return Text(pt=sign + shown.pt, en=sign + shown.en)


def shown_text(code: str, text: str) -> str:
    """Return what a cell shows of a text."""
    part = _text_part(code)
    if part is None:
        return text
    pieces = (("literal", text) if it == ("plain", "@") else it for it in _tokens(part))
    return "".join(piece for kind, piece in pieces if _is_shown(kind, piece))


def number_shown_as(code: str, value: float, *, percents: bool) -> Shown:
    """Tell how far what a cell shows of a number differs from it.

    ``percents`` tells that a percent sign beside the number is no difference. A format that shows a
    number so many times is judged as if it did not.
    """
    part = _part_for(code, value)
    if part is None:
        return Shown.OTHERWISE
    judged = _judged(part, (value > 0) - (value < 0), percents)
    return Shown.OTHERWISE if judged is Shown.SAME and _loses_digits(part.code, value) else judged


def may_show_otherwise(code: str, *, percents: bool) -> bool:
    """Tell whether some number is shown by a format as more or something else than itself."""
    parts = _parts(code)
    if any(_condition(part) for part in parts):
        return True
    if any(kind == "power" for part in parts for kind, _ in _tokens(part)):
        return True
    examples = (1.0, -1.0, 0.0)
    return any(number_shown_as(code, it, percents=percents) is not Shown.SAME for it in examples)


def changes_texts(code: str) -> bool:
    """Tell whether a format shows texts as something else."""
    return shown_text(code, "a").strip() != "a"


def _loses_digits(code: str, value: float) -> bool:
    """Tell whether a power of ten leaves out digits before the decimal point."""
    tokens = list(_tokens(code))
    if not any(kind == "power" for kind, _ in tokens):
        return False
    mantissa, power = _mantissa(tokens, abs(Decimal(repr(value))))
    return abs(mantissa.scaleb(power) - abs(Decimal(repr(value)))) > _HALF


@lru_cache(maxsize=1024)
def _judged(part: FormatPart, sign: int, percents: bool) -> Shown:
    tokens = list(_tokens(part.code))
    if is_date_or_time(part.code):
        return Shown.OTHERWISE
    places = [place for place, (kind, _) in enumerate(tokens) if kind in {"digit", "plain"}]
    beside = "".join(text for kind, text in tokens if kind in {"literal", "other"})
    if not places:
        is_nothing = not beside.strip(" -–—_")
        return Shown.SAME if sign == 0 and is_nothing else Shown.OTHERWISE
    negative = "-" in beside or "(" in beside
    coloured = any(kind == "bracket" and _COLOUR.fullmatch(text) for kind, text in tokens)
    if (sign > 0 and negative) or (sign < 0 and not (negative or part.minus or coloured)):
        return Shown.OTHERWISE
    if _is_broken_up(tokens[places[0] : places[-1]]) or any(it.isdigit() for it in beside):
        return Shown.OTHERWISE
    words = re.sub(r"R\$|\bBRL\b|[\s.,'()+/-]" + ("|%" if percents else ""), "", beside)
    is_scaled = scale_factor(part.code) != 1
    return Shown.WITH_WORDS if words.strip("%" if is_scaled else "") else Shown.SAME


def _is_broken_up(tokens: list[FormatToken]) -> bool:
    """Tell whether between digits stands what makes another number, a date or a time of them.

    A literal separator is none where three digits follow it.
    """
    for place, (kind, text) in enumerate(tokens):
        if kind != "literal" or not text.strip():
            continue
        group = [following for following, _ in tokens[place + 1 : place + 3]]
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


def _text_part(code: str) -> str | None:
    """Return the part of a format that is for texts, None where they are shown as they are."""
    parts = _parts(code)
    if len(parts) > _NUMBER_PARTS:
        return parts[_NUMBER_PARTS]
    return parts[-1] if _is_for_texts(parts[-1]) else None


def _condition(part: str) -> tuple[str, float] | None:
    """Return the condition of a part: a comparison, and the number that is compared with."""
    for kind, text in _tokens(part):
        if kind == "bracket" and (found := _CONDITION.fullmatch(text.strip())):
            return found[1], float(found[2])
    return None


def _part_for(code: str, value: float) -> FormatPart | None:
    """Return the part of a format that is for a number, None where none is."""
    parts = _parts(code)[:_NUMBER_PARTS]
    if len(parts) > 1 and _is_for_texts(parts[-1]):
        parts.pop()
    if any(_condition(part) for part in parts):
        for place, part in enumerate(parts):
            condition = _condition(part)
            if condition is None:
                is_last = place == len(parts) - 1
                if is_last or (value > 0 if place == 0 else value < 0):
                    return FormatPart(part, minus=value < 0)
                continue
            comparison, bound = condition
            if _COMPARISONS[comparison](value, bound):
                only_negative = comparison in {"<", "<=", "="} and bound <= 0
                return FormatPart(part, minus=value < 0 and not only_negative)
        return None
    if len(parts) == 1:
        return FormatPart(parts[0], minus=value < 0)
    if value == 0 and len(parts) == _NUMBER_PARTS:
        return FormatPart(parts[2], minus=False)
    return FormatPart(parts[value < 0], minus=False)


def _shown_digits(code: str, tokens: list[FormatToken], value: Decimal) -> Text:
    """Return what a part of a format shows of a number that is not below zero."""
    kinds = {kind for kind, _ in tokens}
    if "plain" in kinds:
        number = f"{value:f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"
        shown = "".join(number if k == "plain" else t for k, t in tokens if k != "bracket")
        return _with_decimal_comma(shown)
    if ("other", "/") in tokens:
        # Only whole numbers are shown by fractions as they are.
        shown = "".join(text for kind, text in tokens if _is_shown(kind, text) and text != "/")
        return untranslated(f"{value:f}{shown}".strip())
    if "power" in kinds:
        mantissa, power = _mantissa(tokens, value)
        return _with_decimal_comma(f"{mantissa:f}E{'-' if power < 0 else '+'}{abs(power):02}")
    scaled = value * Decimal(str(scale_factor(code)))
    pt, en = (_shown_decimal(tokens, scaled, *signs) for signs in (".,", ",."))
    return Text(pt=pt, en=en)


def _mantissa(tokens: list[FormatToken], value: Decimal) -> tuple[Decimal, int]:
    """Return the digits that a format with a power of ten shows of a number, and the power, which
    is a multiple of the count of digits before the decimal point."""
    shown = list(takewhile(lambda token: token[0] != "power", tokens))
    whole, fraction = (sum(kind == "digit" for kind, _ in part) for part in _split_at_point(shown))
    power = 0 if value == 0 else value.adjusted() // max(whole, 1) * max(whole, 1)
    smallest = Decimal(1).scaleb(-fraction)
    return value.scaleb(-power).quantize(smallest, ROUND_HALF_UP), power


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
    shown, place = [], 0
    needed = len(after.rstrip("0"))
    for kind, text in fraction:
        if kind == "digit":
            if text == "0" or place < needed:
                shown.append(after[place])
            place += 1
        elif (kind, text) == ("other", "."):
            shown.append(point)
        elif _is_shown(kind, text):
            shown.append(text)
    return _shown_integer_part(whole, before, group) + "".join(shown)


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


def _is_shown(kind: str, text: str) -> bool:
    return kind == "literal" or (kind == "other" and text != ",")


def _with_decimal_comma(text: str) -> Text:
    return Text(pt=text.replace(".", ","), en=text)
