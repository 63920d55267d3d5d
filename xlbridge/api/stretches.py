"""A guess by what windows would have cost that began anywhere in the past.

Stretches of the past stand for what may come. For each of them it is known after how many minutes
an answer would have been full, so what each length of a window would have cost on average: one
call where it ends before, two where it does not and has to be cut. Against that stands the time
that is done with, at the price that a minute has when windows are guessed as well as possible;
that price, and what it is worth to know the size of a burst that comes next, are found together,
by value iteration of an average-cost Markov decision process.
"""

from bisect import bisect_left
from collections.abc import Iterable

from xlbridge.api.guessing import FOREVER, Known, Place

_STRETCHES = 60
"""So many places in the past are looked at."""

_SIZES = (0.002, 0.05, 0.2, 0.4, 0.6, 0.8, 0.998)
"""Sizes of bursts, as shares of a full answer, whose price is found; those between follow."""

_FIRST_ROUNDS, _ROUNDS = 10, 2
"""So often prices are improved, the first time and before each later guess."""

_EXPECTED_SHARE, _EXPECTED_CALLS = 0.8, 1.3
"""How full windows are, and how many calls a full answer's records take, to begin with."""

_SIZES_LOOKED_AT = 8
"""So many sizes that a burst may have are told apart."""

_SPARSE = 0.3
"""A window with a smaller share of a full answer may be the end of what is known."""


class Stretches:
    """Guesses the length that would have cost least on stretches of the past."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._sizes = [max(1, int(share * cap)) for share in _SIZES]
        self._prices = [0.0] * len(_SIZES)
        self._per_minute: float | None = None

    def end(self, known: Known, place: Place) -> int:
        """Return the last minute of the window that begins at a place."""
        if known.before(place.start) == 0 or known.minutes[0] >= place.start:
            return FOREVER
        past = _Past(known, place.start)
        if self._is_new(past, place):
            return FOREVER
        self._improve(past)
        if place.shown:
            cost, minutes = self._cheapest(past, past.sizes_from(place.shown))
            return place.start if cost >= 1 else min(FOREVER, place.start + minutes)
        return min(FOREVER, place.start + max(1, self._cheapest(past, [0])[1]) - 1)

    def _is_new(self, past: "_Past", place: Place) -> bool:
        """Say whether so little came lately as hardly ever before."""
        if place.shown or place.last is None or place.last[1] >= _SPARSE * self._cap:
            return False
        return past.share_with_at_most(place.last[1], place.last[0]) < 2 / _STRETCHES

    def _improve(self, past: "_Past") -> None:
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

    def _cheapest(self, past: "_Past", shown: Iterable[int]) -> tuple[float, int]:
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

    def _cost_of_full(self, known: Known, minutes: int, size: int) -> float:
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


class _Past:
    """What is known before a minute, read in a circle: after its end comes its beginning."""

    def __init__(self, known: Known, until: int) -> None:
        self.known = known
        self.until = until
        self.count = known.before(until)
        self.begins = known.minutes[0]
        self.length = until - self.begins
        starts = (
            self.begins + (2 * n + 1) * self.length // (2 * _STRETCHES) for n in range(_STRETCHES)
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
        earlier = _Past(self.known, since)
        few = 0
        for start, first in earlier.starts:
            circles, rest = divmod(start + self.until - since - self.begins, earlier.length)
            until = circles * earlier.count + self.known.before(self.begins + rest)
            few += until - first <= records
        return few / _STRETCHES

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
        if len(sizes) <= _SIZES_LOOKED_AT:
            return sizes or [least]
        step = len(sizes) / _SIZES_LOOKED_AT
        return [sizes[int((n + 0.5) * step)] for n in range(_SIZES_LOOKED_AT)]
