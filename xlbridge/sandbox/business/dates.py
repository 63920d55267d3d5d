"""Dates of the business: months counted on."""

from calendar import monthrange
from datetime import datetime


def months_after(moment: datetime, months: int) -> datetime:
    """Return the same day so many months later, or the last one of a shorter month."""
    years, month = divmod(moment.month - 1 + months, 12)
    year, month = moment.year + years, month + 1
    day = min(moment.day, monthrange(year, month)[1])
    return moment.replace(year=year, month=month, day=day)
