"""Fetch all records of a listing into a store, call by call and window by window.

``docs/exports.md`` explains how records that change during the export are treated.
"""

import logging
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from xlbridge.client import Client, Record
from xlbridge.client.time_windows import CLOCK_TOLERANCE, Window, WindowEnds, WindowSplitter
from xlbridge.errors import NOT_AS_DOCUMENTED, TransportError, TruncatedAnswer
from xlbridge.export.filters import NO_FILTERS, Filter, Filters
from xlbridge.export.listing_model import (
    FetchedWindow,
    InferredValues,
    Listing,
    ListingCall,
    PerRecord,
    PerValue,
)
from xlbridge.export.part_reader import LineSpec, PartReader
from xlbridge.export.part_store import Part, PartStore, temporary_folder
from xlbridge.i18n import Text, joined

_LOGGER = logging.getLogger(__name__)


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

    @property
    def text(self) -> Text:
        """Numbers of what was fetched and of what is left, in words."""
        texts = [(_FETCHED_KEYS if self.is_of_keys else _FETCHED).format(n=self.records)]
        if self.records_left is not None:
            texts.append(_RECORDS_LEFT.format(n=self.records_left))
        elif self.windows_left is not None:
            texts.append(_WINDOWS_LEFT.format(n=self.windows_left))
        return joined(texts, ", ")


_FETCHED = Text(pt="{n} {n:registro|registros}", en="{n} {n:record|records}")
_FETCHED_KEYS = Text(pt="lendo primeiro as chaves: {n}", en="reading keys first: {n}")
_RECORDS_LEFT = Text(pt="{n:falta|faltam} {n} a consultar", en="{n} left to read")
_WINDOWS_LEFT = Text(
    pt="{n:falta|faltam} {n} {n:período|períodos}", en="{n} {n:window|windows} left"
)

OnProgress = Callable[[ExportProgress], None]

_MONTHS_BACK = 36
"""Number of monthly windows; everything updated before them is one window."""

_RECORDS_PER_PART = 100
"""Maximum number of records per part when they are read by key."""

_MAX_SHOWN_LENGTH = 40
_CODE = re.compile(r"([0-9]{1,15})(?:\.0+)?").fullmatch
"""A number as a code; a system may send 1 as 1.0."""


class Fetcher:
    """Fetches one listing. ``on_record`` receives every record unchanged, from any thread.

    ``known_ids`` are numbers of records that no listing names. ``reader`` counts the calls and
    has the keys that do not exist. ``fetched`` are the windows,
    ``holes`` those that cannot be proven complete, ``reused`` the number of windows of an earlier
    run. ``excess`` counts by filter the records that the system should not have sent;
    ``inferred_values`` are the values used for a filter that was not given. ``last_update`` is
    the latest update time as received. ``ends`` is how the system reads the end of a window, None
    if that is unknown.
    """

    def __init__(
        self,
        client: Client,
        listing: Listing,
        filters: Filters,
        store: PartStore,
        spec: LineSpec,
        *,
        on_record: Callable[[Record], None] | None = None,
        on_progress: OnProgress = lambda _advance: None,
        at_once: int = 2,
        now: datetime | None = None,
        known_ids: Sequence[int] | None = None,
    ) -> None:
        self._client = client
        self._listing = listing
        self._filters = filters
        self._store = store
        self._on_progress = on_progress
        self._at_once = at_once
        self._known_ids = known_ids
        self.started = now or datetime.now()
        self.reader = PartReader(client, listing, spec, on_record=on_record, on_count=self._report)
        self._lock = threading.Lock()
        self._records = 0
        self._windows_left: int | None = None
        self._keys_to_read: int | None = None
        self.fetched: list[FetchedWindow] = []
        self.reused = 0
        self.holes: list[FetchedWindow] = []
        self.excess: Counter[str] = Counter()
        self.inferred_values: InferredValues | None = None
        self.last_update = ""
        self.ends: WindowEnds | None = None
        self._heeds_windows: bool | None = None

    def run(self) -> None:
        """Fetch everything. Raises what ``Client.records`` raises."""
        listing, filters = self._listing, self._filters
        is_one_call = any(name in filters.values for name in ("document", "idws", "limit"))
        self._report(0)
        if listing.per_record is not None:
            self._fetch_all(self._calls_by_key(listing.per_record))
        elif listing.per_value is not None:
            self._fetch_all(self._calls_by_value(listing.per_value))
        elif is_one_call or not listing.is_windowed:
            self._fetch_all([(call,) for call in _plain_calls(listing, filters)])
        else:
            try:
                if listing.cap is not None:
                    self._fetch_capped(listing.cap)
                else:
                    # Final windows concurrently, then those that may change.
                    windows = _monthly_windows(filters, self.started)
                    final = [window for window in windows if _is_final(window, self.started)]
                    self._windows_left = len(windows)
                    self._report(0)
                    self._fetch_all((self._window_call(window),) for window in final)
                    for window in windows[len(final) :]:
                        self._keep(window, self._fetch_part((self._window_call(window),)))
            except _IgnoredWindows:
                # All in one answer, filtered here.
                self.ends, self._heeds_windows = WindowEnds.IGNORED, False
                self.reader.check_updates()
                self._store.forget_parts_set_aside()
                self._windows_left = None
                window = Window(filters.start, filters.end)
                part = self._fetch_part((self._window_call(window),), is_kept=False)
                is_full = listing.cap is not None and part.received >= listing.cap
                self._keep(window, part, saturated=is_full)

    def _fetch_capped(self, cap: int) -> None:
        """Fetch a capped listing from its earliest window on; full windows are split."""
        splitter = WindowSplitter(Window(self._filters.start, self._filters.end), cap, self.started)
        while (window := splitter.next) is not None:
            is_test = splitter.is_testing
            part = None
            if not is_test:
                part = self._count_reused(self._store.finished_part_from(window.start))
            if part is None or part.window is None:
                call = self._window_call(window, splitter.requested)
                part = self._fetch_part((call,), is_kept=not is_test)
            else:
                window = splitter.next = part.window
            is_done = splitter.add_answer(part.update_times, part.received)
            _LOGGER.info(
                "%s from %s to %s: %d records, %s",
                self._listing.name,
                window.start,
                window.end,
                part.received,
                "whole" if is_done else "perhaps cut, so its parts follow",
            )
            if is_done:
                self._keep(window, part, saturated=part.received >= splitter.cap)
            else:
                self._store.set_aside(part)
                self._report(-part.records)
            if self.ends is not WindowEnds.OTHER:
                self.ends = splitter.ends
            if splitter.ends is WindowEnds.IGNORED:
                raise _IgnoredWindows

    def _count_reused(self, part: Part | None) -> Part | None:
        """Count a part of an earlier run, if there is one."""
        if part is not None:
            self.reused += 1
            self._report(part.records)
        return part

    def _window_call(self, window: Window, requested: Window | None = None) -> ListingCall:
        """Return the call for a window, by another one if the system reads its end differently."""
        operation = self._listing.operation
        bounds = requested or window
        within = self._filters.within(bounds.start, bounds.end)
        return ListingCall(operation, query=within.query(operation.query), window=window)

    def _calls_by_key(self, by_key: PerRecord) -> Iterator[Sequence[ListingCall]]:
        """Yield the calls that read records by key, in batches."""
        ids = self._filters.values.get(by_key.filter) if by_key.filter else None
        if ids is None and by_key.source is not None:
            paths = self._source_paths(by_key, by_key.source)
        else:
            (parameter,) = by_key.path
            if ids is None:
                ids = tuple(self._known_ids or ())
                self.inferred_values = InferredValues(Filter.ID, ids)
            self._keys_to_read = len(ids)
            self._report(0)
            paths = ({parameter: str(code)} for code in ids)
        while batch := tuple(islice(paths, _RECORDS_PER_PART)):
            yield [ListingCall(self._listing.operation, path) for path in batch]

    def _source_paths(self, by_key: PerRecord, source: Listing) -> Iterator[dict[str, object]]:
        """Yield each distinct key of the source's records, after all of them were fetched.

        Known ids that were not among them follow, if the listing accepts them.
        """
        offered = {n: v for n, v in self._filters.values.items() if n in source.filters}
        fields = tuple(by_key.path.values())
        takes_known_ids = self._listing.accepts_known_ids(self._filters)
        others = {str(code): None for code in self._known_ids or () if takes_known_ids}
        for key in self._distinct_values(source, fields, Filters(offered)):
            if None in key:
                self._keys_to_read = (self._keys_to_read or 0) - 1
            else:
                others.pop(str(key[0]), None)
                yield dict(zip(by_key.path, key, strict=True))
        self._keys_to_read = (self._keys_to_read or 0) + len(others)
        for code in others:
            yield dict.fromkeys(by_key.path, code)

    def _calls_by_value(self, per: PerValue) -> Iterator[Sequence[ListingCall]]:
        """Yield a call for each value of a filter that takes one value per call."""
        operation = self._listing.operation
        values = self._filters.values.get(per.filter)
        if values is None:
            found = {
                _code(value, per.field)
                for source in per.sources
                for (value,) in self._distinct_values(source, (per.field,), NO_FILTERS)
                if value is not None
            }
            values = tuple(sorted(found))
            self.inferred_values = InferredValues(per.filter, values)
        for value in values:
            filters = Filters({**self._filters.values, per.filter: value})
            query = filters.query(operation.query)
            yield (ListingCall(operation, query=query, known_fields={per.field: str(value)}),)

    def _distinct_values(
        self, source: Listing, fields: tuple[str, ...], filters: Filters
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the distinct values of some fields of another listing's records."""
        source = replace(source, key=fields)
        spec = LineSpec.keys_only(source, filters)
        with temporary_folder() as folder, closing(PartStore(folder, spec.line_files)) as store:
            fetcher = Fetcher(
                self._client,
                source,
                filters,
                store,
                spec,
                on_progress=lambda advance: self._on_progress(replace(advance, is_of_keys=True)),
            )
            fetcher.run()
            self.holes += fetcher.holes
            self.excess += fetcher.excess
            self._keys_to_read, keys = store.distinct_keys()
            self._report(0)
            yield from keys

    def _fetch_all(self, batches: Iterable[Sequence[ListingCall]]) -> None:
        """Fetch parts concurrently, and keep them in their order."""
        pending: list[tuple[Sequence[ListingCall], Part | Future[Part]]] = []
        with ThreadPoolExecutor(self._at_once) as threads:
            try:
                for calls in batches:
                    finished = self._count_reused(self._store.finished_part(calls[0].window))
                    pending.append((calls, finished or threads.submit(self._fetch_part, calls)))
                    if len(pending) > self._at_once:
                        self._keep_first(pending)
                while pending:
                    self._keep_first(pending)
            except BaseException as error:
                if not isinstance(error, _IgnoredWindows):
                    self.reader.stop()
                for _, found in pending:
                    if isinstance(found, Future):
                        found.cancel()
                raise

    def _keep_first(self, pending: list[tuple[Sequence[ListingCall], Part | Future[Part]]]) -> None:
        calls, found = pending.pop(0)
        part = found if isinstance(found, Part) else found.result()
        keys = [call.record_key for call in (calls[0], calls[-1]) if call.record_key]
        self._keep(calls[0].window, part, keys=keys)

    def _keep(
        self,
        window: Window,
        part: Part,
        *,
        saturated: bool = False,
        keys: Sequence[Mapping[str, object]] = (),
    ) -> None:
        if self._heeds_windows is None and self._shows_other_records(window, part):
            call = self._window_call(window.empty_one(part.update_span or (), self.started))
            test = self._fetch_part((call,), is_kept=False)
            self._heeds_windows = test.received == 0
            if self._heeds_windows and part.update_span:
                self.ends = WindowEnds.OTHER
            self._report(-test.records)
        if self._heeds_windows is False and self.ends is not WindowEnds.IGNORED:
            self._report(-part.records)
            raise _IgnoredWindows
        self._store.keep(part)
        self.last_update = max(self.last_update, part.last_update)
        limit = self._filters.values.get(Filter.LIMIT)
        limited = limit is not None and part.received >= limit
        self.excess.update(part.excess)
        fetched = FetchedWindow(
            window, part.records, saturated or limited, part.digest, limited, tuple(keys)
        )
        self.fetched.append(fetched)
        if saturated:
            self.holes.append(fetched)
        if self._windows_left:
            self._windows_left -= 1
        self._report(0)

    def _shows_other_records(self, window: Window, part: Part) -> bool:
        """Return whether a part has records far from its window, or those of another one.

        The system ignores windows then, or filters by another time than it shows.
        """
        if span := part.update_span:
            return any(map(window.is_far_from, span))
        windows = {one.window for one in self.fetched if one.records and one.digest == part.digest}
        return part.records > 0 and bool(windows - {window})

    def _fetch_part(self, calls: Sequence[ListingCall], *, is_kept: bool = True) -> Part:
        """Make some calls as one part, again if an answer breaks off.

        Calls without an answer, or with an error, are repeated by the client. With ``is_kept`` a
        later run can use the part.
        """
        window, cap = calls[0].window, self._listing.cap

        def attempt() -> Part | TruncatedAnswer:
            part = self._store.new_part()
            try:
                self.reader.read(part, calls)
            except TruncatedAnswer as error:
                self._report(-part.records)
                return error
            if is_kept and _is_final(window, self.started) and (cap is None or part.received < cap):
                part.save(window, self.started)
            return part

        def least_pause(result: Part | TruncatedAnswer) -> float | None:
            return None if isinstance(result, Part) or self.reader.is_stopped else 0.0

        # An answer may take minutes to arrive: only the number of attempts is limited.
        policy = replace(self._client.retry_policy, total=math.inf)
        result = policy.repeat(attempt, least_pause)
        if isinstance(result, TruncatedAnswer):
            raise result
        return result

    def _report(self, more: int) -> None:
        with self._lock:
            self._records += more
            left = None if self._keys_to_read is None else self._keys_to_read - self.reader.done
            windows = len(self.fetched)
            self._on_progress(ExportProgress(self._records, windows, self._windows_left, left))


class _IgnoredWindows(Exception):
    """The system does not heed the windows of last-update times."""


def _plain_calls(listing: Listing, filters: Filters) -> Iterator[ListingCall]:
    """Yield the calls of a listing without windows."""
    for name, operation in listing.path_filters.items():
        if name in filters.values:
            (parameter,) = operation.path_parameters
            value = filters.values[name]
            for code in value if isinstance(value, tuple) else (value,):
                yield ListingCall(operation, {parameter: code})
            return
    yield ListingCall(listing.operation, query=filters.query(listing.operation.query))


def _monthly_windows(filters: Filters, now: datetime) -> list[Window]:
    """Return windows that cover the period of the filters, the earliest first.

    Each is a month; the first is everything updated before, the last the time in which records
    may change during the export. Each begins with the last minute of the one before it: a system
    may leave out the last minute of a window, or all but its first second.
    """
    last = _first_of_month(now - CLOCK_TOLERANCE)
    bounds = [last]
    for _ in range(_MONTHS_BACK):
        bounds.append(_first_of_month(bounds[-1] - timedelta(days=1)))
    inside = [
        bound
        for bound in reversed(bounds)
        if (filters.start is None or bound > filters.start)
        and (filters.end is None or bound <= filters.end)
    ]
    starts = [filters.start, *inside]
    ends = [*inside, filters.end]
    return [Window(start, end) for start, end in zip(starts, ends, strict=True)]


def _is_final(window: Window, now: datetime) -> bool:
    """Return whether a window is past by any clock, so that no record can enter it any more."""
    return window.end is not None and window.end < now - CLOCK_TOLERANCE


def _first_of_month(moment: datetime) -> datetime:
    return moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _code(value: object, field: str) -> int:
    """Return a code from another listing. Raises ``TransportError`` if it is not one."""
    text = str(value)
    code = _CODE(text)
    if code is None:
        raise TransportError(
            Text(
                pt="O sistema informou {field} {text!r}, que não é um código.",
                en="The system returned {field} {text!r}, which is not a code.",
            ).format(field=field, text=text[:_MAX_SHOWN_LENGTH]),
            NOT_AS_DOCUMENTED,
        )
    return int(code[1])
