"""The journal's file: one SQLite database in WAL mode, synchronised at every commit."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from xlbridge.errors import JournalError
from xlbridge.i18n import Text
from xlbridge.upload.layout import make_tables

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY,
    created_at TEXT NOT NULL,
    profile TEXT NOT NULL,
    resource TEXT NOT NULL,
    mode TEXT NOT NULL,
    file TEXT NOT NULL,
    sheet TEXT NOT NULL,
    digest TEXT NOT NULL,
    payload TEXT NOT NULL,
    rows TEXT NOT NULL,
    columns TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS parts (
    job TEXT PRIMARY KEY REFERENCES jobs (id),
    parent TEXT NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS parts_by_parent ON parts (parent, number);
CREATE TABLE IF NOT EXISTS claims (
    job TEXT NOT NULL REFERENCES jobs (id),
    position INTEGER NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (job, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claims_by_digest ON claims (digest);
CREATE TABLE IF NOT EXISTS events (
    job TEXT NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    state TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (job, number)
);
CREATE INDEX IF NOT EXISTS retries ON events (json_extract(detail, '$.retry_of'))
    WHERE number = 1;
CREATE TABLE IF NOT EXISTS readings (
    job TEXT NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    moment TEXT NOT NULL,
    rows TEXT NOT NULL,
    PRIMARY KEY (job, number)
);
"""
_BUSY_SECONDS = 30.0


def open_journal_file(path: Path) -> sqlite3.Connection:
    """Open the file, or make it. Raises ``JournalError`` when it cannot be used."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _opened(path)
    except (OSError, sqlite3.Error) as error:
        raise JournalError(
            Text(
                pt="O diário de envios {path} não pôde ser aberto: {error}",
                en="The upload journal {path} cannot be opened: {error}",
            ).format(path=path, error=error),
            Text(
                pt="Confira a pasta, ou escolha outra com XLBRIDGE_HOME.",
                en="Check the folder, or choose another with XLBRIDGE_HOME.",
            ),
        ) from error


def _opened(path: Path) -> sqlite3.Connection:
    with ExitStack() as stack:
        db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        stack.callback(db.close)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
        make_tables(db, path, _SCHEMA)
        stack.pop_all()
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Do all of the block or nothing; it is on the disk when the block has ended."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
