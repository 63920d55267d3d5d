"""Messages from the parser process to its parent, plain data only, and what they make up.

A message is a line with its type and length, and its fields as MessagePack. They are decoded by the
declared types alone: the parent runs nothing that a parser process, were it ever taken over by a
file, could send.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from xlbridge.errors import UsageError, WorkbookRefused, XlbridgeError
from xlbridge.i18n import Text
from xlbridge.workbook.read.cells import CellColumn, RawSheet, SheetCells


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


@dataclass(frozen=True, slots=True)
class _Failed:
    """The error that ended the messages; ``code`` is that of a refusal, None of a wrong request."""

    code: str | None
    texts: Sequence[Text]


@dataclass(frozen=True, slots=True)
class _Ended:
    """The end of all messages."""


_TYPES = {
    kind.__name__.encode(): kind
    for kind in (WorkbookStarted, SheetStarted, RowsRead, SheetEnded, _Failed, _Ended)
}
_MAX_LINE_LENGTH = 64


class BrokenStream(Exception):
    """The messages end before they are complete, or make no sense."""


def send_messages(stream: BinaryIO, messages: Iterator[ParserMessage]) -> None:
    """Write all messages, then the end; an ``XlbridgeError`` among them is a message too."""
    # Here, not above: most files are small, and read without messages.
    from msgspec import msgpack

    def send(message: ParserMessage | _Failed | _Ended) -> None:
        content = msgpack.encode(message)
        stream.write(b"%s %d\n" % (type(message).__name__.encode(), len(content)))
        stream.write(content)

    try:
        for message in messages:
            send(message)
    except XlbridgeError as error:
        code = error.code if isinstance(error, WorkbookRefused) else None
        send(_Failed(code, [error.message, *([error.hint] if error.hint else [])]))
    else:
        send(_Ended())
    stream.flush()


def receive_messages(stream: BinaryIO) -> Iterator[ParserMessage]:
    """Yield the messages that ``send_messages`` wrote at the other end.

    Raises the ``XlbridgeError`` that was met there, ``BrokenStream`` when the end is missing.
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
            case _Ended():
                return
            case _Failed(None, texts):
                raise UsageError(*texts)
            case _Failed(str() as code, texts):
                raise WorkbookRefused(code, *texts)
            case WorkbookStarted() | SheetStarted() | RowsRead() | SheetEnded():
                yield message


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


OnRows = Callable[[int], None]
"""Told how many rows of a sheet are read, as they come; what it raises ends the reading."""


def assemble_workbook(
    messages: Iterable[ParserMessage], on_rows: OnRows = lambda _: None
) -> WorkbookCells:
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
                on_rows(message.top + max((len(it.kinds) for it in message.columns), default=0))
            case SheetEnded():
                height = max((len(column.kinds) for column in columns.values()), default=0)
                first = min(columns, default=0)
                whole = [
                    columns.get(place, CellColumn())
                    for place in range(first, max(columns, default=-1) + 1)
                ]
                for column in whole:
                    column.lengthen(height)
                sheets.append(SheetCells(name, first, whole, message.raw))
    return WorkbookCells(begun.fingerprint, sheets, begun.hidden, begun.read_as)
