"""Journal of uploads: jobs, their events and the rows they claim, in one SQLite file.

Everything is recorded before anything is sent; events are append-only. Written rows are claimed by
digest and business keys, so that later plans for the same system recognise them in any file.
"""

import json
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from xlbridge.clock import Instant
from xlbridge.errors import JournalError, UsageError
from xlbridge.files import as_arguments
from xlbridge.garbage_collection import gc_paused
from xlbridge.i18n import Text
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
from xlbridge.upload.job import EVENTS_LOST, Event, Job, JobSpec, State, items_note, planned_note
from xlbridge.upload.journal_database import (
    JournalMarker,
    RequestCount,
    open_journal_file,
    transaction,
)
from xlbridge.upload.lookup.row_table import batched, json_text, json_texts, value_of_json
from xlbridge.upload.lookup.snapshot import Moment, Snapshot, StoredSnapshots
from xlbridge.upload.planning.planned_row import JobPlan, PlannedRow, RowPlan, StoredAction
from xlbridge.upload.planning.row_reasons import RowAction
from xlbridge.upload.results.verdict import ItemAddresses, RowOutcome, Verdict
from xlbridge.upload.row_changes import NewChange, RecordTask, RecordWrites, RowChanges, WriteState

_LOGGER = logging.getLogger(__name__)


_NO_CLAIMS = RowClaims((), ())


@dataclass(frozen=True, slots=True)
class SheetPart:
    """Part of a sheet to record: its description, claims, and remote records before sending.

    ``actions`` are those of the rows that do not create a record, by position; ``items`` the cells
    of the items of its lists. An undo or a processing has ``tasks`` on records instead.
    """

    spec: JobSpec
    claims: RowClaims = _NO_CLAIMS
    before: Snapshot = ()
    actions: Mapping[int, RowAction] = field(default_factory=dict)
    items: Mapping[str, ItemAddresses] = field(default_factory=dict)
    tasks: Sequence[RecordTask] = ()


_NO_NOTE: Mapping[str, Any] = MappingProxyType({})
_NO_ORIGINS: Mapping[int, int] = MappingProxyType({})


class Journal:
    """Journal in a file; safe to use from several processes at once.

    ``now`` returns the time of events; ``changes`` has what became of rows, ``writes`` the writes
    of single records, ``snapshots`` the remote records of rows. ``profile_arguments`` are those of
    each job.
    """

    def __init__(
        self,
        path: Path,
        now: Callable[[], Instant] = Instant.now,
        profile_arguments: Sequence[str] = (),
    ) -> None:
        self.path = path
        self._profile_arguments = profile_arguments
        self._db = open_journal_file(path)
        self._marker = JournalMarker(path)
        self._claims = Claims(self._db)
        self._requests = RequestCount(path, self._db)
        self.now = now
        self.changes = RowChanges(self._db)
        self.writes = RecordWrites(self._db, self._claims, self.changes, self._requests, now)
        self.snapshots = StoredSnapshots(self._db, now)
        # Plans are immutable; the report that follows a plan need not read it back.
        self._newest_plan: tuple[str, Sequence[PlannedRow]] = "", ()
        try:
            if self._requests.has_lost_some:
                self._doubt_unfinished()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._requests.close()
        self._db.close()

    def require_whole(self) -> None:
        """Check every page of the file. Raises ``LocalDatabaseError`` if one is damaged."""
        self._marker.require_whole(self._db)

    def create(
        self,
        whole: SheetPart,
        parts: Sequence[SheetPart],
        plan: JobPlan,
        known: ClaimedRows,
        note: Mapping[str, Any] = _NO_NOTE,
        origins: Mapping[int, int] = _NO_ORIGINS,
    ) -> Job:
        """Record a job as prepared, with its plan, and claim the rows that it writes.

        A sheet with ``parts`` becomes a parent and one job per part, in one transaction; the parts
        claim the rows. ``known`` are the claims that the plan was based on, ``note`` is stored with
        the job's first event; ``origins`` are the numbers of a retry's rows in the sheet of the
        first job. Unsent jobs that claim any of the rows are abandoned in favour of the new one; a
        preview claims nothing. Raises ``PlanOutdated`` if other jobs have claimed rows in the
        meantime.
        """
        job_id = self._new_id()
        with transaction(self._db):
            if whole.spec.mode is not Mode.PREVIEW:
                self._abandon_unsent(whole.spec.scope, whole.claims, known, job_id)
            sheet = self._insert(job_id, whole, sends=not parts, origins=origins)
            self._add_actions(job_id, sheet, plan.to_journal(), origins)
            first = {
                **note,
                **items_note(whole.spec, whole.items),
                **plan.note,
                **planned_note(self.now()),
            }
            self._add(job_id, State.PREPARED, first)
            self.writes.add_tasks(job_id, whole.tasks)
            for number, part in enumerate(parts, start=1):
                part_id = f"{job_id}-{number}"
                self._insert(part_id, part, parent=job_id, origins=origins)
                self._db.execute("INSERT INTO parts VALUES (?, ?, ?)", (part_id, job_id, number))
                planned = {**items_note(part.spec, part.items), **planned_note(self.now())}
                planned["target"] = note.get("target")
                self._add(part_id, State.PREPARED, planned)
        self._marker.record_last_job(job_id)
        if isinstance(plan, RowPlan):
            self._newest_plan = job_id, plan.rows
        return self.job(job_id)

    def jobs_of_sheet(self, first_job: str) -> list[Job]:
        """Return the first job of a sheet with its retries, the parts of each, and their undos,
        oldest first."""
        query = "SELECT id FROM jobs WHERE first_job = ? ORDER BY rowid"
        return self._jobs(query, first_job)

    def has_later_jobs(self, job: Job) -> bool:
        """Return whether other jobs may have changed what became of the rows of a job."""
        found = self._db.execute(
            "SELECT 1 FROM jobs WHERE first_job = ? AND id <> ? "
            "AND id NOT IN (SELECT job FROM parts WHERE parent = ?)",
            (job.first_job, *[job.parent or job.id] * 2),
        )
        return found.fetchone() is not None

    def claimed(
        self, scope: ClaimScope, claims: RowClaims, ignored: Job | None = None
    ) -> ClaimedRows:
        """Return the jobs that claim some of the rows.

        Claims of unsent jobs do not count, nor those of the ``ignored`` job and its parts.
        """
        family = set() if ignored is None else {job.id for job in self._family(ignored)}
        return self._sent_claims(self._claims.claimants(scope, claims), family)

    def _sent_claims(
        self, claimants: tuple[Claimants, Claimants], ignored: Set[str] = frozenset()
    ) -> ClaimedRows:
        """Return the claimants without unsent and ``ignored`` jobs."""
        jobs = {job for found in claimants for ids in found.values() for job in ids}
        sent = {job for job in jobs - ignored if not self._is_unsent(job)}
        finished = {job_id for job_id in sent if self.job(job_id).state in _FINISHED}

        def only_sent(found: Claimants) -> Claimants:
            if sent == jobs:
                return found
            return {digest: [job for job in ids if job in sent] for digest, ids in found.items()}

        digests, keys = map(only_sent, claimants)
        return ClaimedRows(digests, keys, frozenset(sent - finished))

    def taken_fields(self, job: Job) -> set[str]:
        """Return the fields that jobs in the same system have shown to be taken as a job sends
        them: in an import sheet, or as a record."""
        found = self._db.execute(
            "SELECT mode, detail FROM events JOIN jobs ON jobs.id = events.job "
            "WHERE system = ? AND instr(detail, '\"taken_fields\"')",
            (job.spec.system,),
        )
        by_record = job.spec.mode.is_by_record
        return {
            name
            for mode, detail in found.fetchall()
            if Mode(mode).is_by_record is by_record
            for name in json.loads(detail)["taken_fields"]
        }

    def own_writes(self, scope: ClaimScope, seconds: float) -> OwnWrites:
        """Return what jobs have written whose last event is not older than ``seconds``."""
        own, now = OwnWrites(), self.now()
        found = self._db.execute(
            "SELECT job, at, boot, uptime, MAX(number) FROM events JOIN jobs ON jobs.id = job "
            "WHERE system = ? AND resource = ? AND mode NOT IN (?, ?) "
            "GROUP BY job ORDER BY events.rowid",
            (*scope, Mode.PREVIEW, Mode.PROCESS),
        )
        for job_id, at, boot, uptime, _ in found.fetchall():
            passed = now.since(Instant(datetime.fromisoformat(at), boot, uptime))
            job = self.job(job_id) if passed.total_seconds() < seconds else None
            if job is None or job.state.is_unsent:
                continue
            own.jobs.add(job_id)
            if job.parts:
                continue
            if job.spec.mode.is_by_record:
                for write in self.writes.iterate(job_id):
                    if write.state is WriteState.APPLIED and not write.task.creates:
                        task = write.task
                        own.add(job_id, task.record, task.expected, task.wanted)
                continue
            # Only imports that replace records have rows to update.
            updates = (self.job(job.parent or job.id).last("plan") or {}).get("update")
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
        others = {Mode.UNDO, Mode.PROCESS}
        return [job for job in jobs if not job.state.is_unsent and job.spec.mode not in others]

    def claimed_keys(self, job: Job) -> Mapping[int, Set[str]]:
        """Return the keys that a job claims, by the positions of its rows."""
        return self._claims.keys_of(job.id)

    def plan_of(self, job: Job) -> Sequence[PlannedRow]:
        """Return the planned rows of a job in the sheet's order; none for a task."""
        if job.is_task:
            return []
        newest, rows = self._newest_plan
        if newest == job.id:
            return rows
        with gc_paused():
            return [PlannedRow.of_journal(*action) for action in self.actions_of(job)]

    def sent_plan_of(self, job: Job) -> list[PlannedRow]:
        """Return the planned rows that a job or a part sends, in order."""
        planned = {row.row: row for row in self.plan_of(self.job(job.parent or job.id))}
        return [planned[number] for number in job.spec.rows]

    def assigned_codes(self, job: Job) -> dict[int, str]:
        """Return the codes of the records that a job has written one by one, by their rows."""
        if not job.spec.mode.is_by_record:
            return {}
        return {
            job.spec.rows[write.position]: write.record
            for write in self.writes.iterate(job.id)
            if write.state is WriteState.APPLIED and write.record
        }

    def actions_of(self, job: Job) -> list[StoredAction]:
        """Return the stored plan of a job, in the sheet's order."""
        found = self._db.execute(
            "SELECT row, action, reason, detail FROM row_actions WHERE job = ? ORDER BY position",
            (job.id,),
        )
        return [
            StoredAction(row, action, reason, value_of_json(detail))
            for row, action, reason, detail in found.fetchall()
        ]

    def refresh_plan(
        self,
        job: Job,
        plan: JobPlan,
        before: Mapping[str, Snapshot],
        note: Mapping[str, Any] = _NO_NOTE,
    ) -> Job:
        """Record that a prepared job was planned again, with the same result.

        ``before`` has the current remote records of the job, or of each of its parts, by id;
        ``note`` replaces the details stored with the job's first event.
        """
        for job_id, snapshot in before.items():
            self.snapshots.store(job_id, Moment.BEFORE, snapshot)
        return self.record(job, job.state, **note, **plan.note, **planned_note(self.now()))

    def find_unsent(self, new: JobSpec, part_sizes: Sequence[int] = ()) -> Job | None:
        """Return the unsent job for the same rows of the same file, in the same mode and parts."""
        jobs = self._jobs(
            "SELECT id FROM jobs WHERE system = ? AND resource = ? AND digest = ? AND mode = ? "
            "AND id NOT IN (SELECT job FROM parts) ORDER BY rowid DESC",
            *(new.system, new.resource, new.digest, new.mode),
        )
        for job in jobs:
            matches = job.state.is_unsent and replace(job.spec, planned=new.planned) == new
            sizes = [len(part.spec.rows) for part in self.parts_of(job)]
            if matches and sizes == list(part_sizes):
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
        with self._requests.transaction() if "attempt" in detail else transaction(self._db):
            if self._events(job.id) != job.events:
                raise JournalError(
                    _JOB_CHANGED.format(job=job.id), _SEE_JOB.format(job=job.arguments())
                )
            self._add(job.id, state, detail)
            nothing_sent = state.is_unsent or state in {State.PREVIEWED, State.ABANDONED}
            reversed_rows = self.changes.record(
                job.id, sent=not nothing_sent, verdict=verdict, unknown_as=unknown_as
            )
            for claimant, position in reversed_rows:
                self._claims.free_rows(claimant, [position])
            if state.frees_rows or (state.is_final and job.deletes):
                self._claims.free(job.id)
            elif state.is_final:
                self._claims.free_rows(job.id, self.changes.refused(job.id))
        _LOGGER.info("job %s: %s", job.id, state)
        return replace(job, events=self._events(job.id))

    def as_one(self) -> AbstractContextManager[None]:
        """Record all that the block records, or nothing; it announces no request."""
        return transaction(self._db)

    def job(self, job_id: str) -> Job:
        """Return a job by its id. Raises ``UsageError`` if there is none."""
        found = self._db.execute(
            "SELECT parent, number, "
            "(SELECT COUNT(*) FROM parts AS children WHERE children.parent = jobs.id), "
            "jobs.rowid, jobs.* "
            "FROM jobs LEFT JOIN parts ON parts.job = jobs.id WHERE id = ?",
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
        parent, part, parts, order, _, created_at, *fields, first_job = found
        profile, resource, mode, file, sheet, digest, payload, rows, columns, *others = fields
        system, planned, retry_of, undo_of = others
        return Job(
            id=job_id,
            created_at=datetime.fromisoformat(created_at),
            order=order,
            spec=JobSpec(
                *(profile, resource, Mode(mode), file, sheet, digest, payload),
                *(tuple(value_of_json(rows)), json.loads(columns)),
                *(system, planned, retry_of, undo_of),
            ),
            events=self._events(job_id),
            first_job=first_job,
            parent=parent,
            part=part,
            parts=parts,
            profile_arguments=self._profile_arguments,
        )

    def jobs(self) -> list[Job]:
        """Return all jobs except parts, newest first."""
        return self._jobs(
            "SELECT id FROM jobs WHERE id NOT IN (SELECT job FROM parts) ORDER BY rowid DESC"
        )

    def jobs_in(self, system: str) -> list[Job]:
        """Return all jobs in a system, parts included, newest first."""
        return self._jobs("SELECT id FROM jobs WHERE system = ? ORDER BY rowid DESC", system)

    def parts_of(self, job: Job) -> list[Job]:
        """Return the parts that a job was split into, in order; empty if it was not split."""
        return self._jobs("SELECT job FROM parts WHERE parent = ? ORDER BY number", job.id)

    def _jobs(self, query: str, *values: str) -> list[Job]:
        """Return the jobs whose ids a query selects."""
        return [self.job(row[0]) for row in self._db.execute(query, values).fetchall()]

    def is_settled(self, job: Job) -> bool:
        """Return whether the outcome of every request sent for a job is known."""
        for part in self.parts_of(job) or [self.job(job.id)]:
            # Writes of single records are announced one by one.
            by_record = part.spec.mode.is_by_record and part.state is State.SENDING
            if by_record and not any(write.state.is_open for write in self.writes.load(part.id)):
                continue
            if not part.state.is_settled:
                return False
        return True

    def abandon_unsent(self, scope: ClaimScope, claims: RowClaims, known: ClaimedRows) -> None:
        """Abandon unsent jobs that claim rows of a job in another journal.

        Raises ``PlanOutdated`` if jobs other than the ``known`` ones claim the rows.
        """
        with transaction(self._db):
            self._abandon_unsent(scope, claims, known, "outro perfil · another profile")

    def _doubt_unfinished(self) -> None:
        """Put in doubt all that the journal may have sent by requests that it has lost.

        Requests that it knows of are in doubt anyway, and a log shows what became of its file.
        """
        with transaction(self._db):
            if not self._requests.has_lost_some:
                return
            for job in self._jobs("SELECT id FROM jobs WHERE id NOT IN (SELECT parent FROM parts)"):
                by_record = job.spec.mode.is_by_record
                is_preview = self._family(job)[0].spec.mode is Mode.PREVIEW
                if not is_preview and (
                    job.state in _MAY_GO_ON or (by_record and job.state is State.SENDING)
                ):
                    known = job.events[-1].detail if job.state is State.IN_DOUBT else {}
                    # If nothing of it is there, it was not sent.
                    detail = {"reason": asdict(EVENTS_LOST), "declined": job.state.is_unsent}
                    self._add(job.id, State.IN_DOUBT, {**detail, **known, "events_lost": True})
                    self.changes.record(job.id, sent=True)
                    if by_record:
                        self.writes.doubt_waiting(job.id, EVENTS_LOST)
            self._requests.catch_up()

    def _abandon_unsent(
        self, scope: ClaimScope, claims: RowClaims, known: ClaimedRows, successor: str
    ) -> None:
        """Abandon unsent jobs with the same rows; check the claims of sent ones."""
        found = self._claims.claimants(scope, claims)
        if self._sent_claims(found).holders(claims) != known.holders(claims):
            raise PlanOutdated
        for job_id in {job for claimants in found for ids in claimants.values() for job in ids}:
            if self.job(job_id).state is State.ABANDONED or not self._is_unsent(job_id):
                continue
            for job in self._family(self.job(job_id)):
                self._add(job.id, State.ABANDONED, {"replaced_by": successor})
                self._claims.free(job.id)

    def _is_unsent(self, job_id: str) -> bool:
        return all(job.state.is_unsent for job in self._family(self.job(job_id)))

    def _family(self, job: Job) -> list[Job]:
        """Return a job with its parts, or with its parent and the parent's other parts."""
        parent = job if job.parent is None else self.job(job.parent)
        return [parent, *self.parts_of(parent)]

    def _new_id(self) -> str:
        while True:
            job_id = f"{self.now().at:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
            existing = self._db.execute("SELECT 1 FROM jobs WHERE id = ?", (job_id,))
            if existing.fetchone() is None:
                return job_id

    def _insert(
        self,
        job_id: str,
        part: SheetPart,
        *,
        sends: bool = True,
        parent: str | None = None,
        origins: Mapping[int, int] = _NO_ORIGINS,
    ) -> str:
        """Store a job, or a part of ``parent``, with its rows unless its parts send them.

        Return the sheet to which its changes belong.
        """
        new = part.spec
        earlier = parent or new.retry_of or new.undo_of
        first_job = job_id if earlier is None else self.job(earlier).first_job
        sheet = first_job if new.undo_of is None else job_id
        self._db.execute(
            "INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                job_id, self.now().at.isoformat(), new.profile, new.resource, new.mode, new.file,
                new.sheet, new.digest, new.payload, json_text(new.rows),
                json.dumps(dict(new.columns)), new.system, new.planned, new.retry_of, new.undo_of,
                first_job,
            ),
        )  # fmt: skip
        if not sends:
            return sheet
        if new.mode is not Mode.PREVIEW:
            self._claims.add(job_id, part.claims)
        if any(part.before):
            self.snapshots.add(job_id, Moment.BEFORE, part.before)
        action = RowAction.UPDATE if part.tasks else RowAction.CREATE
        changes = (
            NewChange(at, row, origins.get(row, row), part.actions.get(at, action))
            for at, row in enumerate(new.rows)
        )
        self.changes.add(job_id, sheet, changes, decides=(parent or job_id) == sheet)
        return sheet

    def _add_actions(
        self,
        job_id: str,
        sheet: str,
        actions: Iterable[StoredAction],
        origins: Mapping[int, int] = _NO_ORIGINS,
    ) -> None:
        """Store the plan of a job, with the rows that it leaves out as changes."""
        left_out: list[NewChange] = []
        for piece in batched(enumerate(actions)):
            details = json_texts([action.detail for _, action in piece])
            rows = (
                (job_id, at, action.row, action.action, action.reason, detail)
                for (at, action), detail in zip(piece, details, strict=True)
            )
            self._db.executemany("INSERT INTO row_actions VALUES (?, ?, ?, ?, ?, ?)", rows)
            left_out += (
                NewChange(at, row, origins.get(row, row), action, reason, left_out=True)
                for at, (row, action, reason, _) in piece
                if action in _LEFT_OUT
            )
        self.changes.add(job_id, sheet, left_out, decides=job_id == sheet)

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
        now = self.now()
        self._db.execute(
            "INSERT INTO events SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ?, ?, ? "
            "FROM events WHERE job = ?",
            (
                *(job_id, now.at.isoformat(), now.boot, now.uptime),
                *(state, json.dumps(dict(detail)), job_id),
            ),
        )


_MAY_GO_ON = frozenset(
    {State.PREPARED, State.PREVIEWING, State.STAGING, State.STAGED, State.IN_DOUBT}
)
"""States in which a further request may be sent, without a look at what became of an earlier."""

_FINISHED = frozenset({State.DONE, State.PARTIAL})
_LEFT_OUT = frozenset({RowAction.UNCHANGED, RowAction.HELD})
_JOB_CHANGED = Text(
    pt="O envio {job} mudou durante a execução; nada mais foi feito.",
    en="The upload {job} changed while it was running; nothing more was done.",
)
_SEE_JOB = Text(pt="Veja-o: xlbridge jobs {job}", en="See it: xlbridge jobs {job}")
