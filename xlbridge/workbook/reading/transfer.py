"""What a parsing process tells its parent: plain data only, never objects.

A message is a line of JSON that says how long the buffers after it are. So the parent runs nothing
that a parsing process, were it ever taken over by a file, could send.
"""

import json
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, BinaryIO

from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.workbook.reading.cells import CellColumn
from xlbridge.workbook.reading.layout_marks import LayoutMarks
from xlbridge.workbook.reading.parsed import Parsed, RowsRead, SheetBegun, WorkbookBegun
from xlbridge.workbook.reading.raw_sheet import RawSheet

_LONGEST_LINE = 1 << 28


class Broken(Exception):
    """The messages end before they are complete, or make no sense."""


def send(stream: BinaryIO, messages: Iterator[Parsed]) -> None:
    """Write all messages, then the end; an ``XlbridgeError`` among them is a message too."""
    try:
        for message in messages:
            _write(stream, *_packed(message))
    except XlbridgeError as error:
        _write(stream, _packed_error(error))
    else:
        _write(stream, {"end": True})
    stream.flush()


def receive(stream: BinaryIO) -> Iterator[Parsed]:
    """Yield the messages that ``send`` wrote at the other end.

    Raises the ``XlbridgeError`` that was met there, ``Broken`` when the end is missing.
    """
    while True:
        head = _head(stream)
        if head.get("end"):
            return
        if "error" in head:
            raise _error(head)
        buffers = [_exactly(stream, size) for size in head["sizes"]]
        yield _unpacked(head, buffers)


def _write(
    stream: BinaryIO, head: dict[str, Any], buffers: Sequence[bytes | bytearray] = ()
) -> None:
    head["sizes"] = [len(buffer) for buffer in buffers]
    stream.write(json.dumps(head).encode() + b"\n")
    stream.writelines(buffers)


def _head(stream: BinaryIO) -> dict[str, Any]:
    line = stream.readline(_LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise Broken
    try:
        head: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise Broken from error
    return head


def _exactly(stream: BinaryIO, size: int) -> bytes:
    buffer = stream.read(size)
    if len(buffer) != size:
        raise Broken
    return buffer


def _packed(message: Parsed) -> tuple[dict[str, Any], list[bytes | bytearray]]:
    match message:
        case WorkbookBegun():
            return {"workbook": message.fingerprint, "hidden": message.hidden}, []
        case SheetBegun():
            place = {"sheet": message.name, "left": message.first_column, "width": message.width}
            return place | {"raw": _packed_raw(message.raw)}, []
        case RowsRead():
            return {"rows": True}, [part for c in message.columns for part in _packed_column(c)]


def _unpacked(head: dict[str, Any], buffers: Sequence[bytes]) -> Parsed:
    if "workbook" in head:
        return WorkbookBegun(head["workbook"], head["hidden"])
    if "sheet" in head:
        return SheetBegun(head["sheet"], head["left"], head["width"], _unpacked_raw(head["raw"]))
    parts = zip(*[iter(buffers)] * 4, strict=True)
    return RowsRead([_unpacked_column(*part) for part in parts])


def _packed_column(column: CellColumn) -> tuple[bytes | bytearray, ...]:
    lengths = array("I", map(len, column.texts))
    return column.kinds, column.content, lengths.tobytes(), "".join(column.texts).encode()


def _unpacked_column(kinds: bytes, content: bytes, lengths: bytes, letters: bytes) -> CellColumn:
    text = letters.decode()
    ends = accumulate(memoryview(lengths).cast("I"), initial=0)
    texts = [text[begin:end] for begin, end in pairwise(ends)]
    return CellColumn(bytearray(kinds), bytearray(content), texts)


def _packed_raw(raw: RawSheet) -> dict[str, Any]:
    return {
        "errors": [(*place, error) for place, error in raw.errors.items()],
        "unvalued": list(raw.unvalued),
        "scaled": [(*place, times) for place, times in raw.scaled.items()],
        "hidden_rows": list(raw.layout.hidden_rows),
        "hidden_columns": raw.layout.hidden_columns,
        "merged": raw.layout.merged,
        "formulas": list(raw.layout.formulas.items()),
        "part": raw.part,
        "formats": list(raw.formats.items()),
        "from_1904": raw.counts_from_1904,
    }


def _unpacked_raw(raw: dict[str, Any]) -> RawSheet:
    return RawSheet(
        errors={(row, column): error for row, column, error in raw["errors"]},
        unvalued={(row, column) for row, column in raw["unvalued"]},
        scaled={(row, column): times for row, column, times in raw["scaled"]},
        layout=LayoutMarks(
            hidden_rows=set(raw["hidden_rows"]),
            hidden_columns=[(first, last) for first, last in raw["hidden_columns"]],
            merged=[(top, left, bottom, right) for top, left, bottom, right in raw["merged"]],
            formulas={
                column: [(first, last) for first, last in runs] for column, runs in raw["formulas"]
            },
        ),
        part=raw["part"],
        formats=dict(raw["formats"]),
        counts_from_1904=raw["from_1904"],
    )


def _packed_error(error: XlbridgeError) -> dict[str, Any]:
    code = error.code if isinstance(error, WorkbookRefused) else None
    texts = [error.message, *([error.hint] if error.hint else [])]
    return {"error": code, "texts": [(text.pt, text.en) for text in texts]}


def _error(head: dict[str, Any]) -> XlbridgeError:
    texts = [Text(pt=pt, en=en) for pt, en in head["texts"]]
    if head["error"] is None:
        return UsageError(*texts)
    return WorkbookRefused(head["error"], *texts)
