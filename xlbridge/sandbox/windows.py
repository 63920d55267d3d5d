"""Update windows of the listings, both ends included."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement

from xlbridge.sandbox.call import Call
from xlbridge.wire.model import DAY_FORMAT

_MINUTE = timedelta(minutes=1)
_DAY = timedelta(days=1)


def window(
    call: Call, updated: ColumnElement[datetime], lower: datetime | None, upper: datetime | None
) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of ``dataInferior`` and ``dataSuperior``.

    An upper end takes in all that it names: the whole day, or with a time the whole minute.
    Source: the spec, Sales and billing (``dd/MM/yyyy``, optionally followed by ``HH:mm``).
    """
    if lower is not None:
        yield updated >= lower
    if upper is not None:
        yield updated < _after(upper, _DAY if _is_day(call, upper) else _MINUTE)


def _after(moment: datetime, span: timedelta) -> datetime:
    try:
        return moment + span
    except OverflowError:
        return moment


def _is_day(call: Call, upper: datetime) -> bool:
    texts = {name.lower(): value.strip() for name, value in call.query_text.items()}
    return texts.get("datasuperior") == upper.strftime(DAY_FORMAT)
