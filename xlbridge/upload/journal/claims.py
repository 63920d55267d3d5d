"""Which job claims a row: the journal's guard against sending it twice."""

import json
from collections.abc import Iterable, Sequence

from xlbridge.kept_file import KeptFile


class Claims:
    """The claims in the journal's file; whoever calls has begun the transaction."""

    def __init__(self, db: KeptFile) -> None:
        self._db = db

    def add(self, job_id: str, digests: Iterable[str]) -> None:
        """Claim the rows of a job, by their digests, in order."""
        self._db.executemany(
            "INSERT INTO claims VALUES (?, ?, ?)",
            ((job_id, position, digest) for position, digest in enumerate(digests)),
        )

    def free(self, job_id: str) -> None:
        """Free all rows of a job."""
        self._db.execute("DELETE FROM claims WHERE job = ?", (job_id,))

    def free_rows(self, job_id: str, positions: Iterable[int]) -> None:
        """Free some rows of a job, by their positions."""
        self._db.executemany(
            "DELETE FROM claims WHERE job = ? AND position = ?",
            ((job_id, position) for position in positions),
        )

    def holders(self, profile: str, resource: str, digests: Sequence[str]) -> dict[str, int]:
        """Return the jobs that claim some of the rows, newest first, and how many each."""
        found = self._db.execute(
            "SELECT jobs.id, COUNT(*) FROM claims JOIN jobs ON jobs.id = claims.job "
            "WHERE profile = ? AND resource = ? "
            "AND claims.digest IN (SELECT value FROM json_each(?)) "
            "GROUP BY jobs.id ORDER BY created_at DESC",
            (profile, resource, json.dumps(sorted(set(digests)))),
        )
        return dict(found.fetchall())
