"""What a batch has come to, written down as it happens: one SQLite file for all batches.

About rows the upload journal alone is asked. The ledger knows which of its jobs are whose.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from xlbridge.batch.plan import Plan
from xlbridge.errors import JournalError, UsageError
from xlbridge.i18n import Text

_SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    plan TEXT NOT NULL,
    parameters TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS checks (
    batch TEXT NOT NULL REFERENCES batches (id),
    step TEXT NOT NULL,
    file TEXT NOT NULL,
    at TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (batch, step, file)
);
CREATE TABLE IF NOT EXISTS jobs (
    batch TEXT NOT NULL REFERENCES batches (id),
    step TEXT NOT NULL,
    file TEXT NOT NULL,
    profile TEXT NOT NULL,
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    job TEXT NOT NULL,
    PRIMARY KEY (batch, step, file, profile, number)
);
CREATE TABLE IF NOT EXISTS exports (
    batch TEXT NOT NULL REFERENCES batches (id),
    step TEXT NOT NULL,
    profile TEXT NOT NULL,
    at TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    manifest TEXT NOT NULL,
    PRIMARY KEY (batch, step, profile)
);
"""
_BUSY_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class KnownBatch:
    """A batch that was begun: its plan's file and the parameters that were given."""

    id: str
    created_at: datetime
    plan: Path
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Check:
    """What judging a workbook came to.

    ``problem`` is why it could not be judged, None where it was. ``told`` are the first findings.
    """

    sha256: str
    rows: int = 0
    errors: int = 0
    warnings: int = 0
    problem: Text | None = None
    refused: bool = False
    told: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the workbook may be sent."""
        return self.problem is None and not self.errors


@dataclass(frozen=True, slots=True)
class SentAs:
    """A job that a workbook went as, and the workbook's digest then."""

    sha256: str
    job: str


@dataclass(frozen=True, slots=True)
class Exported:
    """An export that was finished. ``fingerprint`` is of what it was to hold."""

    fingerprint: str
    at: datetime
    manifest: Mapping[str, Any]


class Ledger:
    """The ledger's file; safe to use from several processes at once.

    Raises ``JournalError`` when it cannot be opened.
    """

    def __init__(self, path: Path, now: Callable[[], datetime] = datetime.now) -> None:
        self._db = _open(path)
        self._now = now

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def begin(self, plan: Plan) -> KnownBatch:
        """Write a batch down, or that its plan lies elsewhere now.

        Raises ``UsageError`` when there is another plan of that name: its workbooks would be taken
        for those of this one.
        """
        for known in self.batches():
            if known.id == plan.batch and _is_another(known.plan, plan.path):
                raise UsageError(_TWO_PLANS.format(id=plan.batch, plan=known.plan))
        with self._change():
            self._db.execute(
                "INSERT INTO batches VALUES (?, ?, ?, ?) "
                "ON CONFLICT (id) DO UPDATE SET plan = excluded.plan",
                (plan.batch, self._moment(), str(plan.path), json.dumps(dict(plan.parameters))),
            )
        return self.batch(plan.batch)

    def batch(self, batch_id: str) -> KnownBatch:
        """Return a batch by its name. Raises ``UsageError`` when it was never begun."""
        for batch in self.batches():
            if batch.id == batch_id:
                return batch
        raise UsageError(
            Text(pt="O lote {id!r} não existe.", en="There is no batch {id!r}.").format(
                id=batch_id
            ),
            Text(pt="Veja os que existem: xlbridge batch status", en="See: xlbridge batch status"),
        )

    def batches(self) -> list[KnownBatch]:
        """Return all batches, newest first."""
        found = self._db.execute("SELECT * FROM batches ORDER BY created_at DESC, id DESC")
        return [
            KnownBatch(name, datetime.fromisoformat(at), Path(plan), json.loads(parameters))
            for name, at, plan, parameters in found.fetchall()
        ]

    def checked(self, batch: str, step: str, file: str, check: Check) -> None:
        """Keep what judging a workbook came to, in place of what was kept before."""
        problem = check.problem and {"pt": check.problem.pt, "en": check.problem.en}
        detail = {
            "rows": check.rows,
            "errors": check.errors,
            "warnings": check.warnings,
            "problem": problem,
            "refused": check.refused,
            "told": check.told,
        }
        with self._change():
            self._db.execute(
                "INSERT OR REPLACE INTO checks VALUES (?, ?, ?, ?, ?, ?)",
                (batch, step, file, self._moment(), check.sha256, json.dumps(detail)),
            )

    def check_of(self, batch: str, step: str, file: str) -> Check | None:
        """Return what the last judging came to, None where there was none."""
        found = self._db.execute(
            "SELECT sha256, detail FROM checks WHERE batch = ? AND step = ? AND file = ?",
            (batch, step, file),
        ).fetchone()
        if found is None:
            return None
        detail = json.loads(found[1])
        problem = detail.pop("problem")
        told = tuple(detail.pop("told"))
        return Check(found[0], problem=Text(**problem) if problem else None, told=told, **detail)

    def sent(self, batch: str, step: str, file: str, profile: str, sent: SentAs) -> None:
        """Note the job that a workbook goes as; it is on the disk before the job is run."""
        if self.last_sent(batch, step, file, profile) == sent:
            return
        place = (batch, step, file, profile)
        with self._change():
            self._db.execute(
                "INSERT INTO jobs SELECT ?, ?, ?, ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? "
                "FROM jobs WHERE batch = ? AND step = ? AND file = ? AND profile = ?",
                (*place, self._moment(), sent.sha256, sent.job, *place),
            )

    def last_sent(self, batch: str, step: str, file: str, profile: str) -> SentAs | None:
        """Return the last job of a workbook, None where it was never sent."""
        found = self._db.execute(
            "SELECT sha256, job FROM jobs WHERE batch = ? AND step = ? AND file = ? "
            "AND profile = ? ORDER BY number DESC",
            (batch, step, file, profile),
        ).fetchone()
        return None if found is None else SentAs(*found)

    def files_sent(self, batch: str, step: str, profile: str) -> list[str]:
        """Return the workbooks of a step that were sent, whether or not they are still there."""
        found = self._db.execute(
            "SELECT DISTINCT file FROM jobs WHERE batch = ? AND step = ? AND profile = ? "
            "ORDER BY file",
            (batch, step, profile),
        )
        return [row[0] for row in found.fetchall()]

    def renamed(self, batch: str, step: str, profile: str, old: str, new: str) -> None:
        """Note that a workbook has another name now: what is known of it goes with it."""
        with self._change():
            self._db.execute(
                "UPDATE jobs SET file = ? WHERE batch = ? AND step = ? AND profile = ? "
                "AND file = ?",
                (new, batch, step, profile, old),
            )
            self._db.execute(
                "UPDATE OR REPLACE checks SET file = ? WHERE batch = ? AND step = ? AND file = ?",
                (new, batch, step, old),
            )

    def exported(
        self, batch: str, step: str, profile: str, fingerprint: str, manifest: Mapping[str, Any]
    ) -> None:
        """Keep what an export came to, in place of what was kept before."""
        with self._change():
            self._db.execute(
                "INSERT OR REPLACE INTO exports VALUES (?, ?, ?, ?, ?, ?)",
                (batch, step, profile, self._moment(), fingerprint, json.dumps(dict(manifest))),
            )

    def export_of(self, batch: str, step: str, profile: str) -> Exported | None:
        """Return what the last finished export of a step came to."""
        found = self._db.execute(
            "SELECT fingerprint, at, manifest FROM exports "
            "WHERE batch = ? AND step = ? AND profile = ?",
            (batch, step, profile),
        ).fetchone()
        if found is None:
            return None
        return Exported(found[0], datetime.fromisoformat(found[1]), json.loads(found[2]))

    def _moment(self) -> str:
        return self._now().isoformat()

    @contextmanager
    def _change(self) -> Iterator[None]:
        with _reporting(), self._db:
            yield


_TWO_PLANS = Text(
    pt="O lote {id} é do plano {plan}; dê outro nome (name) a este.",
    en="The batch {id} is of the plan {plan}; give this one another name.",
)


def _is_another(known: Path, plan: Path) -> bool:
    return known.is_file() and not known.samefile(plan)


def _open(path: Path) -> sqlite3.Connection:
    with _reporting():
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, timeout=_BUSY_SECONDS)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.executescript(_SCHEMA)
    return db


@contextmanager
def _reporting() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise JournalError(
            Text(
                pt="O livro dos lotes não pôde ser usado: {error}",
                en="The ledger of batches cannot be used: {error}",
            ).format(error=error),
            Text(
                pt="Confira a pasta, ou escolha outra com XLBRIDGE_HOME.",
                en="Check the folder, or choose another with XLBRIDGE_HOME.",
            ),
        ) from error
