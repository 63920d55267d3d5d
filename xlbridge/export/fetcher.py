"""Fetch all records of a listing into a store, call by call and window by window.

Records that change while the export runs are treated in ``docs/exports.md``.
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
from xlbridge.export.filters import NO_FILTERS, Filter, Filters
from xlbridge.export.layout import keys_only_spec
from xlbridge.export.listing_model import Listing, ListingCall, PerRecord, PerValue
from xlbridge.export.part_reader import PartReader
from xlbridge.export.part_store import PartStore
from xlbridge.export.parts import LineSpec, Part
from xlbridge.export.windows import (
    ExportProgress,
    FetchedWindow,
    OnProgress,
    SeenValues,
    calls_per_value,
    is_final,
    monthly_windows,
    plain_calls,
    window_call,
)
from xlbridge.i18n import Text

_RECORDS_PER_PART = 100
"""Maximum number of records of a part that are read one by one."""

_MAX_CODE_LENGTH, _MAX_SHOWN_LENGTH = 15, 40


class Fetcher:
    """Fetches one listing. ``on_record`` is given every record as it came, from any thread.

    ``known`` are numbers of records that the interface lists nowhere. ``fetched`` are the windows,
    ``holes`` those that cannot be proven whole, ``newest`` the last update seen, as it came.
    ``reused`` counts the windows that an earlier run had finished, ``excess`` by filter the records
    that the system sent though it was asked not to. ``seen`` are the values asked for where none
    were given and nothing lists them all.
    """

    def __init__(
        self,
        client: Client,
        listing: Listing,
        filters: Filters,
        store: PartStore,
        recipe: LineSpec,
        *,
        on_record: Callable[[Record], None] | None = None,
        on_progress: OnProgress = lambda _advance: None,
        at_once: int = 2,
        now: datetime | None = None,
        known: Sequence[int] | None = None,
    ) -> None:
        self._client = client
        self._listing = listing
        self._filters = filters
        self._store = store
        self._on_progress = on_progress
        self._at_once = at_once
        self._known_ids = known
        self.begun = now or datetime.now()
        self._reader = PartReader(
            client,
            listing,
            recipe,
            on_record=on_record,
            on_records=self._tell,
        )
        self._lock = threading.Lock()
        self._records = 0
        self._left: int | None = None
        self._one_by_one: int | None = None
        self.fetched: list[FetchedWindow] = []
        self.reused = 0
        self.holes: list[FetchedWindow] = []
        self.excess: Counter[str] = Counter()
        self.seen: SeenValues | None = None
        self.newest = ""

    def run(self) -> None:
        """Fetch everything. Raises what ``Client.records`` raises."""
        listing = self._listing
        self._tell(0)
        if listing.each is not None:
            self._all(self._each(listing.each))
        elif listing.per_value is not None:
            self._all(self._per_value(listing.per_value))
        elif not self._is_in_windows:
            self._all([(r,) for r in plain_calls(listing, self._filters)])
        elif listing.cap is not None:
            self._sweep(listing.cap)
        else:
            self._by_month()

    @property
    def calls(self) -> int:
        """Number of calls made so far."""
        return self._reader.calls

    @property
    def missing(self) -> Sequence[dict[str, object]]:
        """The keys that were asked for and are not there."""
        return self._reader.missing

    @property
    def _is_in_windows(self) -> bool:
        is_one_call = any(name in self._filters.given for name in ("document", "idws", "limit"))
        return self._listing.is_windowed and not is_one_call

    def _sweep(self, cap: int) -> None:
        """Fetch a capped listing, the earliest window first, each one once it is small enough."""
        splitter = WindowSplitter(Window(self._filters.start, self._filters.end), cap, self.begun)
        while (window := splitter.next) is not None:
            part = self._reused(self._store.finished_from(window.start))
            if part is None or part.window is None:
                part = self._part((window_call(self._listing.operation, self._filters, window),))
            else:
                window = splitter.next = part.window
            if splitter.answered(part.updated, part.answered):
                self._keep(window, part, saturated=part.answered >= cap)
            else:
                self._tell(-part.records)

    def _reused(self, part: Part | None) -> Part | None:
        """Count in a part that an earlier run finished."""
        if part is not None:
            self.reused += 1
            self._tell(part.records)
        return part

    def _by_month(self) -> None:
        """Fetch an uncapped listing: what is settled at once, what may still change afterwards."""
        windows = monthly_windows(self._filters, self.begun)
        requests = [window_call(self._listing.operation, self._filters, w) for w in windows]
        settled = [(r,) for r in requests if is_final(r.window, self.begun)]
        self._left = len(requests)
        self._tell(0)
        self._all(settled)
        for request in requests[len(settled) :]:
            self._keep(request.window, self._part((request,)))

    def _each(self, each: PerRecord) -> Iterator[Sequence[ListingCall]]:
        """Yield the calls that read records one by one, in batches."""
        given = self._filters.given.get(each.given) if each.given else None
        if given is None and each.source is not None:
            paths = self._source_keys(each, each.source)
            if self._listing.takes_known(self._filters):
                paths = self._with_known(each, paths)
        else:
            (parameter,) = each.path
            if given is None:
                given = tuple(self._known_ids or ())
                self.seen = SeenValues(Filter.ID, given)
            self._one_by_one = len(given)
            self._tell(0)
            paths = ({parameter: str(code)} for code in given)
        while batch := tuple(islice(paths, _RECORDS_PER_PART)):
            yield [ListingCall(self._listing.operation, path) for path in batch]

    def _per_value(self, per: PerValue) -> Iterator[Sequence[ListingCall]]:
        """Yield the calls for each value of the filter that the interface takes one of."""
        values = self._filters.given.get(per.filter)
        if values is None:
            found = {
                _code(value, per.field)
                for source in per.sources
                for (value,) in self._keys_of(source, (per.field,), NO_FILTERS)
                if value is not None
            }
            values = tuple(sorted(found))
            self.seen = SeenValues(per.filter, values)
        for call in calls_per_value(self._listing, self._filters, per, values):
            yield (call,)

    def _source_keys(self, each: PerRecord, source: Listing) -> Iterator[dict[str, object]]:
        """Yield each different key of the source's records, once all of them have come."""
        offered = {n: v for n, v in self._filters.given.items() if n in source.filters}
        for key in self._keys_of(source, tuple(each.path.values()), Filters(offered)):
            if None in key:
                self._one_by_one = (self._one_by_one or 0) - 1
            else:
                yield dict(zip(each.path, key, strict=True))

    def _with_known(
        self, each: PerRecord, paths: Iterator[dict[str, object]]
    ) -> Iterator[dict[str, object]]:
        """Yield the source's keys, then those that are known from elsewhere and were not there."""
        (parameter,) = each.path
        there = set()
        for path in paths:
            there.add(str(path[parameter]))
            yield path
        others = [str(code) for code in self._known_ids or () if str(code) not in there]
        self._one_by_one = (self._one_by_one or 0) + len(others)
        for code in others:
            yield {parameter: code}

    def _keys_of(
        self, source: Listing, fields: tuple[str, ...], filters: Filters
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the different values of some fields of another listing's records."""
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
            self._one_by_one, keys = store.different_keys()
            self._tell(0)
            yield from keys

    def _all(self, batches: Iterable[Sequence[ListingCall]]) -> None:
        """Fetch parts, a few at once, and keep them in their order."""
        waiting: list[tuple[Sequence[ListingCall], Future[Part]]] = []
        with ThreadPoolExecutor(self._at_once) as threads:
            try:
                for requests in batches:
                    waiting.append((requests, self._begin(requests, threads)))
                    if len(waiting) > self._at_once:
                        self._keep_first(waiting)
                while waiting:
                    self._keep_first(waiting)
            except BaseException:
                self._reader.stop()
                for _, future in waiting:
                    future.cancel()
                raise

    def _begin(self, requests: Sequence[ListingCall], threads: ThreadPoolExecutor) -> Future[Part]:
        finished = self._reused(self._store.finished(requests[0].window))
        if finished is None:
            return threads.submit(self._part, requests)
        done: Future[Part] = Future()
        done.set_result(finished)
        return done

    def _keep_first(self, waiting: list[tuple[Sequence[ListingCall], Future[Part]]]) -> None:
        requests, future = waiting.pop(0)
        named = [request.named for request in (requests[0], requests[-1]) if request.named]
        self._keep(requests[0].window, future.result(), keys=named)

    def _keep(
        self,
        window: Window,
        part: Part,
        *,
        saturated: bool = False,
        keys: Sequence[Mapping[str, object]] = (),
    ) -> None:
        self._store.keep(part)
        self.newest = max(self.newest, part.newest)
        limit = self._filters.given.get(Filter.LIMIT)
        limited = limit is not None and part.answered >= limit
        self.excess.update(part.excess)
        fetched = FetchedWindow(
            window, part.records, saturated or limited, part.digest, limited, tuple(keys)
        )
        self.fetched.append(fetched)
        if saturated:
            self.holes.append(fetched)
        if self._left:
            self._left -= 1
        self._tell(0)

    def _part(self, requests: Sequence[ListingCall]) -> Part:
        """Fetch some calls as one part, anew where an answer breaks off.

        The client repeats calls that get no answer, or an error, by itself.
        """

        def attempt() -> Part | TruncatedAnswer:
            part = self._store.new_part()
            try:
                self._read_part(part, requests)
            except TruncatedAnswer as error:
                self._tell(-part.records)
                return error
            return part

        def least_pause(result: Part | TruncatedAnswer) -> float | None:
            return None if isinstance(result, Part) or self._reader.is_stopped else 0.0

        # Answers may take minutes to come in; only how often they break off is bounded.
        policy = replace(self._client.retry_policy, total=math.inf)
        result = policy.repeat(attempt, least_pause)
        if isinstance(result, TruncatedAnswer):
            raise result
        return result

    def _read_part(self, part: Part, requests: Sequence[ListingCall]) -> None:
        self._reader.read(part, requests)
        window, cap = requests[0].window, self._listing.cap
        if is_final(window, self.begun) and (cap is None or part.answered < cap):
            part.finish(window, self.begun)

    def _tell(self, more: int) -> None:
        with self._lock:
            self._records += more
            left = None if self._one_by_one is None else self._one_by_one - self._reader.done
            self._on_progress(ExportProgress(self._records, len(self.fetched), self._left, left))


def _code(value: object, field: str) -> int:
    """Return a code that another listing told. Raises ``TransportError`` for what is none."""
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_CODE_LENGTH):
        raise TransportError(
            Text(
                pt="O sistema informou {field} {text!r}, que não é um código.",
                en="The system returned {field} {text!r}, which is not a code.",
            ).format(field=field, text=text[:_MAX_SHOWN_LENGTH])
        )
    return int(text)
