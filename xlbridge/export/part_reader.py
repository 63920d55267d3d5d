"""Read answers into parts while they arrive, and check their records against the filters requested,
which a system may ignore."""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from http import HTTPStatus
from itertools import chain

from xlbridge.client import Client, Record
from xlbridge.client.listing_answer import ListingAnswer, RecordShape, record_shape
from xlbridge.client.listing_stream import Numbers
from xlbridge.client.time_windows import (
    CLOCK_TOLERANCE,
    UPDATE_FIELD,
    numbered_records,
    update_time,
)
from xlbridge.errors import RemoteRejected, TransportError
from xlbridge.export.filters import Filter, Filters, FilterType, ValueKind
from xlbridge.export.flatten import (
    Flattener,
    LinesOfRecords,
    Rearrange,
    are_typed,
)
from xlbridge.export.formats.base import LineFormat
from xlbridge.export.listing_model import Listing, ListingCall
from xlbridge.export.part_store import Part
from xlbridge.export.sheets import MarkedDigits, RecordNames, Sheet
from xlbridge.i18n import Text
from xlbridge.resources.remote import SeparateList, operation_named
from xlbridge.wire import record_model

_NOT_FOUND = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """Accepted values of a record's ``field``, as ``_comparable`` ones, for the filter ``name``.

    ``is_sent``: the request carries the filter; ``is_undocumented``: under a name that the
    interface's description does not show.
    """

    name: Filter
    field: str
    values: frozenset[object]
    is_sent: bool
    is_undocumented: bool

    def accepts(self, record: Record) -> bool:
        """Return whether a record has an accepted value.

        A record without the field is accepted if a documented filter was sent. Raises
        ``TransportError`` if that is unknown, or the value is not of the field's type.
        """
        value = record.get(self.field)
        if self.name.type.is_empty:
            if self.field not in record:
                raise _uncheckable_filter(self.name, self.field)
            return value in (None, "", 0)
        if value is None:
            if self.is_undocumented:
                raise _uncheckable_filter(self.name, self.field)
            return self.is_sent
        comparable = _comparable(self.name.type, value)
        if self.name.type.is_nonzero and isinstance(comparable, Decimal):
            return comparable != 0
        if self.name.type.is_flag and not isinstance(comparable, bool):
            raise _uncheckable_filter(self.name, self.field, value)
        return comparable in self.values


class RecordFilter:
    """Conditions of filters on the records of a listing; False if nothing needs a check.

    Filters of a source are checked in its own records, the period of updates only if the
    interface does not document it.
    """

    def __init__(self, listing: Listing, filters: Filters, *, checks_updates: bool = False) -> None:
        self._listing = listing
        self._filters = filters
        self._criteria = tuple(_criteria(listing, filters))
        updates = {Filter.FROM, Filter.TO} & filters.values.keys()
        self._checks_updates = bool(updates if checks_updates else updates & listing.undocumented)
        self._limit = filters.values.get(Filter.LIMIT)
        self._period_field = listing.period_field if filters.start and filters.end else None

    def with_updates_checked(self) -> "RecordFilter":
        """Return the same conditions, and the period of updates even if it is documented."""
        return RecordFilter(self._listing, self._filters, checks_updates=True)

    def __bool__(self) -> bool:
        return bool(self._criteria or self._checks_updates or self._limit or self._period_field)

    def failed_filter(self, record: Record, records_before: int) -> tuple[Filter, bool] | None:
        """Return the filter that a record fails, and whether it was sent; None if it passes all.

        ``records_before`` counts the records of the answer accepted so far. Raises
        ``TransportError`` if a filter cannot be checked.
        """
        for criterion in self._criteria:
            if not criterion.accepts(record):
                return criterion.name, criterion.is_sent
        if self._period_field is not None:
            self._require_period(record, *self._period_field)
        if self._checks_updates:
            moment = update_time(record)
            if moment is None:
                name = Filter.FROM if self._filters.start else Filter.TO
                raise _uncheckable_filter(name, UPDATE_FIELD)
            failed = self._exceeded_bound(moment)
            if failed is not None:
                return failed, True
        if self._limit is not None and records_before >= self._limit:
            return Filter.LIMIT, True
        return None

    def _require_period(self, record: Record, within: str, field: str) -> None:
        """Raise ``TransportError`` if an item of a record is of another period, or of none.

        A record's totals are those of its period: then the whole record is wrong.
        """
        for inner in record.get(within) or ():
            moment = update_time(inner, field)
            if moment is None:
                raise _uncheckable_filter(Filter.FROM, f"{within}.{field}")
            if self._exceeded_bound(moment) is not None:
                raise TransportError(
                    Text(
                        pt="O sistema não respondeu pelo período pedido: {field} veio com {day}.",
                        en="The system did not answer for the period asked for: {field} came with "
                        "{day}.",
                    ).format(field=f"{within}.{field}", day=f"{moment:%d/%m/%Y}"),
                    Text(
                        pt="Nada foi gravado: os saldos e os totais são de outro período.",
                        en="Nothing was written: the balances and totals are those of another "
                        "period.",
                    ),
                )

    def _exceeded_bound(self, moment: datetime) -> Filter | None:
        """Return the bound of the period that a moment exceeds; both minutes are included."""
        minute = moment.replace(second=0, microsecond=0)
        if self._filters.start and minute < self._filters.start:
            return Filter.FROM
        if self._filters.end and minute > self._filters.end:
            return Filter.TO
        return None


def _criteria(listing: Listing, filters: Filters) -> Iterator[Criterion]:
    fields = listing.model.model_fields
    for name, value in filters.values.items():
        found = [field_name for field_name in name.type.record_fields if field_name in fields]
        for field_name in found if name.type.is_empty else found[:1]:
            yield Criterion(
                name=name,
                field=field_name,
                values=frozenset(
                    _comparable(name.type, one)
                    for one in (value if isinstance(value, tuple) else (value,))
                ),
                is_sent=name not in listing.local_filters,
                is_undocumented=name in listing.undocumented,
            )


_NUMBER = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?").fullmatch
_BOOLEANS = {"true": True, "false": False}


def _comparable(kind: FilterType, value: object) -> object:
    """Return a value so that equal ones compare equal: as a number, a yes or no, or a text.

    A value that is none of its kind is returned as a text.
    """
    text = str(value).strip()
    if kind.is_document:
        return text.translate(_PUNCTUATION).upper()
    if kind.is_flag and not kind.is_nonzero:
        return _BOOLEANS.get(text.lower(), text)
    is_number = kind.kind not in (ValueKind.TEXT, ValueKind.TEXTS) and _NUMBER(text)
    return Decimal(text) if is_number else text


_PUNCTUATION: Mapping[int, None] = dict.fromkeys(map(ord, "./- "))


def _uncheckable_filter(name: Filter, field: str, value: object = None) -> TransportError:
    """Return the error for a filter that the system may have ignored.

    The ``value`` of the field is not of its type; without one, the record lacks the field.
    """
    reason = _WITHOUT_FIELD if value is None else _ODD_VALUE
    names = {"name": name, "title": name.label}
    return TransportError(
        reason.format(**names, field=field, value=str(value)[:_MAX_SHOWN_LENGTH]),
        Text(
            pt="Exporte sem --{name}.",
            en="Export without --{name}.",
            page=Text(
                pt="Exporte sem o filtro “{title}”.",
                en="Export without the filter “{title}”.",
            ),
        ).format(**names),
    )


_MAX_SHOWN_LENGTH = 40
_WITHOUT_FIELD = Text(
    pt="Não há como saber se o sistema filtrou por --{name}: um registro veio sem {field}.",
    en="It is not known whether the system applied --{name}: a record came without {field}.",
    page=Text(
        pt="Não há como saber se o sistema filtrou por “{title}”: um registro veio sem {field}.",
        en="It is not known whether the system applied “{title}”: a record came without {field}.",
    ),
)
_ODD_VALUE = Text(
    pt="Não há como saber se o sistema filtrou por --{name}: {field} veio com {value!r}.",
    en="It is not known whether the system applied --{name}: {field} came with {value!r}.",
    page=Text(
        pt="Não há como saber se o sistema filtrou por “{title}”: {field} veio com {value!r}.",
        en="It is not known whether the system applied “{title}”: {field} came with {value!r}.",
    ),
)


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
