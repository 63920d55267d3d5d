"""Texts of cells: what a cell shows, and what a text that a person types stands for."""

from datetime import date, datetime
from decimal import Decimal

from xlbridge.i18n import active_language, localized_number
from xlbridge.resources import Column, Kind
from xlbridge.resources.findings import CorrectedValue
from xlbridge.validation import date_meanings, display, number_meanings
from xlbridge.workbook import CellPosition
from xlbridge.workbook.read import SheetCells

_NUMBERS = frozenset({Kind.INTEGER, Kind.NUMBER, Kind.MONEY})


def shown_text(cells: SheetCells, place: CellPosition) -> str:
    """Return a cell's content as Excel would show it in the general format."""
    if place in cells.raw.errors:
        return cells.raw.errors[place]
    value = cells.columns[place[1] - cells.first_column].value(place[0] - 1)
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return display(value.date())
    if isinstance(value, float):
        return str(localized_number(display(value)))
    return display(value)


def typed_value(column: Column | None, text: str) -> CorrectedValue:
    """Return what a typed text stands for in a column, as Excel would take it.

    Numbers are read as the page's language writes them, dates with the day first. A text that is
    neither stays one, and gets its finding.
    """
    text = text.strip()
    if column is None or not text:
        return text
    if column.kind in _NUMBERS and (number := number_meanings(text)) is not None:
        native, foreign = number.native, number.foreign
        first, second = (native, foreign) if active_language() == "pt-BR" else (foreign, native)
        return _first_of(first, second, text)
    is_day = column.kind is Kind.DATE and ":" not in text
    if is_day and (day := date_meanings(text)) is not None:
        return _first_of(day.native, day.foreign, text)
    return text


def value_text(value: CorrectedValue) -> str:
    """Return a value as the page's language writes it."""
    if isinstance(value, Decimal):
        return str(localized_number(f"{value:f}"))
    return display(value)


def _first_of(
    first: Decimal | date | None, second: Decimal | date | None, text: str
) -> CorrectedValue:
    value = first if first is not None else second
    return text if value is None else value
