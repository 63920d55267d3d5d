"""Store of an export's parts on disk, and of finished windows for a run that resumes it.

The output is written after every record was fetched: a record that changes during the export
comes again in a later part and replaces the earlier one. Memory does not grow with the records,
and a part whose answer broke off is fetched again.

``docs/exports.md`` explains which windows are reused and why none of them is stale.
"""

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from filelock import FileLock, Timeout

from xlbridge.client.listings import Window
from xlbridge.export.lines import line_blocks
from xlbridge.export.parts import FINISHED_FILE, Part
from xlbridge.files import LocalDatabase, make_private_folder, report_write_errors

_CACHE_KIB = 8_000

_EMPTY_KEY_CHARACTERS = "[nul,]\n"
"""Characters of a key of nulls only: records without a key are not the same record."""


class PartStore:
    """Parts of an export, oldest first. ``on_keep`` receives each part that is kept."""

    def __init__(
        self,
        folder: Path,
        sheets: int,
        on_keep: Callable[[Part], None] = lambda _part: None,
    ) -> None:
        self._folder = folder
        self._sheets = sheets
        self._on_keep = on_keep
        self._parts: list[Part] = []
        parts = (Part.load(path) for path in folder.iterdir() if path.is_dir())
        self._finished = {part.window: part for part in parts if part and part.window}
        self._keys: LocalDatabase | None = None
        self._replaced: dict[Part, set[int]] = {}

    def new_part(self) -> Part:
        """Return a part to write, which ``keep`` adds to the export."""
        return Part(self._folder / f"part-{secrets.token_hex(8)}", self._sheets)

    def finished_part(self, window: Window) -> Part | None:
        """Return the part of a window that an earlier run finished."""
        return self._finished.get(window)

    def finished_part_from(self, start: datetime | None) -> Part | None:
        """Return the part of a finished window that begins at ``start``, of any length."""
        parts = (part for window, part in self._finished.items() if window.start == start)
        return next(parts, None)

    def keep(self, part: Part) -> None:
        """Add a written part after the others."""
        self._parts.append(part)
        self._on_keep(part)

    def widths(self, sheet: int, columns: int) -> list[int]:
        """Return the length of the longest text in each column of a sheet."""
        widths = [0] * columns
        for part in self._parts:
            widths = list(map(max, widths, part.widths[sheet]))
        return widths

    def zones(self) -> dict[str, list[str]]:
        """Return the time zones of moments, by column name."""
        found: dict[str, set[str]] = {}
        for part in self._parts:
            for name, zones in part.zones.items():
                found.setdefault(name, set()).update(zones)
        return {name: sorted(zones) for name, zones in sorted(found.items())}

    def find_replaced(self) -> int:
        """Find the records that a later part has again, and return their number.

        Records are never replaced within one part: an answer is a single moment.
        """
        if len(self._parts) < 2:
            return 0
        database = self._key_database()
        database.execute("CREATE INDEX seen_by_key ON seen (key, part)")
        found = database.execute(
            "SELECT part, record FROM seen WHERE EXISTS (SELECT 1 FROM seen AS later "
            "WHERE later.key = seen.key AND later.part > seen.part)"
        )
        for number, record in found:
            self._replaced.setdefault(self._parts[number], set()).add(record)
        return sum(map(len, self._replaced.values()))

    def repeated_keys(self, limit: int) -> tuple[int, list[tuple[Any, ...]]]:
        """Return the number of keys shared by records not replaced, and the first ``limit``."""
        found = self._key_database().execute(
            "SELECT key FROM (SELECT key, part, count(*) AS records, min(rowid) AS first FROM seen "
            "GROUP BY key, part) GROUP BY key HAVING max(part) = part AND records > 1 "
            "ORDER BY first"
        )
        keys = [key for (key,) in found]
        return len(keys), [tuple(json.loads(key)) for key in keys[:limit]]

    def rows(self, sheet: int) -> int:
        """Return the number of rows of a sheet, without those of replaced records."""
        replaced_rows = sum(
            sizes[sheet][1]
            for part, replaced in self._replaced.items()
            for record, sizes in enumerate(part.record_sizes())
            if record in replaced
        )
        return sum(part.rows[sheet] for part in self._parts) - replaced_rows

    def blocks(self, sheet: int) -> Iterator[bytes]:
        """Yield the lines of a sheet in order, many at a time, as UTF-8."""
        for part in self._parts:
            if part not in self._replaced:
                yield from line_blocks(part.lines_file(sheet))
                continue
            with part.lines_file(sheet).open("rb") as stream:
                for record, sizes in enumerate(part.record_sizes()):
                    block = stream.read(sizes[sheet][0])
                    if record not in self._replaced[part]:
                        yield block

    def files(self, sheet: int) -> list[Path]:
        """Return the files of a sheet's lines, none if records were replaced."""
        return [] if self._replaced else [part.lines_file(sheet) for part in self._parts]

    def distinct_keys(self) -> tuple[int, Iterator[tuple[Any, ...]]]:
        """Return the number of distinct keys, and the keys in order of first appearance."""
        database = self._key_database()
        (count,) = database.execute("SELECT count(DISTINCT key) FROM seen").fetchone()
        found = database.execute("SELECT key FROM seen GROUP BY key ORDER BY min(rowid)")
        return count, (tuple(json.loads(key)) for (key,) in found)

    def close(self) -> None:
        """Close the database of keys."""
        if self._keys is not None:
            self._keys.close()

    def _key_database(self) -> LocalDatabase:
        """Return a database of all keys, on disk as they may not fit into memory."""
        if self._keys is not None:
            return self._keys
        database = self._keys = LocalDatabase(self._folder / "keys.db")
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE_KIB}"):
            database.execute(f"PRAGMA {setting}")
        database.execute("CREATE TABLE seen (key TEXT, part INTEGER, record INTEGER)")
        for number, part in enumerate(self._parts):
            with part.keys_file.open(encoding="utf-8") as keys:
                database.executemany(
                    "INSERT INTO seen VALUES (?, ?, ?)",
                    (
                        (key, number, record)
                        for record, key in enumerate(keys)
                        if key.strip(_EMPTY_KEY_CHARACTERS)
                    ),
                )
        return database


_LOCK_FILE = "lock"


@dataclass(frozen=True, slots=True)
class ResumeStore:
    """Store of the finished windows of one request, in a subfolder of ``folder``.

    ``request`` is everything that the answers and their lines depend on. With ``fresh``, windows
    of an earlier run are discarded.
    """

    MAX_AGE: ClassVar = timedelta(hours=6)
    """Maximum age of a failed run's windows that the next run reuses."""

    folder: Path
    request: Sequence[object]
    fresh: bool = False

    @contextmanager
    def open(self, now: datetime) -> Iterator[Path]:
        """Yield the folder for the parts of this run, with the windows of an earlier one.

        It is removed on exit; after an exception finished windows stay. If another process runs
        the same request, yields a temporary folder instead.
        """
        folder = self._request_folder
        with report_write_errors(folder):
            make_private_folder(self.folder)
            _remove_old(self.folder, now)
            folder.mkdir(exist_ok=True, mode=0o700)
        try:
            lock = FileLock(folder / _LOCK_FILE)
            lock.acquire(blocking=False)
        except Timeout:
            with temporary_folder() as substitute:
                yield substitute
            return
        try:
            _clear(folder, now, keep_windows=not self.fresh)
            yield folder
        except BaseException:
            _clear(folder, now, keep_windows=True)
            raise
        else:
            _clear(folder, now, keep_windows=False)
        finally:
            _release(folder, lock)

    def window_count(self) -> int:
        """Return the number of windows stored for the next run."""
        return sum(1 for _ in self._request_folder.glob(f"*/{FINISHED_FILE}"))

    @property
    def _request_folder(self) -> Path:
        return self.folder / hashlib.sha256(json.dumps(self.request).encode()).hexdigest()[:24]


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield an empty folder that is removed on exit."""
    with TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _clear(folder: Path, now: datetime, *, keep_windows: bool) -> None:
    """Remove everything but the lock and, with ``keep_windows``, whole windows not too old."""
    for path in folder.iterdir():
        if path.name == _LOCK_FILE or (keep_windows and _is_resumable(path, now)):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _is_resumable(folder: Path, now: datetime) -> bool:
    part = Part.load(folder)
    started = None if part is None else part.started
    return started is not None and timedelta(0) <= now - started <= ResumeStore.MAX_AGE


def _remove_old(folder: Path, now: datetime) -> None:
    """Remove old leftovers of other requests, unless a run is using them."""
    for other in folder.iterdir():
        # Another process may remove the folder meanwhile, or its lock may recreate it.
        with suppress(Timeout, FileNotFoundError, FileExistsError):
            if other.stat().st_mtime <= (now - ResumeStore.MAX_AGE).timestamp():
                lock = FileLock(other / _LOCK_FILE)
                lock.acquire(blocking=False)
                try:
                    _clear(other, now, keep_windows=True)
                finally:
                    _release(other, lock)


def _release(folder: Path, lock: FileLock) -> None:
    """Release the lock of a folder, and remove the folder if nothing else is in it."""
    try:
        if [path.name for path in folder.iterdir()] in ([], [_LOCK_FILE]):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        lock.release()
    # Windows cannot remove an open file: there the folder can only go after the release.
    with suppress(OSError):
        folder.rmdir()
