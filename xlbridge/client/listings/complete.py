"""Complete listings: split into windows where they are capped, and cached per client.

Source: the spec, Limits: an answer of the client listing is truncated at 500 records, and does not
say so.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, get_origin

from xlbridge.client.client import Client
from xlbridge.client.listings.stream import FieldTest, Record
from xlbridge.client.listings.windows import UNBOUNDED_WINDOW, WindowSplitter, update_time
from xlbridge.resources import REFERENCES
from xlbridge.wire import OPERATIONS, Operation, record_model


@dataclass(slots=True)
class CompleteListing:
    """The records of a listing; ``complete`` says that there are no others."""

    records: list[Record] = field(default_factory=list)
    complete: bool = True


class ListingCache:
    """The listings of one system that were asked for."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._listed: dict[str, CompleteListing] = {}

    def all(self, operation: Operation, cap: int | None) -> CompleteListing:
        """Return all records of a listing; one that is cut at ``cap`` is fetched by its windows.

        Raises what ``Client.records`` raises.
        """
        if operation.name not in self._listed:
            listing = CompleteListing()
            for records, complete in listing_parts(self._client, operation, cap):
                listing.records += records
                listing.complete &= complete
            self._listed[operation.name] = listing
        return self._listed[operation.name]

    def has(self, operation: Operation) -> bool:
        """Return whether a listing was asked for before."""
        return operation.name in self._listed


def listing_parts(
    client: Client, operation: Operation, cap: int | None, wanted: Sequence[FieldTest] = ()
) -> Iterator[tuple[Iterable[Record], bool]]:
    """Yield all records of a listing, an answer at a time, each with whether it is surely complete.

    A record that changes meanwhile can come twice, the later one being the newer; none is left
    out (``docs/exports.md``), but for those that are not ``wanted``. Raises what
    ``Client.records`` raises.
    """
    if cap is None:
        yield client.records(operation, wanted=wanted), True
        return
    query: Any = operation.query
    splitter = WindowSplitter(UNBOUNDED_WINDOW, cap, datetime.now())
    while (window := splitter.next) is not None:
        asked = query(dataInferior=window.start, dataSuperior=window.end)
        records = list(client.records(operation, query=asked))
        if splitter.answered(_update_times(records), len(records)):
            yield records, len(records) < cap


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


def _update_times(records: list[Record]) -> list[datetime]:
    return [moment for record in records if (moment := update_time(record)) is not None]
