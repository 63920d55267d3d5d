"""File of the journal: its tables and layout, its marker and its count of requests beside it, and
the JSON in it.

A file with a newer layout is refused. So is a journal that is lost, empty, truncated, foreign or
older than the home's jobs, as it does not know what was sent; a new one never replaces it silently.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import fields
from datetime import datetime
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

from xlbridge.errors import JournalError, LocalDatabaseError
from xlbridge.files import file_lock, report_write_errors, write_private
from xlbridge.i18n import Text
from xlbridge.local_database import LocalDatabase, open_local_database

_HEADER_BYTES = 100


class JournalMarker:
    """Marker file of a journal: the journal's id and the last job recorded in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.with_suffix(".id")

    def open_journal(self) -> LocalDatabase:
        """Open or create the journal's file.

        Raises ``JournalError`` for a file with a newer layout or one that belongs to another home,
        ``LocalDatabaseError`` for a damaged one or if an expected one is missing, and what
        ``open_local_database`` raises.
        """
        size = self._path.stat().st_size if self._path.is_file() else 0
        if not size and self.is_expected:
            raise _damaged_file_error(self._path, _LOST)
        if 0 < size < _HEADER_BYTES:  # SQLite would treat it as new
            raise _damaged_file_error(self._path, _CUT)
        try:
            db = _open_layout(self._path)
        except LocalDatabaseError as error:
            code = getattr(error.__cause__, "sqlite_errorcode", None)
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise _damaged_file_error(self._path, _CUT) from error
            raise
        try:
            self._require_identity(db)
        except BaseException:
            db.close()
            raise
        return db

    @property
    def is_expected(self) -> bool:
        """True if the home has a marker or stored payloads, and so must have a journal."""
        return self._file.exists() or any(self._path.parent.glob("payloads/*.xlsx"))

    def _require_identity(self, db: LocalDatabase) -> None:
        """Raise ``JournalError`` if the journal belongs to another home or predates its last job,
        ``LocalDatabaseError`` if its end is missing.

        A home without a marker gets one, which is written before the journal's id.
        """
        # A part of the last page may be missing; SQLite reports other cuts. It also reads the
        # header: if this process opened and closed the file itself, the locks of its other
        # connections would end, and another process would delete the log that they write to.
        (pages,), (page,) = (db.execute(f"PRAGMA page_{of}").fetchone() for of in ("count", "size"))
        wal = self._path.with_name(f"{self._path.name}-wal")
        # Pages that are still in the write-ahead log count, too.
        has_log = wal.is_file() and wal.stat().st_size
        if not has_log and self._path.stat().st_size < int(pages * page):
            raise _damaged_file_error(self._path, _CUT)
        if self._read() is None:
            # Two processes may open a new home at the same time.
            with file_lock(self._file.with_suffix(".lock")):
                if self._read() is None:
                    if db.execute("SELECT 1 FROM identity").fetchone() is not None:
                        raise _wrong_file_error(self._path, _FOREIGN)
                    newest = db.execute("SELECT id FROM jobs ORDER BY rowid DESC").fetchone()
                    last_job = newest[0] if newest else None
                    self._write({"journal": token_hex(16), "last_job": last_job})
        marker = self._read() or {}
        row = db.execute("SELECT id FROM identity").fetchone()
        if row is not None and row[0] != marker["journal"]:
            raise _wrong_file_error(self._path, _FOREIGN)
        last = marker["last_job"]
        job = db.execute("SELECT 1 FROM jobs WHERE id = ?", (last,)).fetchone()
        if last is not None and job is None:
            raise _wrong_file_error(self._path, _OLDER)
        if row is None:
            _insert_identity(db, marker["journal"], "", 0)

    def require_whole(self, db: LocalDatabase) -> None:
        """Check every page. Raises ``LocalDatabaseError`` if one is damaged."""
        if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise _damaged_file_error(self._path, _CUT)

    def record_last_job(self, job_id: str) -> None:
        """Record the id of the last job, which the journal already has."""
        marker = self._read()
        if marker is not None:
            self._write({**marker, "last_job": job_id})

    def accept(self, reason: str) -> Path | None:
        """Accept the journal as this home's, or create a new one if it is unusable.

        The reason is recorded in it. Return the path to which an unusable file was moved. Raises
        what ``open_local_database`` raises.
        """
        aside = _set_aside(self._path) if self._path.exists() else None
        with closing(_open_layout(self._path)) as db:
            journal = token_hex(16)
            db.execute("DELETE FROM identity")
            # Whatever the old journal has sent was checked by the person who gives the reason.
            with closing(RequestCount(self._path, db)) as requests:
                _insert_identity(db, journal, reason, requests.accept())
            self._write({"journal": journal, "last_job": None})
        return aside

    def _read(self) -> Mapping[str, Any] | None:
        try:
            marker: Mapping[str, Any] = json.loads(self._file.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise _damaged_file_error(self._file, _CUT) from error
        return marker

    def _write(self, marker: Mapping[str, Any]) -> None:
        write_private(self._file, json.dumps(dict(marker)))


def _set_aside(path: Path) -> Path | None:
    """Move an unusable journal aside and return its new path; None if it can be opened."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as db:
        if path.stat().st_size and db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
            return None
    target = path.with_name(f"{path.stem}-refused-{datetime.now():%Y%m%d-%H%M%S}{path.suffix}")
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(target.with_name(target.name + suffix))
    return target


def _insert_identity(db: LocalDatabase, journal: str, reason: str, requests: int) -> None:
    db.execute(
        "INSERT INTO identity SELECT ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM identity)",
        (journal, datetime.now().isoformat(timespec="seconds"), reason, requests),
    )


class RequestCount:
    """Number of commits that announced requests, in the journal and in a file beside it.

    The file is on disk before the requests are sent. A journal that is behind it has lost its last
    commits, in a power failure or as it was copied while in use, and may have sent what it does not
    know of. The file is one sector of the disk; consecutive counts are in different places of it,
    so that of several processes none overwrites the higher count of another.
    """

    def __init__(self, path: Path, db: LocalDatabase) -> None:
        self._path = path.with_suffix(".count")
        self._db = db
        with report_write_errors(self._path, in_home=True):
            # Written in place: another process may have it open, too.
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the block in a transaction that announces requests, which may be sent afterwards."""
        if self._db.in_transaction:
            raise AssertionError("a request is announced in a transaction of its own")
        with transaction(self._db):
            yield
            self._db.execute("UPDATE identity SET requests = requests + 1")
            count = self._in_journal()
        with report_write_errors(self._path, in_home=True):
            os.lseek(self._file, count % _PLACES * _PLACE_BYTES, os.SEEK_SET)
            os.write(self._file, b"%*d" % (_PLACE_BYTES, count))
            _synchronise(self._file)

    @property
    def has_lost_some(self) -> bool:
        """True if the journal is behind the file. Raises ``LocalDatabaseError`` without that."""
        # The file is read first, as the journal is written first.
        in_file, in_journal = self._in_file(), self._in_journal()
        if not in_file and in_journal > 1:
            raise _damaged_file_error(self._path, _LOST)
        return in_file > in_journal

    def catch_up(self) -> None:
        """Count what was lost within the caller's transaction, after it was put in doubt."""
        self._db.execute("UPDATE identity SET requests = MAX(requests, ?)", (self._in_file(),))

    def accept(self) -> int:
        """Return the count in the file; one that cannot be read is replaced."""
        try:
            return self._in_file()
        except LocalDatabaseError:
            with report_write_errors(self._path, in_home=True):
                os.ftruncate(self._file, 0)
            return 0

    def _in_journal(self) -> int:
        ((count,),) = self._db.execute("SELECT MAX(requests) FROM identity").fetchall()
        return int(count or 0)

    def _in_file(self) -> int:
        with report_write_errors(self._path, in_home=True):
            os.lseek(self._file, 0, os.SEEK_SET)
            # Places that were not used yet are zeros.
            text = os.read(self._file, _PLACES * _PLACE_BYTES).replace(b"\0", b" ")
        if text.strip(b" 0123456789"):
            raise _damaged_file_error(self._path, _CUT)
        return max(map(int, text.split()), default=0)


_PLACES, _PLACE_BYTES = 16, 32
_synchronise = getattr(os, "fdatasync", os.fsync)


def _wrong_file_error(path: Path, reason: Text) -> JournalError:
    """Return the error for an intact journal that is not the expected one."""
    return JournalError(_UNUSABLE.format(path=path, reason=reason), _what_now(path))


def _damaged_file_error(path: Path, reason: Text) -> LocalDatabaseError:
    """Return the error for a file that is lost or damaged."""
    return LocalDatabaseError(_UNUSABLE.format(path=path, reason=reason), _what_now(path))


def _what_now(path: Path) -> Text:
    """Return the remedy for a journal, whose profile has a folder of its own."""
    folder = path.parent
    profile = f" --profile {folder.name}" if folder.parent.name == "profiles" else ""
    return _WHAT_NOW.format(profile=profile)


_UNUSABLE = Text(
    pt="O diário de envios não pode ser usado: {path} {reason}.",
    en="The journal of uploads cannot be used: {path} {reason}.",
)
_LOST = Text(pt="sumiu ou está vazio", en="is gone or empty")
_CUT = Text(pt="está incompleto ou ilegível", en="is incomplete or cannot be read")
_FOREIGN = Text(pt="é de outra pasta", en="belongs to another folder")
_OLDER = Text(
    pt="é mais antigo do que os envios desta pasta", en="is older than the uploads of this folder"
)
_WHAT_NOW = Text(
    pt="Nada foi enviado. Ponha de volta o arquivo certo. Se ele se perdeu, confira no sistema o "
    'que já foi enviado e depois: xlbridge doctor --accept-journal "motivo"{profile}.',
    en="Nothing was sent. Restore the right file. If it is lost, check in the system what was "
    'already sent, then run: xlbridge doctor --accept-journal "reason"{profile}.',
    page=Text(
        pt="Nada foi enviado. Ponha de volta o arquivo certo. Se ele se perdeu, confira no "
        "sistema o que já foi enviado, e fale com quem cuida do xlbridge antes de enviar.",
        en="Nothing was sent. Restore the right file. If it is lost, check in the system what was "
        "already sent, and talk to the person who looks after xlbridge before you send.",
    ),
)


LAYOUT = 10
"""Number of the current layout, stored in the file's ``user_version``.

Files of earlier development versions are refused: their plans are stored otherwise.
"""

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
    system TEXT NOT NULL,
    planned TEXT NOT NULL,
    retry_of TEXT REFERENCES jobs (id),
    undo_of TEXT REFERENCES jobs (id),
    first_job TEXT NOT NULL REFERENCES jobs (id)
);
CREATE INDEX IF NOT EXISTS jobs_by_first ON jobs (first_job);
CREATE TABLE IF NOT EXISTS identity (
    id TEXT NOT NULL,
    given_at TEXT NOT NULL,
    reason TEXT NOT NULL,
    requests INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS requests (
    job TEXT NOT NULL REFERENCES jobs (id),
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    mode TEXT NOT NULL,
    payload TEXT NOT NULL,
    state TEXT NOT NULL,
    changed_at TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    log_id INTEGER,
    previewed INTEGER,
    preview_done INTEGER NOT NULL DEFAULT 0,
    ends_as TEXT,
    reason TEXT,
    uncompared TEXT,
    lost_fields TEXT,
    unseen_fields TEXT,
    taken_fields TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS requests_by_job ON requests (job, number);
CREATE TABLE IF NOT EXISTS changes (
    job TEXT NOT NULL REFERENCES jobs (id),
    request INTEGER NOT NULL,
    sheet TEXT NOT NULL REFERENCES jobs (id),
    position INTEGER NOT NULL,
    row INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    action TEXT NOT NULL,
    reason TEXT,
    outcome TEXT NOT NULL,
    undo TEXT REFERENCES jobs (id),
    decides INTEGER NOT NULL,
    place INTEGER NOT NULL,
    detail TEXT,
    PRIMARY KEY (job, request, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS changes_by_origin ON changes (sheet, origin);
CREATE TABLE IF NOT EXISTS rejections (
    request TEXT NOT NULL REFERENCES requests (id),
    number INTEGER NOT NULL,
    row INTEGER,
    cell TEXT,
    "column" TEXT,
    pt TEXT NOT NULL,
    en TEXT NOT NULL,
    itself INTEGER NOT NULL,
    PRIMARY KEY (request, number)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS claims (
    request TEXT NOT NULL REFERENCES requests (id),
    position INTEGER NOT NULL,
    digest TEXT NOT NULL,
    PRIMARY KEY (request, position)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claims_by_digest ON claims (digest);
CREATE TABLE IF NOT EXISTS claimed_keys (
    request TEXT NOT NULL REFERENCES requests (id),
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (request, position, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS claimed_keys_by_key ON claimed_keys (key);
CREATE TABLE IF NOT EXISTS events (
    job TEXT NOT NULL,
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    boot TEXT NOT NULL,
    uptime REAL NOT NULL,
    state TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (job, number)
);
CREATE TABLE IF NOT EXISTS readings (
    request TEXT NOT NULL REFERENCES requests (id),
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    moment TEXT NOT NULL,
    rows TEXT NOT NULL,
    PRIMARY KEY (request, number)
);
CREATE TABLE IF NOT EXISTS record_writes (
    request TEXT NOT NULL REFERENCES requests (id),
    position INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    state TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (request, position, number)
) WITHOUT ROWID;
"""


def _open_layout(path: Path) -> LocalDatabase:
    layout = 0
    if path.exists():
        with closing(LocalDatabase(path, isolation_level=None)) as db:
            (layout,) = db.execute("PRAGMA user_version").fetchone()
        if layout not in (0, LAYOUT):
            raise _other_version_error(path, _NEWER if layout > LAYOUT else _EARLIER)
    db = open_local_database(path, _SCHEMA, isolation_level=None)
    if layout != LAYOUT:
        db.execute(f"PRAGMA user_version = {LAYOUT}")
    db.execute("PRAGMA foreign_keys = ON")
    return db


@contextmanager
def transaction(db: LocalDatabase) -> Iterator[None]:
    """Run the block in a transaction, which is on disk afterwards; if there is one, in that."""
    is_inner = db.in_transaction
    if is_inner:
        yield
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # SQLite rolls back by itself if the disk is full.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


_NEWER = Text(
    pt="foi gravado por uma versão mais nova do xlbridge",
    en="was written by a newer version of xlbridge",
)
_EARLIER = Text(
    pt="foi gravado por uma versão de desenvolvimento anterior à 0.1.0",
    en="was written by a development version before 0.1.0",
)


def _other_version_error(path: Path, reason: Text) -> JournalError:
    return JournalError(
        Text(
            pt="{path} {reason}. O arquivo ficou como estava.",
            en="{path} {reason}. The file was left as it is.",
        ).format(path=path, reason=reason),
        Text(
            pt="Use a versão do xlbridge que o gravou, ou escolha outra pasta com XLBRIDGE_HOME.",
            en="Use the version of xlbridge that wrote it, or choose another folder with "
            "XLBRIDGE_HOME.",
            page=Text(
                pt="Peça à TI a versão do xlbridge que o gravou.",
                en="Ask IT for the version of xlbridge that wrote it.",
            ),
        ),
    )


_Item = TypeVar("_Item")

_BLOCK = 16_384
"""Values that are processed together."""


def batched(values: Iterable[_Item], size: int = _BLOCK) -> Iterator[list[_Item]]:
    """Yield values in lists of ``size``."""
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch


def json_text(value: object) -> str:
    """Return a value as JSON, in a fifth of the standard library's time."""
    import msgspec

    try:
        return msgspec.json.encode(value, enc_hook=_plain).decode()
    except UnicodeEncodeError:
        # Only the standard library accepts lone surrogates, which a system may send.
        return json.dumps(value, default=_plain)


def json_texts(values: Sequence[object]) -> list[str]:
    """Return each value as JSON, encoded together."""
    import msgspec

    try:
        lines = msgspec.json.Encoder(enc_hook=_plain).encode_lines(values)
    except UnicodeEncodeError:
        return list(map(json_text, values))
    return lines.decode().split("\n")[:-1]


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value.items())
    return {field.name: getattr(value, field.name) for field in fields(value)}


def value_of_json(text: str | bytes, kind: Any = Any) -> Any:
    """Return the value of a ``kind`` that ``json_text`` encoded."""
    import msgspec

    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        return msgspec.convert(json.loads(text), kind)
