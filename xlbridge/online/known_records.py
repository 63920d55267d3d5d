"""Asking for records by their keys: one question each, or one listing where there are many."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from xlbridge.api.client import Client
from xlbridge.api.listings import Listed, Listings, cap_of, listings_of
from xlbridge.api.record_shape import Record
from xlbridge.resources.documents import bare_document
from xlbridge.wire.model import WireModel
from xlbridge.wire.operation import Operation

MOST_QUESTIONS = 50
"""How many questions are asked one by one; with more of them the whole listing costs less."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})

_Key = tuple[str, ...]


class KnownRecords:
    """A source of records that answers from whole listings; for ``upload.reading.RowReader``.

    The interface does not say that listings tell all that a record is found by; what is not found
    in those of another operation is asked for.
    """

    def __init__(self, client: Client, listings: Listings) -> None:
        self._client = client
        self._listings = listings
        self._sources: dict[str, tuple[Operation, ...]] = {}
        self._by_key: dict[tuple[str, _Key], dict[_Key, list[Record]]] = {}

    def records(
        self,
        operation: Operation,
        *,
        path: Mapping[str, object] = _NOTHING,
        query: WireModel | None = None,
    ) -> Iterator[Record]:
        """Yield the records that a query of the operation would list."""
        wanted = {} if query is None else query.model_dump(exclude_none=True)
        listings = self._listings_of(operation)
        if not wanted or path or not listings:
            yield from self._client.records(operation, path=path, query=query)
            return
        found = self._index(operation, tuple(wanted), listings).get(_key(wanted), [])
        whole = listings == (operation,) and self._listed(operation).whole
        if found or whole:
            yield from found
        else:
            yield from self._client.records(operation, path=path, query=query)

    def _listings_of(self, operation: Operation) -> tuple[Operation, ...]:
        if operation.name not in self._sources:
            self._sources[operation.name] = listings_of(operation)
        return self._sources[operation.name]

    def _listed(self, operation: Operation) -> Listed:
        return self._listings.all(operation, cap_of(operation))

    def _index(
        self, operation: Operation, fields: _Key, listings: tuple[Operation, ...]
    ) -> dict[_Key, list[Record]]:
        place = operation.name, fields
        if place not in self._by_key:
            index: dict[_Key, list[Record]] = {}
            for listing in listings:
                for record in self._listed(listing).records:
                    index.setdefault(_key({f: record.get(f) for f in fields}), []).append(record)
            self._by_key[place] = index
        return self._by_key[place]


def _key(values: Mapping[str, Any]) -> _Key:
    """Return values as they are compared: documents come with and without their mask."""
    return tuple(bare_document(str(value)) for value in values.values())
