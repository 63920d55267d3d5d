"""Oracle of changed records: what each step did to the sandbox's database, and by which job.

A record may be created, changed or removed only by a job that planned exactly that, once, and a job
must report what it did. The database and the journals are read after each step.

Inside: upload.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ledger_oracle import compare_ledgers

from xlbridge.resources import Mode
from xlbridge.upload import Job, UploadContext, UploadOptions, sent_rows
from xlbridge.upload.requests import RowOutcome
from xlbridge.upload.row_changes import RecordWrite, WriteState

_NUMBER = "codigoDoExercicio, codigoDaFilial, numeroDaTransacao, sequenciaDaTransacao"
_KEY, _TEXT = "numeroDoDocumento", "historico"
_NOT_CREATED = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNSENT})


class RecordText(NamedTuple):
    """Key of a record or a row, and its text."""

    key: str
    text: str


class Change(NamedTuple):
    """Change of a record's text, by the record's number; None if the record does not exist."""

    record: str
    before: str | None
    after: str | None


JobName = tuple[int, str]
"""Home of a job, and its id."""


class Oracle:
    """Oracle of the payables of some keys."""

    def __init__(self, database: Path, keys: Sequence[str]) -> None:
        self._database = database
        self._keys = keys
        self._records: dict[str, RecordText] = {}
        self._seen: dict[JobName, tuple[object, ...]] = {}
        self._writes: dict[JobName, list[WriteState]] = {}
        self._created: dict[JobName, list[RecordText]] = {}
        self._creators: dict[str, tuple[JobName, str]] = {}
        self._changes: dict[JobName, list[Change]] = {}
        self._decided: set[JobName] = set()

    def records(self) -> dict[str, RecordText]:
        """Return the records of the keys, by their numbers."""
        query = f"SELECT {_NUMBER}, {_KEY}, {_TEXT} FROM payables WHERE {_KEY} = ?"
        with closing(sqlite3.connect(self._database, timeout=30)) as db:
            rows = [row for key in self._keys for row in db.execute(query, (key,)).fetchall()]
        return {"/".join(map(str, row[:4])): RecordText(row[4], row[5]) for row in rows}

    def change_elsewhere(self, record: str, text: str) -> None:
        """Change a record outside of all jobs."""
        where = " AND ".join(f"{name} = ?" for name in _NUMBER.split(", "))
        with closing(sqlite3.connect(self._database, timeout=30)) as db, db:
            query = f"UPDATE payables SET {_TEXT} = ? WHERE {where}"
            assert db.execute(query, (text, *record.split("/"))).rowcount == 1
        self._records = self.records()

    def was_applied(self, home: int, context: UploadContext, job: Job) -> bool:
        """Return whether everything in doubt of a job was done; a person resolves the job."""
        name = home, job.id
        self._decided.add(name)
        if job.spec.mode.channel.by_record:
            changed = {change.record for change in self._changes.get(name, ())}
            writes = context.journal.writes.load(job.id)
            unproven = [one for one in writes if one.state is WriteState.UNPROVEN]
            return all(one.task.record in changed for one in unproven)
        created = self._created.get(name, [])
        return all(record in created for record in _sent_texts(context, job))

    def check(self, home: int, context: UploadContext) -> None:
        """Compare what the last step of a home did with what its jobs planned and report."""
        compare_ledgers(context.journal, context.catalogue)
        before, after = self._records, self.records()
        jobs = list(self._advanced(home, context))
        for number in after.keys() - before.keys():
            self._check_created(home, context, jobs, number, after[number])
        for number in before.keys() & after.keys():
            if before[number] != after[number]:
                change = Change(number, before[number].text, after[number].text)
                self._check_changed(home, context, jobs, change)
        for number in before.keys() - after.keys():
            self._check_changed(home, context, jobs, Change(number, before[number].text, None))
        self._records = after
        for job in jobs:
            if job.spec.mode.channel.by_record:
                self._check_writes(home, context, job)
            elif job.state.is_final and not job.parts and (home, job.id) not in self._decided:
                self._check_verdict(home, context, job)

    def _advanced(self, home: int, context: UploadContext) -> Iterator[Job]:
        """Yield the jobs and parts of a home that are new or changed in the journal."""
        journal = context.journal
        for job in journal.jobs():
            for one in [job, *journal.parts_of(job)]:
                writes = journal.writes.load(one.id)
                now = (len(one.events), *((w.state, w.attempts) for w in writes))
                if self._seen.get((home, one.id)) != now:
                    self._seen[home, one.id] = now
                    yield one

    def _check_created(
        self,
        home: int,
        context: UploadContext,
        jobs: Sequence[Job],
        number: str,
        record: RecordText,
    ) -> None:
        """Check a new record: one job was to create it, had not yet, and nothing had its key."""
        importing = [j for j in jobs if not (j.parts or j.spec.mode.channel.by_record)]
        job = next((j for j in importing if record in _sent_texts(context, j)), None)
        assert job is not None, ("created by no job", record)
        name = home, job.id
        assert record not in self._created.get(name, ()), ("created twice by one job", record)
        parent = context.journal.job(job.parent or job.id)
        existing = [one for one in self._records.values() if one.key == record.key]
        assert not existing or UploadOptions.of_job(parent).again, ("duplicate", record, existing)
        self._created.setdefault(name, []).append(record)
        self._creators[number] = name, record.text

    def _check_changed(
        self, home: int, context: UploadContext, jobs: Sequence[Job], change: Change
    ) -> None:
        """Check a changed or removed record: a job was to change it from exactly that state."""
        for job in jobs:
            for write in context.journal.writes.load(job.id):
                if _is_task(write, change):
                    self._changes.setdefault((home, job.id), []).append(change)
                    if write.task.claim is not None:
                        self._check_undone((home, write.task.claim[0]), change)
                    return
        raise AssertionError(("changed by no job", change))

    def _check_undone(self, wrote: JobName, change: Change) -> None:
        """Check an undo: the undone job did it, and nobody has changed the record since."""
        if change.after is None:
            assert self._creators[change.record] == (wrote, change.before), ("wrong undo", change)
        elif wrote not in self._decided:
            done = Change(change.record, change.after, change.before)
            assert done in self._changes[wrote], ("wrong undo", change)

    def _check_writes(self, home: int, context: UploadContext, job: Job) -> None:
        """Check reported writes: written records have their text, refused ones are unchanged."""
        name = home, job.id
        writes = context.journal.writes.load(job.id)
        earlier = self._writes.get(name, [])
        self._writes[name] = [write.state for write in writes]
        changed = {change.record for change in self._changes.get(name, ())}
        for index, write in enumerate(writes):
            if write.state is WriteState.APPLIED and earlier[index : index + 1] != [write.state]:
                now = self._records.get(write.task.record)
                wanted = write.task.wanted and write.task.wanted[_TEXT]
                assert (now and now.text) == wanted, ("lost update", write)
            assert not (write.state.is_refused and write.task.record in changed), write

    def _check_verdict(self, home: int, context: UploadContext, job: Job) -> None:
        """Check reported outcomes: the job created its accepted rows, and no others."""
        created = self._created.get((home, job.id), [])
        outcomes = context.journal.changes.outcomes(job.id)
        for record, outcome in zip(_sent_texts(context, job), outcomes, strict=True):
            if outcome is RowOutcome.ACCEPTED:
                assert record in created, ("lost", record, job.events)
            if outcome in _NOT_CREATED:
                assert record not in created, ("denied and there", record, job.events)


def _sent_texts(context: UploadContext, job: Job) -> list[RecordText]:
    if job.spec.mode is Mode.PREVIEW or not job.spec.rows:
        return []
    return [RecordText(str(row[_KEY]), str(row[_TEXT])) for row in sent_rows(context, job)]


def _is_task(write: RecordWrite, change: Change) -> bool:
    """Return whether an announced write was to make exactly this change."""
    task = write.task
    wanted = None if task.wanted is None else task.wanted.get(_TEXT)
    is_announced = (task.record, task.expected.get(_TEXT), wanted) == change
    return is_announced and write.attempts > 0
