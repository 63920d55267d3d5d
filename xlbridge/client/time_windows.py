"""Windows of last-update times: a capped listing is split until no answer is full.

The interface truncates answers silently: a full answer proves nothing, and its window is requested
again in smaller parts. Only the *number* of records decides whether a window is complete; their
update times only suggest where the next window should end. A bad suggestion costs a call, never a
record. Records that no listing contains are read by their numbers.

Before the first part, one call shows how the system reads the end of a window, which the interface
promises to include with its whole minute.

Source: the spec, Limits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import count
from typing import Any, TypeVar, get_origin

from xlbridge.resources.references import REFERENCES
from xlbridge.wire import OPERATIONS, Operation, record_model

__all__ = [
    "CLOCK_TOLERANCE",
    "UNBOUNDED_WINDOW",
    "UPDATE_FIELD",
    "Window",
    "WindowEnds",
    "WindowSplitter",
    "complete_listings_for",
    "listing_cap",
    "numbered_records",
    "update_time",
]

MINUTE = timedelta(minutes=1)
"""Resolution of windows: the interface accepts ``dd/MM/yyyy HH:mm``."""

CLOCK_TOLERANCE = timedelta(days=1)
"""Maximum difference between the remote clock, time zone included, and the local one."""

_DISTANT = timedelta(days=1_000)
"""Distance from the latest records at which no window has any."""

_EPOCH = datetime(2000, 1, 1)
"""Origin of minute numbers, and start of an unbounded window when it is split."""

_TARGET_SHARE = 0.85
"""Share of the cap that a paced window should contain."""

_LEAST_SHARE = 0.5
"""Share of the cap below which a window is no basis for the density of later ones."""

_BURST_SHARE = 0.3
"""Share of the cap above which a minute is requested alone."""

_DECAY = 0.5
"""Weight of earlier windows in the density, relative to each later one."""

_PAGE_STEP = 50
"""Sizes at which a system may cut its answers although the interface documents a higher cap."""

_MISSES_IN_A_ROW = 5
"""Missing numbers after which there are no more records; deleted ones leave gaps."""

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Window:
    """A range of last-update times to the minute, both ends included; None is unbounded."""

    start: datetime | None
    end: datetime | None

    def contains(self, time: datetime) -> bool:
        """Return whether a record that was updated at ``time`` belongs to the window."""
        return (self.start is None or time >= self.start) and (
            self.end is None or time < self.end + MINUTE
        )

    def empty_one(self, updated: Iterable[datetime], now: datetime) -> "Window":
        """Return a window in which no system has records.

        It is before all others if records of this window were updated long after it, so that a
        system that only ignores the ends of windows does answer with records.
        """
        last = None if self.end is None else self.end + MINUTE + CLOCK_TOLERANCE
        is_late = last is not None and any(time > last for time in updated)
        minute = _EPOCH if is_late else (now + _DISTANT).replace(second=0, microsecond=0)
        return Window(minute, minute)

    def is_far_from(self, time: datetime) -> bool:
        """Return whether a time is outside of the window by any clock."""
        return (self.start is not None and time < self.start - CLOCK_TOLERANCE) or (
            self.end is not None and time > self.end + MINUTE + CLOCK_TOLERANCE
        )


class WindowEnds(StrEnum):
    """Reading of the end of a window by a system.

    ``INCLUSIVE``: with its whole minute, as the interface promises; ``EXCLUSIVE``: without it, or
    with its first moment only; ``IGNORED``: it does not heed windows, or one of their bounds;
    ``OTHER``: it returns records that were updated outside of windows, and heeds them somehow.
    """

    INCLUSIVE = "inclusive"
    EXCLUSIVE = "exclusive"
    IGNORED = "ignored"
    OTHER = "other"


UNBOUNDED_WINDOW = Window(None, None)

UPDATE_FIELD = "ultimaAtualizacao"
"""The field with the time of a record's last update."""


def update_time(record: Mapping[str, Any], name: str = UPDATE_FIELD) -> datetime | None:
    """Return when a record was last updated, None if the field is missing or not ISO 8601.

    The interface documents the field only as a string. ``name`` is another field with a time.
    """
    time = record.get(name)
    try:
        return datetime.fromisoformat(time).replace(tzinfo=None) if time else None
    except (TypeError, ValueError):
        return None


class WindowSplitter:
    """Chooses the next window to request, from the earliest on, based on the answers so far.

    ``cap`` is the maximum number of records of an answer, a lower one once the answers show it.
    ``now`` is the end of an unbounded window when it is split; later records are still found, as
    the last window remains unbounded. While ``is_testing`` is true, an answer only shows the cap,
    if its number of records might be one, or ``ends`` before the first part, None if unknown. A
    system that ignores windows is asked for the whole once more.
    """

    def __init__(self, whole: Window, cap: int, now: datetime) -> None:
        self.cap = cap
        self._whole = whole
        self._end = whole.end
        self._latest = whole.end or max(now, whole.start or now)
        self._earliest_first = True
        self._is_first_part = False
        self._seen_minutes: Sequence[int] = ()
        self._halved_ends: list[int] = []
        self._records = self._minutes = 0.0
        self._tested_time: datetime | None = None
        self._after_test: Window | None = None
        self._is_tested = False
        self._least_cap = 1
        self._halves: list[Window] = []
        self._suspected_cap = self._unseen = 0
        self.is_testing = False
        self.ends: WindowEnds | None = None
        self.next: Window | None = whole
        """The window whose records are wanted next; None when all is done."""

    @property
    def requested(self) -> Window | None:
        """The window to request for ``next``: longer if the system leaves out its last minute."""
        window = self.next
        if window is None or window.end is None or self.ends is not WindowEnds.EXCLUSIVE:
            return window
        return Window(window.start, window.end + MINUTE)

    def add_answer(self, updated: Sequence[datetime], records: int) -> bool:
        """Add the answer to ``next``, and return whether that window is done.

        ``updated`` are the update times of the records that have one. A full window is followed by
        its first part, unless it cannot be split.
        """
        window = self.next
        if window is None:
            raise AssertionError("no window was requested")
        if self.is_testing:
            if self._suspected_cap:
                self._judge_cap(records)
            else:
                self._judge_ends(window, updated, records)
            return False
        if self.ends is WindowEnds.IGNORED:
            self.next = None
            return True
        if self._least_cap <= records < self.cap and records % _PAGE_STEP == 0:
            self._start_cap_test(window, updated, records)
            return False
        self._least_cap = max(self._least_cap, records + 1)
        is_done = self._add_answer(window, updated, records)
        if not self._is_tested and self.next is not None and self.next.end not in (None, self._end):
            self._start_ends_test(window, updated)
        return is_done

    def _start_cap_test(self, window: Window, updated: Sequence[datetime], records: int) -> None:
        """Request the parts of a window before and after a minute within its answer.

        They have more records than the answer if it was cut, whichever of them it shows. A minute
        that has all of the records is left out.
        """
        minutes = sorted(_to_minute(time) for time in updated if window.contains(time))
        low = _to_minute(window.start or _EPOCH)
        middle = minutes[len(minutes) // 2] if minutes else (low + _to_minute(self._latest)) // 2
        is_one_minute = bool(minutes) and minutes[0] == minutes[-1]
        self._suspected_cap, self._unseen = records, 0 if is_one_minute else records
        before = Window(window.start, _to_time(middle - 1))
        after = Window(_to_time(middle + is_one_minute), window.end)
        self._halves = [
            half
            for half in (before, after)
            if half.start is None or half.end is None or half.start <= half.end
        ]
        self._after_test = window
        self._request_half()

    def _request_half(self) -> None:
        self.is_testing = bool(self._halves)
        self.next = self._halves.pop() if self._halves else self._after_test

    def _judge_cap(self, records: int) -> None:
        """Conclude from the parts of a window whether its answer was cut."""
        self._unseen -= records
        if self._unseen < 0:
            self.cap, self._halves = self._suspected_cap, []
        elif not self._halves:
            self._least_cap = self._suspected_cap + 1
        self._request_half()
        if not self.is_testing:
            self._suspected_cap = 0

    def _start_ends_test(self, window: Window, updated: Sequence[datetime]) -> None:
        """Request the minute of a known record: its latest second, which a literal end excludes.

        Without one, request a window that has no records.
        """
        self._is_tested = self.is_testing = True
        self._after_test = self.next
        known = [time for time in updated if window.contains(time)]
        self._tested_time = max(known, key=lambda t: (t.second, t.microsecond), default=None)
        if self._tested_time is None:
            self.next = window.empty_one(updated, self._latest)
        else:
            minute = self._tested_time.replace(second=0, microsecond=0)
            self.next = Window(minute, minute)

    def _judge_ends(self, tested: Window, updated: Sequence[datetime], records: int) -> None:
        """Conclude from the answer to a test how the system reads the end of a window."""
        time = self._tested_time
        outside = not all(map(tested.contains, updated))
        is_full_of_others = records >= self.cap and any(map(tested.is_far_from, updated))
        if records and (time is None or is_full_of_others or (time in updated and outside)):
            self.ends = WindowEnds.IGNORED
            self._after_test = self._whole
        elif (
            time is not None
            and time not in updated
            and tested.start == tested.end
            and records < self.cap
        ):
            self.next = Window(tested.start, _to_time(_to_minute(time) + 1))
            return
        elif time in updated:
            is_usual = tested.start == tested.end
            self.ends = WindowEnds.INCLUSIVE if is_usual else WindowEnds.EXCLUSIVE
        self.is_testing = False
        self.next = self._after_test

    def _add_answer(self, window: Window, updated: Sequence[datetime], records: int) -> bool:
        minutes = sorted(_to_minute(time) for time in updated if window.contains(time))
        if records >= self.cap:
            end = self._split(window, minutes)
            if end is not None:
                self.next = Window(window.start, _to_time(end))
                return False
        self.next = self._following(window, minutes, records)
        self._is_first_part = False
        return True

    def _split(self, window: Window, minutes: list[int]) -> int | None:
        """Return the end of the first part of a full window, None if it cannot be split.

        A full answer is assumed to contain the earliest records, all of those before its last
        minute. The first window that contradicts this makes all later windows be halved.
        """
        low = _to_minute(window.start or min([_EPOCH, self._latest, *map(_to_time, minutes[:1])]))
        high = _to_minute(window.end or max([self._latest, *map(_to_time, minutes[-1:])]))
        if low >= high:
            return None
        if self._is_first_part:
            self._earliest_first = False
        self._seen_minutes, self._is_first_part = minutes, True
        if self._earliest_first and minutes:
            return max(low, minutes[-1] - 1)
        self._halved_ends.append(high)
        middle = (low + high) // 2
        return min(middle, max(low, minutes[len(minutes) // 2] - 1)) if minutes else middle

    def _following(self, window: Window, minutes: Sequence[int], records: int) -> Window | None:
        if window.end == self._end or window.end is None:
            return None
        start = _to_minute(window.end) + 1
        end = self._paced_end(start, window, minutes, records)
        while self._halved_ends and self._halved_ends[-1] < start:
            self._halved_ends.pop()
        if end is None and self._halved_ends:
            end = self._halved_ends[-1]
        is_last = end is None or end >= _to_minute(self._latest)
        return Window(_to_time(start), self._end if is_last or end is None else _to_time(end))

    def _paced_end(
        self, start: int, previous: Window, minutes: Sequence[int], records: int
    ) -> int | None:
        """Return the end of a window that should be nearly full, None to request all the rest.

        The density of records is assumed to continue as in the latest windows. If these had too few
        records, the rest is requested: a full answer then shows where to split.
        """
        first = minutes[:1] if previous.start is None else [_to_minute(previous.start)]
        if first:
            self._records = _DECAY * self._records + records
            self._minutes = _DECAY * self._minutes + start - first[0]
        seen = sum(minute == start for minute in self._seen_minutes)
        if seen >= _BURST_SHARE * self.cap:
            return start
        if not first or (records < _LEAST_SHARE * self.cap and not seen):
            return None
        target = _TARGET_SHARE * self.cap - seen
        return start + max(0, int(target * self._minutes / self._records) - 1)


def _to_minute(time: datetime) -> int:
    return (time - _EPOCH) // MINUTE


def _to_time(minute: int) -> datetime:
    return _EPOCH + minute * MINUTE


def listing_cap(operation: Operation) -> int | None:
    """Return the maximum number of records in an answer of a listing, None if unlimited."""
    return next((r.cap for r in REFERENCES.values() if r.operation is operation), None)


def complete_listings_for(operation: Operation) -> tuple[Operation, ...]:
    """Return the operations that list all records of the type that an operation returns.

    That is the operation itself if it lists all of them.
    """
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
    """Return whether an operation lists all records if called without filters."""
    parts = getattr(operation.data, "__args__", (operation.data,))
    return any(get_origin(part) is list for part in (operation.data, *parts))


def numbered_records(read: Callable[[int], _Read]) -> Iterator[_Read]:
    """Yield what ``read`` returns for each number from 1 that has a record, empty for the others.

    For records that can only be read by a number that the system counts up.
    """
    misses = 0
    for number in count(1):
        found = read(number)
        misses = 0 if found else misses + 1
        if found:
            yield found
        elif misses == _MISSES_IN_A_ROW:
            return
