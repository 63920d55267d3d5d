"""The demo's own calendar: it never looks at the clock."""

from datetime import datetime, timedelta
from random import Random

TODAY = datetime(2026, 10, 31)
BEGINNING = datetime(2025, 1, 2)
_WORKDAY_BEGINS, _WORKDAY_SECONDS = 8 * 3600, 10 * 3600


def some_day(random: Random, first: datetime = BEGINNING, last: datetime = TODAY) -> datetime:
    """Return a day from ``first`` to ``last``, both included."""
    return first + timedelta(days=random.randrange((last - first).days + 1))


def at_work(random: Random, day: datetime) -> datetime:
    """Return a moment of a day's office hours."""
    return day + timedelta(seconds=_WORKDAY_BEGINS + random.randrange(_WORKDAY_SECONDS))
