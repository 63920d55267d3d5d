"""Windows of last-update times: a capped listing is split until no answer is full.

The interface truncates an answer without saying so: a full answer proves nothing, and its window
is asked for again in smaller parts. Only the *number* of records decides whether a window is
complete; *when* they were updated only says where the next window should end. A wrong end costs a
call and never a record.

Source: the spec, Limits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, get_origin

from xlbridge.resources.references import REFERENCES
from xlbridge.wire import OPERATIONS, Operation, record_model

MINUTE = timedelta(minutes=1)
"""The finest step of a window: the interface takes ``dd/MM/yyyy HH:mm``."""

_EPOCH = datetime(2000, 1, 1)
"""Start of a window without one when it is cut; minutes are counted from it."""

_TARGET_SHARE = 0.85
"""Share of the cap that a paced window should hold."""

_LEAST_SHARE = 0.5
"""A window with a smaller share of the cap tells nothing about the density of later ones."""

_BURST_SHARE = 0.3
"""A minute with a larger share of the cap is asked for alone."""

_DECAY = 0.5
"""The weight of earlier windows in the density, against each later one."""


@dataclass(frozen=True, slots=True)
class Window:
    """A span of last-update times to the minute, both ends included; None is unbounded."""

    start: datetime | None
    end: datetime | None

    def holds(self, moment: datetime) -> bool:
        """Say whether a record that was updated at a moment belongs to it."""
        begun = self.start is None or moment >= self.start
        return begun and (self.end is None or moment < self.end + MINUTE)


UNBOUNDED_WINDOW = Window(None, None)
"""The window of what has none."""

UPDATE_FIELD = "ultimaAtualizacao"
"""The field of a record that tells when it was last updated."""


def update_time(record: Mapping[str, Any], name: str = UPDATE_FIELD) -> datetime | None:
    """Return when a record was last updated, None where it does not tell that in ISO 8601.

    The interface calls the field a string, and says nothing more of it. ``name`` is that of
    another field with a moment.
    """
    moment = record.get(name)
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
        self._earliest_first = True
        self._is_first_part = False
        self._shown: Sequence[int] = ()
        self._halved: list[int] = []
        self._records = self._minutes = 0.0
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
        self.next = self._after(window, minutes, records)
        self._is_first_part = False
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
        if self._is_first_part:
            self._earliest_first = False
        self._shown, self._is_first_part = minutes, True
        if self._earliest_first and minutes:
            return max(low, minutes[-1] - 1)
        self._halved.append(high)
        middle = (low + high) // 2
        return min(middle, max(low, minutes[len(minutes) // 2] - 1)) if minutes else middle

    def _after(self, settled: Window, minutes: Sequence[int], records: int) -> Window | None:
        if settled.end == self._end or settled.end is None:
            return None
        start = _minute(settled.end) + 1
        end = self._paced_end(start, settled, minutes, records)
        while self._halved and self._halved[-1] < start:
            self._halved.pop()
        if end is None and self._halved:
            end = self._halved[-1]
        is_last = end is None or end >= _minute(self._latest)
        return Window(_moment(start), self._end if is_last or end is None else _moment(end))

    def _paced_end(
        self, start: int, settled: Window, minutes: Sequence[int], records: int
    ) -> int | None:
        """Return where a window should end to be nearly full, None to ask for all the rest.

        Records are taken to go on as densely as in the latest windows. The rest is asked for where
        too few came to tell: its full answer then shows where to cut.
        """
        begin = minutes[:1] if settled.start is None else [_minute(settled.start)]
        if begin:
            self._records = _DECAY * self._records + records
            self._minutes = _DECAY * self._minutes + start - begin[0]
        shown = sum(minute == start for minute in self._shown)
        if shown >= _BURST_SHARE * self._cap:
            return start
        if not begin or (records < _LEAST_SHARE * self._cap and not shown):
            return None
        wanted = _TARGET_SHARE * self._cap - shown
        return start + max(0, int(wanted * self._minutes / self._records) - 1)


def _minute(moment: datetime) -> int:
    return (moment - _EPOCH) // MINUTE


def _moment(minute: int) -> datetime:
    return _EPOCH + minute * MINUTE


def listing_cap(operation: Operation) -> int | None:
    """Return the most records that one answer of a listing can hold, None where it holds all."""
    return next((r.cap for r in REFERENCES.values() if r.operation is operation), None)


def complete_listings_for(operation: Operation) -> tuple[Operation, ...]:
    """Return an operation that lists all its records; of one that finds some, those that do."""
    if _lists_all_records(operation) and not operation.path_parameters:
        return (operation,)
    model = record_model(operation.data)
    return tuple(
        other
        for other in OPERATIONS.values()
        if other.method == "GET"
        and not other.path_parameters
        and _lists_all_records(other)
        and record_model(other.data) is model
    )


def _lists_all_records(operation: Operation) -> bool:
    """Say whether an operation lists all records when it is called without filters."""
    parts = getattr(operation.data, "__args__", (operation.data,))
    return any(get_origin(part) is list for part in (operation.data, *parts))
