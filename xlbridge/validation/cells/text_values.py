"""Dates and numbers that are stored as text: what each may mean, and what the column tells.

A text with two meanings is decided by what the user declared, or by the other texts of the same
column where those agree on one order; otherwise it stays undecided.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Generic, TypeVar

Value = TypeVar("Value", date, Decimal)
"""What a text may stand for."""

FIRST_YEAR = 1905
"""Excel counts days from 1900 or 1904: a date before this year is a small number in disguise."""

_TIME = r"(?:[T ]+(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?Z?)?"
_YEAR_FIRST = re.compile(r"(\d{4})([/.-])(\d{1,2})\2(\d{1,2})" + _TIME, re.ASCII)
_SLASHED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})" + _TIME, re.ASCII)
_MIDNIGHT = re.compile(r"[T ]+0?0:00(?::00(?:\.0+)?)?Z?$", re.ASCII)
SHORT_YEAR = re.compile(r"\d{1,2}([/.-])\d{1,2}\1\d{2}", re.ASCII)

_PLAIN = re.compile(r"[+-]?\d+", re.ASCII)
_POINT = re.compile(r"[+-]?(\d+)\.(\d+)", re.ASCII)
_COMMA = re.compile(r"[+-]?(\d+),(\d+)", re.ASCII)
_PT_GROUPED = re.compile(r"[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})", re.ASCII)
_EN_GROUPED = re.compile(r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:,\d{3}){2,})", re.ASCII)
_ONE_GROUP = re.compile(r"[1-9]\d{0,2}", re.ASCII)
_GROUP = 3
_CURRENCY = re.compile(r"^([+-]?)R\$ *", re.ASCII)
_SPACED = re.compile(r"[+-]?\d{1,3}(?: \d{3})+(?:[.,]\d{1,2})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Meanings(Generic[Value]):
    """What one text may mean in either convention; ``native`` is the Brazilian one.

    Where only one convention makes sense of the text, the other is None; where both agree, both
    hold the same value.
    """

    native: Value | None
    foreign: Value | None

    @property
    def ambiguous(self) -> bool:
        """Whether the two conventions give different values."""
        both = self.native is not None and self.foreign is not None
        return both and self.native != self.foreign


def date_meanings(text: str) -> Meanings[date] | None:
    """Return what a text may mean as a date, None when it is none.

    Dates that begin with the year and dates whose day is over 12 have one meaning; ``01/02/2026``
    has two.
    """
    if match := _YEAR_FIRST.fullmatch(text):
        year, _, month, number = match.groups()
        day = _date(year, month, number)
        return None if day is None else Meanings(day, day)
    if match := _SLASHED.fullmatch(text):
        first, _, second, year = match.groups()
        native, foreign = _date(year, second, first), _date(year, first, second)
        return Meanings(native, foreign) if native or foreign else None
    return None


def year_of(text: str) -> int | None:
    """Return the year of a text in the form of a date, whether there is that day or not."""
    if match := _YEAR_FIRST.fullmatch(text):
        return int(match[1])
    match = _SLASHED.fullmatch(text)
    return int(match[4]) if match else None


def has_time(text: str) -> bool:
    """Whether a text date also tells a time other than midnight."""
    return ":" in text and _MIDNIGHT.search(text) is None


def number_meanings(text: str) -> Meanings[Decimal] | None:
    """Return what a text may mean as a number, None when it is none.

    ``1.234,56`` and ``12,5`` have one meaning; ``1.234`` and ``1,234`` have two. ``R$`` may stand
    before the number, and spaces between its thousands.
    """
    text = _CURRENCY.sub(r"\1", text)
    if _SPACED.fullmatch(text):
        text = text.replace(" ", "")
    if _PLAIN.fullmatch(text):
        return Meanings(Decimal(text), Decimal(text))
    native = Decimal(text.replace(".", "").replace(",", ".")) if _is_native(text) else None
    foreign = Decimal(text.replace(",", "")) if _is_foreign(text) else None
    return None if native is None and foreign is None else Meanings(native, foreign)


def whole_meanings(text: str) -> Meanings[Decimal] | None:
    """Return what a text may mean as a whole number, None when it is none.

    ``1.001`` has one meaning, as one and a thousandth is not whole; ``1.000`` has two.
    """
    meaning = number_meanings(text)
    if meaning is None:
        return None
    native, foreign = _whole(meaning.native), _whole(meaning.foreign)
    return None if native is None and foreign is None else Meanings(native, foreign)


def _whole(value: Decimal | None) -> Decimal | None:
    return value if value is not None and value == value.to_integral_value() else None


def _is_native(text: str) -> bool:
    return bool(_COMMA.fullmatch(text) or _PT_GROUPED.fullmatch(text)) or _is_one_group(
        _POINT, text
    )


def _is_foreign(text: str) -> bool:
    return bool(_POINT.fullmatch(text) or _EN_GROUPED.fullmatch(text)) or _is_one_group(
        _COMMA, text
    )


def _is_one_group(form: re.Pattern[str], text: str) -> bool:
    """Whether the single separator of ``form`` may also be one that groups thousands."""
    match = form.fullmatch(text)
    return bool(match and _ONE_GROUP.fullmatch(match[1]) and len(match[2]) == _GROUP)


def _date(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day)) if int(year) >= FIRST_YEAR else None
    except ValueError:
        return None


def evidence(meanings: Iterable[Meanings[Value]]) -> tuple[bool | None, bool]:
    """Tell what the unambiguous texts of a column follow: the Brazilian convention (True), the
    other one (False), or neither alone (None); and whether they contradict one another."""
    native = foreign = False
    for meaning in meanings:
        native = native or meaning.foreign is None
        foreign = foreign or meaning.native is None
    return (native if native != foreign else None), native and foreign


def read_all(
    texts: Iterable[str], understand: Callable[[str], Meanings[Value] | None]
) -> Mapping[str, Meanings[Value]]:
    """Return the meanings of those distinct ``texts`` that have any."""
    found = ((text, understand(text)) for text in set(texts))
    return {text: meaning for text, meaning in found if meaning is not None}
