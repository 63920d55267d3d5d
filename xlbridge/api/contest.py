"""Which guesser is listened to: the one that would have needed the fewest calls up to here.

Each of them sweeps over what is known as if it had been asked from the beginning, and pays for its
mistakes there.
"""

from xlbridge.api.guessing import FOREVER, Ahead, Guesser, Habit, Known, Pace, Place
from xlbridge.api.stretches import Stretches

_DAY = 24 * 60

_FADING = 0.97
"""What calls count less with each later one, so that what came lately counts most."""

_LEAD = 1.0
"""So many calls another guesser must have saved before it is listened to, not the first."""

_CALLS_LEFT = 1.2
"""So many calls a full answer's records are taken to need that a sweep has not come to yet."""


class Contest:
    """The guessers of one listing."""

    def __init__(self, known: Known) -> None:
        self._known = known
        guessers: list[Guesser] = [
            Stretches(known.cap),
            Ahead(),
            *(Pace(records, share) for records in (150, 500) for share in (0.85, 0.7)),
            *(Habit(period, 0.85) for period in (_DAY, 7 * _DAY)),
        ]
        self._sweeps = [_Sweep(guesser) for guesser in guessers]

    def end(self, place: Place) -> int:
        """Return the last minute of the window that begins at a place."""
        if not self._known.minutes:
            return FOREVER
        for sweep in self._sweeps:
            sweep.advance(self._known, place.start)
        first = self._sweeps[0]
        best = min(
            self._sweeps,
            key=lambda sweep: sweep.cost(self._known, place.start) + _LEAD * (sweep is not first),
        )
        return max(place.start, best.guesser.end(self._known, place))


class _Sweep:
    """What one guesser would have asked for, and how many calls that would have been."""

    def __init__(self, guesser: Guesser) -> None:
        self.guesser = guesser
        self._place: Place | None = None
        self._end: int | None = None
        self._calls = 0.0

    def cost(self, known: Known, until: int) -> float:
        """Return the calls up to a minute."""
        start = self._place.start if self._place else until
        left = known.before(until) - known.before(start)
        return self._calls + _CALLS_LEFT * left / known.cap

    def advance(self, known: Known, until: int) -> None:
        """Go on while it is known what the answers would have been: up to a minute."""
        place = self._place or Place(known.minutes[0])
        while True:
            if self._end is None:
                self._end = max(place.start, self.guesser.end(known, place))
            following = self._answered(known, place, self._end, until)
            if following is None:
                break
            place, self._end = following, None
        self._place = place

    def _answered(self, known: Known, place: Place, end: int, until: int) -> Place | None:
        """Count the calls that a window takes, and return what follows; None: not known yet."""
        first = known.before(place.start)
        index = first + known.cap - 1
        if index < len(known.minutes) and known.minutes[index] <= min(end, until - 1):
            full_at = known.minutes[index]
            self._count()
            if full_at == place.start:
                return Place(full_at + 1, last=(place.start, known.cap))
            if not known.earliest_first:
                return self._answered(known, place, (place.start + min(end, until)) // 2, until)
            self._count()
            whole = known.before(full_at)
            return Place(full_at, first + known.cap - whole, (place.start, whole - first))
        if end >= until:
            return None
        self._count()
        return Place(end + 1, last=(place.start, known.before(end + 1) - first))

    def _count(self) -> None:
        self._calls = self._calls * _FADING + 1
