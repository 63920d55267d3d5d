"""Read answers into parts as they come in."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from http import HTTPStatus
from itertools import chain, count

from xlbridge.client import Client, Record
from xlbridge.client.listings import ListingAnswer, Numbers, RecordShape, shape_of
from xlbridge.errors import RemoteRejected
from xlbridge.export.listing_model import Listing, ListingCall, PerRecord
from xlbridge.export.parts import LineSpec, Part, PartWriter
from xlbridge.resources.remote import operation_named
from xlbridge.wire import Operation, record_model

_NOT_FOUND = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)


class Stopped(Exception):
    """Another part has failed, or the user has interrupted."""


class PartReader:
    """Makes the calls of a listing, from any thread.

    ``on_record`` is given every record as it came, ``on_records`` how many more there are, or
    fewer; both from any thread. ``calls`` are counted; ``missing`` are the keys that were asked for
    and are not there; ``done`` counts the requests that have been read one after the other.
    """

    def __init__(
        self,
        client: Client,
        listing: Listing,
        recipe: LineSpec,
        *,
        on_record: Callable[[Record], None] | None,
        on_records: Callable[[int], None],
    ) -> None:
        self._client = client
        self._each = listing.each
        self._recipe = recipe
        self._maker = PartWriter(recipe)
        self._on_record = on_record
        self._on_records = on_records
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self.calls = 0
        self.done = 0
        self.missing: list[dict[str, object]] = []

    def stop(self) -> None:
        """Let what is under way end, with ``Stopped`` or another error."""
        self._stop.set()

    @property
    def is_stopped(self) -> bool:
        """True once everything is to end."""
        return self._stop.is_set()

    def read(self, part: Part, requests: Sequence[ListingCall]) -> None:
        """Make the calls of a part. Raises what ``Client.records`` raises, and ``Stopped``."""
        done = 0
        try:
            with part:
                for request in requests:
                    self._read_each(part, request)
                    done += 1
                    self._count_done(1)
        except BaseException:
            self._count_done(-done)
            raise
        self._maker.describe(part)

    def _count_done(self, more: int) -> None:
        with self._lock:
            self.done += more
        self._on_records(0)

    def _read_each(self, part: Part, request: ListingCall) -> None:
        if self._each is None or self._each.counted is None:
            self._read_one(part, request, request.path)
            return
        for number in count(1):
            if not self._read_one(part, request, {**request.path, self._each.counted: number}):
                return

    def _read_one(self, part: Part, request: ListingCall, path: Mapping[str, object]) -> bool:
        """Add the records of one call; say whether there was anything."""
        known, before = _known_fields(self._each, request), part.records
        try:
            with self._called(request, path) as answer:
                self._add(part, answer, known)
        except RemoteRejected as error:
            if not path or error.status not in _NOT_FOUND:
                raise
            is_there = False
        else:
            is_there = part.records > before or not request.operation.returns_single_record(
                request.query
            )
        if not is_there and (self._each is None or self._each.counted is None):
            self.missing.append(request.named)
        return is_there

    def _called(self, request: ListingCall, path: Mapping[str, object]) -> "closing[ListingAnswer]":
        if self.is_stopped:
            raise Stopped
        with self._lock:
            self.calls += 1
        return closing(self._client.listing(request.operation, path=path, query=request.query))

    def _watched(self, answer: ListingAnswer) -> Iterator[bytes]:
        for piece in answer.pieces():
            if self.is_stopped:
                raise Stopped
            yield piece

    def _add(self, part: Part, answer: ListingAnswer, known: Record) -> None:
        pieces = part.seen(self._watched(answer))
        batches = answer.batches(pieces, self._recipe.shape, self._recipe.numbers)
        if self._recipe.lists:
            # Those of a record take calls of their own: no answer stays open meanwhile.
            whole = list(chain.from_iterable(batches))
            batches = ([self._with_lists(part, known | record)] for record in whole)
        for records in batches:
            if self.is_stopped:
                raise Stopped
            with self._writing:
                taken = self._maker.add(part, records, known)
            if self._on_record is not None:
                for record in taken:
                    self._on_record(known | record)
            self._on_records(len(taken))

    def _with_lists(self, part: Part, record: Record) -> Record:
        """Return a record with its lists that the interface lists apart."""
        read: Record = {}
        for name, apart in self._recipe.lists.items():
            operation = operation_named(apart.operation_name)
            path = {parameter: record[parameter] for parameter in operation.path_parameters}
            with self._called(ListingCall(operation), path) as answer:
                pieces = part.seen(self._watched(answer))
                read[name] = apart.rows(answer.records(pieces, *self._of_items(operation)))
        return record | read

    def _of_items(self, operation: Operation) -> tuple[RecordShape, Numbers]:
        """Return how the items of a list are read: as the records are."""
        model = record_model(operation.data)
        if model is None:
            raise TypeError(f"{operation.name} is not a listing")
        shape = shape_of(model, keep_unknown=self._recipe.shape.keep_unknown)
        return shape, self._recipe.numbers


def _known_fields(each: PerRecord | None, request: ListingCall) -> Record:
    """Return what a call by key, or for one value, knows of its records."""
    by_key = {each.path[name]: value for name, value in request.path.items()} if each else {}
    return {**request.known, **by_key}
