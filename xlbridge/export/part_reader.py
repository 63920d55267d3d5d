"""Read answers into parts while they arrive."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from http import HTTPStatus
from itertools import chain, count

from xlbridge.client import Client, Record
from xlbridge.client.listings import ListingAnswer, record_shape
from xlbridge.errors import RemoteRejected
from xlbridge.export.listing_model import Listing, ListingCall
from xlbridge.export.parts import LineSpec, Part, PartWriter
from xlbridge.resources.remote import operation_named
from xlbridge.wire import record_model

_NOT_FOUND = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)


class Stopped(Exception):
    """Another part has failed, or the user has interrupted the export."""


class PartReader:
    """Makes the calls of a listing, from any thread.

    ``on_record`` receives every record unchanged, ``on_count`` the change in the number of
    records, both from any thread. ``calls`` counts the calls, ``done`` the requests fully read;
    ``missing`` are the requested keys that do not exist.
    """

    def __init__(
        self,
        client: Client,
        listing: Listing,
        spec: LineSpec,
        *,
        on_record: Callable[[Record], None] | None,
        on_count: Callable[[int], None],
    ) -> None:
        self._client = client
        self._per_record = listing.per_record
        self._spec = spec
        self._writer = PartWriter(spec)
        typed = spec.fits_typed_records and on_record is None
        self._record_type = spec.shape.record_type() if typed else None
        self._on_record = on_record
        self._on_count = on_count
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self.calls = 0
        self.done = 0
        self.missing: list[dict[str, object]] = []

    def stop(self) -> None:
        """Make all reads end, with ``Stopped`` or another error."""
        self._stop.set()

    @property
    def is_stopped(self) -> bool:
        """True once ``stop`` was called."""
        return self._stop.is_set()

    def read(self, part: Part, requests: Sequence[ListingCall]) -> None:
        """Make the calls of a part. Raises what ``Client.records`` raises, and ``Stopped``."""
        done = 0
        try:
            with part:
                for request in requests:
                    self._read_pages(part, request)
                    done += 1
                    self._count_done(1)
        except BaseException:
            self._count_done(-done)
            raise
        self._writer.add_column_data(part)

    def _count_done(self, more: int) -> None:
        with self._lock:
            self.done += more
        self._on_count(0)

    def _read_pages(self, part: Part, request: ListingCall) -> None:
        counter = self._per_record and self._per_record.counter
        if not counter:
            if not self._read_one(part, request, request.path):
                self.missing.append(request.record_key)
            return
        for number in count(1):
            if not self._read_one(part, request, {**request.path, counter: number}):
                return

    def _read_one(self, part: Part, request: ListingCall, path: Mapping[str, object]) -> bool:
        """Add the records of one call; return False if what it names does not exist."""
        known_fields: Record = {**request.known_fields}
        if self._per_record:
            fields = self._per_record.path
            known_fields |= {fields[name]: value for name, value in request.path.items()}
        before = part.records
        try:
            with self._call(request, path) as answer:
                self._add(part, answer, known_fields)
        except RemoteRejected as error:
            if not path or error.status not in _NOT_FOUND:
                raise
            return False
        return part.records > before or not request.operation.returns_single_record(request.query)

    def _call(self, request: ListingCall, path: Mapping[str, object]) -> "closing[ListingAnswer]":
        if self.is_stopped:
            raise Stopped
        with self._lock:
            self.calls += 1
        return closing(self._client.listing(request.operation, path=path, query=request.query))

    def _pieces(self, part: Part, answer: ListingAnswer) -> Iterator[bytes]:
        for piece in part.hashed(answer.pieces()):
            if self.is_stopped:
                raise Stopped
            yield piece

    def _add(self, part: Part, answer: ListingAnswer, known_fields: Record) -> None:
        batches = answer.batches(
            self._pieces(part, answer),
            self._spec.shape,
            self._spec.numbers,
            record_type=None if known_fields else self._record_type,
        )
        if self._spec.lists:
            # The lists need further calls: read this answer to its end first.
            whole = list(chain.from_iterable(batches))
            batches = ([self._with_lists(part, known_fields | record)] for record in whole)
        for records in batches:
            if self.is_stopped:
                raise Stopped
            with self._write_lock:
                accepted = self._writer.add(part, records, known_fields)
            if self._on_record is not None:
                for record in accepted:
                    self._on_record(known_fields | record)
            self._on_count(len(accepted))

    def _with_lists(self, part: Part, record: Record) -> Record:
        """Return a record with the lists that have operations of their own."""
        lists: Record = {}
        for name, separate in self._spec.lists.items():
            operation = operation_named(separate.operation_name)
            model = record_model(operation.data)
            if model is None:
                raise TypeError(f"{operation.name} is not a listing")
            shape = record_shape(model, keep_unknown=self._spec.shape.keep_unknown)
            path = {parameter: record[parameter] for parameter in operation.path_parameters}
            with self._call(ListingCall(operation), path) as answer:
                items = answer.records(self._pieces(part, answer), shape, self._spec.numbers)
                lists[name] = separate.rows(items)
        return record | lists
