"""All parts of an export, until all have come.

Nothing is written into the output before every record is there, as a record that changes
meanwhile comes a second time, in a later part: then the earlier one is left out. So memory does
not grow with the records, and a part whose answer broke off is simply fetched again.
"""

import json
import secrets
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from xlbridge.api.splitting import Window
from xlbridge.export.part import Part
from xlbridge.kept_file import KeptFile

_CACHE_KIB = 8_000
_BLOCK = 2**17
"""So many bytes of a part are read at once, and then to the end of the line."""


class Spool:
    """All parts of an export, in the order in which they count: a later one is the newer."""

    def __init__(self, folder: Path, sheets: int) -> None:
        self._folder = folder
        self._sheets = sheets
        self._parts: list[Part] = []
        found = (Part.finished(path) for path in folder.iterdir() if path.is_dir())
        self._finished = {part.window: part for part in found if part and part.window}
        self._keys: KeptFile | None = None
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

    def widths(self, sheet: int, columns: int) -> list[int]:
        """Return how long the longest text of each column of a sheet is."""
        widths = [0] * columns
        for part in self._parts:
            widths = list(map(max, widths, part.widths[sheet]))
        return widths

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
            with part.lines(sheet).open("rb") as stream:
                if part not in self._replaced:
                    while block := stream.read(_BLOCK):
                        yield block + stream.readline()
                    continue
                for record, sizes in enumerate(part.sizes()):
                    block = stream.read(sizes[sheet][0])
                    if record not in self._replaced[part]:
                        yield block

    def different_keys(self) -> tuple[int, Iterator[tuple[Any, ...]]]:
        """Return how many keys there are, and each once, in the order in which they came first."""
        base = self._read_keys()
        (count,) = base.execute("SELECT count(DISTINCT key) FROM seen").fetchone()
        found = base.execute("SELECT key FROM seen GROUP BY key ORDER BY min(rowid)")
        return count, (tuple(json.loads(key)) for (key,) in found)

    def close(self) -> None:
        """Let go of the files."""
        if self._keys is not None:
            self._keys.close()

    def _read_keys(self) -> KeptFile:
        """Return a database on disk of all keys: a table would not fit into every memory."""
        base = self._keys = KeptFile(self._folder / "keys.db")
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE_KIB}"):
            base.execute(f"PRAGMA {setting}")
        base.execute("CREATE TABLE seen (key TEXT, part INTEGER, record INTEGER)")
        for number, part in enumerate(self._parts):
            with part.keys.open(encoding="utf-8") as keys:
                base.executemany(
                    "INSERT INTO seen VALUES (?, ?, ?)",
                    ((key, number, record) for record, key in enumerate(keys)),
                )
        return base
