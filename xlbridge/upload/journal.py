"""The journal: what is written down before anything is sent.

One SQLite file in WAL mode, synchronised at every commit. Events are only ever added. The rows of
a job are claimed by their digest, so that the same rows cannot be sent to the same environment
twice unless the earlier job applied nothing, or a person says so.
"""

import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from xlbridge.errors import JournalError, UsageError
from xlbridge.i18n import Text
from xlbridge.resources.resource import Mode
from xlbridge.upload.states import State

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
    columns TEXT NOT NULL,
    claimed INTEGER NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS claims ON jobs (profile, resource, digest) WHERE claimed = 1;
CREATE TABLE IF NOT EXISTS events (
    job TEXT NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    state TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (job, number)
);
"""
_BUSY_SECONDS = 30.0
_UNSENT = frozenset({State.PREPARED, State.PREVIEWING})


@dataclass(frozen=True, slots=True)
class NewJob:
    """What is known of a job before it exists.

    ``digest`` is that of the canonical rows, ``payload`` the content hash of the stored workbook.
    ``rows`` maps the payload's data rows to Excel's row numbers in the analyst's sheet, in order;
    ``columns`` gives the zero-based position of each column there.
    """

    profile: str
    resource: str
    mode: Mode
    file: str
    sheet: str
    digest: str
    payload: str
    rows: tuple[int, ...] = field(repr=False)
    columns: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a job's history."""

    number: int
    at: datetime
    state: State
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """A job and its history, oldest event first."""

    id: str
    created_at: datetime
    what: NewJob
    events: tuple[Event, ...]

    @property
    def state(self) -> State:
        """Where the job stands."""
        return self.events[-1].state

    @property
    def reason(self) -> Text:
        """Why the job is where it is; empty where nothing was noted."""
        return Text(**(self.last("reason") or {"pt": "–", "en": "–"}))

    @property
    def attempts(self) -> int:
        """How many requests were announced so far."""
        return sum("attempt" in event.detail for event in self.events)

    def last(self, key: str) -> Any:
        """Return the newest value that an event's detail gives for ``key``, None without any."""
        return next((e.detail[key] for e in reversed(self.events) if key in e.detail), None)


class Journal:
    """The journal's file; safe to use from several processes at once."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA foreign_keys = ON")
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise JournalError(
                Text(
                    pt="O diário de envios {path} não pôde ser aberto: {error}",
                    en="The upload journal {path} cannot be opened: {error}",
                ).format(path=path, error=error),
                Text(
                    pt="Confira a pasta, ou escolha outra com XLBRIDGE_HOME.",
                    en="Check the folder, or choose another with XLBRIDGE_HOME.",
                ),
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def create(self, new: NewJob, *, again: str | None = None, retry_of: str | None = None) -> Job:
        """Write a job down as prepared, claiming its rows.

        ``again`` is a person's reason to send the same rows once more: it is recorded, and the
        earlier job's claim ends. ``retry_of`` names the job whose rejected rows these are. A job
        that holds the rows and has sent nothing is abandoned in favour of the new one. Raises
        ``JournalError`` when the rows were sent already.
        """
        job_id = f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        with self._transaction():
            holder = self._claim_holder(new)
            if holder is not None:
                held = self.job(holder)
                if held.state in _UNSENT:
                    self._add(holder, State.ABANDONED, {"replaced_by": job_id})
                elif again is None:
                    raise _claimed(held)
                self._db.execute("UPDATE jobs SET claimed = 0 WHERE id = ?", (holder,))
            self._db.execute(
                "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
                (
                    job_id,
                    datetime.now().isoformat(),
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
            detail = {} if again is None else {"again": again, "instead_of": holder}
            if retry_of is not None:
                detail["retry_of"] = retry_of
            self._add(job_id, State.PREPARED, detail)
        return self.job(job_id)

    def unsent(self, new: NewJob) -> Job | None:
        """Return the job that holds the same rows in the same mode and has sent nothing yet."""
        holder = self._claim_holder(new)
        job = None if holder is None else self.job(holder)
        waiting = job is not None and job.state in _UNSENT
        return job if waiting and job is not None and job.what.mode == new.mode else None

    def record(self, job: Job, state: State, **detail: Any) -> Job:
        """Add an event and return the job as it is then. The event is on the disk afterwards.

        Raises ``JournalError`` when the job has moved on since ``job`` was read.
        """
        with self._transaction():
            if self.job(job.id).events != job.events:
                raise _overtaken(job)
            self._add(job.id, state, detail)
            if state.frees_rows:
                self._db.execute("UPDATE jobs SET claimed = 0 WHERE id = ?", (job.id,))
        return self.job(job.id)

    def job(self, job_id: str) -> Job:
        """Return a job by its id. Raises ``UsageError`` when there is none."""
        found = self._db.execute("SELECT * FROM jobs WHERE id = ?", (job_id,)).fetchone()
        if found is None:
            raise UsageError(
                Text(pt="O envio {job!r} não existe.", en="There is no upload {job!r}.").format(
                    job=job_id
                ),
                Text(pt="Veja os que existem: xlbridge jobs", en="See those: xlbridge jobs"),
            )
        return Job(
            id=found[0],
            created_at=datetime.fromisoformat(found[1]),
            what=NewJob(
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
        )

    def jobs(self) -> list[Job]:
        """Return all jobs, newest first."""
        found = self._db.execute("SELECT id FROM jobs ORDER BY created_at DESC, id DESC")
        return [self.job(row[0]) for row in found.fetchall()]

    def _claim_holder(self, new: NewJob) -> str | None:
        found = self._db.execute(
            "SELECT id FROM jobs WHERE profile = ? AND resource = ? AND digest = ? AND claimed = 1",
            (new.profile, new.resource, new.digest),
        ).fetchone()
        return None if found is None else str(found[0])

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
            (job_id, datetime.now().isoformat(), state, json.dumps(dict(detail)), job_id),
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _claimed(job: Job) -> JournalError:
    return JournalError(
        Text(
            pt="Estas mesmas linhas já foram enviadas a {profile}: envio {job}, de {when}, "
            "estado {state}.",
            en="These very rows were sent to {profile} already: upload {job} of {when}, "
            "state {state}.",
        ).format(
            profile=job.what.profile,
            job=job.id,
            when=f"{job.created_at:%d/%m/%Y %H:%M}",
            state=job.state.public,
        ),
        Text(
            pt="Veja-o com xlbridge jobs {job}; continue-o com xlbridge resume {job}; ou envie "
            'de novo de propósito com --again "motivo".',
            en="See it with xlbridge jobs {job}; continue it with xlbridge resume {job}; or send "
            'again on purpose with --again "reason".',
        ).format(job=job.id),
    )


def _overtaken(job: Job) -> JournalError:
    return JournalError(
        Text(
            pt="O envio {job} mudou enquanto era tratado; nada mais foi feito.",
            en="The upload {job} changed while it was worked on; nothing more was done.",
        ).format(job=job.id),
        Text(pt="Veja-o: xlbridge jobs {job}", en="See it: xlbridge jobs {job}").format(job=job.id),
    )
