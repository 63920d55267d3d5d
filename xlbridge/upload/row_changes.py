"""Changes of rows in the journal's file: what jobs do with each row, and what became of it.

Outcomes are written in the transaction of the event or answer that shows them, and never derived
again. The view ``row_now`` has the decisive change of each row of a sheet.
"""

import json
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import groupby, starmap
from operator import attrgetter
from typing import NamedTuple

from xlbridge.files import LocalDatabase
from xlbridge.upload.planning.row_reasons import RowReason
from xlbridge.upload.results.verdict import RowOutcome


class NewChange(NamedTuple):
    """Change to record: a row's number in its sheet and in that of the first job, its action and
    its reason.

    ``position`` is among the rows that the job sends; of a row that is ``left_out`` by the plan,
    among all rows of the sheet.
    """

    position: int
    row: int
    origin: int
    action: str
    reason: str | None = None
    left_out: bool = False


class StoredChange(NamedTuple):
    """Change as it is stored; ``decides`` if it is what became of its row, ``undo`` is the undo
    that has reversed it, or whose outcome is unknown."""

    job: str
    position: int
    row: int
    origin: int
    action: str
    reason: str | None
    left_out: int
    outcome: RowOutcome
    undo: str | None
    decides: int


class RowChanges:
    """Changes in the journal's file; callers open the transaction."""

    def __init__(self, db: LocalDatabase) -> None:
        self._db = db

    def add(self, job_id: str, sheet: str, changes: Iterable[NewChange], *, decides: bool) -> None:
        """Store the changes of a new job, of which nothing is sent yet.

        ``sheet`` is the first job of the sheet, whose changes decide as long as there are no
        others. A task has no rows of a sheet; it is one of its own.
        """
        self._db.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)",
            ((job_id, sheet, *new, RowOutcome.UNSENT, decides) for new in changes),
        )

    def outcomes(self, job_id: str) -> list[RowOutcome]:
        """Return the outcome of each row that a job sends, in order, undos aside."""
        found = self._db.execute(
            "SELECT CASE WHEN undo IS NULL THEN outcome ELSE 'accepted' END FROM changes "
            "WHERE job = ? AND NOT left_out ORDER BY position",
            (job_id,),
        )
        return [_OUTCOMES[outcome] for (outcome,) in found.fetchall()]

    def creates(self, job_id: str) -> bool:
        """Return whether a job creates any record."""
        found = self._db.execute(
            "SELECT 1 FROM changes WHERE job = ? AND NOT left_out AND action = 'create' LIMIT 1",
            (job_id,),
        )
        return found.fetchone() is not None

    def has_retries(self, job_id: str) -> bool:
        """Return whether the sheet of a job has been sent again."""
        found = self._db.execute(
            "SELECT 1 FROM jobs WHERE retry_of IS NOT NULL "
            "AND first_job = (SELECT first_job FROM jobs WHERE id = ?)",
            (job_id,),
        )
        return found.fetchone() is not None

    def origins(self, job_id: str) -> dict[int, int]:
        """Return the numbers of a job's rows in the sheet of the first job, where they differ."""
        found = self._db.execute(
            "SELECT row, origin FROM changes WHERE row <> origin "
            "AND job IN (SELECT ?1 UNION ALL SELECT job FROM parts WHERE parent = ?1)",
            (job_id,),
        )
        return dict(found.fetchall())

    def count(self, job_id: str) -> list[tuple[str, str, int, RowOutcome, int]]:
        """Count the changes of a job with its parts, by job, action, whether the plan left the row
        out, and outcome."""
        found = self._db.execute(
            "SELECT job, action, left_out, outcome, COUNT(*) FROM changes "
            "WHERE job IN (SELECT ?1 UNION ALL SELECT job FROM parts WHERE parent = ?1) "
            "GROUP BY job, action, left_out, outcome",
            (job_id,),
        )
        return [(*group, _OUTCOMES[outcome], number) for *group, outcome, number in found]

    def of_sheet(self, sheet: str) -> Iterator[StoredChange]:
        """Yield the changes of a sheet's rows, those of the same job in order."""
        found = self._db.execute(
            "SELECT job, position, row, origin, action, reason, left_out, outcome, undo, decides "
            "FROM changes WHERE sheet = ? ORDER BY job, left_out DESC, position",
            (sheet,),
        )
        for *known, outcome, undo, decides in found:
            yield StoredChange._make((*known, _OUTCOMES[outcome], undo, decides))

    def begin(self, job_id: str) -> None:
        """Record that requests of a job may write: its unsent rows are in doubt."""
        self._db.execute(
            "UPDATE changes SET outcome = CASE WHEN NOT left_out THEN 'unknown' "
            "WHEN reason = 'rejected' THEN 'rejected' ELSE action END "
            "WHERE job = ? AND outcome = 'unsent'",
            (job_id,),
        )

    def withdraw(self, job_id: str, *, only_left_out: bool = False) -> None:
        """Record that nothing of a job was sent."""
        self._db.execute(
            "UPDATE changes SET outcome = 'unsent' WHERE job = ? AND left_out >= ? "
            "AND outcome <> 'unsent'",
            (job_id, only_left_out),
        )

    def conclude(self, job_id: str, outcomes: Sequence[RowOutcome]) -> None:
        """Record the outcome of each row that a job sends, in order."""
        most = max(set(outcomes), key=outcomes.count, default=RowOutcome.UNSENT)
        self._db.execute(
            "UPDATE changes SET outcome = ? WHERE job = ? AND NOT left_out", (most, job_id)
        )
        self._update(job_id, [(at, one) for at, one in enumerate(outcomes) if one is not most])

    def answer(self, job_id: str, outcomes: Sequence[tuple[int, RowOutcome]]) -> None:
        """Record the outcomes of rows whose records a job has written, by their positions."""
        self._update(job_id, outcomes)
        if self.has_retries(job_id):
            for at, _ in outcomes:
                self.decide(job_id, position=at)

    def _update(self, job_id: str, outcomes: Iterable[tuple[int, RowOutcome]]) -> None:
        self._db.executemany(
            "UPDATE changes SET outcome = ? WHERE job = ? AND NOT left_out AND position = ?",
            [(outcome, job_id, at) for at, outcome in outcomes],
        )

    def settle(self, job_id: str, outcome: RowOutcome) -> None:
        """Record a person's answer about the rows of a job that are in doubt."""
        self._db.execute(
            "UPDATE changes SET outcome = ? WHERE job = ? AND NOT left_out AND outcome = 'unknown'",
            (outcome, job_id),
        )

    def reverse(
        self, undo_id: str, reversed_rows: Iterable[tuple[tuple[str, int], RowOutcome]]
    ) -> None:
        """Record what an undo made of rows, by their job and position: undone, unknown or, if it
        left them, accepted."""
        rows = list(reversed_rows)
        self._db.executemany(
            "UPDATE changes SET outcome = ?, undo = ? "
            "WHERE job = ? AND NOT left_out AND position = ?",
            (
                (outcome, None if outcome is RowOutcome.ACCEPTED else undo_id, *claim)
                for claim, outcome in rows
            ),
        )
        for (job_id, at), _ in rows:
            if self.has_retries(job_id):
                self.decide(job_id, position=at)

    def settle_undo(self, undo_id: str, *, applied: bool) -> None:
        """Record a person's answer about the rows of an undo that are in doubt."""
        query = "SELECT job, position FROM changes WHERE undo = ? AND outcome = 'unknown'"
        outcome = RowOutcome.UNDONE if applied else RowOutcome.ACCEPTED
        doubtful = self._db.execute(query, (undo_id,)).fetchall()
        self.reverse(undo_id, [((job, at), outcome) for job, at in doubtful])

    def decide(
        self, job_id: str, *, position: int | None = None, excluded: Set[str] = frozenset()
    ) -> None:
        """Mark the decisive change of each row of a job with its parts, or of one that it sends.

        The newest decides, undos included, but for three cases: a doubt stands until it is settled;
        a row that is found unchanged stays accepted; a row that was not sent again, or was rejected
        and has not changed since, stays as it was. The ``excluded`` jobs have sent nothing. Only
        the rows of a sheet that was sent again have several changes.
        """
        if position is None:
            rows = self._db.execute(_ROWS_OF_JOB, (job_id,)).fetchall()
        else:
            rows = self._db.execute(_ROW_AT, (job_id, position)).fetchall()
        if not rows:
            return
        origins = json.dumps([origin for _, origin in rows])
        found = self._db.execute(_HISTORIES, (rows[0][0], origins)).fetchall()
        marks: list[tuple[bool, str, int, int]] = []
        for _, changes in groupby(starmap(_Mark, found), key=attrgetter("origin")):
            history = list(changes)
            now: _Mark | None = None
            for change in history:
                if change.job not in excluded and (now is None or change.decides_after(now)):
                    now = change
            marks += (
                (change is now, change.job, change.left_out, change.position)
                for change in history
                if bool(change.decides) is not (change is now)
            )
        self._db.executemany(
            "UPDATE changes SET decides = ? WHERE job = ? AND left_out = ? AND position = ?", marks
        )


class _Mark(NamedTuple):
    """Change of a row, with the mark that it decides."""

    origin: int
    job: str
    left_out: int
    position: int
    outcome: str
    reason: str | None
    undo: str | None
    decides: int

    def decides_after(self, before: "_Mark") -> bool:
        """Return whether this later change replaces what became of the row ``before``."""
        if self.undo is not None:
            return True
        if before.outcome == RowOutcome.UNKNOWN or self.outcome == RowOutcome.UNSENT:
            return False
        if self.left_out and self.reason == RowReason.REJECTED:
            return False
        return (self.outcome, before.outcome) != (RowOutcome.UNCHANGED, RowOutcome.ACCEPTED)


_OUTCOMES = {outcome.value: outcome for outcome in RowOutcome}
_ROWS_OF_JOB = (
    "SELECT sheet, origin FROM changes "
    "WHERE job IN (SELECT ?1 UNION ALL SELECT job FROM parts WHERE parent = ?1)"
)
_ROW_AT = "SELECT sheet, origin FROM changes WHERE job = ? AND NOT left_out AND position = ?"
_HISTORIES = (
    "SELECT origin, job, left_out, position, outcome, reason, undo, decides FROM changes "
    "JOIN jobs ON jobs.id = COALESCE(undo, job) "
    "WHERE changes.sheet = ? AND origin IN (SELECT value FROM json_each(?)) "
    "ORDER BY origin, created_at, jobs.id"
)
"""Changes of rows of a sheet, oldest first; one that was reversed has the age of its undo."""
