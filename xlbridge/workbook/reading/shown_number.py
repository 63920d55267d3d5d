"""How a sheet shows a whole number in a number format."""

import re
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal
from itertools import takewhile

from xlbridge.i18n import Text
from xlbridge.workbook.reading.number_formats import factor

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<space>.)|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]'
    r"|\[(?P<bracket>[^\]]*)\]|(?P<plain>General|@)|(?P<power>E[+-])|(?P<digit>[0#?])|(?P<other>.)",
    re.DOTALL,
)
_CONDITION = re.compile(r"[<>=]")

Token = tuple[str, str]
"""What a piece of a format is, and its text."""


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
        return _both(
            "".join(str(value) if k == "plain" else t for k, t in tokens if k != "bracket")
        )
    if ("other", "/") in tokens:
        return None
    if "power" in kinds:
        mantissa = list(takewhile(lambda token: token[0] != "power", tokens))
        places = sum(kind == "digit" for kind, _ in _parts(mantissa)[1])
        return _conventions(f"{value:.{places}E}")
    scaled = Decimal(value) * Decimal(str(factor(section)))
    return _both(_digits(tokens, scaled, ",", "."), _digits(tokens, scaled, ".", ","))


def _section(code: str, value: int) -> str:
    """Return the part of a format that is for the value."""
    sections, start = [], 0
    for match in _TOKEN.finditer(code):
        if match["other"] == ";":
            sections.append(code[start : match.start()])
            start = match.end()
    sections.append(code[start:])
    return sections[2] if value == 0 and len(sections) > 2 else sections[0]


def _tokens(section: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(section):
        kind = match.lastgroup or "filler"
        text = match[kind] if kind != "filler" else ""
        if kind in {"quoted", "escaped", "currency"}:
            yield "literal", text
        elif kind == "space":
            yield "literal", " "
        elif kind != "filler":
            yield kind, text


def _parts(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Return what stands before the decimal point, and what from there on."""
    point = ("other", ".")
    at = tokens.index(point) if point in tokens else len(tokens)
    return tokens[:at], tokens[at:]


def _digits(tokens: list[Token], value: Decimal, group: str, point: str) -> str:
    whole, fraction = _parts(tokens)
    places = sum(kind == "digit" for kind, _ in fraction)
    rounded = f"{value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"
    before, _, after = rounded.partition(".")
    return _whole(whole, before, group) + _fraction(fraction, after, point)


def _whole(tokens: list[Token], digits: str, group: str) -> str:
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


def _fraction(tokens: list[Token], digits: str, point: str) -> str:
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


def _conventions(text: str) -> Text:
    return Text(pt=text.replace(".", ","), en=text)


def _both(en: str, pt: str | None = None) -> Text:
    return Text(pt=en if pt is None else pt, en=en)
