"""Calls and windows of an export: which calls are known beforehand, what came of each window."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from xlbridge.client.listings import MINUTE, Window
from xlbridge.export.filters import Filter, Filters
from xlbridge.export.listing_model import Listing, ListingCall, PerValue
from xlbridge.wire import Operation


@dataclass(frozen=True, slots=True)
class FetchedWindow:
    """A window after it was fetched.

    ``saturated`` says that the answer was as full as an answer can be, and could not be split:
    there may be more records; ``limited`` that it was the user who wanted no more. ``digest`` is
    SHA-256 of the answers as they came. ``keys`` are the first and the last one of what was asked
    for by key.
    """

    window: Window
    records: int
    saturated: bool
    digest: str = ""
    limited: bool = False
    keys: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class SeenValues:
    """Values of a filter that was not given, as far as they are known: there may be others."""

    filter: Filter
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """Progress of an export. What is left is None where that cannot be told.

    ``records_left`` are those that are read one by one; while their keys are still being fetched
    ``records`` counts these, and ``is_of_keys`` says so.
    """

    records: int
    windows: int
    windows_left: int | None
    records_left: int | None = None
    is_of_keys: bool = False


OnProgress = Callable[[ExportProgress], None]

_MONTHS_BACK = 36
"""So many months are asked for one by one; what was updated before comes as one window."""

_CLOCK_TOLERANCE = timedelta(days=1)
"""Largest difference between the remote system's clock, time zone included, and ours."""


def window_call(operation: Operation, filters: Filters, window: Window) -> ListingCall:
    """Return the call that asks for one window."""
    within = filters.within(window.start, window.end)
    return ListingCall(operation, query=within.query(operation.query), window=window)


def plain_calls(listing: Listing, filters: Filters) -> Iterator[ListingCall]:
    """Yield the calls of a listing that is not asked for in windows."""
    for name, operation in listing.of.items():
        if name in filters.given:
            (parameter,) = operation.path_parameters
            value = filters.given[name]
            for code in value if isinstance(value, tuple) else (value,):
                yield ListingCall(operation, {parameter: code})
            return
    yield ListingCall(listing.operation, query=filters.query(listing.operation.query))


def calls_per_value(
    listing: Listing, filters: Filters, per: PerValue, values: Iterable[object]
) -> Iterator[ListingCall]:
    """Yield a call for each value of the filter that the interface takes one of."""
    for value in values:
        query = filters.with_value(per.filter, value).query(listing.operation.query)
        yield ListingCall(listing.operation, query=query, known={per.field: str(value)})


def monthly_windows(filters: Filters, now: datetime) -> list[Window]:
    """Return windows that cover what the filters ask for, the earliest first.

    A window is a month, the first one all that was updated before, the last one the time in which
    records change while the export runs.
    """
    last = _first_of_month(now - _CLOCK_TOLERANCE)
    bounds = [last]
    for _ in range(_MONTHS_BACK):
        bounds.append(_first_of_month(bounds[-1] - MINUTE))
    inside = [
        bound
        for bound in reversed(bounds)
        if (filters.start is None or bound > filters.start)
        and (filters.end is None or bound <= filters.end)
    ]
    starts = [filters.start, *inside]
    ends = [*(bound - MINUTE for bound in inside), filters.end]
    return [Window(start, end) for start, end in zip(starts, ends, strict=True)]


def is_final(window: Window, now: datetime) -> bool:
    """Say whether no record can move into a window any more: it ends before any clock's now."""
    return window.end is not None and window.end < now - _CLOCK_TOLERANCE


def _first_of_month(moment: datetime) -> datetime:
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
