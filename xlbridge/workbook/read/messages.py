"""Messages from the parser process to its parent: the encoder of a sheet's rows, within limits for
all sheets together, and the workbook assembled from them.

A message is a line with its type and length, then its fields as MessagePack. Only plain data of
the declared types is decoded: a compromised parser process cannot make its parent run anything.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO

from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.settings import CsvForm, WorkbookLimits
from xlbridge.workbook.address import MAX_ROWS, cell_address
from xlbridge.workbook.read.cells import CellColumn, CellEncoder, Extent, RawSheet, SheetCells
from xlbridge.workbook.read.refusals import cells_too_far_apart, text_too_long, too_large
from xlbridge.workbook.signature import REJECTS_COLUMNS, STATUS_COLUMNS


@dataclass(frozen=True, slots=True)
class WorkbookStarted:
    """Start of a workbook: its template's fingerprint and its hidden sheets.

    ``read_as`` describes how a .csv file was read, ``csv`` is its form, with the codec;
    ``exported`` is the resource of the records of an exported listing, empty if they have none;
    None if the workbook is no export.
    """

    fingerprint: str | None
    hidden: Sequence[str]
    read_as: Text | None = None
    csv: CsvForm | None = None
    exported: str | None = None


@dataclass(frozen=True, slots=True)
class SheetStarted:
    """Start of a sheet; one of the same name as the previous sheet replaces it."""

    name: str


@dataclass(frozen=True, slots=True)
class RowsRead:
    """Next rows of the current sheet, column by column; other cells are empty.

    ``top`` and ``left`` are the zero-based row and column of the first cell.
    """

    top: int
    left: int
    columns: Sequence[CellColumn]


@dataclass(frozen=True, slots=True)
class SheetEnded:
    """End of the current sheet, with the facts that its values do not show."""

    raw: RawSheet


ParserMessage = WorkbookStarted | SheetStarted | RowsRead | SheetEnded
"""Message from the parser process to its caller."""


_MAX_SHORT_TEXT = 256
"""Maximum size, in bytes with markup, of a short shared text."""

_END_OF_TEXT = re.compile(rb"</(?:\w+:)?si\s*>|<(?:\w+:)?si\s*/>")
_MARKUP = re.compile(rb"<[^>]*>")
_RUN = re.compile(rb"<(?:\w+:)?r\s*>.*?</(?:\w+:)?r\s*>", re.DOTALL)
_STRUCK = re.compile(rb"""<(?:\w+:)?strike\s*(?:/|>|val\s*=\s*["'](?:1|true|on))""")
_REFERENCE = re.compile(
    rb"""\bt\s*=\s*["']s["'][^>]*>(?:\s*<(?:\w+:)?f\b[^>]*>[^<]*</(?:\w+:)?f>)?"""
    rb"""\s*<(?:\w+:)?v\b[^>]*>\s*(\d{1,9})"""
)
_LONGEST_REFERENCE = 4096


class SharedTexts:
    """Shared texts of a workbook: lengths of the long ones, indexes of those struck through, each
    with whether it is so as a whole.

    However many cells refer to a text, it is in the file once: a few kilobytes can become
    gigabytes. So the lengths of long texts are summed before a parser copies them for each cell;
    short ones cannot exceed a sheet's own XML by much.
    """

    def __init__(self, content: bytes) -> None:
        """Scan the part of the shared texts."""
        *texts, _ = _END_OF_TEXT.split(content)
        self.lengths = {
            index: len(_MARKUP.sub(b"", text).decode("utf-8", "replace"))
            for index, text in enumerate(texts)
            if len(text) > _MAX_SHORT_TEXT
        }
        self.struck = {
            index: all(struck)
            for index, text in enumerate(texts)
            if b"strike" in text
            and any(struck := [_STRUCK.search(run) is not None for run in _RUN.findall(text)])
        }

    def text_length(self, pieces: Iterable[bytes]) -> tuple[int, int]:
        """Return the total length of long texts in a sheet, and its number of rows."""
        length, rows, rest = 0, 0, b""
        for piece in pieces if self.lengths else ():
            block, end = rest + piece, 0
            rows += piece.count(b"row>")
            for found in _REFERENCE.finditer(block):
                if found.end() == len(block):
                    break
                end = found.end()
                length += self.lengths.get(int(found[1]), 0)
            rest = block[max(end, len(block) - _LONGEST_REFERENCE) :]
        return length, min(rows, MAX_ROWS)


_CELL_TEXT = Text(pt="o texto das células", en="the cells' text")
_ROWS_PER_BATCH = 4096


class Budget:
    """Budget of cells and text for all sheets of a workbook together.

    ``cells`` and ``text_length`` count those of the sheets that have ended.
    """

    def __init__(self, limits: WorkbookLimits) -> None:
        self._limits = limits
        self.cells = 0
        self.text_length = 0

    def check_extent(self, sheet: str, extent: Extent) -> None:
        """Raise ``WorkbookRefused`` if a sheet spans more cells than are left."""
        if self.cells + extent.cells > self._limits.cells:
            last = (cell_address(*extent.lowest), cell_address(*extent.rightmost))
            raise cells_too_far_apart(sheet, *last)

    def check_texts(self, sheet: str, encoders: Collection[CellEncoder]) -> None:
        """Raise ``WorkbookRefused`` if one of a sheet's texts is too long, or all together."""
        if max(encoder.longest for encoder in encoders) > self._limits.text_length:
            raise text_too_long(sheet, self._limits.text_length)
        length = sum(encoder.text_length for encoder in encoders)
        self.check_text_length(length, max(encoder.filled for encoder in encoders))

    def check_text_length(self, length: int, rows: int) -> None:
        """Raise ``WorkbookRefused`` if a sheet of ``rows`` has more text than is left."""
        limit = self._limits.text_size + rows * self._limits.text_per_row
        if self.text_length + length > limit:
            raise too_large(_CELL_TEXT, limit)


class SheetEncoder:
    """Encoder of one sheet: converts the parser's rows into messages, within the budget.

    ``shared_texts`` are needed if the rows hold indexes of them.
    """

    def __init__(self, name: str, budget: Budget, shared_texts: Sequence[str] = ()) -> None:
        self._name = name
        self._budget = budget
        self._encoders = defaultdict[int, CellEncoder](lambda: CellEncoder(shared_texts))
        self._height = 0
        self._columns = range(0)

    def reserve(self, bottom: int, left: int, right: int) -> None:
        """Reserve cells down to the zero-based row ``bottom``. Raises ``WorkbookRefused``."""
        known = self._columns or range(left, right + 1)
        self._columns = range(min(known.start, left), max(known.stop, right + 1))
        self._height = max(self._height, bottom + 1)
        last = self._height, self._columns.stop - 1
        self._budget.check_extent(self._name, Extent(self._columns.start, last, last))

    def encode(self, top: int, left: int, rows: Iterable[list[Any]]) -> Iterator[RowsRead]:
        """Yield rows that start in the zero-based row ``top`` and column ``left``."""
        remaining = iter(rows)
        while batch := list(islice(remaining, _ROWS_PER_BATCH)):
            encoders = [self._encoders[left + index] for index in range(len(batch[0]))]
            columns = [
                encoder.encode(values)
                for encoder, values in zip(encoders, zip(*batch, strict=True), strict=True)
            ]
            if encoders:
                self._budget.check_texts(self._name, self._encoders.values())
            yield RowsRead(top, left, columns)
            top += len(batch)

    def end(self) -> None:
        """Deduct the cells and texts of the sheet from the budget."""
        self._budget.cells += self._height * len(self._columns)
        self._budget.text_length += sum(one.text_length for one in self._encoders.values())


@dataclass(frozen=True, slots=True)
class _Ended:
    """End of all messages, with the texts of the error that ended them, if any.

    ``code`` is that of a refusal, None for a ``UsageError``.
    """

    code: str | None = None
    texts: Sequence[Text] = ()


_TYPES = {
    kind.__name__.encode(): kind
    for kind in (WorkbookStarted, SheetStarted, RowsRead, SheetEnded, _Ended)
}
_MAX_LINE_LENGTH = 64


class BrokenStream(Exception):
    """Incomplete or invalid messages."""


def send_messages(stream: BinaryIO, messages: Iterator[ParserMessage]) -> None:
    """Write all messages, then the end or the ``XlbridgeError`` that stopped them."""
    # Imported here: most files are small, and read without messages.
    from msgspec import msgpack

    def send(message: ParserMessage | _Ended) -> None:
        content = msgpack.encode(message)
        stream.write(b"%s %d\n" % (type(message).__name__.encode(), len(content)))
        stream.write(content)

    try:
        for message in messages:
            send(message)
    except XlbridgeError as error:
        code = error.code if isinstance(error, WorkbookRefused) else None
        send(_Ended(code, [error.message, *([error.hint] if error.hint else [])]))
    else:
        send(_Ended())
    stream.flush()


def receive_messages(stream: BinaryIO) -> Iterator[ParserMessage]:
    """Yield the messages of ``send_messages``.

    Raises the sender's ``XlbridgeError``, or ``BrokenStream`` if the end is missing.
    """
    from msgspec import DecodeError, msgpack

    while True:
        try:
            name, size = stream.readline(_MAX_LINE_LENGTH).split()
            content = stream.read(int(size))
            message = msgpack.decode(content, type=_TYPES[name])
        except (ValueError, KeyError, DecodeError) as error:
            raise BrokenStream from error
        match message:
            case _Ended(None, texts):
                if texts:
                    raise UsageError(*texts)
                return
            case _Ended(str() as code, texts):
                raise WorkbookRefused(code, *texts)
            case WorkbookStarted() | SheetStarted() | RowsRead() | SheetEnded():
                yield message


@dataclass(frozen=True, slots=True)
class WorkbookCells:
    """Sheets of a workbook, in its order.

    ``fingerprint`` is that of its template, None if it has none; ``exported`` is the resource of
    the records of an exported listing, None if there is none; ``hidden`` are the names of hidden
    sheets; ``read_as`` describes how a .csv file was read, ``csv`` is its form, with the
    codec.
    """

    fingerprint: str | None
    sheets: list[SheetCells] = field(repr=False)
    hidden: Sequence[str] = ()
    read_as: Text | None = None
    csv: CsvForm | None = None
    exported: str | None = None


WorkbookSource = Callable[[], WorkbookCells]
"""Waits for a workbook that is being read, and returns it or raises its error."""

OnRows = Callable[[int], None]
"""Receives the number of rows of a sheet read so far; an exception ends the reading."""


def assemble_workbook(
    messages: Iterable[ParserMessage], on_rows: OnRows = lambda _: None
) -> WorkbookCells:
    """Assemble a workbook; raises what iterating over the messages raises."""
    header = WorkbookStarted(None, ())
    sheets: list[SheetCells] = []
    name, columns = "", dict[int, CellColumn]()
    for message in messages:
        match message:
            case WorkbookStarted():
                header = message
            case SheetStarted():
                name, columns = message.name, {}
            case RowsRead():
                for index, cells in enumerate(message.columns, message.left):
                    column = columns.setdefault(index, CellColumn())
                    column.pad_to(message.top)
                    column.extend(cells)
                on_rows(message.top + max((len(c.kinds) for c in message.columns), default=0))
            case SheetEnded():
                height = max((len(column.kinds) for column in columns.values()), default=0)
                first, last = min(columns, default=0), max(columns, default=-1)
                adjacent = [columns.get(index, CellColumn()) for index in range(first, last + 1)]
                for column in adjacent:
                    column.pad_to(height)
                sheet = SheetCells(name, first, adjacent, message.raw)
                sheets.append(_with_field_names(sheet) if header.exported is not None else sheet)
                if header.exported is not None:
                    raw = message.raw
                    # Totals rows of an exported listing are no records.
                    sums = raw.layout.totals_rows | raw.layout.summed_rows
                    totals = [row - 1 for row in sums if row <= height]
                    for column in adjacent if totals else ():
                        column.replace(totals, CellEncoder().encode([""] * len(totals)))
                    raw.without_result = {at for at in raw.without_result if at[0] not in sums}
    return WorkbookCells(
        header.fingerprint,
        sheets,
        header.hidden,
        header.read_as,
        header.csv,
        header.exported or None,
    )


_HEADER_ROWS = 50
"""Rows at the top of an exported sheet that are searched for its header."""


_ADDED_HEADERS = {
    text for column in (*STATUS_COLUMNS, *REJECTS_COLUMNS) for text in (column.pt, column.en)
}


def _with_field_names(cells: SheetCells) -> SheetCells:
    """Return the sheet of an exported listing with the names of its fields in its header."""
    from xlbridge.resources.remote import exported_fields

    for position, texts in enumerate(cells.first_texts(_HEADER_ROWS)):
        if fields := exported_fields(text for text in texts if text not in _ADDED_HEADERS):
            for column in cells.columns:
                title = column.value(position)
                if isinstance(title, str) and title in fields:
                    column.replace([position], CellEncoder().encode([fields[title]]))
            return replace(cells, titles={name: title for title, name in fields.items()})
    return cells
