"""The journal: what is written down before anything is sent.

One SQLite file in WAL mode, synchronised at every commit. Events are only ever added. Each row of
a job is claimed by its digest, so that the same row cannot be sent to the same environment twice,
in whatever file and company, unless the earlier job did not apply it, or a person says so.
"""

import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
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
    columns TEXT NOT NULL
);
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
"""
_BUSY_SECONDS = 30.0
_UNSENT = frozenset({State.PREPARED, State.PREVIEWING})


@dataclass(frozen=True, slots=True)
class NewJob:
    """What is known of a job before it exists.

    ``digest`` is that of the rows' values in whatever order, ``payload`` the content hash of the
    stored workbook. ``rows`` maps the payload's data rows to Excel's row numbers in the analyst's
    sheet, in order; ``columns`` gives the zero-based position of each column there.
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

    def create(
        self,
        new: NewJob,
        digests: Sequence[str],
        *,
        again: str | None = None,
        retry_of: str | None = None,
        origins: Sequence[int] = (),
    ) -> Job:
        """Write a job down as prepared, claiming its rows by their ``digests``.

        ``again`` is a person's reason to send the same rows once more, and is recorded.
        ``retry_of`` names the job whose rejected rows these are, ``origins`` their row numbers in
        it. Jobs that hold some of the rows and have sent nothing are abandoned in favour of the
        new one; a preview claims nothing. Raises ``JournalError`` when some of the rows were sent
        already.
        """
        job_id = f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        detail: dict[str, Any] = {}
        with self._transaction():
            if new.mode is not Mode.PREVIEW:
                holders = self._make_way(self._holders(new, digests), job_id)
                if holders and again is None:
                    raise _claimed(self.job(next(iter(holders))), holders)
                if again is not None:
                    detail = {"again": again, "instead_of": list(holders)}
            if retry_of is not None:
                detail |= {"retry_of": retry_of, "origins": list(origins)}
            self._insert(job_id, new)
            if new.mode is not Mode.PREVIEW:
                self._db.executemany(
                    "INSERT INTO claims VALUES (?, ?, ?)",
                    ((job_id, position, digest) for position, digest in enumerate(digests)),
                )
            self._add(job_id, State.PREPARED, detail)
        return self.job(job_id)

    def unsent(self, new: NewJob) -> Job | None:
        """Return the job that has the same rows in the same mode and has sent nothing yet."""
        found = self._db.execute(
            "SELECT id FROM jobs WHERE profile = ? AND resource = ? AND digest = ? AND mode = ? "
            "ORDER BY created_at DESC",
            (new.profile, new.resource, new.digest, new.mode),
        )
        jobs = (self.job(row[0]) for row in found.fetchall())
        return next((job for job in jobs if job.state in _UNSENT), None)

    def retries_of(self, job_id: str) -> list[Job]:
        """Return the jobs that sent rejected rows of a job again."""
        return [job for job in self.jobs() if job.events[0].detail.get("retry_of") == job_id]

    def record(self, job: Job, state: State, *, freed: Sequence[int] = (), **detail: Any) -> Job:
        """Add an event and return the job as it is then. The event is on the disk afterwards.

        A state in which nothing was applied frees all rows of the job; ``freed`` are the positions
        of rows that were not applied in another. Raises ``JournalError`` when the job has moved on
        since ``job`` was read.
        """
        with self._transaction():
            if self.job(job.id).events != job.events:
                raise _overtaken(job)
            self._add(job.id, state, detail)
            if state.frees_rows:
                self._db.execute("DELETE FROM claims WHERE job = ?", (job.id,))
            self._db.executemany(
                "DELETE FROM claims WHERE job = ? AND position = ?",
                ((job.id, position) for position in freed),
            )
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

    def _holders(self, new: NewJob, digests: Sequence[str]) -> dict[str, int]:
        """Return the jobs that claim some of the rows, newest first, and how many."""
        found = self._db.execute(
            "SELECT jobs.id, COUNT(*) FROM claims JOIN jobs ON jobs.id = claims.job "
            "WHERE profile = ? AND resource = ? "
            "AND claims.digest IN (SELECT value FROM json_each(?)) "
            "GROUP BY jobs.id ORDER BY created_at DESC",
            (new.profile, new.resource, json.dumps(sorted(set(digests)))),
        )
        return dict(found.fetchall())

    def _make_way(self, holders: dict[str, int], successor: str) -> dict[str, int]:
        """Abandon those of the jobs that have sent nothing, and return the others."""
        sent = {}
        for job_id, count in holders.items():
            if self.job(job_id).state in _UNSENT:
                self._add(job_id, State.ABANDONED, {"replaced_by": successor})
                self._db.execute("DELETE FROM claims WHERE job = ?", (job_id,))
            else:
                sent[job_id] = count
        return sent

    def _insert(self, job_id: str, new: NewJob) -> None:
        self._db.execute(
            "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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


def _claimed(job: Job, holders: Mapping[str, int]) -> JournalError:
    return JournalError(
        Text(
            pt="Já enviadas a {profile}: {n} destas linhas. Envio {job}, de {when}, estado "
            "{state}.",
            en="Sent to {profile} already: {n} of these rows. Upload {job} of {when}, state "
            "{state}.",
        ).format(
            profile=job.what.profile,
            n=sum(holders.values()),
            job=job.id,
            when=f"{job.created_at:%d/%m/%Y %H:%M}",
            state=job.state.public,
        ),
        _WHAT_NOW.get(job.state, _SEE).format(job=job.id),
    )


_SEE = Text(
    pt="Veja-o com xlbridge jobs {job}; continue-o com xlbridge resume {job}; ou envie de novo "
    'de propósito com --again "motivo".',
    en="See it with xlbridge jobs {job}; continue it with xlbridge resume {job}; or send again on "
    'purpose with --again "reason".',
)
_WHAT_NOW = {
    State.DONE: Text(
        pt='Tire essas linhas da planilha, ou envie de novo de propósito com --again "motivo". '
        "O envio: xlbridge jobs {job}",
        en='Take those rows out of the sheet, or send again on purpose with --again "reason". '
        "The upload: xlbridge jobs {job}",
    ),
    State.PARTIAL: Text(
        pt="Só as linhas rejeitadas e corrigidas: xlbridge retry {job}; a planilha inteira de "
        'propósito: --again "motivo".',
        en="Only the rejected rows, once mended: xlbridge retry {job}; the whole sheet on purpose: "
        '--again "reason".',
    ),
}


def _overtaken(job: Job) -> JournalError:
    return JournalError(
        Text(
            pt="O envio {job} mudou enquanto era tratado; nada mais foi feito.",
            en="The upload {job} changed while it was worked on; nothing more was done.",
        ).format(job=job.id),
        Text(pt="Veja-o: xlbridge jobs {job}", en="See it: xlbridge jobs {job}").format(job=job.id),
    )
