"""The lines of records on disk, part by part, until all have come.

Nothing is written into the output before every record is there, as a record that changes
meanwhile comes a second time, in a later part: then the earlier one is left out. So memory does
not grow with the records, and a part whose answer broke off is simply fetched again.
"""

import codecs
import hashlib
import json
import secrets
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from itertools import repeat
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xlbridge.export.splitting import Window
from xlbridge.workbook.atomic import replacing

FINISHED = "finished.json"
_CACHE_KIB = 8_000
_BLOCK = 2**17
"""So many bytes of a part are read at once, and then to the end of the line."""

_BUFFER = 2**20
"""Few writes: each lets other threads go first, and waits for its turn afterwards."""

_AT_ONCE = 1_000
"""The sizes of so many records are read at once."""

_TIDY = "xlbridge-half-characters"
"""JSON can spell half of a surrogate pair, and no file can hold it."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()


def _tidy(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _REPLACEMENT * (error.end - error.start), error.end


codecs.register_error(_TIDY, _tidy)

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Part:
    """The records of one part, being written: for each sheet a file of lines.

    ``newest`` is the last update in it, ``updated`` all of them where they are asked for. Of a
    finished window ``window`` says which, and ``begun`` when its run began.
    """

    def __init__(self, folder: Path, sheets: int) -> None:
        self.folder = folder
        self.records = 0
        self.rows = [0] * sheets
        self.widths: list[list[int]] = []
        self.digest = ""
        self.newest = ""
        self.updated: list[datetime] = []
        self.window: Window | None = None
        self.begun: datetime | None = None
        self._sizes = struct.Struct(f"<{2 * sheets}I")
        self._hash = hashlib.sha256()
        self._files = ExitStack()

    @classmethod
    def finished(cls, folder: Path) -> Self | None:
        """Return the part that an earlier run finished in a folder, None where there is none."""
        try:
            told = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
            part = cls(folder, len(told["rows"]))
            part.records, part.rows, part.widths = told["records"], told["rows"], told["widths"]
            part.digest, part.newest = told["digest"], told["newest"]
            part.updated = [datetime.fromisoformat(moment) for moment in told["updated"]]
            part.window = Window(*(t and datetime.fromisoformat(t) for t in told["window"]))
            part.begun = datetime.fromisoformat(told["begun"])
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return part

    def finish(self, window: Window, widths: list[list[int]], begun: datetime) -> None:
        """Write down that the part is a whole window, so that a later run can use it."""
        told = {
            "window": [moment and moment.isoformat() for moment in (window.start, window.end)],
            "begun": begun.isoformat(),
            "records": self.records,
            "rows": self.rows,
            "widths": widths,
            "digest": self.digest,
            "newest": self.newest,
            "updated": [moment.isoformat() for moment in self.updated],
        }
        with replacing(self.folder / FINISHED) as temporary:
            temporary.write_text(json.dumps(told), encoding="utf-8")

    def __enter__(self) -> Self:
        self.folder.mkdir()
        self._streams = [
            self._files.enter_context(_lines(self.folder, sheet).open("wb", buffering=_BUFFER))
            for sheet in range(len(self.rows))
        ]
        keys = (self.folder / "keys").open("w", encoding="utf-8", errors=_TIDY)
        self._keys = self._files.enter_context(keys)
        self._records = self._files.enter_context((self.folder / "sizes").open("wb"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.close()
        self.digest = self._hash.hexdigest()

    def see(self, answer: bytes) -> None:
        """Take in a piece of the answer that the records stand in, for the digest."""
        self._hash.update(answer)

    def add(self, key: Sequence[object], lines: list[list[str]]) -> None:
        """Add one record: its key, and its lines sheet by sheet."""
        sizes = []
        for sheet, of_sheet in enumerate(lines):
            written = "".join(of_sheet).encode("utf-8", _TIDY)
            self._streams[sheet].write(written)
            self.rows[sheet] += len(of_sheet)
            sizes += [len(written), len(of_sheet)]
        self._records.write(self._sizes.pack(*sizes))
        self._keys.write(_encode(key) + "\n")
        self.records += 1

    def sizes(self) -> Iterator[Sequence[tuple[int, int]]]:
        """Yield for each record and sheet how many bytes and how many rows its lines are."""
        with (self.folder / "sizes").open("rb") as stream:
            while packed := stream.read(self._sizes.size * _AT_ONCE):
                for sizes in self._sizes.iter_unpack(packed):
                    yield list(zip(sizes[::2], sizes[1::2], strict=True))


class Spool:
    """All parts of an export, in the order in which they count: a later one is the newer."""

    def __init__(self, folder: Path, sheets: int) -> None:
        self._folder = folder
        self._sheets = sheets
        self._parts: list[Part] = []
        found = (Part.finished(path) for path in folder.iterdir() if path.is_dir())
        self._finished = {part.window: part for part in found if part and part.window}
        self._keys: sqlite3.Connection | None = None
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

    def widths(self, now: list[list[int]]) -> list[list[int]]:
        """Return how long the longest texts are, now and in what an earlier run finished."""
        all_of_them = [now, *(part.widths for part in self._finished.values())]
        return [list(map(max, *of_sheet, repeat(0))) for of_sheet in zip(*all_of_them, strict=True)]

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
            with _lines(part.folder, sheet).open("rb") as stream:
                if part not in self._replaced:
                    while block := stream.read(_BLOCK):
                        yield block + stream.readline()
                    continue
                for record, sizes in enumerate(part.sizes()):
                    block = stream.read(sizes[sheet][0])
                    if record not in self._replaced[part]:
                        yield block

    def different_keys(self) -> Iterator[tuple[Any, ...]]:
        """Yield each key once, in the order in which they came first."""
        found = self._read_keys().execute("SELECT key FROM seen GROUP BY key ORDER BY min(rowid)")
        for (key,) in found:
            yield tuple(json.loads(key))

    def close(self) -> None:
        """Let go of the files."""
        if self._keys is not None:
            self._keys.close()

    def _read_keys(self) -> sqlite3.Connection:
        """Return a database on disk of all keys: a table would not fit into every memory."""
        base = self._keys = sqlite3.connect(self._folder / "keys.db")
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE_KIB}"):
            base.execute(f"PRAGMA {setting}")
        base.execute("CREATE TABLE seen (key TEXT, part INTEGER, record INTEGER)")
        for number, part in enumerate(self._parts):
            with (part.folder / "keys").open(encoding="utf-8") as keys:
                base.executemany(
                    "INSERT INTO seen VALUES (?, ?, ?)",
                    ((key, number, record) for record, key in enumerate(keys)),
                )
        return base


def _lines(folder: Path, sheet: int) -> Path:
    return folder / f"{sheet}.lines"
