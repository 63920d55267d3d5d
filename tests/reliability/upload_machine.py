"""State machine over client, server, faults and clock, in any order.

Sheets are planned, run, resumed and uploaded again, doubts are resolved; requests fail, the server
becomes unreachable and returns, time passes. After each step, and at the end, the sandbox's
database shows whether a guarantee was broken.

Inside: upload.
"""

import itertools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from fake_clock import FakeClock
from fault_trials import create_job
from faults import PATIENCE
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from journal_steps import check_steps
from ledger_oracle import compare_ledgers
from state_machines import (
    PROMPT,
    PROMPT_KINDS,
    SETTLE,
    StateMachine,
    adds_any,
    disconnect_server,
    inject_fault,
)
from subjects import (
    BY_RECORD,
    BY_RECORD_KEYLESS,
    DIRECT,
    DIRECT_KEYLESS,
    KEYLESS,
    OWN_QUEUE,
    PROCESSINGS,
    QUEUE,
    Processing,
    Subject,
)
from trials import quick_client, trial_of
from wire_proxy import Request

from xlbridge.errors import ApiError, JournalError
from xlbridge.settings import read_settings
from xlbridge.upload import (
    Job,
    Journal,
    Resolution,
    State,
    UploadContext,
    Uploads,
    resolve_job,
)
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.results.row_ledger import messages_of

ROWS = 3
_MAX_RUNS = 8
_FIRST_ROW = 2
"""Number of the first row of a sheet with one header."""

_FILES = [DIRECT, DIRECT_KEYLESS, QUEUE, OWN_QUEUE, KEYLESS]
_PROCESSINGS = [one for one in PROCESSINGS if one.resource != "inventario"]
"""Processings with many waiting records; a branch can have only one open inventory."""

_SUBJECTS = [*_FILES, BY_RECORD, BY_RECORD_KEYLESS, *_PROCESSINGS]

_BY_RECORD = ("POST /v2/cliente", "/processar")
"""Requests that write one record."""


@dataclass
class Sheet:
    """Sheet and its jobs; ``parts`` is the size of the parts it is sent in.

    ``other_jobs`` are jobs of the rows that an unfinished job does not hold. ``handed_on`` are the
    keys of rows of which a person said that another sheet has them; that one is sent ``again``.
    """

    subject: Subject
    path: Path
    keys: list[str]
    parts: int | None
    jobs: list[str] = field(default_factory=list)
    other_jobs: list[str] = field(default_factory=list)
    handed_on: set[str] = field(default_factory=set)
    again: bool = False


class UploadMachine(StateMachine):
    """State machine; ``run_machine`` sets ``system`` and ``folder``."""

    numbers: ClassVar[Iterator[int]] = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        home = self.folder / f"machine-{next(self.numbers)}"
        home.mkdir(parents=True)
        self.home = home
        self.clock = FakeClock()
        environment = read_settings({"XLBRIDGE_HOME": str(home), "XLBRIDGESETTLE": str(SETTLE)})
        self.journal = Journal(environment.journal, now=self.clock)
        self.context = UploadContext(environment, self.system.catalogue, self.journal)
        self.sheets: list[Sheet] = []
        self.doubts = 0
        self._reset_proxy()

    @rule(
        subject=st.sampled_from(_SUBJECTS),
        parts=st.sampled_from([None, 2]),
    )
    def new_sheet(self, subject: Subject, parts: int | None) -> None:
        """An analyst starts with a new sheet, or with new records to process."""
        path = self.home / f"sheet-{len(self.sheets)}.xlsx"
        keys = self.system.write(subject, path, ROWS)
        sheet = Sheet(subject, path, keys, parts)
        self._count()
        try:
            sheet.jobs.append(self._create_job(sheet).id)
        except ApiError:
            # The system is unavailable: nothing is recorded.
            return
        self.sheets.append(sheet)

    @rule(kind=st.sampled_from(PROMPT), number=st.integers(0, 3))
    def fail_request(self, kind: str, number: int) -> None:
        """One of the next writing requests fails."""
        inject_fault(self.system, PROMPT_KINDS[kind], number, _BY_RECORD, self._takes_both)
        self._count()

    @rule(readings=st.integers(1, 4))
    def lag_behind(self, readings: int) -> None:
        """Readings show for some time what was there before a write."""
        self.system.proxy.lag = readings
        self._count()

    @rule()
    def disconnect(self) -> None:
        """The server becomes unreachable."""
        disconnect_server(self.system)
        self._count()

    @rule()
    def reconnect(self) -> None:
        """The server works again."""
        self._reset_proxy()
        self._count()

    @rule(seconds=st.sampled_from([1.0, 300.0, SETTLE]))
    def pass_time(self, seconds: float) -> None:
        """Time passes; delayed requests arrive."""
        self.system.counts(DIRECT, [])
        self.clock.advance(seconds)
        self._count()

    @rule(seconds=st.sampled_from([-3600.0, 3600.0]), started=st.booleans())
    def set_clock(self, seconds: float, started: bool) -> None:
        """The wall clock is set, and the computer may be started again."""
        self.clock.set_by(seconds)
        if started:
            self.clock.start_again()
        self._count()

    @precondition(lambda self: self.sheets)
    @rule(pick=st.integers(0, 99))
    def run(self, pick: int) -> None:
        """A job is run or resumed."""
        sheet = self._pick(pick)
        self._run(sheet, sheet.jobs[-1])
        self._check(sheet)

    @precondition(lambda self: self.sheets)
    @rule(pick=st.integers(0, 99))
    def upload_again(self, pick: int) -> None:
        """The analyst sends the same sheet again, without a reason."""
        sheet = self._pick(pick)
        last = self.journal.job(sheet.jobs[-1])
        if isinstance(sheet.subject, Processing) and not last.state.is_final:
            return
        try:
            job = self._create_job(sheet)
        except ApiError:
            return
        except JournalError:
            assert not last.state.frees_rows, last.state
            return
        if job.id != last.id and last.state.is_settled:
            sheet.jobs.append(job.id)
        elif job.id != last.id:
            # It leaves the rows of the unfinished one to that, which goes on.
            sheet.other_jobs.append(job.id)
        self._check(sheet)

    @precondition(lambda self: self.sheets)
    @rule(pick=st.integers(0, 99))
    def decide(self, pick: int) -> None:
        """A person resolves a doubt."""
        sheet = self._pick(pick)
        self._decide(sheet)
        self._check(sheet)

    def teardown(self) -> None:
        """Run every sheet to its end; then each of its rows exists once."""
        try:
            for sheet in self.sheets:
                self._run_to_end(sheet)
                found = self._counts(sheet)
                doubt = "state machine: a person decided" if self.doubts else None
                self.doubts = 0
                trial = trial_of(f"state machine: {sheet.subject.name}", found, doubt)
                assert (trial.duplicates, trial.lost) == (0, 0), found
                self.trials.append(trial)
            check_steps(self.journal)
        finally:
            self._reset_proxy()
            self.journal.close()
            shutil.rmtree(self.home, ignore_errors=True)

    def _run_to_end(self, sheet: Sheet) -> None:
        self._reset_proxy()
        for job_id in sheet.other_jobs:
            self._run(sheet, job_id)
        for _ in range(_MAX_RUNS):
            self._reset_proxy()
            self._run(sheet, sheet.jobs[-1])
            job = self.journal.job(sheet.jobs[-1])
            if job.state is State.DONE:
                return None
            self.pass_time(SETTLE)
            self._decide(sheet)
            job = self.journal.job(sheet.jobs[-1])
            over = isinstance(sheet.subject, Processing) and job.state is State.PARTIAL
            if job.state.frees_rows or over:
                sheet.jobs.append(self._create_job(sheet).id)
            elif job.state is State.PARTIAL:
                return self._send_the_rest(sheet)
        raise AssertionError(f"no end: {self.journal.job(sheet.jobs[-1])}")

    def _send_the_rest(self, sheet: Sheet) -> None:
        """Send the rows of rejected parts again, as another sheet."""
        found = self.system.counts(sheet.subject, sheet.keys)
        job = self.journal.job(sheet.jobs[-1])
        missing = [row for row, count in zip(job.spec.rows, found, strict=True) if count == 0]
        refused = [row.row or 0 for row in messages_of(self.journal, job)]
        # Other uploads of the sheet may have brought in what was refused here.
        assert sorted(refused) == missing or (sheet.other_jobs and {*refused} >= {*missing}), (
            refused,
            missing,
        )
        rejects = Path(job.notes.rejects_file)
        rest = Sheet(sheet.subject, rejects, sheet.keys, None)
        rest.jobs.append(self._create_job(rest).id)
        self._run_to_end(rest)

    def _run(self, sheet: Sheet, job_id: str) -> None:
        self._count()
        with quick_client(self.system, PATIENCE) as client:
            try:
                Uploads(self.context, client).run(self.journal.job(job_id), self.options)
            except ApiError:
                assert not self.journal.job(job_id).state.is_final

    def _decide(self, sheet: Sheet) -> None:
        self._count()
        job = self.journal.job(sheet.jobs[-1])
        for one in self.journal.requests_of(job):
            stuck = one.state is State.IN_DOUBT and one.events[-1].detail.get("start_refused")
            settled = not one.settle_left(self.clock(), SETTLE)
            if one.state is State.NEEDS_PERSON or (stuck and settled):
                self._resolve(sheet, one)

    def _resolve(self, sheet: Sheet, job: Job) -> None:
        self.doubts += 1
        if sheet.subject is BY_RECORD_KEYLESS:
            counts = self._hand_on(sheet, job)
        else:
            rows = self.journal.job(sheet.jobs[-1]).spec.rows
            found = dict(
                zip(rows, self.system.counts(sheet.subject, sheet.keys), strict=True)
                if len(rows) == len(sheet.keys)
                else ()
            )
            counts = [found.get(row, 0) for row in job.spec.rows]
        resolution = Resolution.APPLIED if all(counts) else Resolution.NOT_APPLIED
        resolve_job(self.context, job, resolution, "checked the database")

    def _counts(self, sheet: Sheet) -> list[int]:
        """Return how often each row is in the sandbox; one that another sheet has counts as 1."""
        found = self.system.counts(sheet.subject, sheet.keys)
        handed_on = (key in sheet.handed_on for key in sheet.keys)
        return [max(n, int(other)) for n, other in zip(found, handed_on, strict=True)]

    def _takes_both(self, request: Request) -> bool:
        """Return whether the system takes a second delivery of a request, too."""
        keyless = any(not sheet.subject.keyed for sheet in self.sheets)
        return adds_any(request) or (keyless and "/cliente" in request.path)

    def _hand_on(self, sheet: Sheet, job: Job) -> list[int]:
        """Return how often each row in doubt is there; if only some are, as if all were.

        A person decides on all of them together, and sends the others in another sheet.
        """
        counts = self.system.counts(sheet.subject, sheet.keys)
        outcomes = zip(job.spec.rows, self.journal.changes.outcomes(job.id), strict=True)
        in_doubt = [row - _FIRST_ROW for row, outcome in outcomes if outcome is RowOutcome.UNKNOWN]
        found = [counts[at] for at in in_doubt]
        missing = [sheet.keys[at] for at in in_doubt if not counts[at]]
        if not missing or not any(found):
            return found
        path = self.home / f"sheet-{len(self.sheets)}.xlsx"
        sheet.subject.write_keys(path, missing, self.system.customer)
        rest = Sheet(sheet.subject, path, missing, None, again=True)
        self._reset_proxy()
        rest.jobs.append(self._create_job(rest).id)
        self.sheets.append(rest)
        sheet.handed_on |= {*missing}
        return [1] * len(found)

    def _create_job(self, sheet: Sheet) -> Job:
        mode = "auto" if isinstance(sheet.subject, Processing) else sheet.subject.mode
        again = "looked in the database" if sheet.again else None
        options = replace(self.options, mode=mode, chunk_rows=sheet.parts, again=again)  # type: ignore[arg-type]
        with quick_client(self.system, PATIENCE) as client:
            return create_job(self.context, client, sheet.subject, sheet.path, sheet.keys, options)

    def _check(self, sheet: Sheet) -> None:
        """Check that no row exists twice and that a finished job reports the truth."""
        compare_ledgers(self.journal, self.system.catalogue)
        found = self._counts(sheet)
        assert max(found) <= 1, found
        job = self.journal.job(sheet.jobs[-1])
        if job.state is State.DONE:
            assert found == [1] * len(found), job.events
        elif job.state in (State.REJECTED, State.ABANDONED) and not (
            isinstance(sheet.subject, Processing) and len(sheet.jobs) > 1
        ):
            assert found == [0] * len(found), job.events

    def _reset_proxy(self) -> None:
        self.system.proxy.reset()

    def _pick(self, number: int) -> Sheet:
        return self.sheets[number % len(self.sheets)]

    def _count(self) -> None:
        type(self).steps += 1
