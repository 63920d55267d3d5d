"""Messages from the parser process to its parent, plain data only, and what they make up.

A message is a line of JSON that gives the lengths of the buffers after it. So the parent runs
nothing that a parser process, were it ever taken over by a file, could send.
"""

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, BinaryIO

from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.workbook.read.cells import CellColumn, RawSheet, SheetCells, SheetLayout


@dataclass(frozen=True, slots=True)
class WorkbookStarted:
    """The first that is known of a workbook: its template's fingerprint, its hidden sheets.

    ``read_as`` says how a file was read that does not say it itself, as a .csv.
    """

    fingerprint: str | None
    hidden: Sequence[str]
    read_as: Text | None = None


@dataclass(frozen=True, slots=True)
class SheetStarted:
    """A sheet; its rows follow. One of the same name as the last takes its place."""

    name: str


@dataclass(frozen=True, slots=True)
class RowsRead:
    """The next rows of the sheet that was begun last, column by column.

    ``top`` and ``left`` are the zero-based places of the first cell. What is not told is empty.
    """

    top: int
    left: int
    columns: Sequence[CellColumn]


@dataclass(frozen=True, slots=True)
class SheetEnded:
    """The end of the sheet that was begun last, and what its values do not show."""

    raw: RawSheet


ParserMessage = WorkbookStarted | SheetStarted | RowsRead | SheetEnded
"""Message from the parser process to its caller."""

_MAX_LINE_LENGTH = 1 << 28


class BrokenStream(Exception):
    """The messages end before they are complete, or make no sense."""


def send_messages(stream: BinaryIO, messages: Iterator[ParserMessage]) -> None:
    """Write all messages, then the end; an ``XlbridgeError`` among them is a message too."""
    try:
        for message in messages:
            _write_message(stream, *_pack(message))
    except XlbridgeError as error:
        _write_message(stream, _pack_error(error))
    else:
        _write_message(stream, {"end": True})
    stream.flush()


def receive_messages(stream: BinaryIO) -> Iterator[ParserMessage]:
    """Yield the messages that ``send_messages`` wrote at the other end.

    Raises the ``XlbridgeError`` that was met there, ``BrokenStream`` when the end is missing.
    """
    while True:
        head = _read_head(stream)
        if head.get("end"):
            return
        if "error" in head:
            raise _unpack_error(head)
        buffers = [_read_exactly(stream, size) for size in head["sizes"]]
        yield _unpack(head, buffers)


def _write_message(
    stream: BinaryIO, head: dict[str, Any], buffers: Sequence[bytes | bytearray] = ()
) -> None:
    head["sizes"] = [len(buffer) for buffer in buffers]
    stream.write(json.dumps(head).encode() + b"\n")
    stream.writelines(buffers)


def _read_head(stream: BinaryIO) -> dict[str, Any]:
    line = stream.readline(_MAX_LINE_LENGTH)
    if not line.endswith(b"\n"):
        raise BrokenStream
    try:
        head: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise BrokenStream from error
    return head


def _read_exactly(stream: BinaryIO, size: int) -> bytes:
    buffer = stream.read(size)
    if len(buffer) != size:
        raise BrokenStream
    return buffer


def _pack(message: ParserMessage) -> tuple[dict[str, Any], list[bytes | bytearray]]:
    match message:
        case WorkbookStarted():
            said = None if message.read_as is None else (message.read_as.pt, message.read_as.en)
            return {"workbook": message.fingerprint, "hidden": message.hidden, "as": said}, []
        case SheetStarted():
            return {"sheet": message.name}, []
        case RowsRead():
            buffers = [part for column in message.columns for part in _pack_column(column)]
            return {"top": message.top, "left": message.left}, buffers
        case SheetEnded():
            return {"raw": _pack_raw_sheet(message.raw)}, []


def _unpack(head: dict[str, Any], buffers: Sequence[bytes]) -> ParserMessage:
    if "workbook" in head:
        said = None if head["as"] is None else Text(*head["as"])
        return WorkbookStarted(head["workbook"], head["hidden"], said)
    if "sheet" in head:
        return SheetStarted(head["sheet"])
    if "raw" in head:
        return SheetEnded(_unpack_raw_sheet(head["raw"]))
    parts = zip(*[iter(buffers)] * 4, strict=True)
    return RowsRead(head["top"], head["left"], [_unpack_column(*part) for part in parts])


def _pack_column(column: CellColumn) -> tuple[bytes | bytearray, ...]:
    lengths = array("I", map(len, column.texts))
    return column.kinds, column.content, lengths.tobytes(), "".join(column.texts).encode()


def _unpack_column(kinds: bytes, content: bytes, lengths: bytes, letters: bytes) -> CellColumn:
    text = letters.decode()
    ends = accumulate(memoryview(lengths).cast("I"), initial=0)
    texts = [text[begin:end] for begin, end in pairwise(ends)]
    return CellColumn(bytearray(kinds), bytearray(content), texts)


def _pack_raw_sheet(raw: RawSheet) -> dict[str, Any]:
    return {
        "errors": [(*place, error) for place, error in raw.errors.items()],
        "unvalued": list(raw.unvalued),
        "scaled": [(*place, times) for place, times in raw.scaled.items()],
        "hidden_rows": list(raw.layout.hidden_rows),
        "hidden_columns": raw.layout.hidden_columns,
        "merged": raw.layout.merged,
        "formulas": list(raw.layout.formulas.items()),
        "totals_rows": list(raw.layout.totals_rows),
        "summed_rows": list(raw.layout.summed_rows),
        "part": raw.part,
        "struck": list(raw.struck),
        "struck_texts": list(raw.struck_texts),
        "formats": list(raw.formats.items()),
        "from_1904": raw.counts_from_1904,
        "only_texts": raw.only_texts,
        "styles": list(raw.styles.items()),
    }


def _unpack_raw_sheet(raw: dict[str, Any]) -> RawSheet:
    return RawSheet(
        errors={(row, column): error for row, column, error in raw["errors"]},
        unvalued={(row, column) for row, column in raw["unvalued"]},
        scaled={(row, column): times for row, column, times in raw["scaled"]},
        layout=SheetLayout(
            hidden_rows=set(raw["hidden_rows"]),
            hidden_columns=[(first, last) for first, last in raw["hidden_columns"]],
            merged=[(top, left, bottom, right) for top, left, bottom, right in raw["merged"]],
            formulas={
                column: [(first, last) for first, last in runs] for column, runs in raw["formulas"]
            },
            totals_rows=set(raw["totals_rows"]),
            summed_rows=set(raw["summed_rows"]),
        ),
        part=raw["part"],
        struck=frozenset(raw["struck"]),
        struck_texts={(row, column) for row, column in raw["struck_texts"]},
        formats=dict(raw["formats"]),
        counts_from_1904=raw["from_1904"],
        only_texts=raw["only_texts"],
        styles={
            column: [(first, last, style) for first, last, style in runs]
            for column, runs in raw["styles"]
        },
    )


def _pack_error(error: XlbridgeError) -> dict[str, Any]:
    code = error.code if isinstance(error, WorkbookRefused) else None
    texts = [error.message, *([error.hint] if error.hint else [])]
    return {"error": code, "texts": [(text.pt, text.en) for text in texts]}


def _unpack_error(head: dict[str, Any]) -> XlbridgeError:
    texts = [Text(pt=pt, en=en) for pt, en in head["texts"]]
    if head["error"] is None:
        return UsageError(*texts)
    return WorkbookRefused(head["error"], *texts)


@dataclass(frozen=True, slots=True)
class WorkbookCells:
    """The sheets that were read, in the workbook's order.

    ``fingerprint`` is that of the template it was made from, None where there is none; ``hidden``
    are the names of hidden sheets; ``read_as`` says how a .csv file was read.
    """

    fingerprint: str | None
    sheets: list[SheetCells] = field(repr=False)
    hidden: Sequence[str] = ()
    read_as: Text | None = None


WorkbookSource = Callable[[], WorkbookCells]
"""Waits for a workbook that is being read, and returns it or raises what stood in the way."""


@dataclass(frozen=True, slots=True)
class PendingWorkbook:
    """A ``WorkbookSource`` that tells whether there is still something to wait for."""

    source: WorkbookSource
    is_here: Callable[[], bool]

    def __call__(self) -> WorkbookCells:
        """Wait for the workbook."""
        return self.source()


def assemble_workbook(messages: Iterable[ParserMessage]) -> WorkbookCells:
    """Put a workbook together; raises whatever reading the messages raises."""
    begun = WorkbookStarted(None, ())
    sheets: list[SheetCells] = []
    name, columns = "", dict[int, CellColumn]()
    for message in messages:
        match message:
            case WorkbookStarted():
                begun = message
            case SheetStarted():
                name, columns = message.name, {}
            case RowsRead():
                for place, more in enumerate(message.columns, message.left):
                    column = columns.setdefault(place, CellColumn())
                    column.lengthen(message.top)
                    column.extend(more)
            case SheetEnded():
                sheets.append(_sheet(name, columns, message.raw))
    return WorkbookCells(begun.fingerprint, sheets, begun.hidden, begun.read_as)


def _sheet(name: str, columns: dict[int, CellColumn], raw: RawSheet) -> SheetCells:
    height = max((len(column.kinds) for column in columns.values()), default=0)
    first = min(columns, default=0)
    whole = [
        columns.get(place, CellColumn()) for place in range(first, max(columns, default=-1) + 1)
    ]
    for column in whole:
        column.lengthen(height)
    return SheetCells(name, first, whole, raw)
