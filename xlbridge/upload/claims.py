"""Claims on rows: the journal's guard against sending a record twice.

A row is claimed by the digest of its values and by its business keys, in one system and resource.
"""

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, islice, pairwise
from operator import itemgetter
from typing import NamedTuple

from xlbridge.files import LocalDatabase
from xlbridge.upload.lookup.row_table import MadeItems, pieces_of

Claimants = Mapping[str, Sequence[str]]
"""Ids of the jobs that claim something, by its digest; the newest first, one for each row."""

_BYTES = 16
_LENGTH = 2 * _BYTES

_PIECE = 20_000
"""Digests that are looked for, or added, at once."""


def claim_digest(text: str) -> str:
    """Return the digest of what a row or a key says, by which it is claimed."""
    return blake2b(text.encode(), digest_size=_BYTES).hexdigest()


class Digests(MadeItems[str]):
    """Digests in order, kept as one text."""

    def __init__(self, digests: Iterable[str]) -> None:
        self._text = "".join(digests)

    def __len__(self) -> int:
        return len(self._text) // _LENGTH

    def __iter__(self) -> Iterator[str]:
        text = self._text
        return (text[at : at + _LENGTH] for at in range(0, len(text), _LENGTH))

    def _made(self, at: int) -> str:
        return self._text[at * _LENGTH : (at + 1) * _LENGTH]


class KeyDigests(MadeItems[tuple[str, ...]]):
    """Digests of the keys of each row, kept as one text."""

    def __init__(self, keys: Iterable[Sequence[str]]) -> None:
        self._ends = array("L", [0])
        self._digests = Digests(self._each(keys))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        left = iter(self._digests)
        return (tuple(islice(left, end - begin)) for begin, end in pairwise(self._ends))

    def _each(self, keys: Iterable[Sequence[str]]) -> Iterator[str]:
        for of_row in keys:
            self._ends.append(self._ends[-1] + len(of_row))
            yield from of_row

    def _made(self, at: int) -> tuple[str, ...]:
        return tuple(map(self._digests.__getitem__, range(self._ends[at], self._ends[at + 1])))


class ClaimScope(NamedTuple):
    """Scope of claims: the remote system, its profile's name for older jobs, the resource."""

    system: str
    profile: str
    resource: str


class RowClaims(NamedTuple):
    """Digests of the values of some rows, in order, and the keys of each."""

    digests: Sequence[str]
    keys: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class ClaimedRows:
    """Jobs that claim rows: ``accepted`` ones are over, the outcome of ``unfinished`` ones is open.

    ``digests`` and ``keys`` map what is claimed to the jobs.
    """

    digests: Claimants = field(default_factory=dict)
    keys: Claimants = field(default_factory=dict)
    unfinished: frozenset[str] = frozenset()

    def unfinished_job(self, digest: str, keys: Iterable[str]) -> str | None:
        """Return an unfinished job that holds the row, or another of its key."""
        if not self.unfinished:
            return None
        return next((job for job in self._all(digest, keys) if job in self.unfinished), None)

    def accepted(self, digest: str) -> list[str]:
        """Return the jobs that were told to have written these values, one for each time."""
        return [job for job in self.digests.get(digest, ()) if job not in self.unfinished]

    def accepted_keys(self, keys: Iterable[str]) -> list[str]:
        """Return the jobs that were told to have written a record of the first key that has any."""
        found = (
            [job for job in self.keys.get(key, ()) if job not in self.unfinished] for key in keys
        )
        return next(filter(None, found), [])

    def holders(self, claims: RowClaims) -> frozenset[str]:
        """Return the jobs that claim any of the rows."""
        if not self.digests and not self.keys:
            return frozenset()
        rows = zip(claims.digests, claims.keys, strict=True)
        return frozenset(job for digest, keys in rows for job in self._all(digest, keys))

    def joined(self, other: "ClaimedRows") -> "ClaimedRows":
        """Return these claims with those of another journal."""
        return ClaimedRows(
            _joined(self.digests, other.digests),
            _joined(self.keys, other.keys),
            self.unfinished | other.unfinished,
        )

    def _all(self, digest: str, keys: Iterable[str]) -> Iterable[str]:
        yield from self.digests.get(digest, ())
        for key in keys:
            yield from self.keys.get(key, ())


def _joined(one: Claimants, other: Claimants) -> Claimants:
    return {what: [*one.get(what, ()), *other.get(what, ())] for what in {*one, *other}}


_OF_DIGESTS = (
    "SELECT claims.digest, jobs.id FROM claims JOIN jobs ON jobs.id = claims.job "
    "WHERE (system = ? OR (system = '' AND profile = ?)) AND resource = ? "
    "AND claims.digest IN (SELECT value FROM json_each(?)) ORDER BY created_at DESC"
)
_OF_KEYS = (
    "SELECT key, jobs.id FROM claimed_keys JOIN jobs ON jobs.id = claimed_keys.job "
    "WHERE (system = ? OR (system = '' AND profile = ?)) AND resource = ? "
    "AND key IN (SELECT value FROM json_each(?)) ORDER BY created_at DESC"
)


class Claims:
    """Claims in the journal's file; the caller has begun the transaction."""

    def __init__(self, db: LocalDatabase) -> None:
        self._db = db

    def add(self, job_id: str, claims: RowClaims) -> None:
        """Claim the rows of a job, in order."""
        keys = ((at, key) for at, of_row in enumerate(claims.keys) for key in of_row)
        self._insert("INSERT INTO claims", job_id, enumerate(claims.digests))
        self._insert("INSERT OR IGNORE INTO claimed_keys", job_id, keys)

    def _insert(self, into: str, job_id: str, claimed: Iterable[tuple[int, str]]) -> None:
        for piece in pieces_of(claimed, _PIECE):
            # In the order of the index: at random, each of its pages would be read many times.
            piece.sort(key=itemgetter(1))
            rows = ((job_id, position, digest) for position, digest in piece)
            self._db.executemany(f"{into} VALUES (?, ?, ?)", rows)

    def free(self, job_id: str) -> None:
        """Free all rows of a job."""
        self._db.execute("DELETE FROM claims WHERE job = ?", (job_id,))
        self._db.execute("DELETE FROM claimed_keys WHERE job = ?", (job_id,))

    def free_rows(self, job_id: str, positions: Iterable[int]) -> None:
        """Free some rows of a job, by their positions."""
        freed = [(job_id, position) for position in positions]
        self._db.executemany("DELETE FROM claims WHERE job = ? AND position = ?", freed)
        self._db.executemany("DELETE FROM claimed_keys WHERE job = ? AND position = ?", freed)

    def claimants(self, scope: ClaimScope, claims: RowClaims) -> tuple[Claimants, Claimants]:
        """Return the jobs that claim rows, by the rows' digests and by their keys.

        Jobs of earlier versions know the profile only.
        """
        return (
            self._claimants(_OF_DIGESTS, scope, claims.digests),
            self._claimants(_OF_KEYS, scope, chain.from_iterable(claims.keys)),
        )

    def _claimants(self, query: str, scope: ClaimScope, wanted: Iterable[str]) -> Claimants:
        claimants: dict[str, tuple[str, ...]] = {}
        alone: dict[str, tuple[str, ...]] = {}
        left = iter(wanted)
        while sought := set(islice(left, _PIECE)):
            # One that comes again was looked for.
            piece = json.dumps(sorted(sought.difference(claimants)))
            for claimed, job_id in self._db.execute(query, (*scope, piece)).fetchall():
                # Most are claimed once, many by the same job.
                others = claimants.get(claimed)
                one = alone.setdefault(job_id, (job_id,))
                claimants[claimed] = one if others is None else others + one
        return claimants
