"""Dates of the business: which there can be, and months counted on."""

from calendar import monthrange
from datetime import datetime

from xlbridge.sandbox.answers import Problem

_YEARS = range(1900, 3000)


def date_problems(key: str, moment: datetime | None) -> list[Problem]:
    """Return the problem of a date that nothing of a business can have."""
    if moment is None or moment.year in _YEARS:
        return []
    return [(key, "Data fora do intervalo permitido.")]


def months_after(moment: datetime, months: int) -> datetime:
    """Return the same day so many months later, or the last one of a shorter month."""
    years, month = divmod(moment.month - 1 + months, 12)
    year, month = moment.year + years, month + 1
    day = min(moment.day, monthrange(year, month)[1])
    return moment.replace(year=year, month=month, day=day)
