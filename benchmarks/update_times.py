"""Update times of clients, for the benchmarks and tests of windows.

Times are whole minutes, one per client.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from random import Random

from xlbridge.client.time_windows import Window, WindowSplitter

FIRST = datetime(2005, 1, 1)
DAY = 24 * 60
SPAN = 600 * DAY
"""Default number of minutes over which clients are spread."""

Moments = list[datetime]


def spread(random: Random, count: int, minutes: int = SPAN) -> Moments:
    """Return uniformly distributed times."""
    return [FIRST + timedelta(minutes=1) * random.randrange(minutes) for _ in range(count)]


def bursts(random: Random, sizes: Sequence[int], minutes: int = SPAN) -> Moments:
    """Return a burst of each size, each within one random minute."""
    return [moment for size in sizes for moment in spread(random, 1, minutes) * size]


def at_work(random: Random, count: int, days: int) -> Moments:
    """Return times from 8:00 to 18:00 on each of some days."""
    return [
        FIRST + timedelta(minutes=1) * (random.randrange(days) * DAY + 480 + random.randrange(600))
        for _ in range(count)
    ]


def large(random: Random, count: int) -> list[int]:
    """Return sizes of bursts that nearly fill an answer."""
    return [random.randint(400, 499) for _ in range(count)]


def growing(random: Random, count: int) -> Moments:
    """Return times whose density grows by a factor of e every 30 days."""
    minutes_ago = (min(SPAN - 1, int(random.expovariate(1 / (30 * DAY)))) for _ in range(count))
    return [FIRST + timedelta(minutes=1) * (SPAN - minutes) for minutes in minutes_ago]


def long_tail(random: Random, count: int) -> Moments:
    """Return times mostly in the last days, with a few years of earlier ones."""
    minutes_ago = (min(5 * SPAN - 1, int(60 * random.paretovariate(0.5))) for _ in range(count))
    return [FIRST + timedelta(minutes=1) * (5 * SPAN - minutes) for minutes in minutes_ago]


def clusters(random: Random, count: int, spells: int) -> Moments:
    """Return times in active periods of three days over twenty years."""
    starts = [random.randrange(20 * 365 * DAY) for _ in range(spells)]
    size = count // spells
    return [
        FIRST + timedelta(minutes=1) * (start + random.randrange(3 * DAY))
        for start in starts * size
    ]


def nightly(size: int, nights: int) -> Moments:
    """Return times at two o'clock each night."""
    return [
        FIRST + timedelta(minutes=1) * (night * DAY + 120)
        for night in range(nights)
        for _ in range(size)
    ]


DISTRIBUTIONS: dict[str, Callable[[Random], Moments]] = {
    "spread over 600 days": lambda r: spread(r, 20_000),
    "spread over 20 years": lambda r: spread(r, 20_000, 20 * 365 * DAY),
    "working hours of 600 days": lambda r: at_work(r, 20_000, 600),
    "working hours of 60 days": lambda r: at_work(r, 20_000, 60),
    "working hours of 20 days": lambda r: at_work(r, 20_000, 20),
    "all in three hours": lambda r: spread(r, 20_000, 180),
    "15,000 in three hours, 5,000 after": lambda r: spread(r, 15_000, 180) + spread(r, 5_000),
    "growing": lambda r: growing(r, 20_000),
    "a long tail": lambda r: long_tail(r, 20_000),
    "10 spells with years between": lambda r: clusters(r, 20_000, 10),
    "60 spells with months between": lambda r: clusters(r, 20_000, 60),
    "200 each night": lambda _r: nightly(200, 100),
    "450 each night": lambda _r: nightly(450, 44),
    **{
        f"bursts of {size} only": lambda r, size=size: bursts(r, [size] * (20_000 // size))  # type: ignore[misc]
        for size in (10, 20, 40, 100, 150, 200, 240, 250, 300, 400, 450, 499)
    },
    **{
        f"half in bursts of {size}": lambda r, size=size: (  # type: ignore[misc]
            bursts(r, [size] * (10_000 // size)) + spread(r, 10_000)
        )
        for size in (40, 100, 200, 300, 400, 450, 499)
    },
    "150 bursts of 40, 14,000 spread": lambda r: bursts(r, [40] * 150) + spread(r, 14_000),
    "5 bursts of 400 to 499, 18,000 spread": lambda r: bursts(r, large(r, 5)) + spread(r, 18_000),
    "10 of them, 15,000 spread": lambda r: bursts(r, large(r, 10)) + spread(r, 15_000),
    "20 of them, 12,000 spread": lambda r: bursts(r, large(r, 20)) + spread(r, 12_000),
    "20 bursts of 499, 12,000 spread": lambda r: bursts(r, [499] * 20) + spread(r, 12_000),
    "80 bursts of any size": lambda r: bursts(r, [r.randint(1, 499) for _ in range(80)]),
}
"""Distributions of the update times of about 20,000 clients."""


def fewest_calls(moments: Sequence[datetime], cap: int) -> int:
    """Return the number of windows needed if every update time were known.

    These windows cover all time, from the earliest on, each as long as possible without ``cap``
    records; no other cover has fewer. A full minute is a window of its own.
    """
    calls, room = 1, cap - 1
    next_minute: datetime | None = None
    for minute, group in groupby(sorted(moment.replace(second=0) for moment in moments)):
        count = len(list(group))
        if count >= cap:
            calls += 1 if next_minute in (None, minute) else 2
            next_minute, room = minute + timedelta(minutes=1), 0
            continue
        if count > room:
            calls, room = calls + 1, cap - 1
        next_minute, room = None, room - count
    return calls + (next_minute is not None)


Shown = Callable[[Moments], Moments]
"""Which of the sorted times of a window a full answer shows."""


def split(
    moments: Sequence[datetime], cap: int, shown: Shown | None = None
) -> tuple[list[tuple[Window, int]], int]:
    """Split as an export does; return the windows with their records, and the calls.

    Without ``shown``, a full answer holds the earliest records.
    """
    ordered = sorted(moments)
    splitter = WindowSplitter(
        Window(None, None), cap, max(ordered, default=FIRST) + timedelta(days=2)
    )
    settled: list[tuple[Window, int]] = []
    calls = 0
    while (window := splitter.next) is not None:
        is_test = splitter.is_testing
        first = 0 if window.start is None else bisect_left(ordered, window.start)
        end = (
            len(ordered)
            if window.end is None
            else bisect_left(ordered, window.end + timedelta(minutes=1))
        )
        inside = ordered[first:end]
        count = min(len(inside), cap)
        calls += not is_test
        if count == cap:
            inside = inside[:cap] if shown is None else shown(inside)
        if splitter.add_answer(inside, count):
            settled.append((window, count))
    return settled, calls
