"""Parts: the records of one or more answers on disk, as the lines of sheets.

Everything that is needed to write one is plain data (``LineSpec``); nothing here imports the
models of the interface.
"""

import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice, starmap
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xlbridge.client import Record
from xlbridge.client.listings import UPDATE_FIELD, Numbers, RecordShape, Window, update_time
from xlbridge.errors import TransportError
from xlbridge.export.flatten import SURROGATE_ERRORS, Flattener, ImportRow, Lines, Rearrange
from xlbridge.export.lines import LineFormat
from xlbridge.export.record_filter import RecordFilter
from xlbridge.export.sheets import MarkedDigits, Sheet, encode_json
from xlbridge.export.totals import TotalsSpec
from xlbridge.i18n import Text
from xlbridge.resources.remote import SeparateList

FINISHED_FILE, _NEW_FILE = "finished.json", "finished.new"
_BUFFER_SIZE = 2**16
"""Few writes: each lets other threads go first, and waits for its turn afterwards."""

_RECORDS_PER_READ = 1_000
"""The sizes of so many records are read at once."""


class Part:
    """The records of one part, being written: for each sheet a file of lines.

    ``newest`` is the last update in it, ``updated`` all of them where they are asked for. Of a
    finished window ``window`` says which, and ``begun`` when its run began. ``widths`` is how long
    the longest text of each column was, sheet by sheet; ``zones`` are those that moments came with,
    by the column's name. ``records`` are those that were taken, ``refused`` counts the others;
    ``excess`` those of them, by the filter, that the system was asked to leave out.
    """

    def __init__(self, folder: Path, sheets: int) -> None:
        self.folder = folder
        self.records = 0
        self.refused = 0
        self.excess: dict[str, int] = {}
        self.rows = [0] * sheets
        self.widths: list[list[int]] = []
        self.zones: dict[str, list[str]] = {}
        self.newest = ""
        self.updated: list[datetime] = []
        self.window: Window | None = None
        self.begun: datetime | None = None
        self._sizes = struct.Struct(f"<{2 * sheets}I")
        self._hash = hashlib.sha256()
        self._digest = ""
        self._files = ExitStack()

    @classmethod
    def finished(cls, folder: Path) -> Self | None:
        """Return the part that an earlier run finished in a folder, None where there is none."""
        try:
            told = json.loads((folder / FINISHED_FILE).read_text(encoding="utf-8"))
            part = cls(folder, len(told["rows"]))
            part.take_in(told)
            part._digest = told["digest"]
            part.window = Window(*(t and datetime.fromisoformat(t) for t in told["window"]))
            part.begun = datetime.fromisoformat(told["begun"])
            is_whole = all((folder / n).stat().st_size == size for n, size in told["files"].items())
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return part if is_whole else None

    @property
    def answered(self) -> int:
        """Number of records that came, the refused ones included."""
        return self.records + self.refused

    @property
    def keys(self) -> Path:
        """The file of the records' keys, a line each."""
        return self.folder / "keys"

    def lines(self, sheet: int) -> Path:
        """Return the file of a sheet's lines."""
        return self.folder / f"{sheet}.lines"

    @property
    def digest(self) -> str:
        """SHA-256 of the answers, as far as they came."""
        return self._digest or self._hash.hexdigest()

    def told(self) -> dict[str, Any]:
        """Return the state of the part as JSON, for another run to take in."""
        return {
            "records": self.records,
            "refused": self.refused,
            "excess": self.excess,
            "rows": self.rows,
            "widths": self.widths,
            "zones": self.zones,
            "newest": self.newest,
            "updated": [moment.isoformat() for moment in self.updated],
        }

    def take_in(self, told: dict[str, Any]) -> None:
        """Take over what came. Raises ``LookupError``, ``TypeError``, ``ValueError``."""
        self.records, self.rows, self.widths = told["records"], told["rows"], told["widths"]
        self.refused, self.excess = told["refused"], told["excess"]
        self.zones, self.newest = told["zones"], told["newest"]
        self.updated = [datetime.fromisoformat(moment) for moment in told["updated"]]

    def finish(self, window: Window, begun: datetime) -> None:
        """Write down that the part is a whole window, so that a later run can use it.

        Nothing waits for the disk: where a computer breaks down before it has all of the part,
        the sizes of the files tell.
        """
        told = self.told() | {
            "window": [moment and moment.isoformat() for moment in (window.start, window.end)],
            "begun": begun.isoformat(),
            "digest": self.digest,
            "files": {path.name: path.stat().st_size for path in self.folder.iterdir()},
        }
        (self.folder / _NEW_FILE).write_text(json.dumps(told), encoding="utf-8")
        (self.folder / _NEW_FILE).replace(self.folder / FINISHED_FILE)

    def __enter__(self) -> Self:
        self.folder.mkdir(exist_ok=True)
        self.records, self.rows = 0, [0] * len(self.rows)
        self.refused, self.excess = 0, {}
        self.newest, self.updated = "", []
        self._streams = [
            self._files.enter_context(self.lines(sheet).open("wb", buffering=_BUFFER_SIZE))
            for sheet in range(len(self.rows))
        ]
        keys = self.keys.open("w", encoding="utf-8", errors=SURROGATE_ERRORS)
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

    def seen(self, answer: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the pieces of an answer that records stand in, once the digest knows of them."""
        for piece in answer:
            self._hash.update(piece)
            yield piece

    def add(self, keys: Sequence[Sequence[object]], lines: Sequence[Lines]) -> None:
        """Add records: their keys, and their lines sheet by sheet."""
        sizes: list[Iterable[int]] = []
        for sheet, (written, counts) in enumerate(lines):
            self._streams[sheet].writelines(written)
            self.rows[sheet] += len(written)
            each = iter(map(len, written))
            sizes += [[sum(islice(each, count)) for count in counts], counts]
        self._records.writelines(starmap(self._sizes.pack, zip(*sizes, strict=True)))
        self._keys.writelines(encode_json(key) + "\n" for key in keys)
        self.records += len(keys)

    def refuse(self, reason: str, *, was_sent: bool) -> None:
        """Count a record that a filter keeps out; ``was_sent`` that the system had been told so."""
        self.refused += 1
        if was_sent:
            self.excess[reason] = self.excess.get(reason, 0) + 1

    def sizes(self) -> Iterator[Sequence[tuple[int, int]]]:
        """Yield for each record and sheet how many bytes and how many rows its lines are."""
        with (self.folder / "sizes").open("rb") as stream:
            while packed := stream.read(self._sizes.size * _RECORDS_PER_READ):
                for sizes in self._sizes.iter_unpack(packed):
                    yield list(zip(sizes[::2], sizes[1::2], strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSpec:
    """Conversion of a listing's answers into lines.

    ``is_dated`` says that all update times are wanted; ``wanted`` judges the records; ``lists`` are
    those that the records do not carry themselves.
    """

    shape: RecordShape
    key: Sequence[str]
    sheets: Sequence[Sheet] = ()
    forms: Sequence[LineFormat] = ()
    rearrange: Rearrange | None = None
    totals: TotalsSpec | None = None
    is_dated: bool = False
    wanted: RecordFilter | None = None
    lists: Mapping[str, SeparateList] = field(default_factory=dict)

    @property
    def totals_place(self) -> int:
        """Position of the lines of the control totals, after those of the sheets."""
        return len(self.sheets)

    @property
    def left_out_place(self) -> int | None:
        """Position of the lines of what an import sheet leaves out, None for other layouts."""
        return len(self.sheets) + 1 if isinstance(self.rearrange, ImportRow) else None

    @property
    def tables(self) -> int:
        """Number of files of lines in a part."""
        return (self.left_out_place or self.totals_place) + 1

    @property
    def numbers(self) -> Numbers:
        """What numbers are read as: their own digits, at least where they have a point."""
        return (MarkedDigits, MarkedDigits) if self.shape.keep_unknown else (str, int)


class PartWriter:
    """Adds records to parts by a recipe."""

    def __init__(self, recipe: LineSpec) -> None:
        self._recipe = recipe
        self._documented = frozenset(recipe.shape.names.values())
        self._flattener = Flattener(recipe.sheets, recipe.forms, recipe.rearrange, recipe.totals)

    def describe(self, part: Part) -> None:
        """Tell a part, once it is written, what its columns have held so far."""
        part.widths, part.zones = self._flattener.widths, self._flattener.zones

    def add(self, part: Part, records: Sequence[Record], known: Record) -> list[Record]:
        """Add the records that are wanted, and return them.

        ``known`` are fields of their keys that the call tells where a record does not. Raises what
        ``Flattener.lines`` and ``RecordFilter.reason_against`` raise.
        """
        taken: list[Record] = []
        for record in records:
            if self._is_wanted(part, record, part.records + len(taken)):
                missing = {name: v for name, v in known.items() if record.get(name) is None}
                taken.append(record | missing if missing else record)
        for record in taken:
            self._note_update(part, record)
        keys = [list(map(record.get, self._recipe.key)) for record in taken]
        part.add(keys, self._flattener.lines(taken))
        return taken

    def _is_wanted(self, part: Part, record: Record, records_before: int) -> bool:
        if self._documented.isdisjoint(record):
            raise TransportError(
                Text(
                    pt="Um registro veio sem nenhum dos campos que a interface mostra: {fields}.",
                    en="A record came without any of the fields that the interface shows: "
                    "{fields}.",
                ).format(fields=", ".join(sorted(record)) or "{}")
            )
        wanted = self._recipe.wanted
        reason = None if wanted is None else wanted.reason_against(record, records_before)
        if reason is not None:
            part.refuse(reason[0], was_sent=reason[1])
        return reason is None

    def _note_update(self, part: Part, record: Record) -> None:
        moment = record.get(UPDATE_FIELD)
        if self._recipe.is_dated:
            updated = update_time(record)
            if updated is None:
                moment = None
            else:
                part.updated.append(updated)
        if isinstance(moment, str):
            part.newest = max(part.newest, moment)
