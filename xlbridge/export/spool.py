"""Flattened records on disk, part by part, until all have come.

Nothing is written into the output before every record is there, as a record that changes
meanwhile comes a second time, in a later part: then the earlier one is left out. So memory does
not grow with the records, and a part whose answer broke off is simply fetched again.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xlbridge.export.columns import Row

_CACHE_KIB = 8_000


class Part:
    """The records of one part, being written: one file for each sheet, a line for each record."""

    def __init__(self, folder: Path, sheets: int) -> None:
        self.folder = folder
        self.records = 0
        self._sheets = sheets
        self._encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
        self._digest = hashlib.sha256()
        self._files = ExitStack()

    def __enter__(self) -> Self:
        self.folder.mkdir()
        self._streams = [
            self._files.enter_context(_path(self.folder, number).open("wb"))
            for number in range(self._sheets)
        ]
        self._keys = self._files.enter_context((self.folder / "keys").open("w", encoding="utf-8"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.close()

    def add(self, key: Sequence[object], rows: list[list[Row]]) -> None:
        """Add one record: its key, and its rows sheet by sheet."""
        for stream, of_sheet in zip(self._streams, rows, strict=True):
            line = self._encode(of_sheet).encode() + b"\n"
            stream.write(line)
            self._digest.update(line)
        self._keys.write(self._encode(key) + "\n")
        self.records += 1

    @property
    def digest(self) -> str:
        """SHA-256 of the rows as they came, in hexadecimal."""
        return self._digest.hexdigest()


class Spool:
    """All parts of an export, in the order in which they count: a later one is the newer."""

    def __init__(self, folder: Path, sheets: int) -> None:
        self._folder = folder
        self._sheets = sheets
        self._parts: list[Part] = []
        self._tries = 0
        self._replaced: sqlite3.Connection | None = None

    def new_part(self) -> Part:
        """Return a part to write; it counts once it is kept."""
        self._tries += 1
        return Part(self._folder / f"part-{self._tries}", self._sheets)

    def keep(self, part: Part) -> None:
        """Add a finished part, after those that are kept already."""
        self._parts.append(part)

    def settle(self) -> int:
        """Find the records that a later part has again; return how many there are.

        Within one part nothing is left out: one answer is one moment.
        """
        if len(self._parts) < 2:
            return 0
        base = self._replaced = sqlite3.connect(self._folder / "keys.db")
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE_KIB}"):
            base.execute(f"PRAGMA {setting}")
        base.execute("CREATE TABLE seen (key TEXT, part INTEGER, record INTEGER)")
        for number, part in enumerate(self._parts):
            with (part.folder / "keys").open(encoding="utf-8") as keys:
                base.executemany(
                    "INSERT INTO seen VALUES (?, ?, ?)",
                    ((key, number, record) for record, key in enumerate(keys)),
                )
        base.execute("CREATE INDEX seen_by_key ON seen (key, part)")
        base.execute(
            "CREATE TABLE replaced AS SELECT part, record FROM seen WHERE EXISTS (SELECT 1 FROM "
            "seen AS later WHERE later.key = seen.key AND later.part > seen.part)"
        )
        base.execute("CREATE INDEX replaced_by_place ON replaced (part, record)")
        (count,) = base.execute("SELECT count(*) FROM replaced").fetchone()
        return int(count)

    def rows(self, sheet: int) -> Iterator[Row]:
        """Yield the rows of a sheet, by its position, in the order in which they came."""
        for number, part in enumerate(self._parts):
            replaced = self._replaced_in(number)
            with _path(part.folder, sheet).open("rb") as lines:
                for record, line in enumerate(lines):
                    if record not in replaced:
                        yield from json.loads(line)

    def keys(self) -> Iterator[tuple[Any, ...]]:
        """Yield the keys of all records, those that came again among them."""
        for part in self._parts:
            with (part.folder / "keys").open(encoding="utf-8") as lines:
                for line in lines:
                    yield tuple(json.loads(line))

    def close(self) -> None:
        """Let go of the files."""
        if self._replaced is not None:
            self._replaced.close()

    def _replaced_in(self, part: int) -> set[int]:
        if self._replaced is None:
            return set()
        wanted = "SELECT record FROM replaced WHERE part = ?"
        return {record for (record,) in self._replaced.execute(wanted, (part,))}


def _path(folder: Path, sheet: int) -> Path:
    return folder / f"{sheet}.jsonl"
