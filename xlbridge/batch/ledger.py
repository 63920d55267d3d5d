"""Ledger of batches: checks, jobs, exports and failures, in one SQLite file.

The outcome of each row is in the upload journal; the ledger links its jobs to workbooks.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from xlbridge.errors import UsageError
from xlbridge.files import open_local_database
from xlbridge.i18n import Text
from xlbridge.settings import Settings

_SCHEMA = """
CREATE TABLE IF NOT EXISTS batches (
    id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    plan TEXT NOT NULL,
    parameters TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS schemas (
    batch TEXT PRIMARY KEY REFERENCES batches (id),
    folder TEXT
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
CREATE TABLE IF NOT EXISTS export_files (
    batch TEXT NOT NULL REFERENCES batches (id),
    step TEXT NOT NULL,
    profile TEXT NOT NULL,
    file TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (batch, step, profile, file)
);
CREATE TABLE IF NOT EXISTS failures (
    batch TEXT NOT NULL REFERENCES batches (id),
    step TEXT NOT NULL,
    unit TEXT NOT NULL,
    profile TEXT NOT NULL,
    at TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (batch, step, unit, profile)
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


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """Result of the checks of a workbook.

    ``problem`` is why it could not be validated, None if it was. ``first_findings`` are the first
    of its errors.
    """

    sha256: str
    rows: int = 0
    errors: int = 0
    warnings: int = 0
    problem: Text | None = None
    refused: bool = False
    first_findings: tuple[Text, ...] = ()

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


class Ledger:
    """The ledger's file; safe to use from several processes at once.

    Raises ``LocalDatabaseError`` or ``JournalError`` if it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._db = open_local_database(path, _SCHEMA)

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
        with self._db:
            self._db.execute(
                "INSERT INTO batches VALUES (?, ?, ?, ?) "
                "ON CONFLICT (id) DO UPDATE SET plan = excluded.plan",
                (batch_id, _timestamp(), str(plan), json.dumps(dict(parameters))),
            )
            self._db.execute(
                "INSERT OR REPLACE INTO schemas VALUES (?, ?)",
                (batch_id, None if custom_schemas is None else str(custom_schemas)),
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
            Text(pt="Veja os que existem: xlbridge batch status", en="See: xlbridge batch status"),
        )

    def batches(self) -> list[BatchRecord]:
        """Return all batches, newest first."""
        rows = self._db.execute(
            "SELECT batches.*, folder FROM batches LEFT JOIN schemas ON batch = id "
            "ORDER BY created_at DESC, id DESC"
        )
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

    def store_check(self, batch: str, step: str, file: str, check: CheckRecord) -> None:
        """Store the result of a workbook's checks in place of an earlier one."""
        problem = check.problem and {"pt": check.problem.pt, "en": check.problem.en}
        detail = {
            "rows": check.rows,
            "errors": check.errors,
            "warnings": check.warnings,
            "problem": problem,
            "refused": check.refused,
            "first_findings": [finding.to_json() for finding in check.first_findings],
        }
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO checks VALUES (?, ?, ?, ?, ?, ?)",
                (batch, step, file, _timestamp(), check.sha256, json.dumps(detail)),
            )

    def last_check(self, batch: str, step: str, file: str) -> CheckRecord | None:
        """Return the result of a workbook's last checks, None if it was never checked."""
        row = self._db.execute(
            "SELECT sha256, detail FROM checks WHERE batch = ? AND step = ? AND file = ?",
            (batch, step, file),
        ).fetchone()
        if row is None:
            return None
        detail = json.loads(row[1])
        problem = detail.pop("problem")
        first_findings = tuple(map(Text.of_json, detail.pop("first_findings")))
        return CheckRecord(
            row[0],
            problem=Text.of_json(problem) if problem else None,
            first_findings=first_findings,
            **detail,
        )

    def record_job(self, batch: str, step: str, file: str, profile: str, job: JobRecord) -> None:
        """Record the job of a workbook, on the disk before the job is run."""
        if self.last_job(batch, step, file, profile) == job:
            return
        key = (batch, step, file, profile)
        with self._db:
            self._db.execute(
                "INSERT INTO jobs SELECT ?, ?, ?, ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? "
                "FROM jobs WHERE batch = ? AND step = ? AND file = ? AND profile = ?",
                (*key, _timestamp(), job.sha256, job.job, *key),
            )

    def last_job(self, batch: str, step: str, file: str, profile: str) -> JobRecord | None:
        """Return the last job of a workbook, None if it was never sent."""
        row = self._db.execute(
            "SELECT sha256, job FROM jobs WHERE batch = ? AND step = ? AND file = ? "
            "AND profile = ? ORDER BY number DESC",
            (batch, step, file, profile),
        ).fetchone()
        return None if row is None else JobRecord(*row)

    def sent_files(self, batch: str, step: str, profile: str) -> list[str]:
        """Return the workbooks of a step that were sent, even if the files are gone."""
        rows = self._db.execute(
            "SELECT DISTINCT file FROM jobs WHERE batch = ? AND step = ? AND profile = ? "
            "ORDER BY file",
            (batch, step, profile),
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

    def rename_file(self, batch: str, step: str, profile: str, old: str, new: str) -> None:
        """Record a workbook's jobs and checks under its new name."""
        with self._db:
            self._db.execute(
                "UPDATE jobs SET file = ? WHERE batch = ? AND step = ? AND profile = ? "
                "AND file = ?",
                (new, batch, step, profile, old),
            )
            self._db.execute(
                "UPDATE OR REPLACE checks SET file = ? WHERE batch = ? AND step = ? AND file = ?",
                (new, batch, step, old),
            )

    def store_export(self, batch: str, step: str, profile: str, export: ExportRecord) -> None:
        """Store the result of an export in place of an earlier one."""
        key = (batch, step, profile)
        manifest = json.dumps(dict(export.manifest))
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO exports VALUES (?, ?, ?, ?, ?, ?)",
                (*key, _timestamp(), export.fingerprint, manifest),
            )
            self._db.execute(
                "DELETE FROM export_files WHERE batch = ? AND step = ? AND profile = ?", key
            )
            self._db.executemany(
                "INSERT INTO export_files VALUES (?, ?, ?, ?, ?)",
                [(*key, *file) for file in export.files.items()],
            )

    def last_export(self, batch: str, step: str, profile: str) -> ExportRecord | None:
        """Return the last finished export of a step, None if there is none."""
        key = (batch, step, profile)
        row = self._db.execute(
            "SELECT fingerprint, manifest FROM exports "
            "WHERE batch = ? AND step = ? AND profile = ?",
            key,
        ).fetchone()
        if row is None:
            return None
        files = self._db.execute(
            "SELECT file, sha256 FROM export_files WHERE batch = ? AND step = ? AND profile = ?",
            key,
        )
        return ExportRecord(row[0], json.loads(row[1]), dict(files.fetchall()))

    def store_failure(
        self, batch: str, step: str, unit: str, profile: str, failure: FailureRecord
    ) -> None:
        """Store why a workbook or an export failed."""
        message = {"pt": failure.message.pt, "en": failure.message.en}
        detail = json.dumps({"message": message, "of_system": failure.of_system})
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?)",
                (batch, step, unit, profile, _timestamp(), failure.sha256, detail),
            )

    def last_failure(self, batch: str, step: str, unit: str, profile: str) -> FailureRecord | None:
        """Return why a workbook or an export failed in the last run, None if it did not."""
        row = self._db.execute(
            "SELECT sha256, detail FROM failures "
            "WHERE batch = ? AND step = ? AND unit = ? AND profile = ?",
            (batch, step, unit, profile),
        ).fetchone()
        if row is None:
            return None
        detail = json.loads(row[1])
        return FailureRecord(Text.of_json(detail["message"]), row[0], detail["of_system"])

    def clear_failures(self, batch: str) -> None:
        """Delete the failures of a batch, so that a new run tries those units again."""
        with self._db:
            self._db.execute("DELETE FROM failures WHERE batch = ?", (batch,))


def _timestamp() -> str:
    return datetime.now().isoformat()


_NAME_IN_USE = Text(
    pt="O lote {id} é do plano {plan}; dê outro nome (name) a este.",
    en="The batch {id} belongs to the plan {plan}; give this one another name.",
)


@contextmanager
def open_ledger(settings: Settings) -> Iterator[Ledger]:
    """Open the ledger of a home for one command. Raises what ``Ledger`` raises."""
    with closing(Ledger(settings.home / "batches.db")) as ledger:
        yield ledger
