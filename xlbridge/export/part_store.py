"""Store of all parts of an export on disk, and of finished windows for a run that resumes it.

Nothing is written into the output before every record is there, since a record that changes
meanwhile comes a second time in a later part: then the earlier one is left out. Memory does not
grow with the records, and a part whose answer broke off is simply fetched again.

``docs/exports.md`` explains which windows are used again and why none of them is stale.
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

_NO_KEY_AT_ALL = "[nul,]\n"
"""Characters of a key of nothing but nulls: records without one are not the same record."""


class PartStore:
    """All parts of an export, in the order in which they count: a later one is the newer.

    ``on_keep`` is given each once it counts.
    """

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
        found = (Part.finished(path) for path in folder.iterdir() if path.is_dir())
        self._finished = {part.window: part for part in found if part and part.window}
        self._keys: LocalDatabase | None = None
        self._replaced: dict[Part, set[int]] = {}

    def new_part(self) -> Part:
        """Return a part to write; it counts once it is kept."""
        return Part(self._folder / f"part-{secrets.token_hex(8)}", self._sheets)

    def finished(self, window: Window) -> Part | None:
        """Return the part of a window that an earlier run finished."""
        return self._finished.get(window)

    def finished_from(self, start: datetime | None) -> Part | None:
        """Return the part of a finished window that begins there, however long it is."""
        parts = (part for window, part in self._finished.items() if window.start == start)
        return next(parts, None)

    def keep(self, part: Part) -> None:
        """Add a finished part, after those that are kept already."""
        self._parts.append(part)
        self._on_keep(part)

    def widths(self, sheet: int, columns: int) -> list[int]:
        """Return how long the longest text of each column of a sheet is."""
        widths = [0] * columns
        for part in self._parts:
            widths = list(map(max, widths, part.widths[sheet]))
        return widths

    def zones(self) -> dict[str, list[str]]:
        """Return the zones that moments came with, by the column's name."""
        found: dict[str, set[str]] = {}
        for part in self._parts:
            for name, zones in part.zones.items():
                found.setdefault(name, set()).update(zones)
        return {name: sorted(zones) for name, zones in sorted(found.items())}

    def settle(self) -> int:
        """Find the records that a later part has again; return how many there are.

        Within one part nothing is left out: one answer is one moment.
        """
        if len(self._parts) < 2:
            return 0
        base = self._read_keys()
        base.execute("CREATE INDEX seen_by_key ON seen (key, part)")
        found = base.execute(
            "SELECT part, record FROM seen WHERE EXISTS (SELECT 1 FROM seen AS later "
            "WHERE later.key = seen.key AND later.part > seen.part)"
        )
        for number, record in found:
            self._replaced.setdefault(self._parts[number], set()).add(record)
        return sum(map(len, self._replaced.values()))

    def repeated_keys(self, most: int) -> tuple[int, list[tuple[Any, ...]]]:
        """Return how many keys several of the records have that count, and the first of them."""
        found = self._read_keys().execute(
            "SELECT key FROM (SELECT key, part, count(*) AS records, min(rowid) AS first FROM seen "
            "GROUP BY key, part) GROUP BY key HAVING max(part) = part AND records > 1 "
            "ORDER BY first"
        )
        keys = [key for (key,) in found]
        return len(keys), [tuple(json.loads(key)) for key in keys[:most]]

    def rows(self, sheet: int) -> int:
        """Return how many rows a sheet has, by its position."""
        left_out = sum(
            sizes[sheet][1]
            for part, replaced in self._replaced.items()
            for record, sizes in enumerate(part.sizes())
            if record in replaced
        )
        return sum(part.rows[sheet] for part in self._parts) - left_out

    def blocks(self, sheet: int) -> Iterator[bytes]:
        """Yield the lines of a sheet, many whole ones at a time, in the order in which they came.

        They are UTF-8.
        """
        for part in self._parts:
            if part not in self._replaced:
                yield from line_blocks(part.lines(sheet))
                continue
            with part.lines(sheet).open("rb") as stream:
                for record, sizes in enumerate(part.sizes()):
                    block = stream.read(sizes[sheet][0])
                    if record not in self._replaced[part]:
                        yield block

    def files(self, sheet: int) -> list[Path]:
        """Return the files of a sheet's lines, none where lines of some are left out."""
        return [] if self._replaced else [part.lines(sheet) for part in self._parts]

    def different_keys(self) -> tuple[int, Iterator[tuple[Any, ...]]]:
        """Return how many keys there are, and each once, in the order in which they came first."""
        base = self._read_keys()
        (count,) = base.execute("SELECT count(DISTINCT key) FROM seen").fetchone()
        found = base.execute("SELECT key FROM seen GROUP BY key ORDER BY min(rowid)")
        return count, (tuple(json.loads(key)) for (key,) in found)

    def close(self) -> None:
        """Close the files."""
        if self._keys is not None:
            self._keys.close()

    def _read_keys(self) -> LocalDatabase:
        """Return a database on disk of all keys: a table would not fit into every memory."""
        if self._keys is not None:
            return self._keys
        base = self._keys = LocalDatabase(self._folder / "keys.db")
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE_KIB}"):
            base.execute(f"PRAGMA {setting}")
        base.execute("CREATE TABLE seen (key TEXT, part INTEGER, record INTEGER)")
        for number, part in enumerate(self._parts):
            with part.keys.open(encoding="utf-8") as keys:
                base.executemany(
                    "INSERT INTO seen VALUES (?, ?, ?)",
                    (
                        (key, number, record)
                        for record, key in enumerate(keys)
                        if key.strip(_NO_KEY_AT_ALL)
                    ),
                )
        return base


_LOCK_FILE = "lock"


@dataclass(frozen=True, slots=True)
class ResumeStore:
    """A place for the windows of one request, under a folder of all of them.

    ``asked`` is everything that the answers and their lines depend on. ``fresh`` says that what
    an earlier run left is not to be used.
    """

    MAX_AGE: ClassVar = timedelta(hours=6)
    """Time for which the windows of a failed run can be used by the next one."""

    folder: Path
    asked: Sequence[object]
    fresh: bool = False

    @contextmanager
    def place(self, now: datetime) -> Iterator[Path]:
        """Give the folder for the parts of this run, with what an earlier one left in it.

        It is gone when the block ends; after an exception whole windows stay. Where another
        process works at the same request, it is an empty folder that leaves nothing.
        """
        own = self._own
        with report_write_errors(own):
            make_private_folder(self.folder)
            _remove_old(self.folder, now)
            own.mkdir(exist_ok=True, mode=0o700)
        try:
            lock = FileLock(own / _LOCK_FILE)
            lock.acquire(blocking=False)
        except Timeout:
            with temporary_folder() as folder:
                yield folder
            return
        try:
            _clear(own, now, all_of_it=self.fresh)
            yield own
        except BaseException:
            _clear(own, now, all_of_it=False)
            raise
        else:
            _clear(own, now, all_of_it=True)
        finally:
            _release(own, lock)

    def windows(self) -> int:
        """Return how many windows wait for the next run."""
        return sum(1 for _ in self._own.glob(f"*/{FINISHED_FILE}"))

    @property
    def _own(self) -> Path:
        return self.folder / hashlib.sha256(json.dumps(self.asked).encode()).hexdigest()[:24]


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give an empty folder that is gone when the block ends."""
    with TemporaryDirectory(prefix="xlbridge-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _clear(folder: Path, now: datetime, *, all_of_it: bool) -> None:
    """Remove what is no whole window, or too old to be used."""
    for path in folder.iterdir():
        if path.name == _LOCK_FILE or (not all_of_it and _is_resumable(path, now)):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _is_resumable(folder: Path, now: datetime) -> bool:
    part = Part.finished(folder)
    begun = None if part is None else part.begun
    return begun is not None and timedelta(0) <= now - begun <= ResumeStore.MAX_AGE


def _remove_old(folder: Path, now: datetime) -> None:
    """Remove what runs of other requests left long ago, unless one is at work there."""
    for other in folder.iterdir():
        # What comes and goes meanwhile, another command is clearing away; its lock may make the
        # folder anew.
        with suppress(Timeout, FileNotFoundError, FileExistsError):
            if other.stat().st_mtime <= (now - ResumeStore.MAX_AGE).timestamp():
                _remove_leftovers(other, now)


def _remove_leftovers(folder: Path, now: datetime) -> None:
    """Remove what an old run left. Raises ``Timeout`` where one is at work."""
    lock = FileLock(folder / _LOCK_FILE)
    lock.acquire(blocking=False)
    try:
        _clear(folder, now, all_of_it=False)
    finally:
        _release(folder, lock)


def _release(folder: Path, lock: FileLock) -> None:
    """Release a place, and remove it where nothing is left in it."""
    try:
        if [path.name for path in folder.iterdir()] in ([], [_LOCK_FILE]):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        lock.release()
    # Windows removes no file that is open: there the lock is gone only now.
    with suppress(OSError):
        folder.rmdir()
