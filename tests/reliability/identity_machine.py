"""State machine over identities: near keys, Unicode forms, corrected keys, two systems, clocks.

Workbooks of two homes have payables whose documents are spelled in several ways: in another Unicode
form, which is the same key, or nearly the same. Due dates are corrected in files that were sent,
the files go to a second system too, with the numbers of the first, and the clock jumps. The
databases show whether a guarantee was broken: no title twice under any spelling, no accepted row
missing, no title changed that the workbook does not name.
"""

import itertools
import os
import re
import shutil
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar

import xlsxwriter
from crashing_journal import CrashingJournal, Killed
from fake_clock import FakeClock
from faults import PATIENCE
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
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
from trials import SystemUnderTest, quick_client, trial_of

from xlbridge.errors import ApiError, UsageError
from xlbridge.settings import read_settings
from xlbridge.upload import (
    Job,
    Resolution,
    State,
    UploadContext,
    UploadOptions,
    Uploads,
    resolve_job,
)
from xlbridge.upload.planning import RowAction
from xlbridge.upload.requests import RowOutcome
from xlbridge.validation import validate_workbook

_OLD_PLAN = 120.0
_JUMPS = (timedelta(days=-2), timedelta(hours=-1), timedelta(days=40))
_DUE, _CORRECTED_DUE = "30/11/2026", "15/12/2026"
_TEXTS = ("", ", revisto")
_MAX_RUNS = 12
_RECORDS = ("financeiro/contaspagar",)
_NUMBERS = ("codigoDoExercicio", "numeroDaTransacao", "sequenciaDaTransacao")

FORMS = {
    "same": lambda key: key,
    "decomposed": lambda key: unicodedata.normalize("NFD", key),
    "upper case": str.upper,
    "no accents": lambda key: _without_accents(key),
    "no zeros": lambda key: key.lstrip("0"),
    "spaced": lambda key: key.replace(" ", ""),
}
"""Spellings of a key; the first two are the same one."""

_EXACT = ("same", "decomposed")


@dataclass(frozen=True)
class Title:
    """Payable in a database: its document as it is there, and the rest of its key and values."""

    document: str
    due: str
    text: str
    number: tuple[int, ...]

    @property
    def key(self) -> tuple[str, str]:
        """The key, whatever the spelling of the document."""
        return canonical(self.document), self.due


@dataclass
class Book:
    """Workbook of some keys in one spelling, and the home that sends it."""

    path: Path
    keys: tuple[str, ...]
    form: str
    text: str
    due: str
    home: int

    @property
    def documents(self) -> list[str]:
        """Document of each row, as the workbook has it."""
        return [FORMS[self.form](key) for key in self.keys]

    def write(self, numbers: dict[str, tuple[int, ...]] | None = None) -> None:
        """Write the workbook, with the system's own ``numbers`` of titles if they are given."""
        with xlsxwriter.Workbook(self.path) as book:
            sheet = book.add_worksheet(PAYABLE.resource)
            for at, (key, document) in enumerate(zip(self.keys, self.documents, strict=True)):
                record = PAYABLE.record(document, 0, self.text) | {"dataDeVencimento": self.due}
                record["historico"] = PAYABLE.row_text(key, self.text)
                if numbers is not None:
                    record |= zip(_NUMBERS, numbers.get(key, (None,) * 3), strict=True)
                sheet.write_row(0, 0, list(record))
                sheet.write_row(at + 1, 0, list(record.values()))


class IdentityMachine(StateMachine):
    """State machine; ``run_machine`` sets ``system`` and ``folder``, a test ``other``."""

    other: ClassVar[SystemUnderTest]
    numbers: ClassVar[Iterator[int]] = itertools.count(1)

    def __init__(self) -> None:
        super().__init__()
        number = next(self.numbers)
        self.workspace = self.folder / f"identities-{number}"
        self.workspace.mkdir(parents=True)
        self.clock = FakeClock()
        self.books: list[Book] = []
        self.tag = f"{os.getpid()}x{number}"
        self.keys = tuple(f"00{one} Açaí-{self.tag}" for one in range(1, KEYS + 1))
        self.doubts = 0
        for system in (self.system, self.other):
            system.proxy.reset()
        with quick_client(self.system, PATIENCE) as client:
            self.identity = client.identity

    @rule(
        indexes=st.sets(st.integers(0, KEYS - 1), min_size=1),
        form=st.sampled_from(sorted(FORMS)),
        text=st.sampled_from(_TEXTS),
        home=st.integers(0, HOMES - 1),
    )
    def new_book(self, indexes: set[int], form: str, text: str, home: int) -> None:
        """Somebody writes a workbook with some of the keys."""
        self._count()
        path = self.workspace / f"book-{len(self.books)}.xlsx"
        keys = tuple(self.keys[index] for index in sorted(indexes))
        self.books.append(Book(path, keys, form, text, _DUE, home))
        self.books[-1].write()

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), update=st.booleans(), crash=CRASHES)
    def upload(self, pick: int, update: bool, crash: Crash) -> None:
        """A workbook is sent."""
        self._upload(self._pick(pick), self.system, crash, update=update)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), update=st.booleans())
    def correct_key_and_upload(self, pick: int, update: bool) -> None:
        """The due dates of a workbook that may have been sent are corrected."""
        book = self._pick(pick)
        sent = self._has_accepted(book)
        book.due = _CORRECTED_DUE
        book.write()
        before = self._titles(self.system)
        self._upload(book, self.system, NO_CRASH, update=update)
        after = self._titles(self.system)
        if sent:
            assert len(after) == len(before), ("a corrected key added a title", before, after)

    @precondition(lambda self: self.books)
    @rule(pick=st.integers(0, 99), update=st.booleans(), with_numbers=st.booleans())
    def upload_elsewhere(self, pick: int, update: bool, with_numbers: bool) -> None:
        """A workbook goes to the other system, perhaps with the numbers of this one."""
        book = self._pick(pick)
        known = {title.key: title.number for title in self._titles(self.system)}
        numbers = {
            key: known[canonical(key), book.due]
            for key in book.keys
            if (canonical(key), book.due) in known
        }
        here, everywhere = self._titles(self.system), self._titles(self.other, every=True)
        book.write(numbers if with_numbers else None)
        self._upload(book, self.other, NO_CRASH, update=update)
        book.write()
        assert self._titles(self.system) == here, "the first system has changed"
        named = {(unicodedata.normalize("NFC", one), book.due) for one in book.documents}
        for title in self._titles(self.other, every=True) - everywhere:
            assert (unicodedata.normalize("NFC", title.document), title.due) in named, title

    @rule(jump=st.sampled_from(_JUMPS))
    def change_clock(self, jump: timedelta) -> None:
        """The clock of this computer is set."""
        self._count()
        self.clock.set_by(jump.total_seconds())

    @rule(kind=st.sampled_from(PROMPT), number=st.integers(0, 3))
    def fail_request(self, kind: str, number: int) -> None:
        """One of the next writing requests fails."""
        self._count()
        inject_fault(self.system, PROMPT_KINDS[kind], number, _RECORDS)

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

    def teardown(self) -> None:
        """Send every workbook completely; then each row has a title, or is held for one."""
        try:
            for system in (self.system, self.other):
                system.proxy.reset()
            for book in self.books:
                self._settle(book)
            for book in self.books:
                self._run_to_end(book)
                titles = Counter(title.key for title in self._titles(self.system))
                found = [titles[canonical(key), book.due] for key in book.keys]
                held = self._held(book)
                found = [max(count, is_held) for count, is_held in zip(found, held, strict=True)]
                doubt = "state machine (identities): a person decided" if self.doubts else None
                self.doubts = 0
                trial = trial_of(f"state machine (identities): {book.form}", found, doubt)
                assert (trial.duplicates, trial.lost) == (0, 0), (book, found)
                self.trials.append(trial)
        finally:
            for system in (self.system, self.other):
                system.proxy.reset()
            shutil.rmtree(self.workspace, ignore_errors=True)

    def _settle(self, book: Book) -> None:
        """Run the unfinished jobs of a workbook to their end, and decide their doubts."""
        for _ in range(_MAX_RUNS):
            self.system.proxy.reset()
            self.clock.advance(SETTLE)
            job = self._unfinished(book)
            if job is None:
                return
            self._act(
                book, self.system, NO_CRASH, lambda uploads, job=job: uploads.run(job, self.options)
            )
            self._decide(book)
        raise AssertionError(f"no end: {self._unfinished(book)}")

    def _run_to_end(self, book: Book) -> None:
        for _ in range(_MAX_RUNS):
            self._upload(book, self.system, NO_CRASH, update=False)
            self._settle(book)
            job = self._jobs(book)[0]
            if job.state is State.DONE and not job.spec.rows:
                return
        raise AssertionError(f"no end: {self._jobs(book)[0]}")

    def _held(self, book: Book) -> list[int]:
        """Return 1 for each row that the last upload of a workbook has held, with its reason."""
        with self._context(book.home) as context:
            planned = context.journal.plan_of(self._jobs(book)[0])
            return [int(row.action is RowAction.HELD and row.reason is not None) for row in planned]

    def _upload(self, book: Book, system: SystemUnderTest, crash: Crash, *, update: bool) -> None:
        options: UploadOptions = replace(self.options, mode="queue", update=update)

        def send(uploads: Uploads) -> None:
            sheet = validate_workbook(book.path, system.catalogue, resource=PAYABLE.resource)
            uploads.run(uploads.create(sheet, options), options)

        self._act(book, system, crash, send)

    def _act(self, book: Book, system: SystemUnderTest, crash: Crash, act: object) -> None:
        """Act like a process of the book's home, and check the result."""
        # Writers at the same moment elsewhere cannot be excluded.
        self.clock.advance(_OLD_PLAN)
        self._count()
        with (
            # Told, or cut off: the journal and the database say what is true.
            suppress(ApiError, UsageError, Killed),
            self._context(book.home, crash) as context,
            quick_client(system, PATIENCE) as client,
        ):
            act(Uploads(context, client))  # type: ignore[operator]
        self._check()

    def _decide(self, book: Book) -> None:
        """Resolve the doubts of a workbook like a person who looks into the system."""
        with self._context(book.home) as context:
            for whole in self._jobs(book):
                for job in context.journal.requests_of(whole):
                    stuck = job.state is State.IN_DOUBT and job.events[-1].detail.get(
                        "start_refused"
                    )
                    settled = not job.settle_left(self.clock(), SETTLE)
                    if job.state is State.NEEDS_PERSON or (stuck and settled):
                        self.doubts += 1
                        present = {title.key for title in self._titles(self.system)}
                        wanted = [
                            (canonical(book.keys[row - 2]), book.due) for row in job.spec.rows
                        ]
                        applied = all(key in present for key in wanted)
                        outcome = Resolution.APPLIED if applied else Resolution.NOT_APPLIED
                        resolve_job(context, job, outcome, "checked the database")

    def _check(self) -> None:
        """Check that no title exists twice, in any spelling, in either system."""
        for system in (self.system, self.other):
            counted = Counter(title.key for title in self._titles(system))
            assert max(counted.values(), default=0) <= 1, counted

    def _titles(self, system: SystemUnderTest, *, every: bool = False) -> set[Title]:
        """Return the titles of this scenario, or all, once all requests are finished."""
        system.counts(PAYABLE, [])
        numbers = ", ".join(_NUMBERS)
        query = f"SELECT numeroDoDocumento, dataDeVencimento, historico, {numbers} FROM payables"
        with closing(sqlite3.connect(f"file:{system.database}?mode=ro", uri=True)) as db:
            found = {
                Title(document or "", _day(due), text or "", tuple(number))
                for document, due, text, *number in db.execute(query)
            }
        return {one for one in found if every or self.tag in one.document.casefold()}

    def _has_accepted(self, book: Book) -> bool:
        """Return whether every row of a workbook was accepted by an upload of its home."""
        with self._context(book.home) as context:
            accepted: set[int] = set()
            for whole in self._jobs(book):
                for job in context.journal.requests_of(whole):
                    pairs = zip(job.spec.rows, job.outcomes, strict=True)
                    accepted |= {row for row, one in pairs if one is RowOutcome.ACCEPTED}
        return len(accepted) == len(book.keys)

    def _unfinished(self, book: Book) -> Job | None:
        return next(
            (
                job
                for job in self._jobs(book)
                if not job.state.is_final or job.state is State.NEEDS_PERSON
            ),
            None,
        )

    def _jobs(self, book: Book) -> list[Job]:
        """Return the jobs of a workbook in the first system, newest first."""
        with self._context(book.home) as context:
            return [
                job
                for job in context.journal.jobs()
                if job.spec.file == str(book.path.resolve()) and job.spec.system == self.identity
            ]

    @contextmanager
    def _context(self, home: int, crash: Crash = NO_CRASH) -> Iterator[UploadContext]:
        """Open the journal of a home for a process that crashes at ``crash``."""
        folder = self.workspace / f"home-{home}"
        environment = {
            "XLBRIDGE_HOME": str(folder),
            "XLBRIDGE_SETTLE": str(SETTLE),
        }
        settings = read_settings(environment)
        number, before = crash
        with closing(
            CrashingJournal(settings.journal, number, before=before, now=self.clock)
        ) as journal:
            yield UploadContext(settings, self.system.catalogue, journal)

    def _count(self) -> None:
        type(self).steps += 1

    def _pick(self, number: int) -> Book:
        return self.books[number % len(self.books)]


def canonical(document: str) -> str:
    """Return the text that all spellings of a document share."""
    plain = re.sub(r"\s+", "", _without_accents(document)).casefold()
    return plain.lstrip("0")


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(one for one in decomposed if not unicodedata.combining(one))


def _day(stored: str | None) -> str:
    """Return a stored date as a workbook has it."""
    return "" if stored is None else f"{datetime.fromisoformat(stored):%d/%m/%Y}"
