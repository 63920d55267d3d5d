"""Parts: records of one or more answers on disk, as the lines of sheets.

Writing one needs only plain data (``LineSpec``): nothing here imports the interface's models.
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
from typing import Self

import msgspec

from xlbridge.client import Record
from xlbridge.client.listings import UPDATE_FIELD, Numbers, RecordShape, Window, update_time
from xlbridge.errors import TransportError
from xlbridge.export.flatten import (
    SURROGATE_ERRORS,
    Flattener,
    ImportRow,
    Lines,
    Rearrange,
    are_typed,
)
from xlbridge.export.lines import LineFormat
from xlbridge.export.record_filter import RecordFilter
from xlbridge.export.sheets import MarkedDigits, Sheet, encode_json
from xlbridge.export.totals import TotalsSpec
from xlbridge.i18n import Text
from xlbridge.resources.remote import SeparateList

FINISHED_FILE, _NEW_FILE = "finished.json", "finished.new"
_BUFFER_SIZE = 2**16
"""Bytes per write: every write releases the GIL and has to reacquire it."""

_RECORDS_PER_READ = 1_000
"""Records whose sizes are read at once."""


class Part:
    """Records of one part: a file of lines for each sheet.

    ``records`` counts those kept, ``refused`` those that a filter removed, ``excess`` by filter
    those of them that the system was asked to leave out. ``last_update`` is the latest update
    time, ``update_times`` are all of them if the ``LineSpec`` wants them. ``widths`` are the
    lengths of each column's longest text, sheet by sheet; ``zones`` the time zones of moments by
    column name. A saved part has its ``window`` and the time its run ``started``.
    """

    def __init__(self, folder: Path, sheets: int) -> None:
        self.folder = folder
        self.records = 0
        self.refused = 0
        self.excess: dict[str, int] = {}
        self.rows = [0] * sheets
        self.widths: list[list[int]] = []
        self.zones: dict[str, list[str]] = {}
        self.last_update = ""
        self.update_times: list[datetime] = []
        self.window: Window | None = None
        self.started: datetime | None = None
        self._sizes = struct.Struct(f"<{2 * sheets}I")
        self._hash = hashlib.sha256()
        self._digest = ""
        self._files = ExitStack()

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """Return the part that an earlier run saved in a folder, None if there is none."""
        try:
            state = json.loads((folder / FINISHED_FILE).read_text(encoding="utf-8"))
            part = cls(folder, len(state["rows"]))
            part.records, part.rows, part.widths = state["records"], state["rows"], state["widths"]
            part.refused, part.excess, part.zones = (
                state["refused"],
                state["excess"],
                state["zones"],
            )
            part.last_update, part._digest = state["newest"], state["digest"]
            part.update_times = list(map(datetime.fromisoformat, state["updated"]))
            part.window = Window(*(t and datetime.fromisoformat(t) for t in state["window"]))
            part.started = datetime.fromisoformat(state["begun"])
            is_whole = all((folder / n).stat().st_size == s for n, s in state["files"].items())
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return part if is_whole else None

    def save(self, window: Window, started: datetime) -> None:
        """Mark the part as a whole window, so that a later run can use it.

        Nothing is flushed to disk: after a crash, ``load`` detects missing bytes by file size.
        """
        state = {
            "records": self.records,
            "refused": self.refused,
            "excess": self.excess,
            "rows": self.rows,
            "widths": self.widths,
            "zones": self.zones,
            "newest": self.last_update,
            "updated": [moment.isoformat() for moment in self.update_times],
            "window": [moment and moment.isoformat() for moment in (window.start, window.end)],
            "begun": started.isoformat(),
            "digest": self.digest,
            "files": {path.name: path.stat().st_size for path in self.folder.iterdir()},
        }
        (self.folder / _NEW_FILE).write_text(json.dumps(state), encoding="utf-8")
        (self.folder / _NEW_FILE).replace(self.folder / FINISHED_FILE)

    @property
    def received(self) -> int:
        """Number of records received, refused ones included."""
        return self.records + self.refused

    @property
    def keys_file(self) -> Path:
        """File of the records' keys, one per line."""
        return self.folder / "keys"

    def lines_file(self, sheet: int) -> Path:
        """Return the file of a sheet's lines."""
        return self.folder / f"{sheet}.lines"

    @property
    def digest(self) -> str:
        """SHA-256 of the answers received so far."""
        return self._digest or self._hash.hexdigest()

    def __enter__(self) -> Self:
        self.folder.mkdir(exist_ok=True)
        self.records, self.rows = 0, [0] * len(self.rows)
        self.refused, self.excess = 0, {}
        self.last_update, self.update_times = "", []
        self._streams = [
            self._files.enter_context(self.lines_file(sheet).open("wb", buffering=_BUFFER_SIZE))
            for sheet in range(len(self.rows))
        ]
        self._keys = self._files.enter_context(self.keys_file.open("wb"))
        self._size_stream = self._files.enter_context((self.folder / "sizes").open("wb"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.close()

    def hashed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the pieces of an answer, each after it is added to the digest."""
        for piece in pieces:
            self._hash.update(piece)
            yield piece

    def add(self, keys: Sequence[Sequence[object]], lines: Sequence[Lines]) -> None:
        """Add records by their keys and their lines, sheet by sheet."""
        sizes: list[Iterable[int]] = []
        for sheet, (written, counts) in enumerate(lines):
            self._streams[sheet].write(b"".join(written))
            self.rows[sheet] += len(written)
            lengths = iter(map(len, written))
            sizes += [[sum(islice(lengths, count)) for count in counts], counts]
        self._size_stream.write(b"".join(starmap(self._sizes.pack, zip(*sizes, strict=True))))
        self._keys.write(_encode_keys(keys))
        self.records += len(keys)

    def record_sizes(self) -> Iterator[Sequence[tuple[int, int]]]:
        """Yield, for each record, the bytes and the number of its lines in each sheet."""
        with (self.folder / "sizes").open("rb") as stream:
            while packed := stream.read(self._sizes.size * _RECORDS_PER_READ):
                for sizes in self._sizes.iter_unpack(packed):
                    yield list(zip(sizes[::2], sizes[1::2], strict=True))


_encode_lines = msgspec.json.Encoder(enc_hook=str).encode_lines


def _encode_keys(keys: Sequence[Sequence[object]]) -> bytes:
    """Return keys as JSON, one per line; marked digits are texts."""
    try:
        return _encode_lines(keys)
    except UnicodeEncodeError:
        return "".join(f"{encode_json(key)}\n" for key in keys).encode("utf-8", SURROGATE_ERRORS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSpec:
    """Conversion of a listing's answers into lines.

    ``record_filter`` selects the records; ``lists`` are those that take calls of their own.
    """

    shape: RecordShape
    key: Sequence[str]
    sheets: Sequence[Sheet] = ()
    line_formats: Sequence[LineFormat] = ()
    rearrange: Rearrange | None = None
    totals: TotalsSpec | None = None
    collects_update_times: bool = False
    record_filter: RecordFilter | None = None
    lists: Mapping[str, SeparateList] = field(default_factory=dict)

    @property
    def totals_index(self) -> int:
        """Index of the control totals' lines, after those of the sheets."""
        return len(self.sheets)

    @property
    def left_out_index(self) -> int | None:
        """Index of the lines of fields that an import sheet lacks, None for other layouts."""
        return len(self.sheets) + 1 if isinstance(self.rearrange, ImportRow) else None

    @property
    def line_files(self) -> int:
        """Number of files of lines in a part."""
        return (self.left_out_index or self.totals_index) + 1

    @property
    def fits_typed_records(self) -> bool:
        """True if the values of records of the shape's type are all that is needed of them."""
        return not (
            self.shape.keep_unknown or self.rearrange or self.record_filter or self.lists
        ) and all(map(self._fits_typed_records, self.sheets))

    def _fits_typed_records(self, sheet: Sheet) -> bool:
        if sheet.is_joined or len(sheet.within) > 1:
            return False
        shape = self.shape.nested[sheet.within[0]] if sheet.within else self.shape
        return {column.field for column in sheet.columns} <= set(shape.names.values())

    @property
    def numbers(self) -> Numbers:
        """Types that numbers are read as: text keeps the digits, at least of decimal numbers."""
        return (MarkedDigits, MarkedDigits) if self.shape.keep_unknown else (str, int)


class PartWriter:
    """Writes records into parts."""

    def __init__(self, spec: LineSpec) -> None:
        self._spec = spec
        self._documented = frozenset(spec.shape.names.values())
        self._flattener = Flattener(spec.sheets, spec.line_formats, spec.rearrange, spec.totals)

    def add_column_data(self, part: Part) -> None:
        """Set the widths and time zones of a written part."""
        part.widths, part.zones = self._flattener.widths, self._flattener.zones

    def add(self, part: Part, records: Sequence[Record], known_fields: Record) -> Sequence[Record]:
        """Add the records that pass the filter, and return them.

        ``known_fields``, which follow from the call, complete records that lack them. Raises what
        ``Flattener.lines`` and ``RecordFilter.failed_filter`` raise.
        """
        accepted = records if are_typed(records) else self._accepted(part, records, known_fields)
        for record in accepted:
            self._add_update_time(part, record)
        keys = [list(map(record.get, self._spec.key)) for record in accepted]
        part.add(keys, self._flattener.lines(accepted))
        return accepted

    def _accepted(
        self, part: Part, records: Sequence[Record], known_fields: Record
    ) -> list[Record]:
        accepted: list[Record] = []
        for record in records:
            if self._accepts(part, record, part.records + len(accepted)):
                missing = {name: v for name, v in known_fields.items() if record.get(name) is None}
                accepted.append(record | missing if missing else record)
        return accepted

    def _accepts(self, part: Part, record: Record, records_before: int) -> bool:
        if self._documented.isdisjoint(record):
            raise TransportError(
                Text(
                    pt="Um registro veio sem nenhum dos campos que a interface mostra: {fields}.",
                    en="A record came without any of the fields that the interface shows: "
                    "{fields}.",
                ).format(fields=", ".join(sorted(record)) or "{}")
            )
        selection = self._spec.record_filter
        failed = None if selection is None else selection.failed_filter(record, records_before)
        if failed is None:
            return True
        part.refused += 1
        name, was_sent = failed
        if was_sent:
            part.excess[name] = part.excess.get(name, 0) + 1
        return False

    def _add_update_time(self, part: Part, record: Record) -> None:
        text = record.get(UPDATE_FIELD)
        if self._spec.collects_update_times:
            moment = update_time(record)
            if moment is None:
                return
            part.update_times.append(moment)
        if isinstance(text, str):
            part.last_update = max(part.last_update, text)
