"""What no value of a request may pass, whatever the operation: codes, amounts, texts, dates.

What passes is kept the same by every database. The spec shows no such limits; these are this
project's choice (``docs/assumptions.md``).
"""

import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from xlbridge.sandbox.answers import Problem
from xlbridge.wire.lengths import LONGEST
from xlbridge.wire.model import WireModel

INTEGER_LIMIT = 2**31
NUMBER_LIMIT = 10**12
NUMBER_PLACES = 6
YEARS = range(1900, 3000)
ISO_8601 = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
"""How a date of a body is written, as a regular expression."""

_OUT_OF_RANGE = "Valor inválido: número fora do intervalo."
_UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


def limit_problem(name: str, value: Any) -> str | None:
    """Return which limit the value of a field passes, None where it passes none."""
    if isinstance(value, str):
        return _text_problem(value, LONGEST.get(name))
    if isinstance(value, datetime):
        return None if value.year in YEARS else "Data fora do intervalo permitido."
    if isinstance(value, Decimal):
        return _number_problem(value)
    if isinstance(value, int) and not -INTEGER_LIMIT <= value < INTEGER_LIMIT:
        return _OUT_OF_RANGE
    return None


def record_problems(record: WireModel) -> Iterator[Problem]:
    """Yield the fields of a record without lists that pass a limit."""
    for name, value in record:
        problem = limit_problem(name, value)
        if problem is not None:
            yield name, problem


def is_writable(text: str) -> bool:
    """Tell whether every database can keep a text.

    Half a surrogate pair cannot be encoded, and no database but SQLite keeps a NUL.
    """
    return _UNWRITABLE.search(text) is None


def _text_problem(text: str, longest: int | None) -> str | None:
    if not is_writable(text):
        return "Valor inválido: texto com caracteres não permitidos."
    if longest is not None and len(text) > longest:
        return f"Valor inválido: texto com mais de {longest} caracteres."
    return None


def _number_problem(number: Decimal) -> str | None:
    if abs(number) >= NUMBER_LIMIT:
        return _OUT_OF_RANGE
    if number != round(number, NUMBER_PLACES):
        return f"Valor inválido: número com mais de {NUMBER_PLACES} casas decimais."
    return None
