"""Windows of last-update times: a capped listing is split until no answer is full.

The interface truncates an answer without saying so: a full answer proves nothing, and its
window
is asked for again in smaller parts. Only the *number* of records decides whether a window is
complete; *when* they were updated is used to size windows, so that few calls are wasted. A
wrong
estimate costs a call and never a record.

Source: the spec, Limits.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from xlbridge.client.window_sizing import (
    BURST,
    FOREVER,
    EstimatorSelection,
    UpdateTimes,
    WindowStart,
)

MINUTE = timedelta(minutes=1)
"""The finest step of a window: the interface takes ``dd/MM/yyyy HH:mm``."""

_EPOCH = datetime(2000, 1, 1)
"""Where a window without a start is taken to begin when it is cut; minutes are counted from it."""

_MAX_UPDATE_TIMES = 8_000
"""So many update times are kept to guess from."""


@dataclass(frozen=True, slots=True)
class Window:
    """A span of last-update times to the minute, both ends included; None is unbounded."""

    start: datetime | None
    end: datetime | None

    def holds(self, moment: datetime) -> bool:
        """Whether a record that was updated at a moment belongs to it."""
        begun = self.start is None or moment >= self.start
        return begun and (self.end is None or moment < self.end + MINUTE)


UNBOUNDED_WINDOW = Window(None, None)
"""The window of what has none."""

UPDATE_FIELD = "ultimaAtualizacao"
"""The field of a record that tells when it was last updated."""


def update_time(record: Mapping[str, Any]) -> datetime | None:
    """Return when a record was last updated, None where it does not tell that in ISO 8601.

    The interface calls the field a string, and says nothing more of it.
    """
    moment = record.get(UPDATE_FIELD)
    try:
        return datetime.fromisoformat(moment).replace(tzinfo=None) if moment else None
    except (TypeError, ValueError):
        return None


class WindowSplitter:
    """Says which window to ask for next, from the earliest on, and learns from the answers.

    ``cap`` is the most records of an answer. ``now`` bounds a window without an end when it is
    cut; records may be later than it, as the last window stays open.
    """

    def __init__(self, whole: Window, cap: int, now: datetime) -> None:
        self._cap = cap
        self._end = whole.end
        self._latest = whole.end or max(now, whole.start or now)
        self._known = UpdateTimes(cap)
        self._contest = EstimatorSelection(self._known)
        self._refused: Window | None = None
        self._halved: list[int] = []
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
        minutes = sorted(_minute(moment) for moment in updated if window.holds(moment))
        if records >= self._cap:
            cut = self._cut(window, minutes)
            if cut is not None:
                self.next = Window(window.start, _moment(cut))
                return False
        self._learn(window, minutes or _evenly_spread(window, records))
        self.next = self._after(window, records)
        return True

    def _cut(self, window: Window, minutes: list[int]) -> int | None:
        """Return where the first part of a full window ends, or None where it cannot be cut.

        A full answer is taken to hold the earliest records: then all before its last minute are
        there. The first window that refutes this ends it, and windows are halved from then on.
        """
        low = _minute(window.start or min([_EPOCH, self._latest, *map(_moment, minutes[:1])]))
        high = _minute(window.end or max([self._latest, *map(_moment, minutes[-1:])]))
        if low >= high:
            return None
        if self._refused is not None and self._refused.start == window.start:
            self._known.earliest_first = False
        self._learn(window, minutes)
        if self._known.earliest_first and minutes:
            self._refused = window
            return max(low, minutes[-1] - 1)
        self._halved.append(high)
        middle = (low + high) // 2
        return min(middle, max(low, self._where_many_begin(minutes) - 1)) if minutes else middle

    def _where_many_begin(self, minutes: list[int]) -> int:
        """Return the first minute that many records share, or the one in the middle of all."""
        many = int(BURST * self._cap)
        bursts = (m for m, later in zip(minutes, minutes[many:], strict=False) if m == later)
        return next(bursts, minutes[len(minutes) // 2])

    def _learn(self, window: Window, minutes: list[int]) -> None:
        """Remember when a window's records were updated, beside what is known of later ones."""
        known = self._known.minutes
        first = 0 if window.start is None else bisect_left(known, _minute(window.start))
        end = len(known) if window.end is None else bisect_right(known, _minute(window.end))
        known[first:end] = minutes
        if len(known) > 2 * _MAX_UPDATE_TIMES:
            del known[:_MAX_UPDATE_TIMES]

    def _after(self, settled: Window, records: int) -> Window | None:
        if settled.end == self._end or settled.end is None:
            return None
        start = _minute(settled.end) + 1
        last = None if settled.start is None else (_minute(settled.start), records)
        end = self._contest.end(WindowStart(start, self._known.shown_at(start), last))
        while self._halved and self._halved[-1] < start:
            self._halved.pop()
        if end >= FOREVER and self._halved:
            end = self._halved[-1]
        later = end >= _minute(self._latest)
        return Window(_moment(start), self._end if later else _moment(end))


def _minute(moment: datetime) -> int:
    return (moment - _EPOCH) // MINUTE


def _moment(minute: int) -> datetime:
    return _EPOCH + minute * MINUTE


def _evenly_spread(window: Window, records: int) -> list[int]:
    """Return minutes for records that carry none: evenly over the window."""
    if window.start is None or window.end is None or not records:
        return []
    start, end = _minute(window.start), _minute(window.end)
    return [start + n * (end - start) // records for n in range(records)]
