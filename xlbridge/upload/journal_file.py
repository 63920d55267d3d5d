"""File of the journal: its tables, and the migration of a file of an earlier layout.

An earlier file is copied first, then changed in one transaction; a newer one is refused.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from xlbridge.errors import JournalError
from xlbridge.files import LocalDatabase, open_local_database
from xlbridge.i18n import Text
from xlbridge.upload.journal_marker import JournalMarker, set_aside

LAYOUT = 2
"""Number of today's layout, kept in the file's ``user_version``; 0.1.0 wrote none."""

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
    columns TEXT NOT NULL,
    system TEXT NOT NULL DEFAULT '',
    planned TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS identity (
    id TEXT NOT NULL,
    given_at TEXT NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS parts (
    job TEXT PRIMARY KEY REFERENCES jobs (id),
    parent TEXT NOT NULL REFERENCES jobs (id),
    number INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS parts_by_parent ON parts (parent, number);
CREATE TABLE IF NOT EXISTS row_actions (
    job TEXT NOT NULL REFERENCES jobs (id),
    position INTEGER NOT NULL,
    row INTEGER NOT NULL,
    action TEXT NOT NULL,
    reason TEXT,
    detail TEXT NOT NULL,
    PRIMARY KEY (job, position)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (
    job TEXT NOT NULL REFERENCES jobs (id),
    position INTEGER NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (job, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claims_by_digest ON claims (digest);
CREATE TABLE IF NOT EXISTS claimed_keys (
    job TEXT NOT NULL REFERENCES jobs (id),
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (job, position, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimed_keys_by_key ON claimed_keys (key);
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
CREATE TABLE IF NOT EXISTS record_writes (
    job TEXT NOT NULL REFERENCES jobs (id),
    position INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    state TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (job, position, number)
) WITHOUT ROWID;
"""

_MIGRATION = (
    "ALTER TABLE jobs ADD COLUMN system TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE jobs ADD COLUMN planned TEXT NOT NULL DEFAULT ''",
)
"""Statements that make layout 2 of layout 1; new tables are made when the file is opened."""

_COLUMNS_OF_LAYOUT_1 = {
    *("id", "created_at", "profile", "resource", "mode", "file"),
    *("sheet", "digest", "payload", "rows", "columns"),
}
"""Columns of the jobs' table in layout 1, which tell it from a file of another origin."""


def open_journal_file(path: Path) -> LocalDatabase:
    """Open the file, or make it; one of an earlier layout is copied and migrated first.

    Raises ``JournalError`` for a file of a newer layout or one that does not belong to its home,
    ``LocalDatabaseError`` for one that is not whole, and what ``open_local_database`` raises.
    """
    marker = JournalMarker(path)
    marker.require_file()
    db = _open_layout(path)
    try:
        marker.require_own(db)
    except BaseException:
        db.close()
        raise
    return db


def accept_journal(path: Path, reason: str) -> Path | None:
    """Take the journal as it is for its home's own, or begin a new one where it is unusable.

    Return where the unusable file is now. Raises what ``open_local_database`` raises.
    """
    aside = set_aside(path) if path.exists() else None
    with closing(_open_layout(path)) as db:
        JournalMarker(path).accept(db, reason)
    return aside


def _open_layout(path: Path) -> LocalDatabase:
    if path.exists():
        _migrate(path)
    db = open_local_database(path, _SCHEMA, isolation_level=None)
    db.execute(f"PRAGMA user_version = {LAYOUT}")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def _migrate(path: Path) -> None:
    with closing(LocalDatabase(path, isolation_level=None)) as db:
        layout = _layout(db)
        if layout > LAYOUT:
            raise _newer_journal_error(path)
        if layout in (0, LAYOUT):
            return
        _copy(db, path.with_name(f"{path.stem}-layout-{layout}{path.suffix}"))
        with transaction(db):
            # Another process may have migrated it meanwhile.
            if _layout(db) == layout:
                for statement in _MIGRATION:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {LAYOUT}")


def _layout(db: LocalDatabase) -> int:
    """Return the number of the file's layout, 0 for one without a journal."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version:
        return int(version)
    columns = {name for (name,) in db.execute("SELECT name FROM pragma_table_info('jobs')")}
    return 1 if columns == _COLUMNS_OF_LAYOUT_1 else 0


def _copy(db: LocalDatabase, target: Path) -> None:
    """Copy the file as it is, once, before it is changed."""
    if not target.exists():
        with closing(LocalDatabase(target)) as copy:
            db.backup(copy)


@contextmanager
def transaction(db: LocalDatabase) -> Iterator[None]:
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


def _newer_journal_error(path: Path) -> JournalError:
    return JournalError(
        Text(
            pt="{path} foi gravado por uma versão mais nova do xlbridge. O arquivo ficou como "
            "estava.",
            en="{path} was written by a newer version of xlbridge. The file was left as it is.",
        ).format(path=path),
        Text(
            pt="Atualize o xlbridge, ou escolha outra pasta com XLBRIDGE_HOME.",
            en="Update xlbridge, or choose another folder with XLBRIDGE_HOME.",
        ),
    )
