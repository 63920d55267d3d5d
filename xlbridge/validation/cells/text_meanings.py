"""Meanings of a text as a date or number, in the Brazilian and the foreign convention."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Generic, TypeVar

Value = TypeVar("Value", date, Decimal)
"""Value that a text may mean."""

FIRST_YEAR = 1905
"""Excel counts days from 1900 or 1904: an earlier date is a small number with a date format."""
LAST_YEAR = 2999
"""Last year that the remote system accepts."""

_TIME = r"(?:[T ]+(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?)?"
_YEAR_FIRST = re.compile(r"(?P<year>\d{4})([/.-])(\d{1,2})\2(\d{1,2})" + _TIME, re.ASCII)
_SLASHED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(?P<year>\d{4})" + _TIME, re.ASCII)
_ZONE = re.compile(
    r"(?<=[T ])((\d{1,2}):(\d{2})(?::\d{2}(?:\.\d+)?)?) ?(?:Z|([+-])(\d{2})(?::?(\d{2}))?)$",
    re.ASCII | re.IGNORECASE,
)
_BRAZILIAN_OFFSETS = range(-300, -119, 60)
"""Minutes by which the legal times of Brazil differ from UTC, daylight saving included."""
_DAY_IN_MINUTES = 1440
_MIDNIGHT = re.compile(r"[T ]+0?0:00(?::00(?:\.0+)?)?$", re.ASCII)
_SHORT_YEAR = re.compile(r"\d{1,2}([/.-])\d{1,2}\1(?P<year>\d{2})" + _TIME, re.ASCII)
_FIRST_OF_MONTH = re.compile(r"0?1[º°](?=[/.-])", re.ASCII)
_MARK = r"(?:[ /.-]| de )"
_DAY_MONTH_NAME = re.compile(
    rf"(?P<day>\d{{1,2}})[º°o]?{_MARK}(?P<month>[a-zç]+)\.?{_MARK}(?P<year>\d{{4}}){_TIME}", re.I
)
_NAMED_SHORT_YEAR = re.compile(rf"\d{{1,2}}{_MARK}[a-zç]+\.?{_MARK}(?P<year>\d{{2}}){_TIME}", re.I)
_MONTH_NAME_DAY = re.compile(
    rf"(?P<month>[a-z]+)\.? (?P<day>\d{{1,2}}),? (?P<year>\d{{4}}){_TIME}", re.IGNORECASE
)
_MONTH_NAMES = (
    *("janeiro january", "fevereiro february", "março marco march", "abril april", "maio may"),
    *("junho june", "julho july", "agosto august", "setembro september", "outubro october"),
    *("novembro november", "dezembro december"),
)
_MONTHS = {
    short: number
    for number, names in enumerate(_MONTH_NAMES, start=1)
    for name in names.split()
    for short in (name, name[:3])
} | {"sept": 9}
_LAST_OF_THIS_CENTURY = 49
"""Last two-digit year of the 2000s: no date of a title is that old."""

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
    """Meanings of one text in the Brazilian (``native``) and the foreign convention, None if the
    text has none in that convention."""

    native: Value | None
    foreign: Value | None

    @property
    def ambiguous(self) -> bool:
        """True if the two conventions give different values."""
        both = self.native is not None and self.foreign is not None
        return both and self.native != self.foreign


def date_meanings(text: str) -> Meanings[date] | None:
    """Return the meanings of a text as a date, None if it is not a date.

    Dates that begin with the year or ``1º/``, that name the month, or whose day is over 12 have one
    meaning; ``01/02/2026`` has two. A date with a time zone is read only if it is the same day in
    all of Brazil, or the zone is one of Brazil's.
    """
    if zone := _ZONE.search(text):
        _, hour, minute, sign, hours, minutes = zone.groups(default="0")
        offset = (60 * int(hours) + int(minutes)) * (-1 if sign == "-" else 1)
        utc = 60 * int(hour) + int(minute) - offset
        is_same_day = offset in _BRAZILIAN_OFFSETS or all(
            0 <= utc + brazilian < _DAY_IN_MINUTES for brazilian in _BRAZILIAN_OFFSETS
        )
        return date_meanings(text[: zone.end(1)]) if is_same_day else None
    if ordinal := _FIRST_OF_MONTH.match(text):
        plain = date_meanings(f"1{text[ordinal.end() :]}")
        return Meanings(plain.native, None) if plain and plain.native else None
    if match := _DAY_MONTH_NAME.fullmatch(text) or _MONTH_NAME_DAY.fullmatch(text):
        month = _MONTHS.get(match["month"].casefold(), 0)
        native = foreign = _date(match["year"], month, match["day"])
    elif match := _YEAR_FIRST.fullmatch(text):
        year, _, number, day = match.groups()
        native = foreign = _date(year, number, day)
    elif match := _SLASHED.fullmatch(text):
        first, _, second, year = match.groups()
        native, foreign = _date(year, second, first), _date(year, first, second)
    else:
        return None
    return Meanings(native, foreign) if native or foreign else None


def declared_date_meanings(text: str) -> Meanings[date] | None:
    """Return the meanings of a text as a date if the order of day and month is declared: then
    two digits for the year, which come last, are read as well."""
    match = _SHORT_YEAR.fullmatch(text) or _NAMED_SHORT_YEAR.fullmatch(text)
    if match is None:
        return date_meanings(text)
    # Later two-digit years may be of either century.
    return short_year_meanings(text) if int(match["year"]) <= _LAST_OF_THIS_CENTURY else None


def year_of(text: str) -> int | None:
    """Return the year of a text in the form of a date, even if there is no such day."""
    match = _YEAR_FIRST.fullmatch(text) or _SLASHED.fullmatch(text)
    return int(match["year"]) if match else None


def short_year_meanings(text: str) -> Meanings[date] | None:
    """Return the meanings of a text with a two-digit year as a date of this century."""
    match = _SHORT_YEAR.fullmatch(text) or _NAMED_SHORT_YEAR.fullmatch(text)
    if match is None:
        return None
    at = match.start("year")
    return date_meanings(f"{text[:at]}20{text[at:]}")


def has_short_year(text: str) -> bool:
    """Return whether a text has the form of a date with a two-digit year."""
    return any(form.fullmatch(text) for form in (_SHORT_YEAR, _NAMED_SHORT_YEAR))


def is_other_day_in_brazil(text: str) -> bool:
    """Return whether a text without a meaning is a date whose zone may move it to another day."""
    return _ZONE.search(text) is not None and date_meanings(_ZONE.sub(r"\1", text)) is not None


def has_time(text: str) -> bool:
    """Return whether a text date has a time other than midnight."""
    return ":" in text and _MIDNIGHT.search(_ZONE.sub(r"\1", text)) is None


def number_meanings(text: str) -> Meanings[Decimal] | None:
    """Return the meanings of a text as a number, None if it is not a number.

    ``1.234,56`` and ``12,5`` have one meaning; ``1.234`` and ``1,234`` have two. A leading ``R$``
    and spaces between thousands are allowed.
    """
    text = _CURRENCY.sub(r"\1", text)
    if _SPACED.fullmatch(text):
        text = text.replace(" ", "")
    if _PLAIN.fullmatch(text):
        return Meanings(Decimal(text), Decimal(text))
    is_native = _is_written(text, (_COMMA, _PT_GROUPED), _POINT)
    native = Decimal(text.replace(".", "").replace(",", ".")) if is_native else None
    is_foreign = _is_written(text, (_POINT, _EN_GROUPED), _COMMA)
    foreign = Decimal(text.replace(",", "")) if is_foreign else None
    return None if native is None and foreign is None else Meanings(native, foreign)


def whole_meanings(text: str) -> Meanings[Decimal] | None:
    """Return the meanings of a text as a whole number, None if it is not one.

    ``1.001`` has one meaning, as one and a thousandth is not whole; ``1.000`` has two.
    """
    meaning = number_meanings(text)
    if meaning is None:
        return None
    native, foreign = _whole(meaning.native), _whole(meaning.foreign)
    return None if native is None and foreign is None else Meanings(native, foreign)


def _whole(value: Decimal | None) -> Decimal | None:
    whole = None if value is None else value.to_integral_value()
    return whole if whole == value else None


def _is_written(text: str, forms: Iterable[re.Pattern[str]], other: re.Pattern[str]) -> bool:
    """Return whether a number has one of a convention's forms, or the form of a decimal in the
    ``other`` convention whose separator may group thousands."""
    match = other.fullmatch(text)
    is_one_group = match and _ONE_GROUP.fullmatch(match[1]) and len(match[2]) == _GROUP
    return bool(is_one_group) or any(form.fullmatch(text) for form in forms)


def _date(year: str, month: str | int, day: str) -> date | None:
    try:
        is_accepted = FIRST_YEAR <= int(year) <= LAST_YEAR
        return date(int(year), int(month), int(day)) if is_accepted else None
    except ValueError:
        return None
