"""Read answers into parts: in this process as they come in, or in line processes."""

import json
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from http import HTTPStatus
from itertools import count
from queue import SimpleQueue
from threading import Lock
from types import TracebackType
from typing import Any, Self

from xlbridge.client import Client, Record
from xlbridge.client.listings import ListingAnswer, TruncatedBody, is_plain_success
from xlbridge.errors import RemoteRejected
from xlbridge.export.listing import Listing, PerRecord
from xlbridge.export.parts import LineSpec, Part, PartWriter
from xlbridge.export.windows import ListingCall
from xlbridge.processes import HelperProcess, available_cpus

_START_AFTER_BYTES = 2**20
"""So many bytes of answers are read before others are called: small exports need none."""

_PROCESS_MODULE = "xlbridge.export.line_process"


class LineWorkers:
    """The processes of one export, for the length of a ``with`` block.

    They begin once the answers have shown to be large, one for each call that is made at once, and
    none where there is no second core. They get a recipe and answers, no credentials and no
    connection. An answer that one of them made nothing of, or was lost over, is left to this
    process, which can also tell what is wrong with it.
    """

    def __init__(self, recipe: LineSpec, at_once: int) -> None:
        wanted = min(at_once, available_cpus())
        self.count = wanted if wanted > 1 else 0
        self._recipe = recipe
        self._bytes = 0
        self._begun: list[_LineWorker] = []
        self._idle: SimpleQueue[_LineWorker] = SimpleQueue()
        self._closed = not self.count
        self._lock = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()
        for maker in self._begun:
            maker.wait()

    def stop(self) -> None:
        """End them and what they are at."""
        with self._lock:
            self._closed = True
            for maker in self._begun:
                maker.kill()

    def see(self, size: int) -> None:
        """Count so many bytes of answers."""
        with self._lock:
            self._bytes += size
            if self._bytes < _START_AFTER_BYTES or self._begun or self._closed:
                return
            try:
                for _ in range(self.count):
                    maker = _LineWorker(self._recipe)
                    self._begun.append(maker)
                    self._idle.put(maker)
            except OSError:
                # The system lets no more processes begin: what there are must do, or this one.
                self._closed = True

    @property
    def have_begun(self) -> bool:
        """True while they can be asked."""
        return bool(self._begun)

    def make(self, part: Part, on_records: Callable[[int], None]) -> dict[str, Any] | None:
        """Make the lines of a part from its answer, when one of the processes is free.

        ``on_records`` is told how many more records came. Returns the answer's envelope without
        the records, None where the part has to be made here.
        """
        maker = self._idle.get()
        try:
            return maker.envelope_of(part, on_records)
        finally:
            self._idle.put(maker)


class _LineWorker(HelperProcess):
    """One process."""

    def __init__(self, recipe: LineSpec) -> None:
        super().__init__(_PROCESS_MODULE)
        with suppress(OSError):
            self._send(pickle.dumps(recipe))

    def envelope_of(self, part: Part, on_records: Callable[[int], None]) -> dict[str, Any] | None:
        """Make a part; None where the process returned nothing, or is gone."""
        counted = 0
        with suppress(OSError):
            self._send(json.dumps(str(part.folder)).encode() + b"\n")
        while "records" in (told := self._told()):
            counted += told["records"]
            on_records(told["records"])
        made = told.get("made")
        if made is not None:
            part.take_in(made)
        on_records((0 if made is None else part.records) - counted)
        return None if made is None else dict(made["envelope"])

    def _told(self) -> dict[str, Any]:
        """Return what the process tells next, nothing where it is gone."""
        try:
            return dict(json.loads(self.pipes[1].readline()))
        except (OSError, ValueError):
            return {}

    def _send(self, what: bytes) -> None:
        orders, _ = self.pipes
        orders.write(what)
        orders.flush()


_NOT_FOUND = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)


class Stopped(Exception):
    """Another part has failed, or the user has interrupted."""


class PartReader:
    """Makes the calls of a listing, not more than ``at_once``, from any thread.

    ``on_record`` is given every record as it came, ``on_records`` how many more there are, or
    fewer; both from any thread. ``calls`` are counted; ``missing`` are the keys that were asked for
    and are not there; ``done`` counts the requests that have been read one after the other.
    """

    def __init__(
        self,
        client: Client,
        listing: Listing,
        recipe: LineSpec,
        workers: LineWorkers,
        at_once: int,
        *,
        on_record: Callable[[Record], None] | None,
        on_records: Callable[[int], None],
    ) -> None:
        self._client = client
        self._each = listing.each
        self._recipe = recipe
        self._maker = PartWriter(recipe)
        self._workers = workers
        self._on_record = on_record
        self._on_records = on_records
        self._on_their_way = threading.Semaphore(at_once)
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self.calls = 0
        self.done = 0
        self.missing: list[dict[str, object]] = []

    def stop(self) -> None:
        """Let what is under way end, with ``Stopped`` or another error."""
        self._stop.set()
        self._workers.stop()

    @property
    def is_stopped(self) -> bool:
        """True once everything is to end."""
        return self._stop.is_set()

    def read(self, part: Part, requests: Sequence[ListingCall]) -> None:
        """Make the calls of a part. Raises what ``Client.records`` raises, and ``Stopped``."""
        with self._on_their_way:
            self._read(part, requests)

    def read_with_help(self, part: Part, request: ListingCall) -> None:
        """Do the same with one call of many: once they are large, others make the lines.

        Then the answer waits on disk, and the next call goes out meanwhile.
        """
        with self._on_their_way:
            if not self._workers.have_begun:
                self._read(part, [request])
                return
            with self._called(request, request.path) as answer:
                broken = _save_answer(part, self._watched(answer))
        try:
            if broken or not self._made_elsewhere(part):
                with part:
                    self._add(part, answer, _read_until(part.answer(), broken), {})
                self._maker.describe(part)
        finally:
            part.forget_answer()

    def _made_elsewhere(self, part: Part) -> bool:
        """Make the lines of an answer on disk; return whether it was a valid one."""
        envelope = self._workers.make(part, self._on_records)
        if envelope is None or is_plain_success(envelope):
            return envelope is not None
        self._on_records(-part.records)
        return False

    def _read(self, part: Part, requests: Sequence[ListingCall]) -> None:
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
                self._add(part, answer, part.seen(self._watched(answer)), known)
        except RemoteRejected as error:
            if not path or error.status not in _NOT_FOUND:
                raise
            is_there = False
        else:
            is_there = part.records > before or not request.operation.names_one_record(
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
            self._workers.see(len(piece))
            yield piece

    def _add(
        self, part: Part, answer: ListingAnswer, pieces: Iterable[bytes], known: Record
    ) -> None:
        for record in answer.records(pieces, self._recipe.shape, self._recipe.numbers):
            if self.is_stopped:
                raise Stopped
            if not self._maker.add(part, record, known):
                continue
            if self._on_record is not None:
                self._on_record(known | record)
            self._on_records(1)


def _known_fields(each: PerRecord | None, request: ListingCall) -> Record:
    """Return what a call by key, or for one value, knows of its records."""
    by_key = {each.path[name]: value for name, value in request.path.items()} if each else {}
    return {**request.known, **by_key}


def _save_answer(part: Part, pieces: Iterable[bytes]) -> TruncatedBody | None:
    """Keep an answer as far as it comes; say whether it broke off."""
    try:
        part.keep_answer(pieces)
    except TruncatedBody as broken:
        return broken
    return None


def _read_until(pieces: Iterable[bytes], broken: TruncatedBody | None) -> Iterator[bytes]:
    yield from pieces
    if broken is not None:
        raise broken
