"""Values as people write them."""

import datetime as dt
from decimal import Decimal

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
    if isinstance(value, dt.time):
        return value.strftime("%H:%M:%S")
    return str(value)


def written(number: Decimal | None) -> Text:
    """Write a number as each language does."""
    return numeral(f"{number:f}")
