"""The file of the ledger of batches: one SQLite database in WAL mode."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from xlbridge.errors import JournalError
from xlbridge.i18n import Text
from xlbridge.upload.layout import make_tables

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
_BUSY_SECONDS = 30.0


def open_ledger_file(path: Path) -> sqlite3.Connection:
    """Open the ledger's file, made if need be. Raises ``JournalError`` when it cannot be."""
    with reporting(), ExitStack() as stack:
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, timeout=_BUSY_SECONDS)
        stack.callback(db.close)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        make_tables(db, path, _SCHEMA)
        stack.pop_all()
    return db


@contextmanager
def reporting() -> Iterator[None]:
    """Let what the file fails with become a ``JournalError``."""
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
