"""Changes of rows in the journal's file: what jobs do with each row, what became of it, and the
messages about rejected ones.

Outcomes are written in the transaction of the event or answer that shows them, and never derived
again. One change of each row of a sheet decides what became of the row.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, starmap
from operator import attrgetter
from typing import NamedTuple

from xlbridge.files import LocalDatabase
from xlbridge.i18n import Text
from xlbridge.upload.planning.row_reasons import RowReason
from xlbridge.upload.results.verdict import RejectedRow, RowOutcome, Verdict


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
            "WHERE job = ? AND left_out = 0 ORDER BY position",
            (job_id,),
        )
        return [_OUTCOMES[outcome] for (outcome,) in found.fetchall()]

    def has_accepted(self, job_id: str) -> bool:
        """Return whether any row of a job or its parts was written, as far as is known."""
        return any(outcome is RowOutcome.ACCEPTED for *_, outcome, _ in self.count(job_id))

    def creates(self, job_id: str) -> bool:
        """Return whether a job creates any record."""
        found = self._db.execute(
            "SELECT 1 FROM changes WHERE job = ? AND left_out = 0 AND action = 'create' LIMIT 1",
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

    def record(
        self,
        job_id: str,
        *,
        sent: bool,
        verdict: Verdict | None = None,
        unknown_as: RowOutcome | None = None,
    ) -> list[tuple[str, int]]:
        """Record what an event shows of the rows of a job.

        If something was ``sent``, unsent rows are in doubt, and those that the plan left out are
        as planned. The ``verdict`` replaces an earlier one; ``unknown_as`` is what a person says of
        the rows in doubt, and of those that it was to reverse. Return the jobs and positions of
        rows that are reversed by that.
        """
        doubtful: list[tuple[str, int]] = []
        outcomes = None if verdict is None else verdict.outcomes
        if verdict is not None:
            self._db.execute("DELETE FROM rejections WHERE job = ?", (job_id,))
            self._db.executemany(
                "INSERT INTO rejections VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (job_id, at, row, cell, column, message.pt, message.en, itself)
                    for at, (row, cell, column, message, itself) in enumerate(verdict.rejections)
                ),
            )
        if sent:
            self._db.execute(_IN_DOUBT, (job_id,))
        else:
            is_shown = outcomes is not None or unknown_as is not None
            self._db.execute(_UNSENT, (job_id, is_shown))
        if outcomes is not None:
            self._update(job_id, list(enumerate(outcomes)))
        if unknown_as is not None:
            self._db.execute(_SETTLED, (unknown_as, job_id))
            applied = unknown_as is RowOutcome.ACCEPTED
            outcome = RowOutcome.UNDONE if applied else RowOutcome.ACCEPTED
            doubtful = self._db.execute(_DOUBTFUL_REVERSALS, (job_id,)).fetchall()
            self.reverse(job_id, [(claim, outcome) for claim in doubtful])
        if self.has_retries(job_id):
            self._decide(self._db.execute(_ROWS_OF_JOB, (job_id,)).fetchall())
        return doubtful if unknown_as is RowOutcome.ACCEPTED else []

    def rejections(self, job_id: str) -> list[RejectedRow]:
        """Return the messages about the rows of a job with its parts, first those about all."""
        found = self._db.execute(
            'SELECT row, cell, "column", pt, en, itself FROM rejections '
            "WHERE job IN (SELECT ?1 UNION ALL SELECT job FROM parts WHERE parent = ?1) "
            "ORDER BY row, job, number",
            (job_id,),
        )
        return [
            RejectedRow(row, cell, column, Text(pt=pt, en=en), bool(itself))
            for row, cell, column, pt, en, itself in found
        ]

    def refused(self, job_id: str) -> list[int]:
        """Return the positions of the rows that a job has sent and that were not written."""
        found = self._db.execute(
            "SELECT position FROM changes WHERE job = ? AND left_out = 0 "
            "AND outcome IN ('rejected', 'not_written')",
            (job_id,),
        )
        return [position for (position,) in found.fetchall()]

    def answer(self, job_id: str, outcomes: Sequence[tuple[int, RowOutcome]]) -> None:
        """Record the outcomes of rows whose records a job has written, by their positions."""
        self._update(job_id, outcomes)
        self._decide_rows([(job_id, at) for at, _ in outcomes])

    def reverse(
        self, undo_id: str, reversed_rows: Sequence[tuple[tuple[str, int], RowOutcome]]
    ) -> None:
        """Record what an undo made of rows, by their job and position: undone, unknown or, if it
        left them, accepted."""
        self._db.executemany(
            "UPDATE changes SET outcome = ?, undo = ? "
            "WHERE job = ? AND left_out = 0 AND position = ?",
            (
                (outcome, None if outcome is RowOutcome.ACCEPTED else undo_id, *claim)
                for claim, outcome in reversed_rows
            ),
        )
        self._decide_rows([claim for claim, _ in reversed_rows])

    def _update(self, job_id: str, outcomes: Sequence[tuple[int, RowOutcome]]) -> None:
        self._db.executemany(
            "UPDATE changes SET outcome = ? WHERE job = ? AND left_out = 0 AND position = ?",
            ((outcome, job_id, at) for at, outcome in outcomes),
        )

    def _decide_rows(self, claims: Sequence[tuple[str, int]]) -> None:
        """Mark the decisive changes of rows, by the jobs that sent them and their positions."""
        for claim in claims:
            if self.has_retries(claim[0]):
                self._decide(self._db.execute(_ROW_AT, claim).fetchall())

    def _decide(self, rows: Sequence[tuple[str, int]]) -> None:
        """Mark the decisive changes of rows of one sheet, each with the sheet and its origin.

        The newest decides, undos included, but for three cases: a doubt stands until it is settled;
        a row that is found unchanged stays accepted; a row that was not sent again, or was rejected
        and has not changed since, stays as it was. Only the rows of a sheet that was sent again
        have several changes.
        """
        if not rows:
            return
        origins = json.dumps([origin for _, origin in rows])
        found = self._db.execute(_HISTORIES, (rows[0][0], origins)).fetchall()
        marks: list[tuple[bool, str, int, int]] = []
        for _, changes in groupby(starmap(_Mark, found), key=attrgetter("origin")):
            history = list(changes)
            now: _Mark | None = None
            for change in history:
                now = change if change.decides_after(now) else now
            marks += (
                (change is now, change.job, change.left_out, change.position)
                for change in history
                if bool(change.decides) is not (change is now)
            )
        self._db.executemany(
            "UPDATE changes SET decides = ? WHERE job = ? AND left_out = ? AND position = ?", marks
        )


class _Mark(NamedTuple):
    """Change of a row, with the mark that it decides; ``first``: it is one of the first job."""

    origin: int
    job: str
    left_out: int
    position: int
    outcome: str
    reason: str | None
    undo: str | None
    decides: int
    first: int | None

    def decides_after(self, before: "_Mark | None") -> bool:
        """Return whether this later change replaces what became of the row ``before``."""
        if self.undo is not None or self.first:
            return True
        if self.outcome == RowOutcome.UNSENT:
            return False
        if before is None:
            return True
        if before.outcome == RowOutcome.UNKNOWN or (
            self.left_out and self.reason == RowReason.REJECTED
        ):
            return False
        return (self.outcome, before.outcome) != (RowOutcome.UNCHANGED, RowOutcome.ACCEPTED)


_OUTCOMES = {outcome.value: outcome for outcome in RowOutcome}
_IN_DOUBT = (
    "UPDATE changes SET outcome = CASE WHEN NOT left_out THEN 'unknown' "
    "WHEN reason = 'rejected' THEN 'rejected' ELSE action END "
    "WHERE job = ? AND outcome = 'unsent'"
)
_UNSENT = "UPDATE changes SET outcome = 'unsent' WHERE job = ? AND left_out >= ?"
_SETTLED = "UPDATE changes SET outcome = ? WHERE job = ? AND left_out = 0 AND outcome = 'unknown'"
_DOUBTFUL_REVERSALS = "SELECT job, position FROM changes WHERE undo = ? AND outcome = 'unknown'"
_ROWS_OF_JOB = "SELECT sheet, origin FROM changes WHERE job = ?"
_ROW_AT = "SELECT sheet, origin FROM changes WHERE job = ? AND left_out = 0 AND position = ?"
_HISTORIES = (
    "SELECT origin, changes.job, left_out, position, outcome, reason, undo, decides, "
    "changes.sheet IN (changes.job, parent) FROM changes "
    "JOIN jobs ON jobs.id = COALESCE(undo, changes.job) "
    "LEFT JOIN parts ON parts.job = changes.job "
    "WHERE changes.sheet = ? AND origin IN (SELECT value FROM json_each(?)) "
    "ORDER BY origin, jobs.rowid"
)
"""Changes of rows of a sheet, oldest first; one that was reversed has the age of its undo."""
