"""Calls and windows of an export: calls known in advance, and the outcome of each window."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from xlbridge.client.listings import MINUTE, Window
from xlbridge.export.filters import Filter, Filters
from xlbridge.export.listing_model import Listing, ListingCall, PerValue
from xlbridge.wire import Operation


@dataclass(frozen=True, slots=True)
class FetchedWindow:
    """Fetched window.

    ``saturated``: the answer was full and could not be split, so there may be more records;
    ``limited``: it was full because of the user's limit. ``digest`` is SHA-256 of the raw answers.
    ``keys`` are the first and the last key of records requested by key.
    """

    window: Window
    records: int
    saturated: bool
    digest: str = ""
    limited: bool = False
    keys: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class InferredValues:
    """Values assumed for a filter that was not given; there may be others."""

    filter: Filter
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """Progress of an export; ``windows_left`` and ``records_left`` are None if unknown.

    ``records_left`` counts records to be read by key. With ``is_of_keys``, their keys are still
    being fetched, and ``records`` counts keys.
    """

    records: int
    windows: int
    windows_left: int | None
    records_left: int | None = None
    is_of_keys: bool = False


OnProgress = Callable[[ExportProgress], None]

_MONTHS_BACK = 36
"""Number of monthly windows; everything updated before them is one window."""

_CLOCK_TOLERANCE = timedelta(days=1)
"""Maximum difference between the remote clock, time zone included, and the local one."""


def window_call(operation: Operation, filters: Filters, window: Window) -> ListingCall:
    """Return the call for one window."""
    within = filters.within(window.start, window.end)
    return ListingCall(operation, query=within.query(operation.query), window=window)


def plain_calls(listing: Listing, filters: Filters) -> Iterator[ListingCall]:
    """Yield the calls of a listing without windows."""
    for name, operation in listing.path_filters.items():
        if name in filters.values:
            (parameter,) = operation.path_parameters
            value = filters.values[name]
            for code in value if isinstance(value, tuple) else (value,):
                yield ListingCall(operation, {parameter: code})
            return
    yield ListingCall(listing.operation, query=filters.query(listing.operation.query))


def calls_per_value(
    listing: Listing, filters: Filters, per: PerValue, values: Iterable[object]
) -> Iterator[ListingCall]:
    """Yield a call for each value of the filter, which takes one value per call."""
    for value in values:
        query = filters.with_value(per.filter, value).query(listing.operation.query)
        yield ListingCall(listing.operation, query=query, known_fields={per.field: str(value)})


def monthly_windows(filters: Filters, now: datetime) -> list[Window]:
    """Return windows that cover the period of the filters, the earliest first.

    Each is a month; the first is everything updated before, the last the time in which records
    may change during the export.
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
    """Return whether a window is past by any clock, so that no record can enter it any more."""
    return window.end is not None and window.end < now - _CLOCK_TOLERANCE


def _first_of_month(moment: datetime) -> datetime:
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
