"""SIGKILL at a statement of the journal: what it says of each row is compared with the oracle.

A sheet is sent, corrected and sent again, changed and reversed, each by processes that are killed
at random statements, also within a transaction, until the job has ended.
"""

import itertools
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from ledger_oracle import compare_ledgers
from openpyxl import load_workbook
from sheets import data_sheet, header_of
from subjects import PAYABLE
from trials import SystemUnderTest

from xlbridge.client import Client, RetryPolicy
from xlbridge.errors import ApiError, JournalError, UsageError
from xlbridge.local_database import LocalDatabase
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
from xlbridge.upload.planning import ApproveAll
from xlbridge.validation import validate_workbook

ROWS = 3
_RUNS = 8
_MODES = ("direct", "queue", "records")
_NO_SUPPLIER = 999_999


@dataclass
class KilledSheet:
    """Sheet of payables with a wrong row, and the home from which killed processes send it."""

    system: SystemUnderTest
    home: Path
    rng: Random
    kills: int = 0
    compared: int = 0

    def live(self) -> None:
        """Send the sheet, retry its wrong row, change the rows, and undo everything."""
        self.home.mkdir(exist_ok=True)
        path, keys = self.home / "sheet.xlsx", PAYABLE.new_keys(ROWS)
        PAYABLE.write_keys(path, keys, self.system.customer)
        book = load_workbook(path)
        sheet = data_sheet(book)
        supplier = header_of(sheet).index("codigoDoFornecedor") + 1
        right = sheet.cell(3, supplier).value
        sheet.cell(3, supplier).value = _NO_SUPPLIER
        book.save(path)
        options = UploadOptions(
            mode=self.rng.choice(_MODES),
            chunk_rows=self.rng.choice([None, 2]),
            consent=ApproveAll(),
            preview=False,
            sleep=lambda _seconds: None,
            settle_seconds=0,
        )

        def send(uploads: Uploads, _context: UploadContext, options: UploadOptions) -> Job:
            rows = validate_workbook(path, self.system.catalogue, resource=PAYABLE.resource)
            return uploads.create(rows, options)

        def retry(uploads: Uploads, context: UploadContext, options: UploadOptions) -> Job:
            first = context.journal.jobs()[-1]
            first.require_rejected()
            rows = validate_workbook(path, self.system.catalogue, resource=PAYABLE.resource)
            corrected = uploads.rows_to_send(rows, options, first, in_place=True)
            return uploads.create(corrected, options)

        def undo(uploads: Uploads, context: UploadContext, _options: UploadOptions) -> Job:
            return uploads.create_undo(uploads.plan_undo(context.journal.jobs()[-1]))

        self._do(send, options)
        sheet.cell(3, supplier).value = right
        book.save(path)
        self._do(retry, options)
        PAYABLE.write_keys(path, keys, self.system.customer, ", alterado")
        self._do(self.rng.choice([send, retry]), replace(options, update=True))
        self._do(undo, options)

    def _do(
        self, create: Callable[[Uploads, UploadContext, UploadOptions], Job], options: UploadOptions
    ) -> None:
        """Create a job, and run all that are not finished, in processes that may be killed."""

        def act(uploads: Uploads, context: UploadContext, *, creates: bool) -> None:
            if creates:
                uploads.run(create(uploads, context, options), options)
            for job in context.journal.jobs():
                uploads.run(job, options)

        earlier = len(self._jobs())
        for run in range(_RUNS):
            jobs = self._jobs()
            if len(jobs) > earlier and all(job.state.is_final for job in jobs):
                break
            at = self.rng.randrange(120) if run < _RUNS - 2 else None
            creates = len(jobs) == earlier
            self.kills += _is_killed(self._with_uploads, partial(act, creates=creates), at)
            self._compare()
        self._decide()

    def _decide(self) -> None:
        """Answer the doubts that only a person can decide."""
        with self._context() as context:
            for job in context.journal.jobs():
                if job.state is State.NEEDS_PERSON:
                    with suppress(UsageError):
                        resolve_job(context, job, self.rng.choice(list(Resolution)), "looked")
        self._compare()

    def _jobs(self) -> list[Job]:
        with self._context() as context:
            return context.journal.jobs()

    def _compare(self) -> None:
        with self._context() as context:
            self.compared += compare_ledgers(context.journal, context.catalogue)

    def _with_uploads(self, act: Callable[[Uploads, UploadContext], None]) -> None:
        policy = RetryPolicy(sleep=lambda _seconds: None)
        target = replace(self.system.target(), base_url=self.system.sandbox.base_url)
        with (
            suppress(ApiError, UsageError, JournalError),
            self._context() as context,
            Client(target, retry_policy=policy) as client,
        ):
            act(Uploads(context, client), context)

    @contextmanager
    def _context(self) -> Iterator[UploadContext]:
        settings = read_settings({"XLBRIDGE_HOME": str(self.home), "XLBRIDGE_SETTLE": "0"})
        with closing(Journal(settings.journal)) as journal:
            yield UploadContext(settings, self.system.catalogue, journal)


def _is_killed(run: Callable[[Any], None], act: Callable[..., None], at: int | None) -> bool:
    """Run an act in a fork that is killed before its ``at``-th statement; return whether it was."""
    with warnings.catch_warnings():
        # Threads of the tests hold no locks that the fork needs.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            if at is not None:
                _kill_before(at)
            run(act)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def _kill_before(at: int) -> None:
    """Kill this process before its ``at``-th statement of a database."""
    left = itertools.count(at, -1)
    for name in ("execute", "executemany"):
        run = getattr(LocalDatabase, name)

        def counted(*arguments: Any, run: Callable[..., Any] = run) -> Any:
            if not next(left):
                os.kill(os.getpid(), signal.SIGKILL)
            return run(*arguments)

        setattr(LocalDatabase, name, counted)
