"""Oracle of changed records: what each step did to the sandbox's database, and by which job.

A record may be created, changed or removed only by a job that was to do just that, once; what a
job says of its rows must be what it did. The database and the journals are read after each step.

Inside: upload.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from xlbridge.resources import Mode
from xlbridge.upload import Job, UploadContext, UploadOptions, sent_rows
from xlbridge.upload.results import RowOutcome
from xlbridge.upload.single_records.write_journal import RecordWrite, WriteState

_NUMBER = "codigoDoExercicio, codigoDaFilial, numeroDaTransacao, sequenciaDaTransacao"
_KEY, _TEXT = "numeroDoDocumento", "historico"
_DENIED = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN, RowOutcome.UNSENT})


class Said(NamedTuple):
    """Key of a record or a row, and its text."""

    key: str
    text: str


class Change(NamedTuple):
    """Change of a record, by its number, from a text to another; None where it is not there."""

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
        self._records: dict[str, Said] = {}
        self._seen: dict[JobName, tuple[object, ...]] = {}
        self._writes: dict[JobName, list[WriteState]] = {}
        self._created: dict[JobName, list[Said]] = {}
        self._creators: dict[str, tuple[JobName, str]] = {}
        self._changes: dict[JobName, list[Change]] = {}
        self._decided: set[JobName] = set()

    def records(self) -> dict[str, Said]:
        """Return the records of the keys, by their numbers."""
        asked = f"SELECT {_NUMBER}, {_KEY}, {_TEXT} FROM payables WHERE {_KEY} = ?"
        with closing(sqlite3.connect(self._database, timeout=30)) as db:
            rows = [row for key in self._keys for row in db.execute(asked, (key,)).fetchall()]
        return {"/".join(map(str, row[:4])): Said(row[4], row[5]) for row in rows}

    def touch(self, record: str, text: str) -> None:
        """Change a record as somebody else would, by other means."""
        where = " AND ".join(f"{name} = ?" for name in _NUMBER.split(", "))
        with closing(sqlite3.connect(self._database, timeout=30)) as db, db:
            asked = f"UPDATE payables SET {_TEXT} = ? WHERE {where}"
            assert db.execute(asked, (text, *record.split("/"))).rowcount == 1
        self._records = self.records()

    def was_applied(self, home: int, context: UploadContext, job: Job) -> bool:
        """Tell whether all that is in doubt of a job was done; the job is decided by a person."""
        name = home, job.id
        self._decided.add(name)
        if job.spec.mode.is_by_record:
            changed = {change.record for change in self._changes.get(name, ())}
            writes = context.journal.writes.load(job.id)
            unproven = [one for one in writes if one.state is WriteState.UNPROVEN]
            return all(one.task.record in changed for one in unproven)
        created = self._created.get(name, [])
        return all(said in created for said in _said(context, job))

    def hold(self, home: int, context: UploadContext) -> None:
        """Hold what the last step of a home did against what its jobs were to do, and say."""
        before, after = self._records, self.records()
        jobs = list(self._advanced(home, context))
        for number in after.keys() - before.keys():
            self._hold_created(home, context, jobs, number, after[number])
        for number in before.keys() & after.keys():
            if before[number] != after[number]:
                change = Change(number, before[number].text, after[number].text)
                self._hold_changed(home, context, jobs, change)
        for number in before.keys() - after.keys():
            self._hold_changed(home, context, jobs, Change(number, before[number].text, None))
        self._records = after
        for job in jobs:
            if job.spec.mode.is_by_record:
                self._hold_writes(home, context, job)
            elif job.state.is_final and not job.parts and (home, job.id) not in self._decided:
                self._hold_verdict(home, context, job)

    def _advanced(self, home: int, context: UploadContext) -> Iterator[Job]:
        """Yield the jobs of a home, and parts, for which the journal has something new."""
        journal = context.journal
        for job in journal.jobs():
            for one in [job, *journal.parts_of(job)]:
                writes = journal.writes.load(one.id)
                now = (len(one.events), *((w.state, w.attempts) for w in writes))
                if self._seen.get((home, one.id)) != now:
                    self._seen[home, one.id] = now
                    yield one

    def _hold_created(
        self, home: int, context: UploadContext, jobs: Sequence[Job], number: str, said: Said
    ) -> None:
        """A record is new: one job was to create it, has not before, and nothing had its key."""
        importing = [j for j in jobs if not (j.parts or j.spec.mode.is_by_record)]
        job = next((j for j in importing if said in _said(context, j)), None)
        assert job is not None, ("created by no job", said)
        name = home, job.id
        assert said not in self._created.get(name, ()), ("created twice by one job", said)
        whole = context.journal.job(job.parent or job.id)
        there = [one for one in self._records.values() if one.key == said.key]
        assert not there or UploadOptions.of_job(whole).again, ("duplicate", said, there)
        self._created.setdefault(name, []).append(said)
        self._creators[number] = name, said.text

    def _hold_changed(
        self, home: int, context: UploadContext, jobs: Sequence[Job], change: Change
    ) -> None:
        """A record was changed or removed: a job was to do it, of a record that was as it was."""
        for job in jobs:
            for write in context.journal.writes.load(job.id):
                if _is_task(write, change):
                    self._changes.setdefault((home, job.id), []).append(change)
                    if write.task.claim is not None:
                        self._hold_undone((home, write.task.claim[0]), change)
                    return
        raise AssertionError(("changed by no job", change))

    def _hold_undone(self, wrote: JobName, change: Change) -> None:
        """What is undone was done by the job that is undone, and nobody has touched it since."""
        if change.after is None:
            assert self._creators[change.record] == (wrote, change.before), ("wrong undo", change)
        elif wrote not in self._decided:
            done = Change(change.record, change.after, change.before)
            assert done in self._changes[wrote], ("wrong undo", change)

    def _hold_writes(self, home: int, context: UploadContext, job: Job) -> None:
        """A record that a job says was written now is as it was wanted; a refused one untouched."""
        name = home, job.id
        writes = context.journal.writes.load(job.id)
        known = self._writes.get(name, [])
        self._writes[name] = [write.state for write in writes]
        changed = {change.record for change in self._changes.get(name, ())}
        for place, write in enumerate(writes):
            if write.state is WriteState.APPLIED and known[place : place + 1] != [write.state]:
                now = self._records.get(write.task.record)
                wanted = write.task.wanted and write.task.wanted[_TEXT]
                assert (now and now.text) == wanted, ("lost update", write)
            assert not (write.state.is_refused and write.task.record in changed), write

    def _hold_verdict(self, home: int, context: UploadContext, job: Job) -> None:
        """Accepted rows were created by the job; those that were denied were not."""
        created = self._created.get((home, job.id), [])
        for said, outcome in zip(_said(context, job), job.outcomes, strict=True):
            if outcome is RowOutcome.ACCEPTED:
                assert said in created, ("lost", said, job.events)
            if outcome in _DENIED:
                assert said not in created, ("denied and there", said, job.events)


def _said(context: UploadContext, job: Job) -> list[Said]:
    if job.spec.mode is Mode.PREVIEW or not job.spec.rows:
        return []
    return [Said(str(row[_KEY]), str(row[_TEXT])) for row in sent_rows(context, job)]


def _is_task(write: RecordWrite, change: Change) -> bool:
    """Tell whether a write was announced that was to make just this change."""
    task = write.task
    wanted = None if task.wanted is None else task.wanted.get(_TEXT)
    as_told = (task.record, task.expected.get(_TEXT), wanted) == change
    return as_told and write.attempts > 0
