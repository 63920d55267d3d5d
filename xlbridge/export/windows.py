"""The parts that a listing is fetched in, and whether each is whole.

Source: the spec, Limits: a capped answer does not say that it is cut.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from xlbridge.api.client import Client
from xlbridge.api.records import Record
from xlbridge.export.filters import Filters
from xlbridge.export.listings import Listing


@dataclass(frozen=True, slots=True)
class Window:
    """A span of last-update times, both ends included; None is unbounded."""

    start: datetime | None
    end: datetime | None


@dataclass(frozen=True, slots=True)
class FetchedWindow:
    """A window after it was fetched.

    ``saturated`` says that the answer was as full as an answer can be: there may be more records.
    """

    window: Window
    records: int
    saturated: bool


def windows_of(filters: Filters) -> tuple[Window, ...]:
    """Return the windows that cover what the filters ask for: one."""
    return (Window(filters.start, filters.end),)


def fetch(client: Client, listing: Listing, filters: Filters, window: Window) -> Iterator[Record]:
    """Yield the records of one window. Raises what ``Client.records`` raises."""
    if filters.branch is not None and listing.of_branch is not None:
        (parameter,) = listing.of_branch.path_parameters
        return client.records(listing.of_branch, path={parameter: filters.branch})
    within = replace(filters, start=window.start, end=window.end)
    query = listing.operation.query
    return client.records(
        listing.operation, query=query(**within.query) if query is not None else None
    )


def is_saturated(listing: Listing, records: int) -> bool:
    """Say whether an answer of so many records may have been cut."""
    return listing.cap is not None and records >= listing.cap
