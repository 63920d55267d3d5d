"""The records of one or more answers on disk, as the lines of sheets."""

import codecs
import hashlib
import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xlbridge.api.splitting import Window
from xlbridge.workbook.atomic import replacing

FINISHED = "finished.json"
_ANSWER = "answer"
_PIECE = 2**16
"""So many bytes of an answer are read at once."""

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
    finished window ``window`` says which, and ``begun`` when its run began. ``widths`` is how long
    the longest text of each column was, sheet by sheet.
    """

    def __init__(self, folder: Path, sheets: int) -> None:
        self.folder = folder
        self.records = 0
        self.rows = [0] * sheets
        self.widths: list[list[int]] = []
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
            told = json.loads((folder / FINISHED).read_text(encoding="utf-8"))
            part = cls(folder, len(told["rows"]))
            part.take_in(told)
            part._digest = told["digest"]
            part.window = Window(*(t and datetime.fromisoformat(t) for t in told["window"]))
            part.begun = datetime.fromisoformat(told["begun"])
        except (OSError, ValueError, LookupError, TypeError):
            return None
        return part

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
        """Return what came, as JSON has it, for ``take_in`` of another process or run."""
        return {
            "records": self.records,
            "rows": self.rows,
            "widths": self.widths,
            "newest": self.newest,
            "updated": [moment.isoformat() for moment in self.updated],
        }

    def take_in(self, told: dict[str, Any]) -> None:
        """Take over what came. Raises ``LookupError``, ``TypeError``, ``ValueError``."""
        self.records, self.rows, self.widths = told["records"], told["rows"], told["widths"]
        self.newest = told["newest"]
        self.updated = [datetime.fromisoformat(moment) for moment in told["updated"]]

    def finish(self, window: Window, begun: datetime) -> None:
        """Write down that the part is a whole window, so that a later run can use it."""
        told = self.told() | {
            "window": [moment and moment.isoformat() for moment in (window.start, window.end)],
            "begun": begun.isoformat(),
            "digest": self.digest,
        }
        with replacing(self.folder / FINISHED) as temporary:
            temporary.write_text(json.dumps(told), encoding="utf-8")

    def __enter__(self) -> Self:
        self.folder.mkdir(exist_ok=True)
        self.records, self.rows = 0, [0] * len(self.rows)
        self.newest, self.updated = "", []
        self._streams = [
            self._files.enter_context(self.lines(sheet).open("wb", buffering=_BUFFER))
            for sheet in range(len(self.rows))
        ]
        keys = self.keys.open("w", encoding="utf-8", errors=_TIDY)
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

    def keep_answer(self, answer: Iterable[bytes]) -> None:
        """Write an answer down, to be read afterwards, perhaps by another process."""
        self.folder.mkdir()
        with (self.folder / _ANSWER).open("wb") as stream:
            stream.writelines(self.seen(answer))

    def answer(self) -> Iterator[bytes]:
        """Yield the pieces of the answer that was kept, as far as it came."""
        with (self.folder / _ANSWER).open("rb") as stream:
            while piece := stream.read(_PIECE):
                yield piece

    def forget_answer(self) -> None:
        """Remove the answer that was kept."""
        (self.folder / _ANSWER).unlink()

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
