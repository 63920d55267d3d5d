"""Guesses where the next window of a capped listing should end, from what is known of the earlier.

Times are minutes, counted from a fixed moment; a window holds its last minute too.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import Protocol

FOREVER = 2**40
"""An end that is later than any."""

BURST = 0.2
"""As many records within one minute, as a share of a full answer, are best asked for alone."""

_SPARSE = 0.5
"""After a window with a smaller share of a full answer a pace is not trusted any more."""


@dataclass(slots=True)
class Known:
    """When the records were updated that came so far: ``minutes``, sorted, one for each record.

    Up to the window that is guessed they are all there; what a full answer has shown beyond is in
    it too. ``earliest_first`` says whether full answers are taken to hold a window's earliest.
    """

    cap: int
    minutes: list[int] = field(default_factory=list)
    earliest_first: bool = True

    def before(self, minute: int) -> int:
        """Return how many records were updated before a minute."""
        return bisect_left(self.minutes, minute)

    def shown_at(self, start: int) -> int:
        """Return how many records are known in the minute ``start``, forgetting all later ones.

        What lies beyond that minute was shown by an answer that was not followed up.
        """
        self.forget_from(start + 1)
        return len(self.minutes) - self.before(start)

    def forget_from(self, minute: int) -> None:
        """Forget what is known from a minute on."""
        del self.minutes[self.before(minute) :]

    def size(self, index: int) -> int:
        """Return how many records share the minute of one of them."""
        minute = self.minutes[index]
        return bisect_right(self.minutes, minute) - self.before(minute)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a window is to begin. ``shown`` records of its first minute are known already.

    ``last`` is the start of the window before, and how many records it had.
    """

    start: int
    shown: int = 0
    last: tuple[int, int] | None = None


class Guesser(Protocol):
    """Something that guesses. It looks at nothing in ``known`` from the place's start on."""

    def end(self, known: Known, place: Place) -> int:
        """Return the last minute of the window that begins at a place."""
        ...


@dataclass(frozen=True, slots=True)
class Ahead:
    """Asks for all the rest; the answer then shows where to cut.

    Nothing is better against bursts of more than half a full answer that come when they will.
    """

    def end(self, known: Known, place: Place) -> int:
        """Return the last minute of the window that begins at a place."""
        return place.start if place.shown >= BURST * known.cap else FOREVER


@dataclass(frozen=True, slots=True)
class Pace:
    """Goes on as the latest ``records`` came, to fill a ``share`` of a full answer."""

    records: int
    share: float

    def end(self, known: Known, place: Place) -> int:
        """Return the last minute of the window that begins at a place."""
        if place.shown >= BURST * known.cap:
            return place.start
        if not place.shown and place.last is not None and place.last[1] < _SPARSE * known.cap:
            return FOREVER
        count = known.before(place.start)
        first = max(0, count - self.records)
        if first == count:
            return FOREVER
        per_record = max(1, place.start - known.minutes[first]) / (count - first)
        length = (self.share * known.cap - place.shown) * per_record
        return place.start + max(0, int(length) - (place.shown == 0))


@dataclass(frozen=True, slots=True)
class Habit:
    """Expects what came a ``period`` of minutes ago, to fill a ``share`` of a full answer."""

    period: int
    share: float

    def end(self, known: Known, place: Place) -> int:
        """Return the last minute of the window that begins at a place."""
        count = known.before(place.start)
        then = place.start - self.period
        if place.shown >= BURST * known.cap:
            return place.start
        if not count or then < known.minutes[0]:
            return FOREVER
        wanted = int(self.share * known.cap) - place.shown
        index = known.before(then + (place.shown > 0)) + wanted
        if index < count:
            return max(place.start, known.minutes[index] + self.period - 1)
        return place.start + wanted * (place.start - known.minutes[0]) // count
