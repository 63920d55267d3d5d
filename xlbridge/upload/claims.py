"""Claims on rows, and own writes of the last minutes: guards against sending a record twice.

A row is claimed by the digest of its values and by its business keys, in one system and resource.
What answers may be a copy of the system's database, or a cache: a reading that shows a record as it
was before a write of this journal proves nothing. See the upload protocol, What an answer means.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from json import dumps
from json.encoder import encode_basestring_ascii
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from xlbridge.errors import JournalError, UsageError
from xlbridge.i18n import Text
from xlbridge.local_database import LocalDatabase
from xlbridge.upload.journal_database import batched

Claimants = Mapping[str, Sequence[str]]
"""Ids of the claiming jobs by the digest of a row or key: newest first, one for each claim."""

_PIECE = 20_000
"""Digests in one query or insertion."""


class ClaimScope(NamedTuple):
    """Scope of claims: remote system and resource."""

    system: str
    resource: str


class RowClaims(NamedTuple):
    """Digests of the values of rows, in order, and the key digests of each."""

    digests: Sequence[str]
    keys: Sequence[Sequence[str]]

    @classmethod
    def join(cls, claims: "Iterable[RowClaims]") -> "RowClaims":
        """Return the claims of all rows."""
        digests, keys = zip(*claims, strict=True)
        return cls(list(chain.from_iterable(digests)), list(chain.from_iterable(keys)))


@dataclass(frozen=True, slots=True)
class ClaimedRows:
    """Jobs that claim rows, by the rows' digests and by their keys.

    The outcome of ``unfinished`` jobs is not known yet; the others are finished.
    """

    digests: Claimants = field(default_factory=dict)
    keys: Claimants = field(default_factory=dict)
    unfinished: frozenset[str] = frozenset()

    def unfinished_job(self, digest: str, keys: Iterable[str]) -> str | None:
        """Return an unfinished job that claims the row or one of its keys."""
        if not self.unfinished:
            return None
        return next((job for job in self._claimants(digest, keys) if job in self.unfinished), None)

    def accepted(self, digest: str) -> list[str]:
        """Return the finished jobs that wrote a row with this digest, once for each time."""
        return [job for job in self.digests.get(digest, ()) if job not in self.unfinished]

    def accepted_by_key(self, keys: Iterable[str]) -> list[str]:
        """Return the finished jobs that wrote a record with the first key that has any."""
        found = (
            [job for job in self.keys.get(key, ()) if job not in self.unfinished] for key in keys
        )
        return next(filter(None, found), [])

    def holders(self, claims: RowClaims) -> frozenset[str]:
        """Return the jobs that claim any of the rows."""
        if not self.digests and not self.keys:
            return frozenset()
        rows = zip(claims.digests, claims.keys, strict=True)
        return frozenset(job for digest, keys in rows for job in self._claimants(digest, keys))

    def merge(self, other: "ClaimedRows") -> "ClaimedRows":
        """Return these claims together with those of another journal."""
        return ClaimedRows(
            _merge(self.digests, other.digests),
            _merge(self.keys, other.keys),
            self.unfinished | other.unfinished,
        )

    def _claimants(self, digest: str, keys: Iterable[str]) -> Iterable[str]:
        yield from self.digests.get(digest, ())
        for key in keys:
            yield from self.keys.get(key, ())


class PlanOutdated(JournalError):
    """The plan is outdated: other jobs have claimed some of its rows in the meantime."""

    def __init__(self) -> None:
        super().__init__(
            Text(
                pt="outro envio passou a conter estas linhas",
                en="another upload now has these rows",
            )
        )


_Recorded = TypeVar("_Recorded")
_MAX_PLANS = 3


def repeat_while_outdated(record: Callable[[], _Recorded]) -> _Recorded:
    """Return the result of ``record``, which makes a plan and records it, if need be repeatedly.

    Raises ``PlanOutdated`` if the last plan is outdated, too.
    """
    for _ in range(_MAX_PLANS - 1):
        with suppress(PlanOutdated):
            return record()
    return record()


def _merge(one: Claimants, other: Claimants) -> Claimants:
    return {digest: [*one.get(digest, ()), *other.get(digest, ())] for digest in {*one, *other}}


_BY_DIGEST = (
    "SELECT claims.digest, requests.id FROM claims JOIN requests ON requests.id = claims.request "
    "JOIN jobs ON jobs.id = requests.job "
    "WHERE system = ? AND resource = ? "
    "AND claims.digest IN (SELECT value FROM json_each(?)) "
    "ORDER BY jobs.rowid DESC, requests.number DESC"
)
_BY_KEY = (
    "SELECT key, requests.id FROM claimed_keys "
    "JOIN requests ON requests.id = claimed_keys.request JOIN jobs ON jobs.id = requests.job "
    "WHERE system = ? AND resource = ? "
    "AND key IN (SELECT value FROM json_each(?)) ORDER BY jobs.rowid DESC, requests.number DESC"
)


@dataclass(frozen=True, slots=True)
class Claims:
    """Claims in the journal's file; callers open the transaction."""

    _db: LocalDatabase

    def add(self, job_id: str, claims: RowClaims) -> None:
        """Claim the rows of a job, in order."""
        keys = ((at, key) for at, row_keys in enumerate(claims.keys) for key in row_keys)
        for statement, claimed in (
            ("INSERT INTO claims VALUES (?, ?, ?)", enumerate(claims.digests)),
            ("INSERT OR IGNORE INTO claimed_keys VALUES (?, ?, ?)", keys),
        ):
            for piece in batched(claimed, _PIECE):
                # In index order, so that each page of the index is read once.
                piece.sort(key=itemgetter(1))
                rows = ((job_id, position, digest) for position, digest in piece)
                self._db.executemany(statement, rows)

    def keys_of(self, job_id: str) -> dict[int, set[str]]:
        """Return the keys that a job claims, by the positions of its rows."""
        claimed: defaultdict[int, set[str]] = defaultdict(set)
        query = "SELECT position, key FROM claimed_keys WHERE request = ? ORDER BY position"
        for position, key in self._db.execute(query, (job_id,)).fetchall():
            claimed[position].add(key)
        return dict(claimed)

    def free(self, request_id: str, positions: Iterable[int] | None = None) -> None:
        """Free all rows of a request, or those at the given positions."""
        if positions is None:
            self._db.execute("DELETE FROM claims WHERE request = ?", (request_id,))
            self._db.execute("DELETE FROM claimed_keys WHERE request = ?", (request_id,))
        freed = [(request_id, position) for position in positions or ()]
        self._db.executemany("DELETE FROM claims WHERE request = ? AND position = ?", freed)
        self._db.executemany("DELETE FROM claimed_keys WHERE request = ? AND position = ?", freed)

    def claimants(self, scope: ClaimScope, claims: RowClaims) -> tuple[Claimants, Claimants]:
        """Return the jobs that claim rows, by the rows' digests and by their keys."""
        by_digest: dict[str, tuple[str, ...]] = {}
        by_key: dict[str, tuple[str, ...]] = {}
        # Most digests have one claimant, and many share it: share the tuples, too.
        singles: dict[str, tuple[str, ...]] = {}
        for query, digests, claimants in (
            (_BY_DIGEST, claims.digests, by_digest),
            (_BY_KEY, chain.from_iterable(claims.keys), by_key),
        ):
            for batch in batched(digests, _PIECE):
                # Digests need no escaping, which takes most of the time of ``json.dumps``.
                wanted = '["' + '","'.join(sorted(set(batch).difference(claimants))) + '"]'
                for digest, job_id in self._db.execute(query, (*scope, wanted)).fetchall():
                    others = claimants.get(digest)
                    single = singles.setdefault(job_id, (job_id,))
                    claimants[digest] = single if others is None else others + single
        return by_digest, by_key


_FIRST_PAUSE, _LAG_SECONDS = 0.5, 10.0
"""First pause, and seconds in all, for which a reading is awaited that shows what was written."""

_Read = TypeVar("_Read")


def read_until(
    read: Callable[[], _Read],
    is_last: Callable[[_Read, float], bool],
    sleep: Callable[[float], None],
    *,
    first_pause: float = 0.1,
    growth: float = 2.0,
    longest_pause: float = 5.0,
) -> _Read:
    """Read again, after ever longer pauses, until a reading is the last one; return that.

    ``is_last`` decides on a reading and the seconds waited so far, and reports progress on those
    that are not the last. ``sleep`` may raise to end the run.
    """
    found, pause, waited = read(), first_pause, 0.0
    while not is_last(found, waited):
        sleep(pause)
        waited += pause
        pause = min(pause * growth, longest_pause)
        found = read()
    return found


@dataclass(frozen=True, slots=True)
class Patience:
    """Time in ``seconds`` for which readings may lag behind writes, and the function that waits.

    A copy of the system's database may answer.
    """

    seconds: float
    sleep: Callable[[float], None] = time.sleep

    def read_until(self, read: Callable[[], _Read], shows: Callable[[_Read], bool]) -> _Read:
        """Return a reading that shows what was just written, or after a while the last one."""
        longest = min(self.seconds, _LAG_SECONDS)
        return read_until(
            read,
            lambda found, waited: shows(found) or waited >= longest,
            self.sleep,
            first_pause=_FIRST_PAUSE,
            longest_pause=_LAG_SECONDS,
        )


@dataclass(frozen=True, slots=True)
class OwnWrites:
    """Records that jobs of a journal have changed or removed in the last minutes, and those jobs.

    ``jobs`` are all jobs that have written records, those that created some included.
    """

    jobs: set[str] = field(default_factory=set)
    _removed: dict[str, str] = field(default_factory=dict)
    _newest: defaultdict[str, dict[str, tuple[str | None, str]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _replaced: defaultdict[tuple[str, str], set[str | None]] = field(
        default_factory=lambda: defaultdict(set)
    )

    def add(
        self,
        job_id: str,
        code: str,
        replaced: Mapping[str, str | None],
        wanted: Mapping[str, str | None] | None,
    ) -> None:
        """Add a change of a record, later than those before; without ``wanted`` a removal."""
        if wanted is None:
            self._removed[code] = job_id
            return
        for name, value in wanted.items():
            self._newest[code][name] = value, job_id
            self._replaced[code, name].add(replaced.get(name))

    def merge(self, other: "OwnWrites") -> None:
        """Add the writes of another journal."""
        self.jobs.update(other.jobs)
        self._removed.update(other._removed)
        for code, newest in other._newest.items():
            self._newest[code] |= newest
        for key, values in other._replaced.items():
            self._replaced[key] |= values

    def job_not_shown(
        self, code: str, values: Mapping[str, str | None], blank: Mapping[str, str | None]
    ) -> str | None:
        """Return a job whose write a record, as it was read, does not show yet.

        That is if it has values that the job has replaced, or was removed. ``blank`` has the values
        that an empty field means.
        """

        def filled(name: str, value: str | None) -> str | None:
            return blank.get(name) if value is None else value

        if code in self._removed:
            return self._removed[code]
        for name, (newest, job_id) in self._newest.get(code, {}).items():
            if name not in values:
                continue
            shown = filled(name, values[name])
            replaced = {filled(name, value) for value in self._replaced[code, name]}
            if shown != filled(name, newest) and shown in replaced:
                return job_id
        return None


def require_reason(reason: str | None, option: str = "--again") -> None:
    """Raise ``UsageError`` if the reason given by an option is empty."""
    if reason is not None and not reason.strip():
        raise UsageError(
            Text(
                pt="Informe o motivo em {option}.",
                en="{option} needs a reason.",
                page=Text(pt="Escreva o motivo.", en="Enter the reason."),
            ).format(option=option),
            Text(pt="Nada foi enviado.", en="Nothing was sent."),
        )


_DIGEST_BYTES = 16


def claim_digest(text: str) -> str:
    """Return the digest by which a row or a key is claimed."""
    return blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def named_values(name: str, values: Sequence[Any], empty: str | None = None) -> list[str]:
    """Return each value of a column as an item of a JSON list, with the column's name.

    An empty cell's value is ``empty``; without that, it has no item.
    """
    opening = f", [{dumps(name)}, "
    # Most columns have few distinct values, all of one type.
    items = {cell: f"{opening}{encode_basestring_ascii(str(cell))}]" for cell in {*values}}
    items[None] = "" if empty is None else f"{opening}{empty}]"
    return list(map(items.__getitem__, values))
