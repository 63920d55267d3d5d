"""A state machine over keys: workbooks that say the same records in other words, from two homes.

Every workbook has some of a few keys, each with a text of the workbook's own choice. Two homes of
one system, each with its journal, send them in whatever order; requests are struck, the process
ends at writes of the journal, the server goes away. The sandbox's database tells which promise was
broken: no key twice, nothing accepted that is not there, nothing there that no job has sent.
"""

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar

from courses import PROMPT, Courses, arm_one, take_away
from dying_journal import DyingJournal, Killed
from faults import KINDS, PATIENCE
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from subjects import DIRECT, OWN_QUEUE, QUEUE, Subject, texts
from trials import judged, quick_client
from upload_machine import OPTIONS

from xlbridge.errors import ApiError, UsageError
from xlbridge.settings import read_settings
from xlbridge.upload import (
    Job,
    Journal,
    Resolution,
    State,
    UploadContext,
    UploadOptions,
    Uploads,
    resolve_job,
)
from xlbridge.upload.results import RowOutcome
from xlbridge.validation import ValidatedSheet, validate_workbook

KEYS = 3
HOMES = 2
_TEXTS = ("", ", revisto", ", de novo")
_SETTLE = timedelta(seconds=900)
_OLD_PLAN = timedelta(minutes=2)
_RUNS_TO_THE_END = 12
Death = tuple[int, bool]
"""Write of the journal at which a process ends, and whether that is before it is made."""

ALIVE: Death = (-1, False)
DEATHS = st.one_of(st.just(ALIVE), st.tuples(st.integers(0, 9), st.booleans()))

_DENIED = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNSENT})


@dataclass(frozen=True)
class Book:
    """Workbook of some keys, and the home that it is sent from; ``parts`` is the size of parts."""

    subject: Subject
    path: Path
    known: tuple[str, ...]
    text: str
    home: int
    parts: int | None

    @property
    def said(self) -> list[str]:
        """What each row says."""
        return [self.subject.saying(one, self.text) for one in self.known]


class KeyMachine(Courses):
    """The rules; ``site`` and ``folder`` are set by ``run_courses``."""

    numbers: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.place = self.folder / f"keys-{next(self.numbers)}"
        self.place.mkdir(parents=True)
        self.time = datetime(2026, 11, 2, 9, 0)
        self.last_home = 0
        self.books: list[Book] = []
        self.keys = {one.resource: one.new_keys(KEYS) for one in (DIRECT, OWN_QUEUE)}
        self.doubts = 0
        self.site.proxy.reset()

    @initialize(subject=st.sampled_from([DIRECT, QUEUE, OWN_QUEUE]))
    def begin(self, subject: Subject) -> None:
        """Each home has a workbook of the same keys, each in words of its own."""
        for home, text in zip(range(HOMES), _TEXTS, strict=False):
            self.new_book(subject, set(range(KEYS)), text, home, None)

    @rule(
        subject=st.sampled_from([DIRECT, QUEUE, OWN_QUEUE]),
        places=st.sets(st.integers(0, KEYS - 1), min_size=1),
        text=st.sampled_from(_TEXTS),
        home=st.integers(0, HOMES - 1),
        parts=st.sampled_from([None, 1]),
    )
    def new_book(
        self, subject: Subject, places: set[int], text: str, home: int, parts: int | None
    ) -> None:
        """Somebody writes a workbook of some of the keys."""
        self._count()
        path = self.place / f"book-{len(self.books)}.xlsx"
        known = tuple(self.keys[subject.resource][at] for at in sorted(places))
        subject.write_keys(path, known, self.site.customer, text)
        self.books.append(Book(subject, path, known, text, home, parts))

    @rule(kind=st.sampled_from(PROMPT), number=st.integers(0, 3))
    def strike(self, kind: str, number: int) -> None:
        """One of the next requests that write goes wrong."""
        self._count()
        arm_one(self.site, KINDS[kind], number)

    @rule()
    def go_away(self) -> None:
        """The server cannot be reached any more."""
        self._count()
        take_away(self.site)

    @rule()
    def come_back(self) -> None:
        """The server answers as it should."""
        self._count()
        self.site.proxy.reset()

    @rule(passed=st.sampled_from([timedelta(seconds=1), _OLD_PLAN, _SETTLE]))
    def pass_time(self, passed: timedelta) -> None:
        """Time passes."""
        self._count()
        self.time += passed

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), death=DEATHS)
    def plan(self, pick: int, death: Death) -> None:
        """A workbook is planned, and its job recorded; nothing is sent yet."""
        self._do(self._pick(pick), death, lambda uploads, book: self._create(uploads, book))

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), death=DEATHS)
    def upload(self, pick: int, death: Death) -> None:
        """A workbook is planned anew and sent."""
        self._upload(self._pick(pick), death)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), death=DEATHS)
    def resume(self, pick: int, death: Death) -> None:
        """The last job of a workbook is run, or resumed."""
        self._resume(self._pick(pick), death)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99))
    def decide(self, pick: int) -> None:
        """A person looks at a doubt that nothing can settle."""
        self._decide(self._pick(pick))

    def teardown(self) -> None:
        """Bring every workbook to its end: then each of its keys is there once."""
        try:
            for book in self.books:
                self._settle(book)
            for book in self.books:
                self._to_its_end(book)
                found = self.site.counts(book.subject, list(book.known))
                doubt = "state machine (keys): a person decided" if self.doubts else None
                self.doubts = 0
                trial = judged(f"state machine (keys): {book.subject.name}", found, doubt)
                assert (trial.duplicates, trial.lost) == (0, 0), found
                self.ended.append(trial)
        finally:
            self.site.proxy.reset()
            shutil.rmtree(self.place, ignore_errors=True)

    def _settle(self, book: Book) -> None:
        """Bring what was begun of a workbook to its end."""
        for _ in range(_RUNS_TO_THE_END):
            self.site.proxy.reset()
            self.time += _SETTLE
            job = self._job(book)
            if job is None or _is_over(job):
                return
            self._resume(book, ALIVE)
            self._decide(book)
        raise AssertionError(f"no end: {self._job(book)}")

    def _to_its_end(self, book: Book) -> None:
        """Send a workbook until nothing of it is left to be sent, whatever others have sent."""
        for _ in range(_RUNS_TO_THE_END):
            self._upload(book, ALIVE)
            self._settle(book)
            job = self._job(book)
            if job is not None and job.state is State.DONE and not job.spec.rows:
                assert job.held == sum(self._is_otherwise(book)), job.events
                return
        raise AssertionError(f"no end: {self._job(book)}")

    def _is_otherwise(self, book: Book) -> list[bool]:
        """Whether the record of each row says anything else."""
        found = texts(self.site.database, book.subject, book.known)
        return [there != [said] for there, said in zip(found, book.said, strict=True)]

    def _upload(self, book: Book, death: Death) -> None:
        def send(uploads: Uploads, book: Book) -> None:
            uploads.run(self._create(uploads, book), _options(book))

        self._do(book, death, send)

    def _resume(self, book: Book, death: Death) -> None:
        job = self._job(book)
        if job is not None:
            self._do(book, death, lambda uploads, _book: uploads.run(job, _options(book)))

    def _create(self, uploads: Uploads, book: Book) -> Job:
        return uploads.create(self._judged(book), _options(book))

    def _judged(self, book: Book) -> ValidatedSheet:
        sheet = validate_workbook(book.path, self.site.catalogue, resource=book.subject.resource)
        assert sheet.ok
        return sheet

    def _do(self, book: Book, death: Death, act: Callable[[Uploads, Book], object]) -> None:
        """Do something as a process of the book's home would, and look what it has left."""
        if book.home != self.last_home:
            # Writers at the same moment elsewhere cannot be excluded.
            self.time += _OLD_PLAN
        self.last_home = book.home
        self.time += timedelta(seconds=1)
        with (
            # Told, or cut off: the journal and the database say what is true.
            suppress(ApiError, UsageError, Killed),
            self._context(book.home, death) as context,
            quick_client(self.site, PATIENCE) as client,
        ):
            act(Uploads(context, client), book)
        self._hold()

    def _decide(self, book: Book) -> None:
        job = self._job(book)
        if job is None:
            return
        with self._context(book.home) as context:
            for one in context.journal.parts_of(job) or [job]:
                stuck = one.state is State.IN_DOUBT and one.events[-1].detail.get("start_refused")
                settled = one.doubted_at is None or self.time >= one.doubted_at + _SETTLE
                if one.state is State.NEEDS_PERSON or (stuck and settled):
                    self.doubts += 1
                    pairs = _pairs(book, one)
                    there = texts(self.site.database, book.subject, [key for key, _ in pairs])
                    applied = all(
                        said in found for (_, said), found in zip(pairs, there, strict=True)
                    )
                    seen = Resolution.APPLIED if applied else Resolution.NOT_APPLIED
                    resolve_job(context, one, seen, "looked in the database")
        self._hold()

    def _hold(self) -> None:
        """No key is there twice; what is accepted is there, and what is there was sent."""
        self._count()
        for subject in (DIRECT, OWN_QUEUE):
            keys = self.keys[subject.resource]
            counted = self.site.counts(subject, keys)
            assert max(counted) <= 1, counted
            found = texts(self.site.database, subject, keys)
            there = {
                (key, said) for key, saying in zip(keys, found, strict=True) for said in saying
            }
            accepted, possible = self._told(subject.resource)
            assert accepted <= there, ("lost", accepted - there)
            assert there <= possible, ("never sent", there - possible)

    def _told(self, resource: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        """Return the rows that jobs say were accepted, and those that may have been."""
        accepted: set[tuple[str, str]] = set()
        possible: set[tuple[str, str]] = set()
        by_file = {str(book.path.resolve()): book for book in self.books}
        for home in range(HOMES):
            with self._context(home) as context:
                jobs = [job for job in context.journal.jobs() if job.spec.resource == resource]
                for job in jobs:
                    for one in context.journal.parts_of(job) or [job]:
                        pairs = _pairs(by_file[one.spec.file], one)
                        for pair, outcome in zip(pairs, one.outcomes, strict=True):
                            if outcome is RowOutcome.ACCEPTED:
                                accepted.add(pair)
                            if outcome not in _DENIED:
                                possible.add(pair)
        return accepted, possible

    def _job(self, book: Book) -> Job | None:
        """Return the job of a workbook that is not over yet, else the newest."""
        with self._context(book.home) as context:
            own = [j for j in context.journal.jobs() if j.spec.file == str(book.path.resolve())]
        return next((job for job in own if not _is_over(job)), own[0] if own else None)

    @contextmanager
    def _context(self, home: int, death: Death = ALIVE) -> Iterator[UploadContext]:
        """Open the journal of a home, for a process that ends at ``death``."""
        folder = self.place / f"home-{home}"
        settings = read_settings(
            {"XLBRIDGE_HOME": str(folder), "XLBRIDGE_SETTLE": str(_SETTLE.total_seconds())}
        )
        number, before = death
        journal: Journal = DyingJournal(
            settings.journal, number, before=before, now=lambda: self.time
        )
        try:
            yield UploadContext(settings, self.site.catalogue, journal)
        finally:
            journal.close()

    def _count(self) -> None:
        type(self).steps += 1

    def _pick(self, number: int) -> Book:
        return self.books[number % len(self.books)]


def _is_over(job: Job) -> bool:
    return job.state.is_final and job.state is not State.NEEDS_PERSON


def _pairs(book: Book, job: Job) -> list[tuple[str, str]]:
    """Return the key and the text of each row that a job sends."""
    return [(book.known[row - 2], book.said[row - 2]) for row in job.spec.rows]


def _options(book: Book) -> UploadOptions:
    return replace(
        OPTIONS,
        mode=book.subject.mode,  # type: ignore[arg-type]
        chunk_rows=book.parts,
    )
