"""Journal that simulates a process killed at one of its writes.

Inside: upload.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from xlbridge.local_database import LocalDatabase
from xlbridge.processes import Instant
from xlbridge.upload import Journal
from xlbridge.upload.claims import Claims
from xlbridge.upload.journal_database import RequestCount
from xlbridge.upload.requests import StoredSnapshots
from xlbridge.upload.row_changes import RecordWrites


class Killed(BaseException):
    """End of a process."""


class _CrashingWrites(RecordWrites):
    """Writes of single records, which count as writes of the journal."""

    def __init__(self, journal: "CrashingJournal") -> None:
        db, claims, requests = journal.database
        super().__init__(db, claims, journal.changes, requests, journal.now)
        self._journal = journal

    def plan(self, *arguments: Any, **options: Any) -> None:
        self._journal.write(lambda: super(_CrashingWrites, self).plan(*arguments, **options))

    def record(self, *arguments: Any) -> None:
        self._journal.write(lambda: super(_CrashingWrites, self).record(*arguments))


class _CrashingSnapshots(StoredSnapshots):
    """Snapshots of remote records, which count as writes of the journal."""

    def __init__(self, journal: "CrashingJournal") -> None:
        super().__init__(journal.database[0], journal.now)
        self._journal = journal

    def store(self, *arguments: Any) -> None:
        self._journal.write(lambda: super(_CrashingSnapshots, self).store(*arguments))


class CrashingJournal(Journal):
    """Journal whose ``number``-th write (from 0) ends the process, before or after it is made.

    Nothing is written after it. ``kills`` counts such ends.
    """

    kills: ClassVar[int] = 0

    def __init__(
        self, path: Path, number: int, *, before: bool, now: Callable[[], Instant]
    ) -> None:
        super().__init__(path, now)
        self._made = 0
        self._ended = False
        self._number, self._before = number, before
        self.writes = _CrashingWrites(self)
        self.snapshots = _CrashingSnapshots(self)

    @property
    def database(self) -> tuple[LocalDatabase, Claims, RequestCount]:
        """The journal's file, what is claimed in it, and its count of requests."""
        return self._db, self.claims, self._count

    def create(self, *arguments: Any, **options: Any) -> Any:
        return self.write(lambda: super(CrashingJournal, self).create(*arguments, **options))

    def record(self, *arguments: Any, **options: Any) -> Any:
        return self.write(lambda: super(CrashingJournal, self).record(*arguments, **options))

    def write(self, write: Callable[[], Any]) -> Any:
        """Make a write, unless the process has ended or ends before it."""
        if self._ended:
            raise Killed
        number, self._made = self._made, self._made + 1
        if number == self._number and self._before:
            self._end()
        written = write()
        if number == self._number:
            self._end()
        return written

    def _end(self) -> None:
        self._ended = True
        CrashingJournal.kills += 1
        raise Killed
