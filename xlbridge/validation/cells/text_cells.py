"""Dates and numbers in text cells, read where they have one meaning."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Generic

from xlbridge.i18n import Text
from xlbridge.resources.column import Kind
from xlbridge.validation.cells.cell_problems import CellProblems
from xlbridge.validation.cells.cell_types import Cells
from xlbridge.validation.cells.characters import usual_width, visible
from xlbridge.validation.cells.text_values import (
    FIRST_YEAR,
    SHORT_YEAR,
    Meanings,
    Value,
    date_meanings,
    evidence,
    has_time,
    number_meanings,
    read_all,
    whole_meanings,
    year_of,
)
from xlbridge.validation.display import display, written
from xlbridge.validation.reading import Reading


@dataclass(frozen=True, slots=True)
class TextForm(Generic[Value]):
    """How values of a kind are understood from text, and what is said where they are not.

    ``wrong`` gives the finding of a text that is not read and its details, told whether the
    Brazilian convention was declared, and what the text means in the one that was not. ``lasting``
    tells the texts that are read and stay text, whatever is mended.
    """

    understand: Callable[[str], Meanings[Value] | None]
    declared: Callable[[Reading], bool | None]
    written: Callable[[Value | None], object]
    ambiguous: str
    wrong: Callable[[str, bool | None, Value | None], tuple[str, Mapping[str, object]]]
    lasting: Callable[[str], bool] = lambda _: False


def read_texts(
    form: TextForm[Value],
    cells: Cells,
    reading: Reading,
    problems: CellProblems,
) -> Iterator[tuple[int, Value, bool]]:
    """Yield the position and value of each text cell that has one meaning, and whether it may be
    mended; the others become problems.

    Where a text that stays owes its meaning to the others of the column, none of them is mended:
    alone it would mean something else.
    """
    positions, texts = cells.texts()
    if not "".join(set(texts)).isascii():
        texts = [visible(usual_width(text))[0] for text in texts]
    meanings = read_all(texts, form.understand)
    declared = form.declared(reading)
    native, _ = evidence(meanings.values())
    certain = declared is not None or _is_certain(form, meanings, native)
    if declared is not None:
        native = declared
    for position, text in zip(positions.tolist(), texts, strict=True):
        meaning = meanings.get(text)
        if meaning is not None and meaning.ambiguous and native is None:
            first, second = form.written(meaning.native), form.written(meaning.foreign)
            problems.add(position, form.ambiguous, {"first": first, "second": second})
            continue
        value = None if meaning is None else _decided(meaning, native, declared is not None)
        if value is None:
            other = None if meaning is None else meaning.foreign if native else meaning.native
            problems.add(position, *form.wrong(text, declared, other))
        else:
            yield position, value, certain


def _is_certain(
    form: TextForm[Value], meanings: Mapping[str, Meanings[Value]], native: bool | None
) -> bool:
    """Whether the texts that stay mean the same without the others of the column."""
    staying = [
        meaning
        for text, meaning in meanings.items()
        if form.lasting(text) or (meaning.ambiguous and native is None)
    ]
    return not any(meaning.ambiguous for meaning in staying) or evidence(staying)[0] == native


def _decided(meaning: Meanings[Value], native: bool | None, declared: bool) -> Value | None:
    """Choose between two meanings; what was declared also rules out the other convention."""
    if native is None:
        return meaning.foreign if meaning.native is None else meaning.native
    chosen, other = meaning.native, meaning.foreign
    if not native:
        chosen, other = other, chosen
    return chosen if declared or chosen is not None else other


def _number_form(
    wrong: str, understand: Callable[[str], Meanings[Decimal] | None] = number_meanings
) -> TextForm[Decimal]:
    return TextForm(
        understand=understand,
        declared=lambda reading: None if reading.numbers is None else reading.numbers == "pt",
        written=written,
        ambiguous="number-ambiguous",
        wrong=partial(_wrong_number, wrong),
    )


def _wrong_number(
    code: str, _text: str, native: bool | None, other: Decimal | None
) -> tuple[str, Mapping[str, object]]:
    if other is None:
        return code, {"why": ""}
    style = "pt" if native else "en"
    return code, {"why": _OTHER_STYLE.format(style=style, other=written(other))}


_NO_SUCH_DAY = Text(pt=": o calendário não tem esse dia", en=": the calendar has no such day")
_TOO_EARLY = Text(
    pt=f" aceita: o ano é anterior a {FIRST_YEAR}",
    en=f" that is taken: the year is before {FIRST_YEAR}",
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
    if SHORT_YEAR.fullmatch(text):
        return "date-short-year", {}
    if other is not None:
        order = "dmy" if native else "mdy"
        return "type-date", {"why": _OTHER_ORDER.format(order=order, other=display(other))}
    year = year_of(text)
    if year is None:
        return "type-date", {"why": ""}
    return "type-date", {"why": _NO_SUCH_DAY if year >= FIRST_YEAR else _TOO_EARLY}


NUMBER_FORMS = {
    Kind.INTEGER: _number_form("type-integer", whole_meanings),
    Kind.NUMBER: _number_form("type-number"),
    Kind.MONEY: _number_form("type-number"),
}
DATE_FORM = TextForm(
    understand=date_meanings,
    declared=lambda reading: None if reading.dates is None else reading.dates == "dmy",
    written=lambda day: display(day),
    ambiguous="date-ambiguous",
    wrong=_wrong_date,
    lasting=has_time,
)
