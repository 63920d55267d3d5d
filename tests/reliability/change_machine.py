"""A state machine over changes: updates, undos, retries, ``--again`` and batches of two homes.

Each home has workbooks and a batch with records of the same few keys, each in words of its own,
and changes, undoes and sends them again in whatever order, while requests are struck, processes end
at writes of the journal, and somebody else changes records by other means. The oracle asks after
each step who did what: no record twice, no change lost, nothing undone that is not the job's own.

Inside: batch.
"""

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from change_oracle import Oracle
from courses import PROMPT, Courses, arm_one, take_away
from dying_journal import DyingJournal, Killed
from faults import KINDS, PATIENCE
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from key_machine import ALIVE, DEATHS, HOMES, KEYS, Death
from subjects import PAYABLE
from trials import judged, quick_client
from upload_machine import OPTIONS

from xlbridge.batch import Batch, BatchRunOptions, open_ledger
from xlbridge.batch.batch import Environments
from xlbridge.batch.plan import read_plan
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
from xlbridge.upload.planning import (
    RowAction,
    RowReason,
    corrected_rows,
    require_rejected,
)
from xlbridge.validation import ValidatedSheet, validate_workbook

_TEXTS = ("", ", revisto", ", de novo")
_SETTLE = timedelta(seconds=900)
_OLD_PLAN = timedelta(minutes=2)
_RUNS_TO_THE_END = 12
_RECORDS = ("financeiro/contaspagar",)
_PLAN = "name: home-{home}\nsteps:\n  pagar:\n    upload: lote-*.xlsx\n    resource: contaspagar\n"


@dataclass
class Book:
    """Workbook of some keys in words of its own, and the home that it is sent from."""

    path: Path
    known: tuple[str, ...]
    home: int
    parts: int | None
    again: bool = False


@dataclass(slots=True)
class _OneContext(Environments):
    """Environments of a batch whose only one has the context and client of the machine."""

    own: tuple[UploadContext, Client] | None = None

    def name(self, profile: str | None) -> str:
        return "rehearsal"

    def context(self, profile: str | None) -> UploadContext:
        assert self.own is not None
        return self.own[0]

    def client(self, profile: str | None) -> Client:
        assert self.own is not None
        return self.own[1]


class ChangeMachine(Courses):
    """The rules; ``site`` and ``folder`` are set by ``run_courses``."""

    numbers: ClassVar[Iterator[int]] = itertools.count()
    touched: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.place = self.folder / f"changes-{next(self.numbers)}"
        self.time = datetime(2026, 11, 2, 9, 0)
        self.last_home = 0
        self.books: list[Book] = []
        self.keys = PAYABLE.new_keys(KEYS)
        self.oracle = Oracle(self.site.database, self.keys)
        self.doubts = 0
        for home in range(HOMES):
            self._batch_folder(home).mkdir(parents=True)
            plan = self._batch_folder(home) / "plan.yaml"
            plan.write_text(_PLAN.format(home=home), encoding="utf-8")
        self.site.proxy.reset()

    @initialize()
    def begin(self) -> None:
        """Each home has a workbook of the same keys; those of the first are sent."""
        for home, text in zip(range(HOMES), _TEXTS, strict=False):
            self.new_book(set(range(KEYS)), text, home, None)
        self.upload(0, ALIVE, update=False, again=False)

    @rule(
        places=st.sets(st.integers(0, KEYS - 1), min_size=1),
        text=st.sampled_from(_TEXTS),
        home=st.integers(0, HOMES - 1),
        parts=st.sampled_from([None, 1]),
    )
    def new_book(self, places: set[int], text: str, home: int, parts: int | None) -> None:
        """Somebody writes a workbook of some of the keys."""
        self._write(self.place / f"book-{len(self.books)}.xlsx", places, text, home, parts)

    @rule(
        places=st.sets(st.integers(0, KEYS - 1), min_size=1),
        text=st.sampled_from(_TEXTS),
        home=st.integers(0, HOMES - 1),
    )
    def new_batch_book(self, places: set[int], text: str, home: int) -> None:
        """A workbook comes to the batch of a home."""
        name = f"lote-{len(self.books)}.xlsx"
        self._write(self._batch_folder(home) / name, places, text, home, None)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), text=st.sampled_from(_TEXTS))
    def edit(self, pick: int, text: str) -> None:
        """Somebody edits a workbook, whatever became of it before."""
        book = self._pick(pick)
        self._count()
        PAYABLE.write_keys(book.path, book.known, self.site.customer, text)

    @rule(place=st.integers(0, KEYS - 1))
    def touch(self, place: int) -> None:
        """Somebody else changes a record in the system."""
        self._count()
        for number, said in self.oracle.records().items():
            if said.key == self.keys[place]:
                self.oracle.touch(number, f"De outra pessoa {next(self.touched)}")

    @rule(kind=st.sampled_from(PROMPT), number=st.integers(0, 5))
    def strike(self, kind: str, number: int) -> None:
        """One of the next requests that write goes wrong."""
        self._count()
        arm_one(self.site, KINDS[kind], number, _RECORDS)

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
    @rule(pick=st.integers(0, 99), death=DEATHS, update=st.booleans(), again=st.booleans())
    def upload(self, pick: int, death: Death, update: bool, again: bool) -> None:
        """A workbook is planned anew and sent; on purpose once more, seldom."""
        book = self._pick(pick)
        book.again |= again and not update
        more = {"update": True} if update else {"again": "once more"} if again else {}
        self._do(book.home, death, lambda uploads, _: self._send(uploads, book, **more))

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), death=DEATHS, update=st.booleans())
    def retry(self, pick: int, death: Death, update: bool) -> None:
        """What was not taken in of a workbook's last job is sent again from the workbook."""
        book = self._pick(pick)
        job = self._job(book)

        def send(uploads: Uploads, context: UploadContext) -> None:
            assert job is not None
            require_rejected(job)
            corrected = corrected_rows(context, job, self._sheet(book), in_place=True)
            options = self._options(book, update=update)
            uploads.run(uploads.create_retry(corrected, options), options)

        if job is not None:
            self._do(book.home, death, send)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), older=st.integers(0, 3), death=DEATHS)
    def undo(self, pick: int, older: int, death: Death) -> None:
        """A job of a home is undone, the last or an earlier one."""
        home = self._pick(pick).home
        with self._context(home) as context:
            jobs = [job for job in context.journal.jobs() if job.undo_of is None]

        def reverse(uploads: Uploads, context: UploadContext) -> None:
            with quick_client(self.site, PATIENCE) as client:
                job = Uploads(context, client).create_undo(jobs[older % len(jobs)])
            uploads.run(job, OPTIONS)

        if jobs:
            self._do(home, death, reverse)

    @rule(home=st.integers(0, HOMES - 1), death=DEATHS)
    def run_batch(self, home: int, death: Death) -> None:
        """The batch of a home is run, or gone on with."""
        self._do(home, death, lambda uploads, context: self._run_batch(home, context))

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), death=DEATHS)
    def resume(self, pick: int, death: Death) -> None:
        """What is not over in a home is resumed, the oldest first."""
        self._resume(self._pick(pick).home, death)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99))
    def decide(self, pick: int) -> None:
        """A person looks at the doubts of a home that nothing can settle."""
        self._decide(self._pick(pick).home)

    def teardown(self) -> None:
        """Bring all jobs to their ends, then every workbook into the system."""
        try:
            for home in range(HOMES):
                self._settle(home)
            for book in self.books:
                gone = self._to_its_end(book)
                counts = self.site.counts(PAYABLE, list(book.known))
                once = [
                    max(n, 1) if key in gone else n
                    for key, n in zip(book.known, counts, strict=True)
                ]
                if any(other.again for other in self.books):
                    # Whatever was sent once more on purpose may be there more than once.
                    once = [min(n, 1) for n in once]
                doubt = "state machine (changes): a person decided" if self.doubts else None
                self.doubts = 0
                trial = judged("state machine (changes)", once, doubt)
                assert (trial.duplicates, trial.lost) == (0, 0), (book, counts)
                self.ended.append(trial)
        finally:
            self.site.proxy.reset()
            shutil.rmtree(self.place, ignore_errors=True)

    def _to_its_end(self, book: Book) -> set[str]:
        """Send a workbook until nothing is left to be sent; return keys of rows that are gone."""
        for _ in range(_RUNS_TO_THE_END):
            self._do(book.home, ALIVE, lambda uploads, _: self._send(uploads, book, update=True))
            self._settle(book.home)
            job = self._job(book)
            if job is not None and job.state is State.DONE and not job.spec.rows:
                with self._context(book.home) as context:
                    plan = context.journal.plan_of(job)
                assert all(row.action in {RowAction.UNCHANGED, RowAction.HELD} for row in plan)
                return {
                    key
                    for key, row in zip(book.known, plan, strict=True)
                    if row.reason is RowReason.GONE
                }
        raise AssertionError(f"no end: {self._job(book)}")

    def _settle(self, home: int) -> None:
        """Bring all that was begun in a home to its end."""
        for _ in range(_RUNS_TO_THE_END):
            self.site.proxy.reset()
            self.time += _SETTLE
            if not self._open_jobs(home):
                return
            self._resume(home, ALIVE)
            self._decide(home)
        raise AssertionError(f"no end: {self._open_jobs(home)}")

    def _open_jobs(self, home: int) -> list[Job]:
        with self._context(home) as context:
            return [job for job in reversed(context.journal.jobs()) if not _is_over(job)]

    def _resume(self, home: int, death: Death) -> None:
        for job in self._open_jobs(home):
            self._do(home, death, lambda uploads, _, job=job: uploads.run(job, OPTIONS))

    def _write(self, path: Path, places: set[int], text: str, home: int, parts: int | None) -> None:
        self._count()
        known = tuple(self.keys[at] for at in sorted(places))
        PAYABLE.write_keys(path, known, self.site.customer, text)
        self.books.append(Book(path, known, home, parts))

    def _send(self, uploads: Uploads, book: Book, **more: object) -> None:
        options = self._options(book, **more)
        uploads.run(uploads.create(self._sheet(book), options), options)

    def _sheet(self, book: Book) -> ValidatedSheet:
        sheet = validate_workbook(book.path, self.site.catalogue, resource=PAYABLE.resource)
        assert sheet.ok
        return sheet

    def _options(self, book: Book, **more: object) -> UploadOptions:
        return replace(OPTIONS, mode="queue", chunk_rows=book.parts, **more)  # type: ignore[arg-type]

    def _run_batch(self, home: int, context: UploadContext) -> None:
        plan = read_plan(
            self._batch_folder(home) / "plan.yaml", self.site.catalogue, {}, date(2026, 11, 2)
        )
        with (
            quick_client(self.site, PATIENCE) as client,
            open_ledger(context.settings) as ledger,
            ExitStack() as stack,
        ):
            environments = _OneContext(
                context.settings, stack, lambda _text: None, own=(context, client)
            )
            options = BatchRunOptions(consent=lambda _request: True, upload=OPTIONS)
            BatchRun(Batch(plan, ledger, environments), options).run()

    def _do(self, home: int, death: Death, act: Callable[[Uploads, UploadContext], object]) -> None:
        """Do something as a process of a home would, and ask the oracle what it has done."""
        if home != self.last_home:
            # Writers at the same moment elsewhere cannot be excluded.
            self.time += _OLD_PLAN
        self.last_home = home
        self.time += timedelta(seconds=1)
        with (
            # Told, or cut off: the journal and the database say what is true.
            suppress(ApiError, UsageError, Killed),
            self._context(home, death) as context,
            quick_client(self.site, PATIENCE) as client,
        ):
            act(Uploads(context, client), context)
        self._hold(home)

    def _decide(self, home: int) -> None:
        with self._context(home) as context:
            for job in context.journal.jobs():
                for one in context.journal.parts_of(job) or [job]:
                    stuck = one.state is State.IN_DOUBT and one.events[-1].detail.get(
                        "start_refused"
                    )
                    settled = one.doubted_at is None or self.time >= one.doubted_at + _SETTLE
                    if one.state is State.NEEDS_PERSON or (stuck and settled):
                        self.doubts += 1
                        applied = self.oracle.was_applied(home, context, one)
                        seen = Resolution.APPLIED if applied else Resolution.NOT_APPLIED
                        resolve_job(context, one, seen, "looked in the database")
        self._hold(home)

    def _hold(self, home: int) -> None:
        self._count()
        self.site.counts(PAYABLE, [])
        with self._context(home) as context:
            self.oracle.hold(home, context)

    def _job(self, book: Book) -> Job | None:
        """Return the newest job of a workbook."""
        with self._context(book.home) as context:
            jobs: Sequence[Job] = context.journal.jobs()
        own = (job for job in jobs if job.spec.file == str(book.path.resolve()))
        return next((job for job in own if job.undo_of is None), None)

    @contextmanager
    def _context(self, home: int, death: Death = ALIVE) -> Iterator[UploadContext]:
        """Open the journal of a home, for a process that ends at ``death``."""
        settings: Settings = read_settings(
            {
                "XLBRIDGE_HOME": str(self.place / f"home-{home}"),
                "XLBRIDGE_SETTLE": str(_SETTLE.total_seconds()),
            }
        )
        number, before = death
        journal = DyingJournal(settings.journal, number, before=before, now=lambda: self.time)
        try:
            yield UploadContext(settings, self.site.catalogue, journal)
        finally:
            journal.close()

    def _batch_folder(self, home: int) -> Path:
        return self.place / f"batch-{home}"

    def _count(self) -> None:
        type(self).steps += 1

    def _pick(self, number: int) -> Book:
        return self.books[number % len(self.books)]


def _is_over(job: Job) -> bool:
    return job.state.is_final and job.state is not State.NEEDS_PERSON
