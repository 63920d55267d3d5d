"""State machine over changes: updates, undos, retries, ``--again`` and batches of two homes.

Each home has workbooks and a batch with records of the same few keys, each with its own texts, and
changes, undoes and sends them again in any order, while requests fail, processes crash at writes of
the journal, and somebody else changes records. After each step the oracle checks which job did
what: no record twice, no change lost, nothing undone that the job did not write.

Inside: batch, upload.
"""

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import ClassVar

from change_oracle import Oracle
from crashing_journal import CrashingJournal, Killed
from fake_clock import FakeClock
from faults import PATIENCE
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from key_machine import CRASHES, HOMES, KEYS, NO_CRASH, Crash
from state_machines import (
    PROMPT,
    PROMPT_KINDS,
    SETTLE,
    StateMachine,
    disconnect_server,
    inject_fault,
)
from subjects import PAYABLE
from trials import quick_client, trial_of

from xlbridge.batch import Batch, BatchRunOptions, open_ledger
from xlbridge.batch.batch import Environments
from xlbridge.batch.plan_reader import read_plan
from xlbridge.batch.run import BatchRun
from xlbridge.client import Client
from xlbridge.errors import ApiError, UsageError
from xlbridge.settings import Settings, read_settings
from xlbridge.upload import (
    Job,
    Resolution,
    State,
    UploadContext,
    UploadOptions,
    Uploads,
    resolve_job,
)
from xlbridge.upload.job import file_hash
from xlbridge.upload.planning import RowAction, RowReason
from xlbridge.upload.planning.corrected_rows import corrected_rows
from xlbridge.validation import ValidatedSheet, validate_workbook

_TEXTS = ("", ", revisto", ", de novo")
_OLD_PLAN = 120.0
_MAX_RUNS = 12
_RECORDS = ("financeiro/contaspagar",)
_PLAN = "name: home-{home}\nsteps:\n  pagar:\n    upload: lote-*.xlsx\n    resource: contaspagar\n"


@dataclass
class Book:
    """Workbook of some keys with its own texts, and the home that sends it."""

    path: Path
    keys: tuple[str, ...]
    home: int
    parts: int | None
    again: bool = False


@dataclass(slots=True)
class _OneContext(Environments):
    """The only environment of a batch, with the context and client of the machine."""

    context_and_client: tuple[UploadContext, Client] | None = None

    def name(self, profile: str | None) -> str:
        return "rehearsal"

    def context(self, profile: str | None) -> UploadContext:
        assert self.context_and_client is not None
        return self.context_and_client[0]

    def client(self, profile: str | None) -> Client:
        assert self.context_and_client is not None
        return self.context_and_client[1]


class ChangeMachine(StateMachine):
    """State machine; ``run_machine`` sets ``system`` and ``folder``."""

    numbers: ClassVar[Iterator[int]] = itertools.count()
    changes_elsewhere: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.workspace = self.folder / f"changes-{next(self.numbers)}"
        self.clock = FakeClock()
        self.last_home = 0
        self.books: list[Book] = []
        self.keys = PAYABLE.new_keys(KEYS)
        self.oracle = Oracle(self.system.database, self.keys)
        self.doubts = 0
        for home in range(HOMES):
            self._batch_folder(home).mkdir(parents=True)
            plan = self._batch_folder(home) / "plan.yaml"
            plan.write_text(_PLAN.format(home=home), encoding="utf-8")
        self.system.proxy.reset()

    @initialize()
    def begin(self) -> None:
        """Each home has a workbook of the same keys; the first one's is sent."""
        for home, text in zip(range(HOMES), _TEXTS, strict=False):
            self.new_book(set(range(KEYS)), text, home, None)
        self.upload(0, NO_CRASH, update=False, again=False)

    @rule(
        indexes=st.sets(st.integers(0, KEYS - 1), min_size=1),
        text=st.sampled_from(_TEXTS),
        home=st.integers(0, HOMES - 1),
        parts=st.sampled_from([None, 1]),
    )
    def new_book(self, indexes: set[int], text: str, home: int, parts: int | None) -> None:
        """Somebody writes a workbook with some of the keys."""
        self._write(self.workspace / f"book-{len(self.books)}.xlsx", indexes, text, home, parts)

    @rule(
        indexes=st.sets(st.integers(0, KEYS - 1), min_size=1),
        text=st.sampled_from(_TEXTS),
        home=st.integers(0, HOMES - 1),
    )
    def new_batch_book(self, indexes: set[int], text: str, home: int) -> None:
        """A workbook is added to the batch of a home."""
        name = f"lote-{len(self.books)}.xlsx"
        self._write(self._batch_folder(home) / name, indexes, text, home, None)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), text=st.sampled_from(_TEXTS))
    def edit(self, pick: int, text: str) -> None:
        """Somebody edits a workbook, whether it was sent or not."""
        book = self._pick(pick)
        self._count()
        PAYABLE.write_keys(book.path, book.keys, self.system.customer, text)

    @rule(index=st.integers(0, KEYS - 1))
    def change_elsewhere(self, index: int) -> None:
        """Somebody else changes a record in the system."""
        self._count()
        for number, record in self.oracle.records().items():
            if record.key == self.keys[index]:
                self.oracle.change_elsewhere(
                    number, f"De outra pessoa {next(self.changes_elsewhere)}"
                )
        self.system.proxy.catch_up()

    @rule(kind=st.sampled_from(PROMPT), number=st.integers(0, 5))
    def fail_request(self, kind: str, number: int) -> None:
        """One of the next writing requests fails."""
        self._count()
        inject_fault(self.system, PROMPT_KINDS[kind], number, _RECORDS)

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
    @rule(pick=st.integers(0, 99), crash=CRASHES, update=st.booleans(), again=st.booleans())
    def upload(self, pick: int, crash: Crash, update: bool, again: bool) -> None:
        """A workbook is planned and sent, sometimes with ``--again``."""
        book = self._pick(pick)
        book.again |= again and not update
        options = {"update": True} if update else {"again": "once more"} if again else {}
        self._do(book.home, crash, lambda uploads, _: self._send(uploads, book, **options))

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), crash=CRASHES, update=st.booleans())
    def retry(self, pick: int, crash: Crash, update: bool) -> None:
        """Rows of a workbook's last job that were not imported are sent again from the workbook."""
        book = self._pick(pick)
        job = self._job(book)

        def send(uploads: Uploads, context: UploadContext) -> None:
            assert job is not None
            job.require_rejected()
            corrected = corrected_rows(context, job, self._sheet(book), in_place=True)
            options = self._options(book, update=update)
            uploads.run(uploads.create(corrected, options), options)

        if job is not None:
            self._do(book.home, crash, send)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), older=st.integers(0, 3), crash=CRASHES)
    def undo(self, pick: int, older: int, crash: Crash) -> None:
        """The last or an earlier job of a home is undone."""
        home = self._pick(pick).home
        with self._context(home) as context:
            jobs = [job for job in context.journal.jobs() if job.spec.undo_of is None]

        def reverse(uploads: Uploads, context: UploadContext) -> None:
            with quick_client(self.system, PATIENCE) as client:
                planner = Uploads(context, client)
                plan = planner.plan_undo(jobs[older % len(jobs)], sleep=self.system.sleep)
                job = planner.create_undo(plan) if plan.writes else None
            if job is not None:
                uploads.run(job, self.options)

        if jobs:
            self._do(home, crash, reverse)

    @rule(home=st.integers(0, HOMES - 1), crash=CRASHES)
    def run_batch(self, home: int, crash: Crash) -> None:
        """The batch of a home is run or resumed."""
        self._do(home, crash, lambda uploads, context: self._run_batch(home, context))

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), crash=CRASHES)
    def resume(self, pick: int, crash: Crash) -> None:
        """Unfinished jobs of a home are resumed, the oldest first."""
        self._resume(self._pick(pick).home, crash)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99))
    def decide(self, pick: int) -> None:
        """A person resolves the doubts of a home."""
        self._decide(self._pick(pick).home)

    def teardown(self) -> None:
        """Run all jobs to their ends, then send every workbook completely."""
        try:
            for home in range(HOMES):
                self._settle(home)
            for book in self.books:
                gone = self._run_to_end(book)
                counts = self.system.counts(PAYABLE, list(book.keys))
                once = [
                    max(n, 1) if key in gone else n
                    for key, n in zip(book.keys, counts, strict=True)
                ]
                if any(other.again for other in self.books):
                    # Whatever was sent once more on purpose may be there more than once.
                    once = [min(n, 1) for n in once]
                doubt = "state machine (changes): a person decided" if self.doubts else None
                self.doubts = 0
                trial = trial_of("state machine (changes)", once, doubt)
                assert (trial.duplicates, trial.lost) == (0, 0), (book, counts)
                self.trials.append(trial)
        finally:
            self.system.proxy.reset()
            shutil.rmtree(self.workspace, ignore_errors=True)

    def _run_to_end(self, book: Book) -> set[str]:
        """Send a workbook until nothing is left to send; return the keys of removed records."""
        for _ in range(_MAX_RUNS):
            self._do(book.home, NO_CRASH, lambda uploads, _: self._send(uploads, book, update=True))
            self._settle(book.home)
            job = self._job(book)
            if job is not None and job.state is State.DONE and not job.spec.rows:
                with self._context(book.home) as context:
                    plan = context.journal.plan_of(job)
                assert all(row.action in {RowAction.UNCHANGED, RowAction.HELD} for row in plan)
                return {
                    key
                    for key, row in zip(book.keys, plan, strict=True)
                    if row.reason is RowReason.GONE
                }
        raise AssertionError(f"no end: {self._job(book)}")

    def _settle(self, home: int) -> None:
        """Run all unfinished jobs of a home to their ends."""
        for _ in range(_MAX_RUNS):
            self.system.proxy.reset()
            self.clock.advance(SETTLE)
            if not self._open_jobs(home):
                return
            self._resume(home, NO_CRASH)
            self._decide(home)
        raise AssertionError(f"no end: {self._open_jobs(home)}")

    def _open_jobs(self, home: int) -> list[Job]:
        with self._context(home) as context:
            return [job for job in reversed(context.journal.jobs()) if not _is_over(job)]

    def _resume(self, home: int, crash: Crash) -> None:
        for job in self._open_jobs(home):
            changed = [
                book
                for book in self.books
                if str(book.path) == job.spec.file
                and job.notes.file_hash not in {None, file_hash(book.path)}
            ]
            if job.state is State.PREPARED and changed:
                # Its plan is refused; the workbook is sent as it is now.
                self._do(home, crash, lambda uploads, _, book=changed[0]: self._send(uploads, book))
            else:
                self._do(home, crash, lambda uploads, _, job=job: uploads.run(job, self.options))

    def _write(
        self, path: Path, indexes: set[int], text: str, home: int, parts: int | None
    ) -> None:
        self._count()
        keys = tuple(self.keys[index] for index in sorted(indexes))
        PAYABLE.write_keys(path, keys, self.system.customer, text)
        self.books.append(Book(path, keys, home, parts))

    def _send(self, uploads: Uploads, book: Book, **changes: object) -> None:
        options = self._options(book, **changes)
        uploads.run(uploads.create(self._sheet(book), options), options)

    def _sheet(self, book: Book) -> ValidatedSheet:
        sheet = validate_workbook(book.path, self.system.catalogue, resource=PAYABLE.resource)
        assert sheet.ok
        return sheet

    def _options(self, book: Book, **changes: object) -> UploadOptions:
        return replace(self.options, mode="queue", chunk_rows=book.parts, **changes)  # type: ignore[arg-type]

    def _run_batch(self, home: int, context: UploadContext) -> None:
        path = self._batch_folder(home) / "plan.yaml"
        plan = read_plan(path, self.system.catalogue, {}, lambda _profile: date(2026, 11, 2))
        with (
            quick_client(self.system, PATIENCE) as client,
            open_ledger(context.settings) as ledger,
            ExitStack() as stack,
        ):
            environments = _OneContext(
                context.settings, stack, lambda _text: None, context_and_client=(context, client)
            )
            options = BatchRunOptions(consent=lambda _request: True, upload=self.options)
            BatchRun(Batch(plan, ledger, environments), options).run()

    def _do(self, home: int, crash: Crash, act: Callable[[Uploads, UploadContext], object]) -> None:
        """Act like a process of a home, and let the oracle check what it did."""
        if home != self.last_home:
            # Writers at the same moment elsewhere cannot be excluded, nor seen late.
            self.clock.advance(_OLD_PLAN)
            self.system.proxy.catch_up()
        self.last_home = home
        self.clock.advance(1)
        with (
            # Told, or cut off: the journal and the database say what is true.
            suppress(ApiError, UsageError, Killed),
            self._context(home, crash) as context,
            quick_client(self.system, PATIENCE) as client,
        ):
            act(Uploads(context, client), context)
        self._check(home)

    def _decide(self, home: int) -> None:
        with self._context(home) as context:
            for job in context.journal.jobs():
                for one in context.journal.requests_of(job):
                    stuck = one.state is State.IN_DOUBT and one.events[-1].detail.get(
                        "start_refused"
                    )
                    settled = not one.settle_left(self.clock(), SETTLE)
                    if one.state is State.NEEDS_PERSON or (stuck and settled):
                        self.doubts += 1
                        applied = self.oracle.was_applied(home, context, one)
                        resolution = Resolution.APPLIED if applied else Resolution.NOT_APPLIED
                        resolve_job(context, one, resolution, "checked the database")
        self._check(home)

    def _check(self, home: int) -> None:
        self._count()
        self.system.counts(PAYABLE, [])
        with self._context(home) as context:
            self.oracle.check(home, context)

    def _job(self, book: Book) -> Job | None:
        """Return the newest job of a workbook."""
        with self._context(book.home) as context:
            jobs: Sequence[Job] = context.journal.jobs()
        own_jobs = (job for job in jobs if job.spec.file == str(book.path.resolve()))
        return next((job for job in own_jobs if job.spec.undo_of is None), None)

    @contextmanager
    def _context(self, home: int, crash: Crash = NO_CRASH) -> Iterator[UploadContext]:
        """Open the journal of a home for a process that crashes at ``crash``."""
        settings: Settings = read_settings(
            {
                "XLBRIDGE_HOME": str(self.workspace / f"home-{home}"),
                "XLBRIDGESETTLE": str(SETTLE),
            }
        )
        number, before = crash
        journal = CrashingJournal(settings.journal, number, before=before, now=self.clock)
        try:
            yield UploadContext(settings, self.system.catalogue, journal)
        finally:
            journal.close()

    def _batch_folder(self, home: int) -> Path:
        return self.workspace / f"batch-{home}"

    def _count(self) -> None:
        type(self).steps += 1

    def _pick(self, number: int) -> Book:
        return self.books[number % len(self.books)]


def _is_over(job: Job) -> bool:
    return job.state.is_final and job.state is not State.NEEDS_PERSON
