"""The journal's file: one SQLite database in WAL mode, synchronised at every commit."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xlbridge.kept_file import KeptFile, open_kept_file

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


def open_journal_file(path: Path) -> KeptFile:
    """Open the file, or make it. Raises what ``open_kept_file`` raises."""
    db = open_kept_file(path, _SCHEMA, isolation_level=None)
    db.execute("PRAGMA foreign_keys = ON")
    return db


@contextmanager
def transaction(db: KeptFile) -> Iterator[None]:
    """Do all of the block or nothing; it is on the disk when the block has ended."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # Where the disk is full, SQLite has rolled back by itself.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
