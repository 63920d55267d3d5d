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
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from io import BytesIO
from itertools import islice, starmap
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, BinaryIO, ClassVar, Self, TypedDict

import msgspec
from filelock import FileLock, Timeout

from xlbridge.client.time_windows import UPDATE_FIELD, Window, update_time
from xlbridge.export.flatten import SURROGATE_ERRORS, CellNotes, Lines
from xlbridge.export.sheets import encode_json
from xlbridge.files import make_private_folder, report_write_errors
from xlbridge.local_database import LocalDatabase

FINISHED_FILE, _NEW_FILE = "finished.json", "finished.new"
_BUFFER_SIZE = 2**16
"""Bytes per write: every write releases the GIL and has to reacquire it."""

_RECORDS_PER_READ = 1_000
"""Records whose sizes are read at once."""

_CACHE_KIB = 8_000

_EMPTY_KEY_CHARACTERS = "[nul,]\n"
"""Characters of a key of nulls only: records without a key are not the same record."""

_encode_keys = msgspec.json.Encoder(enc_hook=str).encode_lines
"""Writes keys as JSON, one per line; marked digits are texts."""


class _SavedPart(TypedDict):
    """State of a part that is a whole window; ``files`` are the sizes of its files."""

    records: int
    refused: int
    excess: dict[str, int]
    rows: list[int]
    sums: list[list[Decimal]]
    notes: CellNotes
    first_update: str
    last_update: str
    update_times: list[datetime]
    future: list[list[str | None]]
    window: Window
    started: datetime
    digest: str
    files: dict[str, int]


class Part:
    """Records of one or more answers: a file for the lines of each sheet, and others.

    ``records`` counts those kept, ``refused`` those that a filter removed, ``excess`` by filter
    those of them that the system was asked to leave out. ``first_update`` and ``last_update`` are
    the earliest and the latest update time as texts, ``update_times`` are all of them if the
    ``LineSpec`` wants them; ``future`` are the keys of records updated after now. ``notes`` are
    those on its cells and earlier ones of the run. ``digest`` is SHA-256 of the answers. A saved
    part has its ``window`` and the time its run ``started``.
    """

    def __init__(self, folder: Path, line_files: int) -> None:
        self.folder = folder
        self.records = 0
        self.refused = 0
        self.excess: dict[str, int] = {}
        self.rows = [0] * line_files
        self.sums: list[list[Decimal]] = [[] for _ in self.rows]
        self.notes = CellNotes()
        self.first_update = self.last_update = ""
        self.update_times: list[datetime] = []
        self.future: list[list[str | None]] = []
        self.window: Window | None = None
        self.started: datetime | None = None
        self.digest = ""
        self.files: dict[str, int] = {}
        self._sizes = struct.Struct(f"<{2 * line_files}I")
        self._hash = hashlib.sha256()
        self._open_files = ExitStack()
        self._streams: dict[Path, BinaryIO] = {}

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Return the part that an earlier run saved in a folder, None if there is none."""
        try:
            content = (folder / FINISHED_FILE).read_bytes()
            saved = msgspec.json.decode(content, type=_SavedPart)
            is_whole = all((folder / n).stat().st_size == s for n, s in saved["files"].items())
        except (OSError, ValueError):
            return None
        if not is_whole:
            return None
        part = cls(folder, len(saved["rows"]))
        for name, value in saved.items():
            setattr(part, name, value)
        return part

    def save(self, window: Window, started: datetime) -> None:
        """Mark the part as a whole window, so that a later run can use it.

        Nothing is flushed to disk: after a crash, ``load`` detects missing bytes by file size.
        """
        self.window, self.started = window, started
        self.files = {path.name: path.stat().st_size for path in self.folder.iterdir()}
        state = {name: getattr(self, name) for name in _SavedPart.__annotations__}
        (self.folder / _NEW_FILE).write_bytes(msgspec.json.encode(state))
        (self.folder / _NEW_FILE).replace(self.folder / FINISHED_FILE)

    @property
    def received(self) -> int:
        """Number of records received, refused ones included."""
        return self.records + self.refused

    @property
    def update_span(self) -> list[datetime]:
        """The earliest and the latest update time, as far as they are ISO 8601."""
        found = [
            update_time({UPDATE_FIELD: text}) for text in (self.first_update, self.last_update)
        ]
        return [time for time in found if time is not None]

    @property
    def keys_file(self) -> Path:
        """File of the records' keys, one per line."""
        return self.folder / "keys"

    @property
    def _sizes_file(self) -> Path:
        return self.folder / "sizes"

    def lines_file(self, sheet: int) -> Path:
        """Return the file of a sheet's lines."""
        return self.folder / f"{sheet}.lines"

    def __enter__(self) -> Self:
        self.folder.mkdir(exist_ok=True)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open_files.close()
        self.digest = self._hash.hexdigest()

    def hashed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the pieces of an answer, each after it is added to the digest."""
        for piece in pieces:
            self._hash.update(piece)
            yield piece

    def add(self, keys: Sequence[Sequence[object]], lines: Sequence[Lines]) -> None:
        """Add records by their keys and their lines, sheet by sheet."""
        sizes: list[Iterable[int]] = []
        for sheet, (written, counts, sums) in enumerate(lines):
            self._write(self.lines_file(sheet), b"".join(written))
            self.rows[sheet] += len(written)
            before = self.sums[sheet] or [Decimal()] * len(sums)
            self.sums[sheet] = list(map(add, before, sums))
            lengths = iter(map(len, written))
            sizes += [[sum(islice(lengths, count)) for count in counts], counts]
        packed = starmap(self._sizes.pack, zip(*sizes, strict=True))
        self._write(self._sizes_file, b"".join(packed))
        try:
            encoded = _encode_keys(keys)
        except UnicodeEncodeError:
            texts = "".join(f"{encode_json(key)}\n" for key in keys)
            encoded = texts.encode("utf-8", SURROGATE_ERRORS)
        self._write(self.keys_file, encoded)
        self.records += len(keys)

    def _write(self, path: Path, content: bytes) -> None:
        """Write to a file of the part; one without content is never made, as that takes time."""
        if content:
            if path not in self._streams:
                stream = path.open("wb", buffering=_BUFFER_SIZE)
                self._streams[path] = self._open_files.enter_context(stream)
            self._streams[path].write(content)

    def record_sizes(self) -> Iterator[Sequence[tuple[int, int]]]:
        """Yield, for each record, the bytes and the number of its lines in each sheet."""
        with self._sizes_file.open("rb") as stream:
            while packed := stream.read(self._sizes.size * _RECORDS_PER_READ):
                for sizes in self._sizes.iter_unpack(packed):
                    yield list(zip(sizes[::2], sizes[1::2], strict=True))


class PartStore:
    """Parts of an export, oldest first."""

    def __init__(self, folder: Path, line_files: int) -> None:
        self._folder = folder
        self._line_files = line_files
        self._parts: list[Part] = []
        self._set_aside: list[Part] = []
        parts = (Part.load(path) for path in folder.iterdir() if path.is_dir())
        self._finished = {part.window: part for part in parts if part and part.window}
        self._keys: LocalDatabase | None = None
        self._replaced: dict[Part, set[int]] = {}

    def new_part(self) -> Part:
        """Return a part to write, which ``keep`` adds to the export."""
        return Part(self._folder / f"part-{secrets.token_hex(8)}", self._line_files)

    def finished_part(self, window: Window) -> Part | None:
        """Return the part of a window that an earlier run finished."""
        return self._finished.get(window)

    def finished_part_from(self, start: datetime | None) -> Part | None:
        """Return the part of a finished window that begins at ``start``, of any length."""
        parts = (part for window, part in self._finished.items() if window.start == start)
        return next(parts, None)

    def keep(self, part: Part) -> None:
        """Add a written part after the others."""
        if part.records:
            self._parts.append(part)

    def set_aside(self, part: Part) -> None:
        """Note a part whose records must come again in the parts that are kept."""
        if part.records:
            self._set_aside.append(part)

    def forget_parts_set_aside(self) -> None:
        """Forget the parts set aside, since one answer with everything replaces them."""
        self._set_aside.clear()

    def lost_keys(self, limit: int) -> tuple[int, list[tuple[Any, ...]]]:
        """Return how many records of the parts set aside are in no other, and the first keys."""
        if not self._set_aside:
            return 0, []
        database = self._key_database()
        database.execute("CREATE TABLE aside (key TEXT)")
        for part in self._set_aside:
            with part.keys_file.open(encoding="utf-8") as keys:
                database.executemany("INSERT INTO aside VALUES (?)", ((key,) for key in keys))
        found = database.execute(
            "SELECT DISTINCT key FROM aside WHERE key NOT IN (SELECT key FROM seen)"
        )
        lost = [key for (key,) in found if key.strip(_EMPTY_KEY_CHARACTERS)]
        return len(lost), [tuple(json.loads(key)) for key in lost[:limit]]

    def notes(self) -> CellNotes:
        """Return the notes on the cells of all parts."""
        return CellNotes.merged(part.notes for part in self._parts)

    def future(self) -> list[tuple[str | None, ...]]:
        """Return the keys of the records whose last update is in the future."""
        return list(dict.fromkeys(tuple(key) for part in self._parts for key in part.future))

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

    def lines(self, sheet: int) -> Iterator[bytes]:
        """Yield the lines of a sheet in order, as UTF-8."""
        for part in self._parts:
            if not part.rows[sheet]:
                continue
            with part.lines_file(sheet).open("rb", buffering=_BUFFER_SIZE) as stream:
                if part not in self._replaced:
                    yield from stream
                    continue
                for record, sizes in enumerate(part.record_sizes()):
                    lines = stream.read(sizes[sheet][0])
                    if record not in self._replaced[part]:
                        yield from BytesIO(lines)

    def sums(self, sheet: int) -> list[Decimal]:
        """Return the sums of a sheet's columns summed, none if records were replaced."""
        by_part = [] if self._replaced else [part.sums[sheet] for part in self._parts]
        columns = zip(*filter(None, by_part), strict=True)
        return [sum(column, Decimal()) for column in columns]

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
        part = Part.load(path) if keep_windows else None
        age = now - part.started if part and part.started else None
        is_resumable = age is not None and timedelta(0) <= age <= ResumeStore.MAX_AGE
        if path.name == _LOCK_FILE or is_resumable:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


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
