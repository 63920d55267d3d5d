"""Window sizing: estimates where the next window of a capped listing should end.

Times are minutes since a fixed moment; a window includes its last minute. Several estimators
are
replayed over everything known so far, and the one that would have needed the fewest calls is
used. The first one compares window lengths on samples of the past, by value iteration of an
average-cost Markov decision process.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

FOREVER = 2**40
"""An end that is later than any."""

BURST = 0.2
"""As many records within one minute, as a share of a full answer, are best asked for alone."""

_UNRELIABLE_PACE_SHARE = 0.5
"""After a window with a smaller share of a full answer a pace is not trusted any more."""


@dataclass(slots=True)
class UpdateTimes:
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
class WindowStart:
    """Where a window is to begin. ``shown`` records of its first minute are known already.

    ``last`` is the start of the window before, and how many records it had.
    """

    start: int
    shown: int = 0
    last: tuple[int, int] | None = None


class Estimator(Protocol):
    """Something that guesses. It looks at nothing in ``known`` from the place's start on."""

    def end(self, known: UpdateTimes, place: WindowStart) -> int:
        """Return the last minute of the window that begins at a place."""
        ...


@dataclass(frozen=True, slots=True)
class OpenEndEstimator:
    """Asks for all the rest; the answer then shows where to cut.

    Nothing is better against bursts of more than half a full answer that come when they will.
    """

    def end(self, known: UpdateTimes, place: WindowStart) -> int:
        """Return the last minute of the window that begins at a place."""
        return place.start if place.shown >= BURST * known.cap else FOREVER


@dataclass(frozen=True, slots=True)
class PaceEstimator:
    """Goes on as the latest ``records`` came, to fill a ``share`` of a full answer."""

    records: int
    share: float

    def end(self, known: UpdateTimes, place: WindowStart) -> int:
        """Return the last minute of the window that begins at a place."""
        if place.shown >= BURST * known.cap:
            return place.start
        if (
            not place.shown
            and place.last is not None
            and place.last[1] < _UNRELIABLE_PACE_SHARE * known.cap
        ):
            return FOREVER
        count = known.before(place.start)
        first = max(0, count - self.records)
        if first == count:
            return FOREVER
        per_record = max(1, place.start - known.minutes[first]) / (count - first)
        length = (self.share * known.cap - place.shown) * per_record
        return place.start + max(0, int(length) - (place.shown == 0))


@dataclass(frozen=True, slots=True)
class PeriodEstimator:
    """Expects what came a ``period`` of minutes ago, to fill a ``share`` of a full answer."""

    period: int
    share: float

    def end(self, known: UpdateTimes, place: WindowStart) -> int:
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


_SAMPLE_COUNT = 60
"""So many places in the past are looked at."""

_BURST_SHARES = (0.002, 0.05, 0.2, 0.4, 0.6, 0.8, 0.998)
"""Sizes of bursts, as shares of a full answer, whose price is found; those between follow."""

_FIRST_ROUNDS, _ROUNDS = 10, 2
"""So often prices are improved, the first time and before each later guess."""

_EXPECTED_SHARE, _EXPECTED_CALLS = 0.8, 1.3
"""How full windows are, and how many calls a full answer's records take, to begin with."""

_MAX_BURST_SIZES = 8
"""So many sizes that a burst may have are told apart."""

_END_OF_DATA_SHARE = 0.3
"""A window with a smaller share of a full answer may be the end of what is known."""


class SampleEstimator:
    """Guesses the length that would have cost least on stretches of the past."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._sizes = [max(1, int(share * cap)) for share in _BURST_SHARES]
        self._prices = [0.0] * len(_BURST_SHARES)
        self._per_minute: float | None = None

    def end(self, known: UpdateTimes, place: WindowStart) -> int:
        """Return the last minute of the window that begins at a place."""
        if known.before(place.start) == 0 or known.minutes[0] >= place.start:
            return FOREVER
        past = _Samples(known, place.start)
        if self._is_new(past, place):
            return FOREVER
        self._improve(past)
        if place.shown:
            cost, minutes = self._cheapest(past, past.sizes_from(place.shown))
            return place.start if cost >= 1 else min(FOREVER, place.start + minutes)
        return min(FOREVER, place.start + max(1, self._cheapest(past, [0])[1]) - 1)

    def _is_new(self, past: "_Samples", place: WindowStart) -> bool:
        """Say whether so little came lately as hardly ever before."""
        if place.shown or place.last is None or place.last[1] >= _END_OF_DATA_SHARE * self._cap:
            return False
        return past.share_with_at_most(place.last[1], place.last[0]) < 2 / _SAMPLE_COUNT

    def _improve(self, past: "_Samples") -> None:
        rounds = _ROUNDS
        if self._per_minute is None:
            self._per_minute = _EXPECTED_CALLS * past.count / self._cap / past.length
            rounds = _FIRST_ROUNDS
        minutes = _EXPECTED_SHARE * self._cap * past.length / past.count
        for _ in range(rounds):
            too_cheap = self._cheapest(past, [0])[0] / minutes / 2
            price = self._per_minute
            self._per_minute = min(1.4 * price, max(0.7 * price, price + too_cheap))
            self._prices = [
                min(1.0, self._cheapest(past, [size])[0]) - self._per_minute for size in self._sizes
            ]

    def _cheapest(self, past: "_Samples", shown: Iterable[int]) -> tuple[float, int]:
        """Return the least cost, and the minutes of the window that has it.

        ``shown`` are the sizes, each as likely, of a burst that stands before those minutes.
        """
        price = self._per_minute or 0.0
        full = sorted(at for size in shown for at in past.full_after(max(1, self._cap - size)))
        best, cost_of_full = (1.0, 0), 0.0
        for number, (minutes, size) in enumerate(full):
            fits = (len(full) - number) * (1 - price * minutes)
            best = min(best, ((cost_of_full + fits) / len(full), minutes))
            cost_of_full += self._cost_of_full(past.known, minutes, size)
        return min(best, (cost_of_full / len(full), FOREVER))

    def _cost_of_full(self, known: UpdateTimes, minutes: int, size: int) -> float:
        price = self._per_minute or 0.0
        if known.earliest_first:
            return 2 - price * minutes + self._price_of(size)
        return 2 - price * minutes / 2

    def _price_of(self, size: int) -> float:
        """Return what it costs, beyond nothing, to begin with a burst of a size."""
        above = bisect_left(self._sizes, size)
        if above in (0, len(self._sizes)):
            return self._prices[min(above, len(self._sizes) - 1)]
        low, high = self._sizes[above - 1 : above + 1]
        part = (size - low) / (high - low)
        return self._prices[above - 1] * (1 - part) + self._prices[above] * part


class _Samples:
    """What is known before a minute, read in a circle: after its end comes its beginning."""

    def __init__(self, known: UpdateTimes, until: int) -> None:
        self.known = known
        self.until = until
        self.count = known.before(until)
        self.begins = known.minutes[0]
        self.length = until - self.begins
        starts = (
            self.begins + (2 * n + 1) * self.length // (2 * _SAMPLE_COUNT)
            for n in range(_SAMPLE_COUNT)
        )
        self.starts = [(start, known.before(start)) for start in starts]

    def full_after(self, room: int) -> list[tuple[int, int]]:
        """Return for each stretch after how many minutes ``room`` is used up, and by what size."""
        known, count, length = self.known, self.count, self.length
        found = []
        for start, first in self.starts:
            circles, index = divmod(first + room - 1, count)
            found.append((known.minutes[index] + circles * length - start, known.size(index)))
        return found

    def share_with_at_most(self, records: int, since: int) -> float:
        """Return the share of stretches, as long as that since a minute, with so few records."""
        if since <= self.begins:
            return 1.0
        earlier = _Samples(self.known, since)
        few = 0
        for start, first in earlier.starts:
            circles, rest = divmod(start + self.until - since - self.begins, earlier.length)
            until = circles * earlier.count + self.known.before(self.begins + rest)
            few += until - first <= records
        return few / _SAMPLE_COUNT

    def sizes_from(self, least: int) -> list[int]:
        """Return sizes of bursts that had at least so many records, each as likely."""
        if least == 1:
            return [1]
        sizes, index = [], 0
        while index < self.count:
            size = self.known.size(index)
            if size >= least:
                sizes.append(size)
            index += size
        sizes.sort()
        if len(sizes) <= _MAX_BURST_SIZES:
            return sizes or [least]
        step = len(sizes) / _MAX_BURST_SIZES
        return [sizes[int((n + 0.5) * step)] for n in range(_MAX_BURST_SIZES)]


_DAY = 24 * 60

_CALL_DECAY = 0.97
"""What calls count less with each later one, so that what came lately counts most."""

_SWITCHING_MARGIN = 1.0
"""So many calls another guesser must have saved before it is listened to, not the first."""

_CALLS_PER_FULL_ANSWER = 1.2
"""So many calls a full answer's records are taken to need that a sweep has not come to yet."""


class EstimatorSelection:
    """The guessers of one listing."""

    def __init__(self, known: UpdateTimes) -> None:
        self._known = known
        guessers: list[Estimator] = [
            SampleEstimator(known.cap),
            OpenEndEstimator(),
            *(PaceEstimator(records, share) for records in (150, 500) for share in (0.85, 0.7)),
            *(PeriodEstimator(period, 0.85) for period in (_DAY, 7 * _DAY)),
        ]
        self._sweeps = [_Replay(guesser) for guesser in guessers]

    def end(self, place: WindowStart) -> int:
        """Return the last minute of the window that begins at a place."""
        if not self._known.minutes:
            return FOREVER
        for sweep in self._sweeps:
            sweep.advance(self._known, place.start)
        first = self._sweeps[0]
        best = min(
            self._sweeps,
            key=lambda sweep: (
                sweep.cost(self._known, place.start) + _SWITCHING_MARGIN * (sweep is not first)
            ),
        )
        return max(place.start, best.guesser.end(self._known, place))


class _Replay:
    """What one guesser would have asked for, and how many calls that would have been."""

    def __init__(self, guesser: Estimator) -> None:
        self.guesser = guesser
        self._place: WindowStart | None = None
        self._end: int | None = None
        self._calls = 0.0

    def cost(self, known: UpdateTimes, until: int) -> float:
        """Return the calls up to a minute."""
        start = self._place.start if self._place else until
        left = known.before(until) - known.before(start)
        return self._calls + _CALLS_PER_FULL_ANSWER * left / known.cap

    def advance(self, known: UpdateTimes, until: int) -> None:
        """Go on while it is known what the answers would have been: up to a minute."""
        place = self._place or WindowStart(known.minutes[0])
        while True:
            if self._end is None:
                self._end = max(place.start, self.guesser.end(known, place))
            following = self._answered(known, place, self._end, until)
            if following is None:
                break
            place, self._end = following, None
        self._place = place

    def _answered(
        self, known: UpdateTimes, place: WindowStart, end: int, until: int
    ) -> WindowStart | None:
        """Count the calls that a window takes, and return what follows; None: not known yet."""
        first = known.before(place.start)
        index = first + known.cap - 1
        if index < len(known.minutes) and known.minutes[index] <= min(end, until - 1):
            full_at = known.minutes[index]
            self._count()
            if full_at == place.start:
                return WindowStart(full_at + 1, last=(place.start, known.cap))
            if not known.earliest_first:
                return self._answered(known, place, (place.start + min(end, until)) // 2, until)
            self._count()
            whole = known.before(full_at)
            return WindowStart(full_at, first + known.cap - whole, (place.start, whole - first))
        if end >= until:
            return None
        self._count()
        return WindowStart(end + 1, last=(place.start, known.before(end + 1) - first))

    def _count(self) -> None:
        self._calls = self._calls * _CALL_DECAY + 1
