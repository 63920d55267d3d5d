"""Values as people write them."""

import datetime as dt
import unicodedata
from decimal import Decimal

from xlbridge.i18n import Text, numeral

_MARKS = {"\n": "↵", "\r": "␍", "\t": "⇥"}


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
    return f"'{text if text.isprintable() else ''.join(map(_visible, text))}'"


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    if unicodedata.category(character) == "Zs":
        return "␣"
    return _MARKS.get(character, f"⟨U+{ord(character):04X}⟩")


def written(number: Decimal | None) -> Text:
    """Write a number as each language does."""
    return numeral(f"{number:f}")
