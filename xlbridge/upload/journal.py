"""Journal of uploads: jobs, their events and the rows that they claim, in one SQLite file.

Everything is recorded before anything is sent, and events are only ever added. Each row of a job
is claimed by its digest, so that the same row cannot be sent to the same environment twice, in
whatever file and company, unless the earlier job did not apply it, or a person says so.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from xlbridge.errors import JournalError, UsageError
from xlbridge.files import LocalDatabase, open_local_database
from xlbridge.i18n import Text
from xlbridge.resources import Mode
from xlbridge.upload.claims import Claims, already_sent_error
from xlbridge.upload.job import Event, Job, JobSpec, State
from xlbridge.upload.lookup.snapshot import (
    Moment,
    Snapshot,
    StoredSnapshot,
    snapshot_from_json,
    snapshot_to_json,
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    profile TEXT NOT NULL,
    resource TEXT NOT NULL,
    mode TEXT NOT NULL,
    file TEXT NOT NULL,
    sheet TEXT NOT NULL,
    digest TEXT NOT NULL,
    payload TEXT NOT NULL,
    rows TEXT NOT NULL,
    columns TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS parts (
    job TEXT PRIMARY KEY REFERENCES jobs (id),
    parent TEXT NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS parts_by_parent ON parts (parent, number);
CREATE TABLE IF NOT EXISTS claims (
    job TEXT NOT NULL REFERENCES jobs (id),
    position INTEGER NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (job, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claims_by_digest ON claims (digest);
CREATE TABLE IF NOT EXISTS events (
    job TEXT NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    state TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (job, number)
);
CREATE INDEX IF NOT EXISTS retries ON events (json_extract(detail, '$.retry_of'))
    WHERE number = 1;
CREATE TABLE IF NOT EXISTS readings (
    job TEXT NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    moment TEXT NOT NULL,
    rows TEXT NOT NULL,
    PRIMARY KEY (job, number)
);
"""


def open_journal_file(path: Path) -> LocalDatabase:
    """Open the file, or make it. Raises what ``open_local_database`` raises."""
    db = open_local_database(path, _SCHEMA, isolation_level=None)
    db.execute("PRAGMA foreign_keys = ON")
    return db


@contextmanager
def transaction(db: LocalDatabase) -> Iterator[None]:
    """Do all of the block or nothing; it is on the disk when the block has ended."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # Where the disk is full, SQLite has rolled back by itself.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


SheetPart = tuple[JobSpec, Sequence[str]]
"""Part of a sheet, and the digests of its rows."""


_NO_NOTE: Mapping[str, Any] = MappingProxyType({})


class Journal:
    """Journal in a file; safe to use from several processes at once.

    ``now`` gives the local time that events are recorded with.
    """

    def __init__(self, path: Path, now: Callable[[], datetime] = datetime.now) -> None:
        self._db = open_journal_file(path)
        self._claims = Claims(self._db)
        self.now = now

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def create(
        self,
        new: JobSpec,
        digests: Sequence[str],
        *,
        again: str | None = None,
        note: Mapping[str, Any] = _NO_NOTE,
    ) -> Job:
        """Record a job as prepared, claiming its rows by their ``digests``.

        ``again`` is a person's reason to send the same rows once more, and is recorded.
        ``note`` is stored with the job's first event. Jobs that hold some of the rows and have sent
        nothing are abandoned in favour of the new one; a preview claims nothing. Raises
        ``JournalError`` when some of the rows were sent already.
        """
        job_id = self._new_id()
        with transaction(self._db):
            detail = self._take_over(job_id, new, digests, again)
            self._insert(job_id, new, digests)
            self._add(job_id, State.PREPARED, {**note, **detail})
        return self.job(job_id)

    def create_split(
        self,
        new: JobSpec,
        parts: Sequence[SheetPart],
        *,
        again: str | None = None,
        note: Mapping[str, Any] = _NO_NOTE,
    ) -> Job:
        """Record a sheet that is sent in parts, each a job of its own; return their parent.

        Parent and parts are there together or not at all. The parts claim the rows. Raises
        ``JournalError`` as ``create`` does.
        """
        parent = self._new_id()
        with transaction(self._db):
            digests = [digest for _, of_part in parts for digest in of_part]
            detail = self._take_over(parent, new, digests, again)
            self._insert(parent, new, ())
            self._add(parent, State.PREPARED, {**note, **detail})
            for number, (part, of_part) in enumerate(parts, start=1):
                job_id = f"{parent}-{number}"
                self._insert(job_id, part, of_part)
                self._db.execute("INSERT INTO parts VALUES (?, ?, ?)", (job_id, parent, number))
                self._add(job_id, State.PREPARED, {})
        return self.job(parent)

    def unsent(self, new: JobSpec, parts: Sequence[int] = ()) -> Job | None:
        """Return the job of the same rows, mode and sizes of parts that has sent nothing yet."""
        found = self._db.execute(
            "SELECT id FROM jobs WHERE profile = ? AND resource = ? AND digest = ? AND mode = ? "
            "AND id NOT IN (SELECT job FROM parts) ORDER BY created_at DESC",
            (new.profile, new.resource, new.digest, new.mode),
        )
        jobs = (self.job(row[0]) for row in found.fetchall())
        waiting = (job for job in jobs if job.state.is_unsent)
        return next((job for job in waiting if self._sizes(job) == list(parts)), None)

    def retries_of(self, job_id: str) -> list[Job]:
        """Return the jobs that sent rejected rows of a job again."""
        found = self._db.execute(
            "SELECT job FROM events JOIN jobs ON id = job "
            "WHERE number = 1 AND json_extract(detail, '$.retry_of') = ? "
            "ORDER BY created_at DESC, id DESC",
            (job_id,),
        )
        return [self.job(row[0]) for row in found.fetchall()]

    def record(self, job: Job, state: State, *, freed: Sequence[int] = (), **detail: Any) -> Job:
        """Add an event and return the job as it is then. The event is on the disk afterwards.

        A state in which nothing was applied frees all rows of the job; ``freed`` are the positions
        of rows that were not applied in another. Raises ``JournalError`` when the job has moved on
        since ``job`` was read.
        """
        with transaction(self._db):
            if self.job(job.id).events != job.events:
                raise _job_changed_error(job)
            self._add(job.id, state, detail)
            if state.frees_rows:
                self._claims.free(job.id)
            self._claims.free_rows(job.id, freed)
        return self.job(job.id)

    def store_snapshot(self, job: Job, moment: Moment, snapshot: Snapshot) -> None:
        """Store a snapshot of the remote records of a job's rows."""
        rows = json.dumps(snapshot_to_json(snapshot))
        with transaction(self._db):
            self._db.execute(
                "INSERT INTO readings SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? "
                "FROM readings WHERE job = ?",
                (job.id, self.now().isoformat(), moment, rows, job.id),
            )

    def snapshots(self, job_id: str) -> list[StoredSnapshot]:
        """Return the snapshots of a job, oldest first."""
        found = self._db.execute(
            "SELECT at, moment, rows FROM readings WHERE job = ? ORDER BY number", (job_id,)
        )
        return [
            StoredSnapshot(
                datetime.fromisoformat(at), Moment(moment), snapshot_from_json(json.loads(rows))
            )
            for at, moment, rows in found.fetchall()
        ]

    def snapshots_before(self, job_id: str) -> list[Snapshot]:
        """Return the snapshots of a job from before anything was sent, oldest first."""
        return [one.rows for one in self.snapshots(job_id) if one.moment is Moment.BEFORE]

    def job(self, job_id: str) -> Job:
        """Return a job by its id. Raises ``UsageError`` when there is none."""
        found = self._db.execute(
            "SELECT jobs.*, parent, number, "
            "(SELECT COUNT(*) FROM parts AS children WHERE children.parent = jobs.id) "
            "FROM jobs LEFT JOIN parts ON parts.job = jobs.id WHERE id = ?",
            (job_id,),
        ).fetchone()
        if found is None:
            raise UsageError(
                Text(pt="O envio {job!r} não existe.", en="There is no upload {job!r}.").format(
                    job=job_id
                ),
                Text(pt="Veja os envios existentes: xlbridge jobs", en="See those: xlbridge jobs"),
            )
        return Job(
            id=found[0],
            created_at=datetime.fromisoformat(found[1]),
            what=JobSpec(
                profile=found[2],
                resource=found[3],
                mode=Mode(found[4]),
                file=found[5],
                sheet=found[6],
                digest=found[7],
                payload=found[8],
                rows=tuple(json.loads(found[9])),
                columns=json.loads(found[10]),
            ),
            events=tuple(self._events(job_id)),
            parent=found[11],
            part=found[12],
            parts=found[13],
        )

    def jobs(self) -> list[Job]:
        """Return all jobs but the parts of others, newest first."""
        found = self._db.execute(
            "SELECT id FROM jobs WHERE id NOT IN (SELECT job FROM parts) "
            "ORDER BY created_at DESC, id DESC"
        )
        return [self.job(row[0]) for row in found.fetchall()]

    def parts_of(self, job: Job) -> list[Job]:
        """Return the parts that a job was split into, in order; a job of its own has none."""
        found = self._db.execute(
            "SELECT job FROM parts WHERE parent = ? ORDER BY number", (job.id,)
        )
        return [self.job(row[0]) for row in found.fetchall()]

    def _sizes(self, job: Job) -> list[int]:
        return [len(part.what.rows) for part in self.parts_of(job)]

    def _take_over(
        self, job_id: str, new: JobSpec, digests: Sequence[str], again: str | None
    ) -> dict[str, Any]:
        """Release the rows for a new job, and return what its first event records of that."""
        if new.mode is Mode.PREVIEW:
            return {}
        holders = self._claims.holders(new.profile, new.resource, digests)
        holders = self._make_way(holders, job_id)
        if holders and again is None:
            holder = self.job(next(iter(holders)))
            raise already_sent_error(self.job(holder.parent) if holder.parent else holder, holders)
        return {} if again is None else {"again": again, "instead_of": list(holders)}

    def _make_way(self, holders: dict[str, int], successor: str) -> dict[str, int]:
        """Abandon those of the jobs that have sent nothing, and return the others."""
        sent = {}
        for job_id, count in holders.items():
            if self.job(job_id).state is State.ABANDONED:
                continue
            family = self._family(self.job(job_id))
            if all(job.state.is_unsent for job in family):
                for job in family:
                    self._add(job.id, State.ABANDONED, {"replaced_by": successor})
                    self._claims.free(job.id)
            else:
                sent[job_id] = count
        return sent

    def _family(self, job: Job) -> list[Job]:
        """Return a job with its parent and the parent's other parts."""
        if job.parent is None:
            return [job]
        parent = self.job(job.parent)
        return [parent, *self.parts_of(parent)]

    def _new_id(self) -> str:
        while True:
            job_id = f"{self.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
            taken = self._db.execute("SELECT 1 FROM jobs WHERE id = ?", (job_id,))
            if taken.fetchone() is None:
                return job_id

    def _insert(self, job_id: str, new: JobSpec, digests: Sequence[str]) -> None:
        self._db.execute(
            "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                job_id,
                self.now().isoformat(),
                new.profile,
                new.resource,
                new.mode,
                new.file,
                new.sheet,
                new.digest,
                new.payload,
                json.dumps(new.rows),
                json.dumps(dict(new.columns)),
            ),
        )
        if new.mode is not Mode.PREVIEW:
            self._claims.add(job_id, digests)

    def _events(self, job_id: str) -> Iterator[Event]:
        rows = self._db.execute(
            "SELECT number, at, state, detail FROM events WHERE job = ? ORDER BY number", (job_id,)
        )
        for number, at, state, detail in rows.fetchall():
            yield Event(number, datetime.fromisoformat(at), State(state), json.loads(detail))

    def _add(self, job_id: str, state: State, detail: Mapping[str, Any]) -> None:
        self._db.execute(
            "INSERT INTO events SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? "
            "FROM events WHERE job = ?",
            (job_id, self.now().isoformat(), state, json.dumps(dict(detail)), job_id),
        )


def _job_changed_error(job: Job) -> JournalError:
    return JournalError(
        Text(
            pt="O envio {job} mudou durante a execução; nada mais foi feito.",
            en="The upload {job} changed while it was worked on; nothing more was done.",
        ).format(job=job.id),
        Text(pt="Veja-o: xlbridge jobs {job}", en="See it: xlbridge jobs {job}").format(job=job.id),
    )
