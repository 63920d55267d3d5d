"""Read answers into parts while they arrive."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from itertools import chain

from xlbridge.client import Client, Record
from xlbridge.client.listings import (
    CLOCK_TOLERANCE,
    UPDATE_FIELD,
    ListingAnswer,
    Numbers,
    RecordShape,
    numbered_records,
    record_shape,
    update_time,
)
from xlbridge.errors import RemoteRejected
from xlbridge.export.filters import Filters
from xlbridge.export.flatten import (
    Flattener,
    LinesOfRecords,
    Rearrange,
    are_typed,
)
from xlbridge.export.formats.base import LineFormat
from xlbridge.export.listing_model import Listing, ListingCall
from xlbridge.export.part_store import Part
from xlbridge.export.record_filter import RecordFilter
from xlbridge.export.sheets import MarkedDigits, RecordNames, Sheet
from xlbridge.resources.remote import SeparateList, operation_named
from xlbridge.wire import record_model

_NOT_FOUND = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSpec:
    """Conversion of a listing's answers into lines.

    After those of the ``sheets`` follow the lines of ``totals`` and of fields ``left_out``.
    ``record_filter`` selects the records; ``lists`` are those that take calls of their own;
    ``names`` are written beside codes.
    """

    shape: RecordShape
    key: Sequence[str]
    record_filter: RecordFilter
    collects_update_times: bool
    sheets: Sequence[Sheet] = ()
    line_formats: Sequence[LineFormat] = ()
    rearrange: Rearrange | None = None
    totals: LinesOfRecords | None = None
    left_out: LinesOfRecords | None = None
    lists: Mapping[str, SeparateList] = field(default_factory=dict)
    names: RecordNames = field(default_factory=dict)

    @classmethod
    def keys_only(cls, listing: Listing, filters: Filters) -> "LineSpec":
        """Return the conversion of a listing's answers into keys alone."""
        return cls(
            shape=record_shape(listing.model),
            key=listing.key,
            record_filter=RecordFilter(listing, filters),
            collects_update_times=listing.cap is not None,
        )

    @property
    def totals_index(self) -> int:
        """Index of the control totals' lines."""
        return len(self.sheets)

    @property
    def left_out_index(self) -> int:
        """Index of the lines of fields left out."""
        return len(self.sheets) + 1

    @property
    def line_files(self) -> int:
        """Number of files of lines in a part."""
        return len(self.sheets) + 2

    @property
    def fits_typed_records(self) -> bool:
        """True if the values of records of the shape's type are all that is needed of them."""
        if self.shape.keep_unknown or self.rearrange or self.record_filter or self.lists:
            return False
        for sheet in self.sheets:
            if sheet.is_joined or len(sheet.within) > 1:
                return False
            shape = self.shape.nested[sheet.within[0]] if sheet.within else self.shape
            if not {column.field for column in sheet.columns} <= set(shape.names.values()):
                return False
        return True

    @property
    def numbers(self) -> Numbers:
        """Types that numbers are read as: text keeps the digits, at least of decimal numbers."""
        return MarkedDigits, MarkedDigits if self.shape.keep_unknown else int


class Stopped(Exception):
    """Another part has failed, or the user has interrupted the export."""


class PartReader:
    """Makes the calls of a listing, from any thread, and writes the records into parts.

    ``on_record`` receives every record unchanged, ``on_count`` the change in the number of
    records, both from any thread. ``calls`` counts the calls, ``done`` the requests fully read;
    ``missing`` are the requested keys that do not exist. ``clock`` is the system's own time at the
    first answer; records of more than a day later are from the future.
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
        others = (spec.totals, spec.left_out)
        self._flattener = Flattener(
            spec.sheets, spec.line_formats, spec.rearrange, others, spec.names
        )
        typed = spec.fits_typed_records and on_record is None
        self._record_type = spec.shape.record_type() if typed else None
        self._record_filter = spec.record_filter
        self._on_record = on_record
        self._on_count = on_count
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self.clock: datetime | None = None
        self._latest = datetime.now() + CLOCK_TOLERANCE
        self._future = self._latest.isoformat()
        self.calls = 0
        self.done = 0
        self.missing: list[dict[str, object]] = []

    def stop(self) -> None:
        """Make all reads end, with ``Stopped`` or another error."""
        self._stop.set()

    def check_updates(self) -> None:
        """Check the last update of each record from now on, as the system does not."""
        self._record_filter = self._record_filter.with_updates_checked()
        self._record_type = None

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
        part.notes = self._flattener.notes

    def write(
        self, part: Part, records: Sequence[Record], known_fields: Record
    ) -> Sequence[Record]:
        """Write the records that pass the filter, and return them.

        ``known_fields``, which follow from the call, complete records that lack them. Raises what
        ``Flattener.lines`` and ``RecordFilter.failed_filter`` raise.
        """
        accepted = records
        if not are_typed(records):
            accepted = []
            for record in records:
                if self._accepts(part, record, part.records + len(accepted)):
                    lacking = {n: v for n, v in known_fields.items() if record.get(n) is None}
                    accepted.append(record | lacking if lacking else record)
        keys = [list(map(record.get, self._spec.key)) for record in accepted]
        for record, key in zip(accepted, keys, strict=True):
            text = record.get(UPDATE_FIELD)
            if self._spec.collects_update_times:
                moment = update_time(record)
                if moment is None:
                    continue
                part.update_times.append(moment)
            if isinstance(text, str) and text[4:5] == "-":
                # Texts are compared first, as that is faster.
                moment = update_time(record) if text > self._future else None
                if moment is not None and moment > self._latest:
                    part.future.append([None if one is None else str(one) for one in key])
                    continue
                part.last_update = max(part.last_update, text)
                part.first_update = min(part.first_update or text, text)
        part.add(keys, self._flattener.lines(accepted))
        return accepted

    def _accepts(self, part: Part, record: Record, records_before: int) -> bool:
        """Return whether a record passes the filter, and count it if not."""
        if not self._record_filter:
            return True
        failed = self._record_filter.failed_filter(record, records_before)
        if failed is None:
            return True
        part.refused += 1
        name, was_sent = failed
        if was_sent:
            part.excess[name.value] = part.excess.get(name.value, 0) + 1
        return False

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
        path = request.path
        for _ in numbered_records(lambda at: self._read_one(part, request, {**path, counter: at})):
            pass

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
        self._require_running()
        answer = self._client.listing(request.operation, path=path, query=request.query)
        with self._lock:
            self.calls += 1
            if self.clock is None and (time := answer.system_time):
                self.clock, self._latest = time, time + CLOCK_TOLERANCE
                self._future = self._latest.isoformat()
        return closing(answer)

    def _require_running(self) -> None:
        if self.is_stopped:
            raise Stopped

    def _pieces(self, part: Part, answer: ListingAnswer) -> Iterator[bytes]:
        for piece in part.hashed(answer.pieces()):
            self._require_running()
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
            self._require_running()
            with self._write_lock:
                accepted = self.write(part, records, known_fields)
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
