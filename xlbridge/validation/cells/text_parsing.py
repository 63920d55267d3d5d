"""Dates and numbers in the text cells of a column: the meanings of a text in the Brazilian and the
foreign convention, and the choice of one.

A text with two meanings is read in the convention that the user declared, or on which the other
texts of the column agree, or the text numbers of the whole sheet; otherwise it is an error.

Single cells of foreign sheets may also mean a kind of document, a month, or a day of one, such as
"todo dia 10".
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Generic, TypeVar

from xlbridge.i18n import Text
from xlbridge.resources import Kind
from xlbridge.resources.checks import DOCUMENTS, bare_document
from xlbridge.settings import ParseOptions
from xlbridge.validation.cells.contents import (
    ColumnCells,
    SheetOrder,
    display,
    folded_text,
    format_decimal,
    normalize_width,
    sign_of,
    strip_invisible,
)
from xlbridge.validation.sheet_findings import CellProblems
from xlbridge.workbook.read import CellColumn

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
MONTHS = {
    short: number
    for number, names in enumerate(_MONTH_NAMES, start=1)
    for name in names.split()
    for short in (name, name[:3])
} | {"sept": 9}
"""Numbers of the months by their names and short forms, in both languages."""
_LAST_OF_THIS_CENTURY = 49
"""Last two-digit year of the 2000s: no date of a title is that old."""

_PLAIN = re.compile(r"[+-]?\d+", re.ASCII)
_PADDED = re.compile(r"00+[1-9]\d*", re.ASCII)
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
        month = MONTHS.get(match["month"].casefold(), 0)
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


def short_year_meanings(text: str) -> Meanings[date] | None:
    """Return the meanings of a text with a two-digit year as a date of this century."""
    match = _SHORT_YEAR.fullmatch(text) or _NAMED_SHORT_YEAR.fullmatch(text)
    if match is None:
        return None
    at = match.start("year")
    return date_meanings(f"{text[:at]}20{text[at:]}")


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


_MIN_UNAMBIGUOUS = 2
_MAX_DECIDED = 4
"""Number of ambiguous texts that each unambiguous text can decide."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Counts of a column's distinct texts: those with a meaning in the Brazilian convention only,
    in the foreign one only, and in both with two values."""

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
    def agreed(self) -> bool | None:
        """Common convention of the unambiguous texts: True for the Brazilian one, False for the
        foreign one, None if there are none or they differ."""
        return None if bool(self.native) == bool(self.foreign) else bool(self.native)

    @property
    def is_proof(self) -> bool:
        """True if enough texts agree on a convention to prove it for others."""
        return self.agreed is not None and max(self.native, self.foreign) >= _MIN_UNAMBIGUOUS

    @property
    def decided(self) -> bool | None:
        """Convention in which ambiguous texts are read, None if it is not certain.

        One text is not enough, nor are a few of many: another person may have typed them.
        """
        most = _MAX_DECIDED * max(self.native, self.foreign)
        return self.agreed if self.is_proof and most >= self.ambiguous else None


def meanings_of(
    texts: Iterable[str], parse: Callable[[str], Meanings[Value] | None]
) -> Mapping[str, Meanings[Value]]:
    """Return the meanings of the distinct ``texts`` that have any."""
    found = ((text, parse(text)) for text in set(texts))
    return {text: meaning for text, meaning in found if meaning is not None}


@dataclass(frozen=True, slots=True)
class TextParser(Generic[Value]):
    """Rules for parsing values of a kind from text, and the findings of texts that have none.

    ``declared`` returns whether the declared convention is the Brazilian one, None if there is no
    declaration; ``parse_declared`` replaces ``parse`` if there is one. ``rejection`` returns the
    code and details of a text that is not read, from the text, the declared convention and the
    text's meaning in the other convention. ``stays_text`` is true of texts that are read, but that
    no fix converts. ``of_sheet`` returns whether the texts of other columns are in the Brazilian
    convention, in which ambiguous texts may be read; None if they tell nothing.
    """

    parse: Callable[[str], Meanings[Value] | None]
    declared: Callable[[ParseOptions], bool | None]
    format: Callable[[Value | None], object]
    ambiguous: str
    rejection: Callable[[str, bool | None, Value | None], tuple[str, Mapping[str, object]]]
    stays_text: Callable[[str], bool] = lambda _: False
    parse_declared: Callable[[str], Meanings[Value] | None] | None = None
    of_sheet: Callable[[ColumnCells, Evidence], bool | None] = lambda *_: None
    marks: Mapping[bool, str] = field(default_factory=dict)
    """Decimal marks by convention: an ambiguous text without it is not read in the sheet's."""

    def has_dependents(
        self,
        meanings: Mapping[str, Meanings[Value]],
        evidence: Evidence,
        open_texts: Collection[str],
    ) -> bool:
        """Return whether the meaning of remaining texts, such as the ambiguous ``open_texts``,
        depends on those that would be fixed."""
        if open_texts:
            return evidence.agreed is not None
        left = Evidence.of(meaning for text, meaning in meanings.items() if self.stays_text(text))
        return left.ambiguous > 0 and left.decided != evidence.decided


def parse_texts(
    parser: TextParser[Value],
    cells: ColumnCells,
    reading: ParseOptions,
    problems: CellProblems,
) -> Iterator[tuple[int, str, Value, bool, bool]]:
    """Yield the position, text and value of each text cell with one meaning, whether it may be
    fixed, and whether other columns decided its meaning; report the others as problems.

    If the meaning of a text that no fix converts depends on the others of the column, none of
    them may be fixed: alone it would mean something else.
    """
    positions, texts = cells.texts()
    if not "".join(set(texts)).isascii():
        texts = [strip_invisible(normalize_width(text))[0] for text in texts]
    declared = parser.declared(reading)
    parse = parser.parse if declared is None else parser.parse_declared
    meanings = meanings_of(texts, parse or parser.parse)
    evidence = Evidence.of(meanings.values())
    native = evidence.decided if declared is None else declared
    in_sheet = None
    if native is None and evidence.ambiguous:
        in_sheet = parser.of_sheet(cells, evidence)
    # A number with the decimal mark of the sheet's style is read in it.
    mark = "" if in_sheet is None else parser.marks.get(in_sheet, "")
    ambiguous = {text for text, meaning in meanings.items() if meaning.ambiguous}
    is_open = native is None
    open_texts = {t for t in ambiguous if is_open and (in_sheet is None or mark not in t)}
    by_sheet = ambiguous - open_texts if is_open else set[str]()
    is_evidence = declared is None and parser.has_dependents(meanings, evidence, open_texts)
    native = in_sheet if native is None else native
    for position, text in zip(positions.tolist(), texts, strict=True):
        if not text:
            continue
        meaning = meanings.get(text)
        if meaning is not None and text in open_texts:
            first, second = parser.format(meaning.native), parser.format(meaning.foreign)
            problems.add(position, parser.ambiguous, {"first": first, "second": second})
            continue
        value = other = None
        if meaning is not None:
            value, other = meaning.native, meaning.foreign
            if native is False:
                value, other = other, value
            # A declared convention rules out the other one.
            if declared is None and value is None:
                value = other
        if meaning is None or value is None:
            problems.add(position, *parser.rejection(text, declared, other))
        else:
            certain = meaning.native == meaning.foreign or not is_evidence
            yield position, text, value, certain, text in by_sheet


def _number_parser(kind: Kind) -> TextParser[Decimal]:
    is_whole = kind is Kind.INTEGER

    def parse(text: str) -> Meanings[Decimal] | None:
        # The digits of an amount in a field of fixed width may include the cents.
        if kind is Kind.MONEY and _PADDED.fullmatch(text):
            return None
        return whole_meanings(text) if is_whole else number_meanings(text)

    def reject(
        text: str, native: bool | None, other: Decimal | None
    ) -> tuple[str, Mapping[str, object]]:
        why: Text | str = ""
        if _PADDED.fullmatch(text):
            why = _PERHAPS_CENTS
        elif other is not None:
            style = "pt" if native else "en"
            why = _OTHER_STYLE.format(style=style, other=format_decimal(other))
        return "type-integer" if is_whole else "type-number", {"why": why}

    return TextParser(
        parse=parse,
        declared=lambda reading: None if reading.numbers is None else reading.numbers == "pt",
        format=format_decimal,
        ambiguous="number-ambiguous",
        rejection=reject,
        of_sheet=(lambda *_: None) if is_whole else _sheet_numbers,
        marks={True: ",", False: "."},
    )


def _sheet_numbers(cells: ColumnCells, evidence: Evidence) -> bool | None:
    """Return whether a column's ambiguous numbers may be read in the Brazilian style, False for the
    foreign one; None if the sheet has no style or the column contradicts it.

    Brazilian texts group thousands with points, so a decimal point must also be evident from a
    text of the column.
    """
    style = cells.sheet_style()
    if style == "pt":
        return None if evidence.foreign else True
    return False if style == "en" and evidence.agreed is False else None


def _sheet_dates(cells: ColumnCells, evidence: Evidence) -> bool | None:
    """Return the order that another column proves, None if there is none or this column contradicts
    it."""
    order = cells.sheet_dates()
    if order is None or (evidence.foreign if order.native else evidence.native):
        return None
    return order.native


def sheet_date_order(columns: Mapping[str, Evidence]) -> SheetOrder | None:
    """Return the order of day and month that columns prove, given by their names; None if they
    prove none, or two."""
    proven: dict[bool, str] = {}
    for name, evidence in columns.items():
        if evidence.native and evidence.foreign:
            return None
        if (native := evidence.agreed) is not None:
            proven.setdefault(native, name if evidence.is_proof else "")
    if len(proven) != 1:
        return None
    ((native, name),) = proven.items()
    return SheetOrder(native, name) if name else None


_NO_SUCH_DAY = Text(pt=": o calendário não tem esse dia", en=": the calendar has no such day")
_TOO_EARLY = Text(
    pt=f" aceita: o ano é anterior a {FIRST_YEAR}",
    en=f" that is accepted: the year is before {FIRST_YEAR}",
)
_OTHER_DAY = Text(
    pt=" certa: a hora tem um fuso (Z ou ±hh:mm), e no Brasil pode ser outro dia",
    en=" for certain: its time has a zone (Z or ±hh:mm), and in Brazil it may be another day",
)
TOO_LATE = Text(
    pt=f" aceita: o ano passa de {LAST_YEAR}",
    en=f" that is accepted: the year is after {LAST_YEAR}",
)
_OTHER_ORDER = Text(
    pt=" na ordem declarada com --dates {order}; na outra seria {other}",
    en=" in the order declared with --dates {order}; in the other one it would be {other}",
    page=Text(
        pt=" na ordem escolhida em “Datas em texto”; na outra seria {other}",
        en=" in the order chosen under “Dates as text”; in the other one it would be {other}",
    ),
)
_PERHAPS_CENTS = Text(
    pt=" certo: com zeros à esquerda e sem vírgula, os dois últimos dígitos podem ser centavos",
    en=" for certain: with leading zeros and no comma, its last two digits may be cents",
)
_OTHER_STYLE = Text(
    pt=" na escrita declarada com --numbers {style}; na outra seria {other}",
    en=" in the style declared with --numbers {style}; in the other one it would be {other}",
    page=Text(
        pt=" na escrita escolhida em “Números em texto”; na outra seria {other}",
        en=" in the style chosen under “Numbers as text”; in the other one it would be {other}",
    ),
)


def _reject_date(
    text: str, native: bool | None, other: date | None
) -> tuple[str, Mapping[str, object]]:
    if other is not None:
        order = "dmy" if native else "mdy"
        return "type-date", {"why": _OTHER_ORDER.format(order=order, other=display(other))}
    if _SHORT_YEAR.fullmatch(text) or _NAMED_SHORT_YEAR.fullmatch(text):
        is_day = short_year_meanings(text) is not None
        return ("date-short-year", {}) if is_day else ("type-date", {"why": _NO_SUCH_DAY})
    if _ZONE.search(text) and date_meanings(_ZONE.sub(r"\1", text)) is not None:
        return "type-date", {"why": _OTHER_DAY}
    if (match := _YEAR_FIRST.fullmatch(text) or _SLASHED.fullmatch(text)) is None:
        return "type-date", {"why": ""}
    if (year := int(match["year"])) > LAST_YEAR:
        return "type-date", {"why": TOO_LATE}
    return "type-date", {"why": _NO_SUCH_DAY if year >= FIRST_YEAR else _TOO_EARLY}


NUMBER_PARSERS = {kind: _number_parser(kind) for kind in Kind if kind.is_number}
DATE_PARSER = TextParser(
    parse=date_meanings,
    declared=lambda reading: None if reading.dates is None else reading.dates == "dmy",
    format=display,
    ambiguous="date-ambiguous",
    rejection=_reject_date,
    stays_text=has_time,
    parse_declared=declared_date_meanings,
    of_sheet=_sheet_dates,
)


NOTHING = re.compile(r"(R\$)?\s*[-–]?\s*0*([.,]0+)?")
"""Texts of cells without an amount."""
_DAY = re.compile(r"((todo|cada)\s+)?((dia|day)\s+)?(?P<day>\d{1,2})[ºo]?", re.IGNORECASE)
_MONTH = re.compile(
    r"(?P<month>\d{1,2})[/.-](?P<year>\d{4})|(?P<year2>\d{4})[/.-](?P<month2>\d{1,2})"
)
_NAMED_MONTH = re.compile(r"(?P<name>[a-z]+)\.?(\s*[/-]\s*|\s+de\s+|\s+)(?P<year>\d{4}|\d{2})")
_THIS_CENTURY = 2000
_LAST_DAY, _LAST_MONTH = 31, 12


def all_values(column: CellColumn) -> list[object]:
    """Return the values of a column, from Excel's row 1 on."""
    return list(column.values(range(len(column.kinds))))


def document_kind(value: object) -> str | None:
    """Return the kind of document in a cell, by its check digits, else by its length.

    A document without its leading zeros counts if it can only be of one kind. A wrong document has
    mostly digits, unlike a name of the same length.
    """
    bare = bare_text(value)
    valid = valid_kinds(bare)
    if len(valid) == 1:
        return valid[0]
    if 2 * sum(map(str.isdecimal, bare)) < len(bare):
        return None
    return next((kind for kind, one in DOCUMENTS.items() if one.symbols == len(bare)), None)


def bare_text(value: object) -> str:
    return bare_document(shown_text(value))


def valid_kinds(bare: str) -> list[str]:
    return [kind for kind, one in DOCUMENTS.items() if one.is_valid(bare.zfill(one.symbols))]


def day_of(value: object) -> int | None:
    """Return the day of a month that a cell names, None for anything else, dates included."""
    if isinstance(value, bool | date):
        return None
    found = _DAY.fullmatch(shown_text(value))
    day = int(found["day"]) if found else 0
    return day if 1 <= day <= _LAST_DAY else None


def month_of(value: object) -> tuple[int, int] | None:
    """Return the year and the month that a cell names, None for anything else."""
    if isinstance(value, date):
        return value.year, value.month
    text = folded_text(shown_text(value))
    if found := _MONTH.fullmatch(text):
        year, month = found["year"] or found["year2"], found["month"] or found["month2"]
        return (int(year), int(month)) if 1 <= int(month) <= _LAST_MONTH else None
    if (found := _NAMED_MONTH.fullmatch(text)) is None:
        return None
    month, year = MONTHS.get(found["name"]), int(found["year"])
    return None if month is None else (year + (_THIS_CENTURY if year < 100 else 0), month)


def is_of_other_sign(value: object, sign: str) -> bool:
    """Return whether an amount has another sign, or is none if it may have ``any``."""
    if sign == "any":
        return NOTHING.fullmatch(shown_text(value)) is not None
    return sign_of(value) not in {None, sign}


def shown_text(value: object) -> str:
    """Return the text of a cell without invisible characters and outer spaces."""
    return strip_invisible(display(value))[0].strip()
