"""Values as people write them."""

import datetime as dt
from decimal import Decimal

from xlbridge.findings.unseen import mark_of
from xlbridge.i18n import Text, numeral


def display(value: object) -> str:
    """Return a cell's value as text, as the analyst knows it."""
    if isinstance(value, bool):
        return "VERDADEIRO" if value else "FALSO"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, dt.datetime):
        return value.strftime("%d/%m/%Y %H:%M:%S")
    if isinstance(value, dt.date):
        return value.strftime("%d/%m/%Y")
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(value, dt.time):
        return value.strftime("%H:%M:%S")
    return str(value)


def quoted(text: str) -> str:
    """Return a text between quotes, with a visible mark for each character that cannot be seen."""
    if text.isprintable():
        return f"'{text}'"
    return f"'{''.join(it if it.isprintable() else mark_of(it).sign for it in text)}'"


def written(number: Decimal | None) -> Text:
    """Write a number as each language does."""
    return numeral(f"{number:f}")
