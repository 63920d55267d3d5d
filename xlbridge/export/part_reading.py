"""Calls into parts: each answer is read here as it comes in, or by a process beside this one."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from http import HTTPStatus
from itertools import count

from xlbridge.api.client import Client
from xlbridge.api.record_shape import Record
from xlbridge.api.records import ListingAnswer, is_plain_success
from xlbridge.api.unreadable import BrokenOff
from xlbridge.errors import RemoteRejected
from xlbridge.export.line_workers import LineWorkers
from xlbridge.export.listing import Each, Listing
from xlbridge.export.part import Part
from xlbridge.export.part_making import PartMaker, Recipe
from xlbridge.export.requests import Request

_NOT_THERE = (HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND)


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
        recipe: Recipe,
        workers: LineWorkers,
        at_once: int,
        *,
        on_record: Callable[[Record], None] | None,
        on_records: Callable[[int], None],
    ) -> None:
        self._client = client
        self._each = listing.each
        self._recipe = recipe
        self._maker = PartMaker(recipe)
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
        """Whether everything is to end."""
        return self._stop.is_set()

    def read(self, part: Part, requests: Sequence[Request]) -> None:
        """Make the calls of a part. Raises what ``Client.records`` raises, and ``Stopped``."""
        with self._on_their_way:
            self._read(part, requests)

    def read_with_help(self, part: Part, request: Request) -> None:
        """Do the same with one call of many: once they are large, others make the lines.

        Then the answer waits on disk, and the next call goes out meanwhile.
        """
        with self._on_their_way:
            if not self._workers.have_begun:
                self._read(part, [request])
                return
            with self._called(request, request.path) as answer:
                broken = _kept(part, self._watched(answer))
        try:
            if broken or not self._made_elsewhere(part):
                with part:
                    self._add(part, answer, _until(part.answer(), broken), {})
                part.widths = self._maker.widths
        finally:
            part.forget_answer()

    def _made_elsewhere(self, part: Part) -> bool:
        """Have the lines made of an answer on disk; say whether it was one, and nothing else."""
        envelope = self._workers.make(part, self._on_records)
        if envelope is None or is_plain_success(envelope):
            return envelope is not None
        self._on_records(-part.records)
        return False

    def _read(self, part: Part, requests: Sequence[Request]) -> None:
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
        part.widths = self._maker.widths

    def _count_done(self, more: int) -> None:
        with self._lock:
            self.done += more
        self._on_records(0)

    def _read_each(self, part: Part, request: Request) -> None:
        if self._each is None or self._each.counted is None:
            self._read_one(part, request, request.path)
            return
        for number in count(1):
            if not self._read_one(part, request, {**request.path, self._each.counted: number}):
                return

    def _read_one(self, part: Part, request: Request, path: Mapping[str, object]) -> bool:
        """Add the records of one call; say whether there was anything."""
        known, before = _known(self._each, request), part.records
        try:
            with self._called(request, path) as answer:
                self._add(part, answer, part.seen(self._watched(answer)), known)
        except RemoteRejected as error:
            if not path or error.status not in _NOT_THERE:
                raise
            is_there = False
        else:
            is_there = part.records > before or not request.operation.asks_for_one(request.query)
        if not is_there and (self._each is None or self._each.counted is None):
            self.missing.append(request.named)
        return is_there

    def _called(self, request: Request, path: Mapping[str, object]) -> "closing[ListingAnswer]":
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
            whole = known | record if known else record
            if self._on_record is not None:
                self._on_record(whole)
            self._maker.add(part, whole)
            self._on_records(1)


def _known(each: Each | None, request: Request) -> Record:
    """Return what a call by key knows of its records."""
    return {each.path[name]: value for name, value in request.path.items()} if each else {}


def _kept(part: Part, pieces: Iterable[bytes]) -> BrokenOff | None:
    """Keep an answer as far as it comes; say whether it broke off."""
    try:
        part.keep_answer(pieces)
    except BrokenOff as broken:
        return broken
    return None


def _until(pieces: Iterable[bytes], broken: BrokenOff | None) -> Iterator[bytes]:
    yield from pieces
    if broken is not None:
        raise broken
