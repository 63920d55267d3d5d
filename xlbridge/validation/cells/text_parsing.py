"""Dates and numbers in text cells, parsed where they have one meaning.

A text with two meanings is decided by what the user declared, or by the other texts of the same
column where those agree on one convention; otherwise it stays undecided and is an error.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from xlbridge.i18n import Text
from xlbridge.resources import Kind
from xlbridge.validation.cells.column_cells import CellProblems, ColumnCells
from xlbridge.validation.cells.text import (
    display,
    localised_number,
    normalise_width,
    strip_invisible,
)

if TYPE_CHECKING:
    from xlbridge.settings import ParseOptions

Value = TypeVar("Value", date, Decimal)
"""Value that a text may stand for."""

FIRST_YEAR = 1905
"""Excel counts days from 1900 or 1904: a date before this year is a small number in disguise."""
LAST_YEAR = 2999
"""Year of the last date that the remote system takes."""

_TIME = r"(?:[T ]+(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?)?"
_YEAR_FIRST = re.compile(r"(\d{4})([/.-])(\d{1,2})\2(\d{1,2})" + _TIME, re.ASCII)
_SLASHED = re.compile(r"(\d{1,2})([/.-])(\d{1,2})\2(\d{4})" + _TIME, re.ASCII)
_ZONE = re.compile(
    r"(?<=[T ])((\d{1,2}):(\d{2})(?::\d{2}(?:\.\d+)?)?) ?(?:Z|([+-])(\d{2})(?::?(\d{2}))?)$",
    re.ASCII | re.IGNORECASE,
)
_BRAZILIAN_OFFSETS = range(-300, -119, 60)
"""Minutes by which the legal times of Brazil differ from UTC, daylight saving included."""
_DAY_IN_MINUTES = 1440
_MIDNIGHT = re.compile(r"[T ]+0?0:00(?::00(?:\.0+)?)?$", re.ASCII)
_SHORT_YEAR = re.compile(r"\d{1,2}([/.-])\d{1,2}\1(?P<year>\d{2})" + _TIME, re.ASCII)
_MARK = r"(?:[ /.-]| de )"
_DAY_MONTH_NAME = re.compile(
    rf"(\d{{1,2}})[ºo]?{_MARK}([a-zç]+)\.?{_MARK}(\d{{4}}){_TIME}", re.IGNORECASE
)
_NAMED_SHORT_YEAR = re.compile(rf"\d{{1,2}}{_MARK}[a-zç]+\.?{_MARK}(?P<year>\d{{2}}){_TIME}", re.I)
_MONTH_NAME_DAY = re.compile(rf"([a-z]+)\.? (\d{{1,2}}),? (\d{{4}}){_TIME}", re.IGNORECASE)
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
"""Two digits up to this one are of the 2000s: no date of a title is that old."""

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
    """Meanings of one text in either convention; ``native`` is the Brazilian one.

    Where only one convention makes sense of the text, the other is None; where both agree, both
    hold the same value.
    """

    native: Value | None
    foreign: Value | None

    @property
    def ambiguous(self) -> bool:
        """Return whether the two conventions give different values."""
        both = self.native is not None and self.foreign is not None
        return both and self.native != self.foreign

    @property
    def neutral(self) -> bool:
        """Return whether the two conventions give the same value."""
        return self.native == self.foreign


def date_meanings(text: str) -> Meanings[date] | None:
    """Return what a text may mean as a date, None when it is none.

    Dates that begin with the year, that name the month, and dates whose day is over 12 have one
    meaning; ``01/02/2026`` has two. One whose time has a zone means its own day, where that is the
    day in all of Brazil, or the zone is one of Brazil's.
    """
    if zone := _ZONE.search(text):
        return date_meanings(text[: zone.end(1)]) if _keeps_day(zone) else None
    if match := _DAY_MONTH_NAME.fullmatch(text):
        number, name, year = match.groups()
        return _named_date(year, name, number)
    if match := _MONTH_NAME_DAY.fullmatch(text):
        name, number, year = match.groups()
        return _named_date(year, name, number)
    if match := _YEAR_FIRST.fullmatch(text):
        year, _, month, number = match.groups()
        day = _date(year, month, number)
        return None if day is None else Meanings(day, day)
    if match := _SLASHED.fullmatch(text):
        first, _, second, year = match.groups()
        native, foreign = _date(year, second, first), _date(year, first, second)
        return Meanings(native, foreign) if native or foreign else None
    return None


def _keeps_day(zone: re.Match[str]) -> bool:
    """Return whether a time with a zone is on the same day by the legal times of Brazil."""
    _, hour, minute, sign, hours, minutes = zone.groups(default="0")
    offset = (60 * int(hours) + int(minutes)) * (-1 if sign == "-" else 1)
    if offset in _BRAZILIAN_OFFSETS:
        return True
    utc = 60 * int(hour) + int(minute) - offset
    return all(0 <= utc + brazilian < _DAY_IN_MINUTES for brazilian in _BRAZILIAN_OFFSETS)


def _named_date(year: str, name: str, number: str) -> Meanings[date] | None:
    month = _MONTHS.get(name.casefold())
    day = _date(year, str(month), number) if month else None
    return None if day is None else Meanings(day, day)


def declared_date_meanings(text: str) -> Meanings[date] | None:
    """Return what a text may mean as a date where the order of day and month is declared, so that
    a year of two digits, which then stands last, may be read as well."""
    match = _SHORT_YEAR.fullmatch(text) or _NAMED_SHORT_YEAR.fullmatch(text)
    if match is None:
        return date_meanings(text)
    # Two digits of later years may be of two centuries.
    at, is_known = match.start("year"), int(match["year"]) <= _LAST_OF_THIS_CENTURY
    return date_meanings(f"{text[:at]}20{text[at:]}") if is_known else None


def year_of(text: str) -> int | None:
    """Return the year of a text in the form of a date, whether there is that day or not."""
    if match := _YEAR_FIRST.fullmatch(text):
        return int(match[1])
    match = _SLASHED.fullmatch(text)
    return int(match[4]) if match else None


def has_time(text: str) -> bool:
    """Return whether a text date also tells a time other than midnight."""
    return ":" in text and _MIDNIGHT.search(_ZONE.sub(r"\1", text)) is None


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
    is_native = _is_written(text, (_COMMA, _PT_GROUPED), _POINT)
    native = Decimal(text.replace(".", "").replace(",", ".")) if is_native else None
    is_foreign = _is_written(text, (_POINT, _EN_GROUPED), _COMMA)
    foreign = Decimal(text.replace(",", "")) if is_foreign else None
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
    whole = None if value is None else value.to_integral_value()
    return whole if whole == value else None


def _is_written(text: str, forms: Iterable[re.Pattern[str]], other: re.Pattern[str]) -> bool:
    """Return whether a number has one of a convention's forms, or its single separator, which in
    the ``other`` convention is that of decimals, may group thousands."""
    match = other.fullmatch(text)
    is_one_group = match and _ONE_GROUP.fullmatch(match[1]) and len(match[2]) == _GROUP
    return bool(is_one_group) or any(form.fullmatch(text) for form in forms)


def _date(year: str, month: str, day: str) -> date | None:
    try:
        there_is = FIRST_YEAR <= int(year) <= LAST_YEAR
        return date(int(year), int(month), int(day)) if there_is else None
    except ValueError:
        return None


_FEWEST_WITNESSES = 2
_MOST_DECIDED = 4
"""So many texts of two meanings at most are decided by each text of one."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Count of the distinct texts of a column by the convention in which they make sense: only the
    Brazilian one, only the other one, or both with two values."""

    native: int
    foreign: int
    ambiguous: int

    @classmethod
    def of(cls, meanings: Iterable[Meanings[Value]]) -> "Evidence":
        """Count the meanings of distinct texts."""
        native = foreign = ambiguous = 0
        for meaning in meanings:
            native += meaning.foreign is None
            foreign += meaning.native is None
            ambiguous += meaning.ambiguous
        return cls(native, foreign, ambiguous)

    @property
    def shown(self) -> bool | None:
        """The convention that the texts of one meaning have in common: True for the Brazilian one,
        False for the other one, None where there are none or they differ."""
        return None if bool(self.native) == bool(self.foreign) else bool(self.native)

    @property
    def settled(self) -> bool | None:
        """The convention in which the ambiguous texts are read, None where it is not certain.

        One text does not decide, nor do a few of many, as another hand may have written them.
        """
        witnesses = max(self.native, self.foreign)
        is_enough = witnesses >= _FEWEST_WITNESSES and witnesses * _MOST_DECIDED >= self.ambiguous
        return self.shown if is_enough else None


def meanings_of(
    texts: Iterable[str], understand: Callable[[str], Meanings[Value] | None]
) -> Mapping[str, Meanings[Value]]:
    """Return the meanings of those distinct ``texts`` that have any."""
    found = ((text, understand(text)) for text in set(texts))
    return {text: meaning for text, meaning in found if meaning is not None}


@dataclass(frozen=True, slots=True)
class TextParser(Generic[Value]):
    """Rules for reading values of a kind from text, and the finding where that fails.

    ``wrong`` gives the finding of a text that is not read and its details, told whether the
    Brazilian convention was declared, and what the text means in the one that was not. ``lasting``
    tells the texts that are read and stay text, whatever is fixed. ``understand_declared`` takes
    the place of ``understand`` where a convention was declared.
    """

    understand: Callable[[str], Meanings[Value] | None]
    declared: "Callable[[ParseOptions], bool | None]"
    written: Callable[[Value | None], object]
    ambiguous: str
    wrong: Callable[[str, bool | None, Value | None], tuple[str, Mapping[str, object]]]
    lasting: Callable[[str], bool] = lambda _: False
    understand_declared: Callable[[str], Meanings[Value] | None] | None = None


def parse_texts(
    form: TextParser[Value],
    cells: ColumnCells,
    reading: "ParseOptions",
    problems: CellProblems,
) -> Iterator[tuple[int, Value, bool]]:
    """Yield the position and value of each text cell that has one meaning, and whether it may be
    fixed; the others become problems.

    Where a text that stays owes its meaning to the others of the column, none of them is fixed:
    alone it would mean something else.
    """
    positions, texts = cells.texts()
    if not "".join(set(texts)).isascii():
        texts = [strip_invisible(normalise_width(text))[0] for text in texts]
    declared = form.declared(reading)
    understand = form.understand if declared is None else form.understand_declared
    meanings = meanings_of(texts, understand or form.understand)
    evidence = Evidence.of(meanings.values())
    native = evidence.settled if declared is None else declared
    is_evidence = declared is None and _have_dependents(form, meanings, evidence)
    for position, text in zip(positions.tolist(), texts, strict=True):
        if not text:
            continue
        meaning = meanings.get(text)
        if meaning is not None and meaning.ambiguous and native is None:
            first, second = form.written(meaning.native), form.written(meaning.foreign)
            problems.add(position, form.ambiguous, {"first": first, "second": second})
            continue
        value = None if meaning is None else _choose_meaning(meaning, native, declared is not None)
        if meaning is None or value is None:
            other = None if meaning is None else meaning.foreign if native else meaning.native
            problems.add(position, *form.wrong(text, declared, other))
        else:
            yield position, value, meaning.neutral or not is_evidence


def _have_dependents(
    form: TextParser[Value], meanings: Mapping[str, Meanings[Value]], evidence: Evidence
) -> bool:
    """Return whether texts that stay would lose what tells their meaning, or hints at it, if the
    others of the column were fixed."""
    if evidence.ambiguous and evidence.settled is None:
        return evidence.shown is not None
    staying = Evidence.of(meaning for text, meaning in meanings.items() if form.lasting(text))
    return staying.ambiguous > 0 and staying.settled != evidence.settled


def _choose_meaning(meaning: Meanings[Value], native: bool | None, declared: bool) -> Value | None:
    """Choose between two meanings; what was declared also rules out the other convention."""
    if native is None:
        return meaning.foreign if meaning.native is None else meaning.native
    chosen, other = meaning.native, meaning.foreign
    if not native:
        chosen, other = other, chosen
    return chosen if declared or chosen is not None else other


def _number_parser(
    wrong: str, understand: Callable[[str], Meanings[Decimal] | None] = number_meanings
) -> TextParser[Decimal]:
    return TextParser(
        understand=understand,
        declared=lambda reading: None if reading.numbers is None else reading.numbers == "pt",
        written=localised_number,
        ambiguous="number-ambiguous",
        wrong=partial(_wrong_number, wrong),
    )


def _wrong_number(
    code: str, _text: str, native: bool | None, other: Decimal | None
) -> tuple[str, Mapping[str, object]]:
    if other is None:
        return code, {"why": ""}
    style = "pt" if native else "en"
    return code, {"why": _OTHER_STYLE.format(style=style, other=localised_number(other))}


_NO_SUCH_DAY = Text(pt=": o calendário não tem esse dia", en=": the calendar has no such day")
_TOO_EARLY = Text(
    pt=f" aceita: o ano é anterior a {FIRST_YEAR}",
    en=f" that is taken: the year is before {FIRST_YEAR}",
)
_OTHER_DAY = Text(
    pt=" certa: a hora tem um fuso (Z ou ±hh:mm), e no Brasil pode ser outro dia",
    en=" for certain: its time has a zone (Z or ±hh:mm), and in Brazil it may be another day",
)
TOO_LATE = Text(
    pt=f" aceita: o ano passa de {LAST_YEAR}",
    en=f" that is taken: the year is after {LAST_YEAR}",
)
_OTHER_ORDER = Text(
    pt=" na ordem declarada com --dates {order}; na outra seria {other}",
    en=" in the order declared with --dates {order}; in the other one it would be {other}",
)
_OTHER_STYLE = Text(
    pt=" na escrita declarada com --numbers {style}; na outra seria {other}",
    en=" in the style declared with --numbers {style}; in the other one it would be {other}",
)


def _wrong_date(
    text: str, native: bool | None, other: date | None
) -> tuple[str, Mapping[str, object]]:
    if other is not None:
        order = "dmy" if native else "mdy"
        return "type-date", {"why": _OTHER_ORDER.format(order=order, other=display(other))}
    if _SHORT_YEAR.fullmatch(text) or _NAMED_SHORT_YEAR.fullmatch(text):
        return "date-short-year", {}
    if _ZONE.search(text) and date_meanings(_ZONE.sub(r"\1", text)):
        return "type-date", {"why": _OTHER_DAY}
    year = year_of(text)
    if year is None:
        return "type-date", {"why": ""}
    if year > LAST_YEAR:
        return "type-date", {"why": TOO_LATE}
    return "type-date", {"why": _NO_SUCH_DAY if year >= FIRST_YEAR else _TOO_EARLY}


NUMBER_PARSERS = {
    Kind.INTEGER: _number_parser("type-integer", whole_meanings),
    Kind.NUMBER: _number_parser("type-number"),
    Kind.MONEY: _number_parser("type-number"),
}
DATE_PARSER = TextParser(
    understand=date_meanings,
    declared=lambda reading: None if reading.dates is None else reading.dates == "dmy",
    written=lambda day: display(day),
    ambiguous="date-ambiguous",
    wrong=_wrong_date,
    lasting=has_time,
    understand_declared=declared_date_meanings,
)
