"""Cutting a capped listing into windows of last-update times until none is full.

The interface cuts an answer without saying so: an answer that is as full as one can be proves
nothing, and its window is asked for again in smaller parts. Only how *many* records came decides
whether a window is whole; *when* they were updated is used to guess good cuts, so that few calls
are wasted. A wrong guess costs a call and never a record.

Source: the spec, Limits.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

MINUTE = timedelta(minutes=1)
"""The finest step of a window: the interface takes ``dd/MM/yyyy HH:mm``."""

_BEGINNING = datetime(2000, 1, 1)
"""Where a window without a start is taken to begin when it is cut in the middle."""

_REMEMBERED = 8_000
"""So many update times are kept to guess from."""

_LENGTHS = tuple(int(1.1**step) for step in range(7, 146))
"""The lengths in minutes that a window may be guessed to have: one minute to two years."""

_LOOKED_BACK = 40
"""So many windows of a length are looked back over."""

_BURST = 0.2
"""As many records within one minute, as a share of a full answer, are best asked for alone."""

_SPARSE = 0.3
"""A window with a smaller share of a full answer is called sparse."""

_FULL_ENOUGH = 0.8
"""How full a window may be expected to be where nothing of its length is known."""


@dataclass(frozen=True, slots=True)
class Window:
    """A span of last-update times to the minute, both ends included; None is unbounded."""

    start: datetime | None
    end: datetime | None

    @property
    def is_one_minute(self) -> bool:
        """Whether it cannot be cut."""
        return self.start is not None and self.start == self.end


class Splitter:
    """Says which window to ask for next, from the earliest on, and learns from the answers.

    ``cap`` is the most records of an answer. ``now`` bounds a window without an end when it is
    cut; records may be later than it, as the last window stays open.
    """

    def __init__(self, whole: Window, cap: int, now: datetime) -> None:
        self._cap = cap
        self._end = whole.end
        self._latest = whole.end or max(now, whole.start or now)
        self._known: list[datetime] = []
        self._earliest_first = True
        self._refused: Window | None = None
        self._is_sparse = False
        self._asked_for_rest = False
        self.next: Window | None = whole
        """The window to ask for now; None when all is done."""

    def answered(self, updated: Sequence[datetime], records: int) -> bool:
        """Take in the answer to ``next``; say whether that window is settled.

        ``updated`` are the update times that the records carry, perhaps none. A window that is
        full is not settled, and followed by its first part; one that cannot be cut is settled.
        """
        window = self.next
        if window is None:
            raise AssertionError("no window was asked for")
        minutes = sorted(moment.replace(second=0, microsecond=0) for moment in updated)
        if records >= self._cap:
            cut = self._cut(window, minutes)
            if cut is not None:
                self.next = Window(window.start, cut)
                return False
        self._learn(window, minutes or _spread(window, records))
        self._is_sparse = records < _SPARSE * self._cap
        self._asked_for_rest = self._asked_for_rest and self._is_sparse
        self.next = self._after(window)
        return True

    def _after(self, settled: Window) -> Window | None:
        if settled.end == self._end or settled.end is None:
            return None
        start = settled.end + MINUTE
        return Window(start, self._guess(start))

    def _learn(self, window: Window, minutes: list[datetime]) -> None:
        """Remember when the records of a window, which begins where the known ends, were updated.

        What follows them is what a full answer has shown in advance.
        """
        begins = window.start or (minutes[0] if minutes else None)
        if begins is None:
            return
        ahead = self._known[bisect_left(self._known, minutes[-1] + MINUTE) :] if minutes else []
        del self._known[bisect_left(self._known, begins) :]
        self._known += minutes + ahead
        if len(self._known) > 2 * _REMEMBERED:
            del self._known[:_REMEMBERED]

    def _cut(self, window: Window, minutes: list[datetime]) -> datetime | None:
        """Return where the first part of a full window ends, or None where it cannot be cut.

        A full answer is taken to hold the earliest records: then all before its last minute are
        there. The first window that refutes this ends it, and windows are halved from then on.
        """
        low = window.start or min([_BEGINNING, self._latest, *minutes[:1]])
        high = window.end or max([self._latest, *minutes[-1:]])
        if low >= high:
            return None
        if self._refused is not None and self._refused.start == window.start:
            self._earliest_first = False
            self._known.clear()
        if self._earliest_first and minutes and low < minutes[-1] <= high:
            self._learn(window, minutes)
            self._refused = window
            return minutes[-1] - MINUTE
        return (low + (high - low) / 2).replace(second=0, microsecond=0)

    def _guess(self, start: datetime) -> datetime | None:
        """Return the end of the next window, which begins at ``start``.

        Where a full answer has shown records in advance, they take up room; where hardly any came
        lately, the whole rest is asked for: if it is too much, the answer shows where it begins.
        """
        ahead = self._known[bisect_left(self._known, start) :]
        if not ahead and self._is_sparse and not self._asked_for_rest:
            self._asked_for_rest = True
            return self._end
        length = self._best_length(start) * MINUTE
        if ahead:
            burst = len(ahead) - bisect_left(ahead, ahead[-1]) >= _BURST * self._cap
            room = 0.0 if burst else max(0.0, 1 - len(ahead) / (_FULL_ENOUGH * self._cap))
            end = ahead[-1] + length * room // MINUTE * MINUTE
        else:
            end = start + length - MINUTE
        return self._end if end >= self._latest else end

    def _best_length(self, start: datetime) -> int:
        """Return the length that would have needed the fewest calls up to here, in minutes."""
        known = self._known[: bisect_left(self._known, start)]
        if not known:
            return max(1, (self._latest - start) // MINUTE)
        begins = known[0]
        minutes = (start - begins) / MINUTE

        def cost(length: int) -> float:
            if 2 * length <= minutes:
                return _calls(known, begins, start, length, self._cap)
            expected = len(known) * length / minutes
            return 1 / length if expected < _FULL_ENOUGH * self._cap else 2.0

        return min(_LENGTHS, key=cost)


def _spread(window: Window, records: int) -> list[datetime]:
    """Return update times for records that carry none: evenly over the window."""
    if window.start is None or window.end is None or not records:
        return []
    step = (window.end - window.start) / records
    return [window.start + n * step for n in range(records)]


def _calls(
    known: list[datetime], begins: datetime, until: datetime, length: int, cap: int
) -> float:
    """Return how many calls per minute windows of a length need on what is known."""
    step = length * MINUTE
    at = first = max(begins, until - _LOOKED_BACK * step)
    calls = 0
    while at + step <= until:
        index = bisect_left(known, at)
        calls += 1
        at += step
        if bisect_left(known, at) - index >= cap:
            calls += 1
            at = max(known[index + cap - 1], at - step + MINUTE)
            if bisect_left(known, at + MINUTE) - bisect_left(known, at) >= _BURST * cap:
                calls += 1
                at += MINUTE
    return calls / ((at - first) / MINUTE)
