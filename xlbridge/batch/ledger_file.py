"""The file of the ledger of batches: one SQLite database in WAL mode."""

from pathlib import Path

from xlbridge.kept_file import KeptFile, open_kept_file

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


def open_ledger_file(path: Path) -> KeptFile:
    """Open the ledger's file, made if need be. Raises what ``open_kept_file`` raises."""
    return open_kept_file(path, _SCHEMA)
