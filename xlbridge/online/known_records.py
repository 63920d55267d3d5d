"""Asking for records by their keys: one question each, or one listing where there are many."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, get_origin

from xlbridge.api.client import Client
from xlbridge.api.records import Record
from xlbridge.online.listings import Listings
from xlbridge.resources.documents import bare_document
from xlbridge.resources.references import REFERENCES
from xlbridge.wire.model import WireModel
from xlbridge.wire.operation import Operation

MOST_QUESTIONS = 50
"""How many questions are asked one by one; with more of them the whole listing costs less."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})

_Key = tuple[str, ...]


class KnownRecords:
    """A source of records that answers from whole listings; for ``upload.reading.RowReader``."""

    def __init__(self, client: Client, listings: Listings) -> None:
        self._client = client
        self._listings = listings
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
        cap = next((r.cap for r in REFERENCES.values() if r.operation is operation), None)
        if not wanted or not _lists(operation):
            yield from self._client.records(operation, path=path, query=query)
            return
        listed = self._listings.all(operation, cap)
        found = self._index(operation, tuple(wanted), listed.records).get(_key(wanted), [])
        if found or listed.whole:
            yield from found
        else:
            yield from self._client.records(operation, path=path, query=query)

    def _index(
        self, operation: Operation, fields: _Key, records: list[Record]
    ) -> dict[_Key, list[Record]]:
        place = operation.name, fields
        if place not in self._by_key:
            index: dict[_Key, list[Record]] = {}
            for record in records:
                index.setdefault(_key({f: record.get(f) for f in fields}), []).append(record)
            self._by_key[place] = index
        return self._by_key[place]


def _lists(operation: Operation) -> bool:
    """Whether an operation lists all records when nothing is asked of it."""
    parts = getattr(operation.data, "__args__", (operation.data,))
    return any(get_origin(part) is list for part in (operation.data, *parts))


def _key(values: Mapping[str, Any]) -> _Key:
    """Return values as they are compared: documents come with and without their mask."""
    return tuple(bare_document(str(value)) for value in values.values())
