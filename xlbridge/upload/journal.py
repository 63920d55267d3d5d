"""Journal of uploads: jobs, their events and the rows they claim, in one SQLite file.

Everything is recorded before anything is sent; events are append-only. Written rows are claimed by
digest and business keys, so that later plans for the same system recognise them in any file.
"""

import json
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from xlbridge.errors import JournalError, UsageError
from xlbridge.files import as_arguments
from xlbridge.i18n import Text
from xlbridge.processes import Instant, gc_paused
from xlbridge.resources import Mode
from xlbridge.upload.claims import (
    Claimants,
    ClaimedRows,
    Claims,
    ClaimScope,
    OwnWrites,
    PlanOutdated,
    RowClaims,
)
from xlbridge.upload.job import (
    EVENTS_LOST,
    Event,
    Job,
    JobSpec,
    items_note,
    planned_note,
)
from xlbridge.upload.journal_database import (
    JournalMarker,
    RequestCount,
    json_text,
    transaction,
    value_of_json,
)
from xlbridge.upload.lookup.snapshot import Moment, Snapshot
from xlbridge.upload.planning.planned_row import JobPlan, PlannedRow, RowAction, RowPlan
from xlbridge.upload.requests import (
    ItemAddresses,
    Request,
    RowOutcome,
    State,
    StoredRequests,
    StoredSnapshots,
    Verdict,
    request_key,
)
from xlbridge.upload.row_changes import (
    PlannedChange,
    RecordTask,
    RecordWrites,
    RowChanges,
    WriteState,
)

_LOGGER = logging.getLogger(__name__)


_NO_CLAIMS = RowClaims((), ())


@dataclass(frozen=True, slots=True)
class NewRequest:
    """Request to record: its description, claims, and remote records before sending.

    ``items`` are the cells of the items of its lists. An undo or a processing has ``tasks`` on
    records instead.
    """

    spec: JobSpec
    claims: RowClaims = _NO_CLAIMS
    before: Snapshot = ()
    items: Mapping[str, ItemAddresses] = field(default_factory=dict)
    tasks: Sequence[RecordTask] = ()


_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Journal:
    """Journal in a file; safe to use from several processes at once.

    ``now`` returns the time of events; ``requests`` has what is known of requests, ``claims`` the
    rows that they claim, ``changes`` what became of rows, ``writes`` the writes of single records,
    ``snapshots`` the remote records of rows. ``profile_arguments`` are those of each job.
    """

    def __init__(
        self,
        path: Path,
        now: Callable[[], Instant] = Instant.now,
        profile_arguments: Sequence[str] = (),
    ) -> None:
        self.path = path
        self._profile_arguments = profile_arguments
        self._marker = JournalMarker(path)
        self._db = self._marker.open_journal()
        self.claims = Claims(self._db)
        self._count = RequestCount(path, self._db)
        self.requests = StoredRequests(self._db)
        self.now = now
        self.changes = RowChanges(self._db)
        self.writes = RecordWrites(self._db, self.claims, self.changes, self._count, now)
        self.snapshots = StoredSnapshots(self._db, now)
        # Plans are immutable; the report that follows a plan need not read it back.
        self._newest_plan: tuple[str, Sequence[PlannedRow]] = "", ()
        try:
            if self._count.has_lost_some:
                self._doubt_unfinished()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._count.close()
        self._db.close()

    def require_whole(self) -> None:
        """Check every page of the file. Raises ``LocalDatabaseError`` if one is damaged."""
        self._marker.require_whole(self._db)

    def create(
        self,
        spec: JobSpec,
        requests: Sequence[NewRequest],
        plan: JobPlan,
        known: ClaimedRows,
        note: Mapping[str, Any] = _NOTHING,
        origins: Mapping[int, int] = _NOTHING,
    ) -> Job:
        """Record a job as prepared, with its plan and requests, and claim the rows that it writes.

        ``known`` are the claims that the plan was based on, ``note`` is stored with the job's first
        event; ``origins`` are the numbers of a retry's rows in the sheet of the first job. Unsent
        jobs are abandoned in favour of the new one if they claim any of the rows, or are of the
        same sheet and had no rows to send or another state of its workbook; a preview claims
        nothing. Raises ``PlanOutdated`` if other jobs have claimed rows in the meantime.
        """
        planned = planned_note(self.now())
        with transaction(self._db):
            job_id, exists = "", True
            while exists:
                job_id = f"{self.now().at:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
                found = self._db.execute("SELECT 1 FROM jobs WHERE id = ?", (job_id,))
                exists = found.fetchone() is not None
            if spec.mode.channel.writes:
                claims = RowClaims.join(request.claims for request in requests)
                self.abandon_unsent(spec.scope, claims, known, job_id)
                of_sheet = self._jobs(
                    "SELECT id FROM jobs WHERE system = ? AND resource = ? AND file = ? "
                    "AND sheet = ? AND undo_of IS NULL",
                    *(spec.system, spec.resource, spec.file, spec.sheet),
                )
                # Claims do not show what replaces a job without rows, nor what this one replaces if
                # it has none.
                file_hash = note.get("file_hash")
                self._abandon(
                    (
                        job
                        for job in of_sheet
                        if not job.spec.rows
                        or (file_hash and job.notes.file_hash not in {None, file_hash})
                    ),
                    job_id,
                )
            earlier = spec.retry_of or spec.undo_of
            first_job = job_id if earlier is None else self.job(earlier).first_job
            # The sheet to which the changes belong.
            sheet = first_job if spec.undo_of is None else job_id
            self._db.execute(
                "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(job_id, self.now().at.isoformat(), spec.profile, spec.resource, spec.mode),
                    *(spec.file, spec.sheet, spec.digest, spec.payload, json_text(spec.rows)),
                    *(json.dumps(dict(spec.columns)), spec.system, spec.planned, spec.retry_of),
                    *(spec.undo_of, first_job),
                ),
            )
            left_out: list[PlannedChange] = []
            written: dict[int, tuple[str, str | None, int, Mapping[str, Any] | None]] = {}
            for place, (row, action, reason, detail) in enumerate(plan.to_journal()):
                if RowAction(action).writes:
                    written[row] = action, reason, place, detail
                else:
                    left_out.append((place, row, action, reason, place, detail))
            self.changes.add((job_id, 0), sheet, left_out, origins)
            for number, new in enumerate(requests, start=1):
                request_id = f"{job_id}-{number}" if len(requests) > 1 else job_id
                mode, payload, at = new.spec.mode, new.spec.payload, self.now().at
                request = Request(request_id, number, mode, payload, State.PREPARED, at)
                self.requests.add(job_id, request)
                if spec.mode.channel.writes:
                    self.claims.add(request_id, new.claims)
                if any(new.before):
                    self.snapshots.store(request_id, Moment.BEFORE, new.before)
                if new.tasks:
                    self.writes.plan(request_id, new.tasks)
                # The plan of an undo does not have the rows that it reverses.
                sent = (
                    (at, row, *written.get(row, (RowAction.UPDATE, None, at, None)))
                    for at, row in enumerate(new.spec.rows)
                )
                self.changes.add((job_id, number), sheet, sent, origins)
                if request_id != job_id:
                    first = {name: note.get(name) for name in ("target", "planning", "titles")}
                    items = items_note(new.spec, new.items)
                    self._add(request_id, State.PREPARED, {**first, **items, **planned})
            items = items_note(spec, requests[0].items)
            self._add(job_id, State.PREPARED, {**note, **items, **plan.note, **planned})
        self._marker.record_last_job(job_id)
        if isinstance(plan, RowPlan):
            self._newest_plan = job_id, plan.rows
        return self.job(job_id)

    def jobs_of_sheet(self, first_job: str) -> list[Job]:
        """Return the first job of a sheet with its retries and their undos, oldest first."""
        return self._jobs("SELECT id FROM jobs WHERE first_job = ? ORDER BY rowid", first_job)

    def has_later_jobs(self, job: Job) -> bool:
        """Return whether other jobs may have changed what became of the rows of a job."""
        found = self._db.execute(
            "SELECT 1 FROM jobs WHERE first_job = ? AND id <> ?", (job.first_job, job.whole)
        )
        return found.fetchone() is not None

    def claimed(
        self, scope: ClaimScope, claims: RowClaims, ignored: Job | None = None
    ) -> ClaimedRows:
        """Return the requests that claim some of the rows.

        Claims of unsent jobs do not count, nor those of the ``ignored`` job.
        """
        own = set() if ignored is None else {one.id for one in self.job(ignored.whole).requests}
        return self._sent_claims(self.claims.claimants(scope, claims), own)

    def _sent_claims(
        self, claimants: tuple[Claimants, Claimants], ignored: Set[str] = frozenset()
    ) -> ClaimedRows:
        """Return the claimants without unsent and ``ignored`` jobs."""
        jobs = {job for found in claimants for ids in found.values() for job in ids}
        sent = {job for job in jobs - ignored if not self._is_unsent(request_key(job)[0])}
        finished = {job_id for job_id in sent if self.job(job_id).state in _FINISHED}
        digests, keys = claimants
        if sent != jobs:
            digests, keys = (
                {digest: [job for job in ids if job in sent] for digest, ids in found.items()}
                for found in claimants
            )
        return ClaimedRows(digests, keys, frozenset(sent - finished))

    def own_writes(self, scope: ClaimScope, seconds: float) -> OwnWrites:
        """Return what jobs have written whose last event is not older than ``seconds``."""
        own, now = OwnWrites(), self.now()
        found = self._db.execute(
            "SELECT requests.id, at, boot, uptime, MAX(events.number) "
            "FROM requests JOIN jobs ON jobs.id = requests.job "
            "JOIN events ON events.job = requests.id "
            "WHERE system = ? AND resource = ? AND jobs.mode IN (SELECT value FROM json_each(?)) "
            "GROUP BY requests.id ORDER BY events.rowid",
            (*scope, _WRITING_ROWS),
        )
        for job_id, at, boot, uptime, _ in found.fetchall():
            passed = now.since(Instant(datetime.fromisoformat(at), boot, uptime))
            job = self.job(job_id) if passed.total_seconds() < seconds else None
            if job is None or job.state.is_unsent:
                continue
            own.jobs.add(job_id)
            if job.spec.mode.channel.by_record:
                for write in self.writes.iterate(job_id):
                    if write.state is WriteState.APPLIED and not write.task.creates:
                        task = write.task
                        own.add(job_id, task.record, task.expected, task.wanted)
                continue
            # Only imports that replace records have rows to update.
            updates = (self.job(job.whole).notes.plan or {}).get("update")
            rows = self.sent_plan_of(job) if updates else ()
            for row, outcome in zip(rows, self.changes.outcomes(job_id), strict=False):
                if row.action.is_of_record and outcome is RowOutcome.ACCEPTED:
                    own.add(job_id, row.record or "", row.theirs, row.yours)
        return own

    def jobs_of_file(self, scope: ClaimScope, file: Path, sheet: str) -> list[Job]:
        """Return the jobs that sent rows of a sheet of a file, or may have, newest first."""
        jobs = self._jobs(
            "SELECT id FROM jobs WHERE system = ? AND resource = ? AND file = ? AND sheet = ? "
            "ORDER BY rowid DESC",
            *(*scope, str(file), sheet),
        )
        return [job for job in jobs if not job.state.is_unsent and not job.is_task]

    def plan_of(self, job: Job) -> Sequence[PlannedRow]:
        """Return the planned rows of a job in order; of an undo, those that it leaves."""
        newest, rows = self._newest_plan
        if newest == job.id:
            return rows
        with gc_paused():
            return [
                PlannedRow.of_journal(row, action, reason, value_of_json(detail))
                for row, action, reason, detail in self.changes.planned(job.id)
            ]

    def sent_plan_of(self, job: Job) -> list[PlannedRow]:
        """Return the planned rows that a job or a part sends, in order."""
        planned = {row.row: row for row in self.plan_of(self.job(job.whole))}
        return [planned[number] for number in job.spec.rows]

    def assigned_codes(self, job: Job) -> dict[int, str]:
        """Return the codes of the records that a job has written one by one, by their rows."""
        if not job.spec.mode.channel.by_record:
            return {}
        return {
            job.spec.rows[write.position]: write.record
            for write in self.writes.iterate(job.id)
            if write.state is WriteState.APPLIED and write.record
        }

    def refresh_plan(self, job: Job, plan: JobPlan, note: Mapping[str, Any] = _NOTHING) -> Job:
        """Record that a prepared job was planned again, with the same result; ``note`` replaces the
        details stored with its first event."""
        return self.record(job, job.state, **note, **plan.note, **planned_note(self.now()))

    def find_unsent(self, new: JobSpec, sizes: Sequence[int]) -> Job | None:
        """Return the unsent job for the same rows of the same file, in the same mode, with requests
        of the same ``sizes``."""
        jobs = self._jobs(
            "SELECT id FROM jobs WHERE system = ? AND resource = ? AND digest = ? AND mode = ? "
            "ORDER BY rowid DESC",
            *(new.system, new.resource, new.digest, new.mode),
        )
        for job in jobs:
            matches = job.state.is_unsent and replace(job.spec, planned=new.planned) == new
            if matches and [len(one.spec.rows) for one in self.requests_of(job)] == list(sizes):
                return job
        return None

    def record(
        self,
        job: Job,
        state: State,
        *,
        verdict: Verdict | None = None,
        unknown_as: RowOutcome | None = None,
        **detail: Any,
    ) -> Job:
        """Append an event and return the updated job. The event is on disk afterwards.

        ``verdict`` is what the event shows of the rows that the job sends, ``unknown_as`` what a
        person says of those in doubt. At its end a job frees its rows that were not applied, and
        all whose records it was to delete. Raises ``JournalError`` if the job has changed since
        ``job`` was read.
        """
        with self._count.transaction() if "attempt" in detail else transaction(self._db):
            if self._events(job.id) != job.events:
                raise JournalError(
                    _JOB_CHANGED.format(job=job.id), _SEE_JOB.format(job=job.arguments())
                )
            self._add(job.id, state, detail)
            requests = self.requests.of_job(job.whole, job.id)
            changed = replace(job, events=self._events(job.id), requests=requests)
            if not job.parts:
                reversed_rows = self.changes.record(
                    job.id, sent=state.has_sent, verdict=verdict, unknown_as=unknown_as
                )
                for claimant, position in reversed_rows:
                    self.claims.free(claimant, [position])
                if state.frees_rows or (state.is_final and job.deletes):
                    self.claims.free(job.id)
                elif state.is_final:
                    rows = enumerate(self.changes.outcomes(job.id))
                    self.claims.free(job.id, [at for at, one in rows if one in _NOT_WRITTEN])
            whole = changed if job.parent is None else self.job(job.parent)
            self.changes.leave_out(whole.id, sent=whole.state.has_sent)
        _LOGGER.info("job %s: %s", job.id, state)
        return changed

    def as_one(self) -> AbstractContextManager[None]:
        """Record all that the block records, or nothing; it announces no request."""
        return transaction(self._db)

    def job(self, job_id: str) -> Job:
        """Return a job by its id. Raises ``UsageError`` if there is none."""
        found = self._db.execute(
            "SELECT rowid, * FROM jobs WHERE id IN (?1, (SELECT job FROM requests WHERE id = ?1))",
            (job_id,),
        ).fetchone()
        if found is None:
            raise UsageError(
                Text(pt="O envio {job!r} não existe.", en="There is no upload {job!r}.").format(
                    job=job_id
                ),
                Text(
                    pt="Veja os envios existentes: xlbridge {jobs}",
                    en="See the existing uploads: xlbridge {jobs}",
                ).format(jobs=as_arguments("jobs", *self._profile_arguments)),
            )
        order, whole_id, created_at, *fields, first_job = found
        profile, resource, mode, file, sheet, digest, payload, rows, columns, *others = fields
        system, planned, retry_of, undo_of = others
        requests = self.requests.of_job(whole_id, job_id)
        spec = JobSpec(
            *(profile, resource, Mode(mode), file, sheet, digest, payload),
            *(tuple(value_of_json(rows)), json.loads(columns)),
            *(system, planned, retry_of, undo_of),
        )
        if job_id != whole_id:
            (one,), sent = requests, tuple(row for row, *_ in self.changes.of_request(job_id))
            spec = replace(spec, mode=one.mode, payload=one.payload, rows=sent, planned="")
        return Job(
            id=job_id,
            created_at=datetime.fromisoformat(created_at),
            order=order,
            spec=spec,
            events=self._events(job_id),
            first_job=first_job,
            requests=requests,
            parent=None if job_id == whole_id else whole_id,
            profile_arguments=self._profile_arguments,
        )

    def jobs(self) -> list[Job]:
        """Return all jobs, newest first."""
        return self._jobs("SELECT id FROM jobs ORDER BY rowid DESC")

    def requests_in(self, system: str) -> list[Job]:
        """Return all jobs in a system by their requests, newest first."""
        query = (
            "SELECT requests.id FROM requests JOIN jobs ON jobs.id = job WHERE system = ? "
            "ORDER BY jobs.rowid DESC, number DESC"
        )
        return self._jobs(query, system)

    def requests_of(self, job: Job) -> list[Job]:
        """Return a job by its requests, in order: its parts, or the job or part itself."""
        return [self.job(request.id) for request in job.requests]

    def parts_of(self, job: Job) -> list[Job]:
        """Return the parts of a job in order; empty if it is not sent in parts."""
        return self.requests_of(job) if job.parts else []

    def _jobs(self, query: str, *values: str) -> list[Job]:
        """Return the jobs whose ids a query selects."""
        return [self.job(row[0]) for row in self._db.execute(query, values).fetchall()]

    def is_settled(self, job: Job) -> bool:
        """Return whether the outcome of every request sent for a job is known."""
        for part in self.requests_of(job):
            # Writes of single records are announced one by one.
            by_record = part.spec.mode.channel.by_record and part.state is State.SENDING
            if by_record and not any(write.state.is_open for write in self.writes.load(part.id)):
                continue
            if not part.state.is_settled:
                return False
        return True

    def _doubt_unfinished(self) -> None:
        """Put in doubt all that the journal may have sent by requests that it has lost.

        Requests that it knows of are in doubt anyway, and a log shows what became of its file.
        """
        with transaction(self._db):
            if not self._count.has_lost_some:
                return
            query = (
                "SELECT requests.id FROM requests JOIN jobs ON jobs.id = job "
                "WHERE jobs.mode IN (SELECT value FROM json_each(?))"
            )
            for job in self._jobs(query, _WRITING):
                by_record = job.spec.mode.channel.by_record
                if job.state in _MAY_GO_ON or (by_record and job.state is State.SENDING):
                    known = job.events[-1].detail if job.state is State.IN_DOUBT else {}
                    # If nothing of it is there, it was not sent.
                    detail = {"reason": EVENTS_LOST.languages, "declined": job.state.is_unsent}
                    self._add(job.id, State.IN_DOUBT, {**detail, **known, "events_lost": True})
                    self.changes.record(job.id, sent=True)
                    whole = self.job(job.whole)
                    self.changes.leave_out(whole.id, sent=whole.state.has_sent)
                    if by_record:
                        self.writes.doubt_waiting(job.id, EVENTS_LOST)
            self._count.catch_up()

    def abandon_unsent(
        self, scope: ClaimScope, claims: RowClaims, known: ClaimedRows, successor: str
    ) -> None:
        """Abandon unsent jobs that claim rows of a new one, in favour of its ``successor``.

        Raises ``PlanOutdated`` if jobs other than the ``known`` ones claim the rows.
        """
        with transaction(self._db):
            found = self.claims.claimants(scope, claims)
            if self._sent_claims(found).holders(claims) != known.holders(claims):
                raise PlanOutdated
            held = {one for claimants in found for ids in claimants.values() for one in ids}
            self._abandon(map(self.job, {request_key(one)[0] for one in held}), successor)

    def _abandon(self, jobs: Iterable[Job], successor: str) -> None:
        """Abandon those of the jobs that are unsent, in favour of their ``successor``."""
        for job in jobs:
            if job.state is State.ABANDONED or not self._is_unsent(job.id):
                continue
            for one in {job.id, *(request.id for request in job.requests)}:
                self._add(one, State.ABANDONED, {"replaced_by": successor})
                self.claims.free(one)

    def _is_unsent(self, whole: str) -> bool:
        job = self.job(whole)
        return job.state.is_unsent and all(request.state.is_unsent for request in job.requests)

    def _events(self, job_id: str) -> tuple[Event, ...]:
        rows = self._db.execute(
            "SELECT number, at, boot, uptime, state, detail FROM events WHERE job = ? "
            "ORDER BY number",
            (job_id,),
        )
        return tuple(
            Event(
                number,
                Instant(datetime.fromisoformat(at), boot, uptime),
                State(state),
                json.loads(detail),
            )
            for number, at, boot, uptime, state, detail in rows.fetchall()
        )

    def _add(self, job_id: str, state: State, detail: Mapping[str, Any]) -> None:
        """Append an event to the history of a job or a request, and store what it shows of this."""
        now = self.now()
        self._db.execute(
            "INSERT INTO events SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ?, ?, ? "
            "FROM events WHERE job = ?",
            (
                *(job_id, now.at.isoformat(), now.boot, now.uptime),
                *(state, json.dumps(dict(detail)), job_id),
            ),
        )
        self.requests.record(job_id, state, now.at, detail)


_MAY_GO_ON = frozenset(
    {State.PREPARED, State.PREVIEWING, State.STAGING, State.STAGED, State.IN_DOUBT}
)
"""States in which a further request may be sent, without a look at what became of an earlier."""

_WRITING = json.dumps([mode for mode in Mode if mode.channel.writes])
_WRITING_ROWS = json.dumps(
    [mode for mode in Mode if mode.channel.writes and not mode.channel.of_listing]
)
_NOT_WRITTEN = frozenset({RowOutcome.REJECTED, RowOutcome.NOT_WRITTEN})
_FINISHED = frozenset({State.DONE, State.PARTIAL})
_JOB_CHANGED = Text(
    pt="O envio {job} mudou durante a execução; nada mais foi feito.",
    en="The upload {job} changed while it was running; nothing more was done.",
)
_SEE_JOB = Text(
    pt="Veja-o: xlbridge jobs {job}",
    en="See it: xlbridge jobs {job}",
    page=Text(
        pt="Veja {job} em Envios.",
        en="See {job} under Uploads.",
    ),
)
