"""Bulk lookup: the remote records of many rows, found in whole listings to save requests.

Of what a listing holds, only the records of the rows' own keys stay in memory.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from xlbridge.client import Client, Record
from xlbridge.client.listings import complete_listings_for, listing_cap, listing_parts
from xlbridge.errors import RemoteRejected
from xlbridge.i18n import Text
from xlbridge.resources import Lookup, ReadBack, Resource
from xlbridge.upload.lookup.row_lookup import (
    RowLookup,
    RowValues,
    comparable_value,
    lookup_for,
    requests_needed,
)
from xlbridge.upload.lookup.snapshot import Snapshot
from xlbridge.wire import Operation

MAX_REQUESTS = 500
"""Requests that one snapshot may take; where more are needed, none is taken."""

_MAX_SINGLE_REQUESTS = 50
"""Requests that are made one by one before whole listings are read."""

_NO_KEY = Text(
    pt="as linhas não têm chave para o sistema localizá-las",
    en="the rows have no key by which the system finds them",
)
_TOO_MANY_REQUESTS = Text(
    pt="seriam necessárias {n} consultas, e o limite é {most}{way_out}",
    en="it would take {n} requests, and the limit is {most}{way_out}",
)

_Key = tuple[str | None, ...]


def look_up_rows(
    client: Client,
    resource: Resource,
    rows: Sequence[RowValues],
    most: int | None = MAX_REQUESTS,
    way_out: Text | None = None,
) -> tuple[Snapshot, Text | None]:
    """Return the remote records of each row, and the reason why some were not read.

    It takes ``most`` requests at most, if that is given; ``way_out`` follows the reason where that
    does not do. Raises what ``Client.records`` raises.
    """
    declared = resource.read_back
    needed = requests_needed(resource, rows)
    lookups = [lookup_for(resource, row) for row in rows]
    unfiltered = any(lookup is not None and not lookup.filters for lookup in lookups)
    unread: Snapshot = (None,) * len(rows)
    if declared is None or not any(lookups):
        return unread, _NO_KEY
    if needed > _MAX_SINGLE_REQUESTS or unfiltered:
        limit = most if unfiltered or (most is not None and needed > most) else needed
        found = _BulkLookup(client, resource, declared, limit).find(rows, lookups)
        if found is not None:
            return found, None if all(lookups) else _NO_KEY
    if most is not None and needed > most:
        return unread, _TOO_MANY_REQUESTS.format(n=needed, most=most, way_out=way_out or "")
    reading = RowLookup(client, resource, declared).read(rows)
    return reading, _NO_KEY if None in reading else None


@dataclass(slots=True)
class _SoughtKeys:
    """Keys of the rows that one lookup serves, with the records that were found for each.

    ``fields`` are the columns that a record is matched by, with its own names for them.
    """

    lookup: Lookup
    fields: Mapping[str, str]
    found: dict[_Key, list[Record]] = field(default_factory=dict)


class _BulkLookup:
    """Reader of the listings that hold the records of rows, ``most`` answers at most."""

    def __init__(
        self, client: Client, resource: Resource, declared: ReadBack, most: int | None
    ) -> None:
        self._client = client
        self._resource = resource
        self._reader = RowLookup(client, resource, declared)
        self._left = most
        of_keys = (name for lookup in declared.lookups for name in lookup.key.values())
        self._kept = tuple(dict.fromkeys((*declared.columns, *declared.codes, *of_keys)))

    def find(self, rows: Sequence[RowValues], lookups: Sequence[Lookup | None]) -> Snapshot | None:
        """Return the snapshot; None where the listings cannot prove what is not there."""
        sought: dict[int, _SoughtKeys] = {}
        for row, lookup in zip(rows, lookups, strict=True):
            if lookup is not None:
                fields = {**lookup.key, **{c: name for name, c in lookup.filters.items()}}
                one = sought.setdefault(id(lookup), _SoughtKeys(lookup, fields))
                one.found.setdefault(self._key_of_row(one, row), [])
        if not all(
            self._read(operation, of) for operation, of in _listings_to_read(sought.values())
        ):
            return None
        return tuple(
            None
            if lookup is None
            else self._reader.matched(
                row,
                lookup,
                sought[id(lookup)].found[self._key_of_row(sought[id(lookup)], row)],
            )
            for row, lookup in zip(rows, lookups, strict=True)
        )

    def _read(self, operation: Operation, sought: Sequence[_SoughtKeys]) -> bool:
        """Read a listing; return whether it was complete and every record had its keys."""
        try:
            for records, whole in listing_parts(self._client, operation, listing_cap(operation)):
                if not whole or self._left == 0:
                    return False
                self._left = None if self._left is None else self._left - 1
                if not all(self._sort_in(record, operation, sought) for record in records):
                    return False
        except RemoteRejected as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        return True

    def _sort_in(self, record: Record, operation: Operation, sought: Sequence[_SoughtKeys]) -> bool:
        """Store a record whose key is sought; return whether it has the fields of its keys."""
        for one in sought:
            own = operation in one.lookup.operations
            if not own and any(name not in record for name in one.fields.values()):
                return False
            at = tuple(self._plain(c, record.get(name)) for c, name in one.fields.items())
            if at in one.found:
                one.found[at].append({n: record[n] for n in self._kept if n in record})
        return True

    def _key_of_row(self, sought: _SoughtKeys, row: RowValues) -> _Key:
        return tuple(self._plain(column, row[column]) for column in sought.fields)

    def _plain(self, column: str, value: object) -> str | None:
        return comparable_value(self._resource.by_name[column].kind, value)


def _listings_to_read(
    sought: Iterable[_SoughtKeys],
) -> Iterator[tuple[Operation, Sequence[_SoughtKeys]]]:
    """Yield each listing once, with the lookups that it serves."""
    serves: dict[str, tuple[Operation, list[_SoughtKeys]]] = {}
    for one in sought:
        listed = [listing for op in one.lookup.operations for listing in complete_listings_for(op)]
        for operation in {o.name: o for o in listed}.values():
            serves.setdefault(operation.name, (operation, []))[1].append(one)
    yield from serves.values()
