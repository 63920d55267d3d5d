"""Marker of a journal in its home: whether the file is whole, and the one that belongs there.

A journal that is lost, emptied, cut, of another home or older than the home's jobs knows nothing of
what was sent since. It is refused, and never begun anew in silence.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

from xlbridge.errors import JournalError, LocalDatabaseError
from xlbridge.files import LocalDatabase, file_lock, write_private
from xlbridge.i18n import Text

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_PAGE_SIZE_AT, _PAGE_COUNT_AT = slice(16, 18), slice(28, 32)
_LARGEST_PAGE = 65_536  # which the header writes as 1


class JournalMarker:
    """Marker beside a journal's file: the journal's id, and the last job that it has recorded."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.with_suffix(".id")

    def require_file(self) -> None:
        """Raise ``LocalDatabaseError`` when the file is lost, empty or cut, and once was not."""
        there = self._path.is_file() and self._path.stat().st_size > 0
        if not there and is_expected(self._path):
            raise _damage(self._path, _LOST)
        if there and _is_cut(self._path):
            raise _damage(self._path, _CUT)

    def require_own(self, db: LocalDatabase) -> None:
        """Raise ``JournalError`` when the journal is another home's, or older than the home.

        A home without a marker is adopted, once; the marker is written before the journal's id.
        """
        if self._read() is None:
            # Of two processes that open a new home at once, one adopts it.
            with file_lock(self._file.with_suffix(".lock")):
                self._adopt(db)
        known = self._read() or {}
        row = db.execute("SELECT id FROM identity").fetchone()
        if row is not None and row[0] != known["journal"]:
            raise _refusal(self._path, _FOREIGN)
        last = known["last_job"]
        if last is not None and not _has_job(db, last):
            raise _refusal(self._path, _OLDER)
        if row is None:
            _give_id(db, known["journal"], "")

    def _adopt(self, db: LocalDatabase) -> None:
        """Give a home without a marker one for its journal, which has no id yet."""
        if self._read() is not None:
            return
        if db.execute("SELECT 1 FROM identity").fetchone() is not None:
            raise _refusal(self._path, _FOREIGN)
        newest = db.execute("SELECT id FROM jobs ORDER BY created_at DESC, id DESC").fetchone()
        self._write({"journal": token_hex(16), "last_job": newest[0] if newest else None})

    def require_whole(self, db: LocalDatabase) -> None:
        """Check every page. Raises ``LocalDatabaseError`` when one is damaged."""
        if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise _damage(self._path, _CUT)

    def note_job(self, job_id: str) -> None:
        """Note the last job; it is in the journal by now."""
        known = self._read()
        if known is not None:
            self._write({**known, "last_job": job_id})

    def accept(self, db: LocalDatabase, reason: str) -> None:
        """Take the journal as it is for the home's own; the reason is recorded in it."""
        journal = token_hex(16)
        db.execute("DELETE FROM identity")
        _give_id(db, journal, reason)
        self._write({"journal": journal, "last_job": None})

    def _read(self) -> Mapping[str, Any] | None:
        try:
            known: Mapping[str, Any] = json.loads(self._file.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise _damage(self._file, _CUT) from error
        return known

    def _write(self, known: Mapping[str, Any]) -> None:
        write_private(self._file, json.dumps(dict(known)))


def is_expected(path: Path) -> bool:
    """Tell whether a home has a marker or stored payloads, and so must have a journal."""
    return path.with_suffix(".id").exists() or any(path.parent.glob("payloads/*.xlsx"))


def set_aside(path: Path) -> Path | None:
    """Move an unusable journal aside and return where it is; None where it can be opened."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path)) as db:
        if path.stat().st_size and db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
            return None
    target = path.with_name(f"{path.stem}-refused-{datetime.now():%Y%m%d-%H%M%S}{path.suffix}")
    for suffix in ("", "-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(target.with_name(target.name + suffix))
    return target


def _is_cut(path: Path) -> bool:
    """Tell whether a database's file has fewer pages than its header says."""
    wal = path.with_name(f"{path.name}-wal")
    if wal.is_file() and wal.stat().st_size:
        # What the header says is in the log still.
        return False
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES:
        # SQLite takes so short a file for a new one.
        return True
    if not header.startswith(_MAGIC):
        # SQLite itself says that this is no database.
        return False
    size = int.from_bytes(header[_PAGE_SIZE_AT], "big")
    pages = int.from_bytes(header[_PAGE_COUNT_AT], "big")
    return path.stat().st_size < pages * (_LARGEST_PAGE if size == 1 else size)


def _has_job(db: LocalDatabase, job_id: str) -> bool:
    return db.execute("SELECT 1 FROM jobs WHERE id = ?", (job_id,)).fetchone() is not None


def _give_id(db: LocalDatabase, journal: str, reason: str) -> None:
    db.execute(
        "INSERT INTO identity SELECT ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM identity)",
        (journal, datetime.now().isoformat(timespec="seconds"), reason),
    )


def _refusal(path: Path, reason: Text) -> JournalError:
    """Return the error of a journal that somebody has put there: it is whole, and not the one."""
    return JournalError(_UNUSABLE.format(path=path, reason=reason), _WHAT_NOW)


def _damage(path: Path, reason: Text) -> LocalDatabaseError:
    """Return the error of a file that this computer has lost or damaged."""
    return LocalDatabaseError(_UNUSABLE.format(path=path, reason=reason), _WHAT_NOW)


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
    'que já foi enviado e depois: xlbridge doctor --accept-journal "motivo".',
    en="Nothing was sent. Put the right file back. If it is lost, look in the system for what was "
    'sent already, and then: xlbridge doctor --accept-journal "reason".',
)
