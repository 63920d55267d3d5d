"""Parsing of dates and numbers in the text cells of a column.

A text with two meanings is read in the convention that the user declared, or on which the other
texts of the column agree, or the text numbers of the whole sheet; otherwise it is an error.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Generic

from xlbridge.i18n import Text
from xlbridge.resources import Kind
from xlbridge.settings import NumberStyle, ParseOptions
from xlbridge.validation.cells.column_cells import CellProblems, ColumnCells
from xlbridge.validation.cells.text import (
    display,
    format_decimal,
    normalize_width,
    strip_invisible,
)
from xlbridge.validation.cells.text_meanings import (
    FIRST_YEAR,
    LAST_YEAR,
    Meanings,
    Value,
    date_meanings,
    declared_date_meanings,
    has_short_year,
    has_time,
    is_other_day_in_brazil,
    number_meanings,
    short_year_meanings,
    whole_meanings,
    year_of,
)

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
    def decided(self) -> bool | None:
        """Convention in which ambiguous texts are read, None if it is not certain.

        One text is not enough, nor are a few of many: another person may have typed them.
        """
        decisive = max(self.native, self.foreign)
        is_enough = decisive >= _MIN_UNAMBIGUOUS and decisive * _MAX_DECIDED >= self.ambiguous
        return self.agreed if is_enough else None


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
    no fix converts. ``follows_sheet``: ambiguous texts may be read in the style of the sheet.
    """

    parse: Callable[[str], Meanings[Value] | None]
    declared: Callable[[ParseOptions], bool | None]
    format: Callable[[Value | None], object]
    ambiguous: str
    rejection: Callable[[str, bool | None, Value | None], tuple[str, Mapping[str, object]]]
    stays_text: Callable[[str], bool] = lambda _: False
    parse_declared: Callable[[str], Meanings[Value] | None] | None = None
    follows_sheet: bool = False


def parse_texts(
    parser: TextParser[Value],
    cells: ColumnCells,
    reading: ParseOptions,
    problems: CellProblems,
) -> Iterator[tuple[int, str, Value, bool]]:
    """Yield the position, text and value of each text cell with one meaning, and whether it may be
    fixed; report the others as problems.

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
    in_sheet = _style_of_sheet(parser, cells, evidence) if native is None else None
    # A number with the decimal mark of the sheet's style is read in it.
    decimal_mark = None if in_sheet is None else "," if in_sheet else "."
    open_texts = {
        text
        for text, meaning in meanings.items()
        if meaning.ambiguous
        and native is None
        and (decimal_mark is None or decimal_mark not in text)
    }
    is_evidence = declared is None and _has_dependents(parser, meanings, evidence, open_texts)
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
            yield position, text, value, meaning.native == meaning.foreign or not is_evidence


def sheet_number_style(texts: Iterable[str]) -> NumberStyle | None:
    """Return the style on which the distinct text numbers of a sheet agree: ``pt`` for decimal
    commas, ``en`` for decimal points, None if there are too few unambiguous ones or they differ."""
    evidence = Evidence.of(meanings_of(texts, number_meanings).values())
    if evidence.agreed is None or max(evidence.native, evidence.foreign) < _MIN_UNAMBIGUOUS:
        return None
    return "pt" if evidence.agreed else "en"


def _style_of_sheet(
    parser: TextParser[Value], cells: ColumnCells, evidence: Evidence
) -> bool | None:
    """Return whether the sheet's style, in which a column's ambiguous texts may be read, is the
    Brazilian one; None if there is no such style or the column contradicts it.

    Brazilian texts group thousands with points, so a decimal point must also be evident from a
    text of the column.
    """
    if not parser.follows_sheet or not evidence.ambiguous:
        return None
    style = cells.sheet_style()
    if style == "pt":
        return None if evidence.foreign else True
    return False if style == "en" and evidence.agreed is False else None


def _has_dependents(
    parser: TextParser[Value],
    meanings: Mapping[str, Meanings[Value]],
    evidence: Evidence,
    open_texts: Collection[str],
) -> bool:
    """Return whether the meaning of remaining texts, such as the ambiguous ``open_texts``, depends
    on those that would be fixed."""
    if open_texts:
        return evidence.agreed is not None
    left = Evidence.of(meaning for text, meaning in meanings.items() if parser.stays_text(text))
    return left.ambiguous > 0 and left.decided != evidence.decided


def _number_parser(kind: Kind) -> TextParser[Decimal]:
    is_whole = kind is Kind.INTEGER
    return TextParser(
        parse=whole_meanings if is_whole else number_meanings,
        declared=lambda reading: None if reading.numbers is None else reading.numbers == "pt",
        format=format_decimal,
        ambiguous="number-ambiguous",
        rejection=partial(_reject_number, "type-integer" if is_whole else "type-number"),
        follows_sheet=not is_whole,
    )


def _reject_number(
    code: str, _text: str, native: bool | None, other: Decimal | None
) -> tuple[str, Mapping[str, object]]:
    if other is None:
        return code, {"why": ""}
    style = "pt" if native else "en"
    return code, {"why": _OTHER_STYLE.format(style=style, other=format_decimal(other))}


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
)
_OTHER_STYLE = Text(
    pt=" na escrita declarada com --numbers {style}; na outra seria {other}",
    en=" in the style declared with --numbers {style}; in the other one it would be {other}",
)


def _reject_date(
    text: str, native: bool | None, other: date | None
) -> tuple[str, Mapping[str, object]]:
    if other is not None:
        order = "dmy" if native else "mdy"
        return "type-date", {"why": _OTHER_ORDER.format(order=order, other=display(other))}
    if has_short_year(text):
        is_day = short_year_meanings(text) is not None
        return ("date-short-year", {}) if is_day else ("type-date", {"why": _NO_SUCH_DAY})
    if is_other_day_in_brazil(text):
        return "type-date", {"why": _OTHER_DAY}
    year = year_of(text)
    if year is None:
        return "type-date", {"why": ""}
    if year > LAST_YEAR:
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
)
