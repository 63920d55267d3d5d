"""Ledger of batches: jobs, and the results of checks, exports and runs, in one SQLite file.

The outcome of each row is in the upload journal; the ledger links its jobs to workbooks.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import msgspec

from xlbridge.errors import UsageError
from xlbridge.i18n import Text, untranslated
from xlbridge.local_database import LocalDatabase, open_local_database
from xlbridge.settings import Settings

_SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    plan TEXT NOT NULL,
    parameters TEXT NOT NULL,
    schemas TEXT
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
CREATE TABLE IF NOT EXISTS results (
    batch TEXT NOT NULL REFERENCES batches (id),
    step TEXT NOT NULL,
    profile TEXT NOT NULL,
    unit TEXT NOT NULL,
    kind TEXT NOT NULL,
    at TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (batch, step, profile, unit, kind)
);
"""


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """A batch that was started: its plan file and parameters.

    ``custom_schemas`` is the folder of own resources of its last run, if any.
    """

    id: str
    created_at: datetime
    plan: Path
    parameters: Mapping[str, str]
    custom_schemas: Path | None = None


class BatchError(NamedTuple):
    """Error of a cell, by Excel row and column from zero, that only the batch's other workbooks or
    the system's records show; ``code`` is that of its finding."""

    sheet: str
    row: int
    column: int
    message: Text
    code: str = ""
    hint: Text = untranslated("")


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """Result of the checks of a workbook.

    ``problem`` is why it could not be validated, None if it was. ``first_findings`` are the first
    of its errors, ``titled_findings`` the same with columns called as in the sheet,
    ``batch_errors`` the first that the workbook alone does not show. ``amount`` is the sum of its
    rows' control amounts.
    """

    sha256: str
    rows: int = 0
    errors: int = 0
    warnings: int = 0
    problem: Text | None = None
    refused: bool = False
    first_findings: tuple[Text, ...] = ()
    titled_findings: tuple[Text, ...] = ()
    batch_errors: tuple[BatchError, ...] = ()
    amount: Decimal | None = None

    @property
    def ok(self) -> bool:
        """True if the workbook may be sent."""
        return self.problem is None and not self.errors


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job that sent a workbook, and the workbook's digest at the time."""

    sha256: str
    job: str


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """A finished export. ``fingerprint`` identifies its expected content.

    ``files`` are the digests of the files written, by path relative to the plan's folder.
    """

    fingerprint: str
    manifest: Mapping[str, Any]
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """Failure of a workbook or an export in a run, and its digest at the time.

    ``of_system`` is true if the remote system or the network failed.
    """

    message: Text
    sha256: str
    of_system: bool


Result = CheckRecord | ExportRecord | FailureRecord
_R = TypeVar("_R", CheckRecord, ExportRecord, FailureRecord)
_KINDS: Mapping[type[Result], str] = {
    CheckRecord: "check",
    ExportRecord: "export",
    FailureRecord: "failure",
}
"""Names of the results in the file."""


class StepKey(NamedTuple):
    """Key of a step in one environment: the names of its batch, the step, and the profile."""

    batch: str
    step: str
    profile: str


class Ledger:
    """The ledger's file; safe to use from several processes at once.

    Raises ``LocalDatabaseError`` or ``JournalError`` if it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._db = open_local_database(path, _SCHEMA)

    def copy(self) -> "Ledger":
        """Return a copy in memory, which leaves no trace."""
        copy = object.__new__(Ledger)
        copy._db = LocalDatabase(Path(":memory:"))
        self._db.backup(copy._db)
        return copy

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def begin(
        self,
        batch_id: str,
        plan: Path,
        parameters: Mapping[str, str],
        custom_schemas: Path | None = None,
    ) -> BatchRecord:
        """Record a batch, or the new location of its plan and of its own resources.

        Raises ``UsageError`` if another plan has the same name: their workbooks would be confused.
        """
        for known in self.batches():
            if known.id == batch_id and known.plan.is_file() and not known.plan.samefile(plan):
                raise UsageError(_NAME_IN_USE.format(id=batch_id, plan=known.plan))
        schemas = None if custom_schemas is None else str(custom_schemas)
        with self._db:
            self._db.execute(
                "INSERT INTO batches VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (id) DO UPDATE SET plan = excluded.plan, schemas = excluded.schemas",
                (batch_id, _timestamp(), str(plan), json.dumps(dict(parameters)), schemas),
            )
        return self.batch(batch_id)

    def batch(self, batch_id: str) -> BatchRecord:
        """Return a batch by its name. Raises ``UsageError`` if it was never started."""
        for batch in self.batches():
            if batch.id == batch_id:
                return batch
        raise UsageError(
            Text(pt="O lote {id!r} não existe.", en="There is no batch {id!r}.").format(
                id=batch_id
            ),
            Text(
                pt="Veja os que existem: xlbridge batch status",
                en="See: xlbridge batch status",
                page=Text(
                    pt="Veja os que existem em Lotes.",
                    en="See those that exist under Batches.",
                ),
            ),
        )

    def batches(self) -> list[BatchRecord]:
        """Return all batches, newest first."""
        rows = self._db.execute("SELECT * FROM batches ORDER BY rowid DESC")
        return [
            BatchRecord(
                name,
                datetime.fromisoformat(at),
                Path(plan),
                json.loads(parameters),
                None if folder is None else Path(folder),
            )
            for name, at, plan, parameters, folder in rows.fetchall()
        ]

    def store(self, key: StepKey, unit: str, result: Result) -> None:
        """Store a result of a workbook or an export in place of an earlier one of its kind."""
        detail = msgspec.json.encode(result).decode()
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*key, unit, _KINDS[type(result)], _timestamp(), detail),
            )

    def last(self, key: StepKey, unit: str, kind: type[_R]) -> _R | None:
        """Return the last result of a kind of a workbook or an export, None if there is none."""
        row = self._db.execute(
            "SELECT detail FROM results "
            "WHERE batch = ? AND step = ? AND profile = ? AND unit = ? AND kind = ?",
            (*key, unit, _KINDS[kind]),
        ).fetchone()
        return None if row is None else msgspec.json.decode(row[0], type=kind)

    def clear_failures(self, batch: str) -> None:
        """Delete the failures of a batch, so that a new run tries those units again."""
        with self._db:
            self._db.execute(
                "DELETE FROM results WHERE batch = ? AND kind = ?", (batch, _KINDS[FailureRecord])
            )

    def record_job(self, key: StepKey, file: str, job: JobRecord) -> None:
        """Record the job of a workbook, on the disk before the job is run."""
        if self.last_job(key, file) == job:
            return
        with self._db:
            self._db.execute(
                "INSERT INTO jobs SELECT ?, ?, ?, ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? "
                "FROM jobs WHERE batch = ? AND step = ? AND profile = ? AND file = ?",
                (
                    *(key.batch, key.step, file, key.profile),
                    *(_timestamp(), job.sha256, job.job),
                    *(*key, file),
                ),
            )

    def last_job(self, key: StepKey, file: str) -> JobRecord | None:
        """Return the last job of a workbook, None if it was never sent."""
        row = self._db.execute(
            "SELECT sha256, job FROM jobs "
            "WHERE batch = ? AND step = ? AND profile = ? AND file = ? ORDER BY number DESC",
            (*key, file),
        ).fetchone()
        return None if row is None else JobRecord(*row)

    def sent_files(self, key: StepKey) -> list[str]:
        """Return the workbooks of a step that were sent, even if the files are gone."""
        rows = self._db.execute(
            "SELECT DISTINCT file FROM jobs WHERE batch = ? AND step = ? AND profile = ? "
            "ORDER BY file",
            key,
        )
        return [file for (file,) in rows.fetchall()]

    def sent_by_other_steps(self, batch: str, steps: Collection[str]) -> list[tuple[str, str, str]]:
        """Return step, environment and workbook of everything sent by steps not in ``steps``."""
        rows = self._db.execute(
            "SELECT DISTINCT step, profile, file FROM jobs WHERE batch = ? "
            "ORDER BY step, profile, file",
            (batch,),
        )
        return [(step, profile, file) for step, profile, file in rows if step not in steps]

    def rename_file(self, key: StepKey, old: str, new: str) -> None:
        """Record a workbook's jobs and results under its new name."""
        with self._db:
            self._db.execute(
                "UPDATE jobs SET file = ? "
                "WHERE batch = ? AND step = ? AND profile = ? AND file = ?",
                (new, *key, old),
            )
            self._db.execute(
                "UPDATE OR REPLACE results SET unit = ? "
                "WHERE batch = ? AND step = ? AND profile = ? AND unit = ?",
                (new, *key, old),
            )


def _timestamp() -> str:
    return datetime.now().isoformat()


_NAME_IN_USE = Text(
    pt="O lote {id} é do plano {plan}; dê outro nome (name) a este.",
    en="The batch {id} belongs to the plan {plan}; give this one another name.",
)


@contextmanager
def open_ledger(settings: Settings, *, creates: bool = True) -> Iterator[Ledger]:
    """Open the ledger of a home for one command. Raises what ``Ledger`` raises.

    If it ``creates`` none, a home without a ledger stays so, and reads an empty one.
    """
    path = settings.home / "batches.db"
    with ExitStack() as stack:
        if not (creates or path.exists()):
            folder = TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True)
            path = Path(stack.enter_context(folder), path.name)
        yield stack.enter_context(closing(Ledger(path)))
