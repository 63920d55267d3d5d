"""Messages from the parser process to its parent, and the workbook assembled from them.

A message is a line with its type and length, then its fields as MessagePack. Only plain data of
the declared types is decoded: a compromised parser process cannot make its parent run anything.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.workbook.read.cells import CellColumn, RawSheet, SheetCells


@dataclass(frozen=True, slots=True)
class WorkbookStarted:
    """Start of a workbook: its template's fingerprint and its hidden sheets.

    ``read_as`` describes how a .csv file was read.
    """

    fingerprint: str | None
    hidden: Sequence[str]
    read_as: Text | None = None


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

    ``fingerprint`` is that of its template, None if it has none; ``hidden`` are the names of
    hidden sheets; ``read_as`` describes how a .csv file was read.
    """

    fingerprint: str | None
    sheets: list[SheetCells] = field(repr=False)
    hidden: Sequence[str] = ()
    read_as: Text | None = None


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
                sheets.append(SheetCells(name, first, adjacent, message.raw))
    return WorkbookCells(header.fingerprint, sheets, header.hidden, header.read_as)
