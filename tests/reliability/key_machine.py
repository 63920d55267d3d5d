"""State machine over keys: workbooks of the same records with other texts, from two homes.

Every workbook has some of a few keys, each with its own text. Two homes of one system, each with
its journal, send them in any order; requests fail, the process crashes at writes of the journal,
the server becomes unreachable. The sandbox's database shows whether a guarantee was broken: no key
twice, no accepted row missing, no record that no job has sent.
"""

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from crashing_journal import CrashingJournal, Killed
from fake_clock import FakeClock
from faults import PATIENCE
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from ledger_oracle import compare_ledgers
from state_machines import (
    PROMPT,
    PROMPT_KINDS,
    SETTLE,
    StateMachine,
    disconnect_server,
    inject_fault,
)
from subjects import DIRECT, OWN_QUEUE, QUEUE, Subject, texts
from trials import quick_client, trial_of

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
from xlbridge.upload.requests import RowOutcome
from xlbridge.validation import ValidatedSheet, validate_workbook

KEYS = 3
HOMES = 2
_TEXTS = ("", ", revisto", ", de novo")
_OLD_PLAN = 120.0
_MAX_RUNS = 12
Crash = tuple[int, bool]
"""Write of the journal at which a process crashes, and whether before it is made."""

NO_CRASH: Crash = (-1, False)
CRASHES = st.one_of(st.just(NO_CRASH), st.tuples(st.integers(0, 9), st.booleans()))

_NOT_CREATED = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNSENT})


@dataclass(frozen=True)
class Book:
    """Workbook of some keys, and the home that sends it; ``parts`` is the size of its parts."""

    subject: Subject
    path: Path
    keys: tuple[str, ...]
    text: str
    home: int
    parts: int | None

    @property
    def row_texts(self) -> list[str]:
        """Text of each row."""
        return [self.subject.row_text(one, self.text) for one in self.keys]


class KeyMachine(StateMachine):
    """State machine; ``run_machine`` sets ``system`` and ``folder``."""

    numbers: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.workspace = self.folder / f"keys-{next(self.numbers)}"
        self.workspace.mkdir(parents=True)
        self.clock = FakeClock()
        self.last_home = 0
        self.books: list[Book] = []
        self.keys = {one.resource: one.new_keys(KEYS) for one in (DIRECT, OWN_QUEUE)}
        self.doubts = 0
        self.system.proxy.reset()

    @initialize(subject=st.sampled_from([DIRECT, QUEUE, OWN_QUEUE]))
    def begin(self, subject: Subject) -> None:
        """Each home has a workbook of the same keys, each with its own texts."""
        for home, text in zip(range(HOMES), _TEXTS, strict=False):
            self.new_book(subject, set(range(KEYS)), text, home, None)

    @rule(
        subject=st.sampled_from([DIRECT, QUEUE, OWN_QUEUE]),
        indexes=st.sets(st.integers(0, KEYS - 1), min_size=1),
        text=st.sampled_from(_TEXTS),
        home=st.integers(0, HOMES - 1),
        parts=st.sampled_from([None, 1]),
    )
    def new_book(
        self, subject: Subject, indexes: set[int], text: str, home: int, parts: int | None
    ) -> None:
        """Somebody writes a workbook with some of the keys."""
        self._count()
        path = self.workspace / f"book-{len(self.books)}.xlsx"
        keys = tuple(self.keys[subject.resource][index] for index in sorted(indexes))
        subject.write_keys(path, keys, self.system.customer, text)
        self.books.append(Book(subject, path, keys, text, home, parts))

    @rule(kind=st.sampled_from(PROMPT), number=st.integers(0, 3))
    def fail_request(self, kind: str, number: int) -> None:
        """One of the next writing requests fails."""
        self._count()
        inject_fault(self.system, PROMPT_KINDS[kind], number)

    @rule(readings=st.integers(1, 4))
    def lag_behind(self, readings: int) -> None:
        """Readings show for some time what was there before a write of the same home."""
        self._count()
        self.system.proxy.lag = readings

    @rule()
    def disconnect(self) -> None:
        """The server becomes unreachable."""
        self._count()
        disconnect_server(self.system)

    @rule()
    def reconnect(self) -> None:
        """The server works again."""
        self._count()
        self.system.proxy.reset()

    @rule(passed=st.sampled_from([1.0, _OLD_PLAN, SETTLE]))
    def pass_time(self, passed: float) -> None:
        """Time passes."""
        self._count()
        self.clock.advance(passed)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), crash=CRASHES)
    def plan(self, pick: int, crash: Crash) -> None:
        """A workbook is planned and its job stored; nothing is sent yet."""
        self._do(self._pick(pick), crash, lambda uploads, book: self._create(uploads, book))

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), crash=CRASHES)
    def upload(self, pick: int, crash: Crash) -> None:
        """A workbook is planned and sent."""
        self._upload(self._pick(pick), crash)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), crash=CRASHES)
    def resume(self, pick: int, crash: Crash) -> None:
        """The last job of a workbook is run or resumed."""
        self._resume(self._pick(pick), crash)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99))
    def decide(self, pick: int) -> None:
        """A person resolves a doubt."""
        self._decide(self._pick(pick))

    def teardown(self) -> None:
        """Send every workbook completely; then each of its keys exists once."""
        try:
            for book in self.books:
                self._settle(book)
            for book in self.books:
                self._run_to_end(book)
                found = self.system.counts(book.subject, list(book.keys))
                doubt = "state machine (keys): a person decided" if self.doubts else None
                self.doubts = 0
                trial = trial_of(f"state machine (keys): {book.subject.name}", found, doubt)
                assert (trial.duplicates, trial.lost) == (0, 0), found
                self.trials.append(trial)
        finally:
            self.system.proxy.reset()
            shutil.rmtree(self.workspace, ignore_errors=True)

    def _settle(self, book: Book) -> None:
        """Run the unfinished job of a workbook to its end."""
        for _ in range(_MAX_RUNS):
            self.system.proxy.reset()
            self.clock.advance(SETTLE)
            job = self._job(book)
            if job is None or _is_over(job):
                return
            self._resume(book, NO_CRASH)
            self._decide(book)
        raise AssertionError(f"no end: {self._job(book)}")

    def _run_to_end(self, book: Book) -> None:
        """Send a workbook until nothing is left to send, whatever others have sent."""
        for _ in range(_MAX_RUNS):
            self._upload(book, NO_CRASH)
            self._settle(book)
            job = self._job(book)
            if job is not None and job.state is State.DONE and not job.spec.rows:
                assert job.held == sum(self._differs(book)), job.events
                return
        raise AssertionError(f"no end: {self._job(book)}")

    def _differs(self, book: Book) -> list[bool]:
        """Return for each row whether its record has another text."""
        found = texts(self.system.database, book.subject, book.keys)
        return [actual != [text] for actual, text in zip(found, book.row_texts, strict=True)]

    def _upload(self, book: Book, crash: Crash) -> None:
        def send(uploads: Uploads, book: Book) -> None:
            uploads.run(self._create(uploads, book), _options(self.options, book))

        self._do(book, crash, send)

    def _resume(self, book: Book, crash: Crash) -> None:
        job = self._job(book)
        if job is not None:
            self._do(
                book, crash, lambda uploads, _book: uploads.run(job, _options(self.options, book))
            )

    def _create(self, uploads: Uploads, book: Book) -> Job:
        return uploads.create(self._validated(book), _options(self.options, book))

    def _validated(self, book: Book) -> ValidatedSheet:
        sheet = validate_workbook(book.path, self.system.catalogue, resource=book.subject.resource)
        assert sheet.ok
        return sheet

    def _do(self, book: Book, crash: Crash, act: Callable[[Uploads, Book], object]) -> None:
        """Act like a process of the book's home, and check the result."""
        if book.home != self.last_home:
            # Writers at the same moment elsewhere cannot be excluded, nor seen late.
            self.clock.advance(_OLD_PLAN)
            self.system.proxy.catch_up()
        self.last_home = book.home
        self.clock.advance(1)
        with (
            # Told, or cut off: the journal and the database say what is true.
            suppress(ApiError, UsageError, Killed),
            self._context(book.home, crash) as context,
            quick_client(self.system, PATIENCE) as client,
        ):
            act(Uploads(context, client), book)
        self._check()

    def _decide(self, book: Book) -> None:
        job = self._job(book)
        if job is None:
            return
        with self._context(book.home) as context:
            for one in context.journal.requests_of(job):
                stuck = one.state is State.IN_DOUBT and one.events[-1].detail.get("start_refused")
                settled = not one.settle_left(self.clock(), SETTLE)
                if one.state is State.NEEDS_PERSON or (stuck and settled):
                    self.doubts += 1
                    pairs = _pairs(book, one)
                    found_texts = texts(
                        self.system.database, book.subject, [key for key, _ in pairs]
                    )
                    applied = all(
                        text in found for (_, text), found in zip(pairs, found_texts, strict=True)
                    )
                    resolution = Resolution.APPLIED if applied else Resolution.NOT_APPLIED
                    resolve_job(context, one, resolution, "checked the database")
        self._check()

    def _check(self) -> None:
        """Check that no key exists twice, accepted rows exist, and every record was sent."""
        self._count()
        for subject in (DIRECT, OWN_QUEUE):
            keys = self.keys[subject.resource]
            counted = self.system.counts(subject, keys)
            assert max(counted) <= 1, counted
            found = texts(self.system.database, subject, keys)
            records = {
                (key, text)
                for key, found_texts in zip(keys, found, strict=True)
                for text in found_texts
            }
            accepted, possible = self._reported_rows(subject.resource)
            assert accepted <= records, ("lost", accepted - records)
            assert records <= possible, ("never sent", records - possible)

    def _reported_rows(self, resource: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        """Return the rows that jobs report as accepted, and those that may have been written."""
        accepted: set[tuple[str, str]] = set()
        possible: set[tuple[str, str]] = set()
        by_file = {str(book.path.resolve()): book for book in self.books}
        for home in range(HOMES):
            with self._context(home) as context:
                compare_ledgers(context.journal, context.catalogue)
                jobs = [job for job in context.journal.jobs() if job.spec.resource == resource]
                for job in jobs:
                    for one in context.journal.requests_of(job):
                        pairs = _pairs(by_file[one.spec.file], one)
                        outcomes = context.journal.changes.outcomes(one.id)
                        for pair, outcome in zip(pairs, outcomes, strict=True):
                            if outcome is RowOutcome.ACCEPTED:
                                accepted.add(pair)
                            if outcome not in _NOT_CREATED:
                                possible.add(pair)
        return accepted, possible

    def _job(self, book: Book) -> Job | None:
        """Return the unfinished job of a workbook, or else the newest."""
        with self._context(book.home) as context:
            jobs = [j for j in context.journal.jobs() if j.spec.file == str(book.path.resolve())]
        return next((job for job in jobs if not _is_over(job)), jobs[0] if jobs else None)

    @contextmanager
    def _context(self, home: int, crash: Crash = NO_CRASH) -> Iterator[UploadContext]:
        """Open the journal of a home for a process that crashes at ``crash``."""
        folder = self.workspace / f"home-{home}"
        settings = read_settings({"XLBRIDGE_HOME": str(folder), "XLBRIDGESETTLE": str(SETTLE)})
        number, before = crash
        journal: Journal = CrashingJournal(settings.journal, number, before=before, now=self.clock)
        try:
            yield UploadContext(settings, self.system.catalogue, journal)
        finally:
            journal.close()

    def _count(self) -> None:
        type(self).steps += 1

    def _pick(self, number: int) -> Book:
        return self.books[number % len(self.books)]


def _is_over(job: Job) -> bool:
    return job.state.is_final and job.state is not State.NEEDS_PERSON


def _pairs(book: Book, job: Job) -> list[tuple[str, str]]:
    """Return the key and text of each row that a job sends."""
    return [(book.keys[row - 2], book.row_texts[row - 2]) for row in job.spec.rows]


def _options(options: UploadOptions, book: Book) -> UploadOptions:
    return replace(
        options,
        mode=book.subject.mode,  # type: ignore[arg-type]
        chunk_rows=book.parts,
    )
