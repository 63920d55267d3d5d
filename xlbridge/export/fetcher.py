"""Fetch all records of a listing into a store, call by call and window by window.

``docs/exports.md`` explains how records that change during the export are treated.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from xlbridge.client import Client, Record
from xlbridge.client.listings import Window, WindowSplitter
from xlbridge.errors import TransportError, TruncatedAnswer
from xlbridge.export.export_calls import (
    ExportProgress,
    FetchedWindow,
    InferredValues,
    OnProgress,
    calls_per_value,
    is_final,
    monthly_windows,
    plain_calls,
    window_call,
)
from xlbridge.export.filters import NO_FILTERS, Filter, Filters
from xlbridge.export.layout import keys_only_spec
from xlbridge.export.listing_model import Listing, ListingCall, PerRecord, PerValue
from xlbridge.export.part_reader import PartReader
from xlbridge.export.part_store import PartStore
from xlbridge.export.parts import LineSpec, Part
from xlbridge.i18n import Text

_RECORDS_PER_PART = 100
"""Maximum number of records per part when they are read by key."""

_MAX_CODE_LENGTH, _MAX_SHOWN_LENGTH = 15, 40


class Fetcher:
    """Fetches one listing. ``on_record`` receives every record unchanged, from any thread.

    ``known_ids`` are numbers of records that no listing names. ``fetched`` are the windows,
    ``holes`` those that cannot be proven complete, ``reused`` the number of windows of an earlier
    run. ``excess`` counts by filter the records that the system should not have sent;
    ``inferred_values`` are the values used for a filter that was not given. ``last_update`` is
    the latest update time as received.
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
        self._reader = PartReader(client, listing, spec, on_record=on_record, on_count=self._report)
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

    def run(self) -> None:
        """Fetch everything. Raises what ``Client.records`` raises."""
        listing = self._listing
        self._report(0)
        if listing.per_record is not None:
            self._fetch_all(self._calls_by_key(listing.per_record))
        elif listing.per_value is not None:
            self._fetch_all(self._calls_by_value(listing.per_value))
        elif not self._uses_windows:
            self._fetch_all([(r,) for r in plain_calls(listing, self._filters)])
        elif listing.cap is not None:
            self._fetch_capped(listing.cap)
        else:
            self._fetch_by_month()

    @property
    def calls(self) -> int:
        """Number of calls so far."""
        return self._reader.calls

    @property
    def missing(self) -> Sequence[dict[str, object]]:
        """Requested keys that do not exist."""
        return self._reader.missing

    @property
    def _uses_windows(self) -> bool:
        is_one_call = any(name in self._filters.values for name in ("document", "idws", "limit"))
        return self._listing.is_windowed and not is_one_call

    def _fetch_capped(self, cap: int) -> None:
        """Fetch a capped listing from its earliest window on; full windows are split."""
        splitter = WindowSplitter(Window(self._filters.start, self._filters.end), cap, self.started)
        while (window := splitter.next) is not None:
            part = self._count_reused(self._store.finished_part_from(window.start))
            if part is None or part.window is None:
                part = self._fetch_part(
                    (window_call(self._listing.operation, self._filters, window),)
                )
            else:
                window = splitter.next = part.window
            if splitter.add_answer(part.update_times, part.received):
                self._keep(window, part, saturated=part.received >= cap)
            else:
                self._report(-part.records)

    def _count_reused(self, part: Part | None) -> Part | None:
        """Count a part of an earlier run, if there is one."""
        if part is not None:
            self.reused += 1
            self._report(part.records)
        return part

    def _fetch_by_month(self) -> None:
        """Fetch an uncapped listing: final windows concurrently, then those that may change."""
        windows = monthly_windows(self._filters, self.started)
        requests = [window_call(self._listing.operation, self._filters, w) for w in windows]
        final = [(r,) for r in requests if is_final(r.window, self.started)]
        self._windows_left = len(requests)
        self._report(0)
        self._fetch_all(final)
        for request in requests[len(final) :]:
            self._keep(request.window, self._fetch_part((request,)))

    def _calls_by_key(self, by_key: PerRecord) -> Iterator[Sequence[ListingCall]]:
        """Yield the calls that read records by key, in batches."""
        ids = self._filters.values.get(by_key.filter) if by_key.filter else None
        if ids is None and by_key.source is not None:
            paths = self._source_paths(by_key, by_key.source)
            if self._listing.accepts_known_ids(self._filters):
                paths = self._with_known_ids(by_key, paths)
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

    def _calls_by_value(self, per: PerValue) -> Iterator[Sequence[ListingCall]]:
        """Yield a call for each value of a filter that takes one value per call."""
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
        for call in calls_per_value(self._listing, self._filters, per, values):
            yield (call,)

    def _source_paths(self, by_key: PerRecord, source: Listing) -> Iterator[dict[str, object]]:
        """Yield each distinct key of the source's records, after all of them were fetched."""
        offered = {n: v for n, v in self._filters.values.items() if n in source.filters}
        for key in self._distinct_values(source, tuple(by_key.path.values()), Filters(offered)):
            if None in key:
                self._keys_to_read = (self._keys_to_read or 0) - 1
            else:
                yield dict(zip(by_key.path, key, strict=True))

    def _with_known_ids(
        self, by_key: PerRecord, paths: Iterator[dict[str, object]]
    ) -> Iterator[dict[str, object]]:
        """Yield the source's keys, then the known ids that were not among them."""
        (parameter,) = by_key.path
        from_source = set()
        for path in paths:
            from_source.add(str(path[parameter]))
            yield path
        others = [str(code) for code in self._known_ids or () if str(code) not in from_source]
        self._keys_to_read = (self._keys_to_read or 0) + len(others)
        for code in others:
            yield {parameter: code}

    def _distinct_values(
        self, source: Listing, fields: tuple[str, ...], filters: Filters
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the distinct values of some fields of another listing's records."""
        source = replace(source, key=fields)
        with (
            TemporaryDirectory(prefix="xlbridge-") as folder,
            closing(PartStore(Path(folder), sheets=1)) as store,
        ):
            fetcher = Fetcher(
                self._client,
                source,
                filters,
                store,
                keys_only_spec(source, filters),
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
        pending: list[tuple[Sequence[ListingCall], Future[Part]]] = []
        with ThreadPoolExecutor(self._at_once) as threads:
            try:
                for requests in batches:
                    pending.append((requests, self._submit(requests, threads)))
                    if len(pending) > self._at_once:
                        self._keep_first(pending)
                while pending:
                    self._keep_first(pending)
            except BaseException:
                self._reader.stop()
                for _, future in pending:
                    future.cancel()
                raise

    def _submit(self, requests: Sequence[ListingCall], threads: ThreadPoolExecutor) -> Future[Part]:
        finished = self._count_reused(self._store.finished_part(requests[0].window))
        if finished is None:
            return threads.submit(self._fetch_part, requests)
        done: Future[Part] = Future()
        done.set_result(finished)
        return done

    def _keep_first(self, pending: list[tuple[Sequence[ListingCall], Future[Part]]]) -> None:
        requests, future = pending.pop(0)
        keys = [call.record_key for call in (requests[0], requests[-1]) if call.record_key]
        self._keep(requests[0].window, future.result(), keys=keys)

    def _keep(
        self,
        window: Window,
        part: Part,
        *,
        saturated: bool = False,
        keys: Sequence[Mapping[str, object]] = (),
    ) -> None:
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

    def _fetch_part(self, requests: Sequence[ListingCall]) -> Part:
        """Fetch some calls as one part, again if an answer breaks off.

        Calls without an answer, or with an error, are repeated by the client.
        """

        def attempt() -> Part | TruncatedAnswer:
            part = self._store.new_part()
            try:
                self._read_part(part, requests)
            except TruncatedAnswer as error:
                self._report(-part.records)
                return error
            return part

        def least_pause(result: Part | TruncatedAnswer) -> float | None:
            return None if isinstance(result, Part) or self._reader.is_stopped else 0.0

        # An answer may take minutes to arrive: only the number of attempts is limited.
        policy = replace(self._client.retry_policy, total=math.inf)
        result = policy.repeat(attempt, least_pause)
        if isinstance(result, TruncatedAnswer):
            raise result
        return result

    def _read_part(self, part: Part, requests: Sequence[ListingCall]) -> None:
        self._reader.read(part, requests)
        window, cap = requests[0].window, self._listing.cap
        if is_final(window, self.started) and (cap is None or part.received < cap):
            part.save(window, self.started)

    def _report(self, more: int) -> None:
        with self._lock:
            self._records += more
            left = None if self._keys_to_read is None else self._keys_to_read - self._reader.done
            windows = len(self.fetched)
            self._on_progress(ExportProgress(self._records, windows, self._windows_left, left))


def _code(value: object, field: str) -> int:
    """Return a code from another listing. Raises ``TransportError`` if it is not one."""
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_CODE_LENGTH):
        raise TransportError(
            Text(
                pt="O sistema informou {field} {text!r}, que não é um código.",
                en="The system returned {field} {text!r}, which is not a code.",
            ).format(field=field, text=text[:_MAX_SHOWN_LENGTH])
        )
    return int(text)
